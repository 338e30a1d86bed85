// What an answer means: the rules of the sheet, in order, then the default table that README gives. Nothing here invents an outcome: where evidence is
// missing it is `unknown`, and says what is missing.
import { ERRORS, isErrorCode, type ErrorCode } from '../errors.ts'
import type { Answer, Bindings, Json, Outcome, Verdict } from './catalog.ts'
import { compileCondition, ExpressionError, type Condition, type Expression, type Extra, type Variables } from './expression.ts'
import type { Reporter } from './faults.ts'
import { retryAfterSeconds } from './retry-after.ts'
import type { OutcomeRuleSheet } from './sheet.ts'
import { compileTemplate, type Template } from './template.ts'
import { COMPLETED, unknownFor } from './verdict.ts'

export interface OutcomeRule {
  readonly text: string
  readonly condition: Condition
  readonly outcome: Outcome
  readonly code: string | null
  readonly message: string | null
  readonly retryable: boolean | null
  readonly reference: Template | null
  readonly result: Template | null
}

export interface RuleContext {
  readonly write: boolean
  /** A look-up is declared, so that something can still be learned. */
  readonly resolvable: boolean
  /** Messages of the sheet's own codes. */
  readonly messages: ReadonlyMap<string, string>
  readonly hasResult: boolean
}

/** Codes of the table that a sheet's rule may give. */
const TABLE_CODES = new Set<string>([
  'CREDENTIAL_REFUSED', 'UPSTREAM_NOT_FOUND', 'UPSTREAM_CONFLICT', 'UPSTREAM_REJECTED', 'UPSTREAM_RATE_LIMITED', 'UPSTREAM_ERROR', 'VERSION_CONFLICT',
])

export function compileRules (
  rules: readonly OutcomeRuleSheet[], at: string, variables: Variables, context: RuleContext, report: Reporter
): readonly OutcomeRule[] {
  return rules.flatMap((rule, index) => compileRule(rule, `${at}/${index}`, variables, context, report) ?? [])
}

function compileRule (rule: OutcomeRuleSheet, at: string, variables: Variables, context: RuleContext, report: Reporter): OutcomeRule | null {
  checkRule(rule, at, context, report)
  const condition = compileConditionAt(rule.when, `${at}/when`, variables, report)
  const reference = rule.reference === undefined ? null : compileTemplate(rule.reference, `${at}/reference`, variables, report)
  const result = rule.result === undefined ? null : compileTemplate(rule.result, `${at}/result`, variables, report)
  if (condition === null) return null
  return {
    text: rule.when,
    condition,
    outcome: rule.outcome,
    code: rule.outcome === 'rejected' ? rule.error ?? 'UPSTREAM_REJECTED' : null,
    message: rule.message ?? null,
    retryable: rule.retryable ?? null,
    reference,
    result,
  }
}

/** null where there was a fault. */
export function compileConditionAt (text: string, pointer: string, variables: Variables, report: Reporter): Condition | null {
  try {
    return compileCondition(text, variables)
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error
    report.fault(pointer, error.rule, error.message, error.offset)
    return null
  }
}

function checkRule (rule: OutcomeRuleSheet, at: string, context: RuleContext, report: Reporter): void {
  const { outcome } = rule
  const only = (field: 'error' | 'message' | 'retryable' | 'reference' | 'result', outcomes: readonly Outcome[]): void => {
    if (rule[field] !== undefined && !outcomes.includes(outcome)) {
      report.faultAtKey(`${at}/${field}`, 'outcome-field', `${field} says nothing beside ${outcome}`)
    }
  }
  only('error', ['rejected'])
  only('message', ['rejected'])
  only('retryable', ['rejected'])
  only('reference', ['pending', 'unknown'])
  only('result', ['completed', 'already_in_desired_state'])
  if (rule.result !== undefined && !context.hasResult) {
    report.faultAtKey(`${at}/result`, 'result-without-schema', 'the sheet has no result: whose schema could hold this')
  }
  if (!context.write && (outcome === 'unknown' || outcome === 'already_in_desired_state')) {
    report.fault(`${at}/outcome`, 'outcome-not-for-observation', `an observation cannot be ${outcome}`)
  }
  if (context.write && outcome === 'pending' && !context.resolvable) {
    report.fault(`${at}/outcome`, 'pending-without-lookup', 'nothing would ever end a pending attempt: declare a lookup')
  }
  if (rule.error !== undefined) checkCode(rule.error, `${at}/error`, TABLE_CODES, context.messages, report)
}

/** A code is one of the table that fits, or one of the sheet that has a message. */
export function checkCode (
  code: string, pointer: string, fromTable: ReadonlySet<string>, messages: ReadonlyMap<string, string>, report: Reporter
): void {
  if (isErrorCode(code)) {
    if (!fromTable.has(code)) {
      report.fault(pointer, 'error-code-reserved', `${code} belongs to the broker; here: ${[...fromTable].join(', ')}, or a code of your own`)
    }
  } else if (!messages.has(code)) {
    report.fault(pointer, 'error-message-missing', `the sheet never says what ${code} means: give it a message`)
  }
}

export const expressionsOf = (rules: readonly OutcomeRule[]): readonly Expression[] =>
  rules.flatMap(rule => [rule.condition.expression, ...rule.reference?.expressions ?? [], ...rule.result?.expressions ?? []])

export interface Judging {
  readonly write: boolean
  /** A repeat is harmless upstream (`same_key`, `natural`). */
  readonly harmless: boolean
  readonly resolvable: boolean
  /** The look-up knows this attempt from all others. */
  readonly ownId: boolean
  /** A success of the operation may be without a body. */
  readonly bodiless: boolean
  readonly messages: ReadonlyMap<string, string>
  /** Makes what a rule gives fit the schema of the result; null where it does not. */
  finish (value: Json): Json
}

