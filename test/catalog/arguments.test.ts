// Arguments against the input schema: nothing is coerced, and the first fault says where and why in words an agent can use.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { ArgumentFault, Json, JsonObject } from '../../src/catalog/catalog.ts'
import { SchemaCompiler, schemaFaults } from '../../src/catalog/schema.ts'

const string = { type: 'string', maxLength: 40 }
const closed = (
  required: readonly string[], properties: object
): JsonObject => ({ type: 'object', additionalProperties: false, required, properties } as unknown as JsonObject)
const compiler = new SchemaCompiler()

const QUOTE = closed(['customer_id', 'product', 'quantity', 'ship_on'], {
  customer_id: { type: 'string', maxLength: 12, pattern: '^c_[0-9]+$' },
  product: { enum: ['anvil', 'rocket'] },
  quantity: { type: 'integer', minimum: 1, maximum: 5 },
  ship_on: { type: 'string', format: 'date' },
  ceiling: { type: 'number', multipleOf: 0.01 },
})
const CARD = closed(['kind', 'number'], { kind: { const: 'card' }, number: { type: 'string', maxLength: 19, pattern: '^[0-9]+$' } })
const BANK = closed(['kind', 'iban', 'holder'], { kind: { const: 'bank' }, iban: string, holder: closed(['name'], { name: string }) })
const PAY = { ...closed(['method'], { method: { oneOf: [CARD, { $ref: '#/$defs/bank' }] } }), $defs: { bank: BANK } } as unknown as JsonObject
const PAY_ANY = closed(['method'], { method: { anyOf: [CARD, BANK] } })
const AT_ROOT = {
  type: 'object',
  properties: { kind: { enum: ['a', 'b'] }, a: string, b: string },
  additionalProperties: false,
  required: ['kind'],
  oneOf: [{ properties: { kind: { const: 'a' } }, required: ['a'] }, { properties: { kind: { const: 'b' } }, required: ['b'] }],
} as unknown as JsonObject
const LOOSE = closed(['x'], { x: { oneOf: [{ type: 'string', maxLength: 3 }, { type: 'integer' }] } })
const ODD = { ...closed([], { 'a/b': closed([], { '~': { type: 'integer' } }), 'x%20y': { oneOf: [CARD, BANK] } }) } as JsonObject
const WHEN = {
  ...closed(['kind'], { kind: string, note: string }),
  if: { properties: { kind: { const: 'other' } } },
  then: { required: ['note'] },
} as unknown as JsonObject

const good = { customer_id: 'c_1', product: 'anvil', quantity: 2, ship_on: '2026-12-01' }

