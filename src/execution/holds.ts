// Whether an approval still holds when it is committed: the stored bytes are those that were approved, this replica goes by the sheets and rules that they
// were approved under, and enough people who may decide now have said yes under the lock of now.
import type { Action } from '../catalog/catalog.ts'
import { outdated } from '../consent/grant.ts'
import { isIntact } from '../consent/intact.ts'
import type { ProposalRecord } from '../consent/proposal.ts'
import { Refusal } from '../errors.ts'
import { Differs } from './consent.ts'
import { whyNotDecided } from './entitled.ts'
import type { Services } from './services.ts'

/** What was decided on is what stands in the store: everything is computed again from its bytes. An alarm where it is not. @throws Differs */
export function requireIntact (record: ProposalRecord, services: Pick<Services, 'telemetry'>): void {
  if (isIntact(record)) return
  services.telemetry.integrity({ attemptId: record.id, what: 'altered_proposal' })
  throw new Differs('stored_bytes_changed')
}

/**
 * While replicas differ, during a roll-out, what was proposed by one catalog is carried out by those who have it.
 * @throws Refusal STATE_UNAVAILABLE
 */
export function requireHolder (record: ProposalRecord, services: Services): void {
  const action = services.catalog().actions.get(record.action)
  if (action !== undefined && outdated(record, action) === null) return
  if (!services.isServedElsewhere(record.catalog)) return
  throw Refusal.of('STATE_UNAVAILABLE', { retryAfterSeconds: 1, internal: 'another replica serves the sheets that this was proposed with' }, 'consent')
}

/** @throws Differs */
export async function requireStillDecided (record: ProposalRecord, action: Action, services: Services): Promise<void> {
  const stale = outdated(record, action)
  const cause = stale === 'sheet_changed' ? stale : await whyNotDecided(record, action.requirement, services) ?? stale
  if (cause !== null) throw new Differs(cause)
}
