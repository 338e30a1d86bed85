// `npm run bench:mcp`: a tool call over MCP, in both eras, beside the same call over plain HTTP and beside two packages that make MCP tools of an OpenAPI
// document, all in front of the same upstream in one run. Then an answer of 5 MB: what of it a model would get, and what memory it takes.
//
//   --seconds 2  --rounds 5  --warm 4     as in bench.ts
//   --out FILE                            where the figures go, but for bench/latest-mcp.json
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { makeSite } from '../test/support/broker.ts'
import { openAnswerStream } from './answer-stream.ts'
import { launch, loadProcess, start, type LoadProcess, type Process, SERVE } from './rig.ts'
import { siteFiles } from './site.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '2' }, rounds: { type: 'string', default: '5' }, warm: { type: 'string', default: '4' },
    out: { type: 'string', default: join(import.meta.dirname, 'latest-mcp.json') },
  },
})
const [seconds, rounds, warm] = [values.seconds, values.rounds, values.warm].map(Number) as [number, number, number]
const AT_ONCE = [1, 16] as const

interface Subject {
  readonly name: string
  readonly process: Process
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly ofConnection?: ReadonlyArray<Readonly<Record<string, string>>>
  readonly body?: string
  /** Of the big item, where they differ. */
  readonly bigPath?: string
  readonly bigHeaders?: Readonly<Record<string, string>>
  readonly bigBody: string
  /** Stands in every good answer to it, and in no other. */
  readonly bigHolds: string
  /** Answers come down another connection. */
  readonly streamed?: boolean
  /** Stands in every good answer. */
  readonly holds: string
}

interface Figures {
  readonly callsPerSecond: number
  readonly p99Ms: number
  readonly cpuMicrosPerCall: number
}

