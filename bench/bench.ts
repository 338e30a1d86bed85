// `npm run bench`: what the broker costs, side by side with what would only forward. All servers stand at once and are loaded in turn, round after
// round, because a machine is never quiet: figures are medians of rounds, ratios are medians of the ratios within a round.
//
//   --seconds 3        of load a server and round
//   --rounds 7
//   --warm 6           seconds of load a server before the first round: code that is not compiled yet is not what is measured
//   --connections 16   at once, one request on each at a time
//   --only a,b         of bare, proxy, observation, write_sqlite, write_redis
//   --profile FOLDER   CPU profiles of the servers
import { cpus } from 'node:os'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startRig, type Process, type Rig } from './rig.ts'

const SUBJECTS = ['bare', 'proxy', 'observation', 'write_sqlite', 'write_redis'] as const
type Subject = (typeof SUBJECTS)[number]

const TITLES: Readonly<Record<Subject, string>> = {
  bare: 'node:http + undici dispatch',
  proxy: '@fastify/http-proxy',
  observation: 'Aval, observation',
  write_sqlite: 'Aval, write on SQLite',
  write_redis: 'Aval, write on Redis (AOF)',
}

interface Figures {
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Of the server alone, all its threads. */
  readonly cpuMicrosPerCall: number
}

const NAMES = ['requestsPerSecond', 'p50Ms', 'p99Ms', 'cpuMicrosPerCall'] as const satisfies ReadonlyArray<keyof Figures>

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '7' },
    warm: { type: 'string', default: '6' },
    connections: { type: 'string', default: '16' },
    only: { type: 'string', default: SUBJECTS.join(',') },
    profile: { type: 'string' },
  },
})
const [seconds, rounds, warm, connections] = [values.seconds, values.rounds, values.warm, values.connections].map(Number) as [number, number, number, number]
const subjects = SUBJECTS.filter(subject => values.only.split(',').includes(subject))

const rig = await startRig({ connections, profiles: values.profile ?? null })
try {
  const measured = await measure(rig)
  const figures = Object.fromEntries(subjects.map(subject => [subject, medians(measured[subject]!)])) as Record<Subject, Figures>
  const ratios = allRatios(measured)
  print(figures, ratios)
  if (subjects.length === SUBJECTS.length) write(figures, ratios)
} finally {
  await rig.stop()
}

async function measure (rig: Rig): Promise<Partial<Record<Subject, Figures[]>>> {
  const measured: Partial<Record<Subject, Figures[]>> = Object.fromEntries(subjects.map(subject => [subject, []]))
  const numbers = { next: 0 }
  for (let turn = 0; turn < 2; turn++) {
    for (const subject of subjects) await loadOnce(rig, subject, warm / 2, numbers)
  }
  for (let round = 1; round <= rounds; round++) {
    process.stderr.write(`round ${round} of ${rounds}\n`)
    for (const subject of subjects) measured[subject]!.push(await loadOnce(rig, subject, seconds, numbers))
  }
  return measured
}

function targetOf (rig: Rig, subject: Subject): { readonly process: Process, readonly path: string, readonly holds: string, readonly keyed: boolean } {
  const forwarded = { path: '/v1/items/find', holds: '"sku":', keyed: false }
  const completed = '"outcome":"completed"'
  switch (subject) {
    case 'bare': return { process: rig.bare, ...forwarded }
    case 'proxy': return { process: rig.proxy, ...forwarded }
    case 'observation': return { process: rig.reading, path: '/v1/actions/find_item.v1', holds: completed, keyed: false }
    case 'write_sqlite': return { process: rig.sqlite, path: '/v1/actions/add_item.v1', holds: completed, keyed: true }
    case 'write_redis': return { process: rig.redis, path: '/v1/actions/add_item.v1', holds: completed, keyed: true }
  }
}

async function loadOnce (rig: Rig, subject: Subject, forSeconds: number, numbers: { next: number }): Promise<Figures> {
  const { process: server, path, holds, keyed } = targetOf(rig, subject)
  const before = await server.usage()
  const loaded = await rig.loads[0]!.run({
    port: server.port, path, tokens: rig.tokens, milliseconds: forSeconds * 1_000, status: 200, holds, from: numbers.next, keyed,
  })
  const after = await server.usage()
  numbers.next = loaded.next
  if (loaded.faults > 0) throw new Error(`${loaded.faults} of ${loaded.answers + loaded.faults} answers of ${subject} are not as they should be: ${loaded.firstFault}`)
  return {
    requestsPerSecond: loaded.answers / loaded.seconds,
    p50Ms: loaded.p50Ms,
    p99Ms: loaded.p99Ms,
    cpuMicrosPerCall: (after.cpuMicros - before.cpuMicros) / loaded.answers,
  }
}

function median (numbers: readonly number[]): number {
  const sorted = [...numbers].sort((one, other) => one - other)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

function medians (rounds: readonly Figures[]): Figures {
  return Object.fromEntries(NAMES.map(name => [name, rounded(median(rounds.map(round => round[name])))])) as unknown as Figures
}

function rounded (value: number): number {
  return Number(value.toPrecision(4))
}

type Ratios = Readonly<Record<string, Figures>>

/** One against another within each round. */
function allRatios (measured: Partial<Record<Subject, readonly Figures[]>>): Ratios {
  const pairs: ReadonlyArray<readonly [Subject, Subject]> = [
    ['observation', 'proxy'], ['observation', 'bare'], ['proxy', 'bare'], ['write_sqlite', 'observation'], ['write_redis', 'observation'],
  ]
  return Object.fromEntries(pairs.flatMap(([one, other]) => {
    const [ones, others] = [measured[one], measured[other]]
    if (ones === undefined || others === undefined) return []
    const ratio = Object.fromEntries(NAMES.map(name => [name, rounded(median(ones.map((figures, round) => figures[name] / others[round]![name])))]))
    return [[`${one}/${other}`, ratio as unknown as Figures]]
  }))
}

function print (figures: Readonly<Record<Subject, Figures>>, ratios: Ratios): void {
  const line = (title: string, cells: readonly string[]): string => `${title.padEnd(30)}${cells.map(cell => cell.padStart(12)).join('')}`
  const lines = [
    line('', ['requests/s', 'p50 ms', 'p99 ms', 'CPU µs/call']),
    ...subjects.map(subject => {
      const { requestsPerSecond, p50Ms, p99Ms, cpuMicrosPerCall } = figures[subject]
      return line(TITLES[subject], [requestsPerSecond.toFixed(0), p50Ms.toFixed(2), p99Ms.toFixed(2), cpuMicrosPerCall.toFixed(0)])
    }),
    '',
    ...Object.entries(ratios).map(([name, ratio]) => line(name, NAMES.map(part => `${ratio[part].toFixed(2)} ×`))),
  ]
  console.log(lines.join('\n'))
}

function write (figures: Readonly<Record<Subject, Figures>>, ratios: Ratios): void {
  const latest = {
    date: new Date().toISOString(),
    node: process.version,
    cores: cpus().length,
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    seconds,
    rounds,
    connections,
    figures,
    ratios,
  }
  writeFileSync(join(import.meta.dirname, 'latest.json'), `${JSON.stringify(latest, null, 2)}\n`)
}
