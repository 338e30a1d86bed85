// What one run found, for every way of printing it.
import type { Edit } from './edit.ts'
import type { Category, Severity } from './rule.ts'
import type { Score } from './score.ts'

export interface Finding {
  readonly rule: string
  readonly severity: Severity
  /** `load`: the set is refused; it is no matter of a score. */
  readonly category: Category | 'safety' | 'load'
  readonly file: string
  /** From 1; columns in UTF-16 code units. */
  readonly line: number
  readonly column: number
  readonly message: string
  /** Those that it lowers; none where it is about the set. */
  readonly actions: readonly string[]
  /** Why its owners accept it; then it lowers nothing. */
  readonly accepted: string | null
  readonly fix: Edit | null
}

export interface ScoredAction extends Score {
  readonly action: string
  readonly file: string
}

export interface Report {
  readonly actions: readonly ScoredAction[]
  /** By file, line, column and rule. */
  readonly findings: readonly Finding[]
  /** The text of each file, by the name that findings have for it. */
  readonly texts: ReadonlyMap<string, string>
}

/** Those that nobody has accepted. */
export const openFindings = (report: Report): readonly Finding[] => report.findings.filter(({ accepted }) => accepted === null)

/** Rounded down; null where there is nothing to score. */
export function averageOf (report: Report): number | null {
  const { actions } = report
  return actions.length === 0 ? null : Math.floor(actions.reduce((sum, { score }) => sum + score, 0) / actions.length)
}

export const lowestOf = (report: Report): number | null =>
  report.actions.length === 0 ? null : Math.min(...report.actions.map(({ score }) => score))
