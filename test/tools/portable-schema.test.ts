// Input schemas as every provider takes them: what they become, what is reported, and that they never allow less than the action does.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import type { Json, JsonObject } from '../../src/catalog/catalog.ts'
import { portableSchema } from '../../src/tools/portable-schema.ts'
import { Losses } from '../../src/tools/schema-loss.ts'
import { strictSchema, withoutAbsent } from '../../src/tools/strict-schema.ts'
import { actionIdOf, toolNameOf } from '../../src/tools/tool-name.ts'
import { assertPortable } from './portable.ts'

const ajv = new Ajv2020({ strict: false, validateFormats: false, allowUnionTypes: true })
const accepts = (schema: JsonObject, value: Json): boolean => ajv.validate(schema, value)
const object = (properties: JsonObject, more: JsonObject = {}): JsonObject =>
  ({ type: 'object', additionalProperties: false, properties, ...more })
const keywordsLost = (schema: JsonObject): readonly string[] => portableSchema(schema).losses.map(({ pointer, keyword }) => `${pointer || '/'} ${keyword}`)

const AWKWARD: ReadonlyArray<{ name: string, schema: JsonObject, lost: readonly string[], good: readonly Json[] }> = [
  {
    name: 'a union at the root',
    schema: object({ email: { type: 'string' }, phone: { type: 'string' } }, { oneOf: [{ required: ['email'] }, { required: ['phone'] }] }),
    lost: ['/ oneOf'],
    good: [{ email: 'a' }, { phone: '1' }],
  },
  {
    name: 'a union of objects at the root',
    schema: {
      type: 'object',
      unevaluatedProperties: false,
      anyOf: [
        { properties: { kind: { const: 'a' }, one: { type: 'string' } }, required: ['kind', 'one'] },
        { properties: { kind: { const: 'b' }, two: { type: 'integer' } }, required: ['kind'] },
      ],
    },
    lost: ['/ anyOf'],
    good: [{ kind: 'a', one: 'x' }, { kind: 'b', two: 2 }],
  },
  {
    name: 'references, one of them to itself',
    schema: {
      ...object({ node: { $ref: '#/$defs/node' }, plain: { $ref: '#/$defs/word', description: 'A word' } }),
      $defs: { word: { type: 'string', maxLength: 3 }, node: object({ word: { $ref: '#/$defs/word' }, next: { $ref: '#/$defs/node' } }) },
    },
    lost: ['/properties/node/properties/next $ref'],
    good: [{ plain: 'abc' }, { node: { word: 'a', next: { word: 'b' } } }],
  },
  {
    name: 'parts that all hold',
    schema: {
      type: 'object',
      unevaluatedProperties: false,
      allOf: [{ properties: { a: { type: 'string' } }, required: ['a'] }, { properties: { b: { type: 'string' } } }],
    },
    lost: ['/ allOf'],
    good: [{ a: 'x' }, { a: 'x', b: 'y' }],
  },
  { name: 'null as one of the types', schema: object({ note: { type: ['string', 'null'], maxLength: 5 } }), lost: [], good: [{ note: null }, { note: 'abc' }, {}] },
  { name: 'values without a type', schema: object({ a: { enum: ['x', null, 3] }, b: { const: 'y' } }), lost: [], good: [{ a: 'x' }, { a: null, b: 'y' }, { a: 3 }] },
  {
    name: 'a tuple, a choice, and rules between properties',
    schema: object({
      pair: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'integer' }], items: false, minItems: 2 },
      either: { oneOf: [{ type: 'string' }, { type: 'integer' }] },
      from: { type: 'string' },
      until: { type: 'string' },
    }, { dependentRequired: { until: ['from'] }, if: { required: ['until'] }, then: { required: ['from'] }, minProperties: 1 }),
    lost: ['/ dependentRequired', '/ if', '/ minProperties', '/ then', '/properties/either oneOf', '/properties/pair prefixItems'],
    good: [{ pair: ['a', 1] }, { either: 3 }, { from: 'a', until: 'b' }],
  },
  { name: 'a name that Gemini refuses', schema: object({ 'order-id': { type: 'string' } }), lost: ['/properties/order-id name'], good: [{ 'order-id': 'a' }] },
  { name: 'nothing to fill in', schema: object({}), lost: [], good: [{}] },
]

