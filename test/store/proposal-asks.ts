// Asks about proposals and their attempts, drawn at random from a world so small that they meet each other, and what must be true of the answers.
import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { AttemptEvent, AttemptRecord } from '../../src/attempts/attempt.ts'
import {
  endsAtMs, isOpen, PROPOSAL_FORMAT, type PendingMax, type ProposalEvent, type ProposalRecord, type ProposalState,
} from '../../src/consent/proposal.ts'
import type { Store } from '../../src/store/store.ts'
import { done, nameFor, neverSent, rejected } from './drafts.ts'
import { commitOf, proposal, saying, TERMS, type ProposalDraft, type Saying } from './proposal-drafts.ts'

export type ProposalAsk =
  | { readonly verb: 'propose', readonly what: ProposalDraft, readonly aware: boolean, readonly pendingMax: PendingMax }
  | { readonly verb: 'decide', readonly which: number, readonly stale: boolean, readonly saying: Saying }
  | { readonly verb: 'move', readonly which: number, readonly stale: boolean, readonly event: ProposalEvent, readonly change: string | null }
  | { readonly verb: 'commit', readonly which: number, readonly stale: boolean }
  | { readonly verb: 'end', readonly which: number, readonly how: 'unsent' | 'cancel' | 'completed' | 'later' | 'conflict' }
  | { readonly verb: 'read', readonly which: number }
  | { readonly verb: 'lists' | 'again' }
  | { readonly verb: 'stopRun', readonly what: ProposalDraft }

const mostly = <T>(usual: T, ...others: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(usual) }, fc.constantFrom(...others))

const which = mostly(0, 1, 2, 3)
const stale = mostly(false, true)
const drafts: fc.Arbitrary<ProposalDraft> = fc.record({
  tenant: mostly('t1', 'elsewhere'), run: mostly('r1', 'r2'), args: fc.constantFrom({ a: 1 }, { a: 2 }, { a: 3 }),
  requirement: fc.record({ approve: mostly(1, 2), roles: mostly<readonly string[]>(['support_lead'], ['finance', 'support_lead'], ['finance']) }), grant: fc.constantFrom(null, null, TERMS),
  format: fc.oneof({ weight: 19, arbitrary: fc.constant(PROPOSAL_FORMAT) }, fc.constant(PROPOSAL_FORMAT + 1)),
}).chain(what => fc.record({ key: mostly<string | null>(null, 'k1', 'k2'), serial: fc.nat(1_000_000) })
  .map(({ key, serial }) => ({ ...what, serial, ...(key === null ? {} : { key }) })))
const sayings: fc.Arbitrary<Saying> = fc.record({
  who: mostly('ann', 'bob', 'cat'), decision: mostly<'approve' | 'deny'>('approve', 'deny'), epoch: mostly(1, 2),
}).chain((said: Saying) => mostly<Saying>(said, { ...said, digest: 'f'.repeat(64) }))
const events: fc.Arbitrary<ProposalEvent> = fc.oneof(
  { weight: 3, arbitrary: fc.constant<ProposalEvent>({ type: 'spend' }) },
  fc.constantFrom<ProposalEvent>({ type: 'extend' }, { type: 'withdraw' }, { type: 'supersede' }, { type: 'revoke' }, { type: 'revoke', by: 'Ann' }, { type: 'expire' },
    { type: 'give_back' }, { type: 'invalidate', cause: 'target_changed' }),
)
const asks: fc.Arbitrary<ProposalAsk> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ verb: fc.constant('propose' as const), what: drafts, aware: mostly(true, false), pendingMax: fc.record({ agent: mostly(20, 2), desk: mostly(20, 1, 2, 3) }) }) },
  { weight: 6, arbitrary: fc.record({ verb: fc.constant('decide' as const), which, stale, saying: sayings }) },
  { weight: 4, arbitrary: fc.record({ verb: fc.constant('move' as const), which, stale, event: events, change: mostly<string | null>(null, 'c1', 'c2') }) },
  { weight: 5, arbitrary: fc.record({ verb: fc.constant('commit' as const), which, stale }) },
  {
    weight: 4,
    arbitrary: fc.record({
      verb: fc.constant('end' as const), which: mostly(0, 1), how: fc.constantFrom('unsent', 'unsent', 'cancel', 'completed', 'later', 'conflict'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ verb: fc.constant('read' as const), which }) },
  { weight: 2, arbitrary: fc.constantFrom<ProposalAsk>({ verb: 'lists' }, { verb: 'again' }, { verb: 'again' }) },
  fc.constant<ProposalAsk>({ verb: 'stopRun', what: { tenant: 'elsewhere', run: 'r2' } }),
)

