// What is listed where there is too much to list, and who is told that the list has changed.
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { CatalogFaults } from '../../src/catalog/catalog.ts'
import { edited } from '../invariants/ground.ts'
import { makeShopSite, startTestBroker, type ShopSite, type TestBroker } from '../support/broker.ts'
import { sdkV2 } from './clients.ts'
import { callTool, ERAS, speak, type Era } from './speak.ts'
import { addReads, READS } from './wide.ts'

/** Sixty reads beside the bundled actions, and roles that grant them. */
async function wide (t: TestContext, roles: string): Promise<ShopSite> {
  const site = await makeShopSite()
  t.after(async () => {
    await site.shop.close()
    site.remove()
  })
  addReads(site)
  edited(site, 'actions/policy.yaml', () => roles)
  return site
}

const all = READS.map(name => `${name}.v1`)
const POLICY = `roles:
  many: {actions: [${all.join(', ')}], core: [read_number_03.v1, read_number_01.v1]}
  open: [${all.join(', ')}]
  twenty: {actions: [${all.slice(0, 20).join(', ')}], core: [read_number_03.v1]}
  twenty_one: {actions: [${all.slice(0, 21).join(', ')}], core: [read_number_03.v1]}
  few: [${all.slice(0, 3).join(', ')}]
`

test('with more than twenty actions the core ones are listed and the others are found, whole, and can be called', async t => {
  const site = await wide(t, POLICY)
  const broker = await startTestBroker(site)
  t.after(() => broker.close())
  const url = broker.agentsUrl
  const listed = async (roles: readonly string[]): Promise<readonly string[]> => (await pagesOf(url, await site.token({ roles }))).flat()
  assert.deepEqual(await listed(['many']), ['attempt_get', 'search_actions', 'read_number_01_v1', 'read_number_03_v1'])
  assert.deepEqual(await listed(['few']), ['attempt_get', 'read_number_00_v1', 'read_number_01_v1', 'read_number_02_v1'])
  assert.deepEqual(await listed(['twenty']), ['attempt_get', ...READS.slice(0, 20).map(name => `${name}_v1`)])
  assert.deepEqual(await listed(['twenty_one']), ['attempt_get', 'search_actions', 'read_number_03_v1'])
  const token = await site.token({ roles: ['many'] })
  const found: any[] = []
  let cursor: string | null = null
  do {
    const { structuredContent } = await callTool(url, token, 'search_actions', { query: 'number', limit: 10, ...(cursor === null ? {} : { cursor }) })
    assert.equal(structuredContent.outcome, 'completed')
    found.push(...structuredContent.result.actions)
    cursor = structuredContent.result.next_cursor
  } while (cursor !== null)
  assert.deepEqual(found.map(one => one.tool), READS.map(name => `${name}_v1`))
  const one = (await callTool(url, token, 'search_actions', { query: 'NUMBER 42' })).structuredContent.result.actions
  assert.deepEqual(one.map((action: any) => action.action), ['read_number_42.v1'])
  const contract = (await broker.get(token, '/v1/actions/read_number_42.v1')).body.action
  assert.deepEqual(one[0], { tool: 'read_number_42_v1', ...contract })
  const asked = site.shop.requests.length
  const called = (await callTool(url, token, one[0].tool, { customer_id: 'cus_1001' })).structuredContent
  assert.deepEqual([called.outcome, called.result.customer_id, site.shop.requests.length], ['completed', 'cus_1001', asked + 1])
  assert.deepEqual((await callTool(url, await site.token({ roles: ['few'] }), 'search_actions', { query: '42' })).structuredContent.result.actions, [])
})

test('a role of more than twenty actions that names no core lists them all, in pages, in both eras, and there is nothing to search for', async t => {
  const site = await wide(t, POLICY)
  const broker = await startTestBroker(site)
  t.after(() => broker.close())
  const token = await site.token({ roles: ['open'] })
  const all = ['attempt_get', ...READS.map(name => `${name}_v1`)]
  for (const era of ERAS) {
    const pages = await pagesOf(broker.agentsUrl, token, era)
    assert.deepEqual(pages.map(page => page.length), [51, 10], era)
    assert.deepEqual(pages.flat(), all, 'each once, and in order')
  }
  // Clients follow the pages by themselves.
  for (const mode of ['auto', 'legacy'] as const) {
    const client = await sdkV2(mode).connect(broker.agentsUrl, token)
    t.after(() => client.close())
    assert.deepEqual(await client.list(), all, mode)
  }
})

