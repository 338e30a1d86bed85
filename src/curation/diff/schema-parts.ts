// Reading schemas for a comparison: what stands behind references, what parts one is put together of, and how parts are called.
import { isDeepStrictEqual } from 'node:util'
import { isObject, type Json, type JsonObject } from '../../catalog/catalog.ts'

const HOPS_MAX = 20

export function referenceOf (schema: Json): string | null {
  const reference = isObject(schema) ? schema.$ref : undefined
  return typeof reference === 'string' && reference.startsWith('#/$defs/') ? reference.slice('#/$defs/'.length) : null
}

export function definition (root: JsonObject, name: string): Json | undefined {
  const definitions = root.$defs
  return isObject(definitions) && Object.hasOwn(definitions, name) ? definitions[name] : undefined
}

export function resolved (schema: Json, root: JsonObject): Json {
  let at = schema
  for (let hops = 0; hops < HOPS_MAX; hops++) {
    const name = referenceOf(at)
    const next = name === null ? undefined : definition(root, name)
    if (next === undefined) return at
    at = next
  }
  return at
}

export interface Bare {
  /** Names that were followed, outermost first, each with whether null was admitted around it. */
  readonly names: ReadonlyArray<{ readonly name: string, readonly nullable: boolean }>
  /** Neither a reference nor a choice between null and something. */
  readonly schema: Json
  readonly nullable: boolean
}

/** What stands behind references and beside null: schemas say that something may be null in three ways that mean one. */
export function bare (schema: Json, root: JsonObject): Bare {
  const names: Array<{ readonly name: string, readonly nullable: boolean }> = []
  let [at, nullable] = [schema, false]
  for (let hops = 0; hops < HOPS_MAX; hops++) {
    const name = referenceOf(at)
    const target = name === null ? undefined : definition(root, name)
    if (target !== undefined) {
      names.push({ name: name!, nullable })
      at = target
      continue
    }
    const without = withoutNull(at)
    if (without === null) break
    nullable = true
    at = without
  }
  return { names, schema: at, nullable }
}

/** The name that it goes by, where it has one. */
export const namedAs = ({ names, schema }: Bare): Json => names.length === 0 ? schema : { $ref: `#/$defs/${names.at(-1)!.name}` }

/** null where it does not say that it may be null beside something else. */
function withoutNull (schema: Json): Json | null {
  if (!isObject(schema)) return null
  for (const keyword of ['anyOf', 'oneOf'] as const) {
    const branches = listOf(schema[keyword])
    const others = branches.filter(branch => !isNull(branch))
    if (others.length === branches.length || others.length === 0) continue
    const alone = others.length === 1 && Object.keys(schema).every(name => name === keyword || SILENT.has(name))
    return alone ? others[0]! : { ...schema, [keyword]: others }
  }
  const types = listOf(schema.type)
  if (!types.includes('null') || types.length < 2) return null
  const others = types.filter(type => type !== 'null')
  return { ...schema, type: others.length === 1 ? others[0]! : others }
}

const SILENT: ReadonlySet<string> = new Set(['title', 'description', 'deprecated', 'default', 'examples', '$defs'])
const isNull = (branch: Json): boolean => isObject(branch) && branch.type === 'null'

export function mentionsReferences (schema: Json): boolean {
  if (Array.isArray(schema)) return schema.some((item: Json) => mentionsReferences(item))
  return isObject(schema) && (typeof schema.$ref === 'string' || Object.values(schema).some(mentionsReferences))
}

export function typesOf (schema: JsonObject): ReadonlySet<string> | null {
  const types = typeof schema.type === 'string' ? [schema.type] : listOf(schema.type).map(String)
  return types.length === 0 ? null : new Set(types)
}

export function valuesOf (schema: JsonObject): readonly Json[] | null {
  if (schema.const !== undefined) return [schema.const]
  return Array.isArray(schema.enum) ? schema.enum as readonly Json[] : null
}

/** The parts of a composition with what stands beside them; anything else is its own only part. */
export function partsOf (schema: Json, found: JsonObject): Json[] {
  if (found.allOf === undefined) return [schema]
  const { allOf, ...own } = found
  const beside = Object.keys(own).some(name => !SILENT.has(name))
  return [...listOf(allOf), ...beside ? [own as Json] : []]
}

/** A schema without references and compositions at its top. */
export function merged (schema: Json, root: JsonObject, depth = 0): JsonObject {
  const found = resolved(schema, root)
  if (!isObject(found)) return {}
  if (found.allOf === undefined || depth > 10) return found
  const { allOf, ...own } = found
  return together([...listOf(allOf).map(part => merged(part, root, depth + 1)), own as JsonObject])
}

export function together (parts: readonly JsonObject[]): JsonObject {
  if (parts.length === 1) return parts[0]!
  const whole: { [keyword: string]: Json } = Object.assign({}, ...parts)
  const properties = Object.assign({}, ...parts.map(part => mapOf(part.properties)))
  const required = [...new Set(parts.flatMap(part => [...namesOf(part.required)]))]
  if (Object.keys(properties).length > 0) whole['properties'] = properties
  if (required.length > 0) whole['required'] = required
  return whole
}

export const choicesOf = (schema: JsonObject): readonly Json[] | null => {
  const choices = [...listOf(schema.oneOf), ...listOf(schema.anyOf)]
  return choices.length > 0 && schema.properties === undefined ? choices : null
}

export function mostLike (schema: Json, found: JsonObject, choices: readonly Json[], root: JsonObject): Json {
  const name = referenceOf(schema)
  const likeness = (choice: Json): number => {
    const other = resolved(choice, root)
    if (!isObject(other)) return -1
    if (name !== null && referenceOf(choice) === name) return Infinity
    const shared = Object.keys(mapOf(found.properties)).filter(property => Object.hasOwn(mapOf(other.properties), property)).length
    return shared * 2 + (isDeepStrictEqual(typesOf(found), typesOf(other)) ? 1 : 0)
  }
  return [...choices].sort((one, other) => likeness(other) - likeness(one))[0]!
}

export const listOf = (value: Json | undefined): readonly Json[] => Array.isArray(value) ? value as readonly Json[] : []
export const mapOf = (value: Json | undefined): JsonObject => isObject(value) ? value : {}
export const namesOf = (value: Json | undefined): ReadonlySet<string> => new Set(listOf(value).map(String))

/** Its name, its title, or what it is made of. */
export function nameOfBranch (branch: Json): string {
  const name = referenceOf(branch)
  if (name !== null || !isObject(branch)) return name ?? 'anything'
  if (typeof branch.title === 'string') return branch.title
  const properties = Object.keys(mapOf(branch.properties))
  if (properties.length > 0) return `{${properties.slice(0, 3).join(', ')}${properties.length > 3 ? ', …' : ''}}`
  const parts = listOf(branch.allOf).map(nameOfBranch)
  return parts.length > 0 ? parts.join(' + ') : [...typesOf(branch) ?? ['anything']].join(' or ')
}

export const listed = (values: readonly Json[]): string => values.slice(0, 12).map(value => JSON.stringify(value)).join(', ') + (
  values.length > 12 ? ` and ${values.length - 12} more` : ''
)

export function told (value: Json | undefined): string {
  const text = value === undefined ? 'none' : JSON.stringify(value)
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}
