// The agents listener's routes: what each hands to the execution, and how what comes back is written down.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { connect as connectTls } from 'node:tls'
import { describe, test } from 'node:test'
import { once } from 'node:events'
import { Refusal } from '../../src/errors.ts'
import { buildListener } from '../../src/http/server.ts'
import { call, say, startBoundary, TOKEN } from './boundary.ts'

const good = { headers: { authorization: TOKEN } }
const post = { method: 'POST', ...good }

describe('each route hands over what it was asked', () => {
  test('a call is an arrival with everything that the execution believes nothing of yet', async t => {
    const boundary = await startBoundary(t)
    await call(boundary, '{"arguments":{"a":1},"reason":"why"}', { 'idempotency-key': 'k-1' })
    const { ask } = boundary.asked[0]!
    assert.deepEqual(
      [ask['surface'], ask['actionId'], ask['authorization'], ask['idempotencyKey'], ask['source']],
      ['http', 'echo.v1', TOKEN, 'k-1', 'h1:127.0.0.1'],
    )
    assert.match(String(ask['correlationId']), /^cor_[0-9a-f]{32}$/)
    assert.equal(typeof ask['arrivedAtMs'], 'number')
    assert.deepEqual(boundary.bodies, [{ arguments: { a: 1 }, reason: 'why' }])
  })

  test('every other route passes the token on, and its words', async t => {
    const boundary = await startBoundary(t)
    await say(boundary, '/v1/actions', good)
    await say(boundary, '/v1/actions?query=ship+it%21&effect=observation&limit=200&cursor=abc', good)
    await say(boundary, '/v1/actions/echo.v1', good)
    await say(boundary, '/v1/attempts/att_1', good)
    await say(boundary, '/v1/attempts?limit=7', good)
    await say(boundary, '/v1/attempts/att_1/cancel', post)
    await say(boundary, '/v1/attempts/att_1/escalate', post)
    await say(boundary, '/v1/run/stop', post)
    assert.ok(boundary.asked.every(({ ask }) => ask['authorization'] === TOKEN && /^cor_/.test(String(ask['correlationId']))))
    const words = boundary.asked.map(({ what, ask: { authorization: _a, correlationId: _c, signal: _s, ...rest } }) => [what, rest])
    assert.deepEqual(words, [
      ['listActions', { query: null, effect: null, limit: 50, cursor: null }],
      ['listActions', { query: 'ship it!', effect: 'observation', limit: 200, cursor: 'abc' }],
      ['describeAction', { actionId: 'echo.v1' }],
      ['getAttempt', { id: 'att_1', waitMs: 0 }],
      ['listAttempts', { limit: 7 }],
      ['cancelAttempt', { id: 'att_1' }],
      ['escalateAttempt', { id: 'att_1' }],
      ['stopRun', {}],
    ])
  })

  test('HEAD is GET without the body', async t => {
    const boundary = await startBoundary(t)
    const said = await say(boundary, '/v1/actions', { method: 'HEAD', ...good })
    assert.deepEqual([said.status, said.text, Number(said.headers.get('content-length')) > 0], [200, '', true])
  })

  for (const [wait, waitMs] of [['30s', 30_000], ['500ms', 500], ['60s', 60_000], ['60000ms', 60_000], ['0s', 0], ['007s', 7_000]] as const) {
    test(`wait=${wait} waits ${waitMs} ms`, async t => {
      const boundary = await startBoundary(t)
      await say(boundary, `/v1/attempts/att_1?wait=${wait}`, good)
      assert.equal(boundary.asked[0]!.ask['waitMs'], waitMs)
    })
  }

  test('a wait, a limit or an effect that is none is refused, and says what would be one', async t => {
    const boundary = await startBoundary(t)
    const waits = ['61s', '60001ms', '1m', '30', '-1s', '1.5s', '30S', ' 30s', '1e3ms', '', '9999999ms', '30s30s']
    const paths = [
      ...waits.map(wait => `/v1/attempts/att_1?wait=${encodeURIComponent(wait)}`),
      ...['0', '201', '-1', '1.0', '1e1', '', 'all', '0x10', ' 5'].map(limit => `/v1/actions?limit=${encodeURIComponent(limit)}`),
      ...['read', 'OBSERVATION', ''].map(effect => `/v1/actions?effect=${effect}`),
      '/v1/attempts?limit=201',
    ]
    for (const path of paths) {
      const { status, json } = await say(boundary, path, good)
      assert.deepEqual([status, json.error.code, typeof json.error.hint], [400, 'MALFORMED_REQUEST', 'string'], path)
    }
    assert.deepEqual(boundary.asked, [])
  })
})

