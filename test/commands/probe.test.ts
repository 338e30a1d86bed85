// `aval probe`: against upstreams that honour their keys and one that does not, by their own ledgers; and all that keeps it from writing where it matters.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { main } from '../../src/cli.ts'
import { openDocument } from '../../src/catalog/openapi/documents.ts'
import { placeSheets } from '../../src/commands/demo/sheets.ts'
import { startShop } from '../../src/commands/demo/shop.ts'
import { concludeProbe } from '../../src/curation/probe/probe.ts'
import { startMock, type Mock } from '../../src/curation/mock/mock.ts'
import type { ScriptedAnswer } from '../../src/curation/mock/scenario.ts'

const KEYS = { apiKey: 'the-write-key-of-a-test', readKey: 'the-read-key-of-a-test' }
const CUSTOMER = { id: 'cus_1001', name: 'N', state: 'active', version: 3, email: 'e@example.com', shipping_address: { street: 'S', city: 'C', postal_code: '1', country: 'IE' } }
const READS: readonly ScriptedAnswer[] = [
  { operation: 'getCustomer', body: CUSTOMER },
  { operation: 'getProduct', body: { sku: 'TEA-250', name: 'Tea', price_minor: 100, currency: 'EUR', stock: 9 } },
]
const CALL = [
  'place_order.v1', '--arg', 'customer_id=cus_1001', '--arg', 'sku=TEA-250', '--arg', 'quantity:=2', '--arg', 'max_total_minor:=5000',
  '--claim', 'customers:=["cus_1001"]', '--other', 'quantity:=3',
]
const SAFE = ['--sandbox', '--tenant', 'sandbox-1']

interface Told { readonly code: number, readonly out: string, readonly err: string }

