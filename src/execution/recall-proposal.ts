// Step 6 for what needs a person's yes: a live proposal answers with itself, one that was used up with its attempt, and what was denied a short while ago
// is not asked again.
import { mayBeMeantAgain } from '../attempts/attempt.ts'
import type { Action } from '../catalog/catalog.ts'
import { outdated } from '../consent/grant.ts'
import { COOL_DOWN_MS, stateAt, type InvalidCause, type ProposalRecord } from '../consent/proposal.ts'
import { Refusal } from '../errors.ts'
import type { HeldProposal } from '../store/consent-store.ts'
import type { RecordName } from '../store/store.ts'
import { invalidate } from './invalidate.ts'
import { proposalRefusal } from './proposal-answer.ts'
import { recallNow, repeatOf, type Duplicate } from './repeat.ts'
import type { Services } from './services.ts'
import { reachState } from './state.ts'

/** The answer is this proposal. */
export interface Proposed {
  readonly kind: 'proposed'
  readonly held: HeldProposal
  readonly duplicate: boolean
}

/** There is nothing to repeat: what a new proposal has to know of the earlier ones. */
export interface Unproposed {
  readonly kind: 'unproposed'
  readonly equalKey: string
  /** The latest under the equal key: the guard of `propose`. */
  readonly after: string | null
  /** What the new one is instead of. */
  readonly supersedes: string | null
}

/** @throws Refusal IDEMPOTENCY_KEY_REUSED, RECENTLY_DENIED, CALL_IN_PROGRESS */
export async function recallProposals (name: RecordName, equalKey: string, action: Action, services: Services): Promise<Proposed | Duplicate | Unproposed> {
  const recallOf = (key: string): Promise<HeldProposal | null> => reachState(services, 'recallProposal', () => services.store.recallProposal(name.tag, key))
  const found = await recallOf(equalKey)
  // Read after it: whatever is proposed from then on under either name, `propose` sees by the equal key.
  const own = name.recordKey === equalKey ? found : await recallOf(name.recordKey)
  if (own !== null && own.record.fingerprint !== name.fingerprint) throw Refusal.of('IDEMPOTENCY_KEY_REUSED')
  // Without a key an equal call repeats only what had none either; of what is used up by another key nothing is repeated.
  const repeated = own === null || own.record.recordKey !== name.recordKey ? null : await usedUp(own.record, name, services)
  if (repeated !== null) return repeated
  // What used it up may have been found never to have left since it was read.
  const latest = found?.record.state === 'consumed' ? await recallOf(equalKey) : found
  if (latest?.record.id !== found?.record.id) throw Refusal.of('CALL_IN_PROGRESS', { retryAfterSeconds: 1 })
  return await standing(latest, action, services) ?? { kind: 'unproposed', equalKey, after: latest?.record.id ?? null, supersedes: supersededBy(latest) }
}

/** What is still undecided or approved answers; what was just denied refuses; of anything else nothing is left. */
export async function standing (latest: HeldProposal | null, action: Action, services: Services): Promise<Proposed | Unproposed | null> {
  if (latest === null) return null
  const { record, nowMs } = latest
  const state = stateAt(record, nowMs)
  if (state === 'denied' && nowMs - (record.decidedAtMs ?? nowMs) <= COOL_DOWN_MS) throw proposalRefusal(latest, services, 'RECENTLY_DENIED')
  if (state !== 'pending' && state !== 'approved') return null
  const cause = staleCause(record, action, services)
  if (cause === null) return { kind: 'proposed', held: latest, duplicate: true }
  await invalidate(record, cause, services)
  return { kind: 'unproposed', equalKey: record.equalKey, after: record.id, supersedes: record.id }
}

/** Sheets or rules are others by now; where another replica still goes by those it was made with, it is left to that one. */
function staleCause (record: ProposalRecord, action: Action, services: Services): InvalidCause | null {
  const cause = outdated(record, action)
  return cause !== null && services.isServedElsewhere(record.catalog) ? null : cause
}

export function supersededBy (latest: HeldProposal | null): string | null {
  if (latest === null) return null
  const state = stateAt(latest.record, latest.nowMs)
  return state === 'invalidated' || state === 'expired' ? latest.record.id : null
}

/** The attempt that used it up, for as long as a repeat is one. */
async function usedUp (record: ProposalRecord, name: RecordName, services: Services): Promise<Duplicate | null> {
  if (record.state !== 'consumed') return null
  const recordKey = services.identity.proposalKey(record.owner, record.id)
  const repeat = repeatOf(await recallNow({ ...name, recordKey, keyed: record.keyed }, services))
  return repeat === null || mayBeMeantAgain(repeat.record) ? null : repeat // then a person is asked again
}
