// A schema of the document as part of an input: closed, bounded, with what is required and nothing more. What an agent must not choose, or what
// the document does not describe, becomes a value that a person writes out.
import type { Json } from '../../catalog/catalog.ts'
import { FREE_ADDRESS_FORMATS, forbiddenChoice } from '../../catalog/input.ts'
import type { JsonSchema } from '../../catalog/openapi/operation.ts'
import { compilePattern } from '../../catalog/pattern.ts'
import { FORMATS } from '../../catalog/schema.ts'
import { Judged, type Drafted, type DraftedObject } from './drafted.ts'
import { longestMatch } from '../lint/longest-match.ts'
import { plainSchema, type PlainSchema } from '../plain-schema.ts'
import { exactBounds, sampleOf } from '../sample.ts'
import { oneLine } from './prose.ts'

export type Narrowed =
  /** What an agent may send. */
  | { readonly kind: 'input', readonly schema: Drafted }
  /** The document leaves no choice. */
  | { readonly kind: 'fixed', readonly value: Json }
  /** A person writes it out, or leaves the operation alone. */
  | { readonly kind: 'written', readonly sample: Json, readonly why: string, readonly hard: string }

const TEXT_LENGTH = 200
const LIST_LENGTH = 20
const DEPTH_MAX = 4
const DESCRIPTION_LENGTH_MAX = 160

/** @param name as it will be offered to agents; @param described what else the document says of it */
export function narrow (schema: JsonSchema, root: JsonSchema, name: string, described = '', depth = 0): Narrowed {
  const plain = plainSchema(schema, root)
  const written = (why: string, hard: string): Narrowed => ({ kind: 'written', sample: plain === null ? {} : sampleOf(plain, root), why, hard })
  if (plain === null) return written('the document describes it only by itself', 'recursive schema')
  if (plain.values?.length === 1) return { kind: 'fixed', value: plain.values[0]! }
  const forbidden = forbiddenChoice(name, plain.values !== null)
  if (forbidden !== null) return written(`an agent must not choose ${forbidden.what}`, `needs ${forbidden.what}`)
  if (plain.file) return written('it is a file', 'needs a file')
  if (plain.values === null && plain.format !== null && (FREE_ADDRESS_FORMATS.has(plain.format) || plain.format === 'password')) {
    return written(`an agent must not choose a ${plain.format}`, `needs a ${plain.format}`)
  }
  const body = bodyOf(plain, root, depth)
  if (body instanceof Unfit) return written(body.why, body.hard)
  const description = oneLine(described || plain.description, DESCRIPTION_LENGTH_MAX)
  const told: DraftedObject = { type: plain.type, ...description !== '' && { description }, ...body.keywords }
  const questions = [...body.questions, ...plain.otherForms > 0 ? [`the document allows ${plain.otherForms + 1} forms here; this is one`] : []]
  return { kind: 'input', schema: questions.length > 0 ? new Judged(told, questions.join('; ')) : told }
}

interface Body { readonly keywords: DraftedObject, readonly questions: readonly string[] }

class Unfit {
  readonly why: string
  readonly hard: string
  constructor (why: string, hard: string) {
    this.why = why
    this.hard = hard
  }
}

function bodyOf (plain: PlainSchema, root: JsonSchema, depth: number): Body | Unfit {
  switch (plain.type) {
    case 'string': return textBody(plain)
    case 'integer': case 'number': return numberBody(plain)
    case 'boolean': return { keywords: {}, questions: [] }
    case 'array': return listBody(plain, root, depth)
    case 'object': return objectBody(plain, root, depth)
    default: return new Unfit('the document gives it no type', 'value without a type')
  }
}

function textBody (plain: PlainSchema): Body {
  const { bounds, format } = plain
  if (plain.values !== null) return { keywords: { enum: plain.values.filter(value => typeof value === 'string') }, questions: [] }
  const compiled = plain.pattern === null ? null : compilePattern(plain.pattern)
  const known = format !== null && FORMATS.has(format) && !['binary', 'byte'].includes(format)
  const longest = plain.pattern === null ? null : longestMatch(plain.pattern)
  const bounded = bounds.maxLength !== undefined || longest !== null || known
  const maxLength = Math.max(bounds.maxLength ?? longest ?? TEXT_LENGTH, bounds.minLength ?? 0)
  return {
    keywords: {
      ...known && { format },
      ...compiled !== null && typeof compiled !== 'string' && { pattern: plain.pattern },
      ...bounds.minLength !== undefined && { minLength: bounds.minLength },
      ...!known && { maxLength },
      ...known && plain.pattern !== null && typeof compiled !== 'string' && { maxLength },
    },
    questions: [
      ...bounded ? [] : ['how long can it be, and of which characters? The document does not say'],
      ...typeof compiled === 'string' ? [`its pattern is left out: ${compiled}`] : [],
    ],
  }
}

function numberBody (plain: PlainSchema): Body {
  if (plain.values !== null) return { keywords: { enum: plain.values.filter(value => typeof value === 'number') }, questions: [] }
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = exactBounds(plain.bounds)
  const bounded = (minimum ?? exclusiveMinimum) !== undefined && (maximum ?? exclusiveMaximum) !== undefined
  return {
    keywords: {
      ...minimum !== undefined && { minimum },
      ...maximum !== undefined && { maximum },
      ...exclusiveMinimum !== undefined && { exclusiveMinimum },
      ...exclusiveMaximum !== undefined && { exclusiveMaximum },
      ...multipleOf !== undefined && { multipleOf },
    },
    questions: bounded ? [] : ['what are its bounds? The document does not name both'],
  }
}

function listBody (plain: PlainSchema, root: JsonSchema, depth: number): Body | Unfit {
  if (plain.items === null || depth >= DEPTH_MAX) return new Unfit('the document does not describe its items', 'list without items')
  const items = narrow(plain.items, root, 'item', '', depth + 1)
  if (items.kind === 'written') return new Unfit(`of its items: ${items.why}`, items.hard)
  const { minItems, maxItems = LIST_LENGTH } = plain.bounds
  return {
    keywords: {
      ...minItems !== undefined && { minItems },
      maxItems: Math.min(500, Math.max(maxItems, minItems ?? 0)),
      ...plain.uniqueItems && { uniqueItems: true },
      items: items.kind === 'fixed' ? { const: items.value } : items.schema,
    },
    questions: plain.bounds.maxItems === undefined ? ['how many at once? The document does not say'] : [],
  }
}

/** Properties that can be sent as they are named: an object that is passed on whole. */
function objectBody (plain: PlainSchema, root: JsonSchema, depth: number): Body | Unfit {
  if (plain.properties.size === 0) return new Unfit('an agent must not choose names of properties', 'object of any properties')
  if (plain.required.size === 0 || depth >= DEPTH_MAX) {
    return new Unfit(`nothing in it is required; it may hold ${listed([...plain.properties.keys()])}`, 'object without required properties')
  }
  const properties = new Map<string, Drafted>()
  for (const name of plain.required) {
    const property = narrow(plain.properties.get(name)!, root, name, '', depth + 1)
    if (property.kind === 'written') return new Unfit(`of ${name}: ${property.why}`, property.hard)
    properties.set(name, property.kind === 'fixed' ? { const: property.value } : property.schema)
  }
  return {
    keywords: { additionalProperties: false, required: [...plain.required], properties: Object.fromEntries(properties) },
    questions: [],
  }
}

/** Some names, and how many more. */
export function listed (names: readonly string[]): string {
  const shown = names.slice(0, 12).map(name => oneLine(name, 60)).join(', ')
  return names.length > 12 ? `${shown} and ${names.length - 12} more` : shown
}
