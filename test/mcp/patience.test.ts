// The time in which a client is answered, as it is where nothing shortens it: 25 s by the clock at most.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../src/catalog/catalog.ts'
import { edited } from '../invariants/ground.ts'
import { makeShopSite, startTestBroker } from '../support/broker.ts'
import { callTool, ERAS, type Era } from './speak.ts'

const ANSWERED_WITHIN_MS = 25_000
const UPSTREAM_TAKES_MS = 29_000

test('what takes longer than 25 s is answered pending before, in both eras: a write, whose end can be asked for, and a read, which is asked again', async t => {
  const site = await makeShopSite()
  edited(site, 'actions/shop/upstream.yaml', text => text.replace(/^timeouts:.*$/m, 'timeouts: {connect: 2s, total: 60s}'))
  edited(site, 'actions/shop/place_order.v1.yaml', text => text.replace('timeout: 5s', 'timeout: 45s'))
  edited(site, 'actions/shop/get_customer.v1.yaml', text => text.replace('timeout: 3s', 'timeout: 45s'))
  const broker = await startTestBroker(site)
  t.after(async () => {
    await broker.close()
    await site.shop.close()
    site.remove()
  })
  const asked = async (token: string, name: string, args: JsonObject, era: Era): Promise<any> => {
    const askedAtMs = performance.now()
    const { structuredContent, isError } = await callTool(broker.agentsUrl, token, name, args, { era })
    const tookMs = performance.now() - askedAtMs
    assert.ok(tookMs < ANSWERED_WITHIN_MS, `${name} is answered after ${tookMs} ms`)
    assert.deepEqual([structuredContent.outcome, isError], ['pending', undefined])
    return structuredContent
  }
  const slowWrite = async (era: Era, at: number): Promise<void> => {
    // Writes for one customer would wait for each other.
    const args = { customer_id: `cus_100${at + 1}`, sku: 'TEA-250', quantity: 1, max_total_minor: 5000 }
    const token = await site.token({ run: `slow-${era}`, claims: { customers: [args.customer_id] } })
    site.shop.faults.arm({ kind: 'delay', delayMs: UPSTREAM_TAKES_MS }, { method: 'POST', path: '/orders' })
    const { attempt_id } = await asked(token, 'place_order_v1', args, era)
    const ended = await callTool(broker.agentsUrl, token, 'attempt_get', { attempt_id, wait_seconds: 20 }, { era })
    assert.equal(ended.structuredContent.outcome, 'completed')
  }
  // A write is answered by the patience of both faces, a read by that of MCP alone.
  const slowRead = async (era: Era): Promise<void> => {
    // Of a customer for whom nothing else asks.
    const args = { customer_id: 'cus_1003' }
    const token = await site.token({ run: `reading-${era}`, claims: { customers: [args.customer_id] } })
    site.shop.faults.arm({ kind: 'delay', delayMs: UPSTREAM_TAKES_MS }, { method: 'GET', path: `/customers/${args.customer_id}` })
    const { attempt_id, next } = await asked(token, 'get_customer_v1', args, era)
    assert.deepEqual([attempt_id, next.tool], [undefined, 'get_customer_v1'])
    assert.equal((await callTool(broker.agentsUrl, token, 'get_customer_v1', args, { era })).structuredContent.outcome, 'completed')
  }
  await Promise.all(ERAS.flatMap((era, at) => [slowWrite(era, at), slowRead(era)]))
  assert.equal(site.shop.ledger.filter(({ effect }) => effect === 'order.placed').length, ERAS.length)
})
