// One attempt, told to a Redis that may have lost it. What was under way when it was lost is unknown from then on: that it was sent, and no more, is what
// the journal knows of it.
import { freesKey, givesBack, unsent, UNKNOWN_DUE_MS, type AttemptEvent, type AttemptRecord, type Settlement, type Stamp } from '../attempts/attempt.ts'
import { PROPOSAL_FORMAT } from '../consent/proposal.ts'
import { pack } from './codec.ts'
import type { RedisConnection } from './redis-connection.ts'
import { keysOf } from './redis-keys.ts'
import { attemptOf, list, number, text } from './redis-reply.ts'
import { SCRIPTS } from './redis-scripts.ts'
import { claimKeys } from './redis.ts'
import { RUN_LIST_MAX, type Retention } from './retention.ts'

/**
 * `kept`: the store has it, at least as far along. `moved`: it had forgotten how far it was. `inserted`: it had forgotten it. `foreign`: another begin
 * has taken its place.
 */
export type Restored = 'kept' | 'moved' | 'inserted' | 'foreign'

const TIMES: ReadonlyArray<Stamp | 'preparedAtMs'> = ['preparedAtMs', 'dispatchedAtMs', 'unknownAtMs', 'firstAbsentAtMs', 'settledAtMs']

/**
 * @param owed what became of it, where its sender knows and the store was not told
 * @throws StateUnavailable
 */
export async function restore (redis: RedisConnection, known: AttemptRecord, retention: Retention, owed: AttemptEvent | null = null): Promise<Restored> {
  const [kind, overtakenAtMs, leftOpen] = list(await tell(redis, known, retention))
  if (kind === 'overtaken') {
    const endedAtMs = number(overtakenAtMs)
    return text(list(owed?.type === 'settle'
      ? await tell(redis, ended(known, owed.settlement, endedAtMs), retention)
      : await tell(redis, ended(known, CAME_TO_NOTHING, endedAtMs), retention, 'assumed'))[0]) as Restored
  }
  const before = attemptOf(leftOpen ?? null)
  if (before !== null) await tell(redis, ended(before, CAME_TO_NOTHING, known.preparedAtMs), retention, 'assumed')
  return text(kind) as Restored
}

/** A later attempt was begun under the same upstream key, and so by then this one had ended, and nothing of it had taken effect. Another journal may know how. */
const CAME_TO_NOTHING: Settlement = { ...unsent('NOT_APPLIED', 'The call had ended without an effect when it was made again.', true), sent: true }

const ended = (record: AttemptRecord, settlement: Settlement, settledAtMs: number | null): AttemptRecord =>
  ({ ...record, state: 'settled', missing: null, settlement, settledAtMs })

/**
 * What its sender owes the store, for as long as no other journal knows of another end that the store had written down before: else a look-up could end it
 * anew, otherwise than the store had been told and had told others, before the debt is paid. To be called after `restore`. @returns whether it stands there now by this @throws StateUnavailable
 */
export async function suppose (redis: RedisConnection, known: AttemptRecord, owed: AttemptEvent, retention: Retention): Promise<boolean> {
  if (owed.type !== 'settle') return false
  const [kind] = list(await tell(redis, ended(known, owed.settlement, null), retention, 'assumed'))
  return text(kind) === 'moved' || text(kind) === 'inserted'
}

async function tell (redis: RedisConnection, known: AttemptRecord, retention: Retention, by: 'known' | 'assumed' = 'known'): Promise<unknown> {
  const record = asRestored(known)
  const keys = keysOf(record.tag)
  const { tenant } = record.owner
  const { body, result } = pack(record)
  const times = Object.fromEntries(TIMES.flatMap(name => record[name] === null ? [] : [[name, record[name]]]))
  const dueAfterMs = record.state === 'unknown' || record.state === 'pending' ? UNKNOWN_DUE_MS : ''
  return redis.run(SCRIPTS.restore, [
    keys.attempt(record.id), keys.record(record.recordKey), keys.result(record.id), keys.run(record.runKey), keys.runAttempts(record.runKey),
    keys.due(record.format), keys.unresolved, keys.unresolvedOf(record.action, tenant),
    keys.record(record.askedAs ?? record.recordKey), ...claimKeys(record),
  ], [
    keys.prefix, record.id, record.token, known.state, record.state,
    record.format, record.revision, body, result ?? '',
    retention.resultMs, retention.settledMs, dueAfterMs, JSON.stringify(times),
    record.action, record.upstream, retention.runMs, RUN_LIST_MAX, freesKey(record) ? 1 : 0,
    record.proposal ?? '', givesBack(record) ? 1 : 0, PROPOSAL_FORMAT,
    record.n, record.g, record.since ?? record.n, by === 'assumed' ? 1 : 0,
  ])
}

function asRestored (known: AttemptRecord): AttemptRecord {
  const revision = known.revision + 1
  if (known.state !== 'dispatched' && known.state !== 'prepared') return { ...known, revision }
  return { ...known, revision, state: 'unknown', missing: 'the store forgot the attempt while it was under way' }
}