export const proposalSequences = (max: number): fc.Arbitrary<readonly ProposalAsk[]> => fc.array(asks, { minLength: 8, maxLength: max, size: 'max' })

const ENDS = { completed: done(), later: rejected('UPSTREAM_RATE_LIMITED', true), conflict: rejected('VERSION_CONFLICT') }

/** One store, or several replicas of it that are asked by turns, and what their caller has seen of it. */
export class ProposalAsker {
  readonly #stores: ReadonlyArray<Store>
  readonly #watch: Lives | null
  readonly #first: ProposalRecord[] = []
  readonly #last = new Map<string, ProposalRecord>()
  readonly #attempts: AttemptRecord[] = []
  #words: ((store: Store) => Promise<unknown>) | null = null
  #turn = 0
  #serial = 0

  constructor (stores: ReadonlyArray<Store>, watch: Lives | null = null) {
    this.#stores = stores
    this.#watch = watch
  }

  async ask (ask: ProposalAsk): Promise<unknown> {
    const store = this.#stores[this.#turn++ % this.#stores.length]!
    const answer = await this.#asked(store, ask)
    if (this.#watch !== null) for (const { id } of this.#first) this.#watch.see((await store.findProposal(id))!.record, this.#attempts)
    return answer
  }

  async #asked (store: Store, ask: ProposalAsk): Promise<unknown> {
    switch (ask.verb) {
      case 'propose': return this.#propose(store, ask)
      case 'decide': {
        const record = this.#one(ask.which, ask.stale)
        const event = saying(record, ask.saying)
        return this.#advance(store, record, { ...event, decision: { ...(event as Extract<ProposalEvent, { type: 'decide' }>).decision, id: `d-${++this.#serial}` } } as ProposalEvent, undefined)
      }
      case 'move': return this.#advance(store, this.#one(ask.which, ask.stale), ask.event, ask.change ?? undefined)
      case 'commit': return this.#commit(store, this.#one(ask.which, ask.stale))
      case 'end': return this.#end(store, ask)
      case 'read': {
        const record = this.#one(ask.which, true)
        return [await store.findProposal(record.id), await store.recallProposal(record.tag, record.recordKey), await store.grantsOf(record.tag, record.runKey),
          await store.countProposals(record.tag, record.agentKey, 0)]
      }
      case 'lists': return Promise.all([sorted(store.openProposals(1_000)), sorted(store.endedProposals(1_000)), sorted(store.overdueProposals(1_000)), store.openProposals(0)])
      case 'again': return this.#words?.(store)
      case 'stopRun': return store.stopRun(proposal(ask.what).tag, proposal(ask.what).runKey)
    }
  }

