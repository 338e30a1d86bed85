// The desk over a store: what is on it, who may see it, and what they decide. Whether they may is asked of the sheets in force each time, and of the
// store once more in the change itself.
import type { Catalog } from '../catalog/catalog.ts'
import { Refusal } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import type { AdvancedProposal, ConsentStore, HeldProposal } from '../store/consent-store.ts'
import { BATCH_MAX, belongTogether } from './batch.ts'
import { isConfirmed } from './confirm.ts'
import { isEntitled, isOwnRequest, standingOf, stopsNoDenial, votesOf, whyNotNow, type Situation } from './decision.ts'
import type { DecideAsk, Decided, Desk, PageOf, Person, Seen } from './desk.ts'
import type { ConsentEvents } from './events.ts'
import { isIntact } from './intact.ts'
import { pageAfter, type Placed } from './paging.ts'
import type { Principals } from './principals.ts'
import { stateAt, type Decision, type ProposalEvent, type ProposalRecord } from './proposal.ts'
import { RENDERER } from './untrusted.ts'

/** What a person did with a proposal, for the audit. */
export interface PersonTold {
  readonly person: Person
  readonly record: ProposalRecord
  readonly what: 'viewed' | 'approved' | 'denied' | 'extended' | 'revoked'
  readonly surface: 'page' | 'terminal' | null
  readonly renderer: string | null
  readonly msOnPage: number | null
  readonly reasonCode: string | null
}

export interface DeskServices {
  readonly store: ConsentStore
  readonly events: ConsentEvents
  readonly principals: Principals
  readonly lock: { epoch (): number, isLocked (): boolean, isFresh (): boolean, refresh (): Promise<void> }
  readonly audit: {
    /** @throws nothing */
    person (told: PersonTold): void
    /** A stored proposal is not what it was. @throws nothing */
    altered (record: ProposalRecord): void
    /** false: nothing more can be kept, and nothing may be approved. */
    hasRoom (): boolean
  }
  /** The catalog in force. */
  catalog (): Catalog
}

/** Of each list so much is looked through; the caps on what one agent may have undecided keep it shorter. */
const LOOKED_THROUGH = 1_000
const DAY_MS = 24 * 3_600_000
const REASON_POINTS_MAX = 500

export function createDesk (services: DeskServices): Desk {
  return {
    pending: (person, cursor, limit) => pending(person, cursor, limit, services),
    history: (person, cursor, limit) => history(person, cursor, limit, services),
    grants: async person => {
      const held = await services.store.openProposals(LOOKED_THROUGH)
      return seenAll(held.filter(one => one.record.kind === 'session' && one.record.state === 'approved' && maySee(person, one, services)), person, services)
    },
    async view (person, id, surface) {
      const held = await found(person, id, services)
      if (held === null) return null
      services.audit.person({ person, record: held.record, what: 'viewed', surface, renderer: RENDERER, msOnPage: null, reasonCode: null })
      return seen(held, person, services)
    },
    together: (person, id) => together(person, id, services),
    these: (person, ids) => these(person, ids, services),
    decide: (person, ask) => decide(person, ask, services),
    extend: (person, id) => move(person, id, { type: 'extend' }, services),
    revoke: (person, id) => move(person, id, { type: 'revoke', by: person.display }, services),
  }
}

function situationOf ({ record, nowMs }: HeldProposal, { principals, lock, catalog }: DeskServices): Situation {
  const inForce = catalog().actions.get(record.action)?.requirement ?? null
  return { record, state: stateAt(record, nowMs), nowMs, inForce, principals, locked: lock.isLocked(), epoch: lock.epoch() }
}

/** Who may decide on it, and who has. */
function maySee (person: Person, held: HeldProposal, services: DeskServices): boolean {
  const me = services.principals.of(person.iss, person.sub)
  return held.record.decisions.some(({ approver }) => approver.principal === me) || isEntitled(person, situationOf(held, services))
}

/** null: none that this person may see. What was altered in the store ends here, and an alarm is raised. */
async function found (person: Person, id: string, services: DeskServices): Promise<HeldProposal | null> {
  const held = await services.store.findProposal(id)
  if (held === null || !maySee(person, held, services)) return null
  if (isIntact(held.record)) return held
  services.audit.altered(held.record)
  const advanced = await services.store.advanceProposal(held.record, { type: 'invalidate', cause: 'stored_bytes_changed' })
  if (advanced.kind === 'missing') return null
  if (advanced.kind === 'changed') services.events.tell({ type: 'invalidated', record: advanced.record })
  return advanced
}

async function seen (held: HeldProposal, person: Person, services: DeskServices): Promise<Seen> {
  const { record, nowMs } = held
  const { store, lock } = services
  const situation = situationOf(held, services)
  const [countToday, before] = await Promise.all([
    store.countProposals(record.tag, record.agentKey, nowMs - DAY_MS),
    record.supersedes === null ? null : store.findProposal(record.supersedes),
  ])
  return {
    record, state: situation.state, nowMs, mayNot: whyNotNow(person, situation), votes: votesOf(record, lock.epoch()), countToday,
    before: before?.record ?? null,
  }
}

