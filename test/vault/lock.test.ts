// An operator locks the vault: every agent is refused whatever it asks, nothing is sent and nothing of what comes back is shown, and a restart unlocks
// nothing.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeShopSite, startTestBroker, type ShopSite, type TestBroker } from '../support/broker.ts'
import { auditRows, controlOf, eventually } from '../invariants/ground.ts'
import { ERAS, speak } from '../mcp/speak.ts'

const ORDER = { customer_id: 'cus_1001', sku: 'TEA-250', quantity: 1, max_total_minor: 5000 }

interface Ground {
  readonly site: ShopSite
  readonly broker: TestBroker
  restarted (): Promise<TestBroker>
}

async function ground (t: TestContext): Promise<Ground> {
  const site = await makeShopSite()
  let broker = await startTestBroker(site)
  t.after(async () => {
    await broker.close()
    await site.shop.close()
    site.remove()
  })
  return {
    site,
    broker,
    async restarted () {
      await broker.close()
      return broker = await startTestBroker(site)
    },
  }
}

const lock = (site: ShopSite) => controlOf(site, { command: 'vault lock', note: 'a token was stolen' })
const unlock = (site: ShopSite) => controlOf(site, { command: 'vault unlock', note: 'it is revoked' })
const effects = (site: ShopSite): number => site.shop.ledger.length

test('while the vault is locked every route that needs a token answers 423 and says nothing else (A39)', async t => {
  const { site, broker } = await ground(t)
  const token = await site.token()
  const document = await (await fetch(`${broker.agentsUrl}/openapi.json`)).json() as any
  const routes = Object.entries<any>(document.paths).flatMap(([path, methods]) => Object.entries<any>(methods)
    .filter(([, { security }]) => security !== undefined).map(([method, { requestBody }]) => ({ path, method, body: requestBody !== undefined })))
  assert.ok(routes.length >= 10, 'the document lists the routes')
  const { result } = await lock(site) as any
  const { locked_at: lockedAt, ...locked } = result
  const kept = { locked: true, epoch: 1, waiting_for: [], vault: 'none', locked_by: 'somebody at the control socket', note: 'a token was stolen' }
  assert.deepEqual(locked, { ...kept, already: false })
  assert.deepEqual(await controlOf(site, { command: 'vault lock', note: 'another reason' }), { ok: true, result: { ...kept, already: true, locked_at: lockedAt } }, 'the first one stands')
  assert.deepEqual(await controlOf(site, { command: 'vault status' }), { ok: true, result: { ...kept, locked_at: lockedAt } })
  for (const { path, method, body } of routes) {
    const named = path.replace('{action}', 'get_customer.v1').replaceAll(/\{\w+\}/g, 'att_00')
    const url = `${broker.agentsUrl}${named}${path === '/v1/tools' ? '?format=mcp' : ''}`
    const message = path === '/mcp' ? { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} } : { arguments: { customer_id: 'cus_1001' } }
    const answer = await fetch(url, {
      method: method.toUpperCase(), body: body ? JSON.stringify(message) : null,
      headers: { authorization: `Bearer ${token}`, ...(body ? { 'content-type': 'application/json', accept: 'application/json, text/event-stream' } : {}) },
    })
    const text = await answer.text()
    assert.doesNotMatch(text, /stolen|somebody/)
    assert.equal(answer.status, 423, `${method} ${path}: ${text}`)
    assert.match(text, /VAULT_LOCKED/, path)
    assert.doesNotMatch(text, /get_customer|"action"|"result"|attempt_id/, `${method} ${path} says more than that it is locked`)
  }
  for (const open of ['/openapi.json', '/docs']) assert.equal((await fetch(`${broker.agentsUrl}${open}`)).status, 200)
  assert.equal((await fetch(`${broker.agentsUrl}/v1/actions`)).status, 401, 'who has no token is not told')
  const ready = await (await fetch(`${broker.operationsUrl}/readyz`)).json() as any
  assert.deepEqual(ready.dependencies.find((one: any) => one.name === 'vault'), { name: 'vault', ok: true, detail: 'locked by an operator' })
  assert.match(await broker.metrics(), /^aval_vault_locked 1$/m)
  await unlock(site)
  assert.equal((await broker.get(token, '/v1/actions')).status, 200)
  assert.match(await broker.metrics(), /^aval_vault_locked 0\n(.*\n)*aval_vault_epoch 1$/m)
})

test('over MCP tools are neither listed nor called while it is locked, in either era (A39)', async t => {
  const { site, broker } = await ground(t)
  const token = await site.token()
  await lock(site)
  for (const era of ERAS) {
    for (const [method, params] of [['tools/list', {}], ['tools/call', { name: 'place_order_v1', arguments: ORDER }]] as const) {
      const refused = await speak(broker.agentsUrl, method, params, { token, era })
      assert.deepEqual([refused.status, refused.message.error.data.error.code], [423, 'VAULT_LOCKED'], `${method} ${era}`)
    }
  }
  assert.equal(effects(site), 0)
})

