// What clients and upstreams send on purpose, over MCP: nothing crosses from one caller to another, nothing leaks, and nothing large reaches a model.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { describe, test, type TestContext } from 'node:test'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { ANSWER_WITHIN_MS } from '../../src/mcp/within.ts'
import { edited } from '../invariants/ground.ts'
import { MIRROR_FILES, READ_KEY, startMirror, tellingForms, WRITE_KEY } from '../invariants/mirror.ts'
import { makeShopSite, makeSite, startBrokerProcess, startTestBroker, type BrokerProcess, type Site } from '../support/broker.ts'
import { whole } from '../support/hostile-modes.ts'
import { startHostileUpstream, type HostileUpstream } from '../support/hostile-upstream.ts'
import { callTool, ERAS, post, speak, written, type Era } from './speak.ts'

async function shop (t: TestContext) {
  const site = await makeShopSite()
  edited(site, 'actions/shop/upstream.yaml', text => text.replace(/^limits:.*$/m, 'limits: {concurrency: 512, tenant_share: 1}'))
  const broker = await startTestBroker(site)
  t.after(async () => {
    await broker.close()
    await site.shop.close()
    site.remove()
  })
  return { site, broker, url: broker.agentsUrl }
}

test('of 400 calls of two clients at once, with the same ids, none is answered with what the other asked', async t => {
  const { site, url } = await shop(t)
  const crossed: string[] = []
  let told = 0
  const clients = [['cus_1001', 'auto'], ['cus_1002', 'legacy']] as const
  await Promise.all(clients.map(async ([customer, mode]) => {
    const token = await site.token({ sub: `agent of ${customer}`, claims: { customers: [customer] } })
    const client = new Client({ name: customer, version: '1' }, { versionNegotiation: { mode } })
    await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers: { authorization: `Bearer ${token}` } } }))
    await Promise.all(Array.from({ length: 200 }, async (_, index) => {
      // Some ask for what belongs to the other; more of them would be too many refusals.
      const foreign = index % 20 === 19
      const asked = foreign ? clients.find(([other]) => other !== customer)![0] : customer
      const { structuredContent: said } = await client.callTool({ name: 'get_customer_v1', arguments: { customer_id: asked } }) as any
      told += 1
      const right = foreign ? said.error?.code === 'OUT_OF_SCOPE' : said.result?.customer_id === customer
      if (!right) crossed.push(JSON.stringify(said))
    }))
    await client.close()
  }))
  assert.deepEqual([told, crossed], [400, []])
})

test('a page of another site, and a host that is not served, call nothing with a message and a token that are good', async t => {
  const { url, site } = await shop(t)
  const token = await site.token()
  const params = { name: 'place_order_v1', arguments: { customer_id: 'cus_1001', sku: 'TEA-250', quantity: 1, max_total_minor: 5000 } }
  const [done, asked] = [site.shop.ledger.length, site.shop.requests.length]
  const rows = [[{ origin: 'https://evil.example' }, 403], [{ origin: 'null' }, 403], [{ host: 'evil.example' }, 421], [{ host: `evil.example:${new URL(url).port}` }, 421]] as const
  for (const era of ERAS) {
    for (const [headers, status] of rows) {
      assert.equal(await statusOf(url, written('tools/call', params, { token, era, headers })), status, `${era} ${JSON.stringify(headers)}`)
    }
  }
  assert.deepEqual([site.shop.ledger.length, site.shop.requests.length], [done, asked])
  // It was the message that it should be.
  for (const era of ERAS) assert.equal(await statusOf(url, written('tools/call', params, { token: await site.token(), era })), 200, era)
  assert.equal(site.shop.ledger.length, done + ERAS.length)
})

/** fetch sends a Host of its own. */
function statusOf (url: string, { body, headers }: ReturnType<typeof written>): Promise<number> {
  return new Promise((resolve, reject) => {
    request(`${url}/mcp`, { method: 'POST', headers }, answer => {
      answer.resume()
      answer.once('end', () => resolve(answer.statusCode!))
    }).once('error', reject).end(body)
  })
}

