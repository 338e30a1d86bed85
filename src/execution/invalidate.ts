// What was proposed rests on something that is not so any more: it ends, and says why.
import type { InvalidCause, ProposalRecord } from '../consent/proposal.ts'
import { Refusal } from '../errors.ts'
import type { HeldProposal } from '../store/consent-store.ts'
import type { Services } from './services.ts'
import { reachState } from './state.ts'

/** As it is afterwards; where it was faster elsewhere, as that left it. @throws Refusal STATE_UNAVAILABLE */
export async function invalidate (record: ProposalRecord, cause: InvalidCause, services: Services): Promise<HeldProposal> {
  const advanced = await reachState(services, 'invalidate', () => services.store.advanceProposal(record, { type: 'invalidate', cause }))
  if (advanced.kind === 'missing') throw Refusal.of('NOT_FOUND')
  if (advanced.kind === 'changed') services.consentEvents.tell({ type: 'invalidated', record: advanced.record })
  return advanced
}
