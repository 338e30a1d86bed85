// Schemas that are written out are pruned to by functions made once; all others by reading them. Both must show the same, and never more.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { ProjectionFault, type Json, type JsonObject } from '../../src/catalog/catalog.ts'
import { compilePlainPrune, type Cut, type Prune } from '../../src/catalog/plain-prune.ts'
import { SchemaCompiler } from '../../src/catalog/schema.ts'
import { compilePrune } from '../../src/catalog/view.ts'

const NAMES = ['a', 'b', 'c', 'constructor', '__proto__'] as const
const names = fc.constantFrom(...NAMES)

const { value: anyValue } = fc.letrec<{ value: Json }>(tie => ({
  value: fc.oneof(
    { maxDepth: 5, depthSize: 'large' },
    fc.oneof(fc.integer(), fc.constantFrom(2 ** 53, 1.5, -0), fc.string(), fc.boolean(), fc.constant(null)) as fc.Arbitrary<Json>,
    fc.array(tie('value'), { maxLength: 4 }) as fc.Arbitrary<Json>,
    fc.array(fc.tuple(names, tie('value')), { maxLength: 4 }).map(entries => Object.fromEntries(entries)) as fc.Arbitrary<Json>,
  ),
}))

const { schema: anySchema } = fc.letrec<{ schema: JsonObject | boolean }>(tie => ({
  schema: fc.oneof(
    { maxDepth: 4, depthSize: 'large' },
    fc.constantFrom<JsonObject | boolean>({ type: 'string' }, {}, true, false),
    fc.record({ type: fc.constant('array'), items: tie('schema') }, { requiredKeys: ['type'] }) as fc.Arbitrary<JsonObject>,
    fc.record({
      type: fc.constant('object'),
      properties: fc.array(fc.tuple(names, tie('schema')), { maxLength: 4 }).map(entries => Object.fromEntries(entries)),
      additionalProperties: tie('schema'),
    }, { requiredKeys: ['type', 'properties'] }) as fc.Arbitrary<JsonObject>,
  ),
}))

function pruned (prune: Prune, value: Json): { readonly text: string, readonly truncated: boolean } | string {
  const cut: Cut = { truncated: false }
  try {
    return { text: JSON.stringify(prune(value, cut)), truncated: cut.truncated }
  } catch (error) {
    assert.ok(error instanceof ProjectionFault)
    return error.code
  }
}

describe('pruning to a schema that is written out', () => {
  test('shows what the general pruning shows, of any value', () => {
    fc.assert(fc.property(anySchema, anyValue, (schema, value) => {
      if (typeof schema === 'boolean') return
      const plain = compilePlainPrune(schema, 2)
      assert.ok(plain !== null)
      assert.deepEqual(pruned(plain, value), pruned(compilePrune(schema, 2, new SchemaCompiler()), value))
    }), { numRuns: 2_000 })
  })

  test('is not tried where a part of the schema refers to another one, or is composed', () => {
    const parts: JsonObject[] = [
      { $ref: '#/$defs/x' }, { allOf: [{}] }, { anyOf: [{}] }, { oneOf: [{}] }, { type: 'array', prefixItems: [{}] },
    ]
    for (const part of parts) {
      assert.equal(compilePlainPrune(part, 10), null)
      assert.equal(compilePlainPrune({ type: 'array', items: part }, 10), null)
      assert.equal(compilePlainPrune({ type: 'object', properties: { a: part } }, 10), null)
      assert.equal(compilePlainPrune({ type: 'object', additionalProperties: part }, 10), null)
    }
  })

  test('ends where a value is nested too deeply', () => {
    let value: Json = []
    for (let depth = 0; depth < 70; depth++) value = [value]
    assert.equal(pruned(compilePlainPrune({ type: 'array' }, 10)!, value), 'RESULT_INVALID')
  })
})
