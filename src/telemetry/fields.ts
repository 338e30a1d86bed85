// Which fields a sheet's input has. A pointer into what an agent sent may hold names that the agent made up; only those that the schema declares may
// become labels of metrics or stand in the audit, and positions in arrays become `*`.
import type { Action, Catalog } from '../catalog/catalog.ts'
import type { JsonSchema } from '../catalog/openapi/operation.ts'

export interface Field {
  /** Bounded by the schema: a position is `*`, a name of an open object is `*` too, an undeclared name is `?`. */
  readonly label: string
  /** The same with the positions as they were: `/items/3/sku`. */
  readonly pointer: string
}

interface Node {
  readonly properties: Map<string, Node>
  /** Items, and properties of names that the schema leaves open. */
  any: Node | null
}

/** Deeper and wider than any input an agent could be asked for; schemas may refer to themselves. */
const DEPTH_MAX = 16
const STEPS_MAX = 10_000

export interface Fields {
  /** null where no action of this name is in the catalog. */
  bounded (actionId: string, pointer: string): Field | null
}

export function fieldsOf (catalog: Catalog): Fields {
  // Compiled when an action is first refused: most never are.
  const roots = new Map<string, Node>()
  return {
    bounded (actionId, pointer) {
      const action = catalog.actions.get(actionId)
      if (action === undefined) return null
      let root = roots.get(actionId)
      if (root === undefined) roots.set(actionId, root = rootOf(action))
      return walk(root, segmentsOf(pointer, root))
    },
  }
}

function rootOf (action: Action): Node {
  const root: Node = { properties: new Map(), any: null }
  collect(action.inputSchema, root, { schema: action.inputSchema, left: STEPS_MAX }, 0)
  return root
}

/** A pointer into the body stands before the arguments, one into the arguments does not. */
function segmentsOf (pointer: string, root: Node): readonly string[] {
  const segments = pointer === '' ? [] : pointer.slice(1).split('/').map(segment => segment.replaceAll('~1', '/').replaceAll('~0', '~'))
  return segments[0] === 'arguments' && !root.properties.has('arguments') ? segments.slice(1) : segments
}

function walk (root: Node, segments: readonly string[]): Field {
  let node: Node | null = root
  let label = ''
  let pointer = ''
  for (const segment of segments) {
    const known: Node | undefined = node.properties.get(segment)
    const isPosition = known === undefined && node.any !== null && /^[0-9]{1,6}$/.test(segment)
    node = known ?? node.any
    const name = known === undefined ? (node === null ? '?' : '*') : escape(segment)
    label += `/${name}`
    pointer += `/${isPosition ? segment : name}`
    if (node === null) break
  }
  return { label, pointer }
}

const escape = (segment: string): string => segment.replaceAll('~', '~0').replaceAll('/', '~1')

interface Walk {
  readonly schema: JsonSchema
  /** How many schemas may still be looked at. */
  left: number
}

function collect (schema: unknown, node: Node, walk: Walk, depth: number): void {
  if (schema === null || typeof schema !== 'object' || Array.isArray(schema) || depth > DEPTH_MAX || walk.left === 0) return
  walk.left -= 1
  const part = schema as { readonly [keyword: string]: unknown }
  if (typeof part['$ref'] === 'string') collect(resolve(part['$ref'], walk.schema), node, walk, depth + 1)
  for (const [name, child] of Object.entries(objectOf(part['properties']))) {
    const next = node.properties.get(name) ?? { properties: new Map(), any: null }
    node.properties.set(name, next)
    collect(child, next, walk, depth + 1)
  }
  const open = [
    part['items'], part['additionalProperties'], part['contains'], ...listOf(part['prefixItems']),
    ...Object.values(objectOf(part['patternProperties'])),
  ]
  for (const child of open) {
    if (child === undefined || child === false) continue
    node.any ??= { properties: new Map(), any: null }
    collect(child, node.any, walk, depth + 1)
  }
  const same = [
    ...listOf(part['allOf']), ...listOf(part['anyOf']), ...listOf(part['oneOf']), part['if'], part['then'], part['else'],
    ...Object.values(objectOf(part['dependentSchemas'])),
  ]
  for (const child of same) collect(child, node, walk, depth + 1)
}

function resolve (reference: string, root: JsonSchema): unknown {
  if (!reference.startsWith('#')) return null
  let value: unknown = root
  for (const segment of reference.slice(2).split('/').filter(text => text !== '')) {
    const name = decodeURIComponent(segment).replaceAll('~1', '/').replaceAll('~0', '~')
    if (value === null || typeof value !== 'object' || !Object.hasOwn(value, name)) return null
    value = (value as { readonly [key: string]: unknown })[name]
  }
  return value
}

const objectOf = (value: unknown): object => value !== null && typeof value === 'object' && !Array.isArray(value) ? value : {}
const listOf = (value: unknown): readonly unknown[] => Array.isArray(value) ? value : []