test('a write that was under way at the lock finishes: its outcome is told, its result only after the unlock', async t => {
  const { site, broker } = await ground(t)
  const token = await site.token()
  site.shop.faults.arm({ kind: 'delay', delayMs: 600 }, { method: 'POST' })
  const calling = broker.call(token, 'place_order.v1', ORDER)
  await eventually(() => effects(site) === 1, 'the order has arrived')
  await lock(site)
  const { status, body } = await calling
  assert.deepEqual([status, body.outcome, body.sent, body.result, body.withheld], [200, 'completed', true, null, 'VAULT_LOCKED'])
  const path = `/v1/attempts/${body.attempt_id}`
  assert.equal((await broker.get(token, path)).status, 423)
  await unlock(site)
  const later = await broker.get(token, path)
  assert.equal(later.body.outcome, 'completed')
  assert.equal(later.body.result.sku ?? later.body.result.order_id !== undefined, true, JSON.stringify(later.body.result))
  assert.equal(effects(site), 1)
})

test('a read that was under way at the lock is told as refused, and nothing of it is shown', async t => {
  const { site, broker } = await ground(t)
  const token = await site.token()
  site.shop.faults.arm({ kind: 'delay', delayMs: 600 }, { method: 'GET' })
  const calling = broker.call(token, 'get_customer.v1', { customer_id: 'cus_1001' })
  await sleep(250)
  await lock(site)
  const { status, body } = await calling
  assert.deepEqual([status, body.outcome, body.error.code, body.result], [200, 'rejected', 'VAULT_LOCKED', undefined])
  assert.doesNotMatch(JSON.stringify(body), /cus_1001|street/)
})

test('whoever waits for an attempt is refused when it is locked, not when the wait is over', async t => {
  const { site, broker } = await ground(t)
  const token = await site.token()
  site.shop.faults.arm({ kind: 'lose' }, { method: 'POST' })
  site.shop.faults.arm({ kind: 'fail', status: 503, applied: false }, { method: 'GET', path: '/orders', times: 1_000 })
  const { body } = await broker.call(token, 'place_order.v1', ORDER)
  assert.equal(body.outcome, 'unknown')
  const waiting = broker.attempt(token, body.attempt_id, 50_000)
  await sleep(200)
  await lock(site)
  assert.equal((await waiting).status, 423)
})

test('while it is locked nothing is looked up; after the unlock it is', async t => {
  const { site, broker } = await ground(t)
  const token = await site.token()
  site.shop.faults.arm({ kind: 'lose' }, { method: 'POST' })
  site.shop.faults.arm({ kind: 'fail', status: 503, applied: false }, { method: 'GET', path: '/orders', times: 1_000 })
  const { body } = await broker.call(token, 'place_order.v1', ORDER)
  assert.equal(body.outcome, 'unknown')
  await lock(site)
  await sleep(300)
  const lookups = (text: string): string => [...text.matchAll(/^aval_lookups_total\{.*$/gm)].map(String).join()
  const before = lookups(await broker.metrics())
  await sleep(3_000)
  assert.equal(lookups(await broker.metrics()), before, 'a look-up uses a credential')
  site.shop.faults.clear()
  await unlock(site)
  assert.equal((await broker.attempt(token, body.attempt_id, 40_000)).body.outcome, 'completed')
  assert.equal(effects(site), 1)
})

test('a restart while it is locked leaves it locked', async t => {
  const { site, restarted } = await ground(t)
  const token = await site.token()
  await lock(site)
  const again = await restarted()
  assert.equal((await again.call(token, 'place_order.v1', ORDER)).status, 423)
  assert.equal((await again.get(token, '/v1/actions')).status, 423)
  assert.partialDeepStrictEqual(await controlOf(site, { command: 'vault status' }), { ok: true, result: { locked: true, epoch: 1, waiting_for: [], vault: 'none', note: 'a token was stolen' } })
  await unlock(site)
  assert.equal((await again.call(token, 'place_order.v1', ORDER)).body.outcome, 'completed')
})

test('who locked and unlocked, and who was refused meanwhile, stands in the audit', async t => {
  const { site, broker } = await ground(t)
  const token = await site.token({ run: `run-${randomUUID()}` })
  await lock(site)
  await lock(site)
  await broker.call(token, 'place_order.v1', ORDER)
  await broker.get(token, '/v1/actions')
  await speak(broker.agentsUrl, 'tools/list', {}, { token })
  await unlock(site)
  await broker.close()
  const rows = auditRows(site) as any[]
  assert.deepEqual(rows.filter(row => row.event === 'vault.locked' || row.event === 'vault.unlocked').map(row => [row.event, row.what, row.actor.kind]),
    [['vault.locked', 'epoch 1', 'person'], ['vault.unlocked', 'epoch 1', 'person']], 'locked twice it was locked once')
  const call = rows.filter(row => row.event === 'action.refused')
  assert.deepEqual(call.map(row => [row.code, row.step, typeof row.actor.sub]), [['VAULT_LOCKED', 'authenticate', 'string']])
  const asked = rows.filter(row => row.event === 'vault.refused')
  assert.deepEqual(asked.map(row => [row.code, typeof row.actor.sub]), [['VAULT_LOCKED', 'string'], ['VAULT_LOCKED', 'string']])
  assert.ok(!JSON.stringify(rows).includes('stolen'), 'the words of a person are for the log')
})
