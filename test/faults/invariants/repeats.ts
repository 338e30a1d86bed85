// A repeat gets what it repeats: it never runs ahead of it, and only what provably came to nothing lets its key begin anew.
import { freesKey, type AttemptRecord } from '../../../src/attempts/attempt.ts'
import { by, type Asked, type Evidence } from '../evidence.ts'
import type { Heard } from '../folder.ts'
import { violation, type Violation } from '../violation.ts'

export function repeatsGetWhatTheyRepeat (evidence: Evidence): readonly Violation[] {
  return [...chains(evidence), ...changedArguments(evidence), ...again(evidence), ...ofItself(evidence)]
}

/** The attempts of one key: each but the last let it go, and what was sent of one was over before the next began. */
function chains (evidence: Evidence): readonly Violation[] {
  const meantTwice = new Set(evidence.asked.filter(({ ask }) => ask.story === 'again-without-key').map(({ ask }) => ask.run))
  const records = [...evidence.records.values()].filter(({ keyed, owner }) => keyed || !meantTwice.has(owner.run))
  return [...by(records, ({ recordKey }) => recordKey).values()].flatMap(group => {
    // The number is of when it was called: one that was begun after its key was forgotten may have the higher one of what came later.
    const inTurn = [...group].sort((one, other) => one.preparedAtMs - other.preparedAtMs || one.n - other.n)
    let [earlier] = inTurn
    return inTurn.slice(1).flatMap(later => {
      const before = earlier!
      const about = { attempt: later.id }
      const wasForgotten = evidence.lostBetween(before.preparedAtMs, later.preparedAtMs)
      // The key stays with what it repeats.
      if (wasForgotten && cameToNothing(later, evidence)) return []
      earlier = later
      if (wasForgotten && cameToNothing(before, evidence)) return []
      if (!freesKey(before)) return [violation('repeats', 'a second attempt of a key that the first had not let go', about, before, later)]
      const endedAtMs = before.settledAtMs ?? Infinity
      // Where its end was forgotten and known again after the later one was begun, the time of it is of then.
      if (later.preparedAtMs < endedAtMs && !evidence.lostBetween(later.preparedAtMs, endedAtMs)) return [violation(
        'repeats', 'a second attempt before the first had ended', about, before, later
      )]
      return []
    })
  })
}

/**
 * It was never marked as sent, nothing of it arrived, and it ended as unsent. A journal has it before the mark, and tells a store that forgot it that it may
 * have been sent: then it has both times at once.
 */
function cameToNothing ({ id, dispatchedAtMs, unknownAtMs, settlement }: AttemptRecord, { arrivalsOf, partialsOf }: Evidence): boolean {
  const wasMarked = dispatchedAtMs !== null && dispatchedAtMs !== unknownAtMs
  return !wasMarked && settlement?.sent === false && arrivalsOf(id).length + partialsOf(id).length === 0
}

/** Other arguments under a key are refused, and never leave. */
function changedArguments (evidence: Evidence): readonly Violation[] {
  const changed = evidence.asked.filter(({ ask }) => ask.part === 'changed')
  const hashes = new Set(changed.map(({ ask }) => ask.args))
  const heard = changed.filter(({ answer }) => answer?.kind === 'heard' && answer.status < 400)
    .map(({ ask, answer }) => violation('repeats', 'other arguments under a key were taken', { errand: ask.errand }, ask, answer!))
  const left = evidence.arrivals.filter(({ args }) => hashes.has(args))
    .map(arrival => violation('repeats', 'other arguments under a key left', { attempt: arrival.attempt }, arrival))
  return [...heard, ...left]
}

/** A, B and A again: with the key of the first the third is the first; without a key it is meant anew. */
function again (evidence: Evidence): readonly Violation[] {
  const ended = evidence.asked.filter((one): one is Asked & { answer: Heard } => one.answer?.kind === 'heard' && one.answer.outcome === 'completed')
  const attemptsOf = (group: readonly Asked[], part: string): ReadonlySet<string | null> =>
    new Set(group.filter(({ ask }) => ask.part === part).map(({ answer }) => (answer as Heard).attempt))
  const withKey = [...by(ended, ({ ask }) => ask.story === 'again-with-key' || ask.story === 'twice-without-key' ? ask.errand : null)]
  const without = [...by(ended, ({ ask }) => ask.story === 'again-without-key' ? ask.errand : null)]
  return [
    ...withKey.filter(([, group]) => attemptsOf(group, 'one').size > 1)
      .map(([errand, group]) => violation('repeats', 'a repeat got another attempt than what it repeats', { errand }, ...group)),
    ...without.filter(([, group]) => [...attemptsOf(group, 'three')].some(id => attemptsOf(group, 'one').has(id)))
      .map(([errand, group]) => violation('repeats', 'a call without a key that was meant anew got an attempt of before', { errand }, ...group)),
  ]
}

/** A call that is told to repeat a call in progress, and that call is itself: the store did not know its own word again. */
function ofItself (evidence: Evidence): readonly Violation[] {
  const begun = new Map([...evidence.records.values()].map(record => [record.correlationId, record]))
  return evidence.asked.flatMap(({ ask, answer }) => {
    if (answer?.kind !== 'heard' || answer.code !== 'CALL_IN_PROGRESS' || answer.correlation === null) return []
    const record = begun.get(answer.correlation)
    if (record === undefined) return []
    return [violation('repeats', 'a call is told that it repeats itself', { attempt: record.id, errand: ask.errand }, ask, answer, record)]
  })
}
