// The MCP endpoint on the wire, in both eras: who is let in, what is answered to what is malformed, what is listed, and what a call says and does.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { JsonObject } from '../../src/catalog/catalog.ts'
import { auditRows, eventually } from '../invariants/ground.ts'
import { makeShopSite, startTestBroker, type ShopSite, type TestBroker } from '../support/broker.ts'
import { callTool, ERAS, post, speak } from './speak.ts'

let site: ShopSite
let broker: TestBroker
let url: string

before(async () => {
  site = await makeShopSite()
  broker = await startTestBroker(site)
  url = broker.agentsUrl
})

after(async () => {
  await broker.close()
  await site.shop.close()
  site.remove()
})

const ORDER = { customer_id: 'cus_1001', sku: 'TEA-250', quantity: 1, max_total_minor: 5000 }
const orders = (): number => site.shop.ledger.filter(entry => entry.effect === 'order.placed').length

describe('who is let in', () => {
  test('without a token, and with one that is none, the answer points to the metadata of the resource', async () => {
    const without = await speak(url, 'tools/list', {}, { token: null })
    assert.equal(without.status, 401)
    assert.equal(without.headers.get('www-authenticate'), `Bearer resource_metadata="${url}/.well-known/oauth-protected-resource/mcp"`)
    const bad = await speak(url, 'tools/list', {}, { token: 'a.b.c' })
    assert.equal(bad.status, 401)
    assert.match(bad.headers.get('www-authenticate')!, /^Bearer error="invalid_token", resource_metadata="/)
    assert.equal(bad.message.error.data.error.code, 'UNAUTHENTICATED')
    const pointed = await fetch(/resource_metadata="([^"]+)"/.exec(bad.headers.get('www-authenticate')!)![1]!)
    const metadata = await pointed.json() as JsonObject
    assert.deepEqual(metadata['authorization_servers'], [site.env['AVAL_ISSUER']])
    assert.equal(metadata['resource'], site.env['AVAL_AUDIENCE'])
    assert.equal((await fetch(`${url}/.well-known/oauth-protected-resource`)).status, 200)
  })

  test('a token that was made for another resource opens nothing here', async t => {
    const other = await makeShopSite()
    const broker = await startTestBroker(other, { AVAL_AUDIENCE: 'https://other.example' })
    t.after(async () => {
      await broker.close()
      await other.shop.close()
      other.remove()
    })
    for (const era of ERAS) {
      for (const [method, params] of [['tools/list', {}], ['tools/call', { name: 'get_customer_v1', arguments: { customer_id: 'cus_1001' } }]] as const) {
        const refused = await speak(broker.agentsUrl, method, params, { token: await other.token(), era })
        assert.deepEqual([refused.status, refused.message.error.data.error.code], [401, 'UNAUTHENTICATED'])
        assert.match(refused.headers.get('www-authenticate')!, /^Bearer error="invalid_token", resource_metadata="/)
      }
    }
    assert.equal(other.shop.requests.length, 0)
  })

  test('the body of a request without a good token is not read', async () => {
    const refused = await post(url, '{"not json', { authorization: 'Bearer a.b.c' })
    assert.equal(refused.status, 401)
  })

  test('a token that was made for fewer actions than its roles grant is told what it lacks; what nobody granted is unknown', async () => {
    const token = await site.token({ claims: { customers: ['cus_1001'], actions: ['get_customer.v1'] } })
    const mark = site.shop.requests.length
    for (const era of ERAS) {
      const beyond = await speak(url, 'tools/call', { name: 'place_order_v1', arguments: ORDER }, { token, era })
      assert.equal(beyond.status, 403)
      // The one scope is all that the call needs: with it alone, beside nothing of what the token has, it is let in.
      assert.match(beyond.headers.get('www-authenticate')!, /^Bearer error="insufficient_scope", scope="place_order\.v1", resource_metadata="/)
      const unknown = await speak(url, 'tools/call', { name: 'no_such_action_v1', arguments: {} }, { token, era })
      assert.deepEqual([unknown.status, unknown.message.error.code], [200, -32602])
    }
    assert.equal(site.shop.requests.length, mark)
    const enough = await site.token({ claims: { customers: ['cus_1001'], actions: ['place_order.v1'] } })
    assert.equal((await callTool(url, enough, 'place_order_v1', ORDER)).structuredContent.outcome, 'completed')
  })

  test('a tool that is not granted and one that there is not are told in the same words', async () => {
    const roles = ['shop_reader']
    // A token that was made for less than its roles grant is not told either what they do not grant.
    const readers = [await site.token({ roles }), await site.token({ roles, claims: { customers: ['cus_1001'], actions: ['get_customer.v1'] } })]
    for (const era of ERAS) {
      for (const token of readers) {
        const [ungranted, absent] = await Promise.all(['place_order_v1', 'no_such_action_v1'].map(name =>
          speak(url, 'tools/call', { name, arguments: ORDER }, { token, era })))
        const plain = ({ status, message: { id: _id, ...rest } }: { status: number, message: any }): unknown => ({ status, ...rest })
        assert.deepEqual(plain(ungranted!), plain(absent!))
        assert.deepEqual([ungranted!.status, ungranted!.message.error], [200, { code: -32602, message: 'Unknown tool' }])
      }
    }
  })

  test('there are no sessions: none is given, and one that a client names is not looked at', async () => {
    const token = await site.token()
    const client = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
    const begun = await speak(url, 'initialize', client, { token, era: '2025-11-25' })
    assert.deepEqual([begun.message.result.protocolVersion, begun.headers.get('mcp-session-id')], ['2025-11-25', null])
    assert.equal(begun.message.result.capabilities.tools.listChanged, undefined)
    const listed = await speak(url, 'tools/list', {}, { token, era: '2025-11-25', headers: { 'mcp-session-id': 'of-another-server' } })
    assert.deepEqual([listed.status, listed.headers.get('mcp-session-id')], [200, null])
    const found = (await speak(url, 'server/discover', {}, { token })).message.result
    assert.deepEqual([found.cacheScope, found.ttlMs, found.capabilities.tools.listChanged], ['private', 60_000, true])
    // What is found and told by the server itself is the same for every caller, and says nothing of what anybody may call.
    assert.deepEqual(found, (await speak(url, 'server/discover', {}, { token: await site.token({ roles: [] }) })).message.result)
  })

  test('another origin and another host are refused, the own origin is served', async () => {
    const token = await site.token()
    const [done, asked] = [site.shop.ledger.length, site.shop.requests.length]
    for (const origin of ['https://evil.example', 'null', 'http://localhost:1', 'http://127.0.0.1', `${url}.evil.example`]) {
      for (const era of ERAS) {
        const call = { name: 'place_order_v1', arguments: ORDER }
        assert.equal((await speak(url, 'tools/call', call, { token, era, headers: { origin } })).status, 403, `${era} ${origin}`)
      }
    }
    assert.deepEqual([site.shop.ledger.length, site.shop.requests.length], [done, asked])
    assert.equal((await speak(url, 'tools/list', {}, { token, headers: { origin: url } })).status, 200)
  })

  test('GET and DELETE answer 405 and say what is allowed', async () => {
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const answer = await fetch(`${url}/mcp`, { method, headers: { authorization: `Bearer ${await site.token()}`, accept: 'text/event-stream' } })
      assert.deepEqual([answer.status, answer.headers.get('allow')], [405, 'POST'])
    }
  })
})

describe('what is malformed is an error of JSON-RPC and calls nothing', () => {
  const CALL = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"place_order_v1","arguments":'
  const bodies: ReadonlyArray<[string, string, number, string]> = [
    ['no JSON', '{"jsonrpc":', 400, 'MALFORMED_JSON'],
    ['a key twice', `${CALL}{"customer_id":"cus_1001","customer_id":"cus_1002"}}}`, 400, 'DUPLICATE_KEY'],
    ['a number that loses digits', `${CALL}{"quantity":9007199254740993}}}`, 400, 'UNSAFE_NUMBER'],
    ['a key that reaches a prototype', `${CALL}{"__proto__":{}}}}`, 400, 'MALFORMED_REQUEST'],
    ['half of a surrogate pair', `${CALL}{"sku":"\\ud800"}}}`, 400, 'ILL_FORMED_TEXT'],
    ['a batch', `[${CALL}{}}}]`, 400, 'MALFORMED_REQUEST'],
    ['more than 64 KiB', `${CALL}{"sku":"${'x'.repeat(70_000)}"}}}`, 413, 'TOO_LARGE'],
    ['33 levels', `${CALL}${'['.repeat(33)}${']'.repeat(33)}}}`, 400, 'TOO_DEEP'],
  ]
  for (const [name, body, status, code] of bodies) {
    test(name, async () => {
      const mark = site.shop.requests.length
      const said = await post(url, body, { authorization: `Bearer ${await site.token()}`, 'mcp-protocol-version': '2025-11-25' })
      assert.equal(said.status, status)
      assert.equal(said.message.error.data.error.code, code)
      assert.equal(said.message.id, null)
      assert.equal(site.shop.requests.length, mark)
    })
  }

  test('another media type', async () => {
    const said = await post(url, `${CALL}{}}}`, { authorization: `Bearer ${await site.token()}`, 'content-type': 'text/plain' })
    assert.deepEqual([said.status, said.message.error.data.error.code], [415, 'UNSUPPORTED_MEDIA_TYPE'])
  })

  test('a call without a name, and a header that names another tool than the body', async () => {
    const token = await site.token()
    assert.equal((await speak(url, 'tools/call', { arguments: {} }, { token, era: '2025-11-25' })).message.error.code, -32602)
    const said = await speak(url, 'tools/call', { name: 'get_customer_v1', arguments: {} }, { token, headers: { 'mcp-name': 'list_orders_v1' } })
    assert.deepEqual([said.status, said.message.error.code], [400, -32020])
  })
})

describe('what is no call', () => {
  for (const era of ERAS) {
    test(`${era}: arguments that are no object, and a call that asks for no answer, call nothing`, async () => {
      const token = await site.token()
      const mark = site.shop.requests.length
      for (const args of [[], [ORDER], 'x', 7, null]) {
        const said = await speak(url, 'tools/call', { name: 'place_order_v1', arguments: args as never }, { token, era })
        assert.equal(said.message.error.code, -32602, JSON.stringify(args))
      }
      const headers = {
        authorization: `Bearer ${token}`, 'mcp-protocol-version': era, ...era === '2026-07-28' ? { 'mcp-method': 'tools/call', 'mcp-name': 'place_order_v1' } : {},
      }
      const unasked = await post(url, JSON.stringify({ jsonrpc: '2.0', method: 'tools/call', params: { name: 'place_order_v1', arguments: ORDER } }), headers)
      assert.deepEqual([unasked.status, unasked.message], [202, null])
      assert.equal(site.shop.requests.length, mark)
    })
  }
})

test('whatever is turned away stands in the audit as one line, like what is refused further on', async () => {
  const token = await site.token({ sub: 'turned away' })
  const narrow = await site.token({ claims: { customers: ['cus_1001'], actions: ['get_customer.v1'] } })
  const call = { name: 'get_customer_v1', arguments: { customer_id: 'cus_1001' } }
  const modern = { authorization: `Bearer ${token}`, 'mcp-protocol-version': '2026-07-28' }
  const legacy = { authorization: `Bearer ${token}`, 'mcp-protocol-version': '2025-11-25' }
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call }
  const rows: ReadonlyArray<readonly [what: string, code: string, ask: () => Promise<unknown>]> = [
    ['no JSON', 'MALFORMED_JSON', () => post(url, '{"jsonrpc":', legacy)],
    ['a batch', 'MALFORMED_REQUEST', () => post(url, '[]', modern)],
    ['arguments that are a list', 'MALFORMED_REQUEST', () => speak(url, 'tools/call', { ...call, arguments: [] }, { token })],
    ['the same in the older era', 'MALFORMED_REQUEST', () => speak(url, 'tools/call', { ...call, arguments: [] }, { token, era: '2025-11-25' })],
    ['a header that names another tool', 'MALFORMED_REQUEST', () => speak(url, 'tools/call', call, { token, headers: { 'mcp-name': 'list_orders_v1' } })],
    ['a call that asks for no answer', 'MALFORMED_REQUEST', () => post(url, JSON.stringify({ ...message, id: undefined }), legacy)],
    ['no list of parameters', 'MALFORMED_REQUEST', () => post(url, JSON.stringify({ ...message, params: undefined }), legacy)],
    ['an unknown tool', 'UNKNOWN_ACTION', () => speak(url, 'tools/call', { ...call, name: 'no_such_action_v1' }, { token })],
    ['a token for less', 'UNKNOWN_ACTION', () => speak(url, 'tools/call', { name: 'place_order_v1', arguments: ORDER }, { token: narrow })],
    ['arguments that are wrong', 'INVALID_ARGUMENTS', () => speak(url, 'tools/call', { ...call, arguments: {} }, { token })],
    ['a call', '', () => speak(url, 'tools/call', call, { token })],
    ['a list', '', () => speak(url, 'tools/list', {}, { token })],
  ]
  const codes = (): readonly string[] => auditRows(site).filter(row => row['event'] === 'action.refused').map(row => String(row['code']))
  // Behind everything that went before: what is told is written in turn.
  const marked = async (): Promise<number> => {
    const marks = (): number => codes().filter(code => code === 'OUT_OF_SCOPE').length
    const before = marks()
    await speak(url, 'tools/call', { name: 'place_order_v1', arguments: { ...ORDER, customer_id: 'cus_1009' } }, { token })
    await eventually(() => marks() > before, 'the mark is written')
    return codes().length
  }
  const before = await marked()
  for (const [, , ask] of rows) await ask()
  const after = await marked()
  assert.deepEqual(codes().slice(before, after - 1), rows.flatMap(([, code]) => code === '' ? [] : [code]))
})

