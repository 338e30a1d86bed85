// The view: no way lets a field out that the schema of the result does not name, and the pruning of plain schemas prunes as the general one does.
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { ProjectionFault, type Json, type JsonObject } from '../../src/catalog/catalog.ts'
import { SchemaCompiler } from '../../src/catalog/schema.ts'
import { compileFinish, type Finish } from '../../src/catalog/view.ts'
import type { Count, Target } from './target.ts'

const NAMES = ['a', 'b', 'c', 'd', '__proto__', 'constructor', '']
const closed = (properties: JsonObject): JsonObject => ({ type: 'object', additionalProperties: false, properties })

const { schema } = fc.letrec<{ schema: any }>(tie => ({
  schema: fc.oneof({ maxDepth: 4, withCrossShrink: true },
    fc.constantFrom({ type: 'string' }, { type: 'integer' }, { type: ['string', 'null'] }, { const: 'x' }),
    {
      weight: 3,
      arbitrary: fc.array(fc.tuple(fc.constantFrom(...NAMES), tie('schema')), { maxLength: 3 })
        .map(entries => closed(Object.fromEntries(entries) as JsonObject)),
    },
    tie('schema').map(items => ({ type: 'array', items })),
    fc.tuple(tie('schema'), tie('schema')).map(anyOf => ({ anyOf })),
    fc.tuple(tie('schema'), tie('schema')).map(oneOf => ({ oneOf })),
    tie('schema').map(additionalProperties => ({ type: 'object', additionalProperties }))),
}))
const { json } = fc.letrec<{ json: any }>(tie => ({
  json: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom('x', 'SECRET', 1, null, true),
    fc.array(tie('json'), { maxLength: 3 }),
    {
      weight: 2,
      arbitrary: fc.array(fc.tuple(fc.constantFrom(...NAMES, 'undeclared'), tie('json')), { maxLength: 4 }).map(entries => Object.fromEntries(entries)),
    },
  ),
}))

/** Whether some reading of the schema names everything in the value. Written apart from the code it judges: by the schema alone, without pruning. */
export function isNamed (value: any, node: any): boolean {
  const branches = node.anyOf ?? node.oneOf
  if (branches !== undefined) return branches.some((branch: any) => isNamed(value, branch))
  if (Array.isArray(value)) return node.type === 'array' && value.every(item => isNamed(item, node.items))
  if (typeof value !== 'object' || value === null) return true
  return Object.keys(value).every(name => Object.hasOwn(node.properties ?? {}, name)
    ? isNamed(value[name], node.properties[name])
    : typeof node.additionalProperties === 'object' && isNamed(value[name], node.additionalProperties))
}

/** A value that the schema was made for, more often than any value is; with something that nobody asked for beside it. */
function fitting (node: any, extra: Json): Json {
  if (node.anyOf !== undefined || node.oneOf !== undefined) return fitting((node.anyOf ?? node.oneOf)[0], extra)
  if (node.const !== undefined) return node.const
  if (node.type === 'array') return [fitting(node.items, extra), fitting(node.items, extra)]
  if (node.type !== 'object') return node.type === 'integer' ? 1 : 'x'
  const named = Object.entries(node.properties ?? { any: node.additionalProperties }).map(([name, part]) => [name, fitting(part, extra)] as const)
  return Object.fromEntries([...named, ['undeclared', extra]]) as Json
}

/** Of each schema. */
const VALUES = 25
const values = fc.array(fc.tuple(json, fc.boolean()), { minLength: VALUES, maxLength: VALUES })

/** undefined where it is refused. */
function shownOf (finish: Finish, given: Json): Json | undefined {
  try {
    return finish(given).result
  } catch (error) {
    assert.ok(error instanceof ProjectionFault, String(error))
    return undefined
  }
}

export const projection: Target = {
  name: 'projection',
  holds: 'no way through the view lets a field out that the schema does not name',
  property: (count: Count) => fc.property(schema, values, (node, all) => {
    // A schema is compiled once, as at load.
    const finish = compileFinish(node, { maxBytes: 64 * 1024, maxItems: 2 }, new SchemaCompiler())
    for (const [any, fits] of all) {
      const given = fits ? fitting(node, any) : any
      const result = shownOf(finish, given)
      count(result === undefined ? 'refused' : 'shown')
      if (result !== undefined) assert.ok(isNamed(result, node), JSON.stringify({ node, given, result }))
    }
  }),
  casesPerRun: VALUES,
  shortRuns: 5_000,
  least: { shown: 0.2, refused: 0.01 },
}
