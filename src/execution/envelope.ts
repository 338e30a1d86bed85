// The one envelope that every surface answers.
import type { Json, JsonObject, Outcome, Target } from '../catalog/catalog.ts'
import type { DenyCode, DiffRow, ProposalRecord, ProposalState } from '../consent/proposal.ts'
import type { Next } from '../errors.ts'

export interface EnvelopeError {
  readonly code: string
  readonly message: string
  readonly retryable: boolean
  readonly field: string | null
  readonly rule: string | null
  readonly cause: string | null
  readonly hint: string | null
  readonly retry_after_seconds: number | null
}

export interface Envelope {
  readonly ok: boolean
  readonly outcome: Outcome
  readonly correlation_id: string
  readonly action?: string
  readonly attempt_id?: string
  readonly duplicate?: boolean
  /** false: proved that no byte left for this outcome. */
  readonly sent?: boolean
  /** The outcome is true but could not be written down yet. */
  readonly recorded?: false
  readonly content?: 'untrusted'
  readonly result?: Json
  readonly truncated?: true
  readonly withheld?: string
  readonly pending_on?: 'consent' | 'dispatch' | 'upstream'
  readonly evidence?: { readonly source: string, readonly upstream_status: number | null, readonly observed_at: string | null }
  readonly error?: EnvelopeError
  readonly proposal?: EnvelopeProposal
  readonly next?: Next
}

/** A proposal as its agent sees it: what people are shown, and what became of it; never who decided. */
export interface EnvelopeProposal {
  readonly id: string
  /** `session`: a grant for several calls of the run. */
  readonly kind: ProposalRecord['kind']
  readonly state: ProposalState
  readonly effect: string
  readonly diff: readonly DiffRow[]
  readonly facts: JsonObject
  readonly target: Target | null
  readonly arguments_sha256: string
  /** Until when it can be decided, committed or used; null: it has ended. */
  readonly expires_at: string | null
  /** Where a person decides. */
  readonly approval_url?: string
  readonly supersedes?: string
  readonly uses_left?: number
  readonly reason_code?: DenyCode
  readonly reason?: string
  readonly decided_at?: string
}

/** What a surface sends: the status line carries the proof (a non-2xx means that this request dispatched nothing). */
export interface Answer {
  readonly status: number
  /** Path for the Location header of a 202. */
  readonly location: string | null
  readonly retryAfterSeconds: number | null
  readonly envelope: Envelope
}
