// The input schema of an action as every model provider takes it: one object at the root, no references, no union at the root, one `type` a schema,
// closed objects. What that form cannot say is dropped and reported; it never allows less than the action does, and the broker checks the whole rule.
import { isObject, type Json, type JsonObject } from '../catalog/catalog.ts'
import { Losses, type Loss } from './schema-loss.ts'

export interface PortableSchema {
  readonly schema: JsonObject
  readonly losses: readonly Loss[]
}

/** Deeper or longer than this and some client cuts the tool or refuses the whole list. */
const DEPTH_ADVISED = 5
const ENUM_ADVISED = 100
const PROPERTY_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/

const KEPT = [
  'title', 'description', 'type', 'enum', 'const', 'format', 'pattern', 'minLength', 'maxLength', 'minimum', 'maximum', 'exclusiveMinimum',
  'exclusiveMaximum', 'multipleOf', 'minItems', 'maxItems', 'uniqueItems',
]
/** Said by no provider's form; the words are what becomes of them. */
const DROPPED = [
  'if', 'then', 'else', 'not', 'dependentRequired', 'dependentSchemas', 'propertyNames', 'contains', 'minContains', 'maxContains', 'minProperties',
  'maxProperties', 'contentEncoding', 'contentMediaType',
]

export function portableSchema (root: JsonObject): PortableSchema {
  const losses = new Losses()
  const writer = new Writer(root, losses)
  return { schema: writer.root(), losses: losses.list() }
}

class Writer {
  readonly #root: JsonObject
  readonly #losses: Losses

  constructor (root: JsonObject, losses: Losses) {
    this.#root = root
    this.#losses = losses
  }

  root (): JsonObject {
    const flat = this.#flat(this.#root, '', [])
    const merged = this.#withoutRootUnion(flat)
    return this.#object(merged, '', 0, [])
  }

  /** A root that is one of several objects becomes one object with the properties of all; required is what all require. */
  #withoutRootUnion (schema: JsonObject): JsonObject {
    let merged = schema
    for (const keyword of ['anyOf', 'oneOf']) {
      const branches = merged[keyword]
      if (!Array.isArray(branches)) continue
      this.#losses.add('', keyword, 'one object with the properties of all branches; which of them go together is not said')
      const flat = (branches as readonly Json[]).filter(isObject).map((branch, index) => this.#flat(branch, `/${keyword}/${index}`, []))
      const { [keyword]: _dropped, ...rest } = merged
      merged = { ...rest, properties: unionOfProperties(flat, propertiesOf(merged)), required: requiredByAll(flat, requiredOf(merged)) }
    }
    return merged
  }

  /** References followed and `allOf` merged in, so that what is left can be read by itself. */
  #flat (schema: JsonObject, at: string, stack: readonly string[]): JsonObject {
    let flat = schema
    let inner = stack
    const { $ref: reference } = schema
    if (typeof reference === 'string') {
      const { $ref: _followed, ...beside } = schema
      const target = stack.includes(reference) ? undefined : this.#definition(reference)
      inner = [...stack, reference]
      flat = target === undefined ? beside : { ...this.#flat(target, at, inner), ...beside }
    }
    const { allOf, ...rest } = flat
    if (!Array.isArray(allOf)) return flat
    this.#losses.add(at, 'allOf', 'one schema with the properties of all parts; of two rules on the same thing the first is said')
    const parts = (allOf as readonly Json[]).filter(isObject).map(part => this.#flat(part, at, inner))
    return parts.reduce<JsonObject>((merged, part) => ({
      ...part,
      ...merged,
      ...(part['properties'] === undefined && merged['properties'] === undefined
        ? {}
        : { properties: { ...propertiesOf(part), ...propertiesOf(merged) } }),
      ...(part['required'] === undefined ? {} : { required: [...new Set([...requiredOf(merged), ...requiredOf(part)])] }),
    }), rest)
  }

  #definition (reference: string): JsonObject | undefined {
    const name = reference.slice('#/$defs/'.length).replaceAll('~1', '/').replaceAll('~0', '~')
    const definitions = this.#root['$defs']
    const target = isObject(definitions) ? definitions[name] : undefined
    return isObject(target) ? target : undefined
  }

  #value (value: Json | undefined, at: string, depth: number, stack: readonly string[]): JsonObject {
    if (!isObject(value)) return { type: 'string' }
    const reference = typeof value['$ref'] === 'string' ? value['$ref'] : null
    if (reference !== null && stack.includes(reference)) {
      this.#losses.add(at, '$ref', 'an object of which nothing is said: the schema comes back to itself')
      return { type: 'object', description: 'The same again.' }
    }
    const inner = reference === null ? stack : [...stack, reference]
    const schema = this.#flat(value, at, stack)
    if (depth === DEPTH_ADVISED + 1) this.#losses.add(at, 'depth', `kept, but some providers read only ${DEPTH_ADVISED} levels`)
    const branches = schema['anyOf'] ?? schema['oneOf']
    if (Array.isArray(branches)) return this.#union(schema, branches as readonly Json[], at, depth, inner)
    const types = typesOf(schema)
    if (types.length > 1) {
      const { type: _split, description, title, ...rest } = schema
      const anyOf = types.map(type => this.#value({ ...applicableTo(type, rest), type }, at, depth, inner))
      return { ...(title === undefined ? {} : { title }), ...(description === undefined ? {} : { description }), anyOf }
    }
    if (types[0] === 'object') return this.#object(schema, at, depth, inner)
    if (types[0] === 'array') return this.#array(schema, at, depth, inner)
    return this.#plain({ ...schema, ...(types[0] === undefined ? {} : { type: types[0] }) }, at)
  }

