// The report in SARIF 2.1.0, for code scanning. What was accepted is there as suppressed in source, with its reason.
import type { JsonObject } from '../../catalog/catalog.ts'
import type { Finding, Report } from './report.ts'
import { RULES } from './rules.ts'

export function reportSarif (report: Report): JsonObject {
  const rules = rulesOf(report)
  const ids = rules.map(({ id }) => id)
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [{
      tool: { driver: { name: 'aval lint', rules: rules.map(rule => ({ ...rule })) } },
      columnKind: 'utf16CodeUnits',
      results: report.findings.map(finding => resultOf(finding, ids.indexOf(finding.rule))),
      properties: { scores: Object.fromEntries(report.actions.map(({ action, score }) => [action, score])) },
    }],
  }
}

function resultOf ({ rule, severity, file, line, column, message, actions, accepted }: Finding, ruleIndex: number): JsonObject {
  return {
    ruleId: rule,
    ruleIndex,
    level: severity,
    message: { text: message },
    locations: [{
      physicalLocation: { artifactLocation: { uri: encodeURI(file) }, region: { startLine: line, startColumn: column } },
      logicalLocations: actions.map(action => ({ fullyQualifiedName: action, kind: 'resource' })),
    }],
    ...(accepted !== null && { suppressions: [{ kind: 'inSource', justification: accepted }] }),
  }
}

/** Those of the table, and whatever the load refused. */
function rulesOf (report: Report): ReadonlyArray<JsonObject & { readonly id: string }> {
  const known = RULES.map(({ id, severity, says, why, weighs }) => ({
    id,
    shortDescription: { text: says },
    fullDescription: { text: why.replaceAll('\n', ' ') },
    defaultConfiguration: { level: severity },
    properties: { category: weighs.category },
  }))
  const others = new Set(report.findings.map(({ rule }) => rule).filter(rule => !RULES.some(({ id }) => id === rule)))
  return [...known, ...[...others].sort().map(id => ({
    id, shortDescription: { text: 'The sheets are refused at load.' }, defaultConfiguration: { level: 'error' },
  }))]
}