const seenAll = (held: readonly HeldProposal[], person: Person, services: DeskServices): Promise<readonly Seen[]> =>
  Promise.all(held.map(one => seen(one, person, services)))

async function pending (person: Person, cursor: string | null, limit: number, services: DeskServices): Promise<PageOf<Seen>> {
  const all = await services.store.openProposals(LOOKED_THROUGH)
  const mine = all.filter(held => stateAt(held.record, held.nowMs) === 'pending' && maySee(person, held, services))
  return pageOf(mine.map(held => ({ item: held, atMs: held.record.createdAtMs, id: held.record.id })), 'oldest_first', cursor, limit, person, services)
}

/** By when they decided. */
async function history (person: Person, cursor: string | null, limit: number, services: DeskServices): Promise<PageOf<Seen>> {
  const { store, principals } = services
  const me = principals.of(person.iss, person.sub)
  const [ended, open] = await Promise.all([store.endedProposals(LOOKED_THROUGH), store.openProposals(LOOKED_THROUGH)])
  // What moves from one list to the other meanwhile stands in both.
  const all = new Map([...open, ...ended].map(held => [held.record.id, held]))
  const decided = [...all.values()].flatMap(held => {
    const own = held.record.decisions.find(({ approver }) => approver.principal === me)
    return own === undefined ? [] : [{ item: held, atMs: own.atMs, id: held.record.id }]
  })
  return pageOf(decided, 'latest_first', cursor, limit, person, services)
}

async function together (person: Person, id: string, services: DeskServices): Promise<readonly Seen[] | null> {
  const first = await found(person, id, services)
  if (first === null) return null
  const open = await services.store.openProposals(LOOKED_THROUGH)
  const alike = open.filter(held => belongTogether(first.record, held.record) && isIntact(held.record) && maySee(person, held, services)).slice(0, BATCH_MAX)
  const all = (await seenAll(alike, person, services)).filter(({ mayNot }) => mayNot === null)
  for (const { record } of all) services.audit.person({ person, record, what: 'viewed', surface: 'page', renderer: RENDERER, msOnPage: null, reasonCode: null })
  return all
}

async function these (person: Person, ids: readonly string[], services: DeskServices): Promise<readonly Seen[] | null> {
  if (ids.length === 0 || ids.length > BATCH_MAX || new Set(ids).size !== ids.length) return null
  const all = await Promise.all(ids.map(id => found(person, id, services)))
  const held = all.filter(one => one !== null)
  return held.length === ids.length && held.every(({ record }) => belongTogether(held[0]!.record, record)) ? seenAll(held, person, services) : null
}

async function pageOf (
  all: ReadonlyArray<Placed<HeldProposal>>, order: 'oldest_first' | 'latest_first', cursor: string | null, limit: number, person: Person,
  services: DeskServices,
): Promise<PageOf<Seen>> {
  const { items, next } = pageAfter(all, order, cursor, limit)
  return { items: await seenAll(items, person, services), next }
}

async function decide (person: Person, ask: DecideAsk, services: DeskServices): Promise<Decided> {
  const { store, lock, audit } = services
  // What is said under a lock that this replica has not heard of would count for nothing.
  if (!lock.isFresh()) await lock.refresh()
  const held = await found(person, ask.id, services)
  if (held === null) return { kind: 'missing' }
  const refused = await whyRefused(person, ask, held, services)
  // The first time it may have come to an end between the denial and what that ends.
  if (refused?.kind === 'taken' && ask.decision === 'deny') await endGrants(held.record, person, services)
  if (refused !== null) return refused
  if (ask.decision === 'approve' && !audit.hasRoom()) throw Refusal.of('STATE_UNAVAILABLE', { retryAfterSeconds: 1 }, 'consent')
  await failpoint('before_decide')
  const decided = await store.advanceProposal(held.record, { type: 'decide', decision: decisionOf(person, ask, services) })
  const advanced = await unlessStopped(decided, services)
  await failpoint('after_decide')
  if (advanced.kind === 'missing') return { kind: 'missing' }
  const now = await seen(advanced, person, services)
  if (advanced.kind === 'already') return { kind: 'taken', seen: now, decisive: isDecisive(advanced.record, ask), again: true }
  if (advanced.kind === 'refused') return { kind: 'refused', seen: now, why: REFUSED[advanced.why as keyof typeof REFUSED] ?? 'not_pending' }
  await tellDecided(person, ask, advanced.record, services)
  return { kind: 'taken', seen: now, decisive: now.state !== 'pending', again: false }
}

