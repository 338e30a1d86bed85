// What a schema is together with the schemas composed into it: which properties are for one direction only, and which schemas are its variants.
import { DocumentFault } from './fault.ts'
import { isObject, own } from './pointer.ts'
import { childOf, fault, placeKey, referenceOf, rootOf } from './reference.ts'
import type { Place, References } from './reference.ts'

/** A request must not carry what is readOnly, a response does not carry what is writeOnly. */
export type Direction = 'request' | 'response'

export const EMPTY: ReadonlySet<string> = new Set()

/** More variants than this are not spelled out. */
const VARIANTS_MAX = 16

const DEPTH_MAX = 64

/** The schemas under a keyword that holds a list of schemas. */
export function listed (place: Place, keyword: string): readonly Place[] {
  const list = isObject(place.node) ? own(place.node, keyword) : undefined
  return Array.isArray(list) ? list.map((_, index) => childOf(place, keyword, index)) : []
}

export interface Composition {
  /** A schema that is marked readOnly (request) or writeOnly (response), itself or through its references and `allOf`. */
  withheld (place: Place, direction: Direction): boolean
  /** Names of the properties so marked, of the schema with its references and `allOf`. */
  withheldNames (place: Place, direction: Direction): ReadonlySet<string>
  /** Names that the schema, its references and everything composed in place require. */
  requiredNames (place: Place): ReadonlySet<string>
  /** The subtypes of a schema with a discriminator and no `oneOf` or `anyOf` of its own; empty where there are none, or too many. */
  variants (place: Place): readonly Place[]
}

export function createComposition (references: References): Composition {
  const names = new Map<string, ReadonlySet<string>>()
  const children = new Map<string, ReadonlyMap<string, readonly Place[]>>()

  function withheld (place: Place, direction: Direction, depth = 0): boolean {
    if (depth > DEPTH_MAX) throw fault(place, 'schema-endless', 'The schema is composed of itself.')
    if (!isObject(place.node)) return false
    const reference = referenceOf(place.node)
    if (reference !== undefined && depth === 0) references.follow(place)
    if (reference !== undefined && withheld(references.target(place, reference), direction, depth + 1)) return true
    if (own(place.node, direction === 'request' ? 'readOnly' : 'writeOnly') === true) return true
    return listed(place, 'allOf').some(part => withheld(part, direction, depth + 1))
  }

  /** Collects over a schema, its references and the schemas under `keywords`; each place once, so that circles end. */
  function collect (place: Place, keywords: readonly string[], own: (place: Place, into: Set<string>) => void, into: Set<string>, seen: Set<string>): void {
    const key = placeKey(place)
    if (seen.has(key) || !isObject(place.node)) return
    seen.add(key)
    const reference = referenceOf(place.node)
    if (reference !== undefined) collect(references.target(place, reference), keywords, own, into, seen)
    own(place, into)
    for (const keyword of keywords) for (const part of listed(place, keyword)) collect(part, keywords, own, into, seen)
  }

  function remembered (key: string, fill: (into: Set<string>) => void): ReadonlySet<string> {
    const known = names.get(key)
    if (known !== undefined) return known
    const into = new Set<string>()
    fill(into)
    const result = into.size === 0 ? EMPTY : into
    names.set(key, result)
    return result
  }

  /** The schemas of one file that name another in their `allOf`, by the key of that other. */
  function childrenIn (place: Place): ReadonlyMap<string, readonly Place[]> {
    const known = children.get(place.source.file)
    if (known !== undefined) return known
    const index = new Map<string, Place[]>()
    for (const at of [childOf(rootOf(place.source), 'components', 'schemas'), childOf(rootOf(place.source), 'definitions')]) {
      for (const name of isObject(at.node) ? Object.keys(at.node) : []) {
        const schema = childOf(at, name)
        for (const part of listed(schema, 'allOf')) {
          const parent = tryTarget(part, referenceOf(part.node))
          if (parent !== undefined) index.set(placeKey(parent), [...index.get(placeKey(parent)) ?? [], schema])
        }
      }
    }
    children.set(place.source.file, index)
    return index
  }

  function tryTarget (from: Place, reference: string | undefined): Place | undefined {
    try {
      return reference === undefined ? undefined : references.target(from, reference)
    } catch (error) {
      // Another schema of the file is odd; it is none of what is asked for here.
      if (error instanceof DocumentFault) return undefined
      throw error
    }
  }

  function variants (place: Place): readonly Place[] {
    if (!isObject(place.node) || ['oneOf', 'anyOf'].some(name => Object.hasOwn(place.node as object, name))) return []
    const discriminator = own(place.node, 'discriminator')
    if (typeof discriminator !== 'string' && !isObject(discriminator)) return []
    const mapping = isObject(discriminator) ? own(discriminator, 'mapping') : undefined
    const mapped = Object.values(isObject(mapping) ? mapping : {})
      .filter((value): value is string => typeof value === 'string')
      // OpenAPI 3.1 §4.8.25: a bare value is a schema's name
      .map(value => tryTarget(place, /[#/.]/.test(value) ? value : `#/components/schemas/${value}`))
      .filter(target => target !== undefined)
    const found = new Map([...mapped, ...childrenIn(place).get(placeKey(place)) ?? []].map(child => [placeKey(child), child]))
    found.delete(placeKey(place))
    return found.size > VARIANTS_MAX ? [] : [...found.values()]
  }

  return {
    withheld,
    withheldNames: (place, direction) => remembered(`${direction} ${placeKey(place)}`, into => collect(place, ['allOf'], (at, names) => {
      const properties = childOf(at, 'properties')
      for (const name of isObject(properties.node) ? Object.keys(properties.node) : []) {
        if (withheld(childOf(properties, name), direction)) names.add(name)
      }
    }, into, new Set())),
    requiredNames: place => remembered(`required ${placeKey(place)}`, into => collect(place, ['allOf', 'anyOf', 'oneOf'], (at, names) => {
      const required = isObject(at.node) ? own(at.node, 'required') : undefined
      for (const name of Array.isArray(required) ? required : []) if (typeof name === 'string') names.add(name)
    }, into, new Set())),
    variants,
  }
}