describe('an answer is written down as it is', () => {
  test('its status, Location and Retry-After, and its envelope to the letter', async t => {
    const envelope = { ok: false, outcome: 'unknown' as const, sent: true, correlation_id: 'cor_1', attempt_id: 'att_1',
      result: { a: [1, null, 'é'] } }
    const boundary = await startBoundary(t, { answer: () => ({ status: 202, location: '/v1/attempts/att_1', retryAfterSeconds: 7, envelope }) })
    const said = await call(boundary, '{"arguments":{}}')
    assert.deepEqual([said.status, said.headers.get('location'), said.headers.get('retry-after')], [202, '/v1/attempts/att_1', '7'])
    assert.equal(said.text, JSON.stringify(envelope))
    assert.equal(said.headers.get('content-type'), 'application/json; charset=utf-8')
  })

  test('a 401 names the scheme, and an error only where there was a token', async t => {
    const boundary = await startBoundary(t)
    assert.equal((await say(boundary, '/v1/actions')).headers.get('www-authenticate'), 'Bearer')
    assert.equal((await say(boundary, '/v1/actions', { headers: { authorization: 'Bearer forged' } })).headers.get('www-authenticate'),
      'Bearer error="invalid_token"')
    assert.equal((await say(boundary, '/v1/actions', good)).headers.get('www-authenticate'), null)
  })

  test('a result that cannot be written does not turn a call that was sent into a refusal', async t => {
    let deep: unknown[] = []
    for (let depth = 0; depth < 100_000; depth++) deep = [deep]
    const boundary = await startBoundary(t, {
      answer: arrival => ({
        status: 200, location: null, retryAfterSeconds: null, envelope: { ok: true, outcome: 'completed', sent: true,
          correlation_id: arrival.correlationId, result: deep as never },
      }),
    })
    const { status, json } = await call(boundary, '{"arguments":{}}')
    assert.deepEqual([status, json.outcome, json.sent, json.result, json.withheld], [200, 'completed', true, null, 'RESULT_INVALID'])
  })

  test('a refusal that is thrown is answered as one, with its details and without what is for operators', async t => {
    const boundary = await startBoundary(t, {
      answer: () => { throw Refusal.of('RATE_LIMITED', { retryAfterSeconds: 3, hint: 'later', internal: 'secret words' }) },
    })
    const said = await call(boundary, '{"arguments":{}}')
    assert.deepEqual([said.status, said.headers.get('retry-after'), said.json.error.retry_after_seconds, said.json.error.hint],
      [429, '3', 3, 'later'])
    assert.doesNotMatch(said.text, /secret words/)
  })

  test('a fault of the broker is told to operators with its cause, and to the agent without', async t => {
    const fault = Object.assign(new TypeError('password=hunter2 at 10.0.0.1'), { statusCode: 418, code: 'ERR_X' })
    const boundary = await startBoundary(t, { answer: () => { throw fault } })
    const said = await call(boundary, '{"arguments":{}}')
    assert.deepEqual([said.status, said.json.error.code], [500, 'INTERNAL'])
    assert.doesNotMatch(said.text + JSON.stringify([...said.headers]), /hunter2|10\.0\.0\.1|TypeError|ERR_X|routes\.test/)
    assert.deepEqual(boundary.faults, [fault])
    assert.deepEqual(boundary.refused, ['INTERNAL'])
  })

  test('what is refused before any call began is counted by its code', async t => {
    const boundary = await startBoundary(t)
    await say(boundary, '/nothing')
    await say(boundary, '/v1/actions?x=1')
    await say(boundary, '/v1/actions', { method: 'DELETE' })
    assert.deepEqual(boundary.refused, ['NOT_FOUND', 'MALFORMED_REQUEST', 'METHOD_NOT_ALLOWED'])
  })
})

