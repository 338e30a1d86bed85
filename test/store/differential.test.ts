// The same asks of three stores: plain data, SQLite, and two replicas over one Redis. Whatever the sequence, they answer alike, times aside.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import type { AttemptEvent, AttemptRecord, Finding, Settlement } from '../../src/attempts/attempt.ts'
import { openRedis } from '../../src/store/redis.ts'
import { openSqlite } from '../../src/store/sqlite.ts'
import type { BeginLimits, Store } from '../../src/store/store.ts'
import { startRedis, type RedisServer } from '../support/redis.ts'
import { done, draft, nameFor, neighbours, neverSent, rejected, type Draft } from './drafts.ts'
import { openMemory, type ModelStore } from './memory-store.ts'

let server: RedisServer
let replicas: readonly Store[] = []
const folder = mkdtempSync(join(tmpdir(), 'aval-store-'))
before(async () => {
  server = await startRedis()
  replicas = await Promise.all([openRedis(server.url), openRedis(server.url)])
})
after(async () => {
  await Promise.all(replicas.map(store => store.close()))
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
})

type Ask =
  | { readonly verb: 'begin', readonly what: Draft, readonly token: number, readonly aware: boolean, readonly limits: BeginLimits }
  | { readonly verb: 'advance', readonly which: number, readonly stale: boolean, readonly event: AttemptEvent }
  | { readonly verb: 'recall' | 'ofRun' | 'stopRun' | 'countRefusal', readonly what: Draft }
  | { readonly verb: 'enter' | 'leave', readonly what: Draft, readonly call: number, readonly calls: number | null, readonly places: number | null }
  | { readonly verb: 'find', readonly which: number }
  | { readonly verb: 'unresolved', readonly limit: number }
  | { readonly verb: 'stoppedRuns' }
  | { readonly verb: 'bindKey', readonly key: string }

const [tenant, neighbour] = neighbours()
const mostly = <T>(usual: T, ...others: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(usual) }, fc.constantFrom(...others))

// A small world, so that asks meet each other.
const drafts: fc.Arbitrary<Draft> = fc.record({
  tenant: mostly(tenant, neighbour, 'elsewhere'),
  run: mostly('r1', 'r2'),
  action: mostly('change.v1', 'other.v1'),
  upstream: mostly('shop', 'bank'),
  args: fc.constantFrom({ a: 1 }, { a: 2 }),
  key: mostly<string | null>(null, 'k'),
  target: fc.constantFrom(null, null, 'c1', 'c2'),
  serialize: mostly<string | null>(null, 's1'),
  guarded: fc.boolean(),
  sensitive: fc.constantFrom(false, false, true),
})
const settlements: fc.Arbitrary<Settlement> = fc.constantFrom(
  done(), done(null), rejected('UPSTREAM_REJECTED'), rejected('UPSTREAM_RATE_LIMITED', true), neverSent(),
)
const FAR_MS = 10_000_000_000_000
const findings: fc.Arbitrary<Finding> = fc.oneof(
  fc.record({ kind: fc.constant('settled' as const), settlement: settlements }),
  fc.record({ kind: fc.constant('pending' as const), reference: fc.constantFrom(null, 'job'), retryAfterMs: fc.constant(null) }),
  fc.record({
    kind: fc.constant('absent' as const), settlesAfterMs: fc.constant(0), quiesced: fc.boolean(), withinRetention: fc.constant(true),
    retryable: fc.boolean(),
  }),
  fc.constantFrom<Finding>({ kind: 'inconclusive', retryAfterMs: null }, { kind: 'impossible' }),
)
const tokens = fc.oneof({ weight: 9, arbitrary: fc.constant('own') }, fc.constant('another'))
const events: fc.Arbitrary<AttemptEvent> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ type: fc.constant('dispatch' as const), token: tokens }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('settle' as const), token: tokens, settlement: settlements }) },
  fc.record({ type: fc.constant('pend' as const), token: tokens, reference: fc.constantFrom(null, 'job'), retryAfterMs: fc.constant(null) }),
  { weight: 2, arbitrary: fc.record({ type: fc.constant('lose' as const), token: tokens, missing: fc.constant('m'), reference: fc.constant(null) }) },
  fc.record({ type: fc.constant('deadline' as const), nowMs: fc.constantFrom(0, FAR_MS) }),
  { weight: 2, arbitrary: fc.record({ type: fc.constant('lookup' as const), nowMs: fc.constant(FAR_MS), finding: findings }) },
  fc.constantFrom<AttemptEvent>({ type: 'cancel' }, { type: 'escalate' }),
  fc.record({ type: fc.constant('resolve' as const), settlement: settlements }),
)
const limits: fc.Arbitrary<BeginLimits> = fc.record({
  callsPerRun: mostly<number | null>(null, 6), concurrencyPerTenant: mostly<number | null>(null, 3), unresolvedMax: mostly(100, 2),
})
const observations = fc.record({
  verb: fc.constantFrom('enter' as const, 'leave' as const), what: drafts, call: fc.nat(3),
  calls: fc.constantFrom(null, 5), places: fc.constantFrom(null, 2),
})
const asks: fc.Arbitrary<Ask> = fc.oneof(
  { weight: 9, arbitrary: fc.record({ verb: fc.constant('begin' as const), what: drafts, token: fc.nat(3), aware: fc.boolean(), limits }) },
  { weight: 16, arbitrary: fc.record({ verb: fc.constant('advance' as const), which: mostly(0, 1, 2, 3), stale: fc.boolean(), event: events }) },
  { weight: 2, arbitrary: fc.record({ verb: fc.constantFrom('recall' as const, 'ofRun' as const, 'countRefusal' as const), what: drafts }) },
  { weight: 2, arbitrary: observations },
  fc.record({ verb: fc.constant('find' as const), which: fc.nat(9) }),
  fc.record({ verb: fc.constant('unresolved' as const), limit: fc.nat(5) }),
  fc.constantFrom<Ask>({ verb: 'stoppedRuns' }, { verb: 'bindKey', key: 'a' }, { verb: 'bindKey', key: 'b' }),
  fc.record({ verb: fc.constant('stopRun' as const), what: fc.constantFrom({ tenant: neighbour, run: 'r1' }, { tenant, run: 'r2' }) }),
)

