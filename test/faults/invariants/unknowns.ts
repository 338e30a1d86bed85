// What is open, why, and for how long: I5, I6 and I7.
import type { AttemptRecord } from '../../../src/attempts/attempt.ts'
import type { Evidence, LogLine } from '../evidence.ts'
import { violation, type Violation } from '../violation.ts'

/** Actions of which a look-up that works proves that nothing happened. */
export const ABSENCE_PROVABLE: ReadonlySet<string> = new Set([
  'do_work.v1', 'do_lane_work.v1', 'place_order.v1', 'change_item.v1', 'do_asked_work.v1', 'do_granted_work.v1', 'change_asked_item.v1',
])
/** After healing everything that can settle has settled; a look-up that is due later than the run lasted is excused until then. No two are further apart than 600 s. */
const SETTLED_WITHIN_MS = 660_000
/** A look-up that a replica had claimed when it died is made by another one once its lease of 15 s is over. */
const OVERDUE_MS = 25_000

/** I5: what is pending has a reference, and ends. */
export function pendingEnds (evidence: Evidence): readonly Violation[] {
  return [...evidence.records.values()].filter(({ state }) => state === 'pending').flatMap(record => [
    ...record.reference === null ? [violation(
      'I5', 'pending without a reference', { attempt: record.id }, record, ...evidence.arrivalsOf(record.id)
    )] : [],
    ...isOverdue(record, evidence) ? [violation('I5', 'still pending', { attempt: record.id }, record, ...evidence.arrivalsOf(record.id))] : [],
  ])
}

/** What an honest and whole answer was given to. */
const TOLD: ReadonlySet<string> = new Set(['honest', 'slow and honest', 'status 103, then honest', 'honest, then ends', 'honest, until the end'])
const NO_ANSWER = /^(no answer came back|the answer, of status \d+, was cut|no broker reported an answer|the broker met a fault of its own)/

/** Where a network ended it early, nobody can see that it was cut but by what it says. */
const UNTIL_THE_END = 'honest, until the end'
const CUT_UNSEEN = /cannot be read \(undelimited\)/

/** I6: unknown only where evidence is missing: each time it is named, and it is not named where the upstream gave it. */
export function unknownSaysWhy (evidence: Evidence): readonly Violation[] {
  const kept = [...evidence.records.values()].filter(({ state, missing }) => state === 'unknown' && (missing ?? '') === '')
    .map(record => violation('I6', 'unknown, and nothing is missing', { attempt: record.id }, record))
  const told = evidence.log.filter(isUnknown).flatMap(line => {
    const about = { attempt: line.attempt_id! }
    if ((line.internal ?? '') === '') return [violation('I6', 'told as unknown, and nothing is missing', about, line)]
    const arrival = evidence.arrivalsOf(line.attempt_id!)[0]
    if (arrival === undefined || !TOLD.has(arrival.mode) || NO_ANSWER.test(line.internal!)) return []
    if (arrival.mode === UNTIL_THE_END && CUT_UNSEEN.test(line.internal!)) return []
    return [violation('I6', 'unknown for want of what the upstream had answered', about, line, arrival)]
  })
  return [...kept, ...told]
}

/** Of the call that sent it, not of its repeats. */
const isUnknown = ({ attempt_id: id, attempt_state: state, outcome, duplicate, step }: LogLine): boolean =>
  id !== undefined && outcome === 'unknown' && state === 'unknown' && duplicate !== true && step === 'record'

/** I7: once nothing is hurt any more, what is unknown settles, and where absence can be proved nothing is left. */
export function unknownSettles (evidence: Evidence): readonly Violation[] {
  return [...evidence.records.values()]
    .filter(record => ABSENCE_PROVABLE.has(record.action) && record.state !== 'settled' && record.state !== 'pending' && isOverdue(record, evidence))
    .map(record => violation('I7', `still ${record.state}`, { attempt: record.id }, record, ...evidence.arrivalsOf(record.id)))
}

/** Nobody will look at it, or nobody did when it was time. */
function isOverdue ({ dueAtMs, state }: AttemptRecord, { run }: Evidence): boolean {
  if (state === 'escalated') return true
  return dueAtMs === null || dueAtMs < run.endedAtMs - OVERDUE_MS || run.endedAtMs - run.healedAtMs > SETTLED_WITHIN_MS
}
