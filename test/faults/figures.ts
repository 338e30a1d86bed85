// What a run can be measured by, beside the violations that it has none of.
import type { Evidence } from './evidence.ts'
import { calmCalls } from './invariants/answers.ts'
import { isResidual } from './invariants/effects.ts'
import { ABSENCE_PROVABLE } from './invariants/unknowns.ts'

export interface Spread {
  readonly count: number
  /** Milliseconds; null: there was none. */
  readonly p50: number | null
  readonly p99: number | null
  readonly max: number | null
}

export interface Figures {
  /** From the loss of the answer until the attempt settled, where that was unknown meanwhile. */
  readonly settledAfterLossMs: { readonly provable: Spread, readonly notProvable: Spread }
  /** The same from healing on, of those that were unknown then. */
  readonly settledAfterHealingMs: { readonly provable: Spread, readonly notProvable: Spread }
  /** Still open at the end. */
  readonly residual: { readonly provable: number, readonly notProvable: number }
  /** Arrived only when nothing of it could be under way any more (the residual hole of any broker). */
  readonly arrivedLate: number
  /** From ten seconds after healing. */
  readonly calm: { readonly calls: number, readonly served: number }
}

export function figuresOf (evidence: Evidence): Figures {
  const records = [...evidence.records.values()]
  const { healedAtMs } = evidence.run
  const lost = records.flatMap(({ action, unknownAtMs, settledAtMs }) =>
    unknownAtMs === null || settledAtMs === null ? [] : [{ provable: ABSENCE_PROVABLE.has(action), unknownAtMs, settledAtMs }])
  const spread = (provable: boolean, fromHealing: boolean): Spread => spreadOf(lost
    .filter(one => one.provable === provable && (!fromHealing || (one.unknownAtMs <= healedAtMs && one.settledAtMs > healedAtMs)))
    .map(one => one.settledAtMs - (fromHealing ? healedAtMs : one.unknownAtMs)))
  const open = records.filter(({ state }) => state !== 'settled')
  const { calls, failed } = calmCalls(evidence)
  return {
    settledAfterLossMs: { provable: spread(true, false), notProvable: spread(false, false) },
    settledAfterHealingMs: { provable: spread(true, true), notProvable: spread(false, true) },
    residual: {
      provable: open.filter(({ action }) => ABSENCE_PROVABLE.has(action)).length,
      notProvable: open.filter(({ action }) => !ABSENCE_PROVABLE.has(action)).length,
    },
    arrivedLate: records.filter(record => isResidual(record, evidence.arrivalsOf(record.id))).length,
    calm: { calls: calls.length, served: calls.length - failed.length },
  }
}

function spreadOf (values: readonly number[]): Spread {
  const sorted = [...values].sort((one, other) => one - other)
  const at = (share: number): number | null => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? null
  return { count: sorted.length, p50: at(0.5), p99: at(0.99), max: sorted.at(-1) ?? null }
}
