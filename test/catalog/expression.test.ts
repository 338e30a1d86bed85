// Expressions: what they mean on plain data, and that numbers cross the edge exactly or not at all.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ExpressionFault, type Bindings, type Json } from '../../src/catalog/catalog.ts'
import { fromCel, toCel } from '../../src/catalog/convert.ts'
import { compileCondition, compileExpression, ExpressionError } from '../../src/catalog/expression.ts'
import { ANY, INT, mapOf, objectOf, shapeOfSchema, STRING, TIMESTAMP, type Shape } from '../../src/catalog/shape.ts'

const ARGS = shapeOfSchema({
  type: 'object',
  additionalProperties: false,
  required: ['id', 'count', 'price', 'lines'],
  properties: {
    id: { type: 'string' },
    count: { type: 'integer' },
    price: { type: 'number' },
    note: { type: ['string', 'null'] },
    place: { type: 'object', additionalProperties: false, required: ['city'], properties: { city: { type: 'string' }, zip: { type: 'string' } } },
    lines: {
      type: 'array',
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['sku', 'quantity'],
        properties: { sku: { type: 'string' }, quantity: { type: 'integer' }, gift: { type: 'boolean' } },
      },
    },
  },
})
const BODY = shapeOfSchema({
  type: 'object',
  properties: {
    version: { type: 'integer' },
    maybe: { type: ['integer', 'null'] },
    either: { oneOf: [{ type: 'integer' }, { type: 'string' }] },
    amount: { type: 'number' },
    labels: { type: 'object', additionalProperties: { type: 'string' } },
    counts: { type: 'object', additionalProperties: { type: 'integer' } },
    items: { type: 'array', items: { type: 'object', properties: { id: { type: 'string' }, n: { type: 'integer' } } } },
    open: { type: 'object' },
    more: { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: true },
  },
})
const VARIABLES = new Map<string, Shape>([
  ['args', ARGS],
  ['caller', objectOf({ sub: STRING, claims: mapOf(ANY) })],
  ['response', objectOf({ status: INT, headers: mapOf(STRING), body: BODY })],
  ['now', TIMESTAMP],
])

const bindings = (body: Json = {}, args: object = {}, claims: object = {}): Bindings => ({
  args: { id: 'c_1', count: 3, price: 2, lines: [{ sku: 'a', quantity: 2 }, { sku: 'b', quantity: 5, gift: true }], ...args },
  caller: { sub: 's', tenant: 't', run: null, claims: claims as Bindings['caller']['claims'] },
  reads: {},
  values: {},
  target: null,
  attempt: null,
  response: { status: 200, headers: { etag: '"7"' }, body },
  now: '2026-11-30T10:20:30.000Z',
})

const value = (
  text: string, body?: Json, args?: object, claims?: object
): Json | undefined => compileExpression(text, VARIABLES).evaluate(bindings(body, args, claims))

