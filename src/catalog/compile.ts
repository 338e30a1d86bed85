// One sheet to one action: everything that can be decided before there is a call is decided here. The order is that of the sheet, because what
// a place may name is what was known before it.
import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import { compileChecks } from './check.ts'
import { checkConsequences } from './consequence.ts'
import {
  ExpressionFault, type Action, type Bindings, type Check, type Json, type JsonObject, type Lookup, type ProposalTemplate, type Read,
  type ScopeRule, type Target, type Upstream,
} from './catalog.ts'
import { checkExamples } from './examples.ts'
import { freezeDeep } from './freeze.ts'
import type { Expression, Variables } from './expression.ts'
import type { Reporter } from './faults.ts'
import { idempotencyOf, withKey } from './idempotency.ts'
import { checkSchema } from './input.ts'
import { checkAbsence, compileLookup, isLookup, type CompiledLookup } from './lookup.ts'
import { mayBeBodiless, type Operation } from './openapi/operation.ts'
import { compileConditionAt, compileRules, expressionsOf, judgeAnswer, type Judging, type RuleContext } from './outcome.ts'
import { effectiveConsent, type PolicySheet } from './policy.ts'
import { compileProposal } from './proposal-template.ts'
import { compileRequest, type CompiledRequest, type Provided } from './request.ts'
import { requirementOf } from './requirement.ts'
import type { SchemaCompiler } from './schema.ts'
import { ANY } from './shape.ts'
import { errorsOf, messagesOf } from './sheet-errors.ts'
import type { PartsSheet, Sheet } from './sheet.ts'
import { compileTemplate, compileTextTemplate, type Template } from './template.ts'
import { findUnused } from './unused.ts'
import { credentialParameter } from './upstream.ts'
import { durationMs, sizeBytes } from './units.ts'
import { Known } from './variables.ts'
import { compileFinish, compileView, type Finish } from './view.ts'
import { pointerTo } from './yaml-file.ts'

export interface CompileInput {
  readonly sheet: Sheet
  readonly upstream: Upstream
  /** The text of upstream.yaml as data, for the digest. */
  readonly upstreamSheet: JsonObject
  readonly policy: PolicySheet | null
  readonly schemas: SchemaCompiler
  readonly report: Reporter
  /** null where there was a fault, which has been reported. */
  operation (selector: string, pointer: string): Operation | null
}

const DEFAULT_MAX_BYTES = '32KiB'
const DEFAULT_MAX_ITEMS = 50

/** null where there was a fault. */
export function compileAction (input: CompileInput): Action | null {
  const before = input.report.count
  checkConsequences(input.sheet, input.report)
  const inputUsable = checkSchema(input.sheet.input, '/input', 'input', input.report)
  const compiling = new SheetCompiler(input)
  const action = compiling.compile(inputUsable, before)
  return input.report.count > before ? null : action
}

class SheetCompiler {
  readonly #in: CompileInput
  readonly #sheet: Sheet
  readonly #report: Reporter
  readonly #write: boolean
  readonly #consent: Action['consent']
  readonly #known: Known
  readonly #expressions: Expression[] = []
  readonly #operations: Operation[] = []
  readonly #messages: ReadonlyMap<string, string>

  constructor (input: CompileInput) {
    this.#in = input
    this.#sheet = input.sheet
    this.#report = input.report
    this.#write = input.sheet.effect !== 'observation'
    this.#consent = effectiveConsent(input.sheet.consent, input.sheet.effect, input.sheet.involves ?? [], input.policy)
    this.#known = new Known(this.#write, input.sheet.input)
    this.#messages = messagesOf(input.sheet)
  }

