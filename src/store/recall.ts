// Whether a call repeats an attempt: the rule of duplicates as one pure function that both drivers use.
import { freesKey, mayBeMeantAgain, nextGeneration, type AttemptRecord } from '../attempts/attempt.ts'
import type { Recalled, RecordName } from './store.ts'

/** How long a settled attempt without a runtime key answers for its repeats. */
export const UNKEYED_MERGE_MS = 10 * 60_000

/**
 * @param record the latest attempt of this record key
 * @param lastWrite id of the last write that this run began on this upstream
 * @param nowMs the store's time
 */
export function judgeRepeat (name: RecordName, record: AttemptRecord | null, lastWrite: string | null, nowMs: number): Recalled['finding'] {
  if (record === null) return { kind: 'free', n: 0, g: 0, since: 0, after: null }
  if (record.fingerprint !== name.fingerprint) return { kind: 'key_reused' }
  if (record.state === 'prepared') return { kind: 'in_progress', record }
  if (record.state !== 'settled') return { kind: 'duplicate', record }
  // What a person approved was approved once, however long ago.
  const forgotten = !name.keyed && record.proposal === undefined && (nowMs - (record.settledAtMs ?? nowMs) > UNKEYED_MERGE_MS || lastWrite !== record.id)
  // What a person approved has a key of its own; by the name of the call it is found where the store had forgotten the proposal (restore.lua).
  const isFree = record.recordKey === name.recordKey ? freesKey(record) : mayBeMeantAgain(record)
  if (!isFree && !forgotten) return { kind: 'duplicate', record }
  const [n, g] = [record.n + 1, nextGeneration(record)]
  return { kind: 'free', n, g, since: g === record.g ? record.since ?? record.n : n, after: { id: record.id, revision: record.revision } }
}
