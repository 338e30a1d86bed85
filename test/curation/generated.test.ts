// What is generated from a schema: every boundary of it has a neighbour that a validator of its own refuses, and what stands inside is taken.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import fc from 'fast-check'
import type { Action, Json, JsonObject } from '../../src/catalog/catalog.ts'
import { SchemaCompiler } from '../../src/catalog/schema.ts'
import { argumentCasesOf, type ArgumentCases } from '../../src/curation/test/argument-cases.ts'
import { PatternText } from '../../src/curation/test/pattern-text.ts'

const closed = (properties: object, more: object = {}): JsonObject => ({ type: 'object', additionalProperties: false, properties, ...more }) as JsonObject

/** All that cases are made from of an action is its schema, its checker and its examples. */
function casesOf (schema: JsonObject, examples: ReadonlyArray<{ readonly arguments: JsonObject }> = []): ArgumentCases {
  const checker = new SchemaCompiler().compile(schema)
  return argumentCasesOf({ inputSchema: schema, checkArguments: value => checker.check(value), examples } as Action)
}

/** Held to a validator that the broker does not use in this way: all errors, no words of its own, the engine's own patterns. */
function heldTo (schema: JsonObject, made: ArgumentCases): void {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  formats.default(ajv)
  const validate = ajv.compile(schema)
  for (const { name, text, refusal } of made.cases) {
    if (text.includes('9007199254740993')) continue
    assert.equal(validate(JSON.parse(text)), refusal === null, `${name} ${text} ${JSON.stringify(validate.errors)}`)
  }
}

const open = (made: ArgumentCases): readonly string[] => {
  const crossed = new Set(made.cases.flatMap(one => one.refusal === null ? [] : one.boundaries))
  return made.boundaries.filter(boundary => !crossed.has(boundary))
}

const SCHEMAS: ReadonlyArray<readonly [string, JsonObject]> = [
  ['texts', closed({
    plain: { type: 'string', minLength: 2, maxLength: 5 }, sku: { type: 'string', pattern: '^[A-Z]{2,4}-[0-9]+$', maxLength: 9 }, day: { type: 'string', format: 'date' },
    at: { type: 'string', format: 'date-time' }, id: { type: 'string', format: 'uuid' }, mail: { type: 'string', format: 'email' }, state: { enum: ['open', 'closed'] }, kind: { const: 'order' },
  }, { required: ['plain', 'sku'] })],
  ['numbers', closed({
    count: { type: 'integer', minimum: 1, maximum: 9 }, share: { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 }, step: { type: 'integer', multipleOf: 5, minimum: 5, maximum: 50 },
    price: { type: 'number', multipleOf: 0.01, minimum: 0 }, level: { enum: [1, 2, 3] }, flag: { type: 'boolean' }, maybe: { type: ['integer', 'null'] },
  })],
  ['lists', closed({
    tags: { type: 'array', minItems: 2, maxItems: 4, uniqueItems: true, items: { type: 'string', minLength: 1, maxLength: 3 } },
    pair: { type: 'array', prefixItems: [{ type: 'string', maxLength: 4 }, { type: 'integer' }], minItems: 2, maxItems: 3, items: { type: 'boolean' } },
    lines: { type: 'array', maxItems: 3, items: closed({ sku: { type: 'string', maxLength: 4 }, quantity: { type: 'integer', minimum: 1 } }, { required: ['sku'] }) },
  })],
  ['objects', closed({
    one: { type: 'string', maxLength: 3 }, other: { type: 'string', maxLength: 3 }, third: { type: 'integer' }, inner: closed({ deep: closed({ value: { type: 'boolean' } }, { required: ['value'] }) }),
  }, { minProperties: 1, maxProperties: 3, dependentRequired: { one: ['other'] } })],
  ['references', { ...closed({ home: { $ref: '#/$defs/Address' }, work: { $ref: '#/$defs/Address' } }, { required: ['home'] }), $defs: { Address: closed({ city: { type: 'string', minLength: 1, maxLength: 9 } }, { required: ['city'] }) } }],
  ['a circle', { ...closed({ root: { $ref: '#/$defs/Node' } }, { required: ['root'] }), $defs: { Node: closed({ name: { type: 'string', maxLength: 4 }, next: { $ref: '#/$defs/Node' } }, { required: ['name'] }) } }],
  ['a union with a discriminator', closed({
    pay: { oneOf: [closed({ kind: { const: 'card' }, last4: { type: 'string', pattern: '^[0-9]{4}$', maxLength: 4 } }, { required: ['kind', 'last4'] }), closed({ kind: { const: 'bank' }, iban: { type: 'string', minLength: 5, maxLength: 8 } }, { required: ['kind', 'iban'] })] },
  }, { required: ['pay'] })],
  ['a union of types', closed({ value: { anyOf: [{ type: 'string', maxLength: 3 }, { type: 'integer', minimum: 0 }] } }, { required: ['value'] })],
  ['parts of one object', closed({ size: { allOf: [{ type: 'integer', minimum: 2 }, { maximum: 7 }] } }, { required: ['size'] })],
]