  #union (schema: JsonObject, branches: readonly Json[], at: string, depth: number, stack: readonly string[]): JsonObject {
    const keyword = schema['anyOf'] === undefined ? 'oneOf' : 'anyOf'
    if (keyword === 'oneOf') this.#losses.add(at, 'oneOf', 'anyOf: that exactly one branch may match is not said')
    const { anyOf: _any, oneOf: _one, title, description, ...beside } = schema
    // Rules beside the branches hold for each of them.
    const anyOf = branches.map((branch, index) => this.#value(isObject(branch) ? { ...beside, ...branch } : branch, `${at}/${keyword}/${index}`, depth, stack))
    return { ...(title === undefined ? {} : { title }), ...(description === undefined ? {} : { description }), anyOf }
  }

  #object (schema: JsonObject, at: string, depth: number, stack: readonly string[]): JsonObject {
    const properties: Record<string, JsonObject> = {}
    for (const [name, property] of Object.entries(propertiesOf(schema))) {
      const pointer = `${at}/properties/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
      if (property === false) continue
      if (!PROPERTY_NAME.test(name)) this.#losses.add(pointer, 'name', 'kept, but some providers take only letters, digits and _ in a name')
      properties[name] = this.#value(property, pointer, depth + 1, stack)
    }
    const required = requiredOf(schema).filter(name => Object.hasOwn(properties, name))
    const plain = this.#plain(schema, at)
    return { ...plain, type: 'object', properties, ...(required.length === 0 ? {} : { required }), additionalProperties: false }
  }

  #array (schema: JsonObject, at: string, depth: number, stack: readonly string[]): JsonObject {
    const { prefixItems } = schema
    const plain = this.#plain(schema, at)
    if (!Array.isArray(prefixItems)) return { ...plain, items: this.#value(schema['items'], `${at}/items`, depth + 1, stack) }
    this.#losses.add(at, 'prefixItems', 'items: which item stands where is not said')
    const kinds = (prefixItems as readonly Json[]).map((item, index) => this.#value(item, `${at}/prefixItems/${index}`, depth + 1, stack))
    if (isObject(schema['items'])) kinds.push(this.#value(schema['items'], `${at}/items`, depth + 1, stack))
    const different = [...new Map(kinds.map(kind => [JSON.stringify(kind), kind])).values()]
    return { ...plain, items: different.length === 1 ? different[0]! : { anyOf: different } }
  }

  /** The keywords that stay as they are; the others are reported. */
  #plain (schema: JsonObject, at: string): JsonObject {
    for (const keyword of DROPPED) if (schema[keyword] !== undefined) this.#losses.add(at, keyword, 'not said')
    const { enum: values } = schema
    if (Array.isArray(values) && values.length > ENUM_ADVISED) {
      this.#losses.add(at, 'enum', `kept, but some providers take only ${ENUM_ADVISED} values`)
    }
    return Object.fromEntries(KEPT.flatMap(keyword => schema[keyword] === undefined ? [] : [[keyword, schema[keyword]]]))
  }
}

const propertiesOf = (schema: JsonObject): JsonObject => isObject(schema['properties']) ? schema['properties'] : {}
const requiredOf = (schema: JsonObject): readonly string[] => Array.isArray(schema['required']) ? schema['required'] as string[] : []

function unionOfProperties (branches: readonly JsonObject[], own: JsonObject): JsonObject {
  const union: Record<string, Json> = { ...own }
  for (const branch of branches) {
    for (const [name, property] of Object.entries(propertiesOf(branch))) {
      const known = union[name]
      if (known === undefined) union[name] = property
      else if (!Object.hasOwn(own, name) && JSON.stringify(known) !== JSON.stringify(property)) union[name] = eitherOf(known, property)
    }
  }
  return union
}

function eitherOf (one: Json, other: Json): JsonObject {
  const branches = isObject(one) && Array.isArray(one['anyOf']) && Object.keys(one).length === 1 ? one['anyOf'] as readonly Json[] : [one]
  return { anyOf: [...branches, other] }
}

function requiredByAll (branches: readonly JsonObject[], own: readonly string[]): readonly string[] {
  const [first, ...rest] = branches.map(branch => new Set(requiredOf(branch)))
  const everywhere = [...first ?? []].filter(name => rest.every(set => set.has(name)))
  return [...new Set([...own, ...everywhere])]
}

/** The declared types, or those of the values that are written out. `number` already says `integer`. */
function typesOf (schema: JsonObject): readonly string[] {
  const { type } = schema
  if (typeof type === 'string') return [type]
  if (Array.isArray(type)) return type as string[]
  if (schema['properties'] !== undefined) return ['object']
  const values = schema['const'] === undefined ? schema['enum'] : [schema['const']]
  return Array.isArray(values) ? [...new Set((values as readonly Json[]).map(typeOfValue))] : []
}

function typeOfValue (value: Json): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value
}

/** Of the values that are written out, those of one type. */
function applicableTo (type: string, schema: JsonObject): JsonObject {
  const { enum: values, ...rest } = schema
  const own = Array.isArray(values) ? (values as readonly Json[]).filter(value => typeOfValue(value) === type || type === 'number') : null
  if (type === 'null') return {}
  return own === null ? rest : { ...rest, enum: own }
}
