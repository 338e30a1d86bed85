// What a person is shown of a call: the sentence of its effect and what is before and after it, computed from facts.
import { isObject, type Bindings, type Json, type ProposalTemplate } from './catalog.ts'
import type { Expression, Variables } from './expression.ts'
import type { Reporter } from './faults.ts'
import type { Sheet } from './sheet.ts'
import { parsePointer } from './openapi/pointer.ts'
import { compileSentence, compileTemplate } from './template.ts'

export interface CompiledProposal {
  readonly template: ProposalTemplate
  readonly expressions: readonly Expression[]
}

/** null where there was a fault. */
export function compileProposal (sheet: NonNullable<Sheet['proposal']>, variables: Variables, report: Reporter): CompiledProposal | null {
  const effect = compileSentence(sheet.effect, '/proposal/effect', variables, report)
  const expressions: Expression[] = [...effect?.expressions ?? []]
  const part = (name: 'before' | 'after' | 'facts'): ((bindings: Bindings) => Json) => {
    const value = sheet[name]
    const template = value === undefined ? null : compileTemplate(value, `/proposal/${name}`, variables, report)
    expressions.push(...template?.expressions ?? [])
    return bindings => template?.evaluate(bindings) ?? null
  }
  const [before, after, facts] = [part('before'), part('after'), part('facts')]
  const redact = Object.freeze([...sheet.redact ?? []])
  for (const [at, pointer] of redact.entries()) {
    if ([sheet.before, sheet.after].some(value => value !== undefined && mayHold(value, parsePointer(pointer) ?? []))) continue
    report.fault(`/proposal/redact/${at}`, 'redacts-nothing', `neither before nor after has ${pointer}, so nothing would be kept from whoever approves`)
  }
  return effect === null ? null : { template: Object.freeze({ effect, before, after, facts, redact }), expressions }
}

/** What an expression gives is known only when it is evaluated. */
function mayHold (value: Json, [token, ...rest]: readonly string[]): boolean {
  if (token === undefined) return true
  if (typeof value === 'string') return value.includes('${')
  if (Array.isArray(value)) return value[Number(token)] !== undefined && mayHold(value[Number(token)]!, rest)
  return isObject(value) && Object.hasOwn(value, token) && mayHold(value[token]!, rest)
}
