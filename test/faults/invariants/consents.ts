// What people approved, and what became of it: I10.
import { SEND_WINDOW_MS } from '../../../src/attempts/attempt.ts'
import { by, type Evidence } from '../evidence.ts'
import type { Arrival, Partial } from '../folder.ts'
import { violation, type Violation } from '../violation.ts'
import { SAME_MOMENT_MS } from './sends.ts'

/** Actions for each call of which people are asked, and how many of them have to say yes. */
const ASKED: ReadonlyMap<string, number> = new Map([['do_asked_work.v1', 1], ['change_asked_item.v1', 2]])
/** Actions for which they are asked once, for several calls of a run. */
const GRANTED: ReadonlySet<string> = new Set(['do_granted_work.v1'])

/** I10: a yes is used once, for exactly what was shown and after it was said; never after a no; and not by what never left. */
export function carriedOutAsApproved (evidence: Evidence): readonly Violation[] {
  return [...usedOnce(evidence), ...saidBefore(evidence), ...neverAfterANo(evidence), ...grantsSuffice(evidence), ...keptAsUsed(evidence)]
}

type Left = Arrival | Partial

/** What left of each attempt, whole or in part. */
const leftOf = ({ arrivalsOf, partialsOf }: Evidence, id: string): readonly Left[] => [...arrivalsOf(id), ...partialsOf(id)]

/** At most one attempt of a proposal was sent. */
function usedOnce (evidence: Evidence): readonly Violation[] {
  const sent = [...evidence.records.values()].filter(record => record.settlement?.sent === true || leftOf(evidence, record.id).length > 0)
  return [...by(sent, ({ proposal }) => proposal ?? null)].filter(([, records]) => records.length > 1)
    .map(([, records]) => violation('I10', `one yes was used ${records.length} times`, { attempt: records[1]!.id }, ...records))
}

/** As many people as are asked for had said yes, to these arguments, before anything arrived. */
function saidBefore (evidence: Evidence): readonly Violation[] {
  const yeses = by(evidence.said.filter(({ says }) => says.says === 'approve'), ({ says }) => says.proposal)
  return [...evidence.records.values()].flatMap(record => {
    const wanted = ASKED.get(record.action)
    if (wanted === undefined) return []
    const about = { attempt: record.id }
    return leftOf(evidence, record.id).flatMap(left => {
      const own = record.proposal === undefined ? [] : yeses.get(record.proposal) ?? []
      const before = own.map(({ says }) => says).filter(({ t }) => t <= left.t + SAME_MOMENT_MS)
      if (new Set(before.map(says => says.by)).size < wanted) return [violation('I10', 'it arrived and was not approved', about, left, record, ...before)]
      const other = left.kind === 'arrival' ? before.filter(({ args }) => args !== left.args) : []
      return other.length === 0 ? [] : [violation('I10', 'it arrived and something else was approved', about, left, ...other)]
    })
  })
}

interface No {
  readonly proposal: string
  readonly heardAtMs: number
  readonly lines: readonly object[]
}

/** A denial, a withdrawal, and a yes that was taken back, where whoever said it heard that it counts. */
function noesOf ({ said, asked }: Evidence): readonly No[] {
  return [
    ...said.flatMap(({ says, answer }) => says.says === 'approve' || says.uses !== null || answer?.kind !== 'taken' || !answer.taken ? []
      : [{ proposal: says.proposal, heardAtMs: answer.t, lines: [says, answer] }]),
    ...asked.flatMap(({ ask, answer }) => ask.verb !== 'withdraw' || answer?.kind !== 'heard' || answer.proposal?.state !== 'withdrawn' ? []
      : [{ proposal: ask.proposal!, heardAtMs: answer.t, lines: [ask, answer] }]),
  ]
}

/** Whatever was no longer approved never left: what had left was used up, and could not be stopped any more. */
function neverAfterANo (evidence: Evidence): readonly Violation[] {
  const noes = by(noesOf(evidence), ({ proposal }) => proposal)
  return [...evidence.records.values()].flatMap(record => (noes.get(record.proposal ?? '') ?? []).flatMap(no =>
    leftOf(evidence, record.id).filter(left => !wasForgottenBetween(evidence, record.preparedAtMs, no.heardAtMs, left.t))
      .map(left => violation('I10', 'it arrived although somebody had said no', { attempt: record.id }, ...no.lines, left, record))))
}

/** The store had forgotten that it was used when somebody said no; it was already on its way. */
function wasForgottenBetween ({ losses }: Evidence, usedAtMs: number, saidAtMs: number, leftAtMs: number): boolean {
  return leftAtMs <= saidAtMs + SEND_WINDOW_MS + SAME_MOMENT_MS && losses.some(({ fromMs, toMs }) => toMs >= usedAtMs && fromMs <= saidAtMs)
}

/** By any time no more of a run has left than was granted to it until then. */
function grantsSuffice (evidence: Evidence): readonly Violation[] {
  const granted = by(evidence.said.filter(({ says }) => says.says === 'approve' && says.uses !== null), ({ says }) => `${says.tenant} ${says.run}`)
  const sent = [...evidence.records.values()].filter(({ action }) => GRANTED.has(action)).flatMap(record => {
    const [first] = leftOf(evidence, record.id)
    return first === undefined ? [] : [{ record, left: first }]
  })
  const overspent = [...by(sent, ({ record: { owner } }) => `${owner.tenant} ${owner.run}`)].flatMap(([run, uses]) => {
    const inTurn = [...uses].sort((one, other) => one.left.t - other.left.t)
    const [over] = inTurn.flatMap(({ record, left }, at) => {
      const grants = (granted.get(run) ?? []).map(({ says }) => says).filter(({ t }) => t <= left.t + SAME_MOMENT_MS)
      const usesMax = [...new Map(grants.map(says => [says.proposal, says.uses!])).values()].reduce((sum, uses) => sum + uses, 0)
      return at < usesMax ? [] : [violation('I10', `more left than the ${usesMax} that were granted`, { attempt: record.id }, left, record, ...grants)]
    })
    return over === undefined ? [] : [over]
  })
  const miscounted = [...evidence.proposals.values()].filter(({ grant, uses }) => grant !== null && uses > grant.usesMax)
    .map(record => violation('I10', 'a grant was used more often than it is good for', {}, record))
  return [...overspent, ...miscounted]
}

/** In the store a yes is used up by what was sent, and by nothing else. What the store was made to forget may be told otherwise. */
function keptAsUsed (evidence: Evidence): readonly Violation[] {
  const users = by([...evidence.records.values()], ({ proposal }) => proposal ?? null)
  return [...evidence.proposals.values()].filter(({ kind, createdAtMs }) => kind === 'call' && !evidence.lostBetween(createdAtMs, Infinity)).flatMap(record => {
    const own = users.get(record.id) ?? []
    const sent = own.filter(({ settlement }) => settlement === null || settlement.sent)
    if (record.state === 'consumed' && !sent.some(({ id }) => id === record.attemptId)) {
      return [violation('I10', 'a yes is used up by what never left', { attempt: record.attemptId }, record, ...own)]
    }
    if (record.state === 'consumed' || sent.length === 0) return []
    return [violation('I10', 'what was sent under a yes has not used it up', { attempt: sent[0]!.id }, record, ...sent)]
  })
}
