// The keywords of one Schema Object, without the schemas below it, as JSON Schema 2020-12 means them. Documents of every version use the spellings
// of every other, so all are read everywhere; what has no meaning is left out and said in a warning, because a validator would throw on it.
import { RE2JS } from 're2js'
import { isObject, own } from './pointer.ts'
import type { Dictionary } from './pointer.ts'

export type Warn = (message: string) => void

const isString = (value: unknown): boolean => typeof value === 'string'
const isNumber = (value: unknown): boolean => typeof value === 'number' && Number.isFinite(value)
const isCount = (value: unknown): boolean => Number.isInteger(value) && (value as number) >= 0
const isBoolean = (value: unknown): boolean => typeof value === 'boolean'

/** Data that whoever compares it can go down. */
const isShallow = (value: unknown, depth = 0): boolean =>
  typeof value !== 'object' || value === null || (depth < 100 && Object.values(value).every(item => isShallow(item, depth + 1)))

/** Keywords that are kept as they are where their value has the right form. */
const KEPT: ReadonlyMap<string, (value: unknown) => boolean> = new Map(Object.entries({
  title: isString,
  description: isString,
  deprecated: isBoolean,
  format: isString,
  contentEncoding: isString,
  contentMediaType: isString,
  multipleOf: (value: unknown) => isNumber(value) && (value as number) > 0,
  maximum: isNumber,
  minimum: isNumber,
  maxLength: isCount,
  minLength: isCount,
  maxItems: isCount,
  minItems: isCount,
  maxProperties: isCount,
  minProperties: isCount,
  minContains: isCount,
  maxContains: isCount,
  uniqueItems: isBoolean,
  const: (value: unknown) => isShallow(value),
  // An empty list would forbid every value; who writes it means none of that.
  enum: (value: unknown) => Array.isArray(value) && value.length > 0 && isShallow(value),
}))

const TYPES: ReadonlySet<unknown> = new Set(['null', 'boolean', 'object', 'array', 'number', 'string', 'integer'])

function typesOf (value: unknown, warn: Warn): readonly string[] {
  if (value === undefined) return []
  const named = Array.isArray(value) ? value as readonly unknown[] : [value]
  const known = [...new Set(named)].filter((type): type is string => TYPES.has(type))
  if (known.length < new Set(named).size && !named.includes('file')) warn('a type that JSON Schema does not know is left out')
  return known
}

/** The types named, with `null` where the 3.0 (or 2.0) spelling adds it; `wrap`: null must be admitted beside the whole schema. */
function nullability (node: Dictionary, warn: Warn): { readonly types: readonly string[], readonly wrap: boolean } {
  const types = typesOf(own(node, 'type'), warn)
  if (own(node, 'nullable') !== true && own(node, 'x-nullable') !== true) return { types, wrap: false }
  if (['allOf', 'anyOf', 'oneOf', '$ref'].some(name => Object.hasOwn(node, name))) return { types, wrap: true }
  const values = own(node, 'enum')
  // OpenAPI 3.0.3, nullable: it widens `type` and nothing else, so an enum without null goes on refusing null.
  if (Array.isArray(values) && values.length > 0 && !values.includes(null)) warn('nullable beside an enum without null does not admit null')
  return { types: types.length === 0 || types.includes('null') ? types : [...types, 'null'], wrap: false }
}

/** Boolean exclusive bounds (2.0, 3.0) as numbers. */
function bounds (node: Dictionary, plain: Map<string, unknown>, warn: Warn): void {
  for (const [exclusive, inclusive] of [['exclusiveMinimum', 'minimum'], ['exclusiveMaximum', 'maximum']] as const) {
    const value = own(node, exclusive)
    if (isNumber(value)) {
      plain.set(exclusive, value)
    } else if (value === true && plain.has(inclusive)) {
      plain.set(exclusive, plain.get(inclusive))
      plain.delete(inclusive)
    } else if (value !== undefined && !isBoolean(value)) {
      warn(`${exclusive} is neither a number nor a boolean and is left out`)
    }
  }
}

const patterns = new Map<string, string | null>()

/** The pattern as a linear-time engine takes it, or null where it takes none. Compiled once a process: documents repeat their patterns. */
export function usablePattern (pattern: string): string | null {
  const known = patterns.get(pattern)
  if (known !== undefined) return known
  // `/^…$/` by the letter matches nothing at all: its author wrote the delimiters of another language.
  const inner = /^\/(\^.*|.*\$)\/$/s.exec(pattern)?.[1] ?? pattern
  let usable: string | null = inner
  try {
    RE2JS.compile(inner)
  } catch {
    usable = null
  }
  if (patterns.size > 10_000) patterns.clear()
  patterns.set(pattern, usable)
  return usable
}

function strings (value: unknown): readonly string[] {
  return Array.isArray(value) ? [...new Set(value.filter((item): item is string => typeof item === 'string'))] : []
}

export interface Plain {
  readonly keywords: Map<string, unknown>
  /** null is admitted beside the whole schema. */
  readonly wrap: boolean
}

/** @param dispensable names that are never required here, because they must not be sent */
export function plainKeywords (node: Dictionary, dispensable: ReadonlySet<string>, warn: Warn): Plain {
  const keywords = new Map<string, unknown>()
  const { types, wrap } = nullability(node, warn)
  if (types.length > 0) keywords.set('type', types.length === 1 ? types[0] : types)
  for (const [name, valid] of KEPT) {
    const value = own(node, name)
    if (value === undefined) continue
    if (valid(value)) keywords.set(name, value)
    else warn(`${name} has a value that it cannot have and is left out`)
  }
  bounds(node, keywords, warn)
  const pattern = own(node, 'pattern')
  if (typeof pattern === 'string') {
    const usable = usablePattern(pattern)
    if (usable !== null) keywords.set('pattern', usable)
    if (usable === null) warn('a pattern that no linear-time engine takes is left out')
    else if (usable !== pattern) warn('the delimiters of a pattern are left out')
  }
  const required = own(node, 'required')
  if (required !== undefined && !Array.isArray(required)) warn('required is no list and is left out')
  const names = strings(required).filter(name => !dispensable.has(name))
  if (names.length > 0) keywords.set('required', names)
  const dependent = own(node, 'dependentRequired')
  if (isObject(dependent)) {
    keywords.set('dependentRequired', Object.fromEntries(Object.entries(dependent).map(([name, needs]) => [name, strings(needs)])))
  }
  return { keywords, wrap }
}