  compile (inputUsable: boolean, faultsBefore: number): Action | null {
    const sheet = this.#sheet
    const operation = this.#operation(sheet.operation, '/operation')
    const scope = this.#scope()
    const reads = this.#reads()
    const values = this.#values()
    const checks = this.#checks()
    const target = this.#target()
    const proposal = this.#proposal()
    const serialize = sheet.limits?.serialize === undefined ? null : this.#text(sheet.limits.serialize, '/limits/serialize')
    const request = operation === null ? null : this.#request(sheet.request ?? {}, operation)
    const finish = this.#finish()
    const outcome = operation === null ? null : this.#outcome(operation, finish)
    const view = operation === null || finish === null ? null : this.#view(operation, finish)
    const checker = inputUsable ? this.#input() : null
    checkExamples(sheet, checker, finish, this.#report)
    // What rests on all expressions can be judged only where all could be read.
    if (this.#report.count === faultsBefore && request !== null) {
      findUnused(sheet.input, this.#expressions, this.#report)
      if (outcome?.compiled != null) this.#absence(outcome.compiled, request)
    }
    if (request === null || outcome === null || checker === null) return null
    return Object.freeze({
      ...this.#described(),
      checkArguments: checker.check,
      scope: Object.freeze(scope),
      reads: Object.freeze(reads),
      values: Object.freeze(values),
      checks: Object.freeze(checks),
      target,
      versionGuarded: guards(request.expressions),
      proposal,
      request: request.template,
      judge: outcome.judge,
      view,
      lookup: outcome.lookup,
      limits: Object.freeze(this.#limits(serialize)),
    })
  }

  #described (): Pick<Action, 'id' | 'name' | 'version' | 'digest' | 'upstream' | 'title' | 'description' | 'effect' | 'write' | 'involves' |
    'sensitivity' | 'consent' | 'requirement' | 'rulesDigest' | 'retry' | 'repeatable' | 'strict' | 'inputSchema' | 'examples' | 'errors' | 'idempotency' | 'compensateWith' | 'sunset'> {
    const sheet = this.#sheet
    const involves = sheet.involves ?? []
    const requirement = requirementOf({ id: actionId(sheet), effect: sheet.effect, involves, consent: this.#consent }, this.#in.policy, this.#report)
    return {
      id: actionId(sheet),
      name: sheet.action,
      version: sheet.version,
      digest: digestOf({
        sheet: sheet as unknown as Json,
        upstream: this.#in.upstreamSheet,
        operations: this.#operations.map(operation => operation.digest),
      }),
      upstream: this.#in.upstream,
      title: sheet.title.trim(),
      description: sheet.description.trim(),
      effect: sheet.effect,
      write: this.#write,
      involves: Object.freeze([...involves]),
      sensitivity: sheet.sensitivity ?? 'internal',
      consent: this.#consent,
      requirement,
      rulesDigest: digestOf({ consent: this.#consent, requirement: requirement as unknown as Json }),
      retry: sheet.retry,
      repeatable: sheet.repeatable ?? false,
      strict: sheet.durability === 'strict',
      inputSchema: freezeDeep(sheet.input),
      examples: freezeDeep(sheet.examples ?? []),
      errors: freezeDeep(errorsOf(sheet)),
      idempotency: idempotencyOf(sheet),
      compensateWith: sheet.compensate_with ?? null,
      sunset: sheet.sunset === undefined ? null : Object.freeze({ after: sheet.sunset.after, use: sheet.sunset.use ?? null }),
    }
  }

  #operation (selector: string, pointer: string): Operation | null {
    const operation = this.#in.operation(selector, pointer)
    if (operation !== null) this.#operations.push(operation)
    return operation
  }

  #scope (): ScopeRule[] {
    const variables = this.#known.beforeReading()
    return (this.#sheet.scope ?? []).flatMap((rule, index) => {
      const condition = compileConditionAt(rule.require, `/scope/${index}/require`, variables, this.#report)
      if (condition === null) return []
      this.#expressions.push(condition.expression)
      const holds = (bindings: Bindings): boolean => {
        try {
          return condition.holds(bindings)
        } catch {
          return false
        }
      }
      return [Object.freeze({ text: rule.require, holds })]
    })
  }

  #reads (): Read[] {
    return Object.entries(this.#sheet.reads ?? {}).flatMap(([name, sheet]) => {
      const at = pointerTo('/reads', name)
      const operation = this.#operation(sheet.operation, `${at}/operation`)
      if (operation === null) {
        // What uses it is not at fault.
        this.#known.addUnknownRead(name)
        return []
      }
      if (!isReading(operation.method)) {
        this.#report.fault(`${at}/operation`, 'read-not-safe', `${operation.method} may change something; a read is GET or HEAD`)
      }
      const request = compileRequest(sheet, at, operation, this.#known.facts(), this.#provided('read'), this.#report)
      this.#known.addRead(name, operation, sheet.allow ?? [])
      if (request === null) return []
      this.#expressions.push(...request.expressions)
      return [Object.freeze({ name, request: request.template, allow: new Set(sheet.allow ?? []) })]
    })
  }

  #values (): Array<Action['values'][number]> {
    return Object.entries(this.#sheet.values ?? {}).flatMap(([name, value]) => {
      const pointer = pointerTo('/values', name)
      const template = this.#template(value, pointer, this.#known.facts())
      this.#known.addValue(name, template?.shape ?? ANY)
      if (template === null) return []
      return [Object.freeze({ name, evaluate: required(template) })]
    })
  }

  #checks (): readonly Check[] {
    const compiled = compileChecks(this.#sheet.checks ?? [], this.#known.facts(), this.#write, this.#messages, this.#report)
    this.#expressions.push(...compiled.map(({ expression }) => expression))
    return compiled.map(({ check }) => check)
  }

  #target (): Action['target'] {
    const { target } = this.#sheet
    if (target === undefined) return null
    const variables = this.#known.facts()
    const id = this.#text(target.id, '/target/id')
    const version = target.version === undefined ? null : this.#template(target.version, '/target/version', variables)
    this.#known.setTarget(version?.shape ?? ANY)
    if (id === null) return null
    return (bindings: Bindings): Target => {
      const name = id(bindings)
      if (name === '') throw new ExpressionFault('the id of the target is empty')
      return { type: target.type, id: name, version: version?.evaluate(bindings) ?? null }
    }
  }

  #proposal (): ProposalTemplate | null {
    const { proposal } = this.#sheet
    if (proposal === undefined) {
      if (this.#write && this.#consent !== 'none') {
        this.#report.faultAtKey('', 'proposal-missing', `consent is ${this.#consent}, and there is no proposal that a person could read`)
      }
      return null
    }
    const compiled = compileProposal(proposal, this.#known.facts(), this.#report)
    this.#expressions.push(...compiled?.expressions ?? [])
    return compiled?.template ?? null
  }

  #request (parts: PartsSheet, operation: Operation): CompiledRequest | null {
    const request = compileRequest(
      withKey(parts, this.#sheet, this.#report),
      '/request',
      operation,
      this.#known.request(),
      this.#provided(this.#write ? 'write' : 'read'),
      this.#report
    )
    if (request !== null) this.#expressions.push(...request.expressions)
    const credentials = this.#in.upstream.credentials
    if (this.#write && credentials.write === null && credentials.read !== null) {
      this.#report.fault('/upstream', 'credential-missing', 'upstream.yaml has a credential to read with and none to write with')
    }
    return request
  }

  #finish (): Finish | null {
    const { result } = this.#sheet
    if (result === undefined || !checkSchema(result.schema, '/result/schema', 'result', this.#report)) return null
    const limits = { maxBytes: sizeBytes(result.max_bytes ?? DEFAULT_MAX_BYTES), maxItems: result.max_items ?? DEFAULT_MAX_ITEMS }
    try {
      return compileFinish(result.schema, limits, this.#in.schemas)
    } catch (error) {
      this.#report.fault('/result/schema', 'schema-unsupported', messageOf(error))
      return null
    }
  }

  #view (operation: Operation, finish: Finish): Action['view'] {
    const { view, schema, max_bytes: maxBytes } = this.#sheet.result!
    const template = view === undefined ? null : this.#template(view, '/result/view', this.#known.answered(operation, 'success'))
    return compileView(freezeDeep(schema), template, finish, sizeBytes(maxBytes ?? DEFAULT_MAX_BYTES))
  }

  #outcome (operation: Operation, finish: Finish | null): {
    readonly judge: Action['judge'],
    readonly lookup: Lookup | null,
    readonly compiled: CompiledLookup | null,
  } {
    const sheet = this.#sheet
    const declared = isLookup(sheet.lookup) ? sheet.lookup : null
    const context: RuleContext = {
      write: this.#write,
      resolvable: declared !== null,
      messages: this.#messages,
      hasResult: sheet.result !== undefined,
    }
    const rules = compileRules(sheet.outcomes ?? [], '/outcomes', this.#known.answered(operation, 'any'), context, this.#report)
    this.#expressions.push(...expressionsOf(rules))
    const base = {
      write: this.#write,
      harmless: sheet.retry === 'same_key' || sheet.retry === 'natural',
      resolvable: declared !== null,
      bodiless: mayBeBodiless(operation),
      messages: this.#messages,
      finish: finishOrNull(finish),
    }
    const compiled = declared === null ? null : this.#lookup(declared, context, { ...base, ownId: true })
    const judging: Judging = { ...base, ownId: compiled?.lookup.ownId ?? false }
    return { judge: bindings => judgeAnswer(rules, bindings, judging), lookup: compiled?.lookup ?? null, compiled }
  }

  #lookup (sheet: Exclude<Sheet['lookup'], 'none' | undefined>, context: RuleContext, judging: Judging): CompiledLookup | null {
    const operation = this.#operation(sheet.operation, '/lookup/operation')
    if (operation === null) return null
    if (!isReading(operation.method)) {
      this.#report.fault('/lookup/operation', 'read-not-safe', `${operation.method} may change something; a look-up is GET or HEAD`)
    }
    const asked = compileRequest(sheet, '/lookup', operation, this.#known.lookup(), this.#provided('read'), this.#report)
    if (asked === null) return null
    const compiled = compileLookup(sheet, asked, operation, this.#known, context, judging, this.#report)
    if (compiled === null) return null
    this.#expressions.push(...compiled.expressions)
    return compiled
  }

  #absence (compiled: CompiledLookup, request: CompiledRequest): void {
    const referenced = (this.#sheet.outcomes ?? []).some(rule => rule.reference !== undefined)
    checkAbsence(compiled, request, this.#sheet.retry === 'natural', guards(request.expressions), referenced, this.#report)
  }

  #input (): ReturnType<SchemaCompiler['compile']> | null {
    try {
      return this.#in.schemas.compile(this.#sheet.input)
    } catch (error) {
      this.#report.fault('/input', 'schema-unsupported', messageOf(error))
      return null
    }
  }

  #limits (serialize: Action['limits']['serialize']): Action['limits'] {
    const limits = this.#sheet.limits ?? {}
    return {
      timeoutMs: limits.timeout === undefined ? this.#in.upstream.timeouts.totalMs : durationMs(limits.timeout),
      callsPerRun: limits.calls_per_run ?? null,
      refusalsPerRun: limits.refusals_per_run ?? null,
      concurrencyPerTenant: limits.concurrency_per_tenant ?? null,
      serialize,
    }
  }

  #template (value: Json, pointer: string, variables: Variables): Template | null {
    const template = compileTemplate(value, pointer, variables, this.#report)
    if (template !== null) this.#expressions.push(...template.expressions)
    return template
  }

  #text (value: string, pointer: string): ((bindings: Bindings) => string) | null {
    const template = compileTextTemplate(value, pointer, this.#known.facts(), this.#report)
    if (template !== null) this.#expressions.push(...template.expressions)
    return template
  }

  #provided (use: 'read' | 'write'): Provided {
    const { credentials, headers } = this.#in.upstream
    const own = credentialParameter(credentials[use])
    const parameters = new Set(Object.keys(headers).map(name => `header:${name}`))
    if (own !== null) parameters.add(own)
    // Whichever of the two a request carries: the client lets nothing else travel under either name.
    const both = [credentialParameter(credentials.read), credentialParameter(credentials.write)]
    return { reserved: new Set(both.filter(name => name !== null)), parameters }
  }
}

export const actionId = (sheet: { readonly action: string, readonly version: number }): string => `${sheet.action}.v${sheet.version}`

export const digestOf = (value: Json): string => createHash('sha256').update(canonicalize(value)!).digest('hex')

const isReading = (method: string): boolean => method === 'GET' || method === 'HEAD'

const messageOf = (error: unknown): string => error instanceof Error ? error.message : 'cannot be used'

function required (template: Template): (bindings: Bindings) => Json {
  return bindings => template.evaluate(bindings) ?? null
}

const finishOrNull = (finish: Finish | null): ((value: Json) => Json) => value => {
  try {
    return finish === null ? null : finish(value).result
  } catch {
    return null
  }
}

const guards = (expressions: readonly Expression[]): boolean => expressions.some(expression => {
  const target = expression.uses.get('target')
  return target !== undefined && (target.whole || target.names.has('version'))
})
