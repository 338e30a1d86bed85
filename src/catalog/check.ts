// Business rules of a sheet: what must hold of the facts, and what the answer is where it does not.
import { ERRORS } from '../errors.ts'
import type { Bindings, Check } from './catalog.ts'
import type { Expression, Variables } from './expression.ts'
import type { Reporter } from './faults.ts'
import { checkCode, compileConditionAt } from './outcome.ts'
import type { CheckSheet } from './sheet.ts'

export interface CompiledCheck {
  readonly check: Check
  readonly expression: Expression
}

const TABLE_CODES = new Set(['OUT_OF_SCOPE'])

export function compileChecks (
  checks: readonly CheckSheet[], variables: Variables, write: boolean, messages: ReadonlyMap<string, string>, report: Reporter
): readonly CompiledCheck[] {
  return checks.flatMap((sheet, index) => {
    const at = `/checks/${index}`
    const condition = compileConditionAt(sheet.require, `${at}/require`, variables, report)
    checkForm(sheet, at, write, messages, report)
    if (condition === null) return []
    const check = Object.freeze({
      text: sheet.require,
      holds: (bindings: Bindings) => condition.holds(bindings),
      otherwise: Object.freeze(otherwise(sheet, messages)),
    })
    return [{ check, expression: condition.expression }]
  })
}

function checkForm (sheet: CheckSheet, at: string, write: boolean, messages: ReadonlyMap<string, string>, report: Reporter): void {
  if (sheet.error !== undefined && sheet.outcome !== undefined) {
    report.faultAtKey(`${at}/outcome`, 'check-two-ends', 'a check has error or outcome, not both')
  }
  if (sheet.error === undefined && (sheet.message !== undefined || sheet.retryable !== undefined)) {
    report.faultAtKey(at, 'check-two-ends', 'message and retryable belong to an error')
  }
  if (sheet.outcome !== undefined && !write) {
    report.fault(`${at}/outcome`, 'outcome-not-for-observation', 'an observation has no desired state')
  }
  if (sheet.error !== undefined) checkCode(sheet.error, `${at}/error`, TABLE_CODES, messages, report)
}

/** A rule with neither error nor outcome is about whose object it is, which only a read could tell. */
function otherwise (sheet: CheckSheet, messages: ReadonlyMap<string, string>): Check['otherwise'] {
  if (sheet.outcome !== undefined) return { kind: 'settle', outcome: sheet.outcome }
  const code = sheet.error ?? 'OUT_OF_SCOPE'
  const message = sheet.message ?? messages.get(code) ?? ERRORS.OUT_OF_SCOPE.message
  return { kind: 'refuse', code, message, retryable: sheet.retryable ?? false }
}
