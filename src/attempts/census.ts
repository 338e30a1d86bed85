// How many attempts are unresolved, and since when: for the gauges, and for the person who is asked to decide.
import type { Store } from '../store/store.ts'

/** More than this are counted as this many: by then there is an alarm for other reasons. */
const COUNTED_MAX = 10_000

export interface Census {
  readonly unknown: number
  readonly pending: number
  readonly escalated: number
  /** null: none is unknown. */
  readonly oldestUnknownAgeMs: number | null
}

/** @throws StateUnavailable */
export async function takeCensus (store: Store, now: Date): Promise<Census> {
  const counts = { unknown: 0, pending: 0, escalated: 0 }
  let oldestMs: number | null = null
  for (const { state, unknownAtMs } of await store.unresolved(COUNTED_MAX)) {
    if (state === 'unknown' || state === 'pending' || state === 'escalated') counts[state]++
    if (unknownAtMs !== null && state !== 'pending') oldestMs = Math.min(oldestMs ?? unknownAtMs, unknownAtMs)
  }
  return { ...counts, oldestUnknownAgeMs: oldestMs === null ? null : Math.max(0, now.getTime() - oldestMs) }
}