const VALUES: ReadonlyArray<readonly [text: string, expected: Json | undefined, body?: Json, args?: object, claims?: object]> = [
  ['args.count + 1', 4],
  ['args.price * 1.5', 3],
  ['args.price / 4.0', 0.5],
  ['args.count / 2', 1],
  ['args.lines.map(l, l.quantity)', [2, 5]],
  ['args.lines.filter(l, l.quantity > 2).map(l, l.sku)', ['b']],
  ['args.lines.exists(l, has(l.gift) && l.gift)', true],
  ['args.lines.all(l, l.quantity < 5)', false],
  ['args.lines.exists_one(l, l.sku == "a")', true],
  ['args.lines[0].sku', 'a'],
  ['args.lines[args.count - 2].sku', 'b'],
  ['size(args.lines)', 2],
  ['{"total": args.lines[0].quantity * 3, "of": args.id}', { total: 6, of: 'c_1' }],
  ['[args.id, "x"]', ['c_1', 'x']],
  ['args.?note', undefined],
  ['args.?note', null, {}, { note: null }],
  ['args.?note', 'n', {}, { note: 'n' }],
  ['args.?note.orValue("none")', 'none'],
  ['args.?place.city', undefined],
  ['args.?place.city', 'Rome', {}, { place: { city: 'Rome' } }],
  ['args.?place.?zip', undefined, {}, { place: { city: 'Rome' } }],
  ['has(args.note)', true, {}, { note: null }],
  ['has(args.note) && args.note != null ? args.note : "-"', '-', {}, { note: null }],
  ['!has(args.place) || args.place.city != ""', true],
  ['args.?place.hasValue() ? args.place.city : "nowhere"', 'nowhere'],
  ['args.count > 2 ? optional.of(args.id) : optional.none()', 'c_1'],
  ['args.count > 9 ? optional.of(args.id) : optional.none()', undefined],
  ['response.body.version + 1', 8, { version: 7 }],
  ['response.body.maybe == null', true, { maybe: null }],
  ['response.body.maybe == 3', true, { maybe: 3 }],
  ['response.body.maybe + 1', 4, { maybe: 3 }],
  ['response.body.either == 3', true, { either: 3 }],
  ['response.body.either == "3"', true, { either: '3' }],
  ['response.body.amount > 1.5', true, { amount: 2 }],
  ['response.body.amount >= 2', true, { amount: 2 }],
  ['response.body.labels["a"]', 'x', { labels: { a: 'x' } }],
  ['response.body.labels.a', 'x', { labels: { a: 'x' } }],
  ['response.body.labels[args.id]', 'y', { labels: { c_1: 'y' } }],
  ['response.body.counts.a + 1', 3, { counts: { a: 2 } }],
  ['"c_1" in response.body.labels', true, { labels: { c_1: 'y' } }],
  ['response.body.open.anything.at.all', 1, { open: { anything: { at: { all: 1 } } } }],
  ['response.body.more.a + response.body.more.b', 'xy', { more: { a: 'x', b: 'y' } }],
  ['dyn(response.body).undeclared', true, { undeclared: true }],
  ['response.body.items.filter(i, i.id == args.id)[0].n', 2, { items: [{ id: 'b', n: 1 }, { id: 'c_1', n: 2 }] }],
  ['response.body.items == args.lines', false, { items: [] }],
  ['response.headers.etag', '"7"'],
  ['response.status in [200, 201]', true],
  ['args.id in caller.claims.customers', true, {}, {}, { customers: ['c_1'] }],
  ['args.id in caller.claims.customers', false, {}, {}, { customers: ['c_2'] }],
  ['args.count <= caller.claims.max', true, {}, {}, { max: 3 }],
  ['caller.claims.level + 1', 3, {}, {}, { level: 2 }],
  ['caller.claims.level / 2', 1.5, {}, {}, { level: 3 }],
  ['args.id.matches("^c_[0-9]+$")', true],
  ['args.id.matches("^(a+)+$")', false, {}, { id: `${'a'.repeat(40)}!` }],
  ['money(1999, "EUR")', '19.99 EUR'],
  ['money(args.count, "JPY")', '3 JPY'],
  ['money(-5, "KWD")', '-0.005 KWD'],
  ['money(1234567, "IQD")', '1234.567 IQD'],
  ['now', '2026-11-30T10:20:30.000Z'],
  ['now + duration("36h")', '2026-12-01T22:20:30.000Z'],
  ['string(now)', '2026-11-30T10:20:30.000Z'],
  ['timestamp("2026-12-01T00:00:00Z") > now', true],
  ['date(now)', '2026-11-30'],
  ['date(now, "Pacific/Auckland")', '2026-11-30'],
  ['date(timestamp("2026-11-30T23:30:00Z"), "Pacific/Auckland")', '2026-12-01'],
  ['addDays(date(now), 1)', '2026-12-01'],
  ['addDays("2028-02-28", 1)', '2028-02-29'],
  ['daysBetween("2026-02-28", "2026-03-01")', 1],
  ['weekday("2026-11-30")', 1],
  ['weekday("2026-12-06")', 7],
  ['date("2026-02-28") < date("2026-03-01")', true],
]

for (const [text, expected, ...rest] of VALUES) {
  test(`${text} is ${JSON.stringify(expected) ?? 'absent'}${rest[0] === undefined ? '' : ` for ${JSON.stringify(rest)}`}`, () => {
    assert.deepEqual(value(text, ...rest), expected)
  })
}

const FAULTS: ReadonlyArray<readonly [text: string, body?: Json, args?: object, claims?: object]> = [
  ['response.body.version', {}],
  ['response.body.version', { version: 2 ** 53 }],
  ['response.body.version', { version: 2.5 }],
  ['response.body.version == 9007199254740992', { version: 2 ** 53 }],
  ['response.body.amount', { amount: 2 ** 60 }],
  ['response.body.amount', { amount: Infinity }],
  ['response.body.open', { open: { deep: [2 ** 53] } }],
  ['response.body.items.exists(i, i.n == 1)', { items: [{ n: 2 ** 53 }] }],
  ['response.body.version + 1 == 3', { version: 'x' }],
  ['response.body.items[5].n', { items: [] }],
  ['args.id in caller.claims.customers', {}],
  ['args.id in caller.claims.customers', {}, {}, { customers: 'c_1' }],
  ['args.count / (args.count - 3)'],
  ['9007199254740991 + args.count'],
  ['9223372036854775807 + args.count'],
  ['args.price / 0.0'],
  ['date("2026-02-30")'],
  ['date("2026-2-3")'],
  ['addDays("2026-13-01", 1)'],
  ['addDays("9999-12-31", 1)'],
  ['date(now, "Mars/Olympus")'],
  ['money(1, "XYZ")'],
  ['money(1, "eur")'],
  ['response.body.items.map(i, i.id)', { items: Array(1001).fill({ id: 'x' }) }],
  ['response.body.labels.map(k, k)', { labels: Object.fromEntries(Array.from({ length: 1001 }, (_, n) => [`k${n}`, 'x'])) }],
  ['args.id.substring(0, 1)', {}, { id: '\u{1F600}' }],
]

