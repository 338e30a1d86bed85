// Who may decide, and what counts: rules without a clock, a store or a session. Where the sheets have changed since a proposal was made, what they ask
// for now holds beside what was asked for then.
import type { Requirement } from '../catalog/catalog.ts'
import type { MayNot, Person } from './desk.ts'
import type { Principals } from './principals.ts'
import type { Decision, ProposalRecord, ProposalState } from './proposal.ts'

export interface Situation {
  readonly record: ProposalRecord
  /** At the store's time `nowMs`. */
  readonly state: ProposalState
  readonly nowMs: number
  /** Of the action as it is in force; null: there is no such action any more. */
  readonly inForce: Requirement | null
  readonly principals: Principals
  readonly locked: boolean
  /** Of the lock. */
  readonly epoch: number
}

/** Clocks of identity providers are not ours. */
const SKEW_S = 60

/** A role of theirs may decide on this, by what was asked for then and by what is asked for now. */
export function isEntitled ({ roles }: Person, { record, inForce }: Pick<Situation, 'record' | 'inForce'>): boolean {
  const hasOne = (asked: Requirement): boolean => asked.roles.some(role => roles.includes(role))
  return inForce !== null && hasOne(inForce) && hasOne(record.requirement)
}

/** They are the agent that asks; or, where those are kept apart, the one on whose behalf it does. */
export function isOwnRequest (person: Person, { record, inForce, principals }: Pick<Situation, 'record' | 'inForce' | 'principals'>): boolean {
  const { owner, onBehalfOf, requirement } = record
  const me = principals.of(person.iss, person.sub)
  if (principals.of(owner.iss, owner.sub) === me) return true
  const apart = requirement.separation === 'requester' || inForce?.separation === 'requester'
  return apart && onBehalfOf !== null && principals.of(onBehalfOf.iss, onBehalfOf.sub) === me
}

/** What this person has said and what still stands: a denial for good, a yes until the lock has fallen. */
export function standingOf (person: Person, { record, principals, epoch }: Pick<Situation, 'record' | 'principals' | 'epoch'>): Decision | null {
  const me = principals.of(person.iss, person.sub)
  return record.decisions.find(({ approver, decision, epoch: under }) => approver.principal === me && (decision === 'deny' || under === epoch)) ?? null
}

/** Yeses that count: those of before the last lock do not. */
export const votesOf = (record: ProposalRecord, epoch: number): number =>
  record.decisions.filter(({ decision, epoch: under }) => decision === 'approve' && under === epoch).length

/** Of the lock under which it was approved. */
export const epochOf = ({ decisions }: ProposalRecord): number => Math.max(...decisions.map(({ epoch }) => epoch))

/** null: this person may approve and deny it now. What comes first says more. */
export function whyNotNow (person: Person, situation: Situation): MayNot | null {
  if (situation.state !== 'pending') return 'not_pending'
  if (!isEntitled(person, situation)) return 'not_entitled'
  if (isOwnRequest(person, situation)) return 'own_request'
  if (standingOf(person, situation) !== null) return 'already_voted'
  if (situation.locked) return 'locked'
  return isFresh(person, situation) ? null : 'sign_in_too_old'
}

/** A no takes nothing but the right to say it: whatever is locked and however old the sign-in. */
export const stopsNoDenial = (why: MayNot): boolean => why === 'locked' || why === 'sign_in_too_old'

function isFresh ({ authTimeS }: Person, { record, inForce, nowMs }: Situation): boolean {
  const nowS = nowMs / 1000
  // Nobody signed in at no time, or in the future: that is a service, or a provider that is not to be believed.
  if (!(authTimeS > 0) || authTimeS > nowS + SKEW_S) return false
  const ages = [record.requirement.signInMaxAgeS, inForce?.signInMaxAgeS ?? null].filter(age => age !== null)
  return ages.every(age => nowS - authTimeS <= age)
}