test('a state and answers that nobody asked for change nothing, and no tool decides anything', async t => {
  const { url, site } = await shop(t)
  const token = await site.token()
  const before = site.shop.ledger.length
  const params = {
    name: 'delete_customer_v1', arguments: { customer_id: 'cus_1003' },
    requestState: 'eyJhcHByb3ZlZCI6dHJ1ZX0', inputResponses: { consent: { action: 'accept', content: { approved: true } } },
  }
  const said = await speak(url, 'tools/call', params, { token })
  assert.equal(said.message.result.structuredContent.error.code, 'CONSENT_UNAVAILABLE')
  for (const name of ['proposal_decide', 'proposal_approve', 'approve', 'attempt_resolve']) {
    assert.equal((await speak(url, 'tools/call', { name, arguments: {} }, { token })).message.error.message, 'Unknown tool')
  }
  assert.equal(site.shop.ledger.length, before)
})

interface MirrorGround {
  readonly upstream: HostileUpstream
  readonly site: Site
  readonly broker: BrokerProcess
  readonly token: string
}

async function mirror (t: TestContext, start: () => Promise<HostileUpstream>): Promise<MirrorGround> {
  const upstream = await start()
  const site = await makeSite({ files: MIRROR_FILES(upstream.port), env: { MIRROR_READ: READ_KEY, MIRROR_WRITE: WRITE_KEY } })
  const broker = await startBrokerProcess(site, { AVAL_LOG: 'trace' })
  t.after(async () => {
    await broker.kill9()
    await upstream.stop()
    site.remove()
  })
  return { upstream, site, broker, token: await site.token({ roles: ['looker'], claims: {}, run: 'run-1' }) }
}

/** Everything of an answer, headers and all. */
async function wholeAnswer (url: string, token: string, era: Era, tool: string, form: string, key: string): Promise<string> {
  const said = await speak(url, 'tools/call', { name: tool, arguments: { form } }, { token, era, meta: { 'aval/idempotency-key': key } })
  return `${said.status} ${JSON.stringify([...said.headers])} ${JSON.stringify(said.message)}`
}

