// `aval explain`: the same decisions and the same bytes as a real call, and nothing sent.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { main } from '../../src/cli.ts'
import { openDocument } from '../../src/catalog/openapi/documents.ts'
import { placeSheets } from '../../src/commands/demo/sheets.ts'
import { makeSigningKey, mintToken } from '../../src/commands/token.ts'
import { readConfig } from '../../src/config.ts'
import { startMock } from '../../src/curation/mock/mock.ts'
import { STEPS } from '../../src/errors.ts'
import { startBroker } from '../../src/main.ts'

const KEYS = { apiKey: 'the-write-key-of-a-test', readKey: 'the-read-key-of-a-test' }
const CUSTOMER = { id: 'cus_1001', name: 'N', state: 'active', version: 3, email: 'e@example.com', shipping_address: { street: 'S', city: 'C', postal_code: '1', country: 'IE' } }
const PRODUCT = { sku: 'TEA-250', name: 'Tea', price_minor: 100, currency: 'EUR', stock: 9 }
const CLAIM = ['--claim', 'customers:=["cus_1001"]']
const ORDER = ['place_order.v1', '--arg', 'customer_id=cus_1001', '--arg', 'sku=TEA-250', '--arg', 'quantity:=2', '--arg', 'max_total_minor:=500']

let folder: string
/** Where the sheets send: whoever connects there is counted. */
let connections = 0
const listener = createServer(socket => {
  connections += 1
  socket.destroy()
})
let actions: string

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'aval-explain-'))
  await new Promise<void>(resolve => listener.listen(0, '127.0.0.1', resolve))
  actions = await placeSheets(folder, { url: `http://127.0.0.1:${(listener.address() as { port: number }).port}/v1`, ...KEYS })
})

after(() => {
  listener.close()
  assert.equal(connections, 0, 'nothing was ever sent')
  rmSync(folder, { recursive: true, force: true })
})

interface Told { readonly code: number, readonly out: string, readonly err: string }

async function explain (...argv: readonly string[]): Promise<Told> {
  let [out, err] = ['', '']
  const code = await main(['explain', ...argv], {
    env: { AVAL_ACTIONS: actions, AVAL_OPENAPI: 'openapi', AVAL_DATA: join(folder, 'data') },
    print: text => { out += `${text}\n` },
    tell: text => { err += `${text}\n` },
    startBroker: () => { throw new Error('nothing here starts a broker') },
  })
  return { code, out, err }
}

const explained = async (...argv: readonly string[]): Promise<{ code: number, end: any, steps: any[] }> => {
  const { code, out, err } = await explain(...argv, '--json')
  assert.equal(err, '')
  return { code, ...JSON.parse(out) }
}

const reads = ['--read', `customer:=${JSON.stringify(CUSTOMER)}`, '--read', `product:=${JSON.stringify(PRODUCT)}`]

test('every step up to the send is told in its order, and then the exact request with a chip for the secret', async () => {
  const { code, end, steps } = await explained(...ORDER, ...CLAIM, ...reads)
  assert.equal(code, 0)
  assert.deepEqual(steps.map(({ step }) => step), STEPS.slice(0, 12))
  assert.ok(steps[7].lines.includes('total_minor = 200'))
  assert.deepEqual([end.kind, end.request.method], ['would_send', 'POST'])
  assert.match(end.request.headers['x-api-key'], /^SECRET-OF-file-/)
  assert.ok(!JSON.stringify({ end, steps }).includes(KEYS.apiKey))
})

test('a read that nobody answered ends it, with the request that would be asked', async () => {
  const { code, end } = await explained(...ORDER, ...CLAIM)
  assert.deepEqual([code, end.kind, end.read, end.request.method], [1, 'undecided', 'customer', 'GET'])
  assert.match(end.request.url, /\/v1\/customers\/cus_1001$/)
  const next = await explained(...ORDER, ...CLAIM, ...reads.slice(0, 2))
  assert.deepEqual([next.end.kind, next.end.read], ['undecided', 'product'])
})

