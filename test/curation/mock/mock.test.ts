// The mock as an upstream: what it refuses, what it does and writes down, and how it misbehaves when it is told to.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { CatalogFaults } from '../../../src/catalog/catalog.ts'
import { openDocument } from '../../../src/catalog/openapi/documents.ts'
import { placeSheets } from '../../../src/commands/demo/sheets.ts'
import { makeSigningKey, mintToken } from '../../../src/commands/token.ts'
import { readConfig } from '../../../src/config.ts'
import { startMock, type Mock } from '../../../src/curation/mock/mock.ts'
import { routesOf } from '../../../src/curation/mock/routes.ts'
import { readMockScenario, type MockScenario } from '../../../src/curation/mock/scenario.ts'
import { startBroker } from '../../../src/main.ts'

const KEY = 'a-key-that-is-secret'
const CUSTOMER = { id: 'cus_1', name: 'N', state: 'active', version: 1, email: 'e@example.com', shipping_address: { street: 'S', city: 'C', postal_code: '1', country: 'IE' } }
const ORDER = { customer_id: 'cus_1', sku: 'TEA', quantity: 1, total_minor: 100, currency: 'EUR' }

async function mockOf (t: TestContext, scenario: MockScenario | null = null): Promise<Mock> {
  const mock = await startMock({ document: openDocument('openapi/shop.yaml'), basePath: '/v1', port: 0, scenario })
  t.after(() => mock.close())
  return mock
}

interface Asked { readonly headers?: { readonly [name: string]: string }, readonly body?: unknown }

async function ask (mock: Mock, method: string, path: string, { headers = {}, body }: Asked = {}): Promise<{ status: number, body: any }> {
  const answer = await fetch(`${mock.url}${path}`, {
    method,
    headers: { 'X-Api-Key': KEY, ...body === undefined ? {} : { 'content-type': 'application/json' }, ...headers },
    ...body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) },
  })
  const text = await answer.text()
  return { status: answer.status, body: text === '' ? null : JSON.parse(text) }
}

const order = (key: string, change: object = {}, headers: { readonly [name: string]: string } = {}): Asked =>
  ({ headers: { 'Idempotency-Key': key, ...headers }, body: { ...ORDER, ...change } })

test('it answers a sample of what the document declares, and writes down what it was asked without the secret', async t => {
  const mock = await mockOf(t)
  const { status, body } = await ask(mock, 'GET', '/customers/cus_1')
  assert.equal(status, 200)
  assert.deepEqual([typeof body.id, typeof body.version, typeof body.shipping_address.street], ['string', 'number', 'string'])
  const made = await ask(mock, 'POST', '/orders', order('k1'))
  assert.equal(made.status, 201)
  const ledger = await (await fetch(mock.ledgerUrl)).json() as any
  assert.deepEqual(ledger.entries.map((entry: any) => [entry.operation, entry.status, entry.applied]), [['getCustomer', 200, false], ['placeOrder', 201, true]])
  assert.deepEqual(ledger.entries[1].body, ORDER)
  assert.equal(ledger.entries[1].headers['x-api-key'], '‹secret›')
  assert.ok(!JSON.stringify(ledger).includes(KEY))
  await fetch(mock.ledgerUrl, { method: 'DELETE' })
  assert.deepEqual(mock.ledger.entries, [])
})

test('a request that does not fit the document is refused, says where, and has no effect', async t => {
  const mock = await mockOf(t)
  for (const [method, path, asked, said] of [
    ['POST', '/orders', order('k', { quantity: 0 }), /at \/quantity/],
    ['POST', '/orders', order('k', { quantity: undefined }), /quantity/],
    ['POST', '/orders', { headers: { 'Idempotency-Key': 'k' }, body: '{"half": ' }, /is no JSON/],
    ['POST', '/orders', { headers: { 'Idempotency-Key': 'k' } }, /a body is needed/],
    ['POST', '/orders', { headers: { 'Idempotency-Key': 'k', 'content-type': 'text/plain' }, body: 'x' }, /application\/json/],
    ['PATCH', '/customers/cus_1', { body: { shipping_address: CUSTOMER.shipping_address } }, /header parameter "If-Match" is missing/],
    ['GET', '/customers/cus_1?colour=red', {}, /no query parameter "colour"/],
    ['GET', '/customers/cus_1', { headers: { 'X-Aval-Fault': 'lots' } }, /x-aval-fault takes dropped, lost/],
  ] as ReadonlyArray<readonly [string, string, Asked, RegExp]>) {
    const { status, body } = await ask(mock, method, path, asked)
    assert.equal(status, 400, `${method} ${path}`)
    assert.match(body.complaints.join('; '), said)
  }
  assert.deepEqual([(await ask(mock, 'GET', '/nothing')).status, (await ask(mock, 'PUT', '/orders')).status], [404, 405])
  assert.ok(mock.ledger.entries.every(entry => !entry.applied && entry.complaints.length > 0))
})