describe('what an upstream tells', () => {
  test('a credential that is echoed, in any place and writing, is in no answer and no line of the log', async t => {
    const { broker, token } = await mirror(t, startMirror)
    const said: string[] = []
    const forms = ['body.plain', 'body.base64', 'hidden.percent', 'name.json', 'header.plain', 'refusal.plain', 'fault.hex', 'redirect.plain', 'page.html']
    for (const era of ERAS) {
      for (const form of forms) {
        said.push(await wholeAnswer(broker.agentsUrl, token, era, 'look_v1', form, `${era}-${form}`))
        said.push(await wholeAnswer(broker.agentsUrl, token, era, 'act_v1', form, `${era}-${form}`))
      }
    }
    assert.ok(said.some(one => one.includes('RESULT_WITHHELD')))
    const all = [...said, broker.log(), token.split('.')[2]!].join('\n')
    for (const [name, form] of tellingForms()) assert.ok(!all.includes(form), name)
    assert.ok(![...said, broker.log()].join('\n').includes(token.split('.')[2]!), 'the access token is told nowhere')
  })

  test('the stack and the password of a 500, and a path that climbs, reach nobody; the upstream sees the broker alone', async t => {
    const STACK = 'Error: connect postgres://shop:hunter2-of-the-database@10.0.0.7\n    at Pool.query (/srv/shop/node_modules/pg/lib/pool.js:12:7)'
    const { upstream, broker, token } = await mirror(t, async () => {
      const hostile = await startHostileUpstream()
      hostile.mode('mirror', socket => {
        socket.write(whole(500, ['Content-Type: application/json'], JSON.stringify({ error: STACK, stack: STACK })))
      })
      return hostile
    })
    const climbing = ['..', '.', '../admin', '..\\admin', '..%2fadmin', '%2e%2e', 'a/../../admin', 'one?admin=1', 'one#x', '@admin']
    for (const era of ERAS) {
      for (const tool of ['look_v1', 'act_v1']) {
        for (const form of climbing) {
          const { structuredContent: { outcome, sent, error }, isError } = await callTool(broker.agentsUrl, token, tool, { form }, { era })
          assert.deepEqual([isError, outcome, sent, error.code], [true, 'rejected', false, 'INVALID_ARGUMENTS'], `${era} ${tool} ${form}`)
        }
      }
    }
    assert.deepEqual(upstream.ledger, [])
    for (const era of ERAS) {
      for (const tool of ['look_v1', 'act_v1']) {
        const said = await wholeAnswer(broker.agentsUrl, token, era, tool, `form-${era}`, `${era}-${tool}`)
        assert.doesNotMatch(said, /hunter2|node_modules|postgres|10\.0\.0\.7/)
        assert.match(said, tool === 'look_v1' ? /UPSTREAM_ERROR/ : /OUTCOME_UNKNOWN/)
      }
    }
    assert.doesNotMatch(broker.log(), /hunter2/)
    for (const { path, headers, body } of upstream.ledger) {
      assert.ok(ERAS.some(era => path === `/mirror/form-${era}`), path)
      assert.ok(Object.keys(headers).length > 0 && !`${path} ${JSON.stringify(headers)} ${body}`.includes(token.split('.')[2]!))
    }
    assert.deepEqual(new Set(upstream.ledger.map(({ method }) => method)), new Set(['GET', 'POST']))
  })

  test('a view just under its limit, all of it quotes, is at most 64 KiB of text', async t => {
    // The limit counts the view as JSON, in which a quote takes two bytes.
    const LIMIT = 32 * 1024
    const quotes = (count: number): string => '"'.repeat(count)
    const fits = Math.floor((LIMIT - JSON.stringify({ said: '' }).length) / 2)
    const { broker, token } = await mirror(t, async () => {
      const hostile = await startHostileUpstream()
      hostile.mode('mirror', (socket, { path }) => {
        const said = quotes(path.endsWith('more') ? fits + 1 : fits)
        socket.write(whole(200, ['Content-Type: application/json'], JSON.stringify({ id: 'one', said })))
      })
      return hostile
    })
    for (const era of ERAS) {
      const { content, structuredContent } = await callTool(broker.agentsUrl, token, 'look_v1', { form: 'most' }, { era })
      assert.deepEqual([structuredContent.outcome, structuredContent.result], ['completed', { said: quotes(fits) }])
      assert.ok(Buffer.byteLength(content[0].text) <= 64 * 1024, `${Buffer.byteLength(content[0].text)} bytes`)
      assert.equal((await callTool(broker.agentsUrl, token, 'look_v1', { form: 'more' }, { era })).structuredContent.error.code, 'RESULT_TOO_LARGE')
    }
  })

  test('of an answer of 5 MB a model gets at most 64 KiB, and the broker holds less than a third more than when it is idle', async t => {
    const big = JSON.stringify({ id: 'one', said: 'x'.repeat(5 * 1024 * 1024) })
    const { upstream, broker, token } = await mirror(t, async () => {
      const hostile = await startHostileUpstream()
      const answer = whole(200, ['Content-Type: application/json'], big)
      const small = whole(200, ['Content-Type: application/json'], '{"id":"one","said":"ok"}')
      hostile.mode('mirror', (socket, { path }) => { socket.write(path.endsWith('big') ? answer : small) })
      return hostile
    })
    const call = (era: Era, form: string, key: string): Promise<string> => wholeAnswer(broker.agentsUrl, token, era, 'look_v1', form, key)
    // Idle, but warm: both eras have been spoken.
    for (let index = 0; index < 50; index++) for (const era of ERAS) assert.match(await call(era, 'small', `w${index}`), /completed/)
    const idle = residentKiB(broker.pid, 'VmRSS')
    writeFileSync(`/proc/${broker.pid}/clear_refs`, '5') // the peak begins anew
    for (const era of ERAS) {
      for (let index = 0; index < 4; index++) {
        const said = await call(era, 'big', `${era}-${index}`)
        assert.ok(Buffer.byteLength(said) <= 64 * 1024, `${Buffer.byteLength(said)} bytes`)
        assert.match(said, /RESULT_TOO_LARGE|RESULT_INVALID/)
      }
    }
    const peak = residentKiB(broker.pid, 'VmHWM')
    t.diagnostic(`idle ${Math.round(idle / 1024)} MiB, peak ${Math.round(peak / 1024)} MiB, ${upstream.ledger.length} requests`)
    assert.ok(peak < idle * 1.3, `idle ${idle} KiB, peak ${peak} KiB`)
  })
})