  #one (nth: number, old: boolean): ProposalRecord {
    const first = this.#first.at(-1 - nth) ?? this.#first.at(-1)
    if (first === undefined) return proposal({ args: { never: 1 }, serial: 0 })
    return old ? first : this.#last.get(first.id)!
  }

  async #propose (store: Store, ask: Extract<ProposalAsk, { verb: 'propose' }>): Promise<unknown> {
    const record = proposal(ask.what)
    const latest = await store.recallProposal(record.tag, record.equalKey)
    const answer = await this.#changing(store, one => one.propose(record, ask.aware ? latest?.record.id ?? null : null, ask.pendingMax))
    if (answer.kind === 'proposed') {
      if (!this.#last.has(record.id)) this.#first.push(answer.record)
      this.#last.set(record.id, answer.record)
    }
    return answer
  }

  async #advance (store: Store, record: ProposalRecord, event: ProposalEvent, change: string | undefined): Promise<unknown> {
    const answer = await this.#changing(store, one => one.advanceProposal(record, event, change))
    if (answer.kind !== 'missing') this.#last.set(record.id, answer.record)
    return answer
  }

  async #commit (store: Store, record: ProposalRecord): Promise<unknown> {
    const draft = commitOf(record, { token: `token-${++this.#serial}`, args: { a: this.#serial } })
    const { finding } = await store.recall(nameFor(draft.attempt))
    const place = finding.kind === 'free' ? finding : { n: 0, g: 0, after: null }
    const { attempt, limits } = commitOf(record, { token: `token-${this.#serial}`, args: { a: this.#serial }, n: place.n, g: place.g })
    const begun = await this.#changing(store, one => one.begin(attempt, place.after, limits))
    if (begun.kind === 'begun' && !this.#attempts.some(({ id }) => id === begun.record.id)) this.#attempts.push(begun.record)
    return begun
  }

  async #end (store: Store, ask: Extract<ProposalAsk, { verb: 'end' }>): Promise<unknown> {
    const at = this.#attempts.length - 1 - ask.which
    const attempt = this.#attempts[at]
    if (attempt === undefined) return null
    const { token } = attempt
    const told: AttemptEvent = ask.how === 'cancel' ? { type: 'cancel' }
      : { type: 'settle', token, settlement: ask.how === 'unsent' ? neverSent() : ENDS[ask.how] }
    if (ask.how !== 'cancel' && ask.how !== 'unsent') await store.advance(attempt, { type: 'dispatch', token })
    const answer = await this.#changing(store, one => one.advance(attempt, told))
    if (answer.kind !== 'missing') this.#attempts[at] = answer.record
    return answer
  }

  #changing<T> (store: Store, words: (store: Store) => Promise<T>): Promise<T> {
    this.#words = words
    return words(store)
  }
}

/** Those of one millisecond stand in no order. */
async function sorted (list: ReturnType<Store['openProposals']>): Promise<unknown> {
  return [...await list].sort((one, other) => one.record.id < other.record.id ? -1 : 1)
}

const LEGAL: Record<ProposalState, readonly ProposalState[]> = {
  pending: ['pending', 'approved', 'denied', 'expired', 'withdrawn', 'superseded', 'invalidated', 'revoked'],
  approved: ['approved', 'consumed', 'expired', 'withdrawn', 'superseded', 'invalidated', 'revoked'],
  consumed: ['approved'],
  denied: [], expired: [], withdrawn: [], superseded: [], invalidated: [], revoked: [],
}

/** Holds what must be true of every proposal at every moment. */
export class Lives {
  readonly #seen = new Map<string, ProposalRecord>()

  see (record: ProposalRecord, attempts: readonly AttemptRecord[]): void {
    const before = this.#seen.get(record.id)
    this.#seen.set(record.id, record)
    if (before === undefined) assert.equal(record.state, 'pending')
    else if (before.revision === record.revision) assert.deepEqual(record, before, 'what has not changed is as it was')
    else {
      assert.equal(record.revision, before.revision + 1)
      assert.ok(LEGAL[before.state].includes(record.state), `${before.state} → ${record.state}`)
      assert.deepEqual([record.binding, record.digest, record.shown, record.requirement, record.grant], [before.binding, before.digest, before.shown, before.requirement, before.grant])
    }
    this.#holds(record, attempts.filter(({ proposal }) => proposal === record.id))
  }

  #holds (record: ProposalRecord, attempts: readonly AttemptRecord[]): void {
    const { state, decisions, requirement } = record
    const open = attempts.filter(({ settlement }) => settlement?.sent !== false)
    assert.ok(open.length <= 1, 'more than one attempt may have been sent')
    assert.equal(record.attemptId, state === 'consumed' ? open[0]!.id : null)
    assert.equal(state === 'consumed', open.length === 1)
    const last = decisions.at(-1)
    const votes = decisions.filter(({ decision, epoch }) => decision === 'approve' && epoch === last!.epoch)
    assert.equal(new Set(decisions.map(({ approver }) => approver.principal)).size, decisions.length, 'one person decided twice')
    assert.ok(decisions.every(({ digest }) => digest === record.digest))
    if (state === 'denied') assert.equal(last!.decision, 'deny')
    else assert.ok(decisions.every(({ decision }) => decision === 'approve'))
    const decided = record.commitByMs !== null
    assert.equal(decided, votes.length >= requirement.approve && state !== 'denied', 'approved where enough have said yes, and only there')
    if (state === 'approved' || state === 'consumed') assert.ok(decided)
    if (state === 'pending') assert.ok(!decided)
    assert.equal(record.cause !== null, state === 'invalidated')
    assert.equal(record.endedAtMs !== null, !isOpen(state) && state !== 'consumed')
    assert.equal(endsAtMs(record) !== null, isOpen(state))
    if (record.grant === null) assert.equal(record.uses, 0)
    else assert.ok(record.uses >= 0 && record.uses <= record.grant.usesMax && state !== 'consumed')
  }
}
