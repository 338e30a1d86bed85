// `aval eval`: one conversation in four formats is one score; each fault is found where it is and nowhere else.
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { main } from '../../src/cli.ts'
import { BUNDLED } from '../../src/commands/demo/sheets.ts'
import type { Score } from '../../src/curation/eval/score.ts'

type Step =
  | { readonly say: string, readonly by: 'user' | 'assistant' }
  | { readonly call: string, readonly args: object | string, readonly result: object }

const openai = (steps: readonly Step[]): object[] => steps.flatMap((step, index): object[] => 'say' in step
  ? [{ role: step.by, content: step.say }]
  : [
      { role: 'assistant', content: null, tool_calls: [{ id: `c${index}`, type: 'function', function: { name: step.call, arguments: typeof step.args === 'string' ? step.args : JSON.stringify(step.args) } }] },
      { role: 'tool', tool_call_id: `c${index}`, content: JSON.stringify(step.result) },
    ])

const responses = (steps: readonly Step[]): object => ({
  input: 'say' in steps[0]! ? steps[0].say : '',
  output: steps.slice(1).flatMap((step, index): object[] => 'say' in step
    ? [{ type: 'message', role: step.by, content: [{ type: 'output_text', text: step.say }] }]
    : [
        { type: 'function_call', call_id: `c${index}`, name: step.call, arguments: typeof step.args === 'string' ? step.args : JSON.stringify(step.args) },
        { type: 'function_call_output', call_id: `c${index}`, output: JSON.stringify(step.result) },
      ]),
})

const anthropic = (steps: readonly Step[]): object => ({
  messages: steps.flatMap((step, index): object[] => 'say' in step
    ? [{ role: step.by, content: [{ type: 'text', text: step.say }] }]
    : [
        { role: 'assistant', content: [{ type: 'tool_use', id: `c${index}`, name: step.call, input: step.args }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: `c${index}`, content: [{ type: 'text', text: JSON.stringify(step.result) }] }] },
      ]),
})

const mcp = (steps: readonly Step[]): object => ({
  log: steps.flatMap((step, index): object[] => 'say' in step
    ? [{ role: step.by, content: step.say }]
    : [
        { jsonrpc: '2.0', id: index, method: 'tools/call', params: { name: step.call, arguments: step.args } },
        { jsonrpc: '2.0', id: index, result: { structuredContent: step.result, content: [{ type: 'text', text: JSON.stringify(step.result) }] } },
      ]),
})

const FORMATS = { openai, responses, anthropic, mcp }

const DONE = { ok: true, outcome: 'completed', result: {} }
const GOOD: readonly Step[] = [
  { say: 'Customer cus_1001 wants two TEA-250, for at most 30.00 EUR.', by: 'user' },
  { call: 'place_order_v1', args: { customer_id: 'cus_1001', sku: 'TEA-250', quantity: 2, max_total_minor: 3000 }, result: DONE },
  { say: 'It is ordered.', by: 'assistant' },
]
const USER = { say: 'Customer cus_1001 wants 2 of TEA-250, at most 3000 cents.', by: 'user' } as const
const GOLD = { tasks: [{ id: 'order', expect: [{ action: 'place_order.v1', arguments: { sku: 'TEA-250' } }], forbid: ['cancel_order.v1'] }] }

function folder (t: TestContext, files: { readonly [name: string]: unknown }): string {
  const path = mkdtempSync(join(tmpdir(), 'aval-eval-'))
  t.after(() => rmSync(path, { recursive: true }))
  for (const [name, content] of Object.entries(files)) {
    if (name.includes('/')) mkdirSync(join(path, name.split('/')[0]!), { recursive: true })
    writeFileSync(join(path, name), typeof content === 'string' ? content : JSON.stringify(content))
  }
  return path
}

async function aval (...words: readonly string[]): Promise<{ readonly code: number, readonly out: string, readonly err: string }> {
  let [out, err] = ['', '']
  const code = await main(['eval', ...words], {
    env: { AVAL_ACTIONS: BUNDLED.actionsFolder, AVAL_OPENAPI: BUNDLED.openapiFolder },
    print: text => { out += `${text}\n` }, tell: text => { err += `${text}\n` }, startBroker: () => { throw new Error('nothing here starts a broker') },
  })
  return { code, out, err }
}

async function scored (t: TestContext, steps: readonly Step[], gold: unknown = GOLD): Promise<Score> {
  const path = folder(t, { 'gold.json': gold, 'order.json': openai(steps) })
  return JSON.parse((await aval(join(path, 'gold.json'), join(path, 'order.json'), '--json')).out) as Score
}

