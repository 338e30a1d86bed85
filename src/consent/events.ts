// What becomes of proposals and grants, of the vault's lock and of the audit's checkpoints: told once, by the process that made the change, after the store has it. Metrics,
// audit and notifications listen. Nothing waits for a listener and no fault of one reaches a call; a process that dies right after a change has told
// nobody, so what is true stands in the store alone.
import type { ProposalRecord } from './proposal.ts'

export type ConsentEvent =
  /** `record` is as it became by the change. An approved proposal of kind `session` is a grant from then on, and what ends it later ends the grant. */
  | {
    readonly type: 'pending' | 'approved' | 'denied' | 'expired' | 'withdrawn' | 'superseded' | 'invalidated' | 'revoked' | 'extended'
    readonly record: ProposalRecord
  }
  /** A yes that decides nothing yet: others have to follow. */
  | { readonly type: 'voted', readonly record: ProposalRecord }
  /** Its attempt came to this outcome, as far as is known. */
  | { readonly type: 'committed', readonly record: ProposalRecord, readonly outcome: string }
  /** What became of its attempt is known only now, or is known to be unknown. */
  | { readonly type: 'learned', readonly record: ProposalRecord, readonly outcome: string }
  /** A signed statement of how long the audit of a writer is, for whoever keeps it where the audit is not. */
  | { readonly type: 'checkpoint', readonly checkpoint: { readonly writer: string, readonly size: number, readonly head: string }, readonly note: string }
  | { readonly type: 'locked' | 'unlocked', readonly epoch: number, readonly atMs: number }

export interface ConsentEvents {
  /** @throws nothing */
  tell (event: ConsentEvent): void
}

export type ConsentListener = (event: ConsentEvent) => void

export interface ConsentFeed extends ConsentEvents {
  listen (listener: ConsentListener): void
}

/** @param onFault of a listener; the others hear the event all the same */
export function createConsentFeed (onFault: (error: unknown) => void): ConsentFeed {
  const listeners: ConsentListener[] = []
  return {
    listen: listener => { listeners.push(listener) },
    tell (event) {
      for (const listener of listeners) {
        try {
          listener(event)
        } catch (error) {
          onFault(error)
        }
      }
    },
  }
}

/** Of a process in which nobody listens. */
export const NOBODY_LISTENS: ConsentEvents = Object.freeze({ tell: () => {} })
