// The mutants that the rig must see. Each takes a rule away that keeps a broker honest, and meets the faults for which the rule is there.
import type { Edit } from '../mutants-table.ts'
import type { ShortRunOptions } from './short-run.ts'

export interface RigMutant {
  readonly name: string
  /** None: `instead` says why. */
  readonly edits: readonly Edit[]
  readonly run: Omit<ShortRunOptions, 'folder' | 'seed'>
  /** What must have fired for the run to prove anything: names in fired.json begin so. */
  readonly fires: { readonly [name: string]: number }
  /** The invariants that may catch it. */
  readonly caughtBy: readonly string[]
  /** Why no run can catch it, and what holds it. */
  readonly instead?: string
}

type Change = readonly [file: string, search: string, replacement: string]

const edits = (...changes: readonly Change[]): readonly Edit[] =>
  changes.map(([file, search, replacement]) => ({ file: `src/${file}`, search, replacement }))

const SECONDS = 12
/** Enough for what is caught while it happens; what must settle first is given longer. */
const DRAIN_MS = 6_000
/** What could not be written down is tried again every few seconds. */
const LONG_DRAIN_MS = 14_000
const run = (more: Partial<RigMutant['run']> = {}): RigMutant['run'] => ({
  seconds: SECONDS, store: 'sqlite', atOnce: 120, drainMs: DRAIN_MS, faultShare: 0.5, ...more,
})
const redisRun = (more: Partial<RigMutant['run']> = {}): RigMutant['run'] => run({ store: 'redis', ...more })

const SECOND_START = `    if (this.#controller !== null) {
      // undici is about to send the same request once more by itself. The controller given now is the one that stops it.
      this.#controller = controller
      this.#alarm()
      this.#stop('protocol')
      return
    }
`

const SECOND_SEND = "    if (this.#sends === 1) return\n    this.#alarm()\n    this.#stop('protocol')\n"

