// A whole broker in front of an upstream that answers whatever a test wants, byte for byte. What reached the upstream stands in its ledger.
import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Environment } from '../../src/config.ts'
import {
  makeSite, startBrokerProcess, startTestBroker, type BrokerProcess, type Client, type Reached, type Site, type TestBroker,
} from '../support/broker.ts'
import { whole, type Mode } from '../support/hostile-modes.ts'
import { startHostileUpstream, type HostileUpstream, type LedgerEntry } from '../support/hostile-upstream.ts'
import { probeFolder, type ProbeFolder } from './probe-folder.ts'

/** The key that the broker sends upstream; nothing that anybody can read may hold it. */
export const SECRET = 'sk-probe/7+Zq"k\\9~mXc5Rt'
/** The key for reading, where a test gives the upstream two. */
export const READ_SECRET = 'rk-probe-4fWn8LdTzY2b'

export interface Probe {
  readonly upstream: HostileUpstream
  readonly site: Site
  /** The access token of the run that `call` calls in. */
  readonly token: string
  /** What the upstream answers to a GET of an item, to a write, and to a look-up. */
  answers: { read: Mode, write: Mode, lookup: Mode }
  /** Writes the folder again with a change; a reload then takes it up. */
  rewrite (change: (folder: ProbeFolder) => void): void
  /** Every row of the audit that is on disk. */
  audit (): readonly any[]
  /** What arrived: `GET /items/one`, … */
  arrived (): readonly string[]
}

export interface ProbeOptions {
  readonly change?: (folder: ProbeFolder) => void
  readonly env?: Environment
  readonly upstream?: HostileUpstream
}

type After = Pick<TestContext, 'after'>

export async function makeProbe (t: After, options: ProbeOptions = {}): Promise<Probe> {
  const upstream = options.upstream ?? await startHostileUpstream()
  t.after(() => upstream.stop())
  const folder = probeFolder(upstream.origin)
  options.change?.(folder)
  const site = await makeSite({ files: textsOf(folder), env: { PROBE_KEY: SECRET, PROBE_READ_KEY: READ_SECRET, ...options.env } })
  t.after(() => { site.remove() })
  const answers = { read: ok({ id: 'one', name: 'One' }), write: ok({ id: 'new' }), lookup: ok({ items: [] }) }
  upstream.mode('items', (socket, request) => { (request.method === 'GET' ? answers.read : answers.write)(socket, request) })
  upstream.mode('created', (socket, request) => { answers.lookup(socket, request) })
  return {
    upstream,
    site,
    answers,
    token: await site.token({ roles: ['prober'], run: 'run-1', claims: { items: ['one', 'two'] } }),
    rewrite (change) {
      change(folder)
      for (const [path, text] of Object.entries(textsOf(folder))) {
        mkdirSync(dirname(join(site.folder, path)), { recursive: true })
        writeFileSync(join(site.folder, path), text)
      }
    },
    audit: () => auditRows(join(site.folder, 'data', 'audit')),
    arrived: () => upstream.ledger.map(({ method, path }) => `${method} ${path}`),
  }
}

export type Probing = Probe & TestBroker & {
  /** As `call`, with the token of the probe. */
  ask (action: string, args: object, key?: string): Promise<Reached>
}

/** The broker in this process. */
export async function startProbe (t: After, options: ProbeOptions = {}): Promise<Probing> {
  const probe = await makeProbe(t, options)
  const broker = await startTestBroker(probe.site)
  t.after(() => broker.close())
  return { ...probe, ...broker, ask: asking(broker, probe.token) }
}

/** The broker in a process of its own, whose log can be read. */
export async function startProbeProcess (t: After, options: ProbeOptions = {}): Promise<Probe & BrokerProcess & Pick<Probing, 'ask'>> {
  const probe = await makeProbe(t, options)
  const broker = await startBrokerProcess(probe.site, { AVAL_LOG: 'trace' })
  t.after(() => broker.kill9())
  return { ...probe, ...broker, ask: asking(broker, probe.token) }
}

const asking = (broker: Client, token: string): Probing['ask'] => (action, args, key) => broker.call(token, action, args as never, key)

export const JSON_TYPE = 'Content-Type: application/json'

/** An honest answer. */
export const ok = (body: unknown, status = 200, headers: readonly string[] = []): Mode =>
  socket => { socket.write(whole(status, [JSON_TYPE, ...headers], typeof body === 'string' ? body : JSON.stringify(body))) }

/** One answer after another; the last one stays. */
export function inTurn (...modes: readonly Mode[]): Mode {
  let at = 0
  return (socket, request: LedgerEntry) => { modes[Math.min(at++, modes.length - 1)]!(socket, request) }
}

function textsOf (folder: ProbeFolder): Record<string, string> {
  return {
    'openapi/probe.json': JSON.stringify(folder.document),
    'actions/policy.yaml': JSON.stringify(folder.policy),
    'actions/probe/upstream.yaml': JSON.stringify(folder.upstream),
    ...Object.fromEntries(Object.entries(folder.sheets).map(([id, sheet]) => [`actions/probe/${id}.yaml`, JSON.stringify(sheet)])),
  }
}

function auditRows (folder: string): readonly any[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.jsonl')).sort()
    // What stands behind the last line end is still being written.
    .flatMap(name => readFileSync(join(folder, name), 'utf8').split('\n').slice(0, -1).map(line => JSON.parse(line)))
}

/** The row of a call once the audit has written it: rows of refusals and reads are buffered. */
export async function rowOf (probe: Probe, correlationId: string): Promise<any> {
  for (let turn = 0; turn < 1_000; turn++) {
    const rows = probe.audit().filter(
      row => row.correlation_id === correlationId && /^action\.|^execution\.(result|unknown|pending)$/.test(row.event),
    )
    if (rows.length > 0) {
      assert.equal(rows.length, 1, `one row a call, not ${JSON.stringify(rows)}`)
      return rows[0]
    }
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  assert.fail(`the audit has no row of ${correlationId}`)
}

/** Holds an answer to the promise of a refusal: the envelope of one, under a status that says that nothing was dispatched. */
export function assertRefused (reached: Reached, status: number, code: string, field?: string): void {
  const { body } = reached
  assert.deepEqual([reached.status, body.error?.code], [status, code], JSON.stringify(body))
  assert.deepEqual([body.ok, body.outcome, body.sent], [false, 'rejected', false])
  assert.match(body.correlation_id, /^cor_/)
  assert.ok(!('result' in body) && !('evidence' in body))
  if (field !== undefined) assert.equal(body.error.field, field)
}

/** Every file of the data folder as one text: state, its journal, audit. */
export function onDisk (of: Probe): string {
  const entries = readdirSync(join(of.site.folder, 'data'), { recursive: true, withFileTypes: true })
  return entries.filter(entry => entry.isFile()).map(entry => readFileSync(join(entry.parentPath, entry.name), 'latin1')).join('\n')
}

/** `completed`, `rejected CODE`, `completed RESULT_WITHHELD`, … */
export function saidBy ({ body: { outcome, error, withheld } }: Reached): string {
  return outcome === 'rejected' ? `rejected ${error.code}` : withheld === undefined ? outcome : `${outcome} ${withheld}`
}