describe('rates', () => {
  const rates = { tokenPerSecond: 2, addressPerSecond: 4, burstSeconds: 5 }

  test('a caller that goes over its rate is told when to come back, and another caller is not held up', async t => {
    const boundary = await startBoundary(t, { rates })
    const statuses: number[] = []
    for (let at = 0; at < 12; at++) statuses.push((await say(boundary, '/v1/actions', good)).status)
    assert.deepEqual(statuses, [...Array.from({ length: 10 }, () => 200), 429, 429])
    const over = await say(boundary, '/v1/actions', good)
    assert.deepEqual([over.json.error.code, over.json.error.retryable], ['RATE_LIMITED', true])
    assert.match(over.headers.get('retry-after')!, /^[1-5]$/)
    assert.equal((await say(boundary, '/v1/actions', { headers: { authorization: `${TOKEN}-2` } })).status, 200)
    assert.equal(boundary.asked.length, 11)
  })

  test('forged tokens, each another, spend the allowance of their address, and leave callers there alone whose token was good before', async t => {
    const boundary = await startBoundary(t, { rates })
    assert.equal((await say(boundary, '/v1/actions', good)).status, 200)
    const statuses: number[] = []
    for (let at = 0; at < 25; at++) statuses.push((await say(boundary, '/v1/actions', { headers: { authorization: `Bearer forged-${at}` } })).status)
    assert.deepEqual([statuses.filter(status => status === 401).length, statuses.filter(status => status === 429).length], [19, 6])
    assert.equal((await say(boundary, '/v1/actions')).status, 429)
    assert.equal((await say(boundary, '/docs')).status, 429)
    assert.equal((await say(boundary, '/v1/actions', good)).status, 200)
  })

  test('a token that is refused later counts for its address again', async t => {
    let accepted = true
    const boundary = await startBoundary(t, {
      rates: { ...rates, tokenPerSecond: 100 },
      replaced: { listActions: async () => ({ status: accepted ? 200 : 401, body: {} }) },
    })
    assert.equal((await say(boundary, '/v1/actions', good)).status, 200)
    accepted = false
    const statuses: number[] = []
    for (let at = 0; at < 25; at++) statuses.push((await say(boundary, '/v1/actions', good)).status)
    // One request before (address), one while it still counted as good (token), 19 more from the address.
    assert.deepEqual([statuses.filter(status => status === 401).length, statuses.at(-1)], [20, 429])
  })

  test('what is answered without a token proves nothing about the token that came with it', async t => {
    const boundary = await startBoundary(t, { rates: { ...rates, tokenPerSecond: 100 } })
    const statuses: number[] = []
    for (let at = 0; at < 25; at++) statuses.push((await say(boundary, '/docs', { headers: { authorization: 'Bearer forged' } })).status)
    assert.equal(statuses.filter(status => status === 429).length, 5)
  })

  test('addresses behind a proxy that is configured are told apart, and those of one IPv6 network are not', async t => {
    const boundary = await startBoundary(t, { rates, trustProxy: ['127.0.0.1'] })
    const from = async (address: string): Promise<number> => (await say(boundary, '/v1/actions', { headers: { 'x-forwarded-for': address } })).status
    const spent = async (addresses: (at: number) => string): Promise<number> => {
      let refused = 0
      for (let at = 0; at < 25; at++) if (await from(addresses(at)) === 429) refused++
      return refused
    }
    assert.equal(await spent(() => '203.0.113.1'), 5)
    assert.equal(await spent(at => `203.0.113.${at + 10}`), 0)
    assert.equal(await spent(at => `2001:db8:1:2::${at}`), 5)
    assert.equal(await spent(at => `2001:db8:1:${at + 3}::1`), 0)
  })
})

describe('a listener', () => {
  const options = {
    hosts: ['127.0.0.1'], trustProxy: [], tls: null, rates: null, draining: () => false, events: { refused: () => {}, fault: () => {} },
  }
  const listener = () => buildListener('agents', options, new AbortController())

  test('does not start with a route that declares no plane, no auth, or another plane', async () => {
    assert.throws(() => listener().get('/a', async () => 'a'), /declares no plane or no auth/)
    assert.throws(() => listener().get('/a', { config: { plane: 'agents' } }, async () => 'a'), /declares no plane or no auth/)
    assert.throws(() => listener().get('/a', { config: { auth: 'none' } }, async () => 'a'), /declares no plane or no auth/)
    assert.throws(() => listener().get('/a', { config: { plane: 'operations', auth: 'none' } }, async () => 'a'), /belongs to the operations plane/)
    const late = listener()
    late.register(async routes => { routes.get('/a', async () => 'a') })
    await assert.rejects(async () => { await late.ready() }, /declares no plane or no auth/)
  })

  test('speaks TLS where it is given a key, says so to browsers, and refuses what is too old', async t => {
    const pem = (name: string): Promise<Buffer> => readFile(new URL(`../support/tls/${name}`, import.meta.url))
    const [key, cert, ca] = await Promise.all([pem('valid.key.pem'), pem('valid.pem'), pem('authority.pem')])
    const boundary = await startBoundary(t, { tls: { key, cert } })
    const socket = connectTls({ host: '127.0.0.1', port: boundary.port, ca, servername: 'localhost' })
    t.after(() => { socket.destroy() })
    await once(socket, 'secureConnect')
    socket.end(`GET /v1/actions HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${TOKEN}\r\nConnection: close\r\n\r\n`)
    const text = (await socket.toArray()).join('')
    assert.match(text, /^HTTP\/1\.1 200 /)
    assert.match(text, /strict-transport-security: max-age=\d+/)
    const old = connectTls({ host: '127.0.0.1', port: boundary.port, ca, servername: 'localhost', minVersion: 'TLSv1', maxVersion: 'TLSv1.1',
      ciphers: 'DEFAULT@SECLEVEL=0' })
    await assert.rejects(once(old, 'secureConnect'))
  })
})
