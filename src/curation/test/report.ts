// A rehearsal as text for people, as TAP (version 14), as JUnit's XML and as JSON.
import type { ActionReport, CaseResult } from './finding.ts'

export interface Report {
  readonly ok: boolean
  readonly totals: Totals
  /** The libraries that judged. */
  readonly judges: { readonly [name: string]: string }
  readonly actions: readonly ActionReport[]
}

export interface Totals {
  readonly actions: number
  readonly cases: number
  readonly failed: number
  /** Calls that had to be refused, and what they sent all together. */
  readonly refused: number
  readonly sent_by_refused: number
  readonly boundaries: number
  readonly gaps: number
  readonly known_gaps: number
}

/** @param gapless a boundary that no refused call crosses, and that is not known, is a finding too */
export function reportOf (actions: readonly ActionReport[], judges: Report['judges'], gapless: boolean): Report {
  const cases = actions.flatMap(action => action.cases)
  const refused = cases.filter(one => one.refused)
  const gaps = actions.flatMap(action => action.gaps)
  const failed = cases.filter(one => one.fault !== null).length
  const open = gaps.filter(gap => gap.reason === null).length
  return {
    ok: failed === 0 && !(gapless && open > 0),
    totals: {
      actions: actions.length,
      cases: cases.length,
      failed,
      refused: refused.length,
      sent_by_refused: refused.filter(one => one.group === 'arguments').reduce((sum, one) => sum + one.requests, 0),
      boundaries: actions.reduce((sum, action) => sum + action.boundaries, 0),
      gaps: open,
      known_gaps: gaps.length - open,
    },
    judges,
    actions,
  }
}

export interface Colours {
  readonly good: string
  readonly bad: string
  readonly dim: string
  readonly reset: string
}

export const PLAIN: Colours = { good: '', bad: '', dim: '', reset: '' }
export const ANSI: Colours = { good: '\x1b[32m', bad: '\x1b[31m', dim: '\x1b[2m', reset: '\x1b[0m' }

export function asText (report: Report, { good, bad, dim, reset }: Colours): string {
  const lines = report.actions.flatMap(action => {
    const failed = action.cases.filter(one => one.fault !== null)
    const mark = failed.length === 0 ? `${good}ok${reset}` : `${bad}not ok${reset}`
    const crossed = action.boundaries - action.gaps.length
    return [
      `${mark}  ${action.action}  ${dim}${action.cases.length} cases, ${crossed} of ${action.boundaries} boundaries${reset}`,
      ...failed.map(one => `    ${bad}${one.name}${reset}: ${one.fault} ${dim}(answered ${one.answered}, ${one.requests} requests)${reset}`),
      ...action.gaps.map(
        gap => `    ${dim}${gap.reason === null ? 'gap' : 'known gap'} ${gap.boundary}${gap.reason === null ? '' : `: ${gap.reason}`}${reset}`
      ),
      ...action.notes.map(note => `    ${dim}${note}${reset}`),
    ]
  })
  const { totals } = report
  return [...lines, '', summaryOf(totals)].join('\n')
}

function summaryOf (totals: Totals): string {
  return `${totals.cases} cases of ${totals.actions} actions, ${totals.failed} not as they should be; ${totals.refused} had to be refused; ` +
    `refused arguments sent ${totals.sent_by_refused} requests; ` +
    `${totals.gaps} gaps and ${totals.known_gaps} known ones in ${totals.boundaries} boundaries`
}

/** https://testanything.org/tap-version-14-specification.html */
export function asTap (report: Report): string {
  const cases = report.actions.flatMap(action => action.cases.map(one => [action, one] as const))
  const lines = ['TAP version 14', `1..${cases.length}`]
  for (const [index, [action, one]] of cases.entries()) {
    lines.push(`${one.fault === null ? 'ok' : 'not ok'} ${index + 1} - ${tapText(`${action.action}: ${one.name}`)}`)
    if (one.fault !== null) {
      lines.push(
        '  ---', `  message: ${JSON.stringify(one.fault)}`, `  answered: ${JSON.stringify(one.answered)}`, `  requests: ${one.requests}`, '  ...'
      )
    }
  }
  for (const action of report.actions) {
    for (const { boundary, reason } of action.gaps) {
      lines.push(tapText(`# ${reason === null ? 'gap' : 'known gap'} ${action.action} ${boundary}${reason === null ? '' : `: ${reason}`}`, ''))
    }
  }
  lines.push(...Object.entries(report.judges).map(([name, version]) => `# judged by ${name} ${version}`), `# ${summaryOf(report.totals)}`)
  return lines.join('\n')
}

/** `#` begins a directive, and a line is a test. */
const tapText = (text: string, hash = '\\#'): string => {
  const line = text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ')
  return hash === '' ? line : line.replaceAll('\\', '\\\\').replaceAll('#', hash)
}

export function asJunit (report: Report): string {
  const suites = report.actions.map(action => {
    const failures = action.cases.filter(one => one.fault !== null).length
    const cases = action.cases.map(one => junitCase(action.action, one))
    const properties = action.gaps.map(gap => `      <property name="${gap.reason === null ? 'gap' : 'known_gap'}" value="${xml(gap.boundary)}"/>`)
    return [
      `  <testsuite name="${xml(action.action)}" tests="${action.cases.length}" failures="${failures}" errors="0" skipped="0">`,
      ...properties.length === 0 ? [] : ['    <properties>', ...properties, '    </properties>'],
      ...cases,
      '  </testsuite>',
    ].join('\n')
  })
  const { cases, failed } = report.totals
  return [
    '<?xml version="1.0" encoding="UTF-8"?>', `<testsuites name="aval test" tests="${cases}" failures="${failed}">`, ...suites, '</testsuites>',
  ].join('\n')
}

function junitCase (action: string, one: CaseResult): string {
  const head = `    <testcase classname="${xml(action)}.${one.group}" name="${xml(one.name)}"`
  if (one.fault === null) return `${head}/>`
  const answered = xml(`answered ${one.answered}; ${one.requests} requests`)
  return `${head}>\n      <failure message="${xml(one.fault)}">${answered}</failure>\n    </testcase>`
}

/** XML 1.0 has no way to write most control characters. */
const xml = (text: string): string => text
  .replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd')
  .replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;').replaceAll('\n', '&#10;')
