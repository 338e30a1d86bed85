// Whether a call repeats an attempt: the rule of duplicates as one pure function that both drivers use.
import { freesKey, nextGeneration, type AttemptRecord } from '../attempts/attempt.ts'
import type { Recalled, RecordName } from './store.ts'

/** How long a settled attempt without a runtime key answers for its repeats. */
export const UNKEYED_MERGE_MS = 10 * 60_000

/**
 * @param record the latest attempt of this record key
 * @param lastWrite id of the last write that this run began on this upstream
 * @param nowMs the store's time
 */
export function judgeRepeat (name: RecordName, record: AttemptRecord | null, lastWrite: string | null, nowMs: number): Recalled['finding'] {
  if (record === null) return { kind: 'free', n: 0, g: 0, after: null }
  if (record.fingerprint !== name.fingerprint) return { kind: 'key_reused' }
  if (record.state === 'prepared') return { kind: 'in_progress', record }
  if (record.state !== 'settled') return { kind: 'duplicate', record }
  const forgotten = !name.keyed && (nowMs - (record.settledAtMs ?? nowMs) > UNKEYED_MERGE_MS || lastWrite !== record.id)
  if (!freesKey(record) && !forgotten) return { kind: 'duplicate', record }
  return { kind: 'free', n: record.n + 1, g: nextGeneration(record), after: { id: record.id, revision: record.revision } }
}
