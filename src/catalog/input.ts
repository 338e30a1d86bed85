// The input schema is the border of what an agent can make the broker do: closed everywhere, bounded, and without a way to choose what only a
// sheet or a person chooses. Each refusal has a rule id of its own.
import { isObject, type Json, type JsonObject } from './catalog.ts'
import type { Reporter } from './faults.ts'
import { suggestion } from './near.ts'
import { compilePattern } from './pattern.ts'
import { doublingSchemas } from './recursion.ts'
import { FORMATS, schemaFaults } from './schema.ts'
import { resolvePointer } from './shape.ts'
import { pointerTo } from './yaml-file.ts'

/** @param at JSON Pointer of the schema in its file. @returns whether it can be compiled */
export function checkSchema (schema: JsonObject, at: string, kind: 'input' | 'result', report: Reporter): boolean {
  const before = report.count
  for (const fault of schemaFaults(schema)) report.fault(`${at}${fault.pointer}`, 'schema-invalid', fault.message)
  if (report.count > before) return false
  const check = new SchemaCheck(schema, at, kind, report)
  check.root()
  for (const pointer of doublingSchemas(schema)) {
    report.fault(`${at}${pointer}`, 'schema-recursion', 'only one part of this may come back to itself: every level of a value would double the work')
  }
  return report.count === before
}

/** Applied where they stand, to the same value. */
const IN_PLACE = ['allOf', 'anyOf', 'oneOf'] as const
const UNSUPPORTED = [
  '$id', '$anchor', '$dynamicRef', '$dynamicAnchor', '$schema', '$vocabulary', 'unevaluatedItems', 'dependentSchemas', 'contentSchema',
]

class SchemaCheck {
  readonly #schema: JsonObject
  readonly #at: string
  readonly #kind: 'input' | 'result'
  readonly #report: Reporter
  /** Nodes that were looked at, with how: a `$defs` entry may be used closed here and open there. */
  readonly #seen = new Set<string>()

  constructor (schema: JsonObject, at: string, kind: 'input' | 'result', report: Reporter) {
    this.#schema = schema
    this.#at = at
    this.#kind = kind
    this.#report = report
  }

  root (): void {
    if (this.#kind === 'input' && this.#schema.type !== 'object') this.#refuse('/type', 'input-not-object', 'the input is an object')
    this.#value(this.#schema, '', false)
  }

  /** A schema that a value of its own has to match. */
  #value (schema: Json | undefined, at: string, closedAround: boolean): void {
    const key = `${at} ${String(closedAround)}`
    if (this.#seen.has(key)) return
    this.#seen.add(key)
    if (!isObject(schema)) {
      if (schema === true) this.#refuse(at, `${this.#kind}-open`, 'anything would be allowed here')
      return
    }
    this.#keywords(schema, at)
    const closed = closedAround || isClosed(schema)
    if (!closed && mayBeOpenObject(schema)) this.#refuse(at, `${this.#kind}-open`, 'an object needs additionalProperties: false')
    if (!closedAround && isUntyped(schema)) this.#refuse(at, `${this.#kind}-open`, 'a value without a type could be anything')
    this.#properties(schema, at)
    this.#items(schema, at, closedAround)
    for (const keyword of IN_PLACE) {
      const branches = schema[keyword]
      if (Array.isArray(branches)) for (const [index, branch] of branches.entries()) this.#value(branch as Json, `${at}/${keyword}/${index}`, closed)
    }
    for (const keyword of ['if', 'then', 'else', 'not']) if (schema[keyword] !== undefined) this.#value(schema[keyword], `${at}/${keyword}`, true)
    if (typeof schema.$ref === 'string') this.#reference(schema.$ref, at, closed)
  }

  #properties (schema: JsonObject, at: string): void {
    if (isObject(schema.properties)) {
      for (const [name, property] of Object.entries(schema.properties)) {
        const pointer = pointerTo(`${at}/properties`, name)
        if (this.#kind === 'input') this.#name(name, property, pointer)
        this.#value(property, pointer, false)
      }
      if (schema.additionalProperties === false && Array.isArray(schema.required)) {
        for (const [index, name] of schema.required.entries()) {
          if (!Object.hasOwn(schema.properties, String(name))) {
            this.#refuse(
              `${at}/required/${index}`,
              'schema-invalid',
              `"${String(name)}" is required but is no property${suggestion(String(name), Object.keys(schema.properties))}`
            )
          }
        }
      }
    }
    const additional = schema.additionalProperties
    if (isObject(additional)) {
      if (this.#kind === 'input') this.#refuse(`${at}/additionalProperties`, 'input-open', 'an agent must not choose names of properties')
      else this.#value(additional, `${at}/additionalProperties`, false)
    }
    if (schema.patternProperties !== undefined) this.#refuse(`${at}/patternProperties`, `${this.#kind}-open`, 'names of properties are written out')
  }

  #items (schema: JsonObject, at: string, around: boolean): void {
    if (schema.items !== undefined) this.#value(schema.items, `${at}/items`, false)
    const fixed = Array.isArray(schema.prefixItems) ? schema.prefixItems as readonly Json[] : []
    for (const [index, item] of fixed.entries()) this.#value(item, `${at}/prefixItems/${index}`, false)
    if (schema.contains !== undefined) this.#value(schema.contains, `${at}/contains`, true)
    const types = typesOf(schema)
    if (!around && types.includes('array') && schema.items === undefined) this.#refuse(at, `${this.#kind}-open`, 'an array needs items')
  }

