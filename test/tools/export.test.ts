// Exports as a caller gets them: over HTTP and by the command, what a token grants and nothing else, and a call by what a strict model fills in.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FORMATS } from '../../src/tools/forms.ts'
import { aval } from '../support/program.ts'
import { startShopBroker } from '../support/shop-broker.ts'
import { golden } from './golden.ts'

test('an export holds what the caller may call, as in the golden file, with the names to call it by', async t => {
  const { get, mint } = await startShopBroker(t)
  const reader = await mint({ roles: ['shop_reader'] })
  for (const format of FORMATS) {
    const { status, body } = await get(`/v1/tools?format=${format}`, reader)
    assert.equal(status, 200)
    const whole = JSON.parse(golden(format)) as Array<{ tool: { name: string }, losses: object[] }>
    const own = whole.filter(({ tool }) => ['get_customer_v1', 'list_orders_v1'].includes(tool.name))
    assert.deepEqual(body.tools, own.map(({ tool }) => tool))
    assert.deepEqual(body.actions, { get_customer_v1: 'get_customer.v1', list_orders_v1: 'list_orders.v1' })
    assert.deepEqual(body.losses, own.flatMap(({ tool, losses }) => losses.map(loss => ({ tool: tool.name, ...loss }))))
  }
  assert.deepEqual((await get('/v1/tools?format=openai', await mint({ roles: [] }))).body.tools, [])
  assert.equal((await get('/v1/tools?format=mistral', reader)).status, 400)
  assert.equal((await get('/v1/tools', reader)).body.error.rule, 'format')
  assert.equal((await get('/v1/tools?format=mcp', 'a.b.c')).status, 401)
})

test('null for what is optional is absence to a caller that says that its model is strict, and refused from any other', async t => {
  const { broker, mint, shop, requestsSince } = await startShopBroker(t)
  const token = await mint()
  const call = async (query: string, args: object): Promise<any> => {
    const answer = await fetch(`${broker.agentsUrl}/v1/actions/list_orders.v1${query}`, {
      method: 'POST', headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' }, body: JSON.stringify({ arguments: args }),
    })
    return answer.json()
  }
  const filled = { customer_id: 'cus_1001', states: null }
  const mark = shop.requests.length
  const plain = await call('', filled)
  assert.deepEqual([plain.error.code, plain.error.field], ['INVALID_ARGUMENTS', '/states'])
  assert.deepEqual(requestsSince(mark), [])
  assert.equal((await call('?profile=openai-strict', filled)).outcome, 'completed')
  assert.equal(requestsSince(mark).length, 1)
  const required = await call('?profile=openai-strict', { customer_id: null, states: null })
  assert.deepEqual([required.error.code, required.error.field], ['INVALID_ARGUMENTS', '/customer_id'])
  assert.equal((await call('?profile=anything', filled)).error.code, 'MALFORMED_REQUEST')
})

test('aval export prints the tools alone on stdout and the losses on stderr', async t => {
  const { broker, tokenFile } = await startShopBroker(t)
  const run = (words: readonly string[]) => aval(t, ['export', ...words, '--url', broker.agentsUrl, '--token-file', tokenFile])
  const { code, stdout, stderr } = await run(['openai-strict'])
  assert.equal(code, 0)
  assert.equal(JSON.parse(stdout).length, (JSON.parse(golden('openai-strict')) as unknown[]).length)
  assert.match(stderr, /^list_orders_v1 \/properties\/states required: null, which means that it is absent$/m)
  const whole = JSON.parse((await run(['gemini', '--json'])).stdout)
  assert.equal(whole.format, 'gemini')
  const unknown = await run(['mistral'])
  assert.equal(unknown.code, 2)
  assert.match(unknown.stderr, /there are the formats openai, openai-strict, anthropic, gemini, mcp/)
})