describe('the list', () => {
  test('is what the caller may call, in a fixed order, for it alone, in both eras', async () => {
    const token = await site.token({ roles: ['shop_reader'] })
    for (const era of ERAS) {
      const { result } = (await speak(url, 'tools/list', {}, { token, era })).message
      assert.deepEqual(result.tools.map((tool: any) => tool.name), ['attempt_get', 'get_customer_v1', 'list_orders_v1'])
      if (era === '2026-07-28') assert.deepEqual([result.cacheScope, result.ttlMs], ['private', 60_000])
    }
    const narrowed = await site.token({ roles: ['shop_reader'], claims: { customers: [], actions: ['list_orders.v1', 'place_order.v1'] } })
    assert.deepEqual((await speak(url, 'tools/list', {}, { token: narrowed })).message.result.tools.map((tool: any) => tool.name), ['attempt_get', 'list_orders_v1'])
    const nobody = await site.token({ roles: [] })
    assert.deepEqual((await speak(url, 'tools/list', {}, { token: nobody })).message.result.tools.map((tool: any) => tool.name), ['attempt_get'])
  })

  test('every tool has a title, a closed object to fill in, the one output schema and all four hints', async () => {
    const { result } = (await speak(url, 'tools/list', {}, { token: await site.token() })).message
    for (const tool of result.tools) {
      assert.match(tool.name, /^[a-z][a-z0-9_]{0,39}$/)
      assert.ok(tool.title.length > 0 && tool.description.length > 0)
      assert.equal(tool.inputSchema.additionalProperties, false)
      assert.deepEqual(tool.outputSchema, result.tools[0].outputSchema)
      assert.equal(tool.outputSchema.additionalProperties, undefined)
      const { title, ...hints } = tool.annotations
      assert.equal(title, tool.title)
      assert.deepEqual(Object.keys(hints).sort(), ['destructiveHint', 'idempotentHint', 'openWorldHint', 'readOnlyHint'])
    }
  })

  test('a cursor that is none of ours is refused', async () => {
    const ofAnotherCatalog = Buffer.from(`${'0'.repeat(64)}\nget_customer.v1`).toString('base64url')
    for (const cursor of ['bm9uZQ', '', ofAnotherCatalog, 7, null, {}]) {
      for (const era of ERAS) {
        const said = await speak(url, 'tools/list', { cursor }, { token: await site.token(), era })
        assert.deepEqual([said.message.error.code, said.message.error.data.error.code], [-32602, 'MALFORMED_REQUEST'], `${era} ${String(cursor)}`)
      }
    }
  })
})

