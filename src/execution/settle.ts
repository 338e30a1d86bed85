// What became of an attempt is written down here, and nowhere else in a call. A store that cannot take it is asked again in the background until it
// does: the answer is then true, and says `recorded: false`.
import { setTimeout as sleep } from 'node:timers/promises'
import { advance, type AttemptEvent, type AttemptRecord, type Evidence, type Settlement } from '../attempts/attempt.ts'
import { Refusal, type ErrorCode } from '../errors.ts'
import type { Advanced } from '../store/store.ts'
import type { Projected } from './project.ts'
import type { Services } from './services.ts'
import { timedState } from './state.ts'

const PAUSE_MS_MAX = 5_000
/** A settlement that could not be written in this time is left to the look-up that its deadline starts. */
const KEEP_TRYING_MS = 10 * 60_000

export interface Written {
  readonly record: AttemptRecord
  readonly recorded: boolean
}

/**
 * Tells the store what the owner of the send knows. The record that comes back is the truth: where a look-up or a person was faster, theirs stands.
 */
export async function writeDown (held: AttemptRecord, event: AttemptEvent, services: Services): Promise<Written> {
  try {
    return { record: heard(held, event, await timedState(services, event.type, () => services.store.advance(held, event)), services), recorded: true }
  } catch {
    services.background(keepTrying(held, event, services))
    const reduced = advance(held, event)
    return { record: reduced.kind === 'changed' ? reduced.record : held, recorded: false }
  }
}

/** How a call ended, ready to be answered. `attempt` is null for an observation. */
export interface Settled {
  readonly projected: Projected
  readonly attempt: AttemptRecord | null
  readonly recorded: boolean
}

/** @throws Refusal UPSTREAM_UNREACHABLE where it is proved that no byte left */
export async function settle (projected: Projected, services: Services): Promise<Settled> {
  const { judged, verdict } = projected
  const { attempt } = judged.sent
  if (attempt !== null) {
    const written = await writeDown(attempt, eventOf(projected, attempt), services)
    if (judged.left) {
      if (written.record.state !== 'settled') services.resolver.nudge()
      return { projected, attempt: written.record, recorded: written.recorded }
    }
  }
  if (!judged.left) throw Refusal.of(verdict.code as ErrorCode, { retryable: verdict.retryable, retryAfterSeconds: 1 }, 'dispatch')
  return { projected, attempt: null, recorded: true }
}

function eventOf (projected: Projected, attempt: AttemptRecord): AttemptEvent {
  const { verdict, judged } = projected
  const { token } = attempt
  switch (verdict.outcome) {
    case 'unknown': return { type: 'lose', token, missing: verdict.missing ?? 'no rule of the sheet matched the answer', reference: verdict.reference }
    case 'pending': return { type: 'pend', token, reference: verdict.reference, retryAfterMs: verdict.retryAfterSeconds === null ? null : verdict.retryAfterSeconds * 1_000 }
    default: return {
      type: 'settle',
      token,
      settlement: {
        outcome: verdict.outcome,
        sent: judged.left,
        code: verdict.code,
        message: verdict.message,
        retryable: verdict.retryable,
        retryAfterSeconds: verdict.retryAfterSeconds,
        result: projected.result,
        truncated: projected.truncated,
        withheld: projected.withheld,
        evidence: evidenceOf(projected),
      },
    }
  }
}

export function evidenceOf (projected: Projected): Evidence {
  const { reply } = projected.judged.sent
  const upstreamStatus = 'status' in reply ? reply.status : null
  return { source: projected.judged.byLookup ? 'lookup' : upstreamStatus === null ? 'none' : 'response', upstreamStatus, by: null }
}

/** It is proved that no byte left: the attempt ends, and its key is free again. */
export async function closeUnsent (attempt: AttemptRecord | null, settlement: Settlement, services: Services): Promise<void> {
  if (attempt !== null) await writeDown(attempt, { type: 'settle', token: attempt.token, settlement }, services)
}

async function keepTrying (held: AttemptRecord, event: AttemptEvent, services: Services): Promise<void> {
  const endsAtMs = performance.now() + KEEP_TRYING_MS
  for (let pauseMs = 200; performance.now() < endsAtMs; pauseMs = Math.min(pauseMs * 2, PAUSE_MS_MAX)) {
    await sleep(pauseMs)
    try {
      heard(held, event, await services.store.advance(held, event), services)
      return
    } catch {
      // The next turn asks again: every event is idempotent by its token.
    }
  }
}

function heard (held: AttemptRecord, event: AttemptEvent, advanced: Advanced, services: Services): AttemptRecord {
  if (advanced.kind === 'missing') {
    services.telemetry.integrity({ attemptId: held.id, what: 'foreign_record' })
    return held
  }
  if (advanced.kind === 'refused' && advanced.alarm) services.telemetry.integrity({ attemptId: held.id, what: 'contradicting_evidence' })
  return advanced.record
}
