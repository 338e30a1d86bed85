// The shop itself: what the tour and every other test rests on must be true of it. Its answers are held to its own document.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { parse } from 'yaml'
import { startShop, type Shop } from '../../src/commands/demo/shop.ts'
import { openDocument, type ShopDocument } from '../support/shop-document.ts'

const API_KEY = 'write-key-of-the-shop'
const READ_KEY = 'read-key-of-the-shop'

async function open (t: TestContext): Promise<Shop> {
  const shop = await startShop({ port: 0, apiKey: API_KEY, readKey: READ_KEY, deployMs: 60 })
  t.after(() => shop.close())
  return shop
}

interface Answer { readonly status: number, readonly headers: Headers, readonly body: any }

async function ask (shop: Shop, method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  const answer = await fetch(`${shop.url}${path}`, {
    method,
    headers: { 'x-api-key': API_KEY, ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await answer.text()
  return { status: answer.status, headers: answer.headers, body: text === '' ? null : JSON.parse(text) }
}

const ADDRESS = { street: '1 New Road', city: 'Galway', postal_code: 'H91 E2R0', country: 'IE' }
const ORDER = { customer_id: 'cus_1001', sku: 'TEA-250', quantity: 2, total_minor: 2500, currency: 'EUR' }
const QUOTE = { ...ORDER, delivery_date: '2027-02-01', unit_price_minor: 1250 }

test('every answer of every operation has the form that the document promises', async t => {
  const shop = await open(t)
  const document: ShopDocument = openDocument()
  const seen = new Set<string>()
  const check = async (method: string, template: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<any> => {
    const answer = await ask(shop, method, path, body, headers)
    document.check(method, template, answer.status, answer.headers.get('content-type'), answer.body)
    seen.add(`${method} ${template}`)
    return answer
  }
  await check('GET', '/customers/{id}', '/customers/cus_1001')
  await check('GET', '/customers/{id}', '/customers/cus_9')
  await check('PATCH', '/customers/{id}', '/customers/cus_1001', { shipping_address: ADDRESS }, { 'if-match': '"3"' })
  await check('PATCH', '/customers/{id}', '/customers/cus_1001', { shipping_address: ADDRESS }, { 'if-match': '"3"' })
  await check('PUT', '/customers/{id}/shipping-address', '/customers/cus_1001/shipping-address', ADDRESS)
  await check('GET', '/customers/{id}/orders', '/customers/cus_1001/orders?state=reserved&state=cancelled')
  await check('DELETE', '/customers/{id}', '/customers/cus_1002', undefined, { 'if-match': '"1"' })
  await check('GET', '/products/{sku}', '/products/TEA-250')
  await check('POST', '/quotes', '/quotes', QUOTE, { 'idempotency-key': 'q' })
  await check('GET', '/quotes', '/quotes?key=q')
  const { body: order } = await check('POST', '/orders', '/orders', ORDER, { 'idempotency-key': 'o' })
  await check('GET', '/orders', '/orders?key=o')
  await check('GET', '/orders/{id}', `/orders/${order.id}`)
  await check('POST', '/orders/{id}/cancel', `/orders/${order.id}/cancel`, undefined, { 'if-match': '"1"' })
  await check('POST', '/orders/{id}/notes', `/orders/${order.id}/notes?request_id=n`, { text: 'gate code' })
  await check('GET', '/orders/{id}/notes', `/orders/${order.id}/notes`)
  await check('POST', '/orders/{id}/confirmation-mails', `/orders/${order.id}/confirmation-mails`)
  await check('POST', '/orders/{id}/refunds', '/orders/ord_1001/refunds', { amount_minor: 1 }, { 'idempotency-key': 'r' })
  await check('GET', '/orders/{id}/refunds', '/orders/ord_1001/refunds')
  const { body: job } = await check('POST', '/deployments', '/deployments', { request_id: 'd', environment: 'staging', revision: 'abcd' })
  await check('GET', '/deployments', '/deployments?request_id=d')
  await check('GET', '/deployments/{id}', `/deployments/${job.job_id}`)
  assert.deepEqual([...seen].sort(), document.operations.toSorted(), 'no operation of the document was left out')
})

test('the document is valid by the official schema of OpenAPI 3.1', () => {
  const official = '../../node_modules/@seriousme/openapi-schema-validator/schemas/v3.1/schema.json'
  const schema = JSON.parse(readFileSync(join(import.meta.dirname, official), 'utf8'))
  const ajv = new Ajv2020({ strict: false, formats: { 'media-range': true } })
  formats.default(ajv)
  const validate = ajv.compile(schema)
  assert.ok(validate(parse(readFileSync(join(import.meta.dirname, '../../openapi/shop.yaml'), 'utf8'))), JSON.stringify(validate.errors))
})

test('only a key of the shop opens it, and the one for reading does not write', async t => {
  const shop = await open(t)
  assert.equal((await ask(shop, 'GET', '/customers/cus_1001', undefined, { 'x-api-key': 'other' })).status, 401)
  assert.equal((await ask(shop, 'GET', '/customers/cus_1001', undefined, { 'x-api-key': READ_KEY })).status, 200)
  assert.equal((await ask(shop, 'POST', '/orders', ORDER, { 'x-api-key': READ_KEY, 'idempotency-key': 'k' })).status, 403)
  assert.deepEqual(shop.ledger, [])
  assert.deepEqual(shop.requests.map(({ key }) => key), [null, 'read', 'read'])
})

test('a version that is not the one in force changes nothing, and a missing one is asked for', async t => {
  const shop = await open(t)
  const change = (match?: string): Promise<Answer> =>
    ask(shop, 'PATCH', '/customers/cus_1001', { shipping_address: ADDRESS }, match === undefined ? {} : { 'if-match': match })
  assert.equal((await change()).status, 428)
  assert.equal((await change('"2"')).status, 412)
  assert.equal((await change('3')).status, 412, 'an entity tag is quoted')
  assert.deepEqual(shop.ledger, [])
  const changed = await change('"3"')
  assert.deepEqual([changed.status, changed.headers.get('etag'), changed.body.version], [200, '"4"', 4])
  assert.deepEqual(shop.ledger, [{ seq: 1, effect: 'customer.changed', object: 'cus_1001', key: null }])
})

test('the same key and body get the first answer again, another body is refused, and the order is found by its key', async t => {
  const shop = await open(t)
  const place = (body: unknown): Promise<Answer> => ask(shop, 'POST', '/orders', body, { 'idempotency-key': 'key-1' })
  const answers = await Promise.all([place(ORDER), place(ORDER), place(ORDER)])
  assert.equal(new Set(answers.map(({ body }) => body.id)).size, 1)
  assert.equal((await place({ ...ORDER, quantity: 1 })).status, 422)
  assert.deepEqual(shop.ledger.map(({ effect, key }) => [effect, key]), [['order.placed', 'key-1']])
  assert.deepEqual((await ask(shop, 'GET', '/orders?key=key-1')).body.items.map(({ id }: { id: string }) => id), [answers[0]!.body.id])
  assert.deepEqual((await ask(shop, 'GET', '/orders?key=other')).body.items, [])
  assert.equal((await ask(shop, 'POST', '/orders', ORDER)).status, 400, 'a key is required')
  assert.equal(shop.state.products.get('TEA-250')!.stock, 38)
})

test('what is out of stock cannot be ordered, and cancelling puts it back once', async t => {
  const shop = await open(t)
  const cups = { ...ORDER, sku: 'CUP-SET', quantity: 3 }
  const { body: order } = await ask(shop, 'POST', '/orders', cups, { 'idempotency-key': 'a' })
  assert.equal((await ask(shop, 'POST', '/orders', { ...cups, quantity: 1 }, { 'idempotency-key': 'b' })).status, 409)
  const cancel = (): Promise<Answer> => ask(shop, 'POST', `/orders/${order.id}/cancel`, undefined, { 'if-match': '"1"' })
  assert.deepEqual([(await cancel()).body.state, (await cancel()).status], ['cancelled', 200])
  assert.equal(shop.state.products.get('CUP-SET')!.stock, 3)
  assert.deepEqual(shop.ledger.map(({ effect }) => effect), ['order.placed', 'order.cancelled'])
})

test('a note comes as JSON or as a form, once for a request id', async t => {
  const shop = await open(t)
  const path = '/orders/ord_1001/notes?request_id=n'
  const form = await ask(shop, 'POST', path, 'text=gate+code', { 'content-type': 'application/x-www-form-urlencoded' })
  const json = await ask(shop, 'POST', path, { text: 'gate code' })
  assert.deepEqual([form.body.text, json.body.id], ['gate code', form.body.id])
  assert.equal(shop.ledger.length, 1)
})

test('a deployment is accepted at once and done or failed later', async t => {
  const shop = await open(t)
  const start = (request_id: string, revision: string): Promise<Answer> =>
    ask(shop, 'POST', '/deployments', { request_id, environment: 'staging', revision })
  const [good, bad, again] = [await start('a', 'abcd'), await start('b', 'bad0'), await start('a', 'abcd')]
  assert.deepEqual([good.status, good.body.state, again.body.job_id], [202, 'queued', good.body.job_id])
  const stateOf = async (id: string): Promise<string> => (await ask(shop, 'GET', `/deployments/${id}`)).body.state
  while (['queued', 'running'].includes(await stateOf(bad.body.job_id))) await new Promise(resolve => setTimeout(resolve, 5))
  assert.deepEqual([await stateOf(good.body.job_id), await stateOf(bad.body.job_id)], ['done', 'failed'])
  assert.equal(shop.ledger.length, 2)
})

test('a refund is never more than what the order cost', async t => {
  const shop = await open(t)
  const refund = async (amount_minor: number, key: string): Promise<number> => {
    const { status } = await ask(shop, 'POST', '/orders/ord_1001/refunds', { amount_minor }, { 'idempotency-key': key })
    return status
  }
  assert.deepEqual([await refund(2000, 'a'), await refund(501, 'b'), await refund(500, 'c'), await refund(1, 'd')], [201, 409, 201, 409])
})

test('each fault does what it says, to the request it is meant for and to no other', async t => {
  const shop = await open(t)
  let key = 0
  const place = (): Promise<Answer> => ask(shop, 'POST', '/orders', ORDER, { 'idempotency-key': `k${key++}` })
  const placed = (): number => shop.ledger.length

  shop.faults.arm({ kind: 'lose' }, { method: 'POST', path: '/orders' })
  assert.equal((await ask(shop, 'GET', '/orders?key=x')).status, 200, 'a read is not struck by a fault for writes')
  await assert.rejects(place())
  assert.equal(placed(), 1, 'lost: the effect happened')

  shop.faults.arm({ kind: 'drop' })
  await assert.rejects(place())
  assert.equal(placed(), 1, 'dropped: nothing happened')

  shop.faults.arm({ kind: 'fail', status: 500, applied: false })
  shop.faults.arm({ kind: 'fail', status: 503, applied: true })
  assert.deepEqual([(await place()).status, placed(), (await place()).status, placed()], [500, 1, 503, 2])

  shop.faults.arm({ kind: 'delay', delayMs: 50 })
  const late = place()
  while (placed() === 2) await new Promise(resolve => setTimeout(resolve, 1))
  assert.equal((await late).status, 201, 'delayed: the effect came first, the answer all the same')

  shop.faults.arm({ kind: 'late', delayMs: 40 })
  await assert.rejects(place())
  assert.equal(placed(), 3, 'late: not yet')
  while (placed() === 3) await new Promise(resolve => setTimeout(resolve, 5))

  shop.faults.arm({ kind: 'drop' }, { times: 2 })
  await assert.rejects(place())
  await assert.rejects(place())
  assert.equal((await place()).status, 201, 'a fault is used up')
  shop.faults.arm({ kind: 'drop' })
  shop.faults.clear()
  assert.equal((await place()).status, 201)
})

test('what is no request of the shop gets a problem, and the shop lives on', async t => {
  const shop = await open(t)
  assert.equal((await ask(shop, 'GET', '/nothing')).status, 404)
  assert.equal((await ask(shop, 'GET', '/customers/%E0%A4%A')).status, 404)
  assert.equal((await ask(shop, 'POST', '/orders', '{', { 'idempotency-key': 'a', 'content-type': 'application/json' })).status, 400)
  assert.equal((await ask(shop, 'POST', '/orders', 'x', { 'idempotency-key': 'a', 'content-type': 'text/plain' })).status, 415)
  assert.equal((await ask(shop, 'POST', '/orders', { ...ORDER, total: 1 }, { 'idempotency-key': 'a' })).status, 422)
  assert.equal((await ask(shop, 'POST', '/orders', 'x'.repeat(70_000), { 'idempotency-key': 'a' })).status, 413)
  assert.equal((await ask(shop, 'PATCH', '/customers/cus_1003', { shipping_address: ADDRESS }, { 'if-match': '"9"' })).status, 409)
  assert.deepEqual(shop.ledger, [])
})