test('each refusal is the one that an agent would get, at its step', async () => {
  for (const [argv, step, code] of [
    [['place_order.v1', '--arg', 'quantity:=0', ...CLAIM], 'arguments', 'INVALID_ARGUMENTS'],
    [[...ORDER], 'scope', 'OUT_OF_SCOPE'],
    [[...ORDER, ...CLAIM, '--role', 'shop_reader'], 'capability', 'UNKNOWN_ACTION'],
    [['place_order.v1', '--arg', 'a:={"b":1,"b":2}', ...CLAIM], 'decode', 'DUPLICATE_KEY'],
    [[...ORDER, ...CLAIM, '--key', 'a b'], 'decode', 'MALFORMED_REQUEST'],
    [[...ORDER, ...CLAIM, '--read', 'customer=404'], 'facts', 'UPSTREAM_NOT_FOUND'],
    [[...ORDER, ...CLAIM, '--read', 'customer=503'], 'facts', 'CHECK_UNAVAILABLE'],
    [[...ORDER, ...CLAIM, ...reads.slice(0, 2), '--read', `product:=${JSON.stringify({ ...PRODUCT, stock: 1 })}`], 'facts', 'OUT_OF_STOCK'],
  ] as const) {
    const told = await explained(...argv)
    assert.deepEqual([told.code, told.end.kind, told.end.code, told.steps.at(-1).step], [1, 'refused', code, step])
  }
})

test('what is already so is not sent', async () => {
  const argv = ['change_shipping_address.v2', '--arg', 'customer_id=cus_1001', '--arg', `destination:=${JSON.stringify(CUSTOMER.shipping_address)}`, ...CLAIM, ...reads.slice(0, 2)]
  const { code, end } = await explained(...argv)
  assert.deepEqual([code, end], [0, { kind: 'already_in_desired_state' }])
})

test('an action that needs a person is explained with what that person would see', async () => {
  const { code, out } = await explain('email_order_confirmation.v1', '--arg', 'order_id=ord_2001', '--arg', 'customer_id=cus_1001', ...CLAIM,
    '--read', 'order:={"id": "ord_2001", "customer_id": "cus_1001"}')
  assert.equal(code, 0, out)
  assert.match(out, /\n {2}9 consent +session: a person would be asked first[^\n]*\n +Send the confirmation of order "ord_2001" to its customer by e-mail\n +no field of the object is known to change\n +recipients: 1\n +reversible: "no"\n +decided by one person with the role shop_lead\n/)
  assert.match(out, /\n {2}POST http:\/\/127\.0\.0\.1:\d+\/v1\/orders\/ord_2001\/confirmation-mails\n/)
})

test('a call that needs a person is explained with the sentence and the changes that its page would show, and who may decide', async () => {
  const order = { id: 'ord_1001', key: null, customer_id: 'cus_1001', sku: 'TEA-250', quantity: 2, total_minor: 2500, currency: 'EUR', state: 'reserved', version: 1, created_at: '2030-01-01T00:00:00Z' }
  const refund = ['refund_order.v1', '--arg', 'customer_id=cus_1001', '--arg', 'order_id=ord_1001', '--arg', 'amount_minor:=500', ...CLAIM, '--read', `order:=${JSON.stringify(order)}`]
  const asked = [...refund, '--read', 'refunds:={"items": [], "refunded_minor": 2000}']
  const { out } = await explain(...asked)
  assert.match(out, /Pay "5\.00 EUR" of order "ord_1001" back to customer "cus_1001"\n +\/refunded changed: "20\.00 EUR" → "25\.00 EUR"\n +\/refunded_minor changed: 2000 → 2500\n/)
  assert.match(out, /\n +decided by one person with the role shop_lead, and nobody for whom it is asked\n/)
  const { proposal } = JSON.parse((await explain(...asked, '--json')).out)
  assert.deepEqual(proposal.diff, [{ pointer: '/refunded', was: '20.00 EUR', now: '25.00 EUR' }, { pointer: '/refunded_minor', was: 2000, now: 2500 }])
  const refused = JSON.parse((await explain(...refund, '--read', 'refunds:={"items": [], "refunded_minor": 2001}', '--json')).out)
  assert.deepEqual([refused.end.code, refused.proposal], ['MORE_THAN_PAID', null])
})

