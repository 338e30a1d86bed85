// Findings of a comparison as text.
import { CLASSES, MEANINGS, type Finding, type Impact } from './finding.ts'

export interface DiffColours {
  readonly bad: string
  readonly warn: string
  readonly dim: string
  readonly bold: string
  readonly reset: string
}

export const PLAIN_DIFF: DiffColours = { bad: '', warn: '', dim: '', bold: '', reset: '' }
export const ANSI_DIFF: DiffColours = { bad: '\x1b[31m', warn: '\x1b[33m', dim: '\x1b[2m', bold: '\x1b[1m', reset: '\x1b[0m' }

export function diffText (findings: readonly Finding[], colours: DiffColours): string {
  if (findings.length === 0) return 'nothing differs'
  const { bad, warn, dim, bold, reset } = colours
  const shade: { readonly [impact in Impact]: string } = { breaking: bad, risky: warn, compatible: '' }
  const lines: string[] = []
  for (const name of CLASSES) {
    const own = findings.filter(finding => finding.class === name)
    if (own.length === 0) continue
    lines.push(`${bold}${name}${reset}  ${dim}${MEANINGS[name]}${reset}`)
    for (const { impact, subject, at, message, reaches } of own) {
      const mark = impact === 'compatible' ? '' : ` ${shade[impact]}${impact}${reset}`
      const reached = reaches === undefined || reaches.length === 0
        ? ''
        : ` ${dim}[${reaches.slice(0, 3).join(', ')}${reaches.length > 3 ? ` and ${reaches.length - 3} more` : ''}]${reset}`
      lines.push(`  ${subject}${at === '' ? '' : ` ${at}`}:${mark} ${message}${reached}`)
    }
  }
  const counts = CLASSES.map(name => [name, findings.filter(finding => finding.class === name).length] as const).filter(([, count]) => count > 0)
  const breaking = findings.filter(finding => finding.impact === 'breaking').length
  return [
    ...lines, '', `${findings.length} changes, ${breaking} breaking: ${counts.map(([name, count]) => `${count} ${name}`).join(', ')}`,
  ].join('\n')
}

export function countsOf (findings: readonly Finding[]): { readonly [name: string]: number } {
  const counts = CLASSES.map(name => [name, findings.filter(finding => finding.class === name).length] as const)
  return Object.fromEntries([...counts, ['total', findings.length], ['breaks', findings.filter(finding => finding.impact === 'breaking').length]])
}
