// The report as commands of a GitHub Actions workflow, which shows each finding beside its line.
import { openFindings, type Report } from './report.ts'

const LEVELS = { error: 'error', warning: 'warning', note: 'notice' } as const

export function reportGithub (report: Report): readonly string[] {
  return openFindings(report).map(({ rule, severity, file, line, column, message }) =>
    `::${LEVELS[severity]} file=${property(file)},line=${line},col=${column},title=${property(rule)}::${data(message)}`)
}

const data = (text: string): string => text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
const property = (text: string): string => data(text).replaceAll(':', '%3A').replaceAll(',', '%2C')