describe('a call', () => {
  for (const era of ERAS) {
    test(`${era}: a read, a write, a refusal and a repeat say what the ledger says`, async () => {
      const token = await site.token()
      const read = await callTool(url, token, 'get_customer_v1', { customer_id: 'cus_1001' }, { era })
      assert.equal(read.isError, undefined)
      assert.deepEqual(JSON.parse(read.content[0].text), read.structuredContent)
      assert.equal(read.structuredContent.result.customer_id, 'cus_1001')
      const mark = orders()
      const write = await callTool(url, token, 'place_order_v1', ORDER, { era })
      assert.deepEqual([write.structuredContent.outcome, write.isError, orders()], ['completed', undefined, mark + 1])
      const repeat = await callTool(url, token, 'place_order_v1', ORDER, { era })
      assert.deepEqual([repeat.structuredContent.duplicate, repeat.structuredContent.attempt_id, orders()],
        [true, write.structuredContent.attempt_id, mark + 1])
      const refused = await callTool(url, token, 'place_order_v1', { ...ORDER, quantity: 99 }, { era })
      assert.deepEqual([refused.isError, refused.structuredContent.error.code, refused.structuredContent.sent], [true, 'INVALID_ARGUMENTS', false])
      const asked = await callTool(url, token, 'attempt_get', { attempt_id: write.structuredContent.attempt_id }, { era })
      assert.deepEqual(asked.structuredContent.result, write.structuredContent.result)
      assert.equal(orders(), mark + 1)
    })

    test(`${era}: the key of the runtime names the call, and a key in the arguments is an unknown field`, async () => {
      const token = await site.token()
      const meta = { 'aval/idempotency-key': 'step-1' }
      const mark = orders()
      const first = await callTool(url, token, 'place_order_v1', ORDER, { era, meta })
      const other = await callTool(url, token, 'place_order_v1', ORDER, { era, meta: { 'aval/idempotency-key': 'step-2' } })
      const again = await callTool(url, token, 'place_order_v1', ORDER, { era, meta })
      assert.notEqual(first.structuredContent.attempt_id, other.structuredContent.attempt_id)
      assert.deepEqual([again.structuredContent.attempt_id, again.structuredContent.duplicate], [first.structuredContent.attempt_id, true])
      assert.equal(orders(), mark + 2)
      const reused = await callTool(url, token, 'place_order_v1', { ...ORDER, quantity: 2 }, { era, meta })
      assert.equal(reused.structuredContent.error.code, 'IDEMPOTENCY_KEY_REUSED')
      for (const key of ['', 7, 'two words', 'x'.repeat(256)]) {
        const refused = await callTool(url, token, 'place_order_v1', ORDER, { era, meta: { 'aval/idempotency-key': key } })
        assert.equal(refused.structuredContent.error.code, 'MALFORMED_REQUEST', String(key))
      }
      for (const name of ['idempotency_key', 'aval/idempotency-key', '_meta', 'key']) {
        const argued = await callTool(url, token, 'place_order_v1', { ...ORDER, [name]: name === '_meta' ? meta : 'step-3' }, { era })
        assert.equal(argued.structuredContent.error.code, 'INVALID_ARGUMENTS', name)
        assert.equal(argued.structuredContent.error.field, `/${name.replaceAll('/', '~1')}`)
      }
      assert.equal(orders(), mark + 2)
    })

    test(`${era}: what begins like ours and is not is refused: a key under a misspelt name would count for nothing`, async () => {
      const token = await site.token()
      const mark = site.shop.requests.length
      const misspelt: readonly JsonObject[] = [
        { 'aval/idempotency_key': 'step-1' }, { 'aval/idempotency-key': 'step-1', 'aval/run': 'x' }, { 'aval/profile': 'strict' }, { 'aval/profile': true },
      ]
      for (const meta of misspelt) {
        const refused = await callTool(url, token, 'place_order_v1', ORDER, { era, meta })
        assert.deepEqual([refused.isError, refused.structuredContent.error.code], [true, 'MALFORMED_REQUEST'], JSON.stringify(meta))
        assert.equal(refused.structuredContent.sent, false)
      }
      assert.equal(site.shop.requests.length, mark)
      const others = { 'example.com/any': 1, progressToken: 'p' }
      assert.equal((await callTool(url, token, 'get_customer_v1', { customer_id: 'cus_1001' }, { era, meta: others })).structuredContent.outcome, 'completed')
    })

    test(`${era}: null for what is optional is absence to a runtime that says that its model is strict, and refused from any other`, async () => {
      const token = await site.token()
      const filled = { customer_id: 'cus_1001', states: null }
      const mark = site.shop.requests.length
      const plain = (await callTool(url, token, 'list_orders_v1', filled, { era })).structuredContent
      assert.deepEqual([plain.error.code, plain.error.field, site.shop.requests.length], ['INVALID_ARGUMENTS', '/states', mark])
      const strict = { 'aval/profile': 'openai-strict' }
      assert.equal((await callTool(url, token, 'list_orders_v1', filled, { era, meta: strict })).structuredContent.outcome, 'completed')
      const required = (await callTool(url, token, 'list_orders_v1', { ...filled, customer_id: null }, { era, meta: strict })).structuredContent
      assert.deepEqual([required.error.code, required.error.field], ['INVALID_ARGUMENTS', '/customer_id'])
    })
  }

  test('an attempt of another run, of another caller and one that never was are the same', async () => {
    const write = await callTool(url, await site.token(), 'place_order_v1', ORDER)
    const { attempt_id } = write.structuredContent
    const others = [await site.token(), await site.token({ sub: 'agent-2' }), await site.token({ tenant: 'other' })]
    const told = await Promise.all([...others.map(token => callTool(url, token, 'attempt_get', { attempt_id })),
      callTool(url, others[0]!, 'attempt_get', { attempt_id: 'att_nothing' })])
    for (const { structuredContent, isError } of told) {
      const { correlation_id: _each, ...same } = structuredContent
      assert.deepEqual([isError, same], [true, { ...same, error: { ...same.error, code: 'NOT_FOUND' } }])
    }
    assert.equal(new Set(told.map(one => JSON.stringify({ ...one.structuredContent, correlation_id: '' }))).size, 1)
  })

  test('attempt_get and search_actions take nothing that they do not know', async () => {
    const token = await site.token()
    for (const [tool, args, field] of [
      ['attempt_get', {}, ''], ['attempt_get', { attempt_id: 'att_1', run: 'x' }, '/run'], ['attempt_get', { attempt_id: 'att_1', wait_seconds: 21 }, '/wait_seconds'],
      ['search_actions', { limit: 0 }, '/limit'], ['search_actions', { effect: 'all' }, '/effect'],
    ] as const) {
      const refused = await callTool(url, token, tool, args)
      assert.deepEqual([refused.isError, refused.structuredContent.error.code], [true, 'INVALID_ARGUMENTS'])
      if (field !== '') assert.equal(refused.structuredContent.error.field, field)
    }
  })
})