test('it is what a real call sends, byte for byte but for the key and the credential', async t => {
  const mock = await startMock({
    document: openDocument('openapi/shop.yaml'), basePath: '/v1', port: 0,
    scenario: { name: 'parity', answers: [{ operation: 'getCustomer', body: CUSTOMER }, { operation: 'getProduct', body: PRODUCT }] },
  })
  t.after(() => mock.close())
  const site = mkdtempSync(join(tmpdir(), 'aval-explain-'))
  t.after(() => rmSync(site, { recursive: true, force: true }))
  const key = await makeSigningKey()
  writeFileSync(join(site, 'jwks.json'), JSON.stringify(key.jwks))
  const placed = await placeSheets(site, { url: mock.url, ...KEYS })
  const broker = await startBroker(readConfig({
    AVAL_AGENTS: '127.0.0.1:0', AVAL_OPERATIONS: '127.0.0.1:0', AVAL_LOG: 'silent', AVAL_ACTIONS: placed, AVAL_OPENAPI: 'openapi',
    AVAL_DATA: join(site, 'data'), AVAL_ISSUER: 'https://i.example', AVAL_AUDIENCE: 'https://a.example', AVAL_JWKS: `file:${join(site, 'jwks.json')}`,
  }))
  t.after(() => broker.close())
  const token = await mintToken({
    key, issuer: 'https://i.example', audience: 'https://a.example', sub: 'agent', roles: ['shop_assistant'], run: 'run', claims: { customers: ['cus_1001'] },
  })
  await fetch(`${broker.agentsUrl}/v1/actions/place_order.v1`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ arguments: { customer_id: 'cus_1001', sku: 'TEA-250', quantity: 2, max_total_minor: 500 } }),
  })
  const sent = mock.ledger.entries.find(({ operation }) => operation === 'placeOrder')!
  const { end: { request } } = await explained(...ORDER, ...CLAIM, ...reads)
  const varying = ['x-api-key', 'idempotency-key', 'host', 'connection', 'content-length', 'transfer-encoding']
  const plain = (headers: { readonly [name: string]: string }): object => Object.fromEntries(Object.entries(headers).filter(([name]) => !varying.includes(name)).sort())
  assert.deepEqual(
    { method: request.method, path: new URL(request.url).pathname, headers: plain(request.headers), body: JSON.parse(request.body) },
    { method: sent.method, path: sent.path, headers: plain(sent.headers), body: sent.body },
  )
  assert.ok(Object.hasOwn(request.headers, 'idempotency-key') && Object.hasOwn(sent.headers, 'idempotency-key'))
})

test('what it cannot do, it says in one line, and ends with 2', async () => {
  for (const [argv, said] of [
    [['place_ordr.v1'], /there is no action place_ordr\.v1; did you mean place_order\.v1\?/],
    [[...ORDER, '--read', 'stock:={}'], /place_order\.v1 has no read stock/],
    [[...ORDER, '--read', 'customer:={'], /--read customer:=/],
    [[...ORDER, '--read', 'customer=none'], /a status such as 404/],
    [[...ORDER, '--tenant', '../x'], /no broker would believe this caller/],
  ] as const) {
    const { code, out, err } = await explain(...argv)
    assert.deepEqual([code, out, err.trim().split('\n').length], [2, '', 1], err)
    assert.match(err, said)
  }
})
