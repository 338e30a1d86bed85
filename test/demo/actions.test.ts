// Each bundled action from end to end: what it does, what it refuses, and how it hears the truth. The ledger and the log of the shop are the
// witnesses.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Envelope } from '../../src/execution/envelope.ts'
import { startRedis } from '../support/redis.ts'
import { startShopBroker, type ShopBroker } from '../support/shop-broker.ts'

const ADDRESS = { street: '1 New Road', city: 'Galway', postal_code: 'H91 E2R0', country: 'IE' }
const ORDER = { customer_id: 'cus_1001', sku: 'TEA-250', quantity: 1, max_total_minor: 2000 }

const effects = (on: ShopBroker): readonly string[] => on.shop.ledger.map(({ effect }) => effect)

/** The attempt behind an answer once it has settled. */
async function settled (on: ShopBroker, { next, outcome }: Envelope): Promise<Envelope> {
  assert.ok(next !== undefined, `${outcome} leads nowhere`)
  const { body } = await on.get(`${next.path}?wait=30s`)
  return body
}

test('get_customer shows what its sheet names, of the customers of this caller alone', async t => {
  const on = await startShopBroker(t)
  const { envelope } = await on.call('get_customer.v1', { customer_id: 'cus_1001' })
  assert.deepEqual(Object.keys(envelope.result as object), ['customer_id', 'name', 'state', 'version', 'shipping_address'])
  assert.equal(envelope.attempt_id, undefined)
  const mark = on.shop.requests.length
  const other = await on.call('get_customer.v1', { customer_id: 'cus_1001' }, { token: await on.mint({ claims: { customers: ['cus_1002'] } }) })
  assert.deepEqual([other.status, other.envelope.error?.code], [403, 'OUT_OF_SCOPE'])
  const none = await on.call('get_customer.v1', { customer_id: 'cus_1001' }, { token: await on.mint({ claims: {} }) })
  assert.deepEqual([none.status, none.envelope.error?.code], [403, 'OUT_OF_SCOPE'], 'a claim that is not there grants nothing')
  assert.equal(on.shop.requests.length, mark)
  assert.deepEqual(on.shop.ledger, [])
})

test('list_orders places a list in the query and prunes the answer to its schema', async t => {
  const on = await startShopBroker(t)
  const all = await on.call('list_orders.v1', { customer_id: 'cus_1001' })
  const items = (all.envelope.result as { items: Array<{ id: string, customer_id?: string, key?: string }> }).items
  assert.deepEqual(items.map(({ id }) => id), ['ord_1001', 'ord_1002'])
  assert.ok(items.every(item => item.customer_id === undefined && item.key === undefined))
  const some = await on.call('list_orders.v1', { customer_id: 'cus_1001', states: ['reserved', 'cancelled'] })
  assert.equal((some.envelope.result as { items: unknown[] }).items.length, 2)
  const one = await on.call('list_orders.v1', { customer_id: 'cus_1001', states: ['cancelled'] })
  assert.deepEqual((one.envelope.result as { items: Array<{ id: string }> }).items.map(({ id }) => id), ['ord_1002'])
  assert.deepEqual(on.shop.requests.map(({ target }) => target.split('/orders')[1]), ['', '?state=reserved&state=cancelled', '?state=cancelled'])
})