/** One store and what its caller has seen of it. */
class Asker {
  readonly #stores: ReadonlyArray<ModelStore>
  /** As first seen, and as last seen. */
  readonly #first: AttemptRecord[] = []
  readonly #last = new Map<string, AttemptRecord>()
  #turn = 0

  constructor (stores: ReadonlyArray<ModelStore>) {
    this.#stores = stores
  }

  async ask (ask: Ask): Promise<unknown> {
    const store = this.#stores[this.#turn++ % this.#stores.length]!
    switch (ask.verb) {
      case 'begin': return this.#begin(store, ask)
      case 'advance': {
        const first = this.#first.at(-1 - ask.which) ?? this.#first.at(-1)
        const record = first === undefined ? draft({ ...{ args: { never: 1 } }, token: 'token-0' }) : ask.stale ? first : this.#last.get(first.id)!
        const event = 'token' in ask.event && ask.event.token === 'own' ? { ...ask.event, token: record.token } : ask.event
        const advanced = await store.advance(record, event)
        if (advanced.kind !== 'missing') this.#last.set(record.id, advanced.record)
        return advanced
      }
      case 'recall': return store.recall(nameFor(draft(ask.what)))
      case 'ofRun': return store.ofRun(draft(ask.what).tag, draft(ask.what).runKey, 5)
      case 'countRefusal': return store.countRefusal(draft(ask.what).tag, draft(ask.what).runKey, 'change.v1')
      case 'stopRun': return store.stopRun(draft(ask.what).tag, draft(ask.what).runKey)
      case 'enter': return store.enter(this.#place(ask), { callsPerRun: ask.calls, concurrencyPerTenant: ask.places }, 600_000)
      case 'leave': return store.leave(this.#place(ask))
      case 'find': return store.find(this.#first.at(-1 - ask.which)?.id ?? 'none')
      // Those that were begun within one millisecond stand in no order.
      case 'unresolved': return [...await store.unresolved(ask.limit === 0 ? 0 : 1_000)].sort((one, other) => one.id < other.id ? -1 : 1)
      case 'stoppedRuns': return [...await store.stoppedRuns()].sort()
      case 'bindKey': return store.bindKey(ask.key)
    }
  }

  async #begin (store: ModelStore, ask: Extract<Ask, { verb: 'begin' }>): Promise<unknown> {
    const name = nameFor(draft(ask.what))
    const { finding } = await store.recall(name)
    const place = ask.aware && finding.kind === 'free' ? finding : { n: 0, g: 0, after: null }
    const record = draft({ ...ask.what, n: place.n, g: place.g, token: `token-${ask.token}` })
    const begun = await store.begin(record, place.after, ask.limits)
    if (begun.kind === 'begun') {
      if (!this.#last.has(begun.record.id)) this.#first.push(begun.record)
      this.#last.set(begun.record.id, begun.record)
    }
    return begun
  }

  #place (ask: Extract<Ask, { verb: 'enter' | 'leave' }>) {
    const { tag, runKey, owner, action } = draft(ask.what)
    return { tag, tenant: owner.tenant, runKey, action, callId: `call-${ask.call}` }
  }
}

/** Times say only whether they are there. A result that must not be kept is known to whoever settled, and to no store that is read. */
function plain (value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null, (key, part: unknown) => key.endsWith('AtMs') && part !== null ? 'a time' : part))
}

function withoutSensitive (value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null), (_key, part: unknown) => {
    if (typeof part !== 'object' || part === null || !('sensitive' in part) || part.sensitive !== true || !('settlement' in part)) return part
    return { ...part, settlement: part.settlement === null ? null : { ...part.settlement as object, result: null, withheld: null } }
  })
}

let file = 0

test('plain data, SQLite and Redis answer alike, whatever is asked', { timeout: 600_000 }, async () => {
  await fc.assert(fc.asyncProperty(fc.array(asks, { minLength: 20, maxLength: 80, size: 'max' }), async sequence => {
    await server.command('FLUSHALL')
    const sqlite = openSqlite(join(folder, `${++file}.db`))
    try {
      const askers = [new Asker([openMemory()]), new Asker([sqlite]), new Asker(replicas)]
      for (const [index, ask] of sequence.entries()) {
        const [model, ...drivers] = await Promise.all(askers.map(async asker => withoutSensitive(plain(await asker.ask(ask)))))
        for (const [driver, answer] of drivers.entries()) {
          assert.deepEqual(answer, model, `${['sqlite', 'redis'][driver]}, ask ${index}: ${JSON.stringify(ask)}`)
        }
      }
    } finally {
      await sqlite.close()
    }
  }), { numRuns: Number(process.env['DIFFERENTIAL_RUNS'] ?? 40) })
})
