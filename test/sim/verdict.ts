// What must be true in the end, when everything has healed and nothing more is to come: the ledger, the store, the audit and what agents were told
// agree.
import type { AttemptRecord } from '../../src/attempts/attempt.ts'
import type { ProposalRecord } from '../../src/consent/proposal.ts'
import { UNKEYED_MERGE_MS } from '../../src/store/recall.ts'
import type { Told } from './agents.ts'
import type { Ground } from './broker.ts'

export interface End extends Ground {
  /** Processes have ended, and with them what they would have told. */
  readonly deadly: boolean
  readonly told: readonly Told[]
  /** Calls and questions that nobody has answered. */
  readonly stillOpen: number
  readonly proposals: readonly ProposalRecord[]
}

export function judgeEnd (end: End): void {
  const { watch, store } = end
  for (const record of store.attempts) judgeAttempt(end, record)
  judgeTold(end)
  judgeRepeats(end)
  judgeProposals(end)
  judgeAudit(end)
  watch.hold(end.stillOpen === 0, 'I15', `${end.stillOpen} calls were never answered`)
}

function judgeAttempt ({ watch, upstream, deadly }: End, record: AttemptRecord): void {
  const { id, state, settlement } = record
  const arrivals = watch.arrivals.get(id) ?? 0
  watch.hold(arrivals <= 1, 'I1', `${id} arrived ${arrivals} times`)
  if (state !== 'settled' || settlement === null) {
    watch.violated('I7', `${id} is ${state} in the end, after ${record.lookups} look-ups`)
    return
  }
  if (watch.ended.has(id) && !deadly) {
    watch.hold(settlement.evidence.source !== 'person', 'I6', `${id} was decided by a person, and a process that lives was told what became of it`)
  }
  const effects = upstream.effects.filter(({ attemptId }) => attemptId === id)
  if (watch.holes.has(id)) return
  if (settlement.outcome === 'completed') {
    watch.hold(effects.length === 1, 'I2', `${id} is completed with ${effects.length} effects`)
    const args = record.args as { readonly item?: string, readonly amount?: number, readonly text?: string }
    const what = args.amount === undefined ? args.item === undefined ? `${args.text} 0` : `${args.item} ${args.text}` : `${args.item} ${args.amount}`
    watch.hold(effects.every(effect => effect.what === what), 'I2', `${id} had another effect than was asked for`)
  } else {
    watch.hold(effects.length === 0, 'I3', `${id} is ${settlement.outcome} ${settlement.code} with ${effects.length} effects`)
  }
  if (!settlement.sent) watch.hold(arrivals === 0, 'I12', `${id} is told as not sent, and arrived`)
}

function judgeTold ({ watch, store, told }: End): void {
  for (const { correlationId, kind, status, envelope, wish } of told) {
    if (kind === 'call' && status >= 400) {
      const own = store.attempts.find(record => record.correlationId === correlationId)
      const sent = own !== undefined && watch.arrivals.has(own.id)
      watch.hold(!sent, 'I12', `${correlationId} was answered ${status} ${envelope.error?.code}, and was sent`)
    }
    if (wish.run === 'run 3') {
      watch.hold(envelope.outcome === 'completed', 'I19', `${correlationId}, after all has healed, is ${envelope.outcome} ${envelope.error?.code}`)
    }
    const id = envelope.attempt_id
    if (id === undefined || status >= 400) continue
    const record = store.record(id)
    if (record === undefined) watch.violated('I8', `${id} was told of and is not there`)
    else if (status === 200) judgeSame(record, envelope, watch)
  }
}

/**
 * What was once told as the end is the end. Where it was told before it could be written down, what is written in the end may be another true word for it:
 * a refusal, or that nothing came of it.
 */
function judgeSame ({ id, settlement }: AttemptRecord, envelope: Told['envelope'], watch: Ground['watch']): void {
  const same = settlement?.outcome === envelope.outcome &&
    (watch.forgotten.has(id) || envelope.recorded === false || (settlement.sent === envelope.sent && settlement.code === (envelope.error?.code ?? null)))
  const told = `${envelope.outcome} ${envelope.error?.code} ${envelope.sent}`
  watch.hold(same, 'I9', `${id} was told as ${told}, and is ${settlement?.outcome} ${settlement?.code} ${settlement?.sent}`)
}

/** Whatever was repeated, lost or begun anew: under one key one thing happens once; and so does what a run wants without a key, and nothing else. */
function judgeRepeats ({ watch, store, upstream }: End): void {
  const byKey = new Map<string, string[]>()
  for (const { id, recordKey, runKey, keyed, action } of store.attempts) {
    const effects = upstream.effects.filter(({ attemptId }) => attemptId === id && !watch.holes.has(id))
    // Without a key it is the store's time that says for how long a repeat repeats: where that jumps, it has passed.
    const alone = store.jumpedMs < UNKEYED_MERGE_MS && store.attempts.every(other => other.runKey !== runKey || other.recordKey === recordKey)
    if (keyed || alone) byKey.set(recordKey, [...byKey.get(recordKey) ?? [], ...effects.map(() => `${action} ${id}`)])
  }
  for (const [, effects] of byKey) watch.hold(effects.length <= 1, 'I1', `under one key: ${effects.join(', ')}`)
}

/** A yes is used up by what was sent under it, and by nothing else; and under one key one thing happens once, however often it was asked for. */
function judgeProposals ({ watch, store, upstream, proposals }: End): void {
  const byKey = new Map<string, string[]>()
  for (const { id, state, attemptId, recordKey, keyed } of proposals) {
    const own = store.attempts.filter(({ proposal }) => proposal === id)
    const sent = own.filter(({ settlement }) => settlement?.sent !== false)
    watch.hold(sent.length <= 1, 'I10', `${id} was used by ${sent.length} attempts`)
    if (state === 'consumed') watch.hold(sent.some(record => record.id === attemptId), 'I10', `${id} is used up by ${attemptId}, which never left`)
    else watch.hold(sent.length === 0, 'I10', `${id} is ${state}, and ${sent[0]?.id} was sent under it`)
    const effects = upstream.effects.filter(effect => own.some(record => record.id === effect.attemptId) && !watch.holes.has(effect.attemptId))
    if (keyed) byKey.set(recordKey, [...byKey.get(recordKey) ?? [], ...effects.map(effect => `${id} ${effect.attemptId}`)])
  }
  for (const [, effects] of byKey) watch.hold(effects.length <= 1, 'I1', `under one key, and approved: ${effects.join(', ')}`)
}

function judgeAudit ({ watch, seen, deadly, store }: End): void {
  for (const { attemptId } of seen.twice()) {
    if (!watch.forgotten.has(attemptId)) watch.violated('I16', `the end of ${attemptId} is told twice`)
  }
  if (deadly) return
  for (const { attemptId, last } of seen.open()) {
    if (store.record(attemptId)?.state === 'settled') watch.violated('I16', `nobody told the end of ${attemptId}; last: ${last}`)
  }
}