test('place_order sends the shop\'s own price under a key that finds the order again', async t => {
  const on = await startShopBroker(t)
  const { envelope } = await on.call('place_order.v1', { ...ORDER, quantity: 1 })
  const [order] = [...on.shop.state.orders.values()].filter(({ key }) => key !== null)
  assert.deepEqual(envelope.result, { order_id: order!.id, state: 'reserved', total_minor: 1250, currency: 'EUR' })
  assert.match(order!.key!, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  on.shop.faults.arm({ kind: 'fail', status: 409, applied: false }, { method: 'POST' })
  const late = await on.call('place_order.v1', { ...ORDER, quantity: 2, max_total_minor: 9000 })
  assert.deepEqual([late.status, late.envelope.error?.code, late.envelope.error?.retryable], [200, 'OUT_OF_STOCK', true])
  assert.deepEqual(effects(on), ['order.placed'])
})

test('an order whose answer comes too late is unknown, then completed, and was placed once', async t => {
  const on = await startShopBroker(t)
  on.shop.faults.arm({ kind: 'late', delayMs: 700 }, { method: 'POST' })
  const { envelope } = await on.call('place_order.v1', ORDER)
  assert.deepEqual([envelope.outcome, envelope.sent, envelope.error?.code], ['unknown', true, 'OUTCOME_UNKNOWN'])
  assert.deepEqual(effects(on), [], 'the first look-up finds nothing, and that proves nothing yet')
  assert.equal((await settled(on, envelope)).outcome, 'completed')
  assert.deepEqual(effects(on), ['order.placed'])
})

test('an order that never arrived is proved to be absent, and the next one goes out under the same key', async t => {
  const on = await startShopBroker(t)
  on.shop.faults.arm({ kind: 'drop' }, { method: 'POST' })
  const { envelope } = await on.call('place_order.v1', ORDER, { key: 'order-1' })
  assert.equal(envelope.outcome, 'unknown')
  const end = await settled(on, envelope)
  assert.deepEqual([end.outcome, end.error?.code, end.error?.retryable], ['rejected', 'NOT_APPLIED', true])
  const again = await on.call('place_order.v1', ORDER, { key: 'order-1' })
  assert.deepEqual([again.envelope.outcome, again.envelope.duplicate], ['completed', false])
  assert.deepEqual(effects(on), ['order.placed'])
})

test('cancel_order cancels once; what is cancelled already is not sent, and another customer\'s order is out of reach', async t => {
  const on = await startShopBroker(t)
  const cancel = (order_id: string, customer_id = 'cus_1001') => on.call('cancel_order.v1', { customer_id, order_id })
  const first = await cancel('ord_1001')
  assert.deepEqual([first.envelope.outcome, first.envelope.result], ['completed', { order_id: 'ord_1001', state: 'cancelled' }])
  const mark = on.shop.requests.length
  const second = await cancel('ord_1002')
  assert.deepEqual([second.envelope.ok, second.envelope.outcome, second.envelope.sent], [true, 'already_in_desired_state', false])
  const foreign = await cancel('ord_1001', 'cus_1002')
  assert.deepEqual([foreign.status, foreign.envelope.error?.code], [403, 'OUT_OF_SCOPE'])
  assert.deepEqual(on.requestsSince(mark), ['GET /orders/ord_1002', 'GET /orders/ord_1001'])
  assert.deepEqual(effects(on), ['order.cancelled'])
})

test('change_shipping_address changes the version that was read, and no other', async t => {
  const on = await startShopBroker(t)
  const change = (token?: string) =>
    on.call('change_shipping_address.v2', { customer_id: 'cus_1001', destination: ADDRESS }, token === undefined ? {} : { token })
  on.shop.faults.arm({ kind: 'fail', status: 412, applied: false }, { method: 'PATCH' })
  const stale = await change()
  assert.deepEqual([stale.status, stale.envelope.error?.code], [200, 'VERSION_CONFLICT'])
  const { envelope } = await change()
  assert.deepEqual([envelope.outcome, envelope.result], ['completed', { customer_id: 'cus_1001', new_version: 4 }], 'a conflict frees the way')
  const same = await change(await on.mint({ run: 'run-2' }))
  assert.equal(same.envelope.outcome, 'already_in_desired_state')
  const gone = await on.call('change_shipping_address.v2', { customer_id: 'cus_1003', destination: ADDRESS })
  assert.deepEqual([gone.status, gone.envelope.error?.code], [422, 'CUSTOMER_DELETED'])
  assert.deepEqual(effects(on), ['customer.changed'])
})

test('a changed address whose answer is lost is known by its version', async t => {
  const on = await startShopBroker(t)
  on.shop.faults.arm({ kind: 'lose' }, { method: 'PATCH' })
  const { envelope } = await on.call('change_shipping_address.v2', { customer_id: 'cus_1001', destination: ADDRESS })
  assert.equal(envelope.outcome, 'unknown')
  const busy = await on.call('change_shipping_address.v2', { customer_id: 'cus_1001', destination: { ...ADDRESS, city: 'Cork' } })
  assert.ok(['TARGET_BUSY', undefined].includes(busy.envelope.error?.code), busy.envelope.error?.code)
  const end = await settled(on, envelope)
  assert.deepEqual([end.outcome, end.evidence?.source], ['completed', 'lookup'])
  assert.equal(effects(on).length, busy.envelope.error === undefined ? 2 : 1)
})

test('add_order_note goes out as a form, needs a key, and means every call', async t => {
  const on = await startShopBroker(t)
  const note = { customer_id: 'cus_1001', order_id: 'ord_1001', text: 'a & b = c; "ü"' }
  const unkeyed = await on.call('add_order_note.v1', note)
  assert.deepEqual([unkeyed.status, unkeyed.envelope.error?.code], [400, 'IDEMPOTENCY_KEY_REQUIRED'])
  for (const key of ['n-1', 'n-1', 'n-2']) assert.equal((await on.call('add_order_note.v1', note, { key })).envelope.outcome, 'completed')
  assert.deepEqual(on.shop.state.notes.get('ord_1001')!.map(({ text }) => text), [note.text, note.text])
  const missing = await on.call('add_order_note.v1', { ...note, order_id: 'ord_9' }, { key: 'n-3' })
  assert.deepEqual([missing.status, missing.envelope.error?.code], [422, 'ORDER_NOT_FOUND'])
  assert.deepEqual(effects(on), ['note.added', 'note.added'])
})

test('start_deployment is pending until it is done or has failed, one at a time', async t => {
  const on = await startShopBroker(t)
  const bad = await on.call('start_deployment.v1', { revision: 'bad0' })
  assert.deepEqual([bad.status, bad.envelope.outcome, bad.envelope.pending_on], [202, 'pending', 'upstream'])
  const busy = await on.call('start_deployment.v1', { revision: 'abcd' })
  assert.deepEqual([busy.status, busy.envelope.error?.code], [409, 'TARGET_BUSY'])
  const failed = await settled(on, bad.envelope)
  assert.deepEqual([failed.outcome, failed.error?.code, failed.error?.message], ['rejected', 'DEPLOYMENT_FAILED', 'The revision did not build.'])
  on.shop.faults.arm({ kind: 'lose' }, { method: 'POST' })
  const lost = await on.call('start_deployment.v1', { revision: 'abcd' })
  assert.equal(lost.envelope.outcome, 'unknown')
  const end = await settled(on, lost.envelope)
  const done = end.next === undefined ? end : await settled(on, end)
  assert.equal(done.outcome, 'completed')
  assert.deepEqual(effects(on), ['deployment.accepted', 'deployment.accepted'])
})

test('what needs a person is listed with its consent, refused without a request, and never granted by default', async t => {
  const on = await startShopBroker(t)
  const { body } = await on.get('/v1/actions')
  const consents = new Map<string, string>(body.actions.map(({ action, consent }: { action: string, consent: string }) => [action, consent]))
  const order = { customer_id: 'cus_1001', order_id: 'ord_1001' }
  for (const [action, args, consent] of [
    ['email_order_confirmation.v1', order, 'session'],
    ['refund_order.v1', { ...order, amount_minor: 100 }, 'call'],
    ['delete_customer.v1', { customer_id: 'cus_1001' }, 'call'],
  ] as const) {
    assert.equal(consents.get(action), consent)
    const { status, envelope } = await on.call(action, args)
    assert.deepEqual([status, envelope.error?.code, envelope.sent], [403, 'CONSENT_UNAVAILABLE', false])
  }
  const reader = await on.mint({ roles: ['shop_reader'] })
  const listed = (await on.get('/v1/actions', reader)).body.actions.map(({ action }: { action: string }) => action)
  assert.deepEqual(listed, ['get_customer.v1', 'list_orders.v1'])
  for (const [action] of consents) {
    if (listed.includes(action)) continue
    assert.equal((await on.call(action, {}, { token: reader })).envelope.error?.code, 'UNKNOWN_ACTION', action)
  }
  assert.deepEqual(on.shop.requests, [])
})

test('over Redis an order is placed, lost, found and repeated in the same words', async t => {
  const redis = await startRedis()
  t.after(() => redis.stop())
  const on = await startShopBroker(t, { AVAL_STATE: redis.url, AVAL_KEY: 'env:HMAC_KEY', HMAC_KEY: Buffer.alloc(32, 7).toString('base64') })
  on.shop.faults.arm({ kind: 'lose' }, { method: 'POST' })
  const { envelope } = await on.call('place_order.v1', ORDER, { key: 'order-1' })
  assert.equal(envelope.outcome, 'unknown')
  assert.equal((await settled(on, envelope)).outcome, 'completed')
  const again = await on.call('place_order.v1', ORDER, { key: 'order-1' })
  assert.deepEqual([again.envelope.duplicate, again.envelope.attempt_id], [true, envelope.attempt_id])
  const other = await on.call('place_order.v1', { ...ORDER, quantity: 2 }, { key: 'order-1' })
  assert.deepEqual([other.status, other.envelope.error?.code], [422, 'IDEMPOTENCY_KEY_REUSED'])
  assert.deepEqual(effects(on), ['order.placed'])
})
