// Envelopes: how an outcome, an attempt or a refusal is said to an agent. The status class carries the proof: non-2xx means that this
// request dispatched nothing.
import type { AttemptRecord, Settlement } from '../attempts/attempt.ts'
import type { Json, Verdict } from '../catalog/catalog.ts'
import { ERRORS, isErrorCode, type Refusal } from '../errors.ts'
import type { Answer, Envelope, EnvelopeError, EnvelopeProposal } from './envelope.ts'

const ASK_AGAIN_SECONDS = 5
/** What waits for a person is not known within seconds. */
const ASK_A_PERSON_SECONDS = 600

interface ErrorParts {
  readonly message: string | null
  readonly retryable: boolean
  readonly field?: string | null
  readonly rule?: string | null
  readonly cause?: string | null
  readonly hint?: string | null
  readonly retryAfterSeconds?: number | null
}

export function errorOf (code: string, parts: ErrorParts): EnvelopeError {
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
      ...(details.proposal === undefined ? {} : { proposal: details.proposal as unknown as EnvelopeProposal }),
      ...(details.next === undefined ? {} : { next: details.next }),
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

/**
 * The outcome so far of an attempt: the same words for the call itself, for its repeats and for whoever asks later.
 * @param how `lookedUp` false: its sheet has no look-up, and a person will be asked at once
 */
export function attemptAnswer (
  record: AttemptRecord, correlationId: string, how: { readonly duplicate: boolean, readonly recorded?: boolean, readonly lookedUp?: boolean }
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
    return unknown(record, common, how.lookedUp ?? true)
  }
  const sent = record.state === 'pending' ? { sent: true } : {}
  return stillOpen(record, { ok: true, outcome: 'pending', pending_on: record.state === 'pending' ? 'upstream' : 'dispatch', ...sent, ...common })
}

/** What became of it, and not what the upstream said. */
export function withoutResult (answer: Answer): Answer {
  const { envelope } = answer
  return envelope.result === undefined || envelope.result === null ? answer : { ...answer, envelope: { ...envelope, result: null, withheld: 'VAULT_LOCKED' } }
}

/** The send is possibly under way, and nothing more can be said now. */
export function unknownAnswer (record: AttemptRecord, correlationId: string, lookedUp: boolean): Answer {
  return unknown(record, { action: record.action, attempt_id: record.id, duplicate: false, correlation_id: correlationId, recorded: false }, lookedUp)
}

function unknown (record: AttemptRecord, common: Partial<Envelope> & { readonly correlation_id: string }, lookedUp: boolean): Answer {
  const waitsForPerson = record.state === 'escalated' || !lookedUp
  const said = waitsForPerson ? ASKED_A_PERSON : { message: null, hint: null }
  const error = errorOf('OUTCOME_UNKNOWN', { ...said, retryable: false })
  return stillOpen(record, { ok: false, outcome: 'unknown', sent: true, ...common, error }, waitsForPerson ? ASK_A_PERSON_SECONDS : ASK_AGAIN_SECONDS)
}

const ASKED_A_PERSON = Object.freeze({
  message: 'The call was sent and what became of it is not known. It waits for a person, who has to find out.',
  hint: 'A person has been asked to find out, which may take hours; the attempt will say what they found. Do not make the call in another form meanwhile.',
})

function stillOpen (record: AttemptRecord, envelope: Envelope, afterSeconds = ASK_AGAIN_SECONDS): Answer {
  const path = `/v1/attempts/${record.id}`
  const next = { method: 'GET', path, after_seconds: afterSeconds } as const
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
