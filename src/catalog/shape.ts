// What is known of a value before there is one: read from JSON Schemas lazily, so that a schema of many thousand nodes costs what a sheet uses of it.
import { isObject, type Json } from './catalog.ts'
import type { JsonSchema } from './openapi/operation.ts'

export interface Field {
  readonly shape: () => Shape
  readonly required: boolean
}

export interface ObjectShape {
  readonly kind: 'object'
  readonly fields: ReadonlyMap<string, Field>
  /** What a name that is not a field may hold; null: there is no other name. */
  readonly rest: (() => Shape) | null
}

export interface ListShape { readonly kind: 'list', readonly item: () => Shape }

export type Shape =
  | { readonly kind: 'string' | 'bool' | 'int' | 'double' | 'null' | 'timestamp' }
  | ListShape
  | ObjectShape
  /** Several are possible, none: anything is. Expressions see `dyn`. */
  | { readonly kind: 'dyn', readonly of: readonly Shape[] }

export const ANY: Shape = Object.freeze({ kind: 'dyn', of: Object.freeze([]) })
export const STRING: Shape = Object.freeze({ kind: 'string' })
export const BOOL: Shape = Object.freeze({ kind: 'bool' })
export const INT: Shape = Object.freeze({ kind: 'int' })
export const DOUBLE: Shape = Object.freeze({ kind: 'double' })
export const NULL: Shape = Object.freeze({ kind: 'null' })
export const TIMESTAMP: Shape = Object.freeze({ kind: 'timestamp' })

export const listOf = (item: Shape): Shape => ({ kind: 'list', item: () => item })

export function objectOf (fields: Readonly<Record<string, Shape>>): ObjectShape {
  return {
    kind: 'object',
    fields: new Map(Object.entries(fields).map(([name, shape]) => [name, { shape: () => shape, required: true }])),
    rest: null,
  }
}

export const mapOf = (value: Shape): ObjectShape => ({ kind: 'object', fields: new Map(), rest: () => value })

/** The possible shapes; empty: anything. */
export const alternatives = (shape: Shape): readonly Shape[] => shape.kind === 'dyn' ? shape.of : [shape]

/** One of several: equal kinds become one, what differs becomes `dyn`. */
export function union (shapes: readonly Shape[]): Shape {
  const [only] = shapes
  if (only === undefined) return ANY
  if (shapes.every(shape => shape === only)) return only
  const parts: Shape[] = []
  const objects: ObjectShape[] = []
  const lists: ListShape[] = []
  for (const shape of shapes) {
    const possible = alternatives(shape)
    if (possible.length === 0) return ANY
    for (const part of possible) {
      if (part.kind === 'object') objects.push(part)
      else if (part.kind === 'list') lists.push(part)
      else if (!parts.some(known => known.kind === part.kind)) parts.push(part)
    }
  }
  if (objects.length > 0) parts.push(objects.length === 1 ? objects[0]! : unionOfObjects(objects))
  if (lists.length > 0) parts.push(lists.length === 1 ? lists[0]! : { kind: 'list', item: once(() => union(lists.map(list => list.item()))) })
  return parts.length === 1 ? parts[0]! : { kind: 'dyn', of: parts }
}

function unionOfObjects (objects: readonly ObjectShape[]): ObjectShape {
  const names = new Set(objects.flatMap(object => [...object.fields.keys()]))
  const fields = new Map<string, Field>()
  for (const name of names) {
    const found = objects.map(object => object.fields.get(name)).filter(field => field !== undefined)
    const elsewhere = objects.filter(object => !object.fields.has(name) && object.rest !== null).map(object => object.rest!)
    fields.set(name, {
      shape: once(() => union([...found.map(field => field.shape()), ...elsewhere.map(rest => rest())])),
      required: found.length === objects.length && found.every(field => field.required),
    })
  }
  const rests = objects.map(object => object.rest).filter(rest => rest !== null)
  return { kind: 'object', fields, rest: rests.length === 0 ? null : once(() => union(rests.map(rest => rest()))) }
}

/** Both at once (`allOf`, siblings of `$ref`). */
function both (one: Shape, other: Shape): Shape {
  if (one === other) return one
  const left = alternatives(one)
  const right = alternatives(other)
  if (left.length === 0) return other
  if (right.length === 0) return one
  const parts: Shape[] = []
  for (const a of left) {
    for (const b of right) {
      const met = meet(a, b)
      if (met !== null && !parts.some(part => part.kind === met.kind)) parts.push(met)
    }
  }
  // `nullable` beside an `allOf` is meant, whatever the strict reading says.
  if (!parts.some(part => part.kind === 'null') && [...left, ...right].some(part => part.kind === 'null')) parts.push(NULL)
  return parts.length === 1 ? parts[0]! : { kind: 'dyn', of: parts }
}

function meet (a: Shape, b: Shape): Shape | null {
  if (a.kind === 'object' && b.kind === 'object') return meetObjects(a, b)
  if (a.kind === 'list' && b.kind === 'list') return { kind: 'list', item: once(() => both(a.item(), b.item())) }
  if (a.kind === b.kind) return a
  if ((a.kind === 'int' && b.kind === 'double') || (a.kind === 'double' && b.kind === 'int')) return INT
  return null
}