/** For the answer to the one send. Never throws. */
export function judgeAnswer (rules: readonly OutcomeRule[], bindings: Bindings, judging: Judging): Verdict {
  const response = bindings.response
  if (response === null) return unknownFor('there is no answer')
  const success = response.status >= 200 && response.status <= 299
  for (const rule of rules) {
    const matched = matches(rule, bindings)
    if (matched === 'fault' && judging.write && success) return unknownFor(`a rule could not be evaluated: ${rule.text}`)
    if (matched === true) return verdictOf(rule, bindings, judging)
  }
  return judging.write ? defaultForWrite(rules, response, bindings, judging) : defaultForObservation(response, bindings)
}

/** For the answer to a look-up: no rule, no evidence; a rule that fails does not match. Never throws. */
export function judgeLookup (rules: readonly OutcomeRule[], bindings: Bindings, extra: Extra, judging: Judging): Verdict | null {
  for (const rule of rules) {
    if (matches(rule, bindings, extra) === true) return verdictOf(rule, bindings, judging, extra)
  }
  return null
}

function matches (rule: OutcomeRule, bindings: Bindings, extra?: Extra): boolean | 'fault' {
  try {
    return rule.condition.holds(bindings, extra)
  } catch {
    return 'fault'
  }
}

function verdictOf (rule: OutcomeRule, bindings: Bindings, judging: Judging, extra?: Extra): Verdict {
  const response = bindings.response!
  const reference = evaluated(rule.reference, bindings, extra)
  switch (rule.outcome) {
    case 'completed':
    case 'already_in_desired_state': {
      const result = rule.result === null ? undefined : evaluated(rule.result, bindings, extra)
      return { ...COMPLETED, outcome: rule.outcome, result: result === undefined ? rule.result === null ? undefined : null : judging.finish(result) }
    }
    case 'pending':
      // Without what the look-up needs, nothing would ever be learned: that is missing evidence, not a promise.
      if (rule.reference !== null && reference === undefined && judging.write) {
        return unknownFor(`the reference of a pending call could not be read: ${rule.text}`)
      }
      return { ...COMPLETED, outcome: 'pending', reference: reference ?? null, retryAfterSeconds: retryAfterSeconds(response, bindings.now) }
    case 'unknown': return { ...unknownFor(`the sheet says so: ${rule.text}`), reference: reference ?? null }
    case 'rejected': return rejected(rule.code!, response, bindings, judging, rule)
  }
}

/** undefined where it is absent or fails. */
function evaluated (template: Template | null, bindings: Bindings, extra?: Extra): Json | undefined {
  try {
    return template?.evaluate(bindings, extra)
  } catch {
    return undefined
  }
}

function defaultForWrite (rules: readonly OutcomeRule[], response: Answer, bindings: Bindings, judging: Judging): Verdict {
  const { status } = response
  if (status === 202) {
    if (!judging.resolvable) return unknownFor('the upstream accepted the call (202) and no look-up is declared')
    return { ...COMPLETED, outcome: 'pending', retryAfterSeconds: retryAfterSeconds(response, bindings.now) }
  }
  if (status >= 200 && status <= 299) {
    if (rules.some(rule => rule.outcome === 'completed')) return unknownFor(`the upstream answered ${status}, and no rule of the sheet speaks of what it said`)
    const bodiless = status === 204 || status === 205
    return bodiless && !judging.bodiless ? unknownFor(`the upstream answered ${status}, without the body that its document promises`) : COMPLETED
  }
  if (status < 400) return unknownFor(`the upstream answered ${status}, which is never followed and may mean that it is done`)
  if (status === 408 || status >= 500) return unknownFor(`the upstream answered ${status}, which does not say whether the call had an effect`)
  const refusal = rejected(codeOf(status), response, bindings, judging)
  const doubtful = status === 404 || status === 409 || status === 410 || status === 412
  return doubtful && judging.ownId ? { ...refusal, lookFirst: true } : refusal
}

function defaultForObservation (response: Answer, bindings: Bindings): Verdict {
  const { status } = response
  if (status >= 200 && status <= 299) return status === 202 ? rejected('RESULT_INVALID', response, bindings, null) : COMPLETED
  return rejected(status < 400 ? 'UPSTREAM_REJECTED' : codeOf(status), response, bindings, null)
}

function codeOf (status: number): ErrorCode {
  switch (status) {
    case 401: case 403: return 'CREDENTIAL_REFUSED'
    case 404: case 410: return 'UPSTREAM_NOT_FOUND'
    case 409: case 412: return 'UPSTREAM_CONFLICT'
    case 425: case 429: return 'UPSTREAM_RATE_LIMITED'
    default: return status === 408 || status >= 500 ? 'UPSTREAM_ERROR' : 'UPSTREAM_REJECTED'
  }
}

/** @param judging null for observations, whose repeats are always harmless */
function rejected (code: string, response: Answer, bindings: Bindings, judging: Judging | null, rule?: OutcomeRule): Verdict {
  const row = isErrorCode(code) ? ERRORS[code] : null
  const harmless = judging === null || !judging.write || judging.harmless
  const retryable = rule?.retryable ?? (row?.retryable === true && harmless)
  const waits = response.status === 425 || response.status === 429 || response.status === 503
  return {
    ...COMPLETED,
    outcome: 'rejected',
    code,
    message: rule?.message ?? row?.message ?? judging?.messages.get(code) ?? ERRORS.UPSTREAM_REJECTED.message,
    retryable,
    retryAfterSeconds: waits ? retryAfterSeconds(response, bindings.now) : null,
  }
}
