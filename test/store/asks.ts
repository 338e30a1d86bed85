// Asks of a store, drawn at random from a world so small that they meet each other, and what each answer says about the table of faults.
import fc from 'fast-check'
import { RECORD_FORMAT, type AttemptEvent, type AttemptRecord, type Finding, type Settlement } from '../../src/attempts/attempt.ts'
import type { Advanced, Begun, BeginLimits, Recalled, Store } from '../../src/store/store.ts'
import type { Fired } from '../sim/rows.ts'
import { done, draft, FREE, nameFor, neighbours, neverSent, rejected, type Draft } from './drafts.ts'

export type Ask =
  | { readonly verb: 'begin', readonly what: Draft, readonly token: number, readonly aware: boolean, readonly limits: BeginLimits }
  | { readonly verb: 'advance', readonly which: number, readonly stale: boolean, readonly event: AttemptEvent }
  | { readonly verb: 'recall' | 'ofRun' | 'stopRun' | 'countRefusal', readonly what: Draft }
  | { readonly verb: 'enter' | 'leave', readonly what: Draft, readonly call: number, readonly calls: number | null, readonly places: number | null }
  | { readonly verb: 'find', readonly which: number }
  | { readonly verb: 'unresolved', readonly limit: number }
  | { readonly verb: 'stoppedRuns' }
  /** Whoever lost the reply asks with the same words. */
  | { readonly verb: 'again' }
  | { readonly verb: 'keepDefinition' | 'definition', readonly digest: string, readonly text: string }
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
  // One that a newer version made is left alone.
  format: fc.oneof({ weight: 19, arbitrary: fc.constant(RECORD_FORMAT) }, fc.constant(RECORD_FORMAT + 1)),
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
  unchangedSinceMs: mostly<number | null>(null, 0),
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
  { weight: 6, arbitrary: fc.constant<Ask>({ verb: 'again' }) },
  fc.record({
    verb: fc.constantFrom('keepDefinition' as const, 'definition' as const), digest: fc.constantFrom('d1', 'd2'), text: fc.constantFrom('one', 'other'),
  }),
  fc.constantFrom<Ask>({ verb: 'stoppedRuns' }, { verb: 'bindKey', key: 'a' }, { verb: 'bindKey', key: 'b' }),
  fc.record({ verb: fc.constant('stopRun' as const), what: fc.constantFrom({ tenant: neighbour, run: 'r1' }, { tenant, run: 'r2' }) }),
)

const latest = (event: AttemptEvent): Ask => ({ verb: 'advance', which: 0, stale: false, event })
const absentAtLast: Finding = { kind: 'absent', settlesAfterMs: 0, quiesced: true, withinRetention: true, retryable: true }
const lookedUp = (finding: Finding): AttemptEvent => ({ type: 'lookup', nowMs: FAR_MS, finding })
const lost: fc.Arbitrary<AttemptEvent> = fc.constantFrom<AttemptEvent>(
  { type: 'lose', token: 'own', missing: 'm', reference: null }, { type: 'deadline', nowMs: FAR_MS },
  { type: 'pend', token: 'own', reference: null, retryAfterMs: null },
)

/** A life that gets somewhere: begun, sent, most often lost, and then anything. At random alone few come so far. */
const lives: fc.Arbitrary<readonly Ask[]> = fc.tuple(
  fc.record({ verb: fc.constant('begin' as const), what: drafts, token: fc.nat(3), aware: fc.constant(true), limits: fc.constant(FREE) }),
  fc.option(lost), fc.array(fc.oneof(
    settlements.map<AttemptEvent>(settlement => ({ type: 'settle', token: 'own', settlement })),
    findings.map(lookedUp),
    fc.constantFrom<AttemptEvent>({ type: 'cancel' }, { type: 'escalate' }, lookedUp({ kind: 'inconclusive', retryAfterMs: null }),
      { type: 'settle', token: 'own', settlement: neverSent() }),
  ), { maxLength: 4 }), fc.boolean(), fc.boolean(),
  mostly<AttemptEvent | null>(null, { type: 'cancel' }, { type: 'deadline', nowMs: FAR_MS }),
).map(([begin, loss, rest, absent, again, early]) => [
  begin,
  ...(early === null ? [] : [latest(early)]),
  latest({ type: 'dispatch', token: 'own' }),
  ...(again ? [{ verb: 'again' } as const] : []),
  ...(loss === null ? [] : [latest(loss)]),
  ...(absent ? [latest(lookedUp(absentAtLast)), latest(lookedUp(absentAtLast))] : []),
  ...rest.map(latest),
  ...(again ? [{ verb: 'again' } as const, begin] : []),
])

/** At most so many asks. */
export const sequences = (max: number): fc.Arbitrary<readonly Ask[]> =>
  fc.array(fc.oneof({ weight: 3, arbitrary: lives }, { weight: 7, arbitrary: asks.map(ask => [ask]) }), { minLength: 8, maxLength: max, size: 'max' })
    .map(parts => parts.flat().slice(0, max))