function meetObjects (a: ObjectShape, b: ObjectShape): ObjectShape {
  const fields = new Map<string, Field>(a.fields)
  for (const [name, field] of b.fields) {
    const known = a.fields.get(name)
    fields.set(
      name,
      known === undefined ? field : { shape: once(() => both(known.shape(), field.shape())), required: known.required || field.required }
    )
  }
  const rest = a.rest === null || b.rest === null ? null : once(() => both(a.rest!(), b.rest!()))
  return { kind: 'object', fields, rest }
}

/** Reads schemas that share one set of `$defs`. Each schema node is read at most once. */
export function shapeOfSchema (root: JsonSchema): Shape {
  return new SchemaShapes(root).of(root)
}

type SchemaNode = { readonly [keyword: string]: unknown }

class SchemaShapes {
  readonly #root: JsonSchema
  readonly #known = new WeakMap<object, Shape>()
  readonly #busy = new Set<object>()

  constructor (root: JsonSchema) {
    this.#root = root
  }

  of (schema: unknown): Shape {
    if (!isNode(schema)) return ANY
    const known = this.#known.get(schema)
    if (known !== undefined) return known
    // A schema that contains itself in place says nothing about itself.
    if (this.#busy.has(schema)) return ANY
    this.#busy.add(schema)
    const shape = this.#read(schema)
    this.#busy.delete(schema)
    this.#known.set(schema, shape)
    return shape
  }

  #read (schema: SchemaNode): Shape {
    let shape = this.#own(schema)
    if (typeof schema.$ref === 'string') shape = both(shape, this.of(resolvePointer(this.#root, schema.$ref)))
    if (Array.isArray(schema.allOf)) for (const part of schema.allOf) shape = both(shape, this.of(part))
    for (const keyword of ['oneOf', 'anyOf']) {
      const branches = schema[keyword]
      if (Array.isArray(branches)) shape = both(shape, union(branches.map(branch => both(shape, this.of(branch)))))
    }
    return shape
  }

  #own (schema: SchemaNode): Shape {
    if ('const' in schema) return shapeOfValue(schema.const as Json)
    if (schema.type === undefined && Array.isArray(schema.enum) && schema.enum.length > 0) return union((schema.enum as Json[]).map(shapeOfValue))
    const types = Array.isArray(schema.type) ? schema.type : typeof schema.type === 'string' ? [schema.type] : impliedTypes(schema)
    if (types.length === 0) return ANY
    const shapes = types.map(type => this.#ofType(String(type), schema))
    if (schema.nullable === true) shapes.push(NULL)
    return union(shapes)
  }

  #ofType (type: string, schema: SchemaNode): Shape {
    switch (type) {
      case 'string': return STRING
      case 'boolean': return BOOL
      case 'integer': return INT
      case 'number': return DOUBLE
      case 'null': return NULL
      case 'array': return { kind: 'list', item: once(() => schema.prefixItems === undefined ? this.of(schema.items) : ANY) }
      case 'object': return this.#object(schema)
      default: return ANY
    }
  }

  #object (schema: SchemaNode): ObjectShape {
    const required = Array.isArray(schema.required) ? schema.required : []
    const fields = new Map<string, Field>()
    if (isNode(schema.properties)) {
      for (const [name, property] of Object.entries(schema.properties)) {
        fields.set(name, { shape: once(() => this.of(property)), required: required.includes(name) })
      }
    }
    return { kind: 'object', fields, rest: this.#rest(schema, fields.size) }
  }

  /** An object that names properties means those, unless it says outright that there are more; one that names none is of any names. */
  #rest (schema: SchemaNode, fields: number): (() => Shape) | null {
    const additional = schema.additionalProperties
    if (isNode(additional)) return once(() => this.of(additional))
    if (additional === true || isNode(schema.patternProperties)) return () => ANY
    if (additional === false) return null
    return fields > 0 ? null : () => ANY
  }
}

function impliedTypes (schema: SchemaNode): readonly string[] {
  if (schema.properties !== undefined || schema.additionalProperties !== undefined) return ['object']
  if (schema.items !== undefined) return ['array']
  return schema.required !== undefined && ['$ref', 'allOf'].some(keyword => schema[keyword] !== undefined) ? ['object'] : []
}

/** The shape of a value that is written in a sheet. */
export function shapeOfValue (value: Json): Shape {
  if (value === null) return NULL
  if (typeof value === 'string') return STRING
  if (typeof value === 'boolean') return BOOL
  if (typeof value === 'number') return Number.isInteger(value) ? INT : DOUBLE
  if (isObject(value)) return objectOf(Object.fromEntries(Object.entries(value).map(([name, part]) => [name, shapeOfValue(part)])))
  return listOf(union((value as readonly Json[]).map(shapeOfValue)))
}

/** Follows `#/…` within one schema. undefined where it leads nowhere. */
export function resolvePointer (root: unknown, reference: string): unknown {
  if (reference === '#') return root
  if (!reference.startsWith('#/')) return undefined
  let node: unknown = root
  for (const token of reference.slice(2).split('/')) {
    const name = decode(token)
    if (name === null || typeof node !== 'object' || node === null || !Object.hasOwn(node, name)) return undefined
    node = (node as SchemaNode)[name]
  }
  return node
}

function decode (token: string): string | null {
  try {
    return decodeURIComponent(token).replaceAll('~1', '/').replaceAll('~0', '~')
  } catch {
    return null
  }
}

const isNode = (value: unknown): value is SchemaNode => typeof value === 'object' && value !== null && !Array.isArray(value)

function once<T> (make: () => T): () => T {
  let made: { readonly value: T } | null = null
  return () => (made ??= { value: make() }).value
}
