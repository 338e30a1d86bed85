// Rounds added up: what was done, what fired, what was found, and how long things took.
import type { Fired } from './chronicle.ts'
import { readStore } from './folder.ts'
import { ABSENCE_PROVABLE } from './invariants/unknowns.ts'
import { addFired } from './minimum.ts'
import type { RoundReport } from './round.ts'
import { percentile, settleTimes, type SettleTimes } from './settling.ts'
import type { Violation } from './violation.ts'

export interface Round {
  readonly seed: string
  readonly store: 'redis' | 'sqlite'
  /** Of the code that was hurt: a run of hours may be gone on with after a change. */
  readonly commit: string
  readonly seconds: number
  readonly attempts: number
  readonly effects: number
  readonly asks: number
  /** Arrived when nothing of it could be under way any more: the hole that no broker closes alone. */
  readonly arrivedLate: number
  readonly drained: boolean
  readonly recoveredMs: number | null
  readonly violations: readonly Violation[]
  /** Kept where something was found. */
  readonly folder: string | null
}

export interface Totals {
  readonly rounds: readonly Round[]
  readonly fired: Fired
  /** By invariant: violations, or why it was not checked. */
  readonly invariants: { readonly [name: string]: number | string }
  readonly provable: SettleTimes
  readonly notProvable: SettleTimes
}

const NO_TIMES: SettleTimes = { fromLossMs: [], fromHealingMs: [], unknownLeft: 0, escalated: 0 }
export const NOTHING: Totals = { rounds: [], fired: {}, invariants: {}, provable: NO_TIMES, notProvable: NO_TIMES }

export function add (totals: Totals, report: RoundReport, commit: string, healedAtMs: number): Totals {
  const { checked, folder } = report
  const times = settleTimes(readStore(folder), healedAtMs, action => ABSENCE_PROVABLE.has(action))
  const round: Round = {
    seed: report.seed, store: report.store, commit, seconds: report.seconds,
    attempts: checked.counts.attempts, effects: checked.counts.effects, asks: checked.counts.asks, arrivedLate: checked.figures.arrivedLate,
    drained: report.drained, recoveredMs: report.recoveredMs, violations: checked.violations,
    folder: checked.violations.length === 0 ? null : folder,
  }
  const invariants: Record<string, number | string> = { ...totals.invariants }
  for (const [name, found] of Object.entries(checked.invariants)) {
    const before = invariants[name]
    invariants[name] = typeof before === 'number' && typeof found === 'number' ? before + found : typeof before === 'number' ? before : found
  }
  return {
    rounds: [...totals.rounds, round],
    fired: addFired(totals.fired, report.fired),
    invariants,
    provable: together(totals.provable, times.provable),
    notProvable: together(totals.notProvable, times.notProvable),
  }
}

const together = (one: SettleTimes, other: SettleTimes): SettleTimes => ({
  fromLossMs: [...one.fromLossMs, ...other.fromLossMs],
  fromHealingMs: [...one.fromHealingMs, ...other.fromHealingMs],
  unknownLeft: one.unknownLeft + other.unknownLeft,
  escalated: one.escalated + other.escalated,
})

export const attemptsOf = (totals: Totals): number => totals.rounds.reduce((sum, { attempts }) => sum + attempts, 0)
export const violationsOf = (totals: Totals): readonly Violation[] => totals.rounds.flatMap(({ violations }) => violations)

/** For people: how long what was unknown stayed so. */
export function timesLine ({ fromLossMs, fromHealingMs, unknownLeft, escalated }: SettleTimes): string {
  const seconds = (values: readonly number[]): string =>
    values.length === 0 ? 'none' : `p50 ${(percentile(values, 0.5)! / 1_000).toFixed(1)} s, p99 ${(percentile(values, 0.99)! / 1_000).toFixed(1)} s (${values.length})`
  return `from the loss of the answer ${seconds(fromLossMs)}; of those open at healing, from then ${seconds(fromHealingMs)}; ${unknownLeft} left, ${escalated} waiting for a person`
}

const timesFigures = ({ fromLossMs, fromHealingMs, unknownLeft, escalated }: SettleTimes): object => ({
  settled: fromLossMs.length,
  from_loss_ms: { p50: percentile(fromLossMs, 0.5), p99: percentile(fromLossMs, 0.99) },
  open_at_healing: fromHealingMs.length,
  from_healing_ms: { p50: percentile(fromHealingMs, 0.5), p99: percentile(fromHealingMs, 0.99) },
  unknown_left: unknownLeft,
  waiting_for_a_person: escalated,
})

/** What is published. */
export function figuresOf (totals: Totals): object {
  const attempts = attemptsOf(totals)
  const violations = violationsOf(totals)
  const recovered = totals.rounds.flatMap(({ recoveredMs }) => recoveredMs === null ? [] : [recoveredMs])
  return {
    attempts,
    effects: totals.rounds.reduce((sum, { effects }) => sum + effects, 0),
    asks_of_agents: totals.rounds.reduce((sum, { asks }) => sum + asks, 0),
    violations: violations.length,
    arrived_late: totals.rounds.reduce((sum, { arrivedLate }) => sum + arrivedLate, 0),
    bound_95: attempts === 0 || violations.length > 0 ? null : 3 / attempts,
    invariants: totals.invariants,
    rounds: totals.rounds.map(({ seed, store, commit, seconds, attempts, drained, violations }) => ({ seed, store, commit, seconds, attempts, drained, violations: violations.length })),
    unknown: { absence_provable: timesFigures(totals.provable), absence_not_provable: timesFigures(totals.notProvable) },
    recovery_after_healing_ms: { p50: percentile(recovered, 0.5), max: percentile(recovered, 1), rounds_without: totals.rounds.length - recovered.length },
    fired: grouped(totals.fired),
  }
}

/** By name, in order. */
const grouped = (fired: Fired): Fired => Object.fromEntries(Object.entries(fired).sort(([one], [other]) => one < other ? -1 : 1))
