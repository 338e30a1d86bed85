// The one envelope that every surface answers.
import type { Json, Outcome } from '../catalog/catalog.ts'

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
  readonly next?: { readonly method: 'GET', readonly path: string, readonly after_seconds: number }
}

/** What a surface sends: the status line carries the proof (a non-2xx means that this request dispatched nothing). */
export interface Answer {
  readonly status: number
  /** Path for the Location header of a 202. */
  readonly location: string | null
  readonly retryAfterSeconds: number | null
  readonly envelope: Envelope
}
