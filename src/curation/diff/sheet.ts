// Two states of one version of an action: what of the change an agent, a person or the upstream would notice.
import { isDeepStrictEqual } from 'node:util'
import { isObject, type Action, type Consent, type Json, type JsonObject, type Sensitivity } from '../../catalog/catalog.ts'
import { CONSENTS, EFFECTS } from '../../catalog/sheet.ts'
import type { Class, Finding, Impact } from './finding.ts'
import { SchemaComparison, type Change, type Direction } from './schema.ts'
import type { Text } from './snapshot.ts'

export interface Side {
  readonly action: Action
  readonly text: Text
}

/** How a field that differs is judged where nothing finer can be said of it. */
export const FIELDS: { readonly [field: string]: readonly [Class, string] } = {
  operation: ['breaking', 'it is another operation now'],
  request: ['breaking', 'another request is sent under the same name'],
  reads: ['breaking', 'it decides on other facts now'],
  values: ['breaking', 'what is computed has changed'],
  target: ['breaking', 'it touches another object, or another version of it'],
  outcomes: ['breaking', 'answers of the upstream mean something else now'],
  idempotency: ['breaking', 'what a repeat does upstream has changed'],
  retry: ['breaking', 'what a repeat does has changed'],
  repeatable: ['breaking', 'whether equal calls are one has changed'],
  durability: ['wording', 'how durable its mark must be before it is sent has changed'],
  lookup: ['evidence', 'an outcome that is not known is learned from something else'],
  proposal: ['consent', 'a person is shown something else'],
  compensate_with: ['wording', 'what undoes it is told differently'],
  sunset: ['wording', 'when it goes is told differently'],
  title: ['wording', 'the title has changed'],
  description: ['wording', 'the description has changed'],
  examples: ['wording', 'the examples have changed'],
}

export function compareSheets (id: string, before: Side, after: Side): readonly Finding[] {
  const comparing = new Comparing(id, before, after)
  comparing.all()
  return comparing.findings
}

class Comparing {
  readonly findings: Finding[] = []
  readonly #id: string
  readonly #before: Side
  readonly #after: Side

  constructor (id: string, before: Side, after: Side) {
    this.#id = id
    this.#before = before
    this.#after = after
  }

  all (): void {
    const [was, is] = [this.#before.text.value, this.#after.text.value]
    for (const [field, [name, message]] of Object.entries(FIELDS)) {
      if (!isDeepStrictEqual(was[field], is[field])) this.#put(name, `/${field}`, message)
    }
    this.#effect()
    this.#consent()
    this.#sensitivity()
    this.#involves(was, is)
    this.#rules(was, is)
    this.#input(was, is)
    this.#result(was, is)
    this.#limits(was, is)
    if (this.findings.length === 0 && this.#before.text.bytes !== this.#after.text.bytes) {
      this.#put('cosmetic', '', 'only comments, spaces or the order of fields have changed')
    }
  }

  #effect (): void {
    const [was, is] = [this.#before.action.effect, this.#after.action.effect]
    if (was === is) return
    const graver = EFFECTS.indexOf(is) > EFFECTS.indexOf(was)
    this.#put(
      graver ? 'authority' : 'consent', '/effect', `${was} → ${is}${graver ? '' : ': what the policy asks for the graver one is not asked any more'}`
    )
  }

