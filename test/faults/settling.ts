// How long what was unknown stayed so, from a store dump: in all, and after the run was healed.
import type { AttemptRecord } from '../../src/attempts/attempt.ts'

/** Actions whose sheet can prove that a write did not happen; of the others a person is asked. */
export interface SettleTimes {
  /** Milliseconds from the loss of the answer to the end of the attempt. */
  readonly fromLossMs: readonly number[]
  /** Of those that were unknown when the run was healed: from then on. */
  readonly fromHealingMs: readonly number[]
  /** Unknown at the end, and nobody but a look-up can end them. */
  readonly unknownLeft: number
  /** Handed to a person. */
  readonly escalated: number
}

export type SettleFigures = { readonly provable: SettleTimes, readonly notProvable: SettleTimes }

/** @param provable whether the sheet of an action says when absence is proved */
export function settleTimes (records: readonly AttemptRecord[], healedAtMs: number, provable: (action: string) => boolean): SettleFigures {
  const of = (wanted: boolean): SettleTimes => {
    const lost = records.filter(record => record.unknownAtMs !== null && provable(record.action) === wanted)
    const ended = lost.filter(record => record.settledAtMs !== null)
    const openAtHealing = ended.filter(record => record.unknownAtMs! <= healedAtMs && record.settledAtMs! > healedAtMs)
    return {
      fromLossMs: ended.map(record => record.settledAtMs! - record.unknownAtMs!),
      fromHealingMs: openAtHealing.map(record => record.settledAtMs! - healedAtMs),
      unknownLeft: lost.filter(({ state }) => state === 'unknown' || state === 'pending').length,
      escalated: lost.filter(({ state }) => state === 'escalated').length,
    }
  }
  return { provable: of(true), notProvable: of(false) }
}

export function percentile (values: readonly number[], share: number): number | null {
  if (values.length === 0) return null
  const sorted = [...values].sort((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)]!
}