const residentKiB = (pid: number, what: 'VmRSS' | 'VmHWM'): number =>
  Number(new RegExp(`^${what}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1])

test('a client that leaves takes nothing back: what was asked is done once, and can be asked for', async t => {
  const { site, url } = await shop(t)
  for (const era of ERAS) {
    const token = await site.token({ run: `leaving-${era}` })
    const meta = { 'aval/idempotency-key': 'left' }
    const args = { customer_id: 'cus_1001', sku: 'TEA-250', quantity: 1, max_total_minor: 5000 }
    const before = site.shop.ledger.length
    site.shop.faults.arm({ kind: 'delay', delayMs: 500 }, { method: 'POST', path: '/orders' })
    const leaving = new AbortController()
    const left = speak(url, 'tools/call', { name: 'place_order_v1', arguments: args }, { token, era, meta, signal: leaving.signal, id: 7_777 })
    while (site.shop.ledger.length === before) await new Promise(resolve => setTimeout(resolve, 5))
    // Where there are no sessions, no message can say which call of whom it would take back.
    const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7_777, reason: 'not wanted' } }
    const headers = { authorization: `Bearer ${token}`, 'mcp-protocol-version': era, ...era === '2026-07-28' ? { 'mcp-method': cancel.method } : {} }
    assert.equal((await post(url, JSON.stringify(cancel), headers)).message, null)
    leaving.abort()
    await assert.rejects(left)
    const again = await callTool(url, token, 'place_order_v1', args, { era, meta })
    assert.deepEqual([again.structuredContent.duplicate, site.shop.ledger.length], [true, before + 1])
    const asked = await callTool(url, token, 'attempt_get', { attempt_id: again.structuredContent.attempt_id, wait_seconds: 20 }, { era })
    assert.deepEqual([asked.structuredContent.outcome, site.shop.ledger.length], ['completed', before + 1])
  }
})

test('what takes longer than a client waits is answered pending, goes on, and is not done twice', async t => {
  const site = await makeShopSite()
  const broker = await startTestBroker(site, {}, { mcp: { answerWithinMs: 300 } })
  t.after(async () => {
    await broker.close()
    await site.shop.close()
    site.remove()
  })
  const token = await site.token()
  const args = { customer_id: 'cus_1001', sku: 'TEA-250', quantity: 1, max_total_minor: 5000 }
  site.shop.faults.arm({ kind: 'delay', delayMs: 1_000 }, { method: 'GET', path: '/products' })
  const slow = await callTool(broker.agentsUrl, token, 'place_order_v1', args)
  assert.ok(ANSWER_WITHIN_MS < 25_000, 'what it is where no test shortens it')
  assert.deepEqual([slow.structuredContent.outcome, slow.isError], ['pending', undefined])
  // There is no attempt yet that could be asked for, so the model is told to make the same call.
  assert.deepEqual([slow.structuredContent.attempt_id, slow.structuredContent.next], [undefined, { tool: 'place_order_v1', after_seconds: 5 }])
  let again: any
  do {
    await new Promise(resolve => setTimeout(resolve, 100))
    again = (await callTool(broker.agentsUrl, token, 'place_order_v1', args)).structuredContent
  } while (again.outcome !== 'completed')
  // Both calls end as one attempt, whichever of them began it.
  await new Promise(resolve => setTimeout(resolve, 1_000))
  assert.equal(site.shop.ledger.filter(entry => entry.effect === 'order.placed').length, 1)
})