async function probe (t: TestContext, ...argv: readonly string[]): Promise<Told> {
  const folder = mkdtempSync(join(tmpdir(), 'aval-probe-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  let [out, err] = ['', '']
  const code = await main(['probe', ...argv], {
    // Whoever connects to the server of the sheets would be refused at once: nothing listens there.
    env: { AVAL_ACTIONS: await placeSheets(folder, { url: 'http://127.0.0.1:2/v1', ...KEYS }), AVAL_OPENAPI: 'openapi', AVAL_DATA: join(folder, 'data') },
    print: text => { out += `${text}\n` },
    tell: text => { err += `${text}\n` },
    startBroker: () => { throw new Error('nothing here starts a broker') },
  })
  return { code, out, err }
}

async function mockOf (t: TestContext, honest: boolean, answers: readonly ScriptedAnswer[] = []): Promise<Mock> {
  const scenario = { name: 'probed', ...honest && { idempotency: { header: 'Idempotency-Key' } }, answers: [...answers, ...READS] }
  const mock = await startMock({ document: openDocument('openapi/shop.yaml'), basePath: '/v1', port: 0, scenario })
  t.after(() => mock.close())
  return mock
}

const orders = (mock: Mock): any[] => mock.ledger.entries.filter(({ operation }) => operation === 'placeOrder')

test('where a person is asked, the probe says first what that person is shown', async t => {
  const order = { id: 'ord_1001', key: null, customer_id: 'cus_1001', sku: 'TEA-250', quantity: 2, total_minor: 2500, currency: 'EUR', state: 'reserved', version: 1, created_at: '2030-01-01T00:00:00Z' }
  const mock = await mockOf(t, true, [
    { operation: 'getOrder', body: order }, { operation: 'listRefunds', body: { items: [], refunded_minor: 0 } },
    { operation: 'refundOrder', status: 201, body: { id: 'ref_1', key: 'k', amount_minor: 500 } },
  ])
  const { code, out, err } = await probe(t, 'refund_order.v1', '--arg', 'customer_id=cus_1001', '--arg', 'order_id=ord_1001', '--arg', 'amount_minor:=500',
    '--claim', 'customers:=["cus_1001"]', '--other', 'amount_minor:=600', ...SAFE, '--server', mock.url)
  assert.equal(code, 0, out + err)
  assert.match(out, /^a person would be asked before each call, and is shown\n {2}Pay "5\.00 EUR" of order "ord_1001" back[^\n]*\n {2}\/refunded changed: "0\.00 EUR" → "5\.00 EUR"\n[^]*\nrefund_order\.v1: the declared idempotency is honoured\n/)
  const plain = await probe(t, ...CALL, ...SAFE, '--server', (await mockOf(t, true, [{ operation: 'placeOrder', body: { id: 'ord_1', total_minor: 200 } }])).url)
  assert.match(plain.out, /^place_order\.v1: /)
})

test('an upstream that honours its keys is found to: three requests under one key, one effect', async t => {
  const mock = await mockOf(t, true, [{ operation: 'placeOrder', body: { id: 'ord_1', total_minor: 200 } }])
  const { code, out, err } = await probe(t, ...CALL, ...SAFE, '--server', mock.url)
  assert.equal(code, 0, out + err)
  assert.match(out, /place_order\.v1: the declared idempotency is honoured\n.*first answer came again\n.*another body: refused \(422/)
  assert.deepEqual(orders(mock).map(({ applied, body }) => [applied, body.quantity]), [[true, 2], [false, 2], [false, 3]])
  assert.equal(new Set(orders(mock).map(({ headers }) => headers['idempotency-key'])).size, 1)
})

test('the bundled shop honours them too, by its own ledger', async t => {
  const shop = await startShop({ port: 0, ...KEYS })
  t.after(() => shop.close())
  const before = shop.ledger.length
  const { code, out, err } = await probe(t, ...CALL, ...SAFE, '--server', shop.url)
  assert.equal(code, 0, out + err)
  assert.equal(shop.ledger.length, before + 1)
})

test('one that only takes the header is found out', async t => {
  const mock = await mockOf(t, false, [
    { operation: 'placeOrder', times: 1, body: { id: 'ord_1', total_minor: 200 } }, { operation: 'placeOrder', times: 1, body: { id: 'ord_2', total_minor: 200 } },
  ])
  const { code, out } = await probe(t, ...CALL, ...SAFE, '--server', mock.url, '--json')
  const report = JSON.parse(out)
  assert.deepEqual([code, report.ok, report.conclusion], [1, false, 'not_honoured'])
  assert.match(report.reasons[0], /another answer came/)
  assert.equal(orders(mock).filter(({ applied }) => applied).length, 3)
})

test('where the first request does not succeed, nothing is concluded and nothing more is sent', async t => {
  const mock = await mockOf(t, true, [{ operation: 'placeOrder', status: 409, body: {} }])
  const { code, out } = await probe(t, ...CALL, ...SAFE, '--server', mock.url, '--json')
  assert.deepEqual([code, JSON.parse(out).conclusion, orders(mock).length], [1, 'undecided', 1])
})

test('without a sandbox and a tenant that can be thrown away nothing is read or sent', async t => {
  const mock = await mockOf(t, true)
  const server = ['--server', mock.url]
  for (const [argv, said] of [
    [[...CALL, '--tenant', 'sandbox-1', ...server], /say --sandbox/],
    [[...CALL, '--sandbox', ...server], /--tenant must name a tenant that can be thrown away/],
    [[...CALL, '--sandbox', '--tenant', 'default', ...server], /--tenant must name/],
    [[...CALL, ...SAFE], /nothing sets the sandbox apart/],
    [[...CALL, ...SAFE, '--server', 'http://127.0.0.1:2/v2'], /is the server of upstream\.yaml/],
    [[...CALL, ...SAFE, '--server', 'http://example.com'], /--server http is for loopback only/],
    [[...CALL.slice(0, -2), ...SAFE, ...server], /--other is missing/],
    [[...CALL.slice(0, -1), 'quantity:=2', ...SAFE, ...server], /both calls make the same request/],
    [['cancel_order.v1', ...SAFE, ...server, '--other', 'a=b'], /declares no idempotency|refused before anything is written/],
    [['get_customer.v1', ...SAFE, ...server, '--other', 'a=b'], /declares no idempotency/],
    [[...CALL.slice(0, 9), '--other', 'quantity:=3', ...SAFE, ...server], /refused before anything is written: OUT_OF_SCOPE/],
  ] as const) {
    const { code, out, err } = await probe(t, ...argv)
    assert.deepEqual([code, out], [2, ''], err)
    assert.match(err, said)
  }
  assert.deepEqual(orders(mock), [])
})

test('what three answers say of a key', () => {
  const answer = (status: number | null, body: object = { id: 1 }): any => ({ status, outcome: status === null ? 'unknown' : 'completed', lost: status === null ? 'lost reset' : null, body })
  for (const [repeat, other, conclusion] of [
    [answer(201), answer(422), 'honoured'],
    [answer(201), answer(201), 'honoured'],
    [answer(409), answer(409), 'honoured'],
    [answer(201, { id: 2 }), answer(422), 'not_honoured'],
    [answer(201), answer(201, { id: 2 }), 'not_honoured'],
    [answer(503), answer(422), 'undecided'],
    [answer(201), answer(null), 'undecided'],
    [answer(null), answer(201, { id: 2 }), 'not_honoured'],
  ] as const) {
    assert.equal(concludeProbe(answer(201), repeat, other).conclusion, conclusion)
  }
})
