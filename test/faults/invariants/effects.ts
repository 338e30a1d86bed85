// What was done in the upstream, held against what is told of it: I1 to I4 and I11.
import type { AttemptRecord } from '../../../src/attempts/attempt.ts'
import { by, type Evidence } from '../evidence.ts'
import { argsHash, type Arrival, type Effect } from '../folder.ts'
import { violation, type Violation } from '../violation.ts'

/** I1: at most one effect for each attempt, and for each intention of an agent, whatever attempts it took. */
export function oneEffect (evidence: Evidence): readonly Violation[] {
  const strange = evidence.effects.filter(effect => effect.attempt === null)
    .map(effect => violation('I1', 'an effect that no attempt has', { errand: effect.errand }, effect))
  const twice = [...evidence.attempts].filter(id => evidence.effectsOf(id).length > 1)
    .map(id => violation('I1', 'an attempt had more than one effect', { attempt: id }, ...evidence.effectsOf(id)))
  const calls = by(evidence.asked.filter(({ ask }) => ask.verb === 'call' && ask.part !== 'changed'), ({ ask }) => ask.errand)
  const effects = by(evidence.effects, effect => effect.errand)
  const overdone = [...effects].flatMap(([errand, done]) => {
    const meant = new Set(calls.get(errand)?.map(({ ask }) => ask.part)).size
    return done.length <= meant ? [] : [violation('I1', `what was meant ${meant} times was done ${done.length} times`, { errand }, ...done)]
  })
  return [...strange, ...twice, ...overdone]
}

/** I2: what is told as completed, by the store or in an answer, was done exactly once and as it was asked. */
export function completedIsDone (evidence: Evidence): readonly Violation[] {
  const told = new Set([...evidence.records.values()].filter(isCompleted).map(({ id }) => id))
  for (const { answer } of evidence.asked) {
    if (answer?.kind === 'heard' && answer.outcome === 'completed' && answer.attempt !== null) told.add(answer.attempt)
  }
  const byArgs = by(evidence.effects, effect => effect.args)
  return [...told].flatMap(id => {
    const record = evidence.records.get(id)
    if (record?.settlement?.evidence.source === 'person') return []
    const effects = evidence.effectsOf(id)
    const said = [...record === undefined ? [] : [record], ...evidence.heardOf(id).map(({ answer }) => answer)]
    if (effects.length === 0 && record !== undefined && wasDoneByItsEqual(record, byArgs.get(argsHash(record.args)) ?? [])) return []
    if (effects.length !== 1) return [violation('I2', `completed, and done ${effects.length} times`, { attempt: id }, ...effects, ...said)]
    if (record === undefined || argsHash(record.args) === effects[0]!.args) return []
    return [violation('I2', 'completed, and something else was done', { attempt: id }, effects[0]!, record)]
  })
}

/** Their writes are told apart by the version alone. */
const CHANGES: ReadonlySet<string> = new Set(['change_item.v1', 'change_asked_item.v1'])

/**
 * A write that is told apart by the version alone, and was looked up: an equal one, of another call that had read the same version, has done just that,
 * and nobody can see which of the two it was.
 */
function wasDoneByItsEqual ({ action, settlement, target }: AttemptRecord, equal: readonly Effect[]): boolean {
  return CHANGES.has(action) && settlement?.evidence.source === 'lookup' && equal.some(({ version }) => version === target?.version)
}

const isCompleted = ({ settlement }: AttemptRecord): boolean => settlement?.outcome === 'completed'

/**
 * I3: what is told as rejected was not done, then or later. What arrived only after its quiescence had passed is the residual hole that no broker can
 * close alone (`isResidual`); it is counted apart.
 */
