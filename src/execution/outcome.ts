// Step 13: what the reply means: the sheet's rules, else the default table. Where evidence is missing the outcome is `unknown` and says what is missing;
// it is never guessed.
import { readAnswer } from '../catalog/answer.ts'
import type { Action, Answer, Bindings, Verdict } from '../catalog/catalog.ts'
import { COMPLETED, rejectedAs, unknownFor } from '../catalog/verdict.ts'
import { failpoint } from '../failpoints.ts'
import type { AttemptRecord, Finding, Settlement } from '../attempts/attempt.ts'
import type { Sent } from './dispatch.ts'
import type { Services } from './services.ts'

export interface Judged {
  readonly sent: Sent
  readonly verdict: Verdict
  /** With the response, for the view. */
  readonly bindings: Bindings
  /** false: it is proved that no byte left. */
  readonly left: boolean
  /** What a look-up of the own id found, where that decided and not the answer. */
  readonly found: Settlement | null
}

export function readOutcome (sent: Sent, services: Services): Judged | Promise<Judged> {
  const judged = withinToken(judgeReply(sent), services.now())
  return judged.verdict.lookFirst && sent.attempt !== null ? lookFirst(judged, services) : judged
}

/** An agent is never told to come back at a time at which its token will have ended. */
function withinToken (judged: Judged, now: Date): Judged {
  const { verdict } = judged
  if (verdict.retryAfterSeconds === null || verdict.outcome !== 'rejected') return judged
  const { caller } = judged.sent.reserved.facts.scoped.valid.capable.call
  const leftSeconds = Math.max(1, Math.floor(caller.expiresAt - now.getTime() / 1_000))
  return verdict.retryAfterSeconds <= leftSeconds ? judged : { ...judged, verdict: { ...verdict, retryAfterSeconds: leftSeconds } }
}

function judgeReply (sent: Sent): Judged {
  const { reserved, reply } = sent
  const { action } = reserved.facts.scoped.valid.capable
  const because = (verdict: Verdict, left = true): Judged => ({ sent, verdict, bindings: reserved.bindings, left, found: null })
  switch (reply.kind) {
    case 'unsent': return because(rejectedAs('UPSTREAM_UNREACHABLE'), false)
    case 'lost': return because(action.write ? unknownFor(`no answer came back (${reply.cause})`) : rejectedAs('UPSTREAM_ERROR'))
    case 'cut':
      if (action.write) return because(unknownFor(`the answer, of status ${reply.status}, was cut (${reply.cause})`))
      return because(rejectedAs(reply.status < 300 ? 'RESULT_INVALID' : 'UPSTREAM_ERROR'))
    case 'answer': {
      const parsed = readAnswer(action.request.operation, reply)
      const success = reply.status >= 200 && reply.status <= 299
      if (parsed.kind === 'invalid' && (success || parsed.why === 'status')) {
        const why = `the answer, of status ${reply.status}, cannot be read (${parsed.why})`
        return because(action.write ? unknownFor(why) : { ...rejectedAs('RESULT_INVALID'), missing: why })
      }
      // The body of a refusal may be of any kind; its status speaks.
      const response: Answer = parsed.kind === 'ok' ? parsed.answer : { status: reply.status, headers: reply.headers, body: null }
      const bindings = { ...reserved.bindings, response }
      return { sent, verdict: action.judge(bindings), bindings, left: true, found: null }
    }
  }
}

/** An upstream that needs longer until it can be asked keeps no agent waiting: the outcome is unknown, and the resolver goes on. */
const SETTLING_MS_MAX = 5_000

/**
 * 404, 409, 410 and 412 may be the echo of our own write, sent twice by something between us and the upstream: where the attempt has an id of its own
 * that can be looked up, that decides.
 */
async function lookFirst (judged: Judged, services: Services): Promise<Judged> {
  const { action } = judged.sent.reserved.facts.scoped.valid.capable
  if (action.lookup === null || !action.lookup.ownId) return judged
  await failpoint('before_own_lookup')
  const found = await lookUpSettled(action, judged.sent.attempt!, services)
  await failpoint('after_own_lookup')
  if (found.kind === 'settled' && found.settlement.outcome !== 'rejected') {
    return { ...judged, found: found.settlement, verdict: { ...COMPLETED, outcome: found.settlement.outcome } }
  }
  if (found.kind === 'settled' || found.kind === 'absent') return judged
  if (found.kind === 'pending') {
    const retryAfterSeconds = found.retryAfterMs === null ? null : found.retryAfterMs / 1_000
    return { ...judged, verdict: { ...COMPLETED, outcome: 'pending', reference: found.reference, retryAfterSeconds } }
  }
  return { ...judged, verdict: unknownFor(`the upstream answered ${judged.verdict.code}, and the own id could not be looked up`) }
}

/** That it is not found says something only once the upstream has had the time that its sheet declares. */
async function lookUpSettled (action: Action, attempt: AttemptRecord, services: Services): Promise<Finding> {
  const first = await services.resolver.lookUp(action, attempt)
  if (first.kind !== 'absent' || first.settlesAfterMs === 0) return first
  if (first.settlesAfterMs > SETTLING_MS_MAX) return { kind: 'inconclusive', retryAfterMs: null }
  await services.clock.sleep(first.settlesAfterMs)
  return services.resolver.lookUp(action, attempt)
}
