// A schema with everything it refers to, as one self-contained schema of the 2020-12 dialect: what stood behind a reference stands in `$defs`, once,
// and circles stay references. Nothing is ever dereferenced; what is rewritten once is shared by all closures of the document.
import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import type { JsonSchema } from './operation.ts'
import { EMPTY, newComposition } from './composition.ts'
import type { Direction } from './composition.ts'
import { DocumentFault } from './fault.ts'
import { fault } from './reference.ts'
import type { Place, References } from './reference.ts'
import { NODES_MAX, needOf, rewrite } from './rewrite.ts'
import type { Dialects, Draft, Need, Spot } from './rewrite.ts'

/** A validator goes down one call for each schema that is composed into another. */
const CHAIN_MAX = 500

/** One rewritten schema. */
interface Definition {
  readonly schema: JsonSchema
  readonly needs: readonly Need[]
  /** Keys of the needs that apply to the same value. */
  readonly inPlace: readonly string[]
  readonly nodes: number
  readonly warnings: readonly string[]
  readonly digest: string
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

interface State {
  readonly dialects: Dialects
  readonly definitions: Map<string, Definition>
  /** Keys from which no circle of in-place schemas is reached. */
  readonly finite: Set<string>
}

const sha256 = (value: unknown): string => createHash('sha256').update(canonicalize(value) ?? '').digest('hex')

function define ({ dialects }: State, place: Place, direction: Direction, write: (draft: Draft) => JsonSchema): Definition {
  const draft: Draft = { dialects, direction, needs: new Map(), inPlace: new Set(), warnings: [], nodes: 0 }
  const schema = write(draft)
  try {
    const { needs, inPlace, nodes, warnings } = draft
    return { schema, needs: [...needs.values()], inPlace: [...inPlace], nodes, warnings, digest: sha256(schema) }
  } catch (error) {
    if (error instanceof DocumentFault) throw error
    // YAML can say `.nan` and JSON can say half a surrogate pair; RFC 8785 has no form for either.
    throw fault(place, 'not-json', 'The schema holds a value that canonical JSON cannot hold.')
  }
}

function definitionOf (state: State, need: Need, direction: Direction): Definition {
  const known = state.definitions.get(need.key)
  if (known !== undefined) return known
  const spot: Spot = { depth: 0, inPlace: true, dispensable: need.dispensable }
  const made = define(state, need.place, direction, draft => {
    if (need.variants.length === 0) return rewrite(need.place, spot, draft)
    const parts = [...need.variants, need.place].map(part => needOf(part, spot, draft))
    for (const part of parts) {
      draft.needs.set(part.key, part)
      draft.inPlace.add(part.key)
    }
    return Object.freeze({ anyOf: Object.freeze(parts.map(part => Object.freeze({ $ref: `#/$defs/${part.name}` }))) })
  })
  state.definitions.set(need.key, made)
  return made
}

/** A schema composed of itself: a validator would never end. */
function refuseEndless ({ definitions, finite }: State, needs: ReadonlyMap<string, Need>): void {
  const path = new Set<string>()
  const visit = (key: string): void => {
    const at = needs.get(key)
    if (finite.has(key) || at === undefined) return
    if (path.has(key)) throw fault(at.place, 'schema-endless', 'The schema is composed of itself.')
    if (path.size > CHAIN_MAX) throw fault(at.place, 'schema-too-deep', `The schema is composed over more than ${CHAIN_MAX} others.`)
    path.add(key)
    for (const next of definitions.get(key)?.inPlace ?? []) visit(next)
    path.delete(key)
    finite.add(key)
  }
  for (const key of needs.keys()) visit(key)
}

function close (state: State, place: Place, direction: Direction): Closure {
  const root = define(state, place, direction, draft => rewrite(place, { depth: 0, inPlace: false, dispensable: EMPTY }, draft))
  const needs = new Map(root.needs.map(need => [need.key, need]))
  let nodes = root.nodes
  const warnings = [...root.warnings]
  const parts: Array<readonly [string, Definition]> = []
  // A Map goes on to what is added to it while it is walked.
  for (const need of needs.values()) {
    const definition = definitionOf(state, need, direction)
    nodes += definition.nodes
    if (nodes > NODES_MAX) throw fault(place, 'schema-too-large', `The schema refers to more than ${NODES_MAX} parts.`)
    warnings.push(...definition.warnings)
    parts.push([need.name, definition])
    for (const next of definition.needs) if (!needs.has(next.key)) needs.set(next.key, next)
  }
  refuseEndless(state, needs)
  parts.sort(([a], [b]) => a < b ? -1 : 1)
  const digest = sha256([root.digest, parts.map(([name, definition]) => [name, definition.digest])])
  if (typeof root.schema === 'boolean' || parts.length === 0) return { schema: root.schema, digest, warnings }
  const $defs = Object.freeze(Object.fromEntries(parts.map(([name, definition]) => [name, definition.schema])))
  return { schema: Object.freeze({ ...root.schema, $defs }), digest, warnings }
}

/**
 * @param mainFile the document's own file, whose component names are kept
 * @param legacy whether a file is written in a dialect where what stands beside `$ref` has no meaning (2.0, 3.0)
 */
export function createCloser (references: References, mainFile: string, legacy: (place: Place) => boolean): Closer {
  const state: State = { dialects: { composition: newComposition(references), mainFile, legacy }, definitions: new Map(), finite: new Set() }
  return { close: (place, direction) => close(state, place, direction) }
}
