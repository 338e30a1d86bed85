// Step 14: the allow-listed view of the answer, validated, bounded and scanned for secrets. A write that completed stays completed whatever its
// answer held: its result is then null and says why.
import { ProjectionFault, type Json, type Verdict } from '../catalog/catalog.ts'
import { ERRORS, type ErrorCode } from '../errors.ts'
import type { Judged } from './outcome.ts'
import type { Services } from './services.ts'

export interface Projected {
  readonly judged: Judged
  /** The verdict, which an unusable answer to an observation turns into a rejection. */
  readonly verdict: Verdict
  readonly result: Json
  readonly truncated: boolean
  readonly withheld: string | null
  /** What makes the answer unusable as a result, for the log: names and rules of the sheet, no value. */
  readonly unusable: string | null
}

export function project (judged: Judged, services: Services): Projected {
  const verdict = withoutSecret(judged, services)
  const { action } = judged.sent.reserved.facts.scoped.valid.capable
  const plain: Projected = { judged, verdict, result: null, truncated: false, withheld: null, unusable: null }
  if (holdsSecret(judged, services)) return unusable(plain, 'RESULT_WITHHELD', action.write, services, action.id)
  if (verdict.outcome !== 'completed' && verdict.outcome !== 'already_in_desired_state') return plain
  // What a look-up found was made a view of and scanned where it was found.
  if (judged.found !== null) {
    const { result, truncated, withheld } = judged.found
    return { ...plain, result, truncated, withheld }
  }
  if (verdict.result !== undefined) {
    return leaks(judged, [JSON.stringify(verdict.result)], services)
      ? unusable(plain, 'RESULT_WITHHELD', action.write, services, action.id)
      : { ...plain, result: verdict.result }
  }
  if (action.view === null || verdict.outcome !== 'completed') return plain
  try {
    const { result, truncated, text } = action.view.project(judged.bindings)
    if (leaks(judged, [text], services)) return unusable(plain, 'RESULT_WITHHELD', action.write, services, action.id)
    return { ...plain, result, truncated }
  } catch (error) {
    if (!(error instanceof ProjectionFault)) throw error
    return unusable({ ...plain, unusable: error.message }, error.code, action.write, services, action.id)
  }
}

function unusable (plain: Projected, code: ErrorCode, write: boolean, services: Services, actionId: string): Projected {
  services.telemetry.withheld({ actionId, code })
  const { outcome } = plain.verdict
  if (write) return { ...plain, withheld: outcome === 'completed' || outcome === 'already_in_desired_state' ? code : null }
  return { ...plain, verdict: { ...plain.verdict, outcome: 'rejected', code, message: ERRORS[code].message, retryable: false, result: undefined } }
}

/** A reference is kept, shown to operators and sent with look-ups: one that holds a secret is as good as none, and then nothing can be looked up. */
function withoutSecret (judged: Judged, services: Services): Verdict {
  const { verdict, sent } = judged
  if (sent.attempt === null || verdict.reference === null || !leaks(judged, [JSON.stringify(verdict.reference)], services)) return verdict
  const { message } = ERRORS.OUTCOME_UNKNOWN
  return { ...verdict, outcome: 'unknown', code: 'OUTCOME_UNKNOWN', message, reference: null, missing: 'what the upstream gave as its reference holds a secret' }
}

/** The whole answer is scanned, not only what the view shows: an upstream that echoes our credential is an alarm in itself. */
function holdsSecret (judged: Judged, services: Services): boolean {
  const { reply } = judged.sent
  if (reply.kind !== 'answer') return false
  return leaks(judged, [reply.body, ...Object.values(reply.headers)], services)
}

function leaks (judged: Judged, texts: ReadonlyArray<Buffer | string>, services: Services): boolean {
  const { action, call } = judged.sent.reserved.facts.scoped.valid.capable
  return services.credentials.leaks(action.upstream, call.caller.tenant, ...texts)
}
