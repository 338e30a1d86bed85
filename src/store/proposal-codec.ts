// What both drivers know of proposals beyond the reducer: how one begins, and which changes are still known by their ids.
import { tagOfProposal, type ProposalRecord } from '../consent/proposal.ts'

/** A change asked again after so many others is taken for a new one. */
const CHANGES_KEPT = 16

/** @throws TypeError where the caller made the record wrongly: nothing of it may be stored */
export function requireProposed (record: ProposalRecord): void {
  if (record.state !== 'pending' || record.decisions.length > 0 || record.attemptId !== null) throw new TypeError('a proposal begins as pending')
  if (tagOfProposal(record.id) !== record.tag) throw new TypeError('the id of a proposal carries its hash tag')
  if (record.createdAtMs !== 0) throw new TypeError('when a proposal is made is the store\'s to say')
  if (!(record.pendingUntilMs > 0 && record.hardUntilMs >= record.pendingUntilMs)) throw new TypeError('a proposal is made with time to decide')
}

export function proposedAt (record: ProposalRecord, nowMs: number): ProposalRecord {
  return { ...record, createdAtMs: nowMs, pendingUntilMs: nowMs + record.pendingUntilMs, hardUntilMs: nowMs + record.hardUntilMs }
}

/** The ids of the latest changes, in one text. */
export const withChange = (changes: string, changeId: string): string => [...changes.split(' ').slice(1 - CHANGES_KEPT), changeId].join(' ').trim()

export const hasChange = (changes: string, changeId: string): boolean => changes.split(' ').includes(changeId)
