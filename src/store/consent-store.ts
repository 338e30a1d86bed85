// The part of the store port that holds proposals, grants among them. Everything of a proposal carries the hash tag of its tenant, as attempts do, so
// that consuming it and beginning its attempt are one atomic step.
import type { PendingMax, ProposalEvent, ProposalRecord, ProposalRefusal } from '../consent/proposal.ts'

export interface HeldProposal {
  readonly record: ProposalRecord
  /** The store's time when it was read. */
  readonly nowMs: number
}

export type Proposed =
  | { readonly kind: 'proposed', readonly record: ProposalRecord }
  /** Under its equal key there is another one by now. */
  | { readonly kind: 'recalled', readonly latest: HeldProposal }
  /** Of the agent, or on a desk of those who may decide it. */
  | { readonly kind: 'too_many_pending' | 'desk_full' | 'run_stopped' }

export type AdvancedProposal =
  | { readonly kind: 'changed' | 'already', readonly record: ProposalRecord, readonly nowMs: number }
  | { readonly kind: 'refused', readonly record: ProposalRecord, readonly nowMs: number, readonly why: ProposalRefusal | 'run_stopped' }
  | { readonly kind: 'missing' }

export interface ConsentStore {
  /** The latest proposal under this name, a record key or an equal key, whatever became of it. */
  recallProposal (tag: string, name: string): Promise<HeldProposal | null>

  /**
   * Makes a proposal durable; the store stamps its times: `pendingUntilMs` and `hardUntilMs` are given as spans from a `createdAtMs` of 0, and are kept
   * from the store's now on. `after` is the id that `recallProposal` said of its equal key, null for none: where there is another one by now nothing is
   * done. It becomes the latest of its record key and of its equal key. Refuses in this order: run stopped, another one by now, too many pending, a desk
   * full. Asked again with the same id it answers `proposed`.
   */
  propose (record: ProposalRecord, after: string | null, pendingMax: PendingMax): Promise<Proposed>

  findProposal (id: string): Promise<HeldProposal | null>

  /**
   * Applies one event of the reducer at the store's time, by compare-and-set on the revision; `held` is the record as the caller last saw it, and is
   * read anew where it is stale. One of the latest change ids asked again changes nothing more and answers `changed`, with the record as it is now.
   * By what `goesOn` nothing of a stopped run moves: `run_stopped`.
   */
  advanceProposal (held: ProposalRecord, event: ProposalEvent, changeId?: string): Promise<AdvancedProposal>

  /** Pending and approved ones of everyone, oldest first: what is on people's desks, and grants in force. */
  openProposals (limit: number): Promise<readonly HeldProposal[]>
  /** Ended and consumed ones of everyone, latest first. */
  endedProposals (limit: number): Promise<readonly HeldProposal[]>
  /** Open ones whose time is over, to be expired. Those of a newer format are left to who can read them. */
  overdueProposals (limit: number): Promise<readonly HeldProposal[]>
  /** Approved proposals of kind `session` of this run, oldest first. */
  grantsOf (tag: string, runKey: string): Promise<readonly HeldProposal[]>
  /** How many proposals this agent made since. */
  countProposals (tag: string, agentKey: string, sinceMs: number): Promise<number>

  /** Server-side sessions of people, by the SHA-256 of their id; they end by themselves. */
  keepSession (hash: string, text: string, lifeMs: number): Promise<void>
  session (hash: string): Promise<string | null>
  dropSession (hash: string): Promise<void>
}
