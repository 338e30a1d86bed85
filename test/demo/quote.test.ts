// Twelve proposals to a quote tool: ten are refused before anything is written, two are admitted. The shop's own log is the witness.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inDays } from '../../src/commands/demo/shop-state.ts'
import { startShopBroker } from '../support/shop-broker.ts'

const GOOD = { customer_id: 'cus_1001', sku: 'TEA-250', quantity: 2, delivery_date: inDays(60) }
const READS = ['GET /customers/cus_1001', 'GET /products/TEA-250']

interface Refused {
  readonly name: string
  /** Text goes out as it stands. */
  readonly args: object
  readonly status: number
  readonly code: string
  readonly field?: string
  readonly rule?: string
  /** What the shop may have been asked: nothing, or reads that found out. */
  readonly asked: readonly string[]
}

const without = (name: keyof typeof GOOD): object => Object.fromEntries(Object.entries(GOOD).filter(([other]) => other !== name))
const invalid = (name: string, args: object, field: string, rule: string): Refused =>
  ({ name, args, status: 422, code: 'INVALID_ARGUMENTS', field, rule, asked: [] })
const byFact = (name: string, args: object, status: number, code: string, asked: readonly string[]): Refused => ({ name, args, status, code, asked })

const REFUSED: readonly Refused[] = [
  invalid('quantity "2", text', { ...GOOD, quantity: '2' }, '/quantity', 'type'),
  invalid('quantity true', { ...GOOD, quantity: true }, '/quantity', 'type'),
  invalid('quantity 0', { ...GOOD, quantity: 0 }, '/quantity', 'minimum'),
  invalid('quantity 6', { ...GOOD, quantity: 6 }, '/quantity', 'maximum'),
  invalid('the impossible date 2026-02-30', { ...GOOD, delivery_date: '2026-02-30' }, '/delivery_date', 'format'),
  invalid('an invented total', { ...GOOD, total_minor: 1 }, '/total_minor', 'additionalProperties'),
  invalid('a missing field', without('delivery_date'), '/delivery_date', 'required'),
  byFact('quantity 4 with 3 in stock', { ...GOOD, sku: 'CUP-SET', quantity: 4 }, 422, 'OUT_OF_STOCK', [READS[0]!, 'GET /products/CUP-SET']),
  byFact('an unknown customer', { ...GOOD, customer_id: 'cus_9999' }, 404, 'UPSTREAM_NOT_FOUND', ['GET /customers/cus_9999']),
  byFact('an unknown product', { ...GOOD, sku: 'NO-SUCH' }, 404, 'UPSTREAM_NOT_FOUND', [READS[0]!, 'GET /products/NO-SUCH']),
]

test('ten proposals of a quote are refused, by argument before the shop is asked at all, by fact before anything is written', async t => {
  const on = await startShopBroker(t)
  for (const { name, args, status, code, field, rule, asked } of REFUSED) {
    await t.test(name, async () => {
      const mark = on.shop.requests.length
      const { status: answered, envelope } = await on.call('quote_order.v1', args)
      assert.deepEqual([answered, envelope.ok, envelope.outcome, envelope.sent, envelope.error?.code], [status, false, 'rejected', false, code])
      if (field !== undefined) assert.deepEqual([envelope.error?.field, envelope.error?.rule], [field, rule])
      assert.deepEqual(on.requestsSince(mark), asked)
      assert.deepEqual(on.shop.ledger, [])
    })
  }
})

test('quantity 2 and 2.0 are admitted, and are the same call', async t => {
  const on = await startShopBroker(t)
  const mark = on.shop.requests.length
  const whole = await on.call('quote_order.v1', GOOD)
  assert.deepEqual([whole.status, whole.envelope.outcome], [200, 'completed'])
  const quote_id = on.shop.ledger[0]!.object
  assert.deepEqual(whole.envelope.result, { quote_id, unit_price_minor: 1250, total_minor: 2500, currency: 'EUR', total: '25.00 EUR' })
  assert.deepEqual(on.requestsSince(mark), [...READS, 'POST /quotes'])
  const point = await on.call('quote_order.v1', JSON.stringify({ arguments: GOOD }).replace('"quantity":2', '"quantity":2.0'))
  const { outcome, duplicate, attempt_id } = point.envelope
  assert.deepEqual([point.status, outcome, duplicate, attempt_id], [200, 'completed', true, whole.envelope.attempt_id])
  assert.deepEqual(on.shop.ledger.map(({ effect }) => effect), ['quote.created'])
  assert.deepEqual(on.shop.requests.map(({ key }) => key), ['read', 'read', 'write'], 'what only reads goes out with the key that can only read')
})

test('2.0 alone is admitted as well', async t => {
  const on = await startShopBroker(t)
  const { envelope } = await on.call('quote_order.v1', JSON.stringify({ arguments: GOOD }).replace('"quantity":2', '"quantity":2.0'))
  assert.equal(envelope.outcome, 'completed')
  assert.equal([...on.shop.state.quotes.values()][0]!.quantity, 2)
})

test('a total above the agent\'s own ceiling is refused by a check, one at the ceiling is not', async t => {
  const on = await startShopBroker(t)
  const over = await on.call('quote_order.v1', { ...GOOD, max_total_minor: 2499 })
  assert.deepEqual([over.status, over.envelope.error?.code, over.envelope.error?.retryable], [422, 'OVER_CEILING', false])
  assert.deepEqual(on.shop.ledger, [])
  const at = await on.call('quote_order.v1', { ...GOOD, max_total_minor: 2500 })
  assert.equal(at.envelope.outcome, 'completed')
  const order = await on.call('place_order.v1', { customer_id: 'cus_1001', sku: 'TEA-250', quantity: 2, max_total_minor: 2499 })
  assert.equal(order.envelope.error?.code, 'OVER_CEILING')
  assert.deepEqual(on.shop.ledger.map(({ effect }) => effect), ['quote.created'])
})

test('a day of delivery that is over is refused by a check, one to come is not', async t => {
  const on = await startShopBroker(t)
  const past = await on.call('quote_order.v1', { ...GOOD, delivery_date: inDays(-1) })
  assert.deepEqual([past.status, past.envelope.error?.code], [422, 'DELIVERY_IN_THE_PAST'])
  assert.deepEqual(on.shop.ledger, [])
  assert.equal((await on.call('quote_order.v1', { ...GOOD, delivery_date: inDays(1) })).envelope.outcome, 'completed')
})

test('the price is the one that the shop has at that moment, whatever was quoted before', async t => {
  const on = await startShopBroker(t)
  await on.call('quote_order.v1', GOOD)
  const tea = on.shop.state.products.get('TEA-250')!
  on.shop.state.products.set('TEA-250', { ...tea, price_minor: 1300 })
  const { envelope } = await on.call('quote_order.v1', { ...GOOD, quantity: 1 })
  assert.deepEqual((envelope.result as { total_minor: number }).total_minor, 1300)
  assert.deepEqual([...on.shop.state.quotes.values()].map(quote => quote.total_minor), [2500, 1300])
})
