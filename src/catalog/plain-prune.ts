// Pruning to a schema that is written out, without a reference, a union or a composition in it, as the schemas of most results are: each of its nodes
// becomes a function once, where the general pruning of view.ts reads the schema anew for every value. Both prune alike.
import { isObject, ProjectionFault, type Json, type JsonObject } from './catalog.ts'
import { isExact } from './convert.ts'
import { setOwn } from './own-name.ts'

export const PRUNE_DEPTH_MAX = 64

export interface Cut {
  /** A list was longer than allowed. */
  truncated: boolean
}

/** @throws ProjectionFault */
export type Prune = (value: Json, cut: Cut, depth?: number) => Json

const COMPOSED = ['$ref', '$dynamicRef', 'allOf', 'anyOf', 'oneOf', 'prefixItems'] as const

/** null where the schema is more than that. */
export function compilePlainPrune (schema: JsonObject, maxItems: number): Prune | null {
  if (COMPOSED.some(keyword => schema[keyword] !== undefined)) return null
  const item = isObject(schema.items) ? compilePlainPrune(schema.items, maxItems) : pruneToNothing(maxItems)
  const rest = isObject(schema.additionalProperties) ? compilePlainPrune(schema.additionalProperties, maxItems) : undefined
  const fields = new Map<string, Prune | null>()
  for (const [name, part] of Object.entries(isObject(schema.properties) ? schema.properties : {})) {
    const prune = isObject(part) ? compilePlainPrune(part, maxItems) : undefined
    if (prune === null) return null
    // Named, but by `true` or `false`: nothing is known of what may be shown of it.
    fields.set(name, prune ?? null)
  }
  if (item === null || rest === null) return null
  return pruneTo({ fields, rest, item, maxItems })
}

/** What no schema describes: plain values in lists stay, objects lose every name. */
function pruneToNothing (maxItems: number): Prune {
  const prune: Prune = pruneTo({ fields: new Map(), rest: undefined, item: (value, cut, depth) => prune(value, cut, depth), maxItems })
  return prune
}

interface Parts {
  /** null: never shown. */
  readonly fields: ReadonlyMap<string, Prune | null>
  readonly rest: Prune | undefined
  readonly item: Prune
  readonly maxItems: number
}

function pruneTo ({ fields, rest, item, maxItems }: Parts): Prune {
  return (value, cut, depth = 0) => {
    if (depth > PRUNE_DEPTH_MAX) throw new ProjectionFault('RESULT_INVALID', 'the result is nested too deeply')
    if (typeof value === 'number') return exact(value)
    if (typeof value !== 'object' || value === null) return value
    if (!isObject(value)) {
      const items = value as readonly Json[]
      if (items.length > maxItems) cut.truncated = true
      return items.slice(0, maxItems).map(one => item(one, cut, depth + 1))
    }
    const kept: { [name: string]: Json } = {}
    for (const name of Object.keys(value)) {
      const prune = fields.has(name) ? fields.get(name) : rest
      if (prune !== undefined && prune !== null) setOwn(kept, name, prune(value[name]!, cut, depth + 1))
    }
    return kept
  }
}

export function exact (value: number): number {
  if (!isExact(value)) throw new ProjectionFault('RESULT_INVALID', 'a number cannot be kept exactly')
  return value
}