export function rejectedIsNotDone (evidence: Evidence): readonly Violation[] {
  return [...evidence.attempts].flatMap(id => {
    const effects = evidence.effectsOf(id)
    if (effects.length === 0) return []
    const record = evidence.records.get(id)
    const answers = evidence.heardOf(id).filter(({ answer }) => answer.outcome === 'rejected' && answer.status === 200).map(({ answer }) => answer)
    const isRejected = record?.settlement?.outcome === 'rejected'
    if ((!isRejected && answers.length === 0) || record?.settlement?.evidence.source === 'person') return []
    if (record !== undefined && isResidual(record, evidence.arrivalsOf(id))) return []
    return [violation(
      'I3', 'rejected, and done', { attempt: id }, ...effects, ...evidence.arrivalsOf(id), ...answers, ...record === undefined ? [] : [record]
    )]
  })
}

/** A process that was stopped between its last look at the clock and its write: it arrived when nothing of it could be under way any more. */
export function isResidual (record: AttemptRecord, arrivals: readonly Arrival[]): boolean {
  return record.dispatchedAtMs !== null && arrivals.some(({ t }) => t > record.dispatchedAtMs! + record.quiescenceMs)
}

/** How long ago the upstream may have been what it is seen as, and the time that an answer takes. */
const SEEN_LATE_MS = 3_000

/** I4: what is told as already so was so, and this call added nothing to it. */
export function alreadyWasSo (evidence: Evidence): readonly Violation[] {
  const byArgs = by(evidence.effects, effect => effect.args)
  const byObject = by(evidence.effects, effect => effect.object)
  return evidence.asked.flatMap(({ ask, answer }) => {
    if (answer?.kind !== 'heard' || answer.outcome !== 'already_in_desired_state' || ask.verb !== 'call') return []
    const errand = ask.errand
    if (answer.attempt !== null && evidence.effectsOf(answer.attempt).length > 0) {
      return [violation(
        'I4', 'already so, and done all the same', { attempt: answer.attempt, errand }, ask, answer, ...evidence.effectsOf(answer.attempt)
      )]
    }
    const so = (byArgs.get(ask.args) ?? []).some(effect => {
      const next = byObject.get(effect.object)!.find(other => other.seq > effect.seq)
      return effect.t <= answer.t && (next === undefined || next.t >= ask.t - SEEN_LATE_MS)
    })
    return so ? [] : [violation('I4', 'told as already so, and it was not', { errand }, ask, answer)]
  })
}

/** I11: at most one effect on each version of an object, and never two unsettled writes on one target or in one lane. */
export function oneEffectAVersion (evidence: Evidence): readonly Violation[] {
  const versioned = by(evidence.effects, ({ object, version }) => version === null ? null : `${object} ${version}`)
  const twice = [...versioned].filter(([, effects]) => effects.length > 1)
    .map(([name, effects]) => violation('I11', `two effects on ${name}`, { attempt: effects[1]!.attempt }, ...effects))
  return [...twice, ...overlaps(evidence)]
}

function overlaps (evidence: Evidence): readonly Violation[] {
  const holders = [...evidence.records.values()].flatMap(record =>
    [record.claims.target, record.claims.serialize].flatMap(claim => claim === null ? [] : [{ claim, record }]))
  return [...by(holders, ({ claim }) => claim)].flatMap(([claim, group]) => {
    const records = group.map(({ record }) => record).sort((one, other) => one.preparedAtMs - other.preparedAtMs)
    return records.slice(1).flatMap((later, at) => {
      const earlier = records[at]!
      const freed = earlier.settledAtMs ?? Infinity
      // An escalated holder does not block what the upstream itself guards.
      if (later.preparedAtMs >= freed || (later.guarded && wasEscalated(evidence, earlier))) return []
      // The store forgot the one when the other was begun; or it forgot its end, and was told of it later.
      if (evidence.lostBetween(earlier.preparedAtMs, freed)) return []
      return [violation('I11', `two unsettled writes hold ${claim}`, { attempt: later.id }, earlier, later)]
    })
  })
}

const wasEscalated = (evidence: Evidence, record: AttemptRecord): boolean =>
  record.state === 'escalated' || evidence.auditOf(record.id).some(row => row.event === 'execution.escalated')

