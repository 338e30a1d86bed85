// A schema with everything it refers to, as one self-contained schema of the 2020-12 dialect: what stood behind a reference stands in `$defs`, once,
// and circles stay references. Nothing is ever dereferenced; what is rewritten once is shared by all closures of the document.
import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import type { JsonSchema } from './operation.ts'
import { EMPTY, createComposition, listed } from './composition.ts'
import type { Direction } from './composition.ts'
import { plainKeywords, usablePattern } from './keywords.ts'
import { isObject, own } from './pointer.ts'
import type { Dictionary } from './pointer.ts'
import { childOf, fault, placeKey, referenceOf } from './reference.ts'
import type { Place, References } from './reference.ts'

const DEPTH_MAX = 100
// The largest closures of real documents (Stripe's, Microsoft Graph's) have a tenth of this.
const NODES_MAX = 100_000

const SINGLE = ['not', 'if', 'then', 'else', 'contains', 'propertyNames', 'additionalProperties', 'unevaluatedProperties', 'unevaluatedItems'] as const
const LISTS = ['allOf', 'anyOf', 'oneOf', 'prefixItems'] as const
const MAPS = ['properties', 'patternProperties', 'dependentSchemas'] as const
/** These apply to the very value that their schema applies to. */
const IN_PLACE: ReadonlySet<string> = new Set(['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'dependentSchemas'])

/** A schema that a closure needs by name. */
interface Need {
  readonly key: string
  readonly name: string
  readonly place: Place
  /** Names that it must not require, because the schema it is composed into forbids them. */
  readonly dispensable: ReadonlySet<string>
  /** The variants of a schema with a discriminator, beside the schema itself. */
  readonly variants: readonly Place[]
}

/** One rewritten schema. */
interface Definition {
  readonly schema: JsonSchema
  readonly needs: readonly Need[]
  /** Keys of the needs that apply to the same value: a circle of them would never end. */
  readonly inPlace: readonly string[]
  readonly nodes: number
  readonly warnings: readonly string[]
  readonly digest: string
}

interface Draft {
  readonly direction: Direction
  readonly needs: Map<string, Need>
  readonly inPlace: Set<string>
  readonly warnings: string[]
  nodes: number
}

/** Where in a definition the rewriting stands. */
interface Spot {
  readonly depth: number
  readonly inPlace: boolean
  readonly dispensable: ReadonlySet<string>
}

export interface Closure {
  readonly schema: JsonSchema
  /** SHA-256 over the schema and everything it needs. */
  readonly digest: string
  readonly warnings: readonly string[]
}

export interface Closer {
  /** @throws DocumentFault */
  close (place: Place, direction: Direction): Closure
}

const sha256 = (value: unknown): string => createHash('sha256').update(canonicalize(value) ?? '').digest('hex')

/** What is in both of the first two and not in the third. */
const both = (a: ReadonlySet<string>, b: ReadonlySet<string>, not: ReadonlySet<string>): ReadonlySet<string> =>
  new Set([...a].filter(name => b.has(name) && !not.has(name)))

/** By name and place alone, so that every replica gives the same name whatever it compiled before. */
function nameOf (place: Place, mainFile: string, suffix: string): string {
  const plain = place.source.file === mainFile ? /^\/(?:components\/schemas|definitions)\/([A-Za-z0-9_.-]+)$/.exec(place.pointer)?.[1] : undefined
  if (plain !== undefined && suffix === '') return plain
  const last = plain ?? place.pointer.slice(place.pointer.lastIndexOf('/') + 1).replace(/[^A-Za-z0-9_.-]+/g, '_')
  return `${last}:${createHash('sha256').update(`${placeKey(place)} ${suffix}`).digest('hex').slice(0, 12)}`
}

/**
 * @param mainFile the document's own file, whose component names are kept
 * @param legacy whether a file is written in a dialect where what stands beside `$ref` has no meaning (2.0, 3.0)
 */
export function createCloser (references: References, mainFile: string, legacy: (place: Place) => boolean): Closer {
  const composition = createComposition(references)
  const definitions = new Map<string, Definition>()
  /** Keys from which no circle of in-place schemas is reached. */
  const finite = new Set<string>()

  function need (target: Place, spot: Spot, draft: Draft): Need {
    const names = spot.dispensable.size === 0
      ? EMPTY
      : both(composition.requiredNames(target), spot.dispensable, composition.withheldNames(target, draft.direction))
    // Subtypes name their supertype in place; spelling its variants out there would lead back to them.
    const variants = spot.inPlace ? [] : composition.variants(references.follow(target))
    const suffix = `${variants.length > 0 ? 'variants ' : ''}${[...names].sort().join(' ')}`
    return { key: `${draft.direction} ${placeKey(target)} ${suffix}`, name: nameOf(target, mainFile, suffix), place: target, dispensable: names, variants }
  }

  function refer (place: Place, reference: string, spot: Spot, draft: Draft): string {
    const target = references.target(place, reference)
    references.follow(target)
    if (place.resource !== null && reference.startsWith('#')) {
      draft.warnings.push(`${placeKey(place)}: a reference under an $id is read within that schema first, then within the file`)
    }
    const needed = need(target, spot, draft)
    draft.needs.set(needed.key, needed)
    if (spot.inPlace) draft.inPlace.add(needed.key)
    return `#/$defs/${needed.name}`
  }

  function below (place: Place, keyword: string, spot: Spot): Spot {
    if (!IN_PLACE.has(keyword)) return { depth: spot.depth + 1, inPlace: false, dispensable: EMPTY }
    return { ...spot, depth: spot.depth + 1 }
  }

  function property (place: Place, spot: Spot, draft: Draft): JsonSchema {
    return composition.withheld(place, draft.direction) ? false : rewrite(place, spot, draft)
  }

  function mapped (place: Place, keyword: string, spot: Spot, draft: Draft): Dictionary | undefined {
    const map = childOf(place, keyword)
    if (!isObject(map.node)) return undefined
    const into: Array<readonly [string, JsonSchema]> = []
    for (const name of Object.keys(map.node)) {
      const key = keyword === 'patternProperties' ? usablePattern(name) : name
      if (key === null) return undefined
      into.push([key, keyword === 'properties' ? property(childOf(map, name), spot, draft) : rewrite(childOf(map, name), spot, draft)])
    }
    return Object.freeze(Object.fromEntries(into))
  }

  /** The schemas below one node, into its keywords. */
  function subschemas (place: Place, node: Dictionary, spot: Spot, draft: Draft, into: Map<string, unknown>): void {
    const single = (keyword: string, from: string = keyword): void => {
      const value = own(node, from)
      if (isObject(value) || typeof value === 'boolean') into.set(keyword, rewrite(childOf(place, from), below(place, keyword, spot), draft))
      else if (value !== undefined && value !== null) draft.warnings.push(`${placeKey(place)}: ${from} is no schema and is left out`)
    }
    const list = (keyword: string, from: string = keyword): void => {
      const parts = listed(place, from).map(part => rewrite(part, below(place, keyword, spot), draft))
      if (parts.length > 0) into.set(keyword, Object.freeze(parts))
    }
    for (const keyword of SINGLE) single(keyword)
    for (const keyword of LISTS) list(keyword)
    for (const keyword of MAPS) {
      const map = mapped(place, keyword, below(place, keyword, spot), draft)
      if (map !== undefined) into.set(keyword, map)
      else if (keyword === 'patternProperties' && Object.hasOwn(node, keyword)) {
        // What the patterns admit can no longer be told from the rest.
        into.delete('additionalProperties')
        draft.warnings.push(`${placeKey(place)}: patternProperties with a pattern that no linear-time engine takes is left out`)
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

  function rewrite (place: Place, spot: Spot, draft: Draft): JsonSchema {
    const warn = (message: string): void => { draft.warnings.push(`${placeKey(place)}: ${message}`) }
    if (++draft.nodes > NODES_MAX) throw fault(place, 'schema-too-large', `The schema has more than ${NODES_MAX} parts.`)
    if (spot.depth > DEPTH_MAX) throw fault(place, 'schema-too-deep', `The schema is nested more than ${DEPTH_MAX} levels deep.`)
    const { node } = place
    if (typeof node === 'boolean') return node
    if (node === null) {
      warn('an empty schema admits everything')
      return true
    }
    if (!isObject(node)) throw fault(place, 'schema-malformed', 'A schema must be an object or a boolean.')
    if (['$dynamicRef', '$recursiveRef'].some(name => typeof own(node, name) === 'string')) {
      throw fault(place, 'ref-dynamic', 'Dynamic references are not followed.')
    }
    const reference = referenceOf(node)
    const withheld = composition.withheldNames(place, draft.direction)
    const inner: Spot = withheld.size === 0 ? spot : { ...spot, dispensable: new Set([...spot.dispensable, ...withheld]) }
    const $ref = reference === undefined ? undefined : refer(place, reference, inner, draft)
    if ($ref !== undefined && legacy(place)) {
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

  function define (direction: Direction, write: (draft: Draft) => JsonSchema): Definition {
    const draft: Draft = { direction, needs: new Map(), inPlace: new Set(), warnings: [], nodes: 0 }
    const schema = write(draft)
    return {
      schema, needs: [...draft.needs.values()], inPlace: [...draft.inPlace], nodes: draft.nodes, warnings: draft.warnings, digest: sha256(schema),
    }
  }

  function definitionOf (needed: Need, direction: Direction): Definition {
    const known = definitions.get(needed.key)
    if (known !== undefined) return known
    const spot: Spot = { depth: 0, inPlace: true, dispensable: needed.dispensable }
    const made = define(direction, draft => {
      if (needed.variants.length === 0) return rewrite(needed.place, spot, draft)
      const parts = [...needed.variants, needed.place].map(part => need(part, spot, draft))
      for (const part of parts) {
        draft.needs.set(part.key, part)
        draft.inPlace.add(part.key)
      }
      return { anyOf: parts.map(part => ({ $ref: `#/$defs/${part.name}` })) }
    })
    definitions.set(needed.key, made)
    return made
  }

  /** A schema composed of itself: a validator would never end. */
  function refuseEndless (needs: ReadonlyMap<string, Need>): void {
    for (const start of needs.keys()) {
      const path = new Set<string>()
      const visit = (key: string): void => {
        const at = needs.get(key)
        if (finite.has(key) || at === undefined) return
        if (path.has(key)) throw fault(at.place, 'schema-endless', 'The schema is composed of itself.')
        path.add(key)
        for (const next of definitions.get(key)?.inPlace ?? []) visit(next)
        path.delete(key)
        finite.add(key)
      }
      visit(start)
    }
  }

  return {
    close (place, direction) {
      const root = define(direction, draft => rewrite(place, { depth: 0, inPlace: false, dispensable: EMPTY }, draft))
      const needs = new Map(root.needs.map(needed => [needed.key, needed]))
      let nodes = root.nodes
      const warnings = [...root.warnings]
      const parts: Array<readonly [string, Definition]> = []
      // A Map goes on to what is added to it while it is walked.
      for (const needed of needs.values()) {
        const definition = definitionOf(needed, direction)
        nodes += definition.nodes
        if (nodes > NODES_MAX) throw fault(place, 'schema-too-large', `The schema refers to more than ${NODES_MAX} parts.`)
        warnings.push(...definition.warnings)
        parts.push([needed.name, definition])
        for (const next of definition.needs) if (!needs.has(next.key)) needs.set(next.key, next)
      }
      refuseEndless(needs)
      parts.sort(([a], [b]) => a < b ? -1 : 1)
      const digest = sha256([root.digest, parts.map(([name, definition]) => [name, definition.digest])])
      if (typeof root.schema === 'boolean' || parts.length === 0) return { schema: root.schema, digest, warnings }
      const $defs = Object.freeze(Object.fromEntries(parts.map(([name, definition]) => [name, definition.schema])))
      return { schema: Object.freeze({ ...root.schema, $defs }), digest, warnings }
    },
  }
}