export const RIG_MUTANTS: readonly RigMutant[] = [
  {
    name: '(a) what was dispatched is free to be sent again when its lease runs out',
    edits: edits(['attempts/attempt.ts',
      "if (record.state === 'prepared') return settle(record, unsent('STATE_UNAVAILABLE', 'The call was abandoned",
      "if (record.state === 'prepared' || record.state === 'dispatched') return settle(record, unsent('STATE_UNAVAILABLE', 'The call was abandoned"]),
    run: redisRun({ killEveryMs: 900, only: ['silence, done', 'slow and honest'] }),
    fires: { kill: 2 },
    caughtBy: ['I1', 'I3', 'I12'],
  },
  {
    name: '(b) ioredis waits, and keeps and sends again what was not answered, as it does by itself',
    edits: edits(['store/redis-connection.ts', `    autoResendUnfulfilledCommands: false,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: 1_000,
    socketTimeout: 3_000,
`, '']),
    run: redisRun({ killRedisEveryMs: 4_000, redisDownMs: 9_500, seconds: 16, faultShare: 0.1, drainMs: LONG_DRAIN_MS }),
    fires: { redis: 1 },
    caughtBy: ['I18'],
  },
  {
    name: '(c) a begin that is asked again does not know its own token',
    edits: edits(['store/begin.lua', "if owner == token then return { 'again', digits(at), attempt(prefix, id) } end", '']),
    run: redisRun({ loseReplyOf: 40, faultShare: 0.05, drainMs: LONG_DRAIN_MS }),
    fires: { 'network:redis:drop reply': 10 },
    caughtBy: ['repeats'],
  },
  {
    name: '(d) HTTP/2 is spoken, in which undici sends a write again that the upstream says it never took up',
    edits: edits(
      ['upstream/pools.ts', '    allowH2: false,\n', ''],
      ['upstream/dial.ts', "ALPNProtocols: ['http/1.1'],", "ALPNProtocols: ['h2', 'http/1.1'],"],
      ['upstream/exchange.ts', SECOND_START, ''],
      ['upstream/exchange.ts', SECOND_SEND, ''],
    ),
    run: run({ http2: true, origin: 'https://127.0.0.1', actions: ['do_work.v1', 'post_note.v1'], atOnce: 40 }),
    fires: { 'upstream:goaway, done': 5, 'upstream:refused stream, done': 5 },
    caughtBy: ['I13', 'I1'],
  },
  {
    name: '(e) a write is sent again by a retrying dispatcher',
    edits: edits(
      ['upstream/client.ts', "import type { Pool } from 'undici'", "import { interceptors, type Pool } from 'undici'"],
      ['upstream/client.ts', '  pool.dispatch({', '  pool.compose(interceptors.retry({ minTimeout: 20 })).dispatch({'],
      ['upstream/exchange.ts', SECOND_START, ''],
      ['upstream/exchange.ts', SECOND_SEND, ''],
    ),
    run: run({ actions: ['set_item.v1', 'replace_item.v1'], only: ['reset, done', 'status 503, done'] }),
    fires: { 'upstream:reset, done': 10 },
    caughtBy: ['I13', 'I1'],
  },
  {
    name: '(f) a write that timed out is sent again to the other address of its name, as interceptors.dns does',
    edits: edits(
      ['upstream/client.ts', "import type { Pool } from 'undici'", "import { interceptors, type Pool } from 'undici'"],
      ['upstream/client.ts', '  pool.dispatch({\n', `  pool.compose(interceptors.dns({
    dualStack: true,
    lookup: (_origin, _options, found) => { found(
      null, [{ address: '127.0.0.1', ttl: 60, family: 4 }, { address: '::1', ttl: 60, family: 6 }] as never
    ) },
  })).dispatch({\n    origin: upstream.origin,\n`],
      // No network on loopback times out in mid-flight; a reset is told as one.
      ['upstream/dial.ts', '    const callback = this.#end()\n    callback?.(null, socket)', `    const emit = socket.emit.bind(socket)
    socket.emit = ((name: string, ...told: unknown[]) => {
      if (name === 'error') (told[0] as NodeJS.ErrnoException).code = 'ETIMEDOUT'
      return emit(name, ...told as [])
    }) as never
    const callback = this.#end()
    callback?.(null, socket)`],
      ['upstream/exchange.ts', SECOND_START, ''],
      ['upstream/exchange.ts', SECOND_SEND, ''],
    ),
    run: run({ origin: 'http://localhost', only: ['reset, done'], actions: ['do_work.v1'] }),
    fires: { 'upstream:reset, done': 10 },
    caughtBy: ['I13', 'I1'],
  },
  {
    name: '(g) a change is written without comparing what it was made from',
    edits: edits([
      'store/change.lua', "if held[1] ~= expected or held[3] ~= expected_state or held[5] ~= token or held[6] ~= format then return { 'stale', attempt(prefix, id) } end",
      '',
    ]),
    run: redisRun({ stopEveryMs: 900, killEveryMs: 2_500, only: ['slow and honest', 'silence, done'], actions: ['do_work.v1'] }),
    fires: { stop: 5 },
    caughtBy: ['I9', 'I16', 'I3', 'I2', 'I12', 'I14'],
  },
  {
    name: '(h) what is accepted is told as completed',
    edits: edits([
      'catalog/outcome.ts', "    case 'pending':\n      // Without",
      "    case 'pending':\n      if (extra === undefined) return COMPLETED\n      // Without",
    ]),
    run: run({ only: ['taken up, fails later', 'taken up, done later'], actions: ['do_work.v1'] }),
    fires: { 'upstream:taken up, fails later': 10 },
    caughtBy: ['I2'],
  },
  {
    name: '(i) any 404 of a look-up proves absence',
    edits: edits(['attempts/look-up.ts',
      'if (lookup.absent !== null && isWellFormed(lookup.request.operation, parsed.answer) && lookup.absent.holds(answered)) {',
      'if (lookup.absent !== null && (parsed.answer.status === 404 || lookup.absent.holds(answered))) {']),
    run: run({ only: ['reset, done'], actions: ['do_work.v1', 'place_order.v1'], status: 'lying', statusOnly: ['a 404 of a gateway', 'a 404'] }),
    fires: { 'status:a 404': 20, 'upstream:reset, done': 10 },
    caughtBy: ['I3'],
  },
  {
    name: '(j) a success that was cut where the connection ended is told as completed',
    edits: edits(['execution/outcome.ts', 'action.write ? unknownFor(why)', 'action.write ? COMPLETED']),
    run: run({ only: ['a body until the end, cut, not done'] }),
    fires: { 'upstream:a body until the end, cut, not done': 20 },
    caughtBy: ['I2'],
  },
  {
    name: '(k) a reset connection is taken for proof that nothing left',
    edits: edits(['upstream/exchange.ts', 'this.#sends === 0 && !this.#released ?', "(this.#sends === 0 && !this.#released) || cause === 'reset' ?"]),
    run: run({ only: ['reset, done'] }),
    fires: { 'upstream:reset, done': 20 },
    caughtBy: ['I1', 'I12', 'I13', 'I3'],
  },
  {
    name: '(l) a proposal is checked and then consumed, in two steps',
    edits: edits(['store/begin.lua', "  if not as_seen or at > tonumber(seen[4]) then return { 'proposal_changed' } end\n", '']),
    // Between the two steps there is time for somebody to say no.
    run: redisRun({ people: true, stories: ['asked-withdrawn'], atOnce: 40, faultShare: 0.05, env: { AVAL_FAILPOINTS: 'before_begin:sleep(40)' } }),
    fires: { 'people:approve': 20 },
    caughtBy: ['I10'],
  },
  {
    name: '(m) what is over is told by the clock of the process',
    edits: edits(
      [
        'attempts/resolver.ts', "    await this.#apply(record, { type: 'lookup', nowMs, finding }, 'lookup')",
        "    await this.#apply(record, { type: 'lookup', nowMs: Date.now(), finding }, 'lookup')",
      ],
      ['attempts/resolver.ts',
        'return sinceMs === undefined ? record.quiescenceMs : Math.max(0, Math.ceil(record.quiescenceMs - (this.#clock.nowMs() - sinceMs)))',
        'return Math.max(0, Math.ceil(record.quiescenceMs - (Date.now() - record.dispatchedAtMs! + 0 * (sinceMs ?? 0))))'],
    ),
    run: redisRun({ skewSeconds: 20, only: ['reset, done late'], actions: ['do_work.v1'] }),
    fires: { 'upstream:reset, done late': 20 },
    caughtBy: ['I3'],
  },
  {
    name: '(n) a record is deleted where its call met a fault',
    edits: edits([
      'store/change.lua', "if state == 'settled' then\n",
      "if state == 'unknown' then redis.call('DEL', KEYS[1], KEYS[2]) end\nif state == 'settled' then\n",
    ]),
    run: redisRun({ only: ['reset, done'] }),
    fires: { 'upstream:reset, done': 20 },
    caughtBy: ['I8', 'I1'],
  },
  {
    name: '(o) a cluster client tries again by itself (without retryDelayOnFailover: 0)',
    edits: [],
    run: run(),
    fires: {},
    caughtBy: [],
    instead: 'no run can show it while every script knows its own token: (c) shows what a second run of a script does where it does not',
  },
  {
    name: '(p) SQLite syncs now and then (synchronous NORMAL)',
    edits: [],
    run: run(),
    fires: {},
    caughtBy: [],
    instead: 'no kill -9 can show it: the pragma is asserted by test/store/sqlite-file.test.ts',
  },
]