/** One store and what its caller has seen of it. */
export class Asker {
  readonly #stores: ReadonlyArray<Store>
  /** As first seen, and as last seen. */
  readonly #first: AttemptRecord[] = []
  readonly #last = new Map<string, AttemptRecord>()
  /** The last ask that could have changed something, word by word. */
  #words: ((store: Store) => Promise<unknown>) | null = null
  readonly #fired: Fired | null
  #turn = 0

  /** @param fired counts the rows of the table; of one asker, since all of them are asked the same */
  constructor (stores: ReadonlyArray<Store>, fired: Fired | null = null) {
    this.#stores = stores
    this.#fired = fired
  }

  async ask (ask: Ask): Promise<unknown> {
    const store = this.#stores[this.#turn++ % this.#stores.length]!
    switch (ask.verb) {
      case 'begin': return this.#begin(store, ask)
      case 'advance': {
        const first = this.#first.at(-1 - ask.which) ?? this.#first.at(-1)
        const record = first === undefined ? draft({ ...{ args: { never: 1 } }, token: 'token-0' }) : ask.stale ? first : this.#last.get(first.id)!
        const event = 'token' in ask.event && ask.event.token === 'own' ? { ...ask.event, token: record.token } : ask.event
        const before = this.#last.get(record.id)
        const advanced = await this.#changing(store, one => one.advance(record, event))
        if (advanced.kind !== 'missing') this.#last.set(record.id, advanced.record)
        if (this.#fired !== null && before !== undefined) countAdvance(this.#fired, before, event, advanced)
        return advanced
      }
      case 'again': {
        const answer = await this.#words?.(store)
        if (this.#fired !== null) countAgain(this.#fired, answer)
        return answer
      }
      case 'keepDefinition': return store.keepDefinition(ask.digest, ask.text)
      case 'definition': return store.definition(ask.digest)
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

  #changing<T> (store: Store, words: (store: Store) => Promise<T>): Promise<T> {
    this.#words = words
    return words(store)
  }

  async #begin (store: Store, ask: Extract<Ask, { verb: 'begin' }>): Promise<unknown> {
    const name = nameFor(draft(ask.what))
    const { finding } = await store.recall(name)
    const place = ask.aware && finding.kind === 'free' ? finding : { n: 0, g: 0, after: null }
    const record = draft({ ...ask.what, n: place.n, g: place.g, token: `token-${ask.token}` })
    const begun = await this.#changing(store, one => one.begin(record, place.after, ask.limits))
    if (this.#fired !== null) countBegin(this.#fired, finding, begun)
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
export function plain (value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null, (key, part: unknown) => /atMs$/i.test(key) && part !== null ? 'a time' : part))
}

export function withoutSensitive (value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null), (_key, part: unknown) => {
    if (typeof part !== 'object' || part === null || !('sensitive' in part) || part.sensitive !== true || !('settlement' in part)) return part
    return { ...part, settlement: part.settlement === null ? null : { ...part.settlement as object, result: null, withheld: null } }
  })
}


function countBegin (fired: Fired, known: Recalled['finding'], begun: Begun): void {
  if (begun.kind === 'target_busy') fired.row(39)
  const finding = begun.kind === 'recalled' ? begun.recalled.finding : known
  if (finding.kind === 'key_reused') fired.row(12)
  if (finding.kind === 'in_progress' || (finding.kind === 'duplicate' && finding.record.state !== 'settled')) fired.row(11)
  if (finding.kind === 'duplicate' && finding.record.state === 'settled') fired.row(9)
}

function countAgain (fired: Fired, answer: unknown): void {
  const { kind, record } = answer as { readonly kind?: string, readonly record?: AttemptRecord } ?? {}
  if (kind === 'begun') fired.row(2)
  if (kind === 'already' && record?.state === 'dispatched') fired.row(5)
  if (kind === 'already' && record?.state !== 'dispatched') fired.row(10)
}

const isCancelled = ({ settlement }: AttemptRecord): boolean => settlement?.code === 'CANCELLED'

function countAdvance (fired: Fired, before: AttemptRecord, event: AttemptEvent, advanced: Advanced): void {
  if (advanced.kind === 'missing') return
  if (before.format > RECORD_FORMAT && advanced.kind === 'refused') return fired.row(45)
  if (advanced.kind === 'refused' && event.type === 'dispatch' && isCancelled(advanced.record)) fired.row(42)
  if (advanced.kind === 'refused' && advanced.alarm && advanced.record.settlement?.code === 'NOT_APPLIED') fired.row(15)
  if (advanced.kind !== 'changed') return
  const { state } = advanced.record
  switch (event.type) {
    case 'settle':
      if (before.state === 'unknown') fired.row(event.settlement.sent ? 14 : 13)
      if (event.settlement.outcome === 'rejected' && event.settlement.sent) fired.row(event.settlement.retryable ? 24 : 21)
      break
    case 'pend': return fired.row(18)
    case 'lose': return fired.row(20)
    case 'deadline': return fired.row(before.state === 'prepared' ? 4 : 6)
    case 'cancel': return fired.row(state === 'settled' ? 40 : 41)
    case 'lookup':
      if (event.finding.kind === 'inconclusive') fired.row(25)
      if (event.finding.kind === 'absent') fired.row(26)
      if (event.finding.kind === 'pending') fired.row(28)
      break
    default:
  }
}
