// One pipeline, two faces: the same calls to the same shop under the same faults, over HTTP and over MCP in both eras, on brokers that differ in nothing
// else. The envelopes are equal to the last field but for those of the transport, and so are the ledgers and the lines of the audit.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Json, JsonObject } from '../../src/catalog/catalog.ts'
import { loadCatalog } from '../../src/catalog/load.ts'
import { BUNDLED } from '../../src/commands/demo/sheets.ts'
import type { FaultMatch, ShopFault } from '../../src/commands/demo/shop-faults.ts'
import { toolNameOf } from '../../src/tools/tool-name.ts'
import { makeShopSite, startTestBroker, type ShopSite, type TestBroker, type TokenClaims } from '../support/broker.ts'
import { Comparing } from './comparable.ts'
import { callTool, ERAS, speak, type Era } from './speak.ts'

interface Step {
  readonly action: string
  readonly args: Json
  readonly key?: string
  readonly fault?: ShopFault
  readonly match?: FaultMatch
  readonly claims?: TokenClaims
  /** Then ask for the attempt until it is settled. */
  readonly wait?: true
}

interface Face {
  readonly name: string
  readonly site: ShopSite
  readonly broker: TestBroker
  call (token: string, step: Step): Promise<any>
  attempt (token: string, id: string): Promise<any>
}

let faces: readonly Face[]

before(async () => {
  const first = await makeShopSite({ deployMs: 200 })
  // Under one key equal calls have equal marks in the audit.
  const others = await Promise.all(ERAS.map(() => makeShopSite({ deployMs: 200, env: { AVAL_KEY: first.env['AVAL_KEY'] } })))
  faces = await Promise.all([first, ...others].map(async (site, index) => {
    const broker = await startTestBroker(site)
    return index === 0 ? httpFace(site, broker) : mcpFace(site, broker, ERAS[index - 1]!)
  }))
})

after(async () => {
  for (const { site, broker } of faces) {
    await broker.close()
    await site.shop.close()
    site.remove()
  }
})

const httpFace = (site: ShopSite, broker: TestBroker): Face => ({
  name: 'http', site, broker,
  call: async (token, { action, args, key }) => (await broker.call(token, action, args, key)).body,
  attempt: async (token, id) => (await broker.attempt(token, id, 20_000)).body,
})

const mcpFace = (site: ShopSite, broker: TestBroker, era: Era): Face => ({
  name: era, site, broker,
  async call (token, { action, args, key }) {
    const meta: JsonObject = key === undefined ? {} : { 'aval/idempotency-key': key }
    return (await callTool(broker.agentsUrl, token, toolNameOf(action), args as JsonObject, { era, meta })).structuredContent
  },
  attempt: async (token, id) => (await callTool(broker.agentsUrl, token, 'attempt_get', { attempt_id: id, wait_seconds: 20 }, { era })).structuredContent,
})

const CLAIMS: TokenClaims = { sub: 'agent-1', run: 'run-1' }

async function onAllFaces (steps: readonly Step[]): Promise<readonly unknown[]> {
  const told = await Promise.all(faces.map(async face => {
    const said: unknown[] = []
    const comparing = new Comparing()
    for (const step of steps) {
      face.site.shop.faults.clear()
      if (step.fault !== undefined) face.site.shop.faults.arm(step.fault, step.match)
      const token = await face.site.token({ ...CLAIMS, ...step.claims })
      const envelope = await face.call(token, step)
      said.push(comparing.comparable(envelope))
      if (step.wait === true) said.push(comparing.comparable(await face.attempt(token, envelope.attempt_id)))
    }
    face.site.shop.faults.clear()
    return said
  }))
  for (const [index, said] of told.entries()) assert.deepEqual(said, told[0], `${faces[index]!.name} beside http`)
  return told[0]!
}

const order = (run: string, quantity = 1): Pick<Step, 'action' | 'args' | 'claims'> =>
  ({ action: 'place_order.v1', args: { customer_id: 'cus_1001', sku: 'TEA-250', quantity, max_total_minor: 9000 }, claims: { run } })
const POST = { method: 'POST', path: '/orders' } as const

test('every example of every bundled sheet', async () => {
  const { actions } = await loadCatalog(BUNDLED)
  const steps = [...actions.values()].flatMap(action => action.examples.map((example, index) => ({
    action: action.id, args: example.arguments, claims: { run: `example-${action.id}-${index}` }, key: `example-${index}`,
  })))
  assert.ok(steps.length >= 10)
  const said = await onAllFaces(steps) as any[]
  assert.ok(new Set(said.map(one => one.outcome)).size > 1)
})

test('whatever the shop answers to a write', async () => {
  const plain = [400, 403, 422, 425, 429].map(status => ({ status, applied: false }))
  // What may have been applied is looked up, which takes its time.
  const open = [{ status: 409, applied: true }, { status: 500, applied: true }, { status: 503, applied: false }]
  const steps = [...plain, ...open].map(({ status, applied }) => (
    { ...order(`status-${status}-${applied}`), fault: { kind: 'fail', status, applied } as const, match: POST, wait: true as const }
  ))
  const said = await onAllFaces(steps) as any[]
  assert.deepEqual(new Set(said.map(one => one.outcome)), new Set(['rejected', 'unknown', 'completed']))
})