for (const [text, ...rest] of FAULTS) {
  test(`${text} fails for ${JSON.stringify(rest).slice(0, 80)}`, () => {
    const expression = compileExpression(text, VARIABLES)
    assert.throws(() => expression.evaluate(bindings(...rest)), ExpressionFault)
  })
}

test('what is not used cannot hurt: an inexact integer beside the one that is read', () => {
  assert.equal(value('response.body.amount', { version: 2 ** 53, amount: 1.5, items: [{ n: 2 ** 60 }] }), 1.5)
  assert.equal(value('response.status == 200 || response.body.version == 1', { version: 2 ** 53 }), true)
  assert.deepEqual(value('response.body.items.map(i, i.id)', { items: [{ id: 'a', n: 2 ** 53 }] }), ['a'])
})

test('a list of a thousand is iterated', () => {
  assert.equal(value('response.body.items.all(i, i.n == 1)', { items: Array(1000).fill({ n: 1 }) }), true)
})

test('in a loop, a list that is looked through for each item is bounded as the loop is', () => {
  const items = [{ n: 1 }, { n: 2 }]
  const many = (count: number): Json => Array.from({ length: count }, (_, n) => n)
  assert.equal(value('response.body.items.all(i, i.n in response.body.more.any)', { items, more: { any: many(1_000) } }), true)
  assert.throws(() => value('response.body.items.all(i, i.n in response.body.more.any)', { items, more: { any: many(1_001) } }), ExpressionFault)
  // Outside of a loop it is gone through once; a map is not gone through at all.
  assert.equal(value('5000 in response.body.more.any', { more: { any: many(9_000) } }), true)
  const labels = Object.fromEntries(Array.from({ length: 2_000 }, (_, n) => [`l${n}`, 'x']))
  assert.equal(value('["l1", "l1999"].all(i, i in response.body.labels)', { labels }), true)
})

test('what an expression failed on is not told with the fault', () => {
  const secret = 'sk-5d41402abc4b2a76'
  const body = { more: { any: secret }, labels: { a: 'x' } }
  const texts = [
    'response.body.labels[response.body.more.any]', 'bool(response.body.more.any)', 'date(now, string(response.body.more.any))',
    'int(response.body.more.any)', 'money(1, string(response.body.more.any))',
  ]
  for (const text of texts) {
    assert.throws(() => value(text, body), (error: Error) => error instanceof ExpressionFault && error.message.startsWith(text) && !error.message.includes(secret), text)
  }
})

test('a pattern that backtracks elsewhere takes no time', () => {
  const startMs = performance.now()
  const fastMs = (): number => performance.now() - startMs
  assert.equal(value('args.id.matches("^(a+)+$")', {}, { id: `${'a'.repeat(20_000)}!` }), false)
  // Not a bound on speed: a backtracking engine would still be at it when the machine is gone.
  assert.ok(fastMs() < 60_000)
})

