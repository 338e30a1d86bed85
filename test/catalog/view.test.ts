// What an agent gets of an answer: only what the schema of the result names, whatever the upstream sends.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ProjectionFault, type Bindings, type Json, type JsonObject } from '../../src/catalog/catalog.ts'
import { SchemaCompiler } from '../../src/catalog/schema.ts'
import { compileFinish, type Finish } from '../../src/catalog/view.ts'
import { loadRead, loadWrite, type Shop } from './shop-folder.ts'

const seen = (body: Json): Bindings => ({
  args: { customer_id: 'c_1' }, caller: { sub: 's', tenant: 't', run: null, claims: {} }, reads: {}, values: {}, target: null, attempt: null,
  response: { status: 200, headers: { etag: '"1"' }, body }, now: '2026-11-30T10:00:00.000Z',
})

const CUSTOMER = {
  id: 'c_1',
  version: 7,
  state: 'active',
  email: null,
  ssn: '078-05-1120',
  balance: 1.5,
  shipping_address: { city: 'Rome', country: 'IT' },
  tags: ['a', 'b'],
}

const code = (expected: string) => (error: unknown): boolean => error instanceof ProjectionFault && error.code === expected

test('without a view the body is pruned to the schema', async t => {
  const view = (await loadRead(t)).view!
  const result = { id: 'c_1', version: 7, email: null, shipping_address: { city: 'Rome' }, tags: ['a', 'b'] }
  assert.deepEqual(view.project(seen(CUSTOMER)), { result, truncated: false, text: JSON.stringify(result) })
})

test('a view names what is shown, and what it takes whole is pruned too', async t => {
  const view = (await loadRead(t, shop => {
    shop.read.result.schema = {
      type: 'object',
      additionalProperties: false,
      required: ['who', 'place'],
      properties: {
        who: { type: 'string' },
        etag: { type: 'string' },
        place: { type: 'object', additionalProperties: false, properties: { city: { type: 'string' } } },
        mail: { type: ['string', 'null'] },
      },
    }
    shop.read.result.view = {
      who: 'customer ${response.body.id}',
      etag: '${response.headers.etag}',
      place: '${response.body.shipping_address}',
      mail: '${response.body.?email}',
      extra: '${response.body.?ssn}',
    }
  })).view!
  assert.deepEqual(view.project(seen(CUSTOMER)).result, { who: 'customer c_1', etag: '"1"', place: { city: 'Rome' }, mail: null })
  assert.deepEqual(view.project(seen({ id: 'x', shipping_address: {} })).result, { who: 'customer x', etag: '"1"', place: {} })
})

test('lists are cut to max_items, and the answer says so', async t => {
  const view = (await loadRead(t, shop => { shop.read.result.max_items = 3 })).view!
  assert.deepEqual(view.project(seen({ ...CUSTOMER, tags: ['a', 'b', 'c'] })).truncated, false)
  const cut = view.project(seen({ ...CUSTOMER, tags: ['a', 'b', 'c', 'd'] }))
  assert.deepEqual([(cut.result as any).tags, cut.truncated], [['a', 'b', 'c'], true])
  const fifty = (await loadRead(t)).view!.project(seen({ ...CUSTOMER, tags: Array(5000).fill('x') }))
  assert.deepEqual([(fifty.result as any).tags.length, fifty.truncated], [50, true])
})

const INVALID: ReadonlyArray<readonly [what: string, body: Json]> = [
  ['a field of another type', { ...CUSTOMER, version: '7' }],
  ['a required field that is absent', { id: 'c_1' }],
  ['an integer that is not exact', { ...CUSTOMER, version: 2 ** 53 }],
  ['an integer of a fraction', { ...CUSTOMER, version: 1.5 }],
  ['a list', [CUSTOMER]],
  ['nothing', null],
  ['a text', 'customer'],
]

for (const [what, body] of INVALID) {
  test(`a view cannot be made of ${what}`, async t => {
    const view = (await loadRead(t)).view!
    assert.throws(() => view.project(seen(body)), code('RESULT_INVALID'))
  })
}

test('an inexact integer that is not shown is no fault', async t => {
  assert.ok((await loadRead(t)).view!.project(seen({ ...CUSTOMER, balance: 2 ** 60 })))
})