test('whatever the network does to a write and to a read', async () => {
  const faults: readonly ShopFault[] = [{ kind: 'lose' }, { kind: 'delay', delayMs: 50 }]
  const said = await onAllFaces([
    ...faults.map((fault, index) => ({ ...order(`network-${index}`), fault, match: POST, wait: true as const })),
    ...[...faults, { kind: 'drop' } as const].map(fault => ({
      action: 'get_customer.v1', args: { customer_id: 'cus_1001' }, fault, match: { method: 'GET', path: '/customers', times: 9 },
    })),
  ]) as any[]
  assert.ok(said.some(one => one.outcome === 'unknown') && said.some(one => one.outcome === 'completed'))
})

test('a change to what is already so, which sends nothing', async () => {
  const args = { customer_id: 'cus_1002', destination: { street: '4 Parity Row', city: 'Cork', postal_code: 'T12 X7YW', country: 'IE' } }
  const change = { action: 'change_shipping_address.v2', args, claims: { run: 'already' } }
  const said = await onAllFaces([{ ...change, key: 'first' }, { ...change, key: 'second' }]) as any[]
  assert.deepEqual(said.map(one => one.outcome), ['completed', 'already_in_desired_state'])
})

test('refusals of each step, repeats and reused keys', async () => {
  const said = await onAllFaces([
    { ...order('refusals'), args: { customer_id: 'cus_1001' } },
    { ...order('refusals'), args: { customer_id: 'cus_1001', sku: 'TEA-250', quantity: 1.5, max_total_minor: 1, more: null } },
    { ...order('refusals'), args: { customer_id: 'cus_1009', sku: 'TEA-250', quantity: 1, max_total_minor: 9000 } },
    { ...order('refusals'), args: { customer_id: 'cus_1001', sku: 'TEA-250', quantity: 1, max_total_minor: 1 } },
    { ...order('refusals'), args: { customer_id: 'cus_1001', sku: 'NO-SUCH', quantity: 1, max_total_minor: 9000 } },
    { ...order('refusals'), claims: { run: null } },
    { ...order('keys'), key: 'one' }, { ...order('keys'), key: 'one' }, { ...order('keys', 2), key: 'one' }, { ...order('keys'), key: 'two words' },
    { ...order('same') }, { ...order('same') },
    { action: 'delete_customer.v1', args: { customer_id: 'cus_1003' }, claims: { run: 'consent' } },
    { action: 'start_deployment.v1', args: { revision: 'abcd1234' }, claims: { run: 'deploy' }, wait: true },
  ]) as any[]
  const codes = said.flatMap(one => one.error === undefined ? [] : [one.error.code])
  for (const code of ['INVALID_ARGUMENTS', 'OUT_OF_SCOPE', 'OVER_CEILING', 'RUN_REQUIRED', 'IDEMPOTENCY_KEY_REUSED', 'MALFORMED_REQUEST', 'CONSENT_UNAVAILABLE']) {
    assert.ok(codes.includes(code), `${code} in ${codes.join(' ')}`)
  }
})

test('the shops have the same ledger, and the audits the same lines', async () => {
  const ledgers = faces.map(({ site }) => site.shop.ledger.map(({ effect, object }) => `${effect} ${object}`))
  assert.ok(ledgers[0]!.length > 5)
  for (const ledger of ledgers) assert.deepEqual(ledger.toSorted(), ledgers[0]!.toSorted())
  const audits = await Promise.all(faces.map(async ({ site, broker }) => {
    await broker.metrics() // what is told soon is told before
    return linesOf(join(site.folder, 'data/audit'))
  }))
  const rows = audits.map(lines => lines.filter(row => row.surface !== undefined).map(row => `${row.action} ${row.outcome} ${row.code} ${row.step}`))
  assert.deepEqual(new Set(audits.map(lines => lines.find(row => row.surface !== undefined)!.surface)), new Set(['http', 'mcp']))
  for (const lines of rows) assert.deepEqual(lines.toSorted(), rows[0]!.toSorted())
})

function linesOf (folder: string): any[] {
  return readdirSync(folder).filter(name => name.endsWith('.jsonl')).flatMap(name =>
    readFileSync(join(folder, name), 'utf8').split('\n').filter(line => line !== '').map(line => JSON.parse(line)))
}

test('what MCP says in its own way: an action that is not there', async () => {
  for (const { name, site, broker } of faces.slice(1)) {
    const token = await site.token(CLAIMS)
    const said = await speak(broker.agentsUrl, 'tools/call', { name: 'no_such_action_v1', arguments: {} }, { token, era: name as Era })
    assert.deepEqual(said.message.error, { code: -32602, message: 'Unknown tool' })
  }
})
