// Every keyword that the linter calls not portable is one that the broker's own forms for that provider leave out or say in words, and none besides.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../src/catalog/catalog.ts'
import { lintTools } from '../../../src/curation/lint/lint.ts'
import { geminiSchema } from '../../../src/tools/gemini-schema.ts'
import { portableSchema } from '../../../src/tools/portable-schema.ts'
import { Losses } from '../../../src/tools/schema-loss.ts'
import { strictSchema } from '../../../src/tools/strict-schema.ts'

const text = { type: 'string', maxLength: 5 }
const MATERIAL: Readonly<Record<string, JsonObject>> = {
  oneOf: { oneOf: [text, { type: 'integer' }] },
  allOf: { allOf: [text, { minLength: 1 }] },
  not: { ...text, not: { const: 'a' } },
  if: { ...text, if: { const: 'a' }, then: true },
  dependentRequired: { type: 'object', properties: { a: text }, dependentRequired: { a: ['a'] } },
  minProperties: { type: 'object', properties: { a: text }, minProperties: 1 },
  maxProperties: { type: 'object', properties: { a: text }, maxProperties: 1 },
  propertyNames: { type: 'object', properties: { a: text }, propertyNames: { maxLength: 3 } },
  prefixItems: { type: 'array', prefixItems: [text] },
  contains: { type: 'array', items: text, contains: { const: 'a' } },
  uniqueItems: { type: 'array', items: text, uniqueItems: true },
}

const input = (part: JsonObject): JsonObject => ({ type: 'object', additionalProperties: false, required: ['part'], properties: { part } })

/** Keywords that one of the forms cannot say of this part. */
function lost (schema: JsonObject): readonly string[] {
  const portable = portableSchema(schema)
  const losses = new Losses()
  strictSchema(portable.schema, losses)
  geminiSchema(portable.schema, losses)
  return [...portable.losses, ...losses.list()].map(({ keyword }) => keyword)
}

const found = (schema: JsonObject): readonly string[] => lintTools('t.json', Buffer.from(JSON.stringify([{ name: 'get_part', inputSchema: schema }])))
  .findings.filter(({ rule }) => rule === 'schema-not-portable').map(({ message }) => message)

for (const [keyword, part] of Object.entries(MATERIAL)) {
  test(`${keyword}: the linter says what is lost, and the forms lose it`, () => {
    assert.ok(found(input(part)).some(message => message.startsWith(`${keyword} cannot be said to OpenAI strict and Gemini; lost there: `)))
    assert.ok(lost(input(part)).includes(keyword), lost(input(part)).join(', '))
  })
}

test('what every provider takes is not told', () => {
  const properties = { a: { anyOf: [text, { type: 'null' }] }, b: { enum: ['x'] } }
  const plain = { type: 'object', additionalProperties: false, required: ['a'], properties }
  assert.deepEqual(found(plain), [])
  assert.deepEqual(found(input({ type: ['string', 'null'], maxLength: 3 })), [])
  assert.deepEqual(found(input({ type: 'array', maxItems: 2, uniqueItems: false, items: text })), [])
})

test('a union at the root fails the whole request at two providers, and a name may fail it at all', () => {
  const union = { type: 'object', anyOf: [{ required: ['a'] }] }
  assert.deepEqual(found(union), ['OpenAI strict and Anthropic refuse anyOf at the root: the whole request fails'])
  const tool = { name: 'read it', inputSchema: { type: 'object', properties: { 'a.b': text } } }
  const { findings } = lintTools('t.json', Buffer.from(JSON.stringify([tool])))
  assert.deepEqual(findings.filter(({ rule }) => rule === 'schema-not-portable').map(({ message }) => message).sort(), [
    'Gemini and Anthropic refuse the name "a.b"', 'no provider takes the name: at most 64 letters, digits, _ and -, a letter first',
  ])
})
