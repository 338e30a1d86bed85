// Invariant 13: a repeat never runs ahead of what it repeats. It is recalled before anything is read or checked, and gets the attempt that it
// repeats.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Reached, Site } from '../support/broker.ts'
import { WORKER } from '../crash/works.ts'
import { edited, eventually, shopGround, STORES, worksGround } from './ground.ts'
import { arrivals } from './manners.ts'
import { PASS } from './redis-tap.ts'

const ADDRESS = { street: '1 New Road', city: 'Galway', postal_code: 'H91 E2R0', country: 'IE' }
const OTHER = { ...ADDRESS, street: '2 Old Road' }

const heard = ({ status, body }: Reached): unknown => [status, body.outcome, body.duplicate]

describe('a repeat gets the attempt that it repeats', { concurrency: true }, () => {
  for (const kind of STORES) {
    test(`${kind}: while the first is under way, and after it, also with a new token of the same run; nothing is read again`, async t => {
      const { shop, broker, token } = await shopGround(t, kind)
      const [first, refreshed, foreign] = await Promise.all([token({ run: 'run-1' }), token({ run: 'run-1' }), token({ run: 'run-2' })])
      const order = { customer_id: 'cus_1001', sku: 'TEA-250', quantity: 1, max_total_minor: 5_000 }
      shop.faults.arm({ kind: 'delay', delayMs: 1_500 }, { method: 'POST', path: '/orders' })
      const call = broker.call(first, 'place_order.v1', order, 'key-1')
      await eventually(() => shop.ledger.length === 1, 'the order is placed')
      const asked = shop.requests.length
      const during = await broker.call(first, 'place_order.v1', order, 'key-1')
      assert.deepEqual([during.status, during.body.outcome, during.body.pending_on, during.body.duplicate], [202, 'pending', 'dispatch', true])
      const done = await call
      assert.deepEqual(heard(done), [200, 'completed', false])
      const after = await broker.call(refreshed, 'place_order.v1', order, 'key-1')
      assert.deepEqual(heard(after), [200, 'completed', true])
      assert.deepEqual(
        [during.body.attempt_id, after.body.attempt_id, after.body.result],
        [done.body.attempt_id, done.body.attempt_id, done.body.result],
      )
      assert.equal(shop.requests.length, asked, 'the repeats asked the shop nothing')
      // The same key in another run is another call.
      const elsewhere = await broker.call(foreign, 'place_order.v1', order, 'key-1')
      assert.deepEqual(heard(elsewhere), [200, 'completed', false])
      assert.notEqual(elsewhere.body.attempt_id, done.body.attempt_id)
      assert.equal(shop.ledger.length, 2)
    })

    test(`${kind}: after the target changed, and where the checks would now refuse or be fulfilled: recall comes first`, async t => {
      const { shop, broker, token } = await shopGround(t, kind)
      const run = await token({ run: 'run-1' })
      const change = (destination: object, key?: string): Promise<Reached> => broker.call(
        run,
        'change_shipping_address.v2',
        { customer_id: 'cus_1001', destination: { ...destination } },
        key,
      )
      const first = await change(ADDRESS, 'key-1')
      assert.deepEqual(heard(first), [200, 'completed', false])
      // Somebody else changes the customer, and then closes the account.
      const customer = shop.state.customers.get('cus_1001')!
      shop.state.customers.set('cus_1001', { ...customer, shipping_address: OTHER, version: customer.version + 1, state: 'deleted' })
      const asked = shop.requests.length
      for (const key of ['key-1', 'key-1']) {
        const repeat = await change(ADDRESS, key)
        assert.deepEqual(heard(repeat), [200, 'completed', true], JSON.stringify(repeat.body))
        assert.equal(repeat.body.attempt_id, first.body.attempt_id)
      }
      assert.equal(shop.requests.length, asked, 'nothing was read')
      const anew = await change(ADDRESS, 'key-2')
      assert.deepEqual([anew.status, anew.body.error?.code], [422, 'CUSTOMER_DELETED'])
      assert.equal(shop.ledger.filter(({ effect }) => effect === 'customer.changed').length, 1)
    })

    test(`${kind}: A, B and A again in one run: without a key the third is meant anew, with the key of the first it is the first`, async t => {
      const { shop, broker, token } = await shopGround(t, kind)
      const run = await token({ run: 'run-1' })
      const change = (destination: object, key?: string): Promise<Reached> => broker.call(
        run,
        'change_shipping_address.v2',
        { customer_id: 'cus_1001', destination: { ...destination } },
        key,
      )
      const street = (): string => shop.state.customers.get('cus_1001')!.shipping_address.street
      const keyless = [await change(ADDRESS), await change(OTHER), await change(ADDRESS)]
      assert.deepEqual(keyless.map(heard), [[200, 'completed', false], [200, 'completed', false], [200, 'completed', false]])
      assert.equal(new Set(keyless.map(({ body }) => body.attempt_id)).size, 3)
      assert.equal(street(), ADDRESS.street)
      // At once again and it is the repeat of the last one, whatever the checks would say.
      assert.deepEqual([heard(await change(ADDRESS)), shop.ledger.length], [[200, 'completed', true], 3])
      const keyed = [await change(OTHER, 'key-a'), await change(ADDRESS, 'key-b'), await change(OTHER, 'key-a')]
      assert.deepEqual(keyed.map(heard), [[200, 'completed', false], [200, 'completed', false], [200, 'completed', true]])
      assert.equal(keyed[2]!.body.attempt_id, keyed[0]!.body.attempt_id)
      assert.deepEqual([street(), shop.ledger.length], [ADDRESS.street, 5])
    })

    test(`${kind}: one key means one call: other arguments or another action under it are refused, and nothing is read`, async t => {
      const { works, broker: start, token } = await worksGround(t, kind)
      const broker = await start()
      assert.deepEqual(heard(await broker.call(token, 'do_work.v1', { item: 'one', amount: 7 }, 'key-1')), [200, 'completed', false])
      for (const [action, args] of [
        ['do_work.v1', { item: 'one', amount: 8 }],
        ['replace_item.v1', { item: 'one', text: 'x' }],
        ['change_item.v1', { item: 'one', text: 'x' }],
      ] as const) {
        const { status, body } = await broker.call(token, action, args, 'key-1')
        assert.deepEqual([status, body.error?.code, body.sent], [422, 'IDEMPOTENCY_KEY_REUSED', false])
      }
      assert.deepEqual([works.writes.length, works.lookups.length], [1, 0])
    })

    test(`${kind}: while an attempt is unknown, an equal write of any run is refused as TARGET_BUSY, and the repeat hears of it`, async t => {
      const { works, site, broker: start, token } = await worksGround(t, kind)
      works.onWrite = asked => asked.socket.destroy()
      works.onRead = asked => asked.answer(500, {})
      const broker = await start()
      const other = await site.token({ ...WORKER, sub: 'agent-2', run: 'run-2' })
      const foreign = await site.token({ ...WORKER, tenant: 'other', run: 'run-1' })
      const call = (as: string, key?: string): Promise<Reached> => broker.call(as, 'do_work.v1', { item: 'unclear', amount: 7 }, key)
      const first = await call(token, 'key-1')
      assert.deepEqual(heard(first), [202, 'unknown', false])
      for (const [as, key] of [[token, 'key-2'], [token, undefined], [other, 'key-1'], [other, undefined]] as const) {
        const { status, body } = await call(as, key)
        assert.deepEqual([status, body.error?.code, body.sent, body.error?.retryable], [409, 'TARGET_BUSY', false, true])
      }
      const repeat = await call(token, 'key-1')
      assert.deepEqual([heard(repeat), repeat.body.attempt_id], [[202, 'unknown', true], first.body.attempt_id])
      assert.equal(works.writes.length, 1)
      // Another tenant is another world.
      works.onWrite = asked => asked.honest()
      assert.deepEqual(heard(await call(foreign, 'key-1')), [200, 'completed', false])
    })

    test(`${kind}: two different writes on one target do not run at the same time, and nobody waits in a line`, async t => {
      const patient = (one: Site): void => edited(one, 'actions/works/replace_item.v1.yaml', text => text.replace('timeout: 1s', 'timeout: 30s'))
      const { works, site, broker: start, token } = await worksGround(t, kind, {}, patient)
      let release = (): void => {}
      works.onWrite = asked => { release = asked.honest }
      const broker = await start()
      const other = await site.token({ ...WORKER, sub: 'agent-2', run: 'run-2' })
      const first = broker.call(token, 'replace_item.v1', { item: 'contended', text: 'one' }, 'key-1')
      await eventually(() => works.writes.length === 1, 'the first write arrived')
      for (const action of ['replace_item.v1', 'change_item.v1']) {
        const { status, body } = await broker.call(other, action, { item: 'contended', text: 'two' })
        assert.deepEqual([status, body.error?.code, body.sent], [409, 'TARGET_BUSY', false], action)
      }
      works.onWrite = asked => asked.honest()
      release()
      assert.deepEqual(heard(await first), [200, 'completed', false])
      assert.equal(works.writes.length, 1)
      assert.deepEqual(heard(await broker.call(other, 'replace_item.v1', { item: 'contended', text: 'two' })), [200, 'completed', false])
    })

    test(`${kind}: a refusal that may be repeated frees its key, for another upstream key; one that may not keeps it`, async t => {
      const { works, broker: start, token } = await worksGround(t, kind)
      works.onWrite = asked => asked.answer(429, {}, ['Retry-After: 1'])
      const broker = await start()
      const call = (item: string, key: string): Promise<Reached> => broker.call(token, 'do_work.v1', { item, amount: 7 }, key)
      const limited = await call('limited', 'key-1')
      assert.deepEqual([limited.body.error?.code, limited.body.error?.retryable], ['UPSTREAM_RATE_LIMITED', true])
      works.onWrite = asked => asked.answer(422, {})
      const again = await call('limited', 'key-1')
      assert.deepEqual([again.body.error?.code, again.body.duplicate], ['UPSTREAM_REJECTED', false])
      assert.deepEqual(heard(await call('limited', 'key-1')), [200, 'rejected', true])
      assert.equal(arrivals(works.writes, 'limited'), 2)
      // An upstream that saw the first one may remember its key.
      assert.equal(new Set(works.writes.map(({ headers }) => headers['idempotency-key'])).size, 2)
    })
  }

  test('redis: a revert that lands late closes the attempt that it is about, and no later one', async t => {
    const { works, state, broker: start, token } = await worksGround(t, 'redis')
    const broker = await start()
    const tap = state.tap!
    const call = (): Promise<Reached> => broker.call(token, 'do_work.v1', { item: 'reverted', amount: 7 }, 'key-1')
    // The mark is made and never heard of; the revert is on its way for long.
    tap.rule = verb => verb === 'change:dispatched' ? 'mute' : verb === 'change:settled' ? 'hold' : 'pass'
    const first = await call()
    assert.deepEqual([first.status, first.body.sent, first.body.error?.code], [503, false, 'STATE_UNAVAILABLE'])
    assert.equal(works.writes.length, 0)
    tap.rule = PASS
    tap.release()
    let last = await call()
    while (last.status !== 200) {
      assert.ok(last.body.pending_on === 'dispatch' || last.body.sent === false, JSON.stringify(last.body))
      await sleep(50)
      last = await call()
    }
    assert.deepEqual(heard(last), [200, 'completed', false])
    await sleep(1_500)
    assert.deepEqual([heard(await call()), works.writes.length], [[200, 'completed', true], 1])
    assert.equal((await broker.get(token, '/v1/attempts')).body.attempts.length, 2)
  })
})
