// Envelopes: how an outcome, an attempt or a refusal is said to an agent. The status class carries the proof: non-2xx means that this
// request dispatched nothing.
import type { AttemptRecord, Settlement } from '../attempts/attempt.ts'
import type { Json, Verdict } from '../catalog/catalog.ts'
import { ERRORS, isErrorCode, type Refusal } from '../errors.ts'
import type { Answer, Envelope, EnvelopeError } from './envelope.ts'

const ASK_AGAIN_SECONDS = 5

interface ErrorParts {
  readonly message: string | null
  readonly retryable: boolean
  readonly field?: string | null
  readonly rule?: string | null
  readonly cause?: string | null
  readonly hint?: string | null
  readonly retryAfterSeconds?: number | null
}

function errorOf (code: string, parts: ErrorParts): EnvelopeError {
  return {
    code,
    message: parts.message ?? (isErrorCode(code) ? ERRORS[code].message : code),
    retryable: parts.retryable,
    field: parts.field ?? null,
    rule: parts.rule ?? null,
    cause: parts.cause ?? null,
    hint: parts.hint ?? null,
    retry_after_seconds: parts.retryAfterSeconds ?? null,
  }
}

export function refusalAnswer (refusal: Refusal, correlationId: string, action: string | null, attemptId: string | null = null): Answer {
  const { details } = refusal
  const retryAfterSeconds = details.retryAfterSeconds ?? null
  return {
    status: refusal.status,
    location: null,
    retryAfterSeconds,
    envelope: {
      ok: false,
      outcome: 'rejected',
      sent: false,
      ...(action === null ? {} : { action }),
      ...(attemptId === null ? {} : { attempt_id: attemptId }),
      correlation_id: correlationId,
      error: errorOf(refusal.code, { ...details, message: refusal.message, retryable: refusal.retryable }),
    },
  }
}

/** An outcome that leaves no attempt: of an observation, or of a check that found nothing to do. */
export function observationAnswer (said: {
  readonly correlationId: string
  readonly action: string
  readonly verdict: Pick<Verdict, 'outcome' | 'code' | 'message' | 'retryable' | 'retryAfterSeconds'>
  readonly result: Json
  readonly truncated: boolean
  readonly sent: boolean
  readonly upstreamStatus: number | null
  readonly observedAt: string
}): Answer {
  const { verdict } = said
  const ok = verdict.outcome === 'completed' || verdict.outcome === 'already_in_desired_state'
  // Nothing is kept of an observation, so there is no place to ask for it: the same call asks again.
  const pending = verdict.outcome === 'pending'
  return {
    status: pending ? 202 : 200,
    location: null,
    retryAfterSeconds: verdict.retryAfterSeconds,
    envelope: {
      ok: ok || pending,
      outcome: verdict.outcome,
      sent: said.sent,
      action: said.action,
      correlation_id: said.correlationId,
      ...(ok ? { content: 'untrusted' as const, result: said.result } : {}),
      ...(pending ? { pending_on: 'upstream' as const } : {}),
      ...(ok || pending ? {} : { error: errorOf(verdict.code ?? 'UPSTREAM_REJECTED', verdict) }),
      ...(said.truncated ? { truncated: true as const } : {}),
      evidence: { source: 'response', upstream_status: said.upstreamStatus, observed_at: said.observedAt },
    },
  }
}

/** The outcome so far of an attempt: the same words for the call itself, for its repeats and for whoever asks later. */
export function attemptAnswer (
  record: AttemptRecord, correlationId: string, how: { readonly duplicate: boolean, readonly recorded?: boolean }
): Answer {
  const common = {
    action: record.action,
    attempt_id: record.id,
    duplicate: how.duplicate,
    correlation_id: correlationId,
    ...(how.recorded === false ? { recorded: false as const } : {}),
  }
  if (record.settlement !== null) return settledAnswer(record, record.settlement, common)
  if (record.state === 'unknown' || record.state === 'escalated') {
    return stillOpen(record, { ok: false, outcome: 'unknown', sent: true, ...common, error: unknownError(record) })
  }
  const sent = record.state === 'pending' ? { sent: true } : {}
  return stillOpen(record, { ok: true, outcome: 'pending', pending_on: record.state === 'pending' ? 'upstream' : 'dispatch', ...sent, ...common })
}

/** The send is possibly under way, and nothing more can be said now. */
export function unknownAnswer (record: AttemptRecord, correlationId: string): Answer {
  return stillOpen(record, {
    ok: false,
    outcome: 'unknown',
    sent: true,
    action: record.action,
    attempt_id: record.id,
    duplicate: false,
    correlation_id: correlationId,
    recorded: false,
    error: unknownError(record),
  })
}

function unknownError (record: AttemptRecord): EnvelopeError {
  const hint = record.state === 'escalated' ? 'A person has been asked to find out; the attempt will say what they found.' : null
  return errorOf('OUTCOME_UNKNOWN', { message: null, retryable: false, hint })
}

function stillOpen (record: AttemptRecord, envelope: Envelope): Answer {
  const path = `/v1/attempts/${record.id}`
  const next = { method: 'GET', path, after_seconds: ASK_AGAIN_SECONDS } as const
  return { status: 202, location: path, retryAfterSeconds: null, envelope: { ...envelope, next } }
}

function settledAnswer (record: AttemptRecord, settlement: Settlement, common: Partial<Envelope> & { readonly correlation_id: string }): Answer {
  const ok = settlement.outcome !== 'rejected'
  const { evidence } = settlement
  return {
    status: 200,
    location: null,
    retryAfterSeconds: settlement.retryAfterSeconds,
    envelope: {
      ok,
      outcome: settlement.outcome,
      sent: settlement.sent,
      ...common,
      ...(ok ? { content: 'untrusted' as const, result: settlement.result } : { error: errorOf(settlement.code ?? 'UPSTREAM_REJECTED', settlement) }),
      ...(settlement.truncated ? { truncated: true as const } : {}),
      ...(settlement.withheld === null ? {} : { withheld: settlement.withheld }),
      evidence: {
        source: evidence.source,
        upstream_status: evidence.upstreamStatus,
        observed_at: record.settledAtMs === null ? null : new Date(record.settledAtMs).toISOString(),
      },
    },
  }
}
