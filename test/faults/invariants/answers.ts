// What agents heard: I9, I15 and I19.
import type { Asked, Evidence } from '../evidence.ts'
import type { Heard } from '../folder.ts'
import { violation, type Violation } from '../violation.ts'

type Answered = Asked & { readonly answer: Heard }

const isEnd = ({ answer }: Answered): boolean => answer.status === 200 && answer.outcome !== 'unknown' && answer.outcome !== 'pending'
interface End {
  readonly outcome: string | null
  readonly code: string | null
  readonly sent: boolean | null
}

/**
 * An answer that says itself that it could not be written down (`recorded: false`) may be lost with its process. What a look-up finds then must come to the
 * same, and may say it in another code.
 */
const isSame = (told: Heard, end: End, recorded = true): boolean =>
  told.outcome === end.outcome && (told.sent === false) === (end.sent === false) && (told.code === end.code || !told.recorded || !recorded)

/** I9: how an attempt ended is told once and for all, by every replica, and stands so in the store. */
export function endsStand (evidence: Evidence): readonly Violation[] {
  return [...evidence.attempts].flatMap(id => {
    const heard = evidence.heardOf(id)
    const ends = heard.filter(isEnd)
    const [first] = ends
    if (first === undefined) return []
    const others = ends.filter(({ answer }) => !isSame(first.answer, answer, answer.recorded))
    // What was told before it could be written down, or was forgotten since, may be open for a while.
    const regressed = !first.answer.recorded ? [] : heard.filter(one =>
      !isEnd(one) && one.answer.status === 202 && one.ask.t > first.answer.t && !evidence.lostBetween(first.ask.t, one.answer.t))
    const settlement = evidence.records.get(id)?.settlement
    return [
      ...others.length === 0 ? [] : [violation(
        'I9', 'it is told to have ended in two ways', { attempt: id }, first.answer, ...others.map(({ answer }) => answer)
      )],
      ...regressed.length === 0 ? [] : [violation(
        'I9', 'it had ended, and was then told as open', { attempt: id }, first.answer, ...regressed.flatMap(({ ask, answer }) => [ask, answer])
      )],
      ...settlement === null || settlement === undefined || isSame(first.answer, settlement) ? []
        : [violation('I9', 'what was told is not what is kept', { attempt: id }, first.answer, evidence.records.get(id)!)],
    ]
  })
}

/** An agent waits 20 s for a call and as long as it asked for; beyond that lies only what stops a whole process for a while. */
const ANSWERED_WITHIN_MS = 45_000

/** I15: every ask was answered, or its connection broke, in the time that an agent is ever kept waiting. */
export function everyAskEnds (evidence: Evidence): readonly Violation[] {
  return evidence.asked.flatMap(({ ask, answer }) => {
    if (answer === null) return [violation('I15', 'an ask without an end', { errand: ask.errand }, ask)]
    return answer.t - ask.t <= ANSWERED_WITHIN_MS ? [] : [violation(
      'I15', `it took ${answer.t - ask.t} ms to end`, { errand: ask.errand }, ask, answer
    )]
  })
}

export const CALM_AFTER_MS = 10_000
const SUCCESS_SHARE = 0.99
/** Of fewer calls nothing can be said. */
const CALLS_MIN = 100

/** Calls that were made when everything had been well for long enough, and those of them that were not served. */
export function calmCalls ({ asked, run }: Evidence): { readonly calls: readonly Asked[], readonly failed: readonly Asked[] } {
  const calls = asked.filter(({ ask, answer }) => ask.verb === 'call' && ask.t >= run.healedAtMs + CALM_AFTER_MS && !wentAway(answer))
  return { calls, failed: calls.filter(({ answer }) => !isServed(answer)) }
}

const wentAway = (answer: Asked['answer']): boolean => answer?.kind === 'lost' && [
  'TimeoutError', 'AbortError', '23', 'ABORT_ERR', 'UND_ERR_ABORTED',
].includes(answer.why)

/** Contention among agents is no failure, nor is the refusal of what must be refused. */
function isServed (answer: Asked['answer']): boolean {
  return answer?.kind === 'heard' && answer.status < 500 && answer.outcome !== 'unknown' && answer.code !== 'UNRESOLVED_LIMIT'
}

/** I19: ten seconds after healing at least 99 of 100 calls are served. */
export function servesAgain (evidence: Evidence): readonly Violation[] {
  const { calls, failed } = calmCalls(evidence)
  if (calls.length < CALLS_MIN || failed.length <= calls.length * (1 - SUCCESS_SHARE)) return []
  return [violation(
    'I19', `${failed.length} of ${calls.length} calls failed when all was well`, {},
    ...failed.slice(0, 20).flatMap(({ ask, answer }) => [ask, ...answer === null ? [] : [answer]])
  )]
}
