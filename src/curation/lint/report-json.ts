// The report as one JSON value.
import type { JsonObject } from '../../catalog/catalog.ts'
import { averageOf, lowestOf, type Report } from './report.ts'

export function reportJson (report: Report, ok: boolean): JsonObject {
  return {
    ok,
    average: averageOf(report),
    lowest: lowestOf(report),
    actions: report.actions.map(({ action, file, score, grade, categories, cappedBy }) => ({
      action, file, score, grade, categories: { ...categories }, capped_by: cappedBy,
    })),
    findings: report.findings.map(({ rule, severity, category, file, line, column, message, actions, accepted, fix }) => ({
      rule, severity, category, file, line, column, message, actions, accepted, fixable: fix !== null,
    })),
  }
}
