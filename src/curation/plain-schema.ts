// One node of a document's schema as a draft reads it: references followed, `allOf` put together, and one type. Where a document leaves a choice,
// the first form is taken, and what was passed over is told, because a person has to know that there was one.
import type { Json } from '../catalog/catalog.ts'
import type { JsonSchema } from '../catalog/openapi/operation.ts'
import { resolvePointer } from '../catalog/shape.ts'

export type Type = 'string' | 'integer' | 'number' | 'boolean' | 'object' | 'array'

export interface PlainSchema {
  /** null: the document does not say. */
  readonly type: Type | null
  readonly nullable: boolean
  readonly description: string
  readonly format: string | null
  readonly pattern: string | null
  readonly values: readonly Json[] | null
  /** minLength, maxLength, minimum, maximum, exclusive ones, multipleOf, minItems, maxItems. */
  readonly bounds: { readonly [keyword: string]: number }
  readonly uniqueItems: boolean
  readonly properties: ReadonlyMap<string, JsonSchema>
  readonly required: ReadonlySet<string>
  /** The object may have properties of any name. */
  readonly open: boolean
  readonly items: JsonSchema | null
  /** Forms that the document allows beside the one that is read here. */
  readonly otherForms: number
  readonly file: boolean
}

type Node = { readonly [keyword: string]: unknown }

const BOUNDS = [
  'minLength', 'maxLength', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'minItems', 'maxItems',
] as const
const TYPES: readonly Type[] = ['string', 'integer', 'number', 'boolean', 'object', 'array']
/** A schema composed over more than this is read no further. */
const COMPOSED_MAX = 40

/** @param root what its references point into. null: nothing, or only itself, can stand there */
export function plainSchema (schema: JsonSchema, root: JsonSchema): PlainSchema | null {
  const reading = { root, seen: new Set<unknown>(), otherForms: 0, composed: 0 }
  const node = merged(schema, reading)
  if (node === null) return null
  const types = typesOf(node)
  const type = types.find(one => one === 'string') ?? types[0] ?? impliedType(node)
  const listed = Array.isArray(node.enum) ? (node.enum as Json[]).filter(value => value !== null) : null
  const values = node.const !== undefined ? [node.const as Json] : listed
  const additional = node.additionalProperties
  const properties = new Map(Object.entries(isNode(node.properties) ? node.properties : {}) as Array<[string, JsonSchema]>)
  return {
    type,
    nullable: node.nullable === true || (Array.isArray(node.type) && node.type.includes('null')),
    description: text(node.description) || text(node.title),
    format: typeof node.format === 'string' ? node.format : null,
    pattern: typeof node.pattern === 'string' ? node.pattern : null,
    values: values !== null && values.length > 0 ? values : null,
    bounds: Object.fromEntries(BOUNDS.flatMap(name => typeof node[name] === 'number' ? [[name, node[name]]] : [])),
    uniqueItems: node.uniqueItems === true,
    properties,
    required: new Set((Array.isArray(node.required) ? node.required : []).filter(name => properties.has(name))),
    open: type === 'object' && (properties.size === 0 || isNode(additional) || additional === true),
    items: node.items === undefined || node.items === false ? null : node.items as JsonSchema,
    otherForms: reading.otherForms + Math.max(0, types.length - 1),
    file: node.format === 'binary' || node.contentMediaType !== undefined,
  }
}

interface Reading {
  readonly root: JsonSchema
  readonly seen: Set<unknown>
  otherForms: number
  composed: number
}

function merged (schema: unknown, reading: Reading): Node | null {
  if (schema === true) return {}
  if (!isNode(schema) || reading.seen.has(schema) || ++reading.composed > COMPOSED_MAX) return null
  reading.seen.add(schema)
  const { $ref, allOf, oneOf, anyOf, ...own } = schema
  let node: Node | null = own
  if (typeof $ref === 'string') node = both(node, merged(resolvePointer(reading.root, $ref), reading))
  if (Array.isArray(allOf)) for (const part of allOf) node = both(node, merged(part, reading))
  for (const branches of [oneOf, anyOf]) if (Array.isArray(branches)) node = both(node, chosen(branches, reading))
  reading.seen.delete(schema)
  return node
}

/** The first form that can be read; `null` beside it only makes it nullable. */
function chosen (branches: readonly unknown[], reading: Reading): Node | null {
  const others = branches.filter(branch => !isNullSchema(branch))
  const nullable = others.length < branches.length ? { nullable: true } : {}
  for (const branch of others) {
    const node = merged(branch, reading)
    if (node === null) continue
    reading.otherForms += others.length - 1
    return { ...node, ...nullable }
  }
  return null
}

const isNullSchema = (branch: unknown): boolean => isNode(branch) && branch.type === 'null'

function both (one: Node | null, other: Node | null): Node | null {
  if (one === null || other === null) return null
  const properties = isNode(one.properties) || isNode(other.properties)
    ? { properties: { ...other.properties as Node | undefined, ...one.properties as Node | undefined } }
    : {}
  const lists = [one.required, other.required].filter(list => Array.isArray(list))
  const required = lists.length > 0 ? { required: [...new Set(lists.flat())] } : {}
  return { ...other, ...one, ...properties, ...required }
}

function typesOf (node: Node): readonly Type[] {
  const named = Array.isArray(node.type) ? node.type as unknown[] : [node.type]
  return TYPES.filter(type => named.includes(type))
}

function impliedType (node: Node): Type | null {
  if (isNode(node.properties) || isNode(node.additionalProperties)) return 'object'
  if (node.items !== undefined) return 'array'
  const [value] = node.const !== undefined ? [node.const] : Array.isArray(node.enum) ? node.enum as unknown[] : []
  if (typeof value === 'string' || typeof value === 'boolean') return typeof value as Type
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  if (['pattern', 'format', 'minLength', 'maxLength'].some(name => node[name] !== undefined)) return 'string'
  return ['minimum', 'maximum', 'multipleOf'].some(name => node[name] !== undefined) ? 'number' : null
}

const text = (value: unknown): string => typeof value === 'string' ? value : ''
const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && !Array.isArray(value)
