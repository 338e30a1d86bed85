// One Schema Object of any version, rewritten to 2020-12. What it refers to is not followed: it becomes a reference into `$defs`, noted as needed.
import { createHash } from 'node:crypto'
import type { JsonSchema } from './operation.ts'
import { EMPTY, listed, requiredNames, variantsOf, withheld, withheldNames } from './composition.ts'
import type { Composition, Direction } from './composition.ts'
import { plainKeywords, usablePattern } from './keywords.ts'
import { isObject, own } from './pointer.ts'
import type { Dictionary } from './pointer.ts'
import { childOf, fault, placeKey, referenceOf } from './reference.ts'
import type { Place } from './reference.ts'

const DEPTH_MAX = 100
// The largest closures of real documents (Stripe's, Microsoft Graph's) have a tenth of this.
export const NODES_MAX = 100_000

const SINGLE = [
  'not', 'if', 'then', 'else', 'contains', 'propertyNames', 'additionalProperties', 'unevaluatedProperties', 'unevaluatedItems',
] as const
const LISTS = ['allOf', 'anyOf', 'oneOf', 'prefixItems'] as const
const MAPS = ['properties', 'patternProperties', 'dependentSchemas'] as const
/** These apply to the very value that their schema applies to. */
const IN_PLACE: ReadonlySet<string> = new Set(['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'dependentSchemas'])

/** What is the same for all schemas of a document. */
export interface Dialects {
  readonly composition: Composition
  /** The document's own file, whose component names are kept. */
  readonly mainFile: string
  /** Whether a file is written in a dialect where what stands beside `$ref` has no meaning (2.0, 3.0). */
  readonly legacy: (place: Place) => boolean
}

/** A schema that another one needs by name. */
export interface Need {
  readonly key: string
  readonly name: string
  readonly place: Place
  /** Names that it must not require, because the schema it is composed into forbids them. */
  readonly dispensable: ReadonlySet<string>
  /** The variants of a schema with a discriminator, beside the schema itself. */
  readonly variants: readonly Place[]
}

/** What is noted while one schema is rewritten. */
export interface Draft {
  readonly dialects: Dialects
  readonly direction: Direction
  readonly needs: Map<string, Need>
  /** Keys of the needs that apply to the same value: a circle of them would never end. */
  readonly inPlace: Set<string>
  readonly warnings: string[]
  nodes: number
}

/** Where in a schema the rewriting stands. */
export interface Spot {
  readonly depth: number
  readonly inPlace: boolean
  readonly dispensable: ReadonlySet<string>
}

/** By name and place alone, so that every replica gives the same name whatever it compiled before. */
function nameOf (place: Place, mainFile: string, suffix: string): string {
  const plain = place.source.file === mainFile ? /^\/(?:components\/schemas|definitions)\/([A-Za-z0-9_.-]+)$/.exec(place.pointer)?.[1] : undefined
  if (plain !== undefined && suffix === '') return plain
  const last = plain ?? place.pointer.slice(place.pointer.lastIndexOf('/') + 1).replace(/[^A-Za-z0-9_.-]+/g, '_')
  return `${last}:${createHash('sha256').update(`${placeKey(place)} ${suffix}`).digest('hex').slice(0, 12)}`
}

/** What is in both of the first two and not in the third. */
const both = (a: ReadonlySet<string>, b: ReadonlySet<string>, not: ReadonlySet<string>): ReadonlySet<string> =>
  new Set([...a].filter(name => b.has(name) && !not.has(name)))

export function needOf (target: Place, spot: Spot, { dialects: { composition, mainFile }, direction }: Draft): Need {
  const dispensable = spot.dispensable.size === 0
    ? EMPTY
    : both(requiredNames(composition, target), spot.dispensable, withheldNames(composition, target, direction))
  // Subtypes name their supertype in place; spelling its variants out there would lead back to them.
  const variants = spot.inPlace ? [] : variantsOf(composition, composition.references.follow(target))
  const suffix = `${variants.length > 0 ? 'variants ' : ''}${[...dispensable].sort().join(' ')}`
  return { key: `${direction} ${placeKey(target)} ${suffix}`, name: nameOf(target, mainFile, suffix), place: target, dispensable, variants }
}

function refer (place: Place, reference: string, spot: Spot, draft: Draft): string {
  const { references } = draft.dialects.composition
  const target = references.target(place, reference)
  references.follow(target)
  if (place.resource !== null && reference.startsWith('#')) {
    draft.warnings.push(`${placeKey(place)}: a reference under an $id is read within that schema first, then within the file`)
  }
  const need = needOf(target, spot, draft)
  draft.needs.set(need.key, need)
  if (spot.inPlace) draft.inPlace.add(need.key)
  return `#/$defs/${need.name}`
}

function below (keyword: string, spot: Spot): Spot {
  return IN_PLACE.has(keyword) ? { ...spot, depth: spot.depth + 1 } : { depth: spot.depth + 1, inPlace: false, dispensable: EMPTY }
}

/** undefined where there is no such map, or a pattern in it has no meaning. */
function mapped (place: Place, keyword: string, spot: Spot, draft: Draft): Dictionary | undefined {
  const map = childOf(place, keyword)
  if (!isObject(map.node)) return undefined
  const into: Array<readonly [string, JsonSchema]> = []
  for (const name of Object.keys(map.node)) {
    const key = keyword === 'patternProperties' ? usablePattern(name) : name
    if (key === null) return undefined
    const at = childOf(map, name)
    into.push([key, keyword === 'properties' && withheld(draft.dialects.composition, at, draft.direction) ? false : rewrite(at, spot, draft)])
  }
  return Object.freeze(Object.fromEntries(into))
}

/** The schemas below one node, into its keywords. */
function subschemas (place: Place, node: Dictionary, spot: Spot, draft: Draft, into: Map<string, unknown>): void {
  const warn = (message: string): void => { draft.warnings.push(`${placeKey(place)}: ${message}`) }
  const single = (keyword: string, from: string = keyword): void => {
    const value = own(node, from)
    if (isObject(value) || typeof value === 'boolean') into.set(keyword, rewrite(childOf(place, from), below(keyword, spot), draft))
    else if (value !== undefined && value !== null) warn(`${from} is no schema and is left out`)
  }
  const list = (keyword: string, from: string = keyword): void => {
    const parts = listed(place, from).map(part => rewrite(part, below(keyword, spot), draft))
    if (parts.length > 0) into.set(keyword, Object.freeze(parts))
  }
  for (const keyword of SINGLE) single(keyword)
  for (const keyword of LISTS) list(keyword)
  for (const keyword of MAPS) {
    const map = mapped(place, keyword, below(keyword, spot), draft)
    if (map !== undefined) {
      into.set(keyword, map)
    } else if (keyword === 'patternProperties' && isObject(own(node, keyword))) {
      // What the patterns admit can no longer be told from the rest.
      into.delete('additionalProperties')
      warn('patternProperties with a pattern that no linear-time engine takes is left out')
    }
  }
  // Before 2020-12 a list of `items` was what prefixItems is now, and additionalItems came behind it.
  if (Array.isArray(own(node, 'items'))) {
    list('prefixItems', 'items')
    single('items', 'additionalItems')
  } else {
    single('items')
  }
}

/** Counts, and refuses what is too large, too deep or no schema. A boolean is what the schema is rewritten to. */
function admitted (place: Place, spot: Spot, draft: Draft): Dictionary | boolean {
  if (++draft.nodes > NODES_MAX) throw fault(place, 'schema-too-large', `The schema has more than ${NODES_MAX} parts.`)
  if (spot.depth > DEPTH_MAX) throw fault(place, 'schema-too-deep', `The schema is nested more than ${DEPTH_MAX} levels deep.`)
  const { node } = place
  if (typeof node === 'boolean') return node
  if (node === null) {
    draft.warnings.push(`${placeKey(place)}: an empty schema admits everything`)
    return true
  }
  if (!isObject(node)) throw fault(place, 'schema-malformed', 'A schema must be an object or a boolean.')
  if (['$dynamicRef', '$recursiveRef'].some(name => typeof own(node, name) === 'string')) {
    throw fault(place, 'ref-dynamic', 'Dynamic references are not followed.')
  }
  return node
}

/** @throws DocumentFault */
export function rewrite (place: Place, spot: Spot, draft: Draft): JsonSchema {
  const node = admitted(place, spot, draft)
  if (typeof node === 'boolean') return node
  const warn = (message: string): void => { draft.warnings.push(`${placeKey(place)}: ${message}`) }
  const names = withheldNames(draft.dialects.composition, place, draft.direction)
  const inner: Spot = names.size === 0 ? spot : { ...spot, dispensable: new Set([...spot.dispensable, ...names]) }
  const reference = referenceOf(node)
  const $ref = reference === undefined ? undefined : refer(place, reference, inner, draft)
  if ($ref !== undefined && draft.dialects.legacy(place)) {
    // OpenAPI 3.0.3, Reference Object: "any properties added SHALL be ignored"
    if (Object.keys(node).some(name => !['$ref', 'description', 'summary', 'title'].includes(name) && !name.startsWith('x-'))) {
      warn('what stands beside $ref is ignored')
    }
    return Object.freeze({ $ref })
  }
  const { keywords, wrap } = plainKeywords(node, inner.dispensable, warn)
  if ($ref !== undefined) keywords.set('$ref', $ref)
  subschemas(place, node, inner, draft, keywords)
  const schema = Object.freeze(Object.fromEntries(keywords))
  return wrap ? Object.freeze({ anyOf: Object.freeze([schema, Object.freeze({ type: 'null' })]) }) : schema
}