test('a key repeats its first answer and its effect is once; under another body it is refused', async t => {
  const mock = await mockOf(t)
  const first = await ask(mock, 'POST', '/orders', order('same'))
  assert.deepEqual(await ask(mock, 'POST', '/orders', order('same')), first)
  assert.equal((await ask(mock, 'POST', '/orders', order('same', { quantity: 2 }))).status, 422)
  assert.equal((await ask(mock, 'POST', '/orders', order('other', { quantity: 2 }))).status, 201)
  assert.deepEqual(mock.ledger.entries.map(({ applied, duplicate }) => [applied, duplicate]), [[true, false], [false, true], [false, true], [true, false]])
})

test('where the scenario says nothing of keys, they mean nothing', async t => {
  const mock = await mockOf(t, { name: 'careless', answers: [] })
  await ask(mock, 'POST', '/orders', order('same'))
  await ask(mock, 'POST', '/orders', order('same'))
  assert.deepEqual(mock.ledger.entries.map(({ applied }) => applied), [true, true])
})

test('each fault is what it says: whether anything happened, and what comes back', async t => {
  const mock = await mockOf(t)
  const fault = async (name: string, key: string): Promise<string> => {
    const raw = await rawPost(mock, '/v1/orders', { 'X-Aval-Fault': name, 'Idempotency-Key': key, 'X-Api-Key': KEY }, ORDER)
    return raw
  }
  assert.equal(await fault('dropped', 'a'), '')
  assert.equal(await fault('lost', 'b'), '')
  const cut = await fault('cut', 'c')
  const promised = Number(/content-length: (\d+)/i.exec(cut)![1])
  assert.ok(cut.slice(cut.indexOf('\r\n\r\n') + 4).length < promised)
  assert.match(await fault('malformed', 'd'), /^HTTP\/1\.1 201 [^]*application\/json[^]*\{"half": /)
  assert.match(await fault('wrong_type', 'e'), /^HTTP\/1\.1 201 [^]*text\/html/)
  assert.match(await fault('secret', 'f'), new RegExp(`^HTTP/1\\.1 201 [^]*${KEY}`))
  assert.match(await fault('status=503', 'g'), /^HTTP\/1\.1 503 /)
  assert.deepEqual(mock.ledger.entries.map(entry => [entry.fault, entry.applied, entry.status]), [
    ['dropped', false, null], ['lost', true, null], ['cut', true, 201], ['malformed', true, 201], ['wrong_type', true, 201], ['secret', true, 201], [null, false, 503],
  ])
})

test('a slow answer is slow, and its effect is at once', async t => {
  const mock = await mockOf(t)
  const startedMs = performance.now()
  const slow = ask(mock, 'POST', '/orders', order('slow', {}, { 'X-Aval-Fault': 'delay=400ms' }))
  while (mock.ledger.entries.length === 0) await new Promise(resolve => setTimeout(resolve, 5))
  assert.ok(mock.ledger.entries[0]!.applied)
  assert.equal((await slow).status, 201)
  assert.ok(performance.now() - startedMs >= 390)
})

test('a script is played in turn, by operation, and then the document answers', async t => {
  const mock = await mockOf(t, {
    name: 'turns',
    answers: [
      { operation: 'getCustomer', times: 1, body: { ...CUSTOMER, version: 7 } },
      { operation: 'GET /customers/{id}', times: 1, status: 404, body: { code: 'gone' } },
      { operation: 'placeOrder', status: 202, headers: { 'Retry-After': '3' }, body: {} },
    ],
  })
  assert.equal((await ask(mock, 'GET', '/customers/cus_1')).body.version, 7)
  assert.deepEqual(await ask(mock, 'GET', '/customers/cus_1'), { status: 404, body: { code: 'gone' } })
  assert.equal((await ask(mock, 'GET', '/customers/cus_1')).status, 200)
  assert.deepEqual([await ask(mock, 'POST', '/orders', order('a')), await ask(mock, 'POST', '/orders', order('b'))].map(({ status }) => status), [202, 202])
})

test('a scenario file says where it is wrong', () => {
  const { has } = routesOf(openDocument('openapi/shop.yaml'))
  const good = 'name: n\nidempotency: {header: Idempotency-Key}\nanswers:\n  - {operation: placeOrder, times: 1, fault: lost}\n'
  assert.equal(readMockScenario('s.yaml', Buffer.from(good), has).answers[0]!.fault, 'lost')
  for (const [text, fault] of [
    ['name: n\nanswers:\n  - {operation: placeOrdr}\n', 's.yaml:3:17 operation-unknown'],
    ['name: n\nanswers:\n  - {fault: lots}\n', 's.yaml:3:13 '],
    ['name: n\nanswers:\n  - {delay: soon}\n', 's.yaml:3:13 '],
    ['name: n\nanswer: []\n', 's.yaml:2:1 '],
    ['name: [\n', 's.yaml:'],
  ] as const) {
    assert.throws(() => readMockScenario('s.yaml', Buffer.from(text), has), (error: unknown) => {
      assert.ok(error instanceof CatalogFaults)
      assert.ok(error.message.includes(fault), `${fault}: ${error.message}`)
      return true
    })
  }
})

test('a broker in front of it: a lost answer is unknown to the agent, and in the ledger it happened once', async t => {
  const product = { sku: 'TEA-250', name: 'Tea', price_minor: 100, currency: 'EUR', stock: 9 }
  const mock = await mockOf(t, {
    name: 'lost order',
    idempotency: { header: 'Idempotency-Key' },
    answers: [
      { operation: 'getCustomer', body: { ...CUSTOMER, id: 'cus_1001' } },
      { operation: 'getProduct', body: product },
      { operation: 'placeOrder', fault: 'lost' },
      { operation: 'findOrders', status: 503, body: {} },
    ],
  })
  const folder = mkdtempSync(join(tmpdir(), 'aval-mock-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const key = await makeSigningKey()
  writeFileSync(join(folder, 'jwks.json'), JSON.stringify(key.jwks))
  const broker = await startBroker(readConfig({
    AVAL_AGENTS: '127.0.0.1:0',
    AVAL_OPERATIONS: '127.0.0.1:0',
    AVAL_LOG: 'silent',
    AVAL_ACTIONS: await placeSheets(folder, { url: mock.url, apiKey: KEY, readKey: `${KEY}-to-read` }),
    AVAL_OPENAPI: 'openapi',
    AVAL_DATA: join(folder, 'data'),
    AVAL_ISSUER: 'https://issuer.example',
    AVAL_AUDIENCE: 'https://aval.example',
    AVAL_JWKS: `file:${join(folder, 'jwks.json')}`,
  }))
  t.after(() => broker.close())
  const token = await mintToken({
    key, issuer: 'https://issuer.example', audience: 'https://aval.example', sub: 'a', roles: ['shop_assistant'], run: 'r', claims: { customers: ['cus_1001'] },
  })
  const answer = await fetch(`${broker.agentsUrl}/v1/actions/place_order.v1`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ arguments: { customer_id: 'cus_1001', sku: 'TEA-250', quantity: 2, max_total_minor: 500 } }),
  })
  const envelope = await answer.json() as any
  assert.deepEqual([answer.status, envelope.outcome, envelope.error.code], [202, 'unknown', 'OUTCOME_UNKNOWN'])
  const orders = mock.ledger.entries.filter(({ operation }) => operation === 'placeOrder')
  assert.deepEqual(orders.map(({ applied, complaints, body }) => [applied, complaints, (body as any).total_minor]), [[true, [], 200]])
  assert.ok(!JSON.stringify(mock.ledger.entries).includes(KEY))
})

/** What came back, byte by byte, up to the end of the connection. */
async function rawPost (mock: Mock, path: string, headers: { readonly [name: string]: string }, body: object): Promise<string> {
  const text = JSON.stringify(body)
  const { port, host } = new URL(mock.url)
  const socket = connect(Number(port), '127.0.0.1')
  const lines = Object.entries({ Host: host, Connection: 'close', 'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(text)), ...headers })
  socket.write(`POST ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${text}`)
  let came = ''
  socket.on('data', (chunk: Buffer) => { came += chunk.toString() })
  socket.on('error', () => {})
  await once(socket, 'close')
  return came
}
