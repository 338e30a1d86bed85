// What is kept of each attempt, in the store and in the audit: I8 and I16.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AttemptRecord } from '../../../src/attempts/attempt.ts'
import { by, type Evidence } from '../evidence.ts'
import type { AuditRow, Heard, NemesisLine, Verb } from '../folder.ts'
import { violation, type Violation } from '../violation.ts'

/** I8: every attempt that an agent heard of or that arrived upstream has a record, or stands in a journal. */
export function noAttemptIsLost (evidence: Evidence): readonly Violation[] {
  const missing = [...evidence.attempts].filter(id => !evidence.records.has(id) && !wasOnlyUnderWay(id, evidence))
  if (missing.length === 0) return []
  const journals = globSync(
    '**/*journal*/**', { cwd: evidence.folder, withFileTypes: true }
  ).concat(globSync('**/*journal*', { cwd: evidence.folder, withFileTypes: true }))
    .filter(one => one.isFile()).map(one => readFileSync(join(one.parentPath, one.name), 'latin1')).join('\n')
  return missing.filter(id => !journals.includes(id)).map(id =>
    violation(
      'I8', 'an attempt of which nothing is kept', { attempt: id }, ...evidence.arrivalsOf(id), ...evidence.heardOf(id).map(({ answer }) => answer)
    ))
}

/**
 * The store forgot it before anything was sent, and nobody was told more of it than that it was under way: its process ended before its journal had it,
 * without which nothing leaves.
 */
function wasOnlyUnderWay (id: string, evidence: Evidence): boolean {
  if (evidence.arrivalsOf(id).length > 0 || evidence.partialsOf(id).length > 0 || evidence.effectsOf(id).length > 0) return false
  const heard = evidence.heardOf(id)
  const isForgotten = evidence.losses.some(({ toMs }) => heard.every(({ answer }) => answer.t < toMs))
  return isForgotten && heard.every(({ answer }) => answer.outcome === 'pending') && !evidence.auditOf(id).some(row => TOLD_OF.has(row.event))
}

/** Of more than that it was under way. */
const TOLD_OF: ReadonlySet<string> = new Set(['execution.result', 'execution.resolved', 'execution.unknown', 'execution.escalated', 'action.refused'])

/** By when an end of which the audit tells stood in the store. */
const toldAtMs = ({ time }: AuditRow): number => Date.parse(time) - TOLD_WITHIN_MS
/** A process that is killed right after it wrote an end down has no time to tell of it. */
const TOLD_WITHIN_MS = 3_000
/** What was told at the same moment may stand in the audit, and the rest not yet. */
const WRITTEN_WITHIN_MS = 250
const ENDS: ReadonlySet<string> = new Set(['execution.result', 'execution.resolved'])

/** I16: the audit tells of the end of each attempt once, as it is kept, and has one line for each call that was answered. */
export function oneLineEach (evidence: Evidence): readonly Violation[] {
  return [...evidence.records.values()].flatMap(record => linesOf(record, evidence)).concat(callLines(evidence))
}

function linesOf (record: AttemptRecord, evidence: Evidence): readonly Violation[] {
  const about = { attempt: record.id }
  const rows = evidence.auditOf(record.id).filter(({ attempt }) => attempt?.duplicate !== true)
  const ends = rows.filter(({ event }) => ENDS.has(event)).sort((one, other) => Date.parse(one.time) - Date.parse(other.time))
  const { settlement } = record
  const told = [...ends, ...rows.filter(({ event }) => event === 'action.refused')]
  if (settlement === null) return ends.length === 0 || evidence.lostBetween(toldAtMs(ends[0]!), Infinity) ? [] : [violation(
    'I16', 'an end is told of what has not ended', about, record, ...ends
  )]
  // What the store was made to forget ends a second time.
  const again = ends.slice(1).some((end, at) => !evidence.lostBetween(toldAtMs(ends[at]!), Date.parse(end.time)))
  if (again) return [violation('I16', `its end is told ${ends.length} times`, about, record, ...ends)]
  const others = ends.filter(row => row.outcome !== settlement.outcome || (row.code ?? null) !== settlement.code)
  if (others.length > 0) return [violation('I16', 'another end is told than is kept', about, record, ...others)]
  if (told.length > 0 || diedUntold(record.settledAtMs!, evidence.replicas, evidence)) return []
  return [violation('I16', 'its end is not told', about, record, ...rows)]
}

const CALLS: ReadonlySet<Verb> = new Set(['call', 'commit'])

/** Calls that were answered, whatever became of the process later: one line each, unless the process ended before it could write it. */
function callLines (evidence: Evidence): readonly Violation[] {
  const rows = by(evidence.audit.filter(({ step }) => step !== undefined), row => row.correlation_id ?? null)
  return evidence.asked.flatMap(({ ask, answer }) => {
    if (answer?.kind !== 'heard' || !CALLS.has(ask.verb) || answer.correlation === null || answer.code === 'UNAUTHENTICATED') return []
    const own = rows.get(answer.correlation) ?? []
    // A commit that is refused before its proposal is found has begun nothing.
    if (own.length === 0 && ask.verb === 'commit' && answer.status >= 400) return []
    if (own.length === 1 || (own.length === 0 && (isBeforeACall(answer) || diedUntold(answer.t, [ask.replica % evidence.replicas.length], evidence)))) return []
    return [violation('I16', `a call has ${own.length} lines`, { attempt: answer.attempt, errand: ask.errand }, ask, answer, ...own)]
  })
}

/** A listener that is shutting down refuses whatever comes; and a process that stood still gives up what it had not read when it wakes. */
const isBeforeACall = ({ code, status }: Heard): boolean => code === 'SHUTTING_DOWN' || status === 408

/** Whether the store that came back then had gone before. */
const wasDownBy = (byMs: number, upAtMs: number, nemesis: readonly NemesisLine[]): boolean =>
  upAtMs > byMs - TOLD_WITHIN_MS && (nemesis.findLast(({ t, what, state }) => what === 'redis' && state === 'down' && t < upAtMs)?.t ?? Infinity) < byMs

/** A process was killed soon after, or had written nothing more until it was: it may have stood still in between. */
function diedUntold (atMs: number, replicas: readonly number[], { nemesis, audit }: Evidence): boolean {
  const kills = nemesis.filter(({ what }) => what === 'kill')
  let toldByMs = atMs + TOLD_WITHIN_MS
  // A reply that was lost with its store is asked for again once the store is back.
  for (const { t, what, state } of nemesis) if (what === 'redis' && state === 'up' && wasDownBy(toldByMs, t, nemesis)) toldByMs = Math.max(toldByMs, t + TOLD_WITHIN_MS)
  // Nor can it tell of anything while it stands still.
  for (const { t, what, ms } of nemesis) if (what === 'stop' && t > atMs - TOLD_WITHIN_MS && t < toldByMs) toldByMs += ms ?? 0
  if (kills.some(({ t }) => t > atMs - TOLD_WITHIN_MS && t < toldByMs)) return true
  return replicas.some(replica => {
    const next = audit.find(row => row.replica === replica && Date.parse(row.time) > atMs + WRITTEN_WITHIN_MS)
    const untilMs = next === undefined ? Infinity : Date.parse(next.time)
    return (next === undefined || next.seq === 1) && kills.some(({ t }) => t > atMs && t < untilMs)
  })
}
