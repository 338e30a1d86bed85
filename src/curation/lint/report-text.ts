// The report for people: each finding with the lines around it, then a score a line.
import { averageOf, openFindings, type Finding, type Report, type ScoredAction } from './report.ts'

export interface Paint {
  readonly bold: string
  readonly dim: string
  readonly red: string
  readonly yellow: string
  readonly green: string
  readonly cyan: string
  readonly reset: string
}

export const PLAIN: Paint = Object.freeze({ bold: '', dim: '', red: '', yellow: '', green: '', cyan: '', reset: '' })
export const COLOURED: Paint = Object.freeze({
  bold: '\x1b[1m', dim: '\x1b[2m', red: '\x1b[31m', yellow: '\x1b[33m', green: '\x1b[32m', cyan: '\x1b[36m', reset: '\x1b[0m',
})

/** Columns of a line of a file that are shown. */
const WIDTH = 120

/** @param safe makes what others wrote harmless for a terminal; the colours are added behind it */
export function reportText (report: Report, paint: Paint, safe: (text: string) => string): readonly string[] {
  const accepted = report.findings.length - openFindings(report).length
  return [
    ...openFindings(report).flatMap(finding => [...framed(finding, report, paint, safe), '']),
    ...acceptedLines(report, paint, safe),
    ...report.actions.map(action => scoreLine(action, report, paint, safe)),
    '',
    summary(report, accepted),
  ]
}

function framed (finding: Finding, report: Report, paint: Paint, safe: (text: string) => string): readonly string[] {
  const { bold, dim, cyan, reset } = paint
  const { file, line, column, severity, rule, message, fix } = finding
  const head = `${bold}${safe(file)}:${line}:${column}${reset} ${colourOf(severity, paint)}${severity}${reset} ${cyan}${rule}${reset}`
  const lines = report.texts.get(file)?.split(/\r?\n/)
  const told = `  ${safe(message)}${fix === null ? '' : `${dim} (--fix repairs it)${reset}`}`
  if (lines === undefined || lines[line - 1] === undefined) return [head, told]
  const gutter = String(line).length
  const shownFrom = Math.max(0, column - 1 - (WIDTH - 20))
  const show = (number: number): string => {
    const text = lines[number - 1]!.slice(shownFrom, shownFrom + WIDTH)
    return `  ${dim}${String(number).padStart(gutter)} |${reset} ${safe(text)}`.trimEnd()
  }
  // The mark stands under what is shown, so it is as far in as the shown text is wide.
  const before = safe(lines[line - 1]!.slice(shownFrom, column - 1)).length
  const mark = `  ${dim}${' '.repeat(gutter)} |${reset} ${' '.repeat(before)}${colourOf(severity, paint)}^${reset}`
  return [head, told, ...(line > 1 ? [show(line - 1)] : []), show(line), mark]
}

const colourOf = (severity: Finding['severity'], paint: Paint): string =>
  severity === 'error' ? paint.red : severity === 'warning' ? paint.yellow : paint.cyan

function acceptedLines (report: Report, { dim, reset }: Paint, safe: (text: string) => string): readonly string[] {
  const lines = report.findings.filter(({ accepted }) => accepted !== null)
    .map(({ file, line, rule, accepted }) => `${dim}accepted${reset} ${safe(file)}:${line} ${rule}: ${safe(accepted!)}`)
  return lines.length === 0 ? [] : [...lines, '']
}

function scoreLine ({ action, score, grade, cappedBy }: ScoredAction, report: Report, paint: Paint, safe: (text: string) => string): string {
  const width = Math.max(...report.actions.map(one => one.action.length))
  const colour = grade === 'A' ? paint.green : grade === 'F' ? paint.red : paint.yellow
  const why = cappedBy.length === 0 ? '' : `  ${paint.dim}held down by ${cappedBy.join(', ')}${paint.reset}`
  return `${colour}${String(score).padStart(3)} ${grade}${paint.reset}  ${why === '' ? safe(action) : safe(action).padEnd(width)}${why}`
}

function summary (report: Report, accepted: number): string {
  const { actions } = report
  const average = averageOf(report)
  const counted = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`
  const fixable = openFindings(report).filter(({ fix }) => fix !== null).length
  return [
    counted(actions.length, 'action'),
    ...(average === null ? [] : [`average ${average}`]),
    counted(report.findings.length - accepted, 'finding'),
    ...(accepted === 0 ? [] : [`${accepted} accepted`]),
    ...(fixable === 0 ? [] : [`${fixable} for --fix`]),
  ].join(', ')
}
