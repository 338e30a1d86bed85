// Step 15, its durable half: how the call ended becomes one event of its attempt. (What is told of it, audit, metrics and log, is record.ts.)
import type { AttemptEvent, AttemptRecord, Evidence } from '../attempts/attempt.ts'
import { Refusal, type ErrorCode } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import type { Projected } from './project.ts'
import type { Services } from './services.ts'
import { writeDown } from './write-down.ts'

/** How a call ended, ready to be answered. `attempt` is null for an observation. */
export interface Settled {
  readonly projected: Projected
  readonly attempt: AttemptRecord | null
  readonly recorded: boolean
  /** This call wrote the end of its attempt down. */
  readonly ended: boolean
}

/** @throws Refusal UPSTREAM_UNREACHABLE where it is proved that no byte left */
export async function settle (projected: Projected, services: Services): Promise<Settled> {
  const { judged, verdict } = projected
  const { attempt } = judged.sent
  if (attempt !== null) {
    await failpoint('before_settle')
    const written = await writeDown(attempt, eventOf(projected, attempt), services)
    await failpoint('after_settle')
    if (judged.left) {
      if (written.record.state !== 'settled') services.resolver.nudge()
      return { projected, attempt: written.record, recorded: written.recorded, ended: written.own && written.record.state === 'settled' }
    }
  }
  if (!judged.left) throw Refusal.of(verdict.code as ErrorCode, { retryable: verdict.retryable, retryAfterSeconds: 1 }, 'dispatch')
  return { projected, attempt: null, recorded: true, ended: false }
}

function eventOf (projected: Projected, attempt: AttemptRecord): AttemptEvent {
  const { verdict, judged } = projected
  const { token } = attempt
  switch (verdict.outcome) {
    case 'unknown': return { type: 'lose', token, missing: verdict.missing ?? 'no rule of the sheet matched the answer', reference: verdict.reference }
    case 'pending': {
      const retryAfterMs = verdict.retryAfterSeconds === null ? null : verdict.retryAfterSeconds * 1_000
      return { type: 'pend', token, reference: verdict.reference, retryAfterMs }
    }
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

function evidenceOf (projected: Projected): Evidence {
  const { found, sent: { reply } } = projected.judged
  if (found !== null) return found.evidence
  const upstreamStatus = 'status' in reply ? reply.status : null
  return { source: upstreamStatus === null ? 'none' : 'response', upstreamStatus, by: null }
}
