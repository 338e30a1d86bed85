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

/** What is found out about the schemas of a document is kept with it. */
export interface Composition {
  readonly references: References
  readonly names: Map<string, ReadonlySet<string>>
  /** By file: the schemas that name another in their `allOf`, by the key of that other. */
  readonly children: Map<string, ReadonlyMap<string, readonly Place[]>>
}

export const newComposition = (references: References): Composition => ({ references, names: new Map(), children: new Map() })

/** The schemas under a keyword that holds a list of schemas. */
export function listed (place: Place, keyword: string): readonly Place[] {
  const list = isObject(place.node) ? own(place.node, keyword) : undefined
  return Array.isArray(list) ? list.map((_, index) => childOf(place, keyword, index)) : []
}

/** A schema that is marked readOnly (request) or writeOnly (response), itself or through its references and `allOf`. */
export function withheld ({ references }: Composition, place: Place, direction: Direction): boolean {
  const marked = (at: Place, depth: number): boolean => {
    if (depth > DEPTH_MAX) throw fault(at, 'schema-endless', 'The schema is composed of itself.')
    if (!isObject(at.node)) return false
    const reference = referenceOf(at.node)
    if (reference !== undefined && marked(references.target(at, reference), depth + 1)) return true
    if (own(at.node, direction === 'request' ? 'readOnly' : 'writeOnly') === true) return true
    return listed(at, 'allOf').some(part => marked(part, depth + 1))
  }
  // A circle of nothing but references is named as such.
  references.follow(place)
  return marked(place, 0)
}

type Gather = (place: Place, into: Set<string>) => void

/** Gathers names over a schema, its references and the schemas under `keywords`; each place once, so that circles end. */
function gathered ({ references, names }: Composition, what: string, start: Place, keywords: readonly string[], gather: Gather): ReadonlySet<string> {
  const key = `${what} ${placeKey(start)}`
  const known = names.get(key)
  if (known !== undefined) return known
  const into = new Set<string>()
  const seen = new Set<string>()
  const visit = (place: Place, depth: number): void => {
    if (depth > DEPTH_MAX) throw fault(place, 'schema-too-deep', `The schema is composed over more than ${DEPTH_MAX} levels.`)
    if (seen.has(placeKey(place)) || !isObject(place.node)) return
    seen.add(placeKey(place))
    const reference = referenceOf(place.node)
    if (reference !== undefined) visit(references.target(place, reference), depth + 1)
    gather(place, into)
    for (const keyword of keywords) for (const part of listed(place, keyword)) visit(part, depth + 1)
  }
  visit(start, 0)
  const result = into.size === 0 ? EMPTY : into
  names.set(key, result)
  return result
}

/** Names of the properties that are withheld, of the schema with its references and `allOf`. */
export function withheldNames (composition: Composition, place: Place, direction: Direction): ReadonlySet<string> {
  return gathered(composition, direction, place, ['allOf'], (at, into) => {
    const properties = childOf(at, 'properties')
    for (const name of isObject(properties.node) ? Object.keys(properties.node) : []) {
      if (withheld(composition, childOf(properties, name), direction)) into.add(name)
    }
  })
}

/** Names that the schema, its references and everything composed in place require. */
export function requiredNames (composition: Composition, place: Place): ReadonlySet<string> {
  return gathered(composition, 'required', place, ['allOf', 'anyOf', 'oneOf'], (at, into) => {
    const required = isObject(at.node) ? own(at.node, 'required') : undefined
    for (const name of Array.isArray(required) ? required : []) if (typeof name === 'string') into.add(name)
  })
}

function tryTarget (references: References, from: Place, reference: string | undefined): Place | undefined {
  try {
    return reference === undefined ? undefined : references.target(from, reference)
  } catch (error) {
    // Another schema of the file is odd; it is none of what is asked for here.
    if (error instanceof DocumentFault) return undefined
    throw error
  }
}

function childrenIn ({ references, children }: Composition, { source }: Place): ReadonlyMap<string, readonly Place[]> {
  const known = children.get(source.file)
  if (known !== undefined) return known
  const index = new Map<string, Place[]>()
  for (const at of [childOf(rootOf(source), 'components', 'schemas'), childOf(rootOf(source), 'definitions')]) {
    for (const name of isObject(at.node) ? Object.keys(at.node) : []) {
      const schema = childOf(at, name)
      for (const part of listed(schema, 'allOf')) {
        const parent = tryTarget(references, part, referenceOf(part.node))
        if (parent !== undefined) index.set(placeKey(parent), [...index.get(placeKey(parent)) ?? [], schema])
      }
    }
  }
  children.set(source.file, index)
  return index
}

/** The subtypes of a schema with a discriminator and no `oneOf` or `anyOf` of its own; empty where there are none, or too many. */
export function variantsOf (composition: Composition, place: Place): readonly Place[] {
  const { node } = place
  if (!isObject(node) || Object.hasOwn(node, 'oneOf') || Object.hasOwn(node, 'anyOf')) return []
  const discriminator = own(node, 'discriminator')
  if (typeof discriminator !== 'string' && !isObject(discriminator)) return []
  const mapping = isObject(discriminator) ? own(discriminator, 'mapping') : undefined
  const mapped = Object.values(isObject(mapping) ? mapping : {})
    .filter((value): value is string => typeof value === 'string')
    // OpenAPI 3.1 §4.8.25: a bare value is a schema's name
    .map(value => tryTarget(composition.references, place, /[#/.]/.test(value) ? value : `#/components/schemas/${value}`))
    .filter(target => target !== undefined)
  const subtypes = childrenIn(composition, place).get(placeKey(place)) ?? []
  const found = new Map([...mapped, ...subtypes].map(child => [placeKey(child), child]))
  found.delete(placeKey(place))
  return found.size > VARIANTS_MAX ? [] : [...found.values()]
}