const NAMES = ['callsPerSecond', 'p99Ms', 'cpuMicrosPerCall'] as const
const ACCEPT = { accept: 'application/json, text/event-stream' }
const LEGACY = { ...ACCEPT, 'mcp-protocol-version': '2025-11-25' }
const META = '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'
const modern = (tool: string): Readonly<Record<string, string>> =>
  ({ ...ACCEPT, 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': tool })
const callOf = (tool: string, args: string, meta = ''): string =>
  `{"jsonrpc":"2.0","id":{n},"method":"tools/call","params":{"name":"${tool}","arguments":${args}${meta}}}`
/** Of a server that the broker's tokens mean nothing to: it gets them all the same. */
const ITEM = '{"id":"{id}"}'
/** In every answer of the upstream, however it is wrapped. */
const BOTTLE = 'Stainless bottle'
const CALLS_OF_BIG = 4
/** The broker reads on to its limit, and shows nothing of what was cut there. */
const NOT_SHOWN = 'RESULT_INVALID'
/** The packages hand it on. */
const WHOLE = 'x'.repeat(5 * 1024 * 1024)

const stops: Array<() => unknown> = []
try {
  installPeers()
  const { subjects, tokens, load, upstreamPort } = await open()
  const measured = await measure(subjects, tokens, load)
  const big = await measureBig(subjects, tokens, upstreamPort)
  report(subjects, measured, big)
} finally {
  for (const stop of stops.splice(0).reverse()) await stop()
}

function installPeers (): void {
  const folder = join(import.meta.dirname, 'peers')
  if (!existsSync(join(folder, 'node_modules'))) execFileSync('npm', ['ci', '--silent'], { cwd: folder, stdio: 'inherit' })
}

interface Opened {
  readonly subjects: readonly Subject[]
  readonly tokens: readonly string[]
  readonly load: LoadProcess
  readonly upstreamPort: number
}

async function open (): Promise<Opened> {
  const add = <T extends { stop (): unknown }> (thing: T): T => {
    stops.push(() => thing.stop())
    return thing
  }
  const upstream = add(await start('upstream.ts', [], {}))
  const key = randomBytes(24).toString('base64url')
  const site = await makeSite({ files: siteFiles(upstream.port), env: { AVAL_LOG: 'info', BENCH_KEY: key } })
  stops.push(() => site.remove())
  const broker = async (): Promise<Process> => add(await start('serve-aval.ts', [], { node: SERVE, env: site.env as NodeJS.ProcessEnv, log: join(site.folder, `log-${stops.length}`) }))
  const document = join(site.folder, 'openapi/bench.yaml')
  const peer = async (name: string): Promise<Process> =>
    add(await start('peers/peer.ts', [name, String(upstream.port), document], { env: { BENCH_KEY: key }, log: join(site.folder, `${name}.log`) }))
  const aval = await broker()
  const subjects: Subject[] = [
    {
      name: 'Aval, HTTP', process: aval, path: '/v1/actions/find_item.v1', headers: {}, holds: '"outcome":"completed"',
      bigPath: '/v1/actions/find_big.v1', bigBody: `{"arguments":${ITEM}}`, bigHolds: NOT_SHOWN,
    },
    {
      name: 'Aval, MCP 2026-07-28', process: aval, path: '/mcp', headers: modern('find_item_v1'), body: callOf('find_item_v1', ITEM, `,${META}`), holds: BOTTLE,
      bigHeaders: modern('find_big_v1'), bigBody: callOf('find_big_v1', ITEM, `,${META}`), bigHolds: NOT_SHOWN,
    },
    {
      name: 'Aval, MCP 2025-11-25', process: aval, path: '/mcp', headers: LEGACY, body: callOf('find_item_v1', ITEM), holds: BOTTLE,
      bigBody: callOf('find_big_v1', ITEM), bigHolds: NOT_SHOWN,
    },
    await peerSubject('@ivotoby/openapi-mcp-server', await peer('ivotoby')),
    await peerSubject('fastmcp', await peer('fastmcp')),
  ]
  const load = add(loadProcess(await launch('load.ts', [], {})))
  const tokens = await Promise.all(Array.from({ length: 16 }, (_, index) => site.token({ sub: `agent-${index}`, roles: ['clerk'], claims: { groups: ['staff'] } })))
  return { subjects, tokens, load, upstreamPort: upstream.port }
}

/** As its tools are: found by what they are called, and called by their own schema. A session for each connection, where the server wants one. */
async function peerSubject (name: string, process: Process): Promise<Subject> {
  const ask = async (method: string, params: object, headers: Readonly<Record<string, string>>): Promise<{ message: any, session: string | null }> => {
    const answer = await fetch(`http://127.0.0.1:${process.port}/mcp`, {
      method: 'POST', headers: { 'content-type': 'application/json', ...LEGACY, ...headers }, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
    const text = await answer.text()
    const data = /^data: (.+)$/m.exec(text)?.[1] ?? text
    return { message: JSON.parse(data), session: answer.headers.get('mcp-session-id') }
  }
  const greeting = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bench', version: '1' } }
  const sessions = await Promise.all(Array.from({ length: 16 }, () => ask('initialize', greeting, {})))
  const ofConnection = sessions.map(({ session }): Readonly<Record<string, string>> => session === null ? {} : { 'mcp-session-id': session })
  for (const headers of ofConnection) {
    await fetch(`http://127.0.0.1:${process.port}/mcp`, {
      method: 'POST', headers: { 'content-type': 'application/json', ...LEGACY, ...headers }, body: '{"jsonrpc":"2.0","method":"notifications/initialized"}',
    }).then(answer => answer.text())
  }
  const { message } = await ask('tools/list', {}, ofConnection[0]!)
  const toolFor = (what: RegExp): { name: string, args: string } => {
    const tool = message.result.tools.find((one: any) => what.test(one.name))
    if (tool === undefined) throw new Error(`${name} has no tool for ${what}: ${message.result.tools.map((one: any) => one.name).join(' ')}`)
    return { name: tool.name, args: tool.inputSchema.properties.id === undefined ? `{"body":${ITEM}}` : ITEM }
  }
  const [find, big] = [toolFor(/find.?(item|itm)|fnd.?it/i), toolFor(/big/i)]
  // The one with sessions answers a call with 202, and down the stream of the session.
  const streamed = sessions[0]!.session !== null
  return {
    name, process, path: '/mcp', headers: LEGACY, ofConnection, streamed, holds: BOTTLE, body: callOf(find.name, find.args),
    bigBody: callOf(big.name, big.args), bigHolds: WHOLE,
  }
}

type Measured = ReadonlyMap<string, readonly Figures[]>

async function measure (subjects: readonly Subject[], tokens: readonly string[], load: LoadProcess): Promise<Measured> {
  const measured = new Map<string, Figures[]>()
  const numbers = { next: 0 }
  const once = async (subject: Subject, atOnce: number, forSeconds: number): Promise<Figures> => {
    const { process: server, path, headers, ofConnection, body, holds } = subject
    const before = cpuMicros(server.pid)
    const loaded = await load.run({
      port: server.port, path, tokens: tokens.slice(0, atOnce), milliseconds: forSeconds * 1_000, status: 200, holds, from: numbers.next, keyed: false, headers,
      ...(body === undefined ? {} : { body }), ...(ofConnection === undefined ? {} : { ofConnection }), ...(subject.streamed === undefined ? {} : { streamed: subject.streamed }),
    })
    numbers.next = loaded.next
    if (loaded.faults > 0) throw new Error(`${loaded.faults} answers of ${subject.name} are not as they should be: ${loaded.firstFault}`)
    return { callsPerSecond: loaded.answers / loaded.seconds, p99Ms: loaded.p99Ms, cpuMicrosPerCall: (cpuMicros(server.pid) - before) / loaded.answers }
  }
  for (const subject of subjects) await once(subject, 16, warm)
  for (let round = 1; round <= rounds; round++) {
    process.stderr.write(`round ${round} of ${rounds}\n`)
    for (const atOnce of AT_ONCE) {
      for (const subject of subjects) {
        const name = `${subject.name} ${atOnce}`
        measured.set(name, [...measured.get(name) ?? [], await once(subject, atOnce, seconds)])
      }
    }
  }
  return measured
}

/** User and system time of the whole process, from /proc, in the kernel's ticks of 10 ms. */
function cpuMicros (pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '').split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10_000
}

interface Big {
  readonly answerKiB: number
  readonly idleMiB: number
  readonly peakMiB: number
  readonly growthMiB: number
}

async function measureBig (subjects: readonly Subject[], tokens: readonly string[], upstreamPort: number): Promise<ReadonlyMap<string, Big>> {
  const told = new Map<string, Big>()
  for (const subject of subjects) {
    const { name, process: { pid } } = subject
    const asked = await bigAsked(upstreamPort)
    const idleMiB = memoryMiB(pid, 'VmRSS')
    writeFileSync(`/proc/${pid}/clear_refs`, '5') // the peak begins anew
    const bytes = await tellBig(subject, tokens[0]!)
    const peakMiB = memoryMiB(pid, 'VmHWM')
    const more = await bigAsked(upstreamPort) - asked
    if (more !== CALLS_OF_BIG) throw new Error(`${name} asked the upstream ${more} times for ${CALLS_OF_BIG} calls`)
    told.set(name, { answerKiB: bytes / 1024, idleMiB, peakMiB, growthMiB: peakMiB - idleMiB })
  }
  return told
}

/** As the upstream has counted. */
async function bigAsked (upstreamPort: number): Promise<number> {
  return Number(await (await fetch(`http://127.0.0.1:${upstreamPort}/v1/items/big`)).text())
}

/** @returns the bytes of the largest answer */
async function tellBig (subject: Subject, token: string): Promise<number> {
  const { name, process: { port }, path, bigPath, headers, bigHeaders, ofConnection, bigBody, bigHolds, streamed } = subject
  const all = { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers, ...bigHeaders, ...ofConnection?.[0] }
  const stream = streamed === true ? await openAnswerStream(port, path, all) : null
  let bytes = 0
  for (let index = 0; index < CALLS_OF_BIG; index++) {
    const heard = stream === null ? null : new Promise<string>(resolve => { stream.onMessage = resolve })
    const body = bigBody.replace('{id}', `itm_900000${index}`).replace('{n}', String(9_000_000 + index))
    const answer = await fetch(`http://127.0.0.1:${port}${bigPath ?? path}`, { method: 'POST', headers: all, body })
    const own = await answer.text()
    const text = answer.status === 202 && heard !== null ? await heard : own
    if (answer.status !== (heard === null ? 200 : 202) || !text.includes(bigHolds)) {
      throw new Error(`the big answer of ${name} is not as it should be: ${answer.status} ${text.slice(0, 500)}`)
    }
    bytes = Math.max(bytes, Buffer.byteLength(text))
  }
  await stream?.close()
  return bytes
}

function memoryMiB (pid: number, what: 'VmRSS' | 'VmHWM'): number {
  return Number(new RegExp(`^${what}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024
}

function median (numbers: readonly number[]): number {
  const sorted = numbers.toSorted((one, other) => one - other)
  return sorted[sorted.length >> 1]!
}

function rounded (value: number): number {
  return Number(value.toPrecision(4))
}

function report (subjects: readonly Subject[], measured: Measured, big: ReadonlyMap<string, Big>): void {
  const figures = Object.fromEntries([...measured].map(([name, all]) =>
    [name, Object.fromEntries(NAMES.map(part => [part, rounded(median(all.map(one => one[part])))]))]))
  // Within a round: beside the faster of the packages in that round.
  const peers = subjects.slice(-2).map(({ name }) => name)
  const ratios = Object.fromEntries(subjects.slice(0, -2).flatMap(({ name }) => AT_ONCE.map(atOnce => {
    const own = measured.get(`${name} ${atOnce}`)!
    const beside = own.map((one, round) => one.callsPerSecond / Math.max(...peers.map(peer => measured.get(`${peer} ${atOnce}`)![round]!.callsPerSecond)))
    return [`${name} ${atOnce} / fastest package`, rounded(median(beside))]
  })))
  const least = Math.min(...peers.map(name => big.get(name)!.growthMiB))
  const bigRatios = Object.fromEntries(subjects.slice(0, -2).map(({ name }) =>
    [`${name} / package that grows least`, rounded(big.get(name)!.growthMiB / least)]))
  const line = (title: string, cells: readonly string[]): string => `${title.padEnd(42)}${cells.map(cell => cell.padStart(12)).join('')}`
  console.log([
    line('', ['calls/s', 'p99 ms', 'CPU µs/call']),
    ...Object.entries(figures).map(([name, one]) => line(name, NAMES.map(part => one[part]!.toFixed(part === 'p99Ms' ? 1 : 0)))),
    '', ...Object.entries(ratios).map(([name, ratio]) => line(name, [`${ratio.toFixed(2)} ×`])),
    '', line('an answer of 5 MB', ['KiB told', 'idle MiB', 'peak MiB', 'growth MiB']),
    ...[...big].map(([name, one]) => line(name, [one.answerKiB.toFixed(1), one.idleMiB.toFixed(0), one.peakMiB.toFixed(0), one.growthMiB.toFixed(1)])),
    '', ...Object.entries(bigRatios).map(([name, ratio]) => line(name, [`${ratio.toFixed(2)} ×`])),
  ].join('\n'))
  const bigFigures = Object.fromEntries([...big].map(([name, one]) => [name, Object.fromEntries(Object.entries(one).map(([part, value]) => [part, rounded(value)]))]))
  const latest = { date: new Date().toISOString(), node: process.version, cores: cpus().length, cpu: cpus()[0]?.model.trim() ?? 'unknown', seconds, rounds, figures, ratios, big: bigFigures, bigRatios }
  writeFileSync(values.out, `${JSON.stringify(latest, null, 2)}\n`)
}