/** The names of the tools, a list a page. */
async function pagesOf (url: string, token: string, era: Era = '2026-07-28'): Promise<ReadonlyArray<readonly string[]>> {
  const pages: Array<readonly string[]> = []
  let cursor: string | undefined
  do {
    const { result } = (await speak(url, 'tools/list', cursor === undefined ? {} : { cursor }, { token, era })).message
    pages.push(result.tools.map((tool: any) => tool.name))
    cursor = result.nextCursor
  } while (cursor !== undefined)
  return pages
}

test('a core action that the role does not grant refuses the load', async t => {
  const site = await wide(t, `roles:\n  many: {actions: [read_number_00.v1], core: [read_number_00.v1, read_number_01.v1]}\n`)
  await assert.rejects(startTestBroker(site), (error: unknown) => {
    assert.ok(error instanceof CatalogFaults)
    assert.deepEqual(error.faults.map(({ file, line, rule }) => [file, line, rule]), [['policy.yaml', 2, 'core-not-granted']])
    return true
  })
})

test('a stream that listens ends with the token that opened it', async t => {
  const site = await makeShopSite()
  const broker = await startTestBroker(site)
  t.after(async () => {
    await broker.close()
    await site.shop.close()
    site.remove()
  })
  const [short, long] = [await listen(broker, await site.token({ ttlSeconds: 2 })), await listen(broker, await site.token())]
  await Promise.all([short, long].map(one => one.hears(/subscriptions\/acknowledged/)))
  await Promise.race([short.ended, sleep(15_000, null, { ref: false }).then(() => assert.fail('the stream goes on'))])
  edited(site, 'actions/shop/get_customer.v1.yaml', text => text.replace(/^title: .*$/m, 'title: Look at a customer'))
  await broker.reload()
  await long.hears(/tools\/list_changed/)
  assert.doesNotMatch(short.heard(), /list_changed/)
})

const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
}

interface Listening {
  heard (): string
  hears (what: RegExp): Promise<void>
  readonly ended: Promise<void>
}

async function listen (broker: TestBroker, token: string): Promise<Listening> {
  const answer = await fetch(`${broker.agentsUrl}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`, 'content-type': 'application/json', accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen',
    },
    body: JSON.stringify({
      jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params: { notifications: { toolsListChanged: true }, _meta: ENVELOPE },
    }),
  })
  assert.equal(answer.status, 200)
  let heard = ''
  const ended = (async () => {
    for await (const piece of answer.body!) heard += Buffer.from(piece).toString()
  })()
  return {
    heard: () => heard,
    async hears (what) {
      const endsAtMs = performance.now() + 15_000
      while (!what.test(heard)) {
        assert.ok(performance.now() < endsAtMs, `${what} in ${heard}`)
        await sleep(10)
      }
    },
    ended,
  }
}

test('whoever listens is told of a reload that changes something, of no other, and is let go when the broker ends', async t => {
  const site = await makeShopSite()
  const broker = await startTestBroker(site)
  t.after(async () => {
    await site.shop.close()
    site.remove()
  })
  const listening = await listen(broker, await site.token())
  await listening.hears(/subscriptions\/acknowledged/)
  await broker.reload()
  edited(site, 'actions/shop/get_customer.v1.yaml', text => text.replace(/^title: .*$/m, 'title: Look at a customer'))
  await broker.reload()
  await listening.hears(/tools\/list_changed/)
  const listed = (await speak(broker.agentsUrl, 'tools/list', {}, { token: await site.token() })).message.result.tools
  assert.equal(listed.find((tool: any) => tool.name === 'get_customer_v1').title, 'Look at a customer')
  await broker.close()
  // The stream is ended, not cut.
  await listening.ended
  assert.equal(listening.heard().match(/tools\/list_changed/g)!.length, 1)
})

test('both eras list the same', async t => {
  const site = await makeShopSite()
  const broker = await startTestBroker(site)
  t.after(async () => {
    await broker.close()
    await site.shop.close()
    site.remove()
  })
  const token = await site.token()
  const [one, other] = await Promise.all(ERAS.map(async era => (await speak(broker.agentsUrl, 'tools/list', {}, { token, era })).message.result.tools))
  assert.deepEqual(one, other)
})
