// What left the broker, and when: I12, I13, I14 and I18.
import { SEND_WINDOW_MS } from '../../../src/attempts/attempt.ts'
import type { Evidence } from '../evidence.ts'
import type { Heard } from '../folder.ts'
import { STOP_MS_MAX } from '../process-nemesis.ts'
import { violation, type Violation } from '../violation.ts'

/** Between what two processes write down of one moment. */
export const SAME_MOMENT_MS = 50
/** The rig says that the store is back after it is, and is busy. */
const BACK_BEFORE_TOLD_MS = 250

/** The wall clock of a replica is another than ours: then the times of its audit say nothing. */
export const CLOCK_AHEAD = 'clock ahead'

/** I12: of what is told as never sent, nothing arrived; and an answer that is no 2xx speaks of a request that dispatched nothing. */
export function unsentLeftNothing (evidence: Evidence): readonly Violation[] {
  const told = [...evidence.attempts].flatMap(id => {
    const record = evidence.records.get(id)
    const answers = evidence.heardOf(id).filter(({ answer }) => answer.status === 200 && answer.sent === false).map(({ answer }) => answer)
    const arrived = [...evidence.arrivalsOf(id), ...evidence.partialsOf(id)]
    if (arrived.length === 0 || (record?.settlement?.sent !== false && answers.length === 0)) return []
    return [violation('I12', 'told as never sent, and it arrived', { attempt: id }, ...arrived, ...answers, ...record === undefined ? [] : [record])]
  })
  const begun = new Map([...evidence.records.values()].map(record => [record.correlationId, record]))
  const refused = evidence.asked.flatMap(({ ask, answer }) => {
    if (answer?.kind !== 'heard' || answer.status < 400 || answer.correlation === null) return []
    const record = begun.get(answer.correlation)
    const arrived = record === undefined ? [] : [...evidence.arrivalsOf(record.id), ...evidence.partialsOf(record.id)]
    if (record === undefined || arrived.length === 0) return []
    return [violation(
      'I12', `answered ${answer.status}, and dispatched`, { attempt: record.id, errand: ask.errand }, ask, answer, record, ...arrived
    )]
  })
  return [...told, ...refused]
}

/** I13: at most one send for each attempt, whole or not. */
export function sentOnce (evidence: Evidence): readonly Violation[] {
  return [...evidence.attempts].flatMap(id => {
    const sends = [...evidence.arrivalsOf(id), ...evidence.partialsOf(id)]
    return sends.length <= 1 ? [] : [violation('I13', `sent ${sends.length} times`, { attempt: id }, ...sends)]
  })
}

/** I14: before anything arrived, its attempt was durably marked as dispatched, and its intent stood in the audit. */
export function markedBeforeSent (evidence: Evidence): readonly Violation[] {
  const clocksDiffer = evidence.count(CLOCK_AHEAD) > 0
  return [...evidence.arrivals, ...evidence.partials].flatMap(arrival => {
    if (arrival.attempt === null) return []
    const about = { attempt: arrival.attempt }
    const record = evidence.records.get(arrival.attempt)
    const intents = evidence.auditOf(arrival.attempt).filter(row => row.event === 'execution.intent')
    const markedAtMs = record?.dispatchedAtMs ?? Infinity
    // What the store was made to forget behind the mark is marked again, later.
    const unmarked = markedAtMs > arrival.t + SAME_MOMENT_MS && !evidence.lostBetween(arrival.t - SEND_WINDOW_MS - SAME_MOMENT_MS, markedAtMs)
    return [
      ...record !== undefined && unmarked ? [violation('I14', 'it arrived before it was marked as dispatched', about, arrival, record)] : [],
      ...intents.some(row => clocksDiffer || Date.parse(row.time) <= arrival.t + SAME_MOMENT_MS) ? []
        : [violation('I14', 'it arrived before its intent stood in the audit', about, arrival, ...intents)],
    ]
  })
}

/** In this time whoever asks while the store is down hears so: the store is asked again for 2 s, by few at once. */
const REFUSED_WITHIN_MS = 6_000

/**
 * I18: while the store could take nothing, nothing new was sent (what had been marked before may still leave within its send window), and who asked
 * was told soon.
 */
export function nothingWithoutStore (evidence: Evidence): readonly Violation[] {
  return downTimes(evidence).flatMap(down => {
    const store = { store: 'down', ...down }
    const sent = evidence.arrivals.filter(({ t }) => t > down.fromMs + SEND_WINDOW_MS + SAME_MOMENT_MS && t < down.toMs - BACK_BEFORE_TOLD_MS)
    const kept = evidence.asked.filter(({ ask, answer }) => ask.verb === 'call' && answer?.kind === 'heard' && ask.t > down.fromMs + SAME_MOMENT_MS &&
      ask.t + REFUSED_WITHIN_MS < down.toMs && answer.t - ask.t > REFUSED_WITHIN_MS && !wasHurt(ask.t, answer.t, evidence))
    return [
      ...sent.map(arrival => violation('I18', 'it arrived while the store was down', { attempt: arrival.attempt }, arrival, store)),
      ...kept.map(({ ask, answer }) =>
        violation('I18', 'it waited for a store that was down', { attempt: (answer as Heard).attempt, errand: ask.errand }, ask, answer!, store)),
    ]
  })
}

/** A process that stands still answers nobody. */
const wasHurt = (fromMs: number, toMs: number, { nemesis }: Evidence): boolean =>
  nemesis.some(({ what, t }) => what !== 'redis' && t > fromMs - (what === 'stop' ? STOP_MS_MAX : REFUSED_WITHIN_MS) && t < toMs)

function downTimes ({ nemesis, run }: Evidence): ReadonlyArray<{ readonly fromMs: number, readonly toMs: number }> {
  const turns = nemesis.filter(({ what, state }) => what === 'redis' && state !== undefined)
  return turns.flatMap((line, at) => {
    const up = turns.slice(at).find(({ state }) => state === 'up')
    return line.state === 'down' ? [{ fromMs: line.t, toMs: up?.t ?? run.endedAtMs }] : []
  })
}
