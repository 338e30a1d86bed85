// What people can do, as one port: the page, the terminal and the tests speak to the same. Every verb takes the person who asks and checks them again;
// nothing here believes what a listener believes of them beyond who they are.
import type { Json } from '../catalog/catalog.ts'
import type { AttemptRecord } from '../attempts/attempt.ts'
import type { Approver, DenyCode, ProposalRecord, ProposalState } from './proposal.ts'

/** Signed in by the people's identity provider; roles come from the configured map alone. */
export type Person = Approver

/** A proposal as this person meets it. */
export interface Seen {
  readonly record: ProposalRecord
  /** At the store's time `nowMs`; also what nobody has swept yet. */
  readonly state: ProposalState
  readonly nowMs: number
  /** null: this person may decide it now. */
  readonly mayNot: MayNot | null
  /** Approvals that count so far. */
  readonly votes: number
  /** Proposals of this agent in the last 24 hours, this one included. */
  readonly countToday: number
  /** The superseded proposal, where it is still kept: what changed since. */
  readonly before: ProposalRecord | null
}

export type MayNot =
  /** No role of theirs may decide this action. */
  | 'not_entitled'
  /** They are the agent, or the one on whose behalf it is asked. */
  | 'own_request'
  | 'already_voted'
  /** They have to sign in again first. */
  | 'sign_in_too_old'
  | 'not_pending'
  | 'locked'

export interface DecideAsk {
  readonly id: string
  readonly decisionId: string
  /** Of what the person saw. */
  readonly digest: string
  readonly decision: 'approve' | 'deny'
  readonly reasonCode: DenyCode | null
  readonly reasonText: string | null
  readonly visibility: 'agent' | 'staff'
  /** What was typed where `confirm` asks for it; 'yes' for a ticked checkbox. */
  readonly confirmed: string | null
  readonly shown: { readonly renderer: string, readonly msOnPage: number | null, readonly surface: 'page' | 'terminal' }
}

export type Decided =
  /** `decisive`: this one decided it; `again`: it had been taken before. */
  | { readonly kind: 'taken', readonly seen: Seen, readonly decisive: boolean, readonly again: boolean }
  | { readonly kind: 'refused', readonly seen: Seen, readonly why: MayNot | 'changed' | 'expired' | 'not_confirmed' | 'reason_missing' }
  /** There is none, or none that this person may see: both alike. */
  | { readonly kind: 'missing' }

export interface PageOf<Item> {
  readonly items: readonly Item[]
  readonly next: string | null
}

export interface Desk {
  /** Undecided ones that this person may see, oldest first. */
  pending (person: Person, cursor: string | null, limit: number): Promise<PageOf<Seen>>
  /** Those that this person decided on, latest decision first. */
  history (person: Person, cursor: string | null, limit: number): Promise<PageOf<Seen>>
  /** Grants in force that this person may see. */
  grants (person: Person): Promise<readonly Seen[]>
  /** One proposal; that it was viewed is audited. null: none that this person may see. */
  view (person: Person, id: string, surface: 'page' | 'terminal'): Promise<Seen | null>
  /**
   * Undecided ones that are like this one and that this person may decide now, this one among them, oldest first; that they were viewed is audited.
   * null: none that this person may see.
   */
  together (person: Person, id: string): Promise<readonly Seen[] | null>
  /** These, in this order, for a decision on them together; null where that is not what they are for, or not for this person. */
  these (person: Person, ids: readonly string[]): Promise<readonly Seen[] | null>
  decide (person: Person, ask: DecideAsk): Promise<Decided>
  extend (person: Person, id: string): Promise<Seen | null>
  /** Takes an approval or a grant back. */
  revoke (person: Person, id: string): Promise<Seen | null>
}

export interface AboutAttempt {
  /** null: the sheet that it was begun by is gone. */
  readonly title: string | null
  readonly codes: readonly string[]
}

/** What an operator did to all agents or to a run. For operators alone: the words are untrusted, and no agent is told them. */
export interface OperatorAct {
  /** As other people are shown them; untrusted. */
  readonly by: string
  readonly note: string
  /** Wall clock. */
  readonly atMs: number
}

/** A run as operators meet it. */
export interface SeenRun {
  readonly iss: string
  readonly sub: string
  readonly tenant: string
  readonly run: string
  readonly writes: number
  readonly lastAtMs: number
  /** null: it goes on. `act`: null where nothing is kept of who stopped it, as where its own agent did. */
  readonly stopped: { readonly act: OperatorAct | null } | null
}

/** For people with the role `operator`. */
export interface OperatorDesk {
  /** Unknown, pending and escalated attempts, oldest first. */
  unresolved (person: Person): Promise<readonly AttemptRecord[]>
  /** What a person has to know of one to settle it: what its sheet calls it, and which codes a rejection may have. */
  about (person: Person, record: AttemptRecord): Promise<AboutAttempt>
  resolve (person: Person, ask: { readonly id: string, readonly outcome: 'completed' | 'rejected', readonly code: string | null, readonly note: string }): Promise<Json>
  reload (person: Person): Promise<Json>
  lockState (person: Person): Promise<{ readonly locked: boolean, readonly epoch: number, readonly waitingFor: readonly string[], readonly act: OperatorAct | null }>
  lock (person: Person, note: string): Promise<Json>
  unlock (person: Person, note: string): Promise<Json>
  /** Those that go on first. */
  runs (person: Person): Promise<readonly SeenRun[]>
  stopRun (person: Person, run: { readonly iss: string, readonly sub: string, readonly tenant: string, readonly run: string }, note: string): Promise<void>
}