const faults = (score: Score): readonly string[] => score.findings.map(({ fault, message }) => `${fault} ${message}`)

for (const [format, write] of Object.entries(FORMATS)) {
  test(`${format}: a good run is clean, and the same run without its call is not`, async t => {
    const path = folder(t, { 'gold.json': GOLD, 'good/order.json': write(GOOD), 'bad/order.json': write([GOOD[0]!, GOOD[2]!]) })
    const good = await aval(join(path, 'gold.json'), join(path, 'good'), '--json')
    assert.equal(good.code, 0, good.out + good.err)
    const score = JSON.parse(good.out) as Score
    assert.deepEqual([score.tasks, score.clean, score.calls, score.success, score.premature], [1, 1, 1, 1, 0])
    assert.deepEqual(score.confusion, { 'place_order.v1': { 'place_order.v1': 1 } })
    const bad = await aval(join(path, 'gold.json'), join(path, 'bad'), '--json')
    assert.equal(bad.code, 1)
    const worse = JSON.parse(bad.out) as Score
    assert.deepEqual(worse.omission, { 'place_order.v1': { expected: 1, omitted: 1, rate: 1 } })
    assert.deepEqual(worse.findings.map(one => one.fault), ['omitted', 'premature'])
  })

  test(`${format}: an argument that nobody has said is made up`, async t => {
    const made = [USER, { call: 'place_order_v1', args: { customer_id: 'cus_1001', sku: 'TEA-250', quantity: 2, max_total_minor: 9999 }, result: DONE }, GOOD[2]!]
    const path = folder(t, { 'gold.json': GOLD, 'order.json': write(made) })
    const score = JSON.parse((await aval(join(path, 'gold.json'), join(path, 'order.json'), '--json')).out) as Score
    assert.deepEqual(faults(score), ['invented place_order.v1 /max_total_minor: 9999 stands nowhere before'])
    assert.equal(score.rates.invented, 1)
  })
}

test('another action in the place of the expected one is a confusion, and a forbidden one is told', async t => {
  const score = await scored(t, [USER, { call: 'cancel_order_v1', args: { customer_id: 'cus_1001', order_id: 'ord_1' }, result: DONE }])
  assert.deepEqual(score.confusion, { 'place_order.v1': { 'cancel_order.v1': 1 } })
  assert.deepEqual(score.findings.map(one => one.fault), ['forbidden', 'invented', 'omitted', 'confused'])
})

test('a read more than was expected is no fault, and grounds what comes after it', async t => {
  const score = await scored(t, [
    { say: 'Order the tea for Ada, cus_1001. Two, at most 3000.', by: 'user' },
    { call: 'list_orders_v1', args: { customer_id: 'cus_1001' }, result: { ok: true, outcome: 'completed', result: { orders: [{ sku: 'TEA-250', quantity: 2 }] } } },
    { call: 'place_order_v1', args: { customer_id: 'cus_1001', sku: 'TEA-250', quantity: 2, max_total_minor: 3000 }, result: DONE },
    GOOD[2]!,
  ])
  assert.deepEqual(faults(score), [])
})

test('what the agent itself has said before makes nothing true', async t => {
  const score = await scored(t, [
    USER, { say: 'The ceiling is 7777.', by: 'assistant' },
    { call: 'place_order_v1', args: { customer_id: 'cus_1001', sku: 'TEA-250', quantity: 2, max_total_minor: 7777 }, result: DONE },
  ])
  assert.deepEqual(score.findings.map(one => one.fault), ['invented'])
})

test('a part of a number is not the number', async t => {
  const score = await scored(t, [USER, { call: 'place_order_v1', args: { customer_id: 'cus_1001', sku: 'TEA-250', quantity: 2, max_total_minor: 300 }, result: DONE }])
  assert.deepEqual(faults(score), ['invented place_order.v1 /max_total_minor: 300 stands nowhere before'])
})

test('arguments that are no JSON, or that the schema refuses, are malformed', async t => {
  const broken = await scored(t, [USER, { call: 'place_order_v1', args: '{"customer_id": "cus_1001"', result: { ok: false } }])
  assert.deepEqual(faults(broken), ['malformed the arguments of place_order.v1 are no JSON object'])
  const refused = await scored(t, [USER, { call: 'place_order_v1', args: { customer_id: 'cus_1001', sku: 'TEA-250', quantity: '2', max_total_minor: 3000 }, result: { ok: false } }])
  assert.deepEqual(faults(refused), ['malformed place_order.v1 /quantity: Must be of the type integer.'])
  assert.equal(refused.rates.malformed, 1)
})