/** What a stopped run still has open ends here at the latest. */
async function unlessStopped (advanced: AdvancedProposal, { store, events }: DeskServices): Promise<AdvancedProposal> {
  if (advanced.kind !== 'refused' || advanced.why !== 'run_stopped') return advanced
  const ended = await store.advanceProposal(advanced.record, { type: 'invalidate', cause: 'run_stopped' })
  if (ended.kind === 'changed') events.tell({ type: 'invalidated', record: ended.record })
  return ended.kind === 'missing' ? ended : { kind: 'refused', record: ended.record, nowMs: ended.nowMs, why: 'ended' }
}

const REFUSED = { digest_differs: 'changed', expired: 'expired', already_voted: 'already_voted' } as const

/** null: it is the store's to say. */
async function whyRefused (person: Person, ask: DecideAsk, held: HeldProposal, services: DeskServices): Promise<Decided | null> {
  const { record } = held
  const situation = situationOf(held, services)
  const refuse = async (why: Extract<Decided, { kind: 'refused' }>['why']): Promise<Decided> =>
    ({ kind: 'refused', seen: await seen(held, person, services), why })
  const stands = standingOf(person, situation)
  if (stands !== null) {
    if (stands.decision !== ask.decision) return refuse('already_voted')
    return { kind: 'taken', seen: await seen(held, person, services), decisive: isDecisive(record, ask), again: true }
  }
  const why = whyNotNow(person, situation)
  if (why === 'not_pending' && situation.state === 'expired') return refuse('expired')
  if (why !== null && !(ask.decision === 'deny' && stopsNoDenial(why))) return refuse(why)
  if (ask.digest !== record.digest) return refuse('changed')
  if (ask.decision === 'deny') return ask.reasonCode === null ? refuse('reason_missing') : null
  return isConfirmed(record, ask.confirmed) ? null : refuse('not_confirmed')
}

/** The last word was this person's, as far as can be told later. */
const isDecisive = ({ state }: ProposalRecord, { decision }: DecideAsk): boolean => decision === 'deny' || state !== 'pending'

function decisionOf (person: Person, ask: DecideAsk, { principals, lock }: DeskServices): Omit<Decision, 'atMs'> {
  const { decisionId: id, digest, decision, visibility, shown } = ask
  const denies = decision === 'deny'
  return {
    id, digest, decision, visibility, shown, epoch: lock.epoch(),
    approver: { ...person, principal: principals.of(person.iss, person.sub) },
    reasonCode: denies ? ask.reasonCode : null,
    reasonText: denies && ask.reasonText !== null ? [...ask.reasonText].slice(0, REASON_POINTS_MAX).join('') : null,
  }
}

async function tellDecided (person: Person, ask: DecideAsk, record: ProposalRecord, services: DeskServices): Promise<void> {
  const { decision, reasonCode, shown: { renderer, surface, msOnPage } } = ask
  const what = decision === 'deny' ? 'denied' : 'approved'
  services.audit.person({ person, record, what, surface, renderer, msOnPage, reasonCode: decision === 'deny' ? reasonCode : null })
  services.events.tell(record.state === 'pending' ? { type: 'voted', record } : { type: decision === 'deny' ? 'denied' : 'approved', record })
  if (decision === 'deny') await endGrants(record, person, services)
}

/** Whoever says no to one call of an action means no more of them by an earlier yes either. */
async function endGrants ({ tag, runKey, action }: ProposalRecord, { display: by }: Person, { store, events }: DeskServices): Promise<void> {
  for (const { record } of await store.grantsOf(tag, runKey)) {
    if (record.grant?.actions.some(({ id }) => id === action) !== true) continue
    const advanced = await store.advanceProposal(record, { type: 'revoke', by })
    if (advanced.kind === 'changed') events.tell({ type: 'revoked', record: advanced.record })
  }
}

const hasSaid = (person: Person, { record, principals }: Situation): boolean =>
  record.decisions.some(({ approver }) => approver.principal === principals.of(person.iss, person.sub))

/** Answers how it is afterwards, whether or not there was anything to do. */
async function move (person: Person, id: string, event: Extract<ProposalEvent, { type: 'extend' | 'revoke' }>, services: DeskServices): Promise<Seen | null> {
  const held = await found(person, id, services)
  if (held === null) return null
  const situation = situationOf(held, services)
  // More time is for those who decide; whatever takes a right away is for everyone who sees it.
  if (event.type === 'extend' && (!isEntitled(person, situation) || isOwnRequest(person, situation))) return seen(held, person, services)
  // Whoever has said nothing yet says no by denying it, and why.
  if (event.type === 'revoke' && situation.state === 'pending' && !hasSaid(person, situation)) return seen(held, person, services)
  const advanced = await unlessStopped(await services.store.advanceProposal(held.record, event), services)
  if (advanced.kind === 'missing') return null
  if (advanced.kind === 'changed') {
    const what = event.type === 'extend' ? 'extended' : 'revoked'
    services.audit.person({ person, record: advanced.record, what, surface: null, renderer: null, msOnPage: null, reasonCode: null })
    services.events.tell({ type: what, record: advanced.record })
  }
  return seen(advanced, person, services)
}