const LOAD_FAULTS: ReadonlyArray<readonly [text: string, rule: string, offset: number, message: RegExp]> = [
  ['args.cuont', 'unknown-field', 5, /there is no "cuont" in args; did you mean "count"\?/],
  ['response.body.items[0].nn', 'unknown-field', 23, /there is no "nn" in response\.body\.items\.\*/],
  ['response.body.items.map(i, i.idd)', 'unknown-field', 29, /did you mean "id"\?/],
  ['args.note', 'optional-argument', 5, /may be absent/],
  ['args.place.city', 'optional-argument', 5, /"place" may be absent/],
  ['has(args.place.city)', 'optional-argument', 9, /"place" may be absent/],
  ['has(args.place) && args.place.zip == ""', 'optional-argument', 30, /"zip" may be absent/],
  ['has(args.place) || args.place.city == ""', 'optional-argument', 24, /"place" may be absent/],
  ['args.count == "3"', 'expression-type', 0, /int == string/],
  ['args.count + args.price', 'expression-type', 0, /int \+ double/],
  ['args.lines[args.id].sku', 'expression-type', 0, /List index must be int/],
  ['args.id.sku', 'unknown-field', 8, /a string has no "sku"/],
  ['args.id[0]', 'unknown-field', 0, /a string has no items/],
  ['reads.x.body', 'unknown-variable', 0, /"reads" cannot be used here/],
  ['arg.id', 'unknown-variable', 0, /did you mean "args"\?/],
  ['args.lines.map(args, true)', 'expression-shadows', 15, /already means something/],
  ['args.lines.all(l, args.lines.exists(m, m == l))', 'expression-nested-loop', 18, /inside another loop/],
  ['args.id.matches(args.id)', 'pattern-not-literal', 0, /written out/],
  ['args.id.matches("a(?!b)")', 'pattern-invalid', 16, /linear time/],
  ['args.id.linearMatches("a")', 'expression-type', 0, /linearMatches/],
  ['bounded(args.lines)', 'expression-type', 0, /bounded/],
  ['cel.bind(x, 1, x)', 'expression-not-allowed', 0, /values:/],
  ['duration("3s")', 'expression-type', 0, /no JSON/],
  ['b"x"', 'expression-type', 0, /no JSON/],
  ['response.headers.ETag', 'header-name-case', 17, /"etag"/],
  ['1 +', 'expression-syntax', 3, /./],
  [`${'('.repeat(60)}1${')'.repeat(60)}`, 'expression-syntax', 32, /maxDepth/],
]

for (const [text, rule, offset, message] of LOAD_FAULTS) {
  test(`${text.slice(0, 60)} is refused at load with ${rule}`, () => {
    assert.throws(() => compileExpression(text, VARIABLES), (error: unknown) => {
      assert.ok(error instanceof ExpressionError, String(error))
      assert.deepEqual([error.rule, error.offset], [rule, offset])
      assert.match(error.message, message)
      return true
    })
  })
}

test('a condition must be true or false, at load where that is known, and at run time where it is not', () => {
  assert.throws(() => compileCondition('args.id', VARIABLES), (error: any) => error.rule === 'expression-not-bool')
  assert.throws(() => compileCondition('args.?id', VARIABLES), (error: any) => error.rule === 'expression-not-bool')
  const admin = compileCondition('caller.claims.admin', VARIABLES)
  assert.equal(admin.holds(bindings({}, {}, { admin: true })), true)
  assert.throws(() => admin.holds(bindings({}, {}, { admin: 'yes' })), ExpressionFault)
  assert.throws(() => admin.holds(bindings()), ExpressionFault)
})

test('names that mean something to JavaScript are only names', () => {
  const open = JSON.parse('{"open": {"__proto__": {"x": 1}, "constructor": "c", "toString": 2, "hasOwnProperty": 3}}') as Json
  assert.equal(value('response.body.open.constructor', open), 'c')
  assert.equal(value('response.body.open.toString', open), 2)
  assert.throws(() => value('response.body.open.valueOf', open), ExpressionFault)
  assert.throws(() => value('response.body.labels.constructor', { labels: {} }), ExpressionFault)
  assert.equal(value('has(response.body.labels.toString)', { labels: {} }), false)
  const whole = value('response.body.open', open) as object
  assert.deepEqual(Object.keys(whole), ['__proto__', 'constructor', 'toString', 'hasOwnProperty'])
  assert.equal(Object.getPrototypeOf(whole), Object.prototype)
})

test('integers cross the edge exactly both ways, as what the schema says they are', () => {
  fc.assert(fc.property(fc.maxSafeInteger(), n => {
    assert.equal(toCel(n, INT), BigInt(n))
    assert.equal(fromCel(toCel(n, INT)), n === 0 ? 0 : n)
    assert.equal(value('args.count', {}, { count: n }), n === 0 ? 0 : n)
    assert.equal(value('response.body.version', { version: n }), n === 0 ? 0 : n)
  }))
})

test('one evaluation builds nothing anew: the same compiled expression serves call after call, also after one that failed', () => {
  const rule = compileCondition('response.body.items.exists(i, i.id == args.id)', VARIABLES)
  for (let n = 0; n < 50; n++) {
    assert.equal(rule.holds(bindings({ items: [{ id: 'c_1' }] })), true)
    assert.throws(() => rule.holds(bindings({ items: 7 })), ExpressionFault)
    assert.equal(rule.holds(bindings({ items: [{ id: 'c_2' }] })), false)
  }
})
