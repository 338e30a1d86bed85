// A person decides what no look-up can: over the control socket, with a note that the audit keeps.
import type { Store } from '../store/store.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import type { AttemptRecord, Settlement } from './attempt.ts'

export interface Resolution {
  readonly attemptId: string
  /** What the person found upstream: that the write took effect, or that it did not. */
  readonly outcome: 'completed' | 'rejected'
  /** Of a rejection; null: NOT_APPLIED. */
  readonly code: string | null
  /** Who, as an HMAC. */
  readonly personMark: string
}

export type Resolved =
  | { readonly kind: 'resolved', readonly record: AttemptRecord }
  | { readonly kind: 'not_open', readonly record: AttemptRecord }
  | { readonly kind: 'unknown_attempt' }

/** @throws StateUnavailable */
export async function resolveByPerson (resolution: Resolution, ports: { readonly store: Store, readonly telemetry: Telemetry }): Promise<Resolved> {
  const held = await ports.store.find(resolution.attemptId)
  if (held === null) return { kind: 'unknown_attempt' }
  const advanced = await ports.store.advance(held, { type: 'resolve', settlement: settlementOf(resolution) })
  if (advanced.kind === 'missing') return { kind: 'unknown_attempt' }
  if (advanced.kind === 'refused') return { kind: 'not_open', record: advanced.record }
  if (advanced.kind === 'changed') {
    const { record } = advanced
    ports.telemetry.attempt({
      attemptId: record.id,
      actionId: record.action,
      definition: record.definition,
      correlationId: record.correlationId,
      by: 'person',
      state: record.state,
      outcome: resolution.outcome,
      code: record.settlement?.code ?? null,
      sent: true,
      personMark: resolution.personMark,
    })
  }
  return { kind: 'resolved', record: advanced.record }
}

function settlementOf (resolution: Resolution): Settlement {
  const applied = resolution.outcome === 'completed'
  return {
    outcome: resolution.outcome,
    sent: true,
    code: applied ? null : resolution.code ?? 'NOT_APPLIED',
    message: applied ? null : 'A person found that the call had no effect.',
    retryable: false,
    retryAfterSeconds: null,
    result: null,
    truncated: false,
    withheld: null,
    evidence: { source: 'person', upstreamStatus: null, by: resolution.personMark },
  }
}
