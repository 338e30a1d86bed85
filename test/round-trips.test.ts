// What a call costs in trips to Redis: the commands of a whole broker are read on the wire between the two. Those that it sends while nobody calls (the
// look-ups that are due, the runs that were stopped, what is unresolved) are told apart by their names.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Json } from '../src/catalog/catalog.ts'
import { startRedisTap, type RedisTap } from './invariants/redis-tap.ts'
import { makeShopSite, startTestBroker, type Reached, type ShopSite, type TestBroker } from './support/broker.ts'
import { startRedis, type RedisServer } from './support/redis.ts'

const ADDRESS = { street: '1 New Road', city: 'Galway', postal_code: 'H91 E2R0', country: 'IE' }
/** All background work is done once when a broker starts, and most of it again within this. */
const QUIET_MS = 1_000
/** What a call began and did not wait for has gone by. */
const AFTERWARDS_MS = 50

let redis: RedisServer
let tap: RedisTap
let site: ShopSite
let broker: TestBroker
let token: string
/** Verbs of the store, and names of plain commands, in the order in which they went by. */
const passed: string[] = []
let background: ReadonlySet<string>

before(async () => {
  redis = await startRedis()
  tap = await startRedisTap(redis.port)
  tap.rule = (verb, [command]) => {
    passed.push(verb === 'other' ? command!.toUpperCase() : verb)
    return 'pass'
  }
  site = await makeShopSite({ env: { AVAL_STATE: `redis://127.0.0.1:${tap.port}` } })
  broker = await startTestBroker(site)
  token = await site.token()
  await sleep(QUIET_MS)
  background = new Set(passed)
  // A server that does not know a script yet is told it in a second trip: once, not in every call. And how often calls of a run were refused is asked
  // once a run.
  for (const action of ['change_shipping_address.v1', 'change_shipping_address.v2']) {
    const { body } = await broker.call(token, action, { customer_id: 'cus_1001', destination: { ...ADDRESS, street: action } })
    assert.equal(body.outcome, 'completed')
  }
  await broker.call(token, 'get_customer.v1', { customer_id: 'cus_1001' })
})

after(async () => {
  await broker.close()
  await site.shop.close()
  site.remove()
  await tap.stop()
  await redis.stop()
})

/** The verbs that had gone by when a call was answered. */
async function verbsOf (action: string, args: Json, key?: string): Promise<{ readonly verbs: readonly string[], readonly answer: Reached }> {
  await sleep(AFTERWARDS_MS)
  passed.length = 0
  const answer = await broker.call(token, action, args, key)
  return { verbs: passed.filter(verb => !background.has(verb)), answer }
}

describe('trips to Redis', () => {
  test('are of background work alone while nobody calls', () => {
    assert.ok(background.size > 0)
    for (const verb of ['recall', 'begin', 'change:dispatched', 'change:settled']) assert.ok(!background.has(verb), verb)
  })

  test('are three for a write before which nothing is read', async () => {
    const { verbs, answer } = await verbsOf('change_shipping_address.v1', { customer_id: 'cus_1001', destination: ADDRESS })
    assert.equal(answer.body.outcome, 'completed')
    assert.deepEqual(verbs, ['begin', 'change:dispatched', 'change:settled'])
  })

  test('are four for a write with facts', async () => {
    const { verbs, answer } = await verbsOf('change_shipping_address.v2', { customer_id: 'cus_1002', destination: ADDRESS })
    assert.equal(answer.body.outcome, 'completed')
    assert.deepEqual(verbs, ['recall', 'begin', 'change:dispatched', 'change:settled'])
  })

  test('are no more where a sheet limits calls, concurrency and what may happen at once', async () => {
    const order = { customer_id: 'cus_1001', sku: 'TEA-250', quantity: 1, max_total_minor: 2000 }
    const { verbs, answer } = await verbsOf('place_order.v1', order, 'order-1')
    assert.equal(answer.body.outcome, 'completed')
    assert.deepEqual(verbs, ['recall', 'begin', 'change:dispatched', 'change:settled'])
  })

  test('is one for a repeat', async () => {
    const destination = { ...ADDRESS, street: '2 New Road' }
    for (const [action, verb] of [['change_shipping_address.v1', 'begin'], ['change_shipping_address.v2', 'recall']] as const) {
      const key = `key-of-${action}`
      await broker.call(token, action, { customer_id: 'cus_1001', destination: { ...destination, city: action } }, key)
      const { verbs, answer } = await verbsOf(action, { customer_id: 'cus_1001', destination: { ...destination, city: action } }, key)
      assert.equal(answer.body.duplicate, true)
      assert.deepEqual(verbs, [verb])
    }
  })

  test('is one for an observation whose sheet limits calls or concurrency', async () => {
    for (const action of ['list_orders.v1', 'get_customer.v1']) {
      const { verbs, answer } = await verbsOf(action, { customer_id: 'cus_1001' })
      assert.equal(answer.body.outcome, 'completed')
      // The place is given back while the answer is on its way.
      assert.deepEqual(verbs.filter(verb => verb !== 'ZREM'), ['enter'])
    }
  })
})