  #keywords (schema: JsonObject, at: string): void {
    for (const keyword of UNSUPPORTED) {
      if (schema[keyword] !== undefined) this.#refuse(`${at}/${keyword}`, 'schema-unsupported', `${keyword} is not supported in a sheet`)
    }
    const { format, pattern } = schema
    if (typeof format === 'string' && !FORMATS.has(format)) {
      this.#refuse(`${at}/format`, 'format-unknown', `nothing checks the format "${format}"${suggestion(format, FORMATS)}`)
    }
    if (typeof pattern === 'string') {
      const compiled = compilePattern(pattern)
      if (typeof compiled === 'string') this.#refuse(`${at}/pattern`, 'pattern-invalid', compiled)
      if (this.#kind === 'input' && typeof schema.maxLength !== 'number') {
        this.#refuse(`${at}/pattern`, 'pattern-without-max-length', 'a pattern needs maxLength beside it')
      }
    }
    if (this.#kind === 'input' && schema.uniqueItems === true && !isComparedCheaply(schema)) {
      const message = `each item is compared with every other: uniqueItems needs maxItems of at most ${UNIQUE_ITEMS_MAX}`
      this.#refuse(`${at}/uniqueItems`, 'unique-without-max-items', message)
    }
    if (this.#kind === 'input' && typeof format === 'string' && FREE_ADDRESS_FORMATS.has(format) && !isChosenFromList(schema)) {
      this.#refuse(
        `${at}/format`,
        ADDRESS_RULES.get(format) ?? 'input-chooses-url',
        `an agent must not choose a ${format}; list the allowed ones in an enum`
      )
    }
  }

  /** What a name says it is for. */
  #name (name: string, property: Json, pointer: string): void {
    const choice = forbiddenChoice(name, isObject(property) && isChosenFromList(property))
    if (choice !== null) this.#report.faultAtKey(`${this.#at}${pointer}`, choice.rule, `an agent must not choose ${choice.what} ("${name}")`)
  }

  #reference (reference: string, at: string, closed: boolean): void {
    if (!/^#\/\$defs\/[^/]+$/.test(reference)) {
      return this.#refuse(`${at}/$ref`, 'schema-reference', 'a reference points to #/$defs/<name> of the same schema')
    }
    const target = resolvePointer(this.#schema, reference)
    if (target === undefined) return this.#refuse(`${at}/$ref`, 'schema-reference', `there is no ${reference}`)
    this.#value(target as Json, reference.slice(1), closed)
  }

  #refuse (pointer: string, rule: string, message: string): void {
    this.#report.fault(`${this.#at}${pointer}`, rule, message)
  }
}

function typesOf (schema: JsonObject): readonly string[] {
  return Array.isArray(schema.type) ? schema.type as string[] : typeof schema.type === 'string' ? [schema.type] : []
}

const UNIQUE_ITEMS_MAX = 500

/** ajv remembers texts and numbers that it has seen where the schema of the items says outright that they are such. */
function isComparedCheaply (schema: JsonObject): boolean {
  const items = isObject(schema.items) ? typesOf(schema.items) : []
  if (items.length > 0 && items.every(type => type !== 'object' && type !== 'array')) return true
  return typeof schema.maxItems === 'number' && schema.maxItems <= UNIQUE_ITEMS_MAX
}