test('a tool that does not exist is told, and the broker\'s own tools are none of the agent\'s calls', async t => {
  const score = await scored(t, [USER, { call: 'order_place_v1', args: {}, result: {} }, { call: 'search_actions', args: { query: 'order' }, result: {} }, ...GOOD.slice(1, 2)])
  assert.deepEqual(faults(score), ['unknown-action there is no action order_place.v1'])
  assert.equal(score.calls, 2)
})

test('the right action with another object is a wrong argument', async t => {
  const gold = { tasks: [{ id: 'order', expect: [{ action: 'place_order.v1', arguments: { customer_id: 'cus_1002' } }] }] }
  assert.deepEqual((await scored(t, GOOD, gold)).findings.map(one => one.fault), ['wrong-arguments'])
})

test('an answer while the outcome is not known is premature; after the attempt was asked for it is not', async t => {
  const lost = { ok: false, outcome: 'unknown', attempt_id: 'att_1' }
  const call = { call: 'place_order_v1', args: { customer_id: 'cus_1001', sku: 'TEA-250', quantity: 2, max_total_minor: 3000 }, result: lost } as const
  assert.deepEqual((await scored(t, [USER, call, GOOD[2]!])).findings.map(one => one.fault), ['premature'])
  const asked = { call: 'attempt_get', args: { attempt_id: 'att_1' }, result: { ...DONE, attempt_id: 'att_1' } } as const
  assert.deepEqual((await scored(t, [USER, call, asked, GOOD[2]!])).findings, [])
})

test('a task without a transcript is found, and a task in which nothing should be called can be clean', async t => {
  const missing = await scored(t, GOOD, { tasks: [...GOLD.tasks, { id: 'other', expect: [{ action: 'get_customer.v1' }] }] })
  assert.deepEqual(faults(missing), ['no-transcript there is no transcript of this task'])
  const quiet = await scored(t, [USER, { say: 'I may not do that.', by: 'assistant' }], { tasks: [{ id: 'order', expect: [] }] })
  assert.equal(quiet.clean, 1)
})

test('before and after: worse is exit code 1, as good as before is not, whatever is found', async t => {
  const path = folder(t, { 'gold.json': GOLD, 'good/order.json': openai(GOOD), 'bad/order.json': openai([GOOD[0]!, GOOD[2]!]) })
  const of = (name: string): string => join(path, name)
  const worse = await aval(of('gold.json'), of('bad'), '--before', of('good'))
  assert.equal(worse.code, 1)
  assert.match(worse.out, /success +100\.0 % → +0\.0 %  worse/)
  assert.match(worse.out, /omission of place_order\.v1 +0\.0 % → +100\.0 %  worse/)
  assert.equal((await aval(of('gold.json'), of('bad'), '--before', of('bad'))).code, 0)
  assert.equal((await aval(of('gold.json'), of('good'), '--before', of('bad'))).code, 0)
  assert.equal((await aval(of('gold.json'), of('bad'), '--min', '50')).code, 1)
  assert.equal((await aval(of('gold.json'), of('bad'), '--min', '0')).code, 0)
})

test('the same transcripts give the same text, however often they are scored', async t => {
  const path = folder(t, { 'gold.json': GOLD, 'order.json': openai([USER, { call: 'cancel_order_v1', args: { customer_id: 'cus_7' }, result: DONE }]) })
  const once = await aval(join(path, 'gold.json'), join(path, 'order.json'))
  assert.deepEqual(await aval(join(path, 'gold.json'), join(path, 'order.json')), once)
})

test('what cannot be read is told with its place', async t => {
  const path = folder(t, { 'gold.yaml': 'tasks:\n  - id: a\n    expct: []\n', 'good.json': GOLD, 'order.jsonl': '{"messages":[]}\n{"messages":\n', 'other.json': '{"talk":[]}' })
  const gold = await aval(join(path, 'gold.yaml'), join(path, 'order.jsonl'))
  assert.equal(gold.code, 2)
  assert.match(gold.err, /gold\.yaml:3:5 unknown-field/)
  const lines = await aval(join(path, 'good.json'), join(path, 'order.jsonl'))
  assert.equal(lines.code, 2)
  assert.match(lines.err, /order\.jsonl:2:1 not-json/)
  assert.match((await aval(join(path, 'good.json'), join(path, 'other.json'))).err, /other\.json:1:1 not-a-transcript/)
})
