// The clients that agents use, offline, against a whole broker. What each of them says happened is held against the shop's own ledger.
import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { mkdtempSync, rmSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { JsonObject } from '../../src/catalog/catalog.ts'
import { NO_ALIASES } from '../../src/consent/principals.ts'
import { ADDRESS, CHANGE, consentStage, editYaml, OTHER_ADDRESS, type StageOptions } from '../consent/stage.ts'
import { makeShopSite, startTestBroker, type ShopSite, type TestBroker } from '../support/broker.ts'
import { CLIENTS, inspector, openingPages, type RealClient } from './clients.ts'
import { addReads, READS } from './wide.ts'

let site: ShopSite
let broker: TestBroker
const home = mkdtempSync(join(tmpdir(), 'aval-inspector-'))
const inspectors = [inspector('legacy', home), inspector('modern', home)]

/** The revisions that clients named. */
const spoken = new Set<unknown>()
const hear = (message: unknown): void => {
  const { url, headers } = (message as { readonly request: IncomingMessage }).request
  // The first message of the older era names none there.
  if (url === '/mcp' && headers['mcp-protocol-version'] !== undefined) spoken.add(headers['mcp-protocol-version'])
}

before(async () => {
  subscribe('http.server.request.start', hear)
  site = await makeShopSite({ deployMs: 60_000 })
  broker = await startTestBroker(site)
})

after(async () => {
  unsubscribe('http.server.request.start', hear)
  await broker.close()
  await site.shop.close()
  site.remove()
  rmSync(home, { recursive: true, force: true })
})

const ORIGIN = 'https://approvals.example'
const PEOPLE: NonNullable<StageOptions['people']> = () => ({ origin: ORIGIN, principals: NO_ALIASES, rolesOf: async () => null })
const CHANGE_TOOL = CHANGE.replace('.', '_')
const ORDER: JsonObject = { customer_id: 'cus_1001', sku: 'TEA-250', quantity: 1, max_total_minor: 5000 }
const ledger = (effect: string): number => site.shop.ledger.filter(entry => entry.effect === effect).length
/** But not the look-ups of what others of them began. */
const customersRead = (): number => site.shop.requests.filter(({ method, target }) => method === 'GET' && target.startsWith('/v1/customers/')).length

/** Says of nothing that it failed: the model reads what was rejected. */
const SILENT = new Set(['OpenAI Agents'])

function journey ({ name, era, connect }: RealClient): void {
  test(`${name}: list, read, write, refusal, unknown and pending`, async () => {
    spoken.clear()
    // A tenant of its own, so that the clients do not wait for each other's deployments.
    const client = await connect(broker.agentsUrl, await site.token({ tenant: name.replaceAll(/\W+/g, '-') }))
    try {
      const tools = await client.list()
      assert.ok(tools.includes('attempt_get') && tools.includes('place_order_v1') && tools.includes('get_customer_v1'), tools.join(' '))

      const [asked, done] = [customersRead(), site.shop.ledger.length]
      const read = await client.call('get_customer_v1', { customer_id: 'cus_1001' })
      assert.deepEqual([read.envelope.outcome, read.envelope.result.customer_id, read.failed], ['completed', 'cus_1001', false])
      assert.deepEqual([customersRead(), site.shop.ledger.length], [asked + 1, done])

      const orders = ledger('order.placed')
      const write = await client.call('place_order_v1', ORDER)
      assert.deepEqual([write.envelope.outcome, write.failed, ledger('order.placed')], ['completed', false, orders + 1])

      const refused = await client.call('place_order_v1', { ...ORDER, customer_id: 'cus_1009' })
      assert.deepEqual([refused.envelope.outcome, refused.envelope.error.code, refused.envelope.sent], ['rejected', 'OUT_OF_SCOPE', false])
      assert.equal(refused.failed, !SILENT.has(name))
      assert.equal(ledger('order.placed'), orders + 1)

      // The order is placed and the answer is lost. No framework may take that for a failure and call again.
      site.shop.faults.arm({ kind: 'lose' }, { method: 'POST', path: '/orders' })
      const lost = await client.call('place_order_v1', { ...ORDER, customer_id: 'cus_1002' })
      site.shop.faults.clear()
      assert.deepEqual([lost.envelope.outcome, lost.envelope.sent, lost.failed], ['unknown', true, false])
      assert.equal(lost.envelope.next.tool, 'attempt_get')
      assert.equal(ledger('order.placed'), orders + 2)
      const learned = await client.call('attempt_get', { ...lost.envelope.next.arguments, wait_seconds: 20 })
      assert.deepEqual([learned.envelope.outcome, learned.envelope.evidence.source, learned.failed], ['completed', 'lookup', false])
      assert.equal(ledger('order.placed'), orders + 2)

      const deployments = ledger('deployment.accepted')
      const started = await client.call('start_deployment_v1', { revision: 'abcd1234' })
      assert.deepEqual([started.envelope.outcome, started.envelope.pending_on, started.failed], ['pending', 'upstream', false])
      assert.equal(ledger('deployment.accepted'), deployments + 1)
      assert.deepEqual([...spoken], [era])
    } finally {
      await client.close()
    }
  })
}

function consent ({ name, connect }: RealClient): void {
  test(`${name}: a proposal is asked for, carried out once when a person has approved it, and not at all when it was denied`, async t => {
    const on = await consentStage(t, 'sqlite', { people: PEOPLE })
    const client = await connect(on.broker.agentsUrl, on.token)
    t.after(() => client.close())
    const args = { customer_id: 'cus_1001', destination: ADDRESS }
    const asked = await client.call(CHANGE_TOOL, args)
    const { id, approval_url: link } = asked.envelope.proposal
    // A framework that took it for a failure would call again, and a person would be asked twice.
    assert.deepEqual([asked.envelope.outcome, asked.envelope.pending_on, asked.failed, link], ['pending', 'consent', false, `${ORIGIN}/approvals/${id}`])
    const early = await client.call('proposal_commit', { proposal_id: id })
    assert.deepEqual([early.envelope.error.code, early.failed, on.writes().length], ['PROPOSAL_PENDING', !SILENT.has(name), 0])
    await on.approve(id)
    const decided = await client.call('proposal_get', { proposal_id: id, wait_seconds: 20 })
    assert.deepEqual([decided.envelope.proposal.state, decided.envelope.next.tool, decided.failed], ['approved', 'proposal_commit', false])
    assert.equal(on.writes().length, 0)
    const done = await client.call('proposal_commit', { proposal_id: id })
    assert.deepEqual([done.envelope.outcome, done.failed, on.effects()], ['completed', false, 1])
    const again = await client.call('proposal_commit', { proposal_id: id })
    assert.deepEqual([again.envelope.duplicate, again.envelope.attempt_id, on.effects()], [true, done.envelope.attempt_id, 1])

    const other = (await client.call(CHANGE_TOOL, { ...args, destination: OTHER_ADDRESS })).envelope.proposal.id
    await on.deny(other)
    const denied = await client.call('proposal_commit', { proposal_id: other })
    assert.deepEqual([denied.envelope.error.code, denied.failed], ['PROPOSAL_DENIED', !SILENT.has(name)])
    assert.deepEqual([on.writes().length, on.effects()], [1, 1])
  })
}

const idIn = (page: string): string => page.split('/').at(-1)!

describe('clients', () => {
  for (const client of [...CLIENTS, ...inspectors]) journey(client)
})

describe('clients, where a person is asked', () => {
  for (const client of [...CLIENTS, ...inspectors]) consent(client)

  test('MCP SDK 2 that can open pages opens the one of the proposal, and the same call goes on when the person has decided there', async t => {
    const on = await consentStage(t, 'sqlite', { people: PEOPLE })
    const opened: string[] = []
    const client = await openingPages(on.broker.agentsUrl, on.token, async url => {
      opened.push(url)
      await on.approve(idIn(url))
      return 'accept'
    })
    t.after(() => client.close())
    const { envelope, failed } = await client.call(CHANGE_TOOL, { customer_id: 'cus_1001', destination: ADDRESS })
    assert.deepEqual([envelope.outcome, failed, on.effects()], ['completed', false, 1])
    assert.equal(opened.length, 1)
    const id = idIn(opened[0]!)
    assert.equal(opened[0], `${ORIGIN}/approvals/${id}`)
    const { state, attemptId } = await on.record(id)
    assert.deepEqual([state, attemptId], ['consumed', envelope.attempt_id])
  })

  test('MCP SDK 2 whose user declines takes the proposal back, and nothing is done', async t => {
    const on = await consentStage(t, 'sqlite', { people: PEOPLE })
    const opened: string[] = []
    const client = await openingPages(on.broker.agentsUrl, on.token, async url => {
      opened.push(url)
      return 'decline'
    })
    t.after(() => client.close())
    const { envelope, failed } = await client.call(CHANGE_TOOL, { customer_id: 'cus_1001', destination: ADDRESS })
    assert.deepEqual([envelope.error.code, failed, opened.length], ['PROPOSAL_WITHDRAWN', true, 1])
    assert.deepEqual([(await on.record(idIn(opened[0]!))).state, on.writes().length, on.effects()], ['withdrawn', 0, 0])
  })
})

for (const { name, connect, lint } of inspectors) {
  test(`${name}: its linter finds nothing to say about the schemas, those of the tools that are no actions among them`, async t => {
    const on = await consentStage(t, 'sqlite', {
      people: PEOPLE,
      edit: site => {
        addReads(site)
        const actions = [CHANGE, ...READS.map(read => `${read}.v1`)]
        editYaml(site, 'policy.yaml', policy => policy.setIn(['roles', 'many'], policy.createNode({ actions, core: [CHANGE] })))
      },
    })
    const token = await on.site.token({ roles: ['many'] })
    const listed = await (await connect(on.broker.agentsUrl, token)).list()
    assert.deepEqual(listed, ['attempt_get', 'search_actions', 'proposal_get', 'proposal_commit', 'proposal_withdraw', CHANGE_TOOL])
    for (const [url, as] of [[broker.agentsUrl, await site.token()], [on.broker.agentsUrl, token]] as const) {
      const { code, stderr } = await lint(url, as)
      assert.equal(code, 0, stderr)
      assert.doesNotMatch(stderr, /warning|error/i)
    }
  })
}