for (const [what, schema] of SCHEMAS) {
  test(`every neighbour of ${what} is wrong, what stands inside is right, and no boundary is left open`, () => {
    const made = casesOf(schema)
    assert.notEqual(made.valid, null, made.notes.join('\n'))
    heldTo(schema, made)
    assert.deepEqual(open(made), [])
  })
}

test('the kinds of neighbours that a sheet must stand are all there', () => {
  const names = SCHEMAS.flatMap(([, schema]) => casesOf(schema).cases.map(one => one.name))
  for (const kind of [
    'a field that is not declared', 'left out although it is required', 'empty', 'one character too long', 'one character too short', 'null instead of being absent or a value', 'a text', 'an integer',
    'a boolean', 'a list', 'an object', 'just below what is allowed', 'just above what is allowed', 'as long as allowed', 'as small as allowed', 'as great as allowed',
    'a number that cannot be kept exactly', 'a value that is not listed', 'branch 1 mixed with branch 2', 'an unknown kind', 'one item too many', 'one item too few', 'the same item twice',
    'between two allowed steps', 'one property too many', 'two defects at once', 'no date', 'a text that the pattern does not match',
  ]) assert.ok(names.some(name => name.includes(kind)), kind)
})

test('what is not understood is said, and the examples of the sheet are gone on from', () => {
  const schema = closed({ code: { type: 'string', maxLength: 9, pattern: '^(?=x)' }, size: { type: 'integer', minimum: 1 } }, { required: ['code', 'size'] })
  const made = argumentCasesOf({ inputSchema: schema, checkArguments: (value: Json) => (value as any)?.code === 'x1' && Number.isInteger((value as any).size) ? null : { pointer: '', rule: 'x', message: 'x' }, examples: [{ arguments: { code: 'x1', size: 2 } }] } as unknown as Action)
  assert.match(made.notes.join('\n'), /no value was found/)
  assert.deepEqual(made.valid, { code: 'x1', size: 2 })
  assert.ok(made.cases.some(one => one.name === '/size: just below what is allowed'))
})

test('a boundary that nothing crosses stays open: a rule that is not understood', () => {
  const made = casesOf(closed({ size: { type: 'integer', not: { const: 4 } } }))
  assert.deepEqual(open(made), ['/properties/size/not'])
})

test('texts of patterns match them, at their shortest and at any length that they can have', () => {
  const patterns = [
    '^cus_[0-9]{1,12}$', '^[A-Z0-9]+(-[A-Z0-9]+)*$', '^(a|bc|def)+$', '^[a-z0-9-]+(\\.[a-z0-9-]+)*\\.$', '^\\d{4}-\\d{2}$', '^[^/]{2,}$', '^\\p{L}+$', '^(?:x|yz){2,3}$', 'abc', '^[\\w.-]{3,8}@x$',
    '^((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])\\.){3}(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])$', '^a?b*c{0,2}$', '^[\\]\\-a]+$', '^\\u0041\\x42$',
  ]
  fc.assert(fc.property(fc.constantFrom(...patterns), fc.nat(40), fc.nat(5), (pattern, length, variant) => {
    const texts = PatternText.of(pattern, variant)!
    const shortest = texts.shortest(0, Infinity)
    assert.ok(shortest !== null && new RegExp(pattern, 'u').test(shortest), `${pattern} ${String(shortest)}`)
    const exact = texts.ofLength(length)
    if (exact !== null) assert.ok([...exact].length === length && new RegExp(pattern, 'u').test(exact), `${pattern} ${length} ${exact}`)
  }), { numRuns: 2_000 })
  for (const unread of ['(?=a)b', '(?<!a)b', '[a', 'a{2}{3}', '\\1']) assert.equal(PatternText.of(unread), null, unread)
})
