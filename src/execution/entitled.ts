// Whether what people said still counts: their roles as they are known now, the lock under which they said it, and how many of them it takes.
import type { Requirement } from '../catalog/catalog.ts'
import { isEntitled, isOwnRequest } from '../consent/decision.ts'
import { NO_ALIASES } from '../consent/principals.ts'
import type { Decision, InvalidCause, ProposalRecord } from '../consent/proposal.ts'
import type { Services } from './services.ts'
import { reachState } from './state.ts'

type EntitledServices = Pick<Services, 'people' | 'lock' | 'telemetry' | 'clock'>

/**
 * null: as many people as it took have said yes under the lock of now, and each of them may decide now. That it takes more of them by now is another rule.
 * @param requirement of the action as it is in force
 */
export async function whyNotDecided (
  record: ProposalRecord, requirement: Requirement, services: EntitledServices
): Promise<InvalidCause | null> {
  const yeses = record.decisions.filter(({ decision, digest }) => decision === 'approve' && digest === record.digest)
  const epoch = services.lock.epoch()
  const fresh = yeses.filter(yes => yes.epoch === epoch)
  const needed = record.requirement.approve
  if (fresh.length < needed) return yeses.length > fresh.length ? 'vault_epoch_changed' : 'approver_ineligible'
  const may = await Promise.all(fresh.map(yes => mayDecide(yes, record, requirement, services)))
  const principals = services.people?.principals ?? NO_ALIASES
  const people = new Set(fresh.filter((_, at) => may[at]).map(({ approver }) => principals.of(approver.iss, approver.sub)))
  return people.size < needed ? 'approver_ineligible' : null
}

async function mayDecide ({ approver }: Decision, record: ProposalRecord, inForce: Requirement, services: EntitledServices): Promise<boolean> {
  const { people } = services
  const known = people === null ? null : await reachState(services, 'rolesOf', () => people.rolesOf(approver))
  const roles = known ?? approver.roles
  const person = { ...approver, roles }
  return isEntitled(person, { record, inForce }) && !isOwnRequest(person, { record, inForce, principals: people?.principals ?? NO_ALIASES })
}
