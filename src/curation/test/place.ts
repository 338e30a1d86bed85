// A place in a value, with all the parts of a schema that speak of it: what `$ref`, `allOf` and the chosen branch of a union bring in stands side
// by side, so that a bound is looked for once, wherever it is written.
import { isObject, type Json, type JsonObject } from '../../catalog/catalog.ts'

export interface Part {
  readonly schema: JsonObject
  /** JSON Pointer of this part in the input schema: what a boundary is called. */
  readonly at: string
}

export interface Place {
  readonly parts: readonly Part[]
  /** What the parts were gathered from, before references, composition and choices were followed. */
  readonly from: readonly Part[]
  /** Some part belongs to the branch of a union: what breaks it may be right for another branch. */
  readonly inUnion: boolean
}

/** Which branch of each union is taken, by the pointer of the union; the first where none is named. */
export type Choices = ReadonlyMap<string, number>

export class SchemaPlaces {
  readonly root: JsonObject
  readonly choices: Choices

  constructor (root: JsonObject, choices: Choices = new Map()) {
    this.root = root
    this.choices = choices
  }

  get top (): Place {
    return this.#place([{ schema: this.root, at: '' }], false)
  }

  property (place: Place, name: string): Place {
    const parts = place.parts.flatMap(({ schema, at }) => {
      const property = isObject(schema.properties) && Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined
      return isObject(property) ? [{ schema: property, at: `${at}/properties/${escaped(name)}` }] : []
    })
    return this.#place(parts, place.inUnion)
  }

  /** The item at an index; `prefixItems` come first. */
  item (place: Place, index: number): Place {
    const parts = place.parts.flatMap(({ schema, at }): Part[] => {
      const fixed = Array.isArray(schema.prefixItems) ? schema.prefixItems as readonly Json[] : []
      if (index < fixed.length) return isObject(fixed[index]) ? [{ schema: fixed[index], at: `${at}/prefixItems/${index}` }] : []
      return isObject(schema.items) ? [{ schema: schema.items, at: `${at}/items` }] : []
    })
    return this.#place(parts, place.inUnion)
  }

  /** The same place where other branches are chosen. */
  again (place: Place): Place {
    return this.#place(place.from, place.inUnion)
  }

  choosing (union: string, branch: number): SchemaPlaces {
    return new SchemaPlaces(this.root, new Map([...this.choices, [union, branch]]))
  }

  #place (from: readonly Part[], inUnion: boolean): Place {
    const parts: Part[] = []
    const seen = new Set<string>()
    let within = inUnion
    const add = ({ schema, at }: Part): void => {
      if (seen.has(at)) return
      seen.add(at)
      parts.push({ schema, at })
      const target = typeof schema.$ref === 'string' ? this.resolve(schema.$ref) : null
      if (target !== null) add({ schema: target, at: (schema.$ref as string).slice(1) })
      for (const [index, branch] of listOf(schema.allOf).entries()) if (isObject(branch)) add({ schema: branch, at: `${at}/allOf/${index}` })
      for (const keyword of ['oneOf', 'anyOf'] as const) {
        const branches = listOf(schema[keyword])
        if (branches.length === 0) continue
        const union = `${at}/${keyword}`
        const index = this.choices.get(union) ?? 0
        const branch = branches[index]
        within ||= branches.length > 1
        if (isObject(branch)) add({ schema: branch, at: `${union}/${index}` })
      }
    }
    for (const part of from) add(part)
    return { parts, from, inUnion: within }
  }

  /** What `#/$defs/name` names. */
  resolve (reference: string): JsonObject | null {
    const name = /^#\/\$defs\/([^/]+)$/.exec(reference)?.[1]
    const definitions = this.root.$defs
    const found = name === undefined || !isObject(definitions) ? undefined : definitions[name.replaceAll('~1', '/').replaceAll('~0', '~')]
    return isObject(found) ? found : null
  }
}

export const escaped = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1')

export const listOf = (value: Json | undefined): readonly Json[] => Array.isArray(value) ? value as readonly Json[] : []

/** Types that every part allows; all six where none says anything. */
export function typesOf (place: Place): ReadonlySet<string> {
  let allowed = new Set(['null', 'boolean', 'integer', 'number', 'string', 'array', 'object'])
  for (const { schema } of place.parts) {
    const { type } = schema
    const own = typeof type === 'string' ? [type] : listOf(type).map(String)
    if (own.length === 0) continue
    const widened = new Set(own.includes('number') ? [...own, 'integer'] : own)
    allowed = new Set([...allowed].filter(one => widened.has(one)))
  }
  return allowed
}

/** The strictest number that parts give for a keyword, with where it stands; null where none gives one. */
export function bound (place: Place, keyword: string, strictest: 'greatest' | 'least'): { readonly value: number, readonly at: string } | null {
  let found: { readonly value: number, readonly at: string } | null = null
  for (const { schema, at } of place.parts) {
    const value = schema[keyword]
    if (typeof value !== 'number') continue
    if (found === null || (strictest === 'greatest' ? value > found.value : value < found.value)) found = { value, at: `${at}/${keyword}` }
  }
  return found
}

/** All values of a keyword, with where each stands. */
export function all (place: Place, keyword: string): ReadonlyArray<{ readonly value: Json, readonly at: string }> {
  return place.parts.flatMap(({ schema, at }) => schema[keyword] === undefined ? [] : [{ value: schema[keyword], at: `${at}/${keyword}` }])
}

/** Names of properties, in the order of the schema. */
export function propertiesOf (place: Place): readonly string[] {
  return [...new Set(place.parts.flatMap(({ schema }) => isObject(schema.properties) ? Object.keys(schema.properties) : []))]
}

export function requiredOf (place: Place): ReadonlyMap<string, string> {
  const required = new Map<string, string>()
  for (const { schema, at } of place.parts) {
    for (const name of listOf(schema.required)) required.set(String(name), `${at}/required/${escaped(String(name))}`)
  }
  return required
}