for (const { name, schema, lost, good } of AWKWARD) {
  test(`${name}: becomes portable, is reported, and allows what was allowed`, () => {
    const { schema: portable } = portableSchema(schema)
    assertPortable(portable)
    assert.deepEqual([...keywordsLost(schema)].sort(), [...lost].sort())
    for (const value of good) {
      assert.ok(accepts(schema, value), `the example ${JSON.stringify(value)} is allowed by the action`)
      assert.ok(accepts(portable, value), `${JSON.stringify(value)} by ${JSON.stringify(portable)}`)
    }
    assert.equal(accepts(portable, { unknown_field: 1 }), false)
  })
}

describe('null for what is optional', () => {
  const schema = object({
    id: { type: 'string' },
    note: { type: ['string', 'null'] },
    count: { type: 'integer' },
    deep: object({ a: { type: 'string' }, b: { type: 'string' } }, { required: ['a'] }),
    list: { type: 'array', items: object({ c: { type: 'string' }, d: { type: 'integer' } }, { required: ['c'] }) },
    pick: { anyOf: [object({ kind: { const: 'x' }, e: { type: 'string' } }, { required: ['kind'] }), object({ kind: { const: 'y' } }, { required: ['kind'] })] },
  }, { required: ['id'] })
  const { schema: portable } = portableSchema(schema)

  test('is absence where it cannot be null, and is sent where it can', () => {
    const filled = {
      id: 'i', note: null, count: null, deep: { a: 'a', b: null }, list: [{ c: 'c', d: null }, { c: 'c', d: 1 }], pick: { kind: 'x', e: null },
    }
    assert.deepEqual(withoutAbsent(portable, filled), {
      id: 'i', note: null, deep: { a: 'a' }, list: [{ c: 'c' }, { c: 'c', d: 1 }], pick: { kind: 'x' },
    })
    assert.deepEqual(withoutAbsent(portable, { id: null, other: null }), { id: null, other: null })
  })

  test('whatever a model fills in for the strict schema is, without its nulls, what the action allows', () => {
    const strict = strictSchema(portable, new Losses())
    const orNull = <T>(one: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(one, { nil: null })
    const filled = fc.record({
      id: fc.string(), note: orNull(fc.string()), count: orNull(fc.integer()), deep: orNull(fc.record({ a: fc.string(), b: orNull(fc.string()) })),
      list: orNull(fc.array(fc.record({ c: fc.string(), d: orNull(fc.integer()) }), { maxLength: 3 })),
      pick: orNull(fc.oneof(fc.record({ kind: fc.constant('x'), e: orNull(fc.string()) }), fc.record({ kind: fc.constant('y') }))),
    })
    fc.assert(fc.property(filled, value => {
      assert.ok(accepts(strict, value), JSON.stringify(ajv.errors))
      assert.ok(accepts(schema, withoutAbsent(portable, value)), JSON.stringify(ajv.errors))
    }))
  })

  test('the report says where absence cannot be said', () => {
    const losses = new Losses()
    strictSchema(portable, losses)
    assert.match(losses.list().find(({ pointer }) => pointer === '/properties/note')!.becomes, /cannot be said/)
  })
})

test('a tool name is one action and back, whatever the action is called', () => {
  for (const id of ['get_customer.v1', 'a.v10', 'move_v2.v3', 'v1.v1', 'x_v1_v2.v9']) {
    assert.match(toolNameOf(id), /^[a-z0-9_]+$/)
    assert.equal(actionIdOf(toolNameOf(id)), id)
  }
  for (const name of ['get_customer', 'get_customer_v0', '', '_v1', 'get_customer.v1x']) assert.equal(actionIdOf(name), name)
})