  /** The effective one: sheet and policy together. */
  #consent (): void {
    const [was, is] = [this.#before.action.consent, this.#after.action.consent]
    if (was === is) return
    const weaker = rank(is) < rank(was)
    this.#put(
      weaker ? 'consent' : 'breaking', '/consent', weaker ? `${was} → ${is}` : `${was} → ${is}: calls that went through wait for a person now`
    )
  }

  #sensitivity (): void {
    const [was, is] = [this.#before.action.sensitivity, this.#after.action.sensitivity]
    if (was === is) return
    const lower = SENSITIVITIES.indexOf(is) < SENSITIVITIES.indexOf(was)
    this.#put(lower ? 'view' : 'wording', '/sensitivity', `${was} → ${is}`)
  }

  #involves (was: JsonObject, is: JsonObject): void {
    const [before, after] = [listOf(was.involves), listOf(is.involves)]
    for (const gone of before.filter(one => !after.includes(one))) {
      this.#put('consent', '/involves', `${String(gone)} is not said to be involved any more`)
    }
    for (const come of after.filter(one => !before.includes(one))) this.#put('wording', '/involves', `${String(come)} is said to be involved now`)
  }

  /** A rule that goes widens; one that comes refuses calls that were taken. */
  #rules (was: JsonObject, is: JsonObject): void {
    for (const field of ['scope', 'checks'] as const) {
      const [before, after] = [listOf(was[field]).map(ruleOf), listOf(is[field]).map(ruleOf)]
      for (const [index, rule] of before.entries()) {
        const at = `/${field}/${index}`
        const other = after.find(one => one.require === rule.require)
        if (other === undefined) this.#put('authority', at, `the rule is gone: ${rule.require}`)
        else if (other.answers !== rule.answers) this.#put('breaking', at, `${rule.answers} → ${other.answers} where it does not hold`)
        else if (other.message !== rule.message) this.#put('wording', at, 'the message has changed')
      }
      for (const [index, rule] of after.entries()) {
        if (!before.some(one => one.require === rule.require)) {
          this.#put('breaking', `/${field}/${index}`, `a rule refuses what was taken: ${rule.require}`)
        }
      }
    }
  }

  #input (was: JsonObject, is: JsonObject): void {
    const changes = this.#schema(was.input ?? true, is.input ?? true, 'request', '/input')
    for (const { at, impact, message } of changes) this.#put(impact === 'breaking' ? 'breaking' : 'authority', at, message, impact)
    this.#words(was.input, is.input, changes, '/input')
  }

  #result (was: JsonObject, is: JsonObject): void {
    const [before, after] = [isObject(was.result) ? was.result : {}, isObject(is.result) ? is.result : {}]
    if (was.result === undefined && is.result === undefined) return
    if (was.result === undefined) return this.#put('view', '/result', 'there is a result now')
    if (is.result === undefined) return this.#put('breaking', '/result', 'there is no result any more')
    const changes = this.#schema(before.schema ?? true, after.schema ?? true, 'answer', '/result/schema')
    for (const { at, impact, message, shows } of changes) {
      // A result that promises more than it did shows no more than it did.
      if (shows === true) this.#put('view', at, message)
      else if (impact === 'compatible') this.#put('wording', at, message)
      else this.#put('breaking', at, message)
    }
    this.#words(before.schema, after.schema, changes, '/result/schema')
    this.#view(before.view, after.view)
    for (const limit of ['max_bytes', 'max_items'] as const) {
      if (!isDeepStrictEqual(before[limit], after[limit])) this.#put('view', `/result/${limit}`, `${told(before[limit])} → ${told(after[limit])}`)
    }
  }

  /** Where a value of the result comes from. */
  #view (was: Json | undefined, is: Json | undefined): void {
    if (isDeepStrictEqual(was, is)) return
    if (!isObject(was) || !isObject(is)) return this.#put('view', '/result/view', 'the result is made in another way now')
    for (const name of new Set([...Object.keys(was), ...Object.keys(is)])) {
      const [before, after] = [was[name], is[name]]
      const at = `/result/view/${name}`
      if (before === undefined) this.#put('view', at, 'is shown now')
      else if (after === undefined) this.#put('breaking', at, 'is not shown any more')
      // The same name for something else: it may show more, and it means something else to whoever reads it.
      else if (!isDeepStrictEqual(before, after)) this.#put('view', at, `shows ${told(after)} now, and showed ${told(before)}`, 'breaking')
    }
  }

  #limits (was: JsonObject, is: JsonObject): void {
    const [before, after] = [isObject(was.limits) ? was.limits : {}, isObject(is.limits) ? is.limits : {}]
    for (const name of ['calls_per_run', 'refusals_per_run', 'concurrency_per_tenant'] as const) {
      const [old, now] = [before[name], after[name]]
      if (isDeepStrictEqual(old, now)) continue
      const more = now === undefined || (typeof old === 'number' && typeof now === 'number' && now > old)
      this.#put(more ? 'authority' : 'breaking', `/limits/${name}`, `${told(old)} → ${told(now)}`)
    }
    if (!isDeepStrictEqual(before.serialize, after.serialize)) this.#put('breaking', '/limits/serialize', 'other calls wait for each other now')
    if (!isDeepStrictEqual(before.timeout, after.timeout)) {
      this.#put('cosmetic', '/limits/timeout', `${told(before.timeout)} → ${told(after.timeout)}`)
    }
  }

  #schema (was: Json, is: Json, direction: Direction, at: string): readonly Change[] {
    const schemas = new SchemaComparison()
    const { changes } = schemas.compare(was, is, direction)
    const shared = [...schemas.shared.values()].flatMap(part => part.changes.map(change => ({ ...change, at: `/$defs/${part.name}${change.at}` })))
    return [...changes, ...shared].map(change => ({ ...change, at: `${at}${change.at}` }))
  }

  /** Descriptions within a schema are what agents read, too. */
  #words (was: Json | undefined, is: Json | undefined, changes: readonly Change[], at: string): void {
    if (isDeepStrictEqual(was, is)) return
    const words = wordsOf(was ?? null).join('\n') !== wordsOf(is ?? null).join('\n')
    if (words) this.#put('wording', at, 'descriptions have changed')
    else if (changes.length === 0) this.#put('breaking', at, 'it says something else in a way that cannot be compared')
  }

  #put (name: Class, at: string, message: string, impact: Impact = name === 'breaking' ? 'breaking' : 'compatible'): void {
    this.findings.push({ class: name, impact, subject: this.#id, at, message })
  }
}

const SENSITIVITIES: readonly Sensitivity[] = ['public', 'internal', 'personal', 'secret']
const rank = (consent: Consent): number => CONSENTS.indexOf(consent)
const listOf = (value: Json | undefined): readonly Json[] => Array.isArray(value) ? value as readonly Json[] : []

interface Rule {
  readonly require: string
  readonly answers: string
  readonly message: string
}

function ruleOf (rule: Json): Rule {
  const { require = '', error, outcome, message = '', retryable } = isObject(rule) ? rule : {}
  return {
    require: String(require),
    answers: [outcome ?? error ?? 'OUT_OF_SCOPE', retryable === true ? 'retryable' : ''].join(' ').trim(),
    message: String(message),
  }
}

function wordsOf (schema: Json): readonly string[] {
  if (Array.isArray(schema)) return schema.flatMap((item: Json) => wordsOf(item))
  if (!isObject(schema)) return []
  return Object.entries(schema).flatMap(
    ([name, value]) => (name === 'description' || name === 'title') && typeof value === 'string' ? [value] : wordsOf(value)
  )
}

function told (value: Json | undefined): string {
  const text = value === undefined ? 'none' : JSON.stringify(value)
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}
