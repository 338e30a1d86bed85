// The client for runtimes, over a network that breaks: one key for each intended call, repeats with that key alone, and at most one effect.
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { connect, NoAnswer, type Client } from '../src/client.ts'
import { makeShopSite, startTestBroker, type ShopSite, type TestBroker } from './support/broker.ts'
import { startTcpProxy, type TcpProxy } from './support/tcp-proxy.ts'

let site: ShopSite
let broker: TestBroker
let proxy: TcpProxy

before(async () => {
  site = await makeShopSite()
  broker = await startTestBroker(site)
  proxy = await startTcpProxy({ port: Number(new URL(broker.agentsUrl).port) })
})

afterEach(() => {
  proxy.pass()
  site.shop.faults.clear()
})

after(async () => {
  await proxy.stop()
  await broker.close()
  await site.shop.close()
  site.remove()
})

const ORDER = { customer_id: 'cus_1001', sku: 'TEA-250', quantity: 1, max_total_minor: 5000 }
const orders = (): number => site.shop.ledger.filter(entry => entry.effect === 'order.placed').length
const posts = (): number => site.shop.requests.filter(({ method, target }) => method === 'POST' && target.startsWith('/v1/orders')).length

async function client (patienceMs = 20_000): Promise<Client> {
  const token = await site.token()
  return connect({ url: `http://127.0.0.1:${proxy.port}`, token: async () => token, patienceMs })
}

test('an answer of the broker that is lost is asked for again with the same key, and the order is placed once', async () => {
  const before = orders()
  proxy.dropReplyTo('POST /v1/actions')
  const told = await (await client()).call('place_order.v1', ORDER)
  assert.deepEqual([told.outcome, told.duplicate, orders()], ['completed', true, before + 1])
})

test('each call is meant anew: two equal ones are two orders', async () => {
  const before = orders()
  const aval = await client()
  const [one, other] = [await aval.call('place_order.v1', ORDER), await aval.call('place_order.v1', ORDER)]
  assert.notEqual(one.attempt_id, other.attempt_id)
  assert.equal(orders(), before + 2)
})

test('what is unknown is not sent again: it is waited for', async () => {
  const [placed, sent] = [orders(), posts()]
  const aval = await client()
  site.shop.faults.arm({ kind: 'lose' }, { method: 'POST', path: '/orders' })
  const told = await aval.call('place_order.v1', ORDER)
  assert.equal(told.outcome, 'unknown')
  assert.deepEqual([orders(), posts()], [placed + 1, sent + 1])
  const learned = await aval.wait(told, 30_000)
  assert.deepEqual([learned.outcome, learned.evidence?.source, orders(), posts()], ['completed', 'lookup', placed + 1, sent + 1])
})

test('a wait ends with the time that it was given', async () => {
  const aval = await client()
  site.shop.faults.arm({ kind: 'late', delayMs: 3_000 }, { method: 'POST', path: '/orders' })
  const told = await aval.call('place_order.v1', ORDER)
  assert.equal(told.outcome, 'unknown')
  assert.equal((await aval.wait(told, 50)).outcome, 'unknown')
  assert.notEqual((await aval.wait(told, 30_000)).outcome, 'unknown')
})

test('a broker that is away is waited for; if it stays away the key goes on with whoever asks', async () => {
  const before = orders()
  await proxy.refuse()
  proxy.reset()
  const aval = await client(1_000)
  const failure = await aval.call('place_order.v1', ORDER).then(() => null, (error: unknown) => error)
  assert.ok(failure instanceof NoAnswer && failure.key !== null)
  assert.equal(orders(), before)
  await proxy.accept()
  const told = await aval.call('place_order.v1', ORDER, { key: failure.key })
  const again = await aval.call('place_order.v1', ORDER, { key: failure.key })
  assert.deepEqual([told.outcome, again.duplicate, again.attempt_id, orders()], ['completed', true, told.attempt_id, before + 1])
})

test('what passes by itself is waited for: another write on the same object', async () => {
  const before = orders()
  const aval = await client()
  site.shop.faults.arm({ kind: 'delay', delayMs: 700 }, { method: 'POST', path: '/orders' })
  const told = await Promise.all([aval.call('place_order.v1', ORDER), aval.call('place_order.v1', ORDER)])
  assert.deepEqual([told.map(one => one.outcome), orders()], [['completed', 'completed'], before + 2])
})

test('a rule of a sheet does not pass by itself: its refusal is told at once, though it may be asked again', async () => {
  const aval = await client()
  const startedAt = performance.now()
  const told = await aval.call('place_order.v1', { ...ORDER, sku: 'CUP-SET', quantity: 5, max_total_minor: 100_000 })
  assert.ok(told.outcome === 'rejected')
  assert.deepEqual([told.error.code, told.error.retryable], ['OUT_OF_STOCK', true])
  assert.ok(performance.now() - startedAt < 10_000)
})

test('an answer that is not Aval\'s proves nothing', async () => {
  const aval = connect({ url: site.shop.url.replace('/v1', ''), token: 'x', patienceMs: 300 })
  await assert.rejects(aval.call('place_order.v1', ORDER), NoAnswer)
})
