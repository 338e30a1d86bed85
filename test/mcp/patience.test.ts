// The time in which a client is answered, as it is where nothing shortens it: 25 s by the clock at most.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { edited } from '../invariants/ground.ts'
import { makeShopSite, startTestBroker } from '../support/broker.ts'
import { callTool, ERAS } from './speak.ts'

const ANSWERED_WITHIN_MS = 25_000
const UPSTREAM_TAKES_MS = 29_000

test('a write that takes longer than 25 s is answered pending before, in both eras, and its end can be asked for', async t => {
  const site = await makeShopSite()
  edited(site, 'actions/shop/upstream.yaml', text => text.replace(/^timeouts:.*$/m, 'timeouts: {connect: 2s, total: 60s}'))
  edited(site, 'actions/shop/place_order.v1.yaml', text => text.replace('timeout: 5s', 'timeout: 45s'))
  const broker = await startTestBroker(site)
  t.after(async () => {
    await broker.close()
    await site.shop.close()
    site.remove()
  })
  await Promise.all(ERAS.map(async (era, at) => {
    // Writes for one customer would wait for each other.
    const args = { customer_id: `cus_100${at + 1}`, sku: 'TEA-250', quantity: 1, max_total_minor: 5000 }
    const token = await site.token({ run: `slow-${era}`, claims: { customers: [args.customer_id] } })
    site.shop.faults.arm({ kind: 'delay', delayMs: UPSTREAM_TAKES_MS }, { method: 'POST', path: '/orders' })
    const askedAtMs = performance.now()
    const slow = await callTool(broker.agentsUrl, token, 'place_order_v1', args, { era })
    const tookMs = performance.now() - askedAtMs
    assert.ok(tookMs < ANSWERED_WITHIN_MS, `answered after ${tookMs} ms`)
    assert.deepEqual([slow.structuredContent.outcome, slow.isError], ['pending', undefined])
    const ended = await callTool(broker.agentsUrl, token, 'attempt_get', { attempt_id: slow.structuredContent.attempt_id, wait_seconds: 20 }, { era })
    assert.equal(ended.structuredContent.outcome, 'completed')
  }))
  assert.equal(site.shop.ledger.filter(({ effect }) => effect === 'order.placed').length, ERAS.length)
})
