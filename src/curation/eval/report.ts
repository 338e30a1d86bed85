// A score as text, and two scores side by side.
import type { Score } from './score.ts'

/** Of each metric, whether more of it is better. */
const METRICS: ReadonlyArray<readonly [string, 'more' | 'less', (score: Score) => number]> = [
  ['success', 'more', score => score.success],
  ['omission', 'less', score => overallOmission(score)],
  ['malformed', 'less', score => score.rates.malformed],
  ['invented', 'less', score => score.rates.invented],
  ['unknown action', 'less', score => score.rates.unknown_action],
  ['wrong arguments', 'less', score => score.rates.wrong_arguments],
  ['premature', 'less', score => score.premature],
]

export interface Comparison {
  readonly metric: string
  readonly before: number
  readonly after: number
  readonly verdict: 'better' | 'same' | 'worse'
}

export function compareScores (before: Score, after: Score): readonly Comparison[] {
  const rows = METRICS.map(([metric, good, of]): Comparison => compared(metric, of(before), of(after), good))
  const names = [...new Set([...Object.keys(before.omission), ...Object.keys(after.omission)])].sort()
  return [...rows, ...names.map(name => compared(`omission of ${name}`, before.omission[name]?.rate ?? 0, after.omission[name]?.rate ?? 0, 'less'))]
}

function compared (metric: string, before: number, after: number, good: 'more' | 'less'): Comparison {
  const verdict = before === after ? 'same' : (after > before) === (good === 'more') ? 'better' : 'worse'
  return { metric, before, after, verdict }
}

function overallOmission (score: Score): number {
  const all = Object.values(score.omission)
  const expected = all.reduce((sum, one) => sum + one.expected, 0)
  return expected === 0 ? 0 : Math.round(all.reduce((sum, one) => sum + one.omitted, 0) / expected * 10_000) / 10_000
}

const percent = (rate: number): string => `${(rate * 100).toFixed(1)} %`

export function scoreText (score: Score): string {
  const lines = [
    `${score.clean} of ${score.tasks} tasks clean (${percent(score.success)}), ${score.calls} calls`,
    ...METRICS.slice(1).map(([metric, , of]) => `  ${metric.padEnd(16)} ${percent(of(score))}`),
    '',
    'expected → called',
    ...Object.entries(score.confusion).map(
      ([name, row]) => `  ${name}: ${Object.entries(row).map(([called, count]) => `${called} ${count}`).join(', ')}`
    ),
  ]
  if (score.findings.length === 0) return lines.join('\n')
  return [...lines, '', ...score.findings.map(({ task, fault, message }) => `${task}: ${fault} ${message}`)].join('\n')
}

export function comparisonText (rows: readonly Comparison[]): string {
  const width = Math.max(...rows.map(row => row.metric.length))
  return rows.map(
    ({ metric, before, after, verdict }) => `  ${metric.padEnd(width)}  ${percent(before).padStart(7)} → ${percent(after).padStart(7)}  ${verdict}`
  ).join('\n')
}