const isFixed = (schema: JsonObject): boolean => schema.const !== undefined || Array.isArray(schema.enum)

const isChosenFromList = (schema: JsonObject): boolean => isFixed(schema) || (isObject(schema.items) && isChosenFromList(schema.items))

const isClosed = (schema: JsonObject): boolean => schema.additionalProperties === false || schema.unevaluatedProperties === false

/** What is left to its parts is judged there. */
function isComposed (schema: JsonObject): boolean {
  return typeof schema.$ref === 'string' || IN_PLACE.some(keyword => Array.isArray(schema[keyword]))
}

function mayBeOpenObject (schema: JsonObject): boolean {
  if (isFixed(schema)) return false
  const isObjectSchema = typesOf(schema).includes('object') || schema.properties !== undefined
  // Composed of closed parts: those close it. Properties beside the parts would be refused by them.
  if (isComposed(schema) && schema.properties === undefined) return false
  // Named values of one schema, which the result may have.
  if (isObject(schema.additionalProperties)) return false
  return isObjectSchema
}

function isUntyped (schema: JsonObject): boolean {
  return typesOf(schema).length === 0 && schema.properties === undefined && !isFixed(schema) && !isComposed(schema)
}

export const FREE_ADDRESS_FORMATS: ReadonlySet<string> = new Set(['uri', 'uri-reference', 'uri-template', 'url', 'hostname', 'ipv4', 'ipv6'])
const ADDRESS_RULES = new Map([['hostname', 'input-chooses-host'], ['ipv4', 'input-chooses-host'], ['ipv6', 'input-chooses-host']])

interface Choice {
  readonly rule: string
  readonly what: string
  /** An agent may choose from a list that the sheet writes out. */
  readonly listIsFine: boolean
  matches (words: readonly string[]): boolean
}

/** Names whose last word is one of these. */
const ending = (names: string) => (words: readonly string[]): boolean => names.split(' ').includes(words.at(-1) ?? '')
/** Names that are one of these, their words joined. */
const named = (names: string) => (words: readonly string[]): boolean => names.split(' ').includes(words.join('_'))
const choice = (rule: string, what: string, listIsFine: boolean, matches: Choice['matches']): Choice => ({ rule, what, listIsFine, matches })

const SECRET_NAMES = 'token api_key apikey access_token auth_token refresh_token id_token api_token client_secret private_key access_key ' +
  'secret_key auth jwt'
const APPROVAL_NAMES = 'approval approvals approve approved approver approved_by approval_id consent confirm confirmed confirmation ' +
  'confirmed_by user_confirmed'
const KEY_NAMES = 'idempotency_key idempotency idempotence_key idempotency_id idempotency_token idempotent_key'

const FORBIDDEN: readonly Choice[] = [
  choice('input-chooses-url', 'a URL', true, ending('url urls uri uris href endpoint webhook callback')),
  choice('input-chooses-host', 'a host', true, ending('host hostname hosts hostnames')),
  choice('input-chooses-header', 'headers', true, ending('header headers cookie cookies')),
  choice('input-chooses-header', 'the name of a header', true, named('header_name')),
  choice('input-is-raw-body', 'a raw body', false, named('raw_body request_body body_raw raw_request raw_payload raw_json')),
  choice('input-chooses-credential', 'a credential', false, ending('credential credentials password passwd secret authorization bearer')),
  choice('input-chooses-credential', 'a credential', false, named(SECRET_NAMES)),
  choice('input-chooses-tenant', 'a tenant', false, named('tenant tenants tenant_id tenant_name tenancy')),
  choice('input-chooses-permission', 'a permission', true, ending('permission permissions privilege privileges acl')),
  choice('input-chooses-permission', 'a permission', true, named('scope scopes role roles as_user on_behalf_of impersonate sudo')),
  choice('input-chooses-approval', 'an approval', false, named(APPROVAL_NAMES)),
  choice('input-chooses-idempotency-key', 'an idempotency key', false, named(KEY_NAMES)),
]

/** What an argument of this name would let an agent choose, and no agent may; `listed`: from a list that the sheet writes out. */
export function forbiddenChoice (name: string, listed: boolean): { readonly rule: string, readonly what: string } | null {
  const words = name.replace(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase().split(/[^a-z0-9]+/).filter(word => word !== '')
  return FORBIDDEN.find(choice => choice.matches(words) && !(choice.listIsFine && listed)) ?? null
}
