// The profile in which a model fills in every property: what is optional becomes nullable, and null means that it is absent. Both directions stand here,
// so that what is sent back is read by the rule by which it was written.
import { isObject, type Json, type JsonObject } from '../catalog/catalog.ts'
import type { Losses } from './schema-loss.ts'

const DROPPED = ['uniqueItems']
const FORMATS = new Set(['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid'])

/** @param schema a portable one */
export function strictSchema (schema: JsonObject, losses: Losses, at = ''): JsonObject {
  if (Array.isArray(schema['anyOf'])) {
    const branches = schema['anyOf'] as readonly JsonObject[]
    return { ...schema, anyOf: branches.map((branch, index) => strictSchema(branch, losses, `${at}/anyOf/${index}`)) }
  }
  if (schema['type'] === 'array') {
    const plain = withoutDropped(schema, losses, at)
    return { ...plain, items: strictSchema(schema['items'] as JsonObject, losses, `${at}/items`) }
  }
  if (schema['type'] !== 'object') return withoutDropped(schema, losses, at)
  const required = new Set(requiredOf(schema))
  const properties = Object.fromEntries(Object.entries(propertiesOf(schema)).map(([name, property]) => {
    const pointer = `${at}/properties/${name}`
    const strict = strictSchema(property, losses, pointer)
    if (required.has(name)) return [name, strict]
    if (isNullable(property)) {
      losses.add(pointer, 'required', 'null is sent as null: that it is absent cannot be said')
      return [name, strict]
    }
    losses.add(pointer, 'required', 'null, which means that it is absent')
    return [name, nullable(strict)]
  }))
  const plain = withoutDropped(schema, losses, at)
  return { ...plain, type: 'object', properties, required: Object.keys(properties), additionalProperties: false }
}

/** The arguments as they are meant: null where the argument is optional and cannot be null stands for its absence. */
export function withoutAbsent (schema: JsonObject, value: Json): Json {
  if (Array.isArray(schema['anyOf'])) {
    const branch = (schema['anyOf'] as readonly JsonObject[]).find(one => mayBe(one, value))
    return branch === undefined ? value : withoutAbsent(branch, value)
  }
  if (Array.isArray(value) && isObject(schema['items'])) return value.map(item => withoutAbsent(schema['items'] as JsonObject, item as Json))
  if (!isObject(value)) return value
  const required = new Set(requiredOf(schema))
  const properties = propertiesOf(schema)
  return Object.fromEntries(Object.entries(value).flatMap(([name, item]) => {
    const property = Object.hasOwn(properties, name) ? properties[name]! : null
    if (property === null) return [[name, item]]
    if (item === null && !required.has(name) && !isNullable(property)) return []
    return [[name, withoutAbsent(property, item)]]
  }))
}

/** By the type and by what is written out: enough to tell the branches of a union apart. */
function mayBe (schema: JsonObject, value: Json): boolean {
  if (schema['const'] !== undefined && schema['const'] !== value) return false
  if (Array.isArray(schema['enum']) && !schema['enum'].includes(value as never)) return false
  switch (schema['type']) {
    case 'null': return value === null
    case 'array': return Array.isArray(value)
    case 'integer': case 'number': return typeof value === 'number'
    case 'object': return isObject(value) && fits(schema, value)
    default: return typeof value === schema['type']
  }
}

function fits (schema: JsonObject, value: JsonObject): boolean {
  const properties = propertiesOf(schema)
  if (!requiredOf(schema).every(name => Object.hasOwn(value, name) && mayBe(properties[name] ?? {}, value[name]!))) return false
  return Object.keys(value).every(name => Object.hasOwn(properties, name))
}

function withoutDropped (schema: JsonObject, losses: Losses, at: string): JsonObject {
  const said: string[] = []
  const rest: Record<string, Json> = { ...schema }
  const drop = (keyword: string): void => {
    losses.add(at, keyword, 'words in the description')
    said.push(`${keyword}: ${JSON.stringify(rest[keyword])}`)
    delete rest[keyword]
  }
  for (const keyword of DROPPED) if (rest[keyword] !== undefined) drop(keyword)
  if (typeof rest['format'] === 'string' && !FORMATS.has(rest['format'])) drop('format')
  return said.length === 0 ? rest : { ...rest, description: described(schema, said) }
}

/** What a keyword would have said, for the model to read. */
export function described (schema: JsonObject, said: readonly string[]): string {
  const own = typeof schema['description'] === 'string' ? `${schema['description']} ` : ''
  return `${own}(${said.join(', ')})`
}

const isNullable = (schema: JsonObject): boolean =>
  schema['type'] === 'null' || (Array.isArray(schema['anyOf']) && (schema['anyOf'] as readonly JsonObject[]).some(isNullable))

function nullable (schema: JsonObject): JsonObject {
  const { description, title, ...rest } = schema
  const words = { ...(title === undefined ? {} : { title }), ...(description === undefined ? {} : { description }) }
  if (Array.isArray(rest['anyOf'])) return { ...words, anyOf: [...rest['anyOf'] as readonly Json[], { type: 'null' }] }
  return { ...words, anyOf: [rest, { type: 'null' }] }
}

export const propertiesOf = (schema: JsonObject): { readonly [name: string]: JsonObject } =>
  isObject(schema['properties']) ? schema['properties'] as { readonly [name: string]: JsonObject } : {}

const requiredOf = (schema: JsonObject): readonly string[] => Array.isArray(schema['required']) ? schema['required'] as string[] : []