const CASES: ReadonlyArray<readonly [
  what: string,
  schema: JsonObject,
  value: Json,
  fault: readonly [pointer: string, rule: string, message: RegExp] | null,
]> = [
  ['a good quote', QUOTE, good, null],
  ['2.0', QUOTE, JSON.parse(JSON.stringify(good).replace('2,', '2.0,')) as Json, null],
  ['a quantity as text', QUOTE, { ...good, quantity: '2' }, ['/quantity', 'type', /integer/]],
  ['a quantity of true', QUOTE, { ...good, quantity: true }, ['/quantity', 'type', /integer/]],
  ['a quantity of null', QUOTE, { ...good, quantity: null }, ['/quantity', 'type', /integer/]],
  ['a quantity of 0', QUOTE, { ...good, quantity: 0 }, ['/quantity', 'minimum', /1/]],
  ['a quantity of 6', QUOTE, { ...good, quantity: 6 }, ['/quantity', 'maximum', /5/]],
  ['a quantity of 2.5', QUOTE, { ...good, quantity: 2.5 }, ['/quantity', 'type', /integer/]],
  ['a day that does not exist', QUOTE, { ...good, ship_on: '2026-02-30' }, ['/ship_on', 'format', /valid date/]],
  ['the 29th of February of a year without one', QUOTE, { ...good, ship_on: '2027-02-29' }, ['/ship_on', 'format', /valid date/]],
  ['a leap day', QUOTE, { ...good, ship_on: '2028-02-29' }, null],
  ['an instant for a day', QUOTE, { ...good, ship_on: '2026-12-01T00:00:00Z' }, ['/ship_on', 'format', /valid date/]],
  ['a product that is not sold', QUOTE, { ...good, product: 'tunnel' }, ['/product', 'enum', /"anvil", "rocket"/]],
  ['an invented total', QUOTE, { ...good, total: 1 }, ['/total', 'additionalProperties', /"total" is not a property/]],
  ['a missing day', QUOTE, { customer_id: 'c_1', product: 'anvil', quantity: 2 }, ['/ship_on', 'required', /"ship_on" is missing/]],
  ['a customer of another form', QUOTE, { ...good, customer_id: 'c_x' }, ['/customer_id', 'pattern', /\^c_\[0-9\]\+\$/]],
  ['a customer with a line end', QUOTE, { ...good, customer_id: 'c_1\n' }, ['/customer_id', 'pattern', /pattern/]],
  ['a customer that is too long', QUOTE, { ...good, customer_id: 'c_12345678901' }, ['/customer_id', 'maxLength', /12/]],
  ['cents that binary fractions cannot say', QUOTE, { ...good, ceiling: 19.99 }, null],
  ['a tenth of a cent', QUOTE, { ...good, ceiling: 19.999 }, ['/ceiling', 'multipleOf', /0\.01/]],
  ['a list', QUOTE, [], ['', 'type', /object/]],
  ['a text', QUOTE, 'x', ['', 'type', /object/]],
  ['null', QUOTE, null, ['', 'type', /object/]],
  ['a name of JavaScript instead of what is required', closed(['toString'], { toString: string }), {}, ['/toString', 'required', /toString/]],
  ['an absent constructor', closed([], { constructor: string }), {}, null],
  [
    '__proto__',
    QUOTE,
    JSON.parse(JSON.stringify({ ...good, p: 1 }).replace('"p"', '"__proto__"')) as Json,
    ['/__proto__', 'additionalProperties', /"__proto__" is not/],
  ],
  [
    'a name of a thousand letters',
    QUOTE,
    { ...good, ['x'.repeat(1000)]: 1 },
    [`/${'x'.repeat(1000)}`, 'additionalProperties', /^"x{64}…" is not a property that can be given here\.$/],
  ],

  ['a card', PAY, { method: { kind: 'card', number: '4111' } }, null],
  ['a bank', PAY, { method: { kind: 'bank', iban: 'x', holder: { name: 'y' } } }, null],
  ['the card that was meant', PAY, { method: { kind: 'card', number: '4-1' } }, ['/method/number', 'pattern', /pattern/]],
  ['a card with an account', PAY, { method: { kind: 'card', number: '4', iban: 'x' } }, ['/method/iban', 'additionalProperties', /"iban"/]],
  ['the bank that was meant', PAY, { method: { kind: 'bank', iban: 'x', holder: { name: 7 } } }, ['/method/holder/name', 'type', /string/]],
  ['the bank that was meant, without a holder', PAY, { method: { kind: 'bank', iban: 'x' } }, ['/method/holder', 'required', /"holder" is missing/]],
  ['a method that does not exist', PAY, { method: { kind: 'cash' } }, ['/method/kind', 'const', /"card", "bank"/]],
  ['no method', PAY, { method: {} }, ['/method/kind', 'required', /chooses one of "card", "bank"/]],
  ['a method that is a text', PAY, { method: 'card' }, ['/method', 'oneOf', /forms/]],
  ['any of: the card that was meant', PAY_ANY, { method: { kind: 'card', number: 'x' } }, ['/method/number', 'pattern', /pattern/]],
  ['forms of the whole', AT_ROOT, { kind: 'a', b: 'x' }, ['/a', 'required', /"a" is missing/]],
  ['forms of the whole, fine', AT_ROOT, { kind: 'b', b: 'x' }, null],
  ['forms without a name', LOOSE, { x: 'long' }, ['/x', 'oneOf', /forms/]],
  ['a condition', WHEN, { kind: 'other' }, ['/note', 'required', /"note"/]],
  ['a path of odd names', ODD, { 'a/b': { '~': 'x' } }, ['/a~1b/~0', 'type', /integer/]],
  ['a branch under an odd name', ODD, { 'x%20y': { kind: 'card', number: 'z' } }, ['/x%20y/number', 'pattern', /pattern/]],
]

for (const [what, schema, value, expected] of CASES) {
  test(`${expected === null ? 'admitted' : `refused by ${expected[1]} at ${expected[0].slice(0, 40) || 'the root'}`}: ${what}`, () => {
    const before = JSON.stringify(value)
    const fault: ArgumentFault | null = compiler.compile(schema).check(value)
    if (expected === null) assert.equal(fault, null)
    else {
      assert.deepEqual([fault?.pointer, fault?.rule], expected.slice(0, 2))
      assert.match(fault!.message, expected[2])
    }
    assert.equal(JSON.stringify(value), before)
  })
}

test('two patterns are two patterns', () => {
  const checker = compiler.compile(closed([], { a: { type: 'string', pattern: '^[0-9]+$' }, b: { type: 'string', pattern: '^[a-z]+$' } }))
  assert.equal(checker.check({ a: '1', b: 'x' }), null)
  assert.equal(checker.check({ a: 'abc' })?.pointer, '/a')
  assert.equal(checker.check({ b: '123' })?.pointer, '/b')
})

test('what an agent sent is never in the message, but for the name of what is not a property', () => {
  const leaf = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null))
  const secret = 'S3CRET-VALUE'
  fc.assert(fc.property(fc.constantFrom(...Object.keys(good)), leaf, (name, value) => {
    const fault = compiler.compile(QUOTE).check({ ...good, [name]: typeof value === 'string' ? `${value}${secret}` : value } as Json)
    assert.ok(fault === null || !fault.message.includes(secret))
  }), { numRuns: 50 })
})

test('a schema that the meta-schema refuses is told with its place', () => {
  assert.deepEqual(schemaFaults(closed([], { a: { type: 'strin' } })).map(fault => fault.pointer), ['/properties/a/type'])
  assert.deepEqual(schemaFaults(QUOTE), [])
})