test('a result that is larger than allowed is told as that', async t => {
  const sized = async (bytes: string): Promise<() => unknown> => {
    const view = (await loadRead(t, shop => { shop.read.result.max_bytes = bytes })).view!
    return () => view.project(seen({ id: 'x'.repeat(100), version: 1 }))
  }
  const exact = Buffer.byteLength(JSON.stringify({ id: 'x'.repeat(100), version: 1 }))
  assert.throws(await sized(`${exact - 1}B`), code('RESULT_TOO_LARGE'))
  assert.ok((await sized(`${exact}B`))())
  const view = (await loadRead(t)).view!
  assert.throws(() => view.project(seen({ id: 'é'.repeat(16_384), version: 1 })), code('RESULT_TOO_LARGE'))
})

test('a view whose expression fails is invalid, also where the answer is missing', async t => {
  const view = (await loadWrite(t)).view!
  assert.throws(() => view.project(seen({ id: 'c_1' })), code('RESULT_INVALID'))
  assert.throws(() => view.project({ ...seen(null), response: null }), code('RESULT_INVALID'))
  assert.throws(() => (view.project({ ...seen({ id: 1, version: 2 }) })), code('RESULT_INVALID'))
})

test('a sheet without a result has no view', async t => {
  assert.equal((await loadRead(t, shop => { delete shop.read.result })).view, null)
})

test('what is not JSON is shown by type, size and digest, never by its bytes', async t => {
  const view = (await loadWrite(t, (shop: Shop) => {
    shop.write.operation = 'upload'
    shop.write.request = { body: 'label', media_type: 'text/plain' }
    shop.write.outcomes = []
    shop.write.result = {
      schema: {
        type: 'object',
        additionalProperties: false,
        required: ['kind', 'bytes'],
        properties: { kind: { type: 'string' }, bytes: { type: 'integer' } },
      },
      view: { kind: '${response.body.type}', bytes: '${response.body.size}' },
    }
    delete shop.write.lookup.outcomes[0].result
    delete shop.write.examples
  })).view!
  assert.deepEqual(view.project(seen({ type: 'application/pdf', size: 9, sha256: 'ab' })).result, { kind: 'application/pdf', bytes: 9 })
})

// ─── Whatever the schema is ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const compiler = new SchemaCompiler()
const finishOf = (schema: unknown): Finish => compileFinish(schema as JsonObject, { maxBytes: 1_000_000, maxItems: 50 }, compiler)
const closed = (
  properties: object, required: readonly string[] = []
): object => ({ type: 'object', additionalProperties: false, required, properties })
const string = { type: 'string' }

test('of a union the branch that the value is of decides what is kept', () => {
  const card = closed({ kind: { const: 'card' }, last4: string }, ['kind', 'last4'])
  const bank = closed({ kind: { const: 'bank' }, holder: closed({ name: string }) }, ['kind'])
  for (const finish of [
    finishOf({ oneOf: [card, bank] }),
    finishOf({ anyOf: [card, bank] }),
    finishOf({ oneOf: [{ $ref: '#/$defs/card' }, { $ref: '#/$defs/bank' }], $defs: { card, bank } }),
  ]) {
    assert.deepEqual(
      finish({ kind: 'card', last4: '4242', holder: { name: 'x' }, number: '4242424242424242' }).result,
      { kind: 'card', last4: '4242' }
    )
    assert.deepEqual(finish({ kind: 'bank', last4: '4242', holder: { name: 'x', iban: 'y' } }).result, { kind: 'bank', holder: { name: 'x' } })
    assert.throws(() => finish({ kind: 'cash' }), code('RESULT_INVALID'))
  }
})

test('parts of a whole are kept together, definitions are followed, and maps keep their names', () => {
  const finish = finishOf({
    type: 'object', unevaluatedProperties: false, allOf: [{ properties: { a: string } }, { $ref: '#/$defs/b' }], properties: {
      labels: { type: 'object', additionalProperties: string },
    },
    $defs: {
      b: { properties: { b: { type: 'array', items: closed({ deep: string }) }, tree: { $ref: '#/$defs/tree' } } },
      tree: closed({ name: string, children: { type: 'array', items: { $ref: '#/$defs/tree' } } }),
    },
  })
  assert.deepEqual(finish({
    a: 'x',
    b: [{ deep: 'y', more: 1 }],
    c: 'no',
    labels: { any: 'z' },
    tree: { name: 'r', secret: 1, children: [{ name: 'l', secret: 2 }] },
  }).result,
    { a: 'x', b: [{ deep: 'y' }], labels: { any: 'z' }, tree: { name: 'r', children: [{ name: 'l' }] } })
})

test('names of JavaScript are only names', () => {
  const finish = finishOf(closed({ constructor: string, a: string }))
  assert.deepEqual(finish(JSON.parse('{"__proto__": {"a": 1}, "constructor": "c", "toString": 1}') as Json).result, { constructor: 'c' })
  assert.deepEqual(finish({}).result, {})
})
