// What a hostile agent may send, against a whole broker: each is refused with its code, nothing reaches the upstream, the audit has one row of it.
// The ids in parentheses are those of the list of hostile inputs that this file works through.
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, test } from 'node:test'
import { askControl } from '../../src/http/control.ts'
import { RawClient, sendRaw } from '../http/boundary.ts'
import type { Reached } from '../support/broker.ts'
import { hostileModes } from '../support/hostile-modes.ts'
import { eventually } from '../invariants/ground.ts'
import { assertRefused, ok, rowOf, startProbe, type Probing } from './probe.ts'

const closers: Array<() => unknown> = []
let probe: Probing

before(async () => { probe = await startProbe({ after: (close: any) => { closers.push(close) } }) })
after(async () => { for (const close of closers.reverse()) await close() })
beforeEach(() => {
  probe.upstream.clear()
  probe.answers.read = ok({ id: 'one', name: 'One' })
  probe.answers.write = ok({ id: 'new' })
})

async function send (
  body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}, path = '/v1/actions/create_item.v1',
): Promise<Reached> {
  const answer = await fetch(probe.agentsUrl + path, {
    method: 'POST', body, headers: { authorization: `Bearer ${probe.token}`, 'content-type': 'application/json', ...headers },
  })
  return { status: answer.status, headers: answer.headers, body: await answer.json() }
}

/** What was refused, and by which step: the audit is held to it at the end. */
const refused: Array<{ readonly reached: Reached, readonly step: string }> = []

const args = (text: string): string => `{"arguments":${text}}`
const port = (): number => Number(new URL(probe.agentsUrl).port)

describe('arguments', () => {
  const REFUSED: ReadonlyArray<readonly [id: string, what: string, args: object, field: string, rule: string]> = [
    ['A1', 'null for an integer', { name: 'x', count: null }, '/count', 'type'],
    ['A2', 'true for an integer', { name: 'x', count: true }, '/count', 'type'],
    ['A2', 'a text for an integer', { name: 'x', count: '1' }, '/count', 'type'],
    ['A2', 'a text for a list', { name: 'x', tags: 'a' }, '/tags', 'type'],
    ['A2', 'an object for a list', { name: 'x', tags: { 0: 'a' } }, '/tags', 'type'],
    ['S09', 'a list written as a text', { name: 'x', tags: '["a"]' }, '/tags', 'type'],
    ['A3', 'a property that no sheet names', { name: 'x', nmae: 'y' }, '/nmae', 'additionalProperties'],
    ['X06', 'an idempotency key among the arguments', { name: 'x', idempotency_key: 'k' }, '/idempotency_key', 'additionalProperties'],
  ]
  for (const [id, what, given, field, rule] of REFUSED) {
    test(`${what} is refused at ${field}, neither changed nor dropped (${id})`, async () => {
      const reached = await probe.ask('create_item.v1', given)
      assertRefused(reached, 422, 'INVALID_ARGUMENTS', field)
      assert.equal(reached.body.error.rule, rule)
      refused.push({ reached, step: 'arguments' })
      assert.equal(probe.upstream.bytes, 0)
    })
  }

  test('an unknown property is named in the message, and its value is not (A3)', async () => {
    const { body } = await probe.ask('create_item.v1', { name: 'x', surprise: 'pa$$word' })
    assert.match(body.error.message, /"surprise"/)
    assert.doesNotMatch(JSON.stringify(body), /pa\$\$word/)
    assert.doesNotMatch(
      JSON.stringify(await rowOf(probe, body.correlation_id)), /surprise|pa\$\$word/, 'the audit keeps no name that an agent made up',
    )
  })

  test('2.0 is the integer 2, and arrives as 2 (A8)', async () => {
    await send(args('{"name":"two","count":2.0}'))
    assert.deepEqual(JSON.parse(probe.upstream.ledger[0]!.body), { name: 'two', count: 2 })
    assertRefused(await send(args('{"name":"two","count":2.5}')), 422, 'INVALID_ARGUMENTS', '/count')
  })

  test('absent, null and a value arrive as what they are (C31)', async () => {
    for (const [index, given] of [{}, { note: null }, { note: '' }].entries()) {
      await probe.ask('create_item.v1', { name: `c31-${index}`, ...given })
      assert.deepEqual(JSON.parse(probe.upstream.ledger[index]!.body), { name: `c31-${index}`, ...given })
    }
  })
})

describe('bodies', () => {
  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
  const REFUSED: ReadonlyArray<readonly [id: string, what: string, body: string | Uint8Array<ArrayBuffer>, status: number, code: string]> = [
    ['A4', 'a key twice', args('{"name":"x","count":1,"count":9}'), 400, 'DUPLICATE_KEY'],
    ['A4', 'a key twice, once escaped', args('{"name":"x","count":1,"c\\u006funt":9}'), 400, 'DUPLICATE_KEY'],
    ['A4', 'the arguments twice', '{"arguments":{"name":"x"},"arguments":{"name":"y"}}', 400, 'DUPLICATE_KEY'],
    ['A6', 'an integer that a double does not hold', args('{"name":"x","count":9007199254740993}'), 400, 'UNSAFE_NUMBER'],
    ['A6', 'an integer written with an exponent', args('{"name":"x","count":1e400}'), 400, 'UNSAFE_NUMBER'],
    ['A9', '__proto__', args('{"name":"x","__proto__":{"admin":true}}'), 400, 'MALFORMED_REQUEST'],
    ['A9', '__proto__, escaped', args('{"name":"x","\\u005f_proto__":{"admin":true}}'), 400, 'MALFORMED_REQUEST'],
    ['A9', 'constructor.prototype', args('{"name":"x","constructor":{"prototype":{"admin":true}}}'), 400, 'MALFORMED_REQUEST'],
    ['A10', 'twenty thousand lists in one another', args(`{"name":${deep}}`), 400, 'TOO_DEEP'],
    ['A10', 'twenty thousand lists that never end', `{"arguments":${'['.repeat(20_000)}`, 400, 'TOO_DEEP'],
    ['A11', 'one byte more than 64 KiB', args(`{"name":"${'x'.repeat(64 * 1024 + 1 - args('{"name":""}').length)}"}`), 413, 'TOO_LARGE'],
    ['A11', '10 MB', Buffer.alloc(10_000_000, 0x20), 413, 'TOO_LARGE'],
    ['A13', 'a byte order mark', Buffer.from(`\uFEFF${args('{"name":"x"}')}`), 400, 'MALFORMED_JSON'],
    ['A13', 'bytes that are no UTF-8', Buffer.from(args('{"name":"\xe9"}'), 'latin1'), 400, 'ILL_FORMED_TEXT'],
    ['A13', 'half a surrogate pair', args('{"name":"\\ud800"}'), 400, 'ILL_FORMED_TEXT'],
  ]
  for (const [id, what, body, status, code] of REFUSED) {
    test(`${what} is refused (${id})`, async () => {
      const reached = await send(body)
      assertRefused(reached, status, code)
      refused.push({ reached, step: 'decode' })
      assert.equal(probe.upstream.bytes, 0)
      assert.equal(({} as { admin?: unknown }).admin, undefined)
    })
  }

  test('money as a decimal is no integer (A8)', async () => {
    assertRefused(await send(args('{"name":"x","count":19.99}')), 422, 'INVALID_ARGUMENTS', '/count')
    assert.equal(probe.upstream.bytes, 0)
  })

  for (const [id, type] of [
    [
      'A15', 'application/json; charset=utf-16',
    ], ['A15', 'application/json;'], ['A15', 'application/json\t;charset=utf-8'], ['A15', 'application/jsonx'],
    ['A15', 'application/json; charset=utf-8; charset=utf-16'], ['A17', 'text/plain'], ['A17', 'application/x-www-form-urlencoded'],
    ['A17', 'multipart/form-data; boundary=x'],
  ] as const) {
    test(`${type} is no type of a call (${id})`, async () => {
      assertRefused(await send(args('{"name":"x"}'), { 'content-type': type }), 415, 'UNSUPPORTED_MEDIA_TYPE')
      assert.equal(probe.upstream.bytes, 0)
    })
  }

  for (const encoding of ['gzip', 'identity', 'br']) {
    test(`a body that is said to be encoded as ${encoding} is refused (A16)`, async () => {
      assertRefused(await send(args('{"name":"x"}'), { 'content-encoding': encoding }), 415, 'UNSUPPORTED_MEDIA_TYPE')
      assert.equal(probe.upstream.bytes, 0)
    })
  }

  test('an envelope of a call that is none is refused, and what it must look like is said', async () => {
    for (const [body, field] of [
      ['[]', ''], ['{}', '/arguments'], ['{"arguments":{},"grant":true}', '/grant'], ['{"arguments":{},"reason":7}', '/reason'],
    ] as const) {
      assertRefused(await send(body), 400, 'MALFORMED_REQUEST', field)
    }
    assert.equal(probe.upstream.bytes, 0)
  })
})

describe('the request itself', () => {
  const head = (more: readonly string[] = [], target = '/v1/actions/create_item.v1', host = '127.0.0.1'): string =>
    [
      `POST ${target} HTTP/1.1`, `Host: ${host}`, `Authorization: Bearer ${probe.token}`, 'Content-Type: application/json', ...more, '', '',
    ].join('\r\n')
  const body = args('{"name":"x"}')
  const length = `Content-Length: ${body.length}`

  const SMUGGLED: ReadonlyArray<readonly [what: string, bytes: () => string]> = [
    ['a length and chunks', () => `${head([length, 'Transfer-Encoding: chunked'])}${body}`],
    ['two lengths', () => `${head([length, 'Content-Length: 3'])}${body}`],
    ['an unknown transfer encoding', () => `${head(['Transfer-Encoding: xchunked'])}${body}`],
    ['a bare line feed', () => `${head([length]).replaceAll('\r\n', '\n')}${body}`],
    ['a blank before a colon', () => `${head(['Content-Length : 20'])}${body}`],
  ]
  for (const [what, bytes] of SMUGGLED) {
    test(`${what} ends the connection with a refusal, and no call is made of it (A18)`, async t => {
      const { answer, client } = await sendRaw(t, port(), bytes())
      await client.end()
      assert.ok(answer !== null && answer.status >= 400 && answer.status < 500, String(answer?.status))
      assert.equal(answer.json.sent, false)
      assert.equal(probe.upstream.bytes, 0)
    })
  }

  test('a host that is not served is misdirected, whatever X-Forwarded says (A21)', async t => {
    for (const host of ['evil.example', '127.0.0.1.evil.example', '169.254.169.254']) {
      const { answer } = await sendRaw(t, port(), `${head([length, 'X-Forwarded-Host: 127.0.0.1'], undefined, host)}${body}`)
      assert.deepEqual([answer?.status, answer?.json.error.code], [421, 'MISDIRECTED'], host)
    }
    const { answer } = await sendRaw(t, port(), `${head([length], 'http://evil.example/v1/actions/create_item.v1')}${body}`)
    assert.equal(answer?.status, 421)
    assert.equal(probe.upstream.bytes, 0)
  })

  test('a query on a call, in brackets or twice or of JavaScript, is refused (A26)', async () => {
    for (const query of ['x=1&x=2', 'x[]=1', '__proto__=1', 'arguments=%7B%7D', '_method=DELETE']) {
      assertRefused(await send(body, {}, `/v1/actions/create_item.v1?${query}`), 400, 'MALFORMED_REQUEST')
    }
    assert.equal(probe.upstream.bytes, 0)
  })

  test('headers that ask for another method, or carry a body of their own, change nothing (A47)', async () => {
    const reached = await send(args('{"name":"a47"}'), {
      'x-http-method-override': 'DELETE', 'x-method-override': 'GET', 'x-original-url': '/metrics',
    })
    assert.equal(reached.status, 200)
    assert.deepEqual(probe.arrived(), ['POST /items'])
  })

  test('no header of an agent reaches the upstream, whatever it is called (L11)', async () => {
    const marked = [
      'x-probe-key', 'cookie', 'x-forwarded-for', 'x-api-key', 'proxy-authorization', 'traceparent', 'accept-language', 'user-agent', 'x-aval',
      'if-match', 'accept',
    ]
    await send(args('{"name":"l11"}'), Object.fromEntries(marked.map(name => [name, 'MARKED'])))
    const { headers } = probe.upstream.ledger[0]!
    assert.doesNotMatch(JSON.stringify(headers), /MARKED/)
    assert.deepEqual(Object.keys(headers).sort(), [
      'accept', 'accept-encoding', 'connection', 'content-length', 'content-type', 'host', 'idempotency-key', 'x-probe-key',
    ])
  })

  test('idle connections by the hundred do not keep a call from being answered (A49)', async t => {
    for (let n = 0; n < 300; n++) await RawClient.open(t, port())
    assert.equal((await probe.ask('get_item.v1', { id: 'one' })).status, 200)
  })

  test('a body that is announced and never sent is not waited for without a good token (A49)', async t => {
    const { answer, client } = await sendRaw(t, port(), `${head(['Expect: 100-continue', length]).replace(probe.token, 'x.y.z')}`)
    await client.end()
    assert.equal(answer?.status, 401)
  })
})

describe('values in a path', () => {
  const HOSTILE: ReadonlyArray<readonly [id: string, value: string]> = [
    ['A22', '..'], ['A22', '.'], ['A22', '%2e%2e'], ['A22', '%2E%2E'], ['A22', '.%2e'],
    ['A22', '%252e%252e'], ['A22', 'a/../b'], ['A22', 'a%2Fb'], ['A22', 'a%5Cb'],
    ['A22', 'a\\b'], ['A22', 'a%00'], ['A22', 'a\u0000'], ['A22', 'a;x=..'], ['A22', ''],
    ['A22', 'a?b'], ['A22', 'a#b'], ['A22', 'a\r\nX: y'], ['A22', 'a\u0085'],
    ['A25', 'http://evil.example/'], [
      'A25', 'https:evil'.replace(':', '://'),
    ], ['A25', '//evil.example'], ['A25', '\\\\evil.example'], ['A25', '@evil.example'],
    ['A25', '/etc/passwd'],
  ]
  for (const [id, value] of HOSTILE) {
    test(`${JSON.stringify(value)} is refused before anything is read or written (${id})`, async () => {
      const reached = await probe.ask('get_item.v1', { id: value })
      assertRefused(reached, 422, 'INVALID_ARGUMENTS')
      refused.push({ reached, step: 'arguments' })
      assert.equal(probe.upstream.bytes, 0)
    })
  }

  test('and it holds for a write that reads first: no request, no attempt, and its key is free (A22)', async () => {
    const token = await probe.site.token({ roles: ['prober'], run: 'run-a22', claims: { items: ['..', 'one'] } })
    assertRefused(await probe.call(token, 'change_item.v1', { id: '..', name: 'x' }, 'a22'), 422, 'INVALID_ARGUMENTS')
    assert.equal(probe.upstream.bytes, 0)
    assert.deepEqual((await probe.get(token, '/v1/attempts')).body.attempts, [])
    probe.answers.read = ok({ id: 'one' }, 200, ['ETag: "1"'])
    probe.answers.write = ok({ id: 'one' })
    const next = await probe.call(token, 'change_item.v1', { id: 'one', name: 'x' }, 'a22')
    assert.deepEqual([next.status, next.body.outcome, next.body.duplicate], [200, 'completed', false])
    assert.deepEqual(probe.arrived(), ['GET /items/one', 'PUT /items/one'])
  })

  test('what is merely unusual arrives escaped in its own segment (C37)', async () => {
    for (const id of ['a b', 'ü', '{id}', 'a&b=c', '...', 'a:b', '+', "'\"<>"]) await probe.ask('get_item.v1', { id })
    assert.deepEqual(probe.upstream.ledger.map(({ path }) => path.split('/').length), Array(8).fill(3))
    assert.deepEqual(probe.upstream.ledger.map(({ path }) => decodeURIComponent(path.slice('/items/'.length))), [
      'a b', 'ü', '{id}', 'a&b=c', '...', 'a:b', '+', "'\"<>",
    ])
    assert.ok(probe.upstream.ledger.every(({ path }) => /^[\x21-\x7e]+$/.test(path) && !/[{}]/.test(path)), 'no brace is left (C44)')
  })
})

describe('repeats', () => {
  test('two spellings of one name are two calls, each sent as it was given (A27)', async () => {
    const [nfc, nfd] = ['caf\u00e9', 'cafe\u0301']
    const first = await probe.ask('create_item.v1', { name: nfc })
    const second = await probe.ask('create_item.v1', { name: nfd })
    assert.notEqual(first.body.attempt_id, second.body.attempt_id)
    assert.deepEqual(probe.upstream.ledger.map(({ body }) => JSON.parse(body).name), [nfc, nfd])
    const again = await probe.ask('create_item.v1', { name: nfd })
    assert.deepEqual([again.body.duplicate, again.body.attempt_id], [true, second.body.attempt_id])
    assert.equal(probe.upstream.ledger.length, 2)
  })

  test('a key that comes again with other arguments, or for another action, is refused; with the same it is a repeat (A28, X04, X09)', async () => {
    const first = await probe.ask('create_item.v1', { name: 'a28' }, 'key-a28')
    assertRefused(await probe.ask('create_item.v1', { name: 'other' }, 'key-a28'), 422, 'IDEMPOTENCY_KEY_REUSED')
    assertRefused(await probe.ask('create_item.v1', { name: 'a28', count: 1 }, 'key-a28'), 422, 'IDEMPOTENCY_KEY_REUSED')
    assertRefused(await probe.ask('change_item.v1', { id: 'one', name: 'a28' }, 'key-a28'), 422, 'IDEMPOTENCY_KEY_REUSED')
    const again = await probe.ask('create_item.v1', { name: 'a28' }, 'key-a28')
    assert.deepEqual([again.status, again.body.duplicate, again.body.attempt_id], [200, true, first.body.attempt_id])
    assert.equal(probe.upstream.ledger.length, 1)
  })

  test('the key that goes upstream is the broker\'s own, never the agent\'s (X06)', async () => {
    await probe.ask('create_item.v1', { name: 'x06' }, 'key-of-the-agent')
    const [request] = probe.upstream.ledger
    assert.match(request!.headers['idempotency-key']!, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    assert.doesNotMatch(JSON.stringify(request), /key-of-the-agent/)
  })

  for (const key of ['', 'a b', 'é', 'x'.repeat(256), 'a\tb']) {
    test(`${JSON.stringify(key.slice(0, 10))} (${key.length} characters) is no key`, async t => {
      const value = Buffer.from(key).toString('latin1')
      const body = args('{"name":"x"}')
      const lines = [
        'POST /v1/actions/create_item.v1 HTTP/1.1', 'Host: 127.0.0.1', `Authorization: Bearer ${probe.token}`, 'Content-Type: application/json',
        `Content-Length: ${body.length}`, `Idempotency-Key: ${value}`, '', body,
      ]
      const { answer } = await sendRaw(t, port(), Buffer.from(lines.join('\r\n'), 'latin1'))
      assert.deepEqual([answer?.status, answer?.json.error.rule], [400, 'idempotency-key'])
      assert.equal(probe.upstream.bytes, 0)
    })
  }
})

describe('planes and roles', () => {
  test('a token of an agent opens nothing of people or of operators, wherever it knocks (A42)', async () => {
    for (const path of [
      '/approvals', '/approvals/x/decision', '/audit', '/operator', '/operator/attempts', '/metrics', '/healthz', '/admin',
      '/v1/proposals/prop_x/approve',
    ]) {
      for (const method of ['GET', 'POST']) {
        const answer = await fetch(probe.agentsUrl + path, { method, headers: { authorization: `Bearer ${probe.token}` } })
        assert.equal(answer.status, 404, `${method} ${path}`)
        assert.equal((await answer.json() as any).error.code, 'NOT_FOUND')
      }
    }
    const headers = { authorization: `Bearer ${probe.token}` }
    for (const [path, status] of [['/v1/actions', 404], ['/v1/attempts', 404], ['/audit', 404], ['/operator', 404], ['/metrics', 401], ['/healthz', 401], ['/readyz', 401]] as const) {
      assert.equal((await fetch(probe.operationsUrl + path, { headers })).status, status, path)
    }
    assert.equal((await fetch(`${probe.operationsUrl}/metrics`, { headers: { authorization: 'Bearer of-a-scraper' } })).status, 200, 'a token of others is none of ours')
    assert.match(await probe.metrics(), /aval_http_refusals_total\{code="NOT_FOUND"\} [1-9]/, 'and the knocking is counted')
    const violations = (): readonly any[] => probe.audit().filter(({ event }) => event === 'plane.violation')
    await eventually(() => violations().length >= 19, 'and written down')
    assert.deepEqual([...new Set(violations().map(({ what, actor }) => `${actor.kind} at ${what}`))].sort(), ['agent at agents', 'agent at operations'])
    assert.equal(violations().length, 19, 'what leads nowhere at all is only counted')
  })

  test('a token with the roles of an agent and of a person is refused whole (A43)', async () => {
    for (const role of ['approver', 'operator']) {
      const token = await probe.site.token({ roles: ['prober', role] })
      assertRefused(await probe.call(token, 'get_item.v1', { id: 'one' }), 403, 'ROLE_CONFLICT')
      const alone = await probe.site.token({ roles: [role] })
      assertRefused(await probe.call(alone, 'get_item.v1', { id: 'one' }), 404, 'UNKNOWN_ACTION')
    }
    assert.equal(probe.upstream.bytes, 0)
  })

  test('an action that is not granted and one that does not exist are answered in the same words, for reading and for calling', async () => {
    const reader = await probe.site.token({ roles: ['reader'], run: 'run-r' })
    const strip = ({ status, body }: Reached): unknown => ({ status, ...body, correlation_id: '' })
    for (const ask of [
      (action: string) => probe.call(reader, action, { name: 'x' }), (action: string) => probe.get(reader, `/v1/actions/${action}`),
    ]) {
      assert.deepEqual(strip(await ask('create_item.v1')), strip(await ask('nothing_at_all.v1')))
    }
    assert.equal(probe.upstream.bytes, 0)
  })
})

describe('an answer that never comes (A50)', () => {
  afterEach(() => { probe.answers.write = ok({ id: 'new' }) })

  test('is unknown, is never sent again by a repeat, and a person says what became of it', async () => {
    const token = await probe.site.token({ roles: ['prober'], run: 'run-a50', claims: { items: ['one'] } })
    probe.answers.read = ok({ id: 'one' }, 200, ['ETag: "1"'])
    probe.answers.write = hostileModes['silent']!
    const first = await probe.call(token, 'change_item.v1', { id: 'one', name: 'a50' }, 'a50')
    assert.deepEqual([
      first.status, first.body.outcome, first.body.sent, first.body.error.code, first.body.error.retryable,
    ], [202, 'unknown', true, 'OUTCOME_UNKNOWN', false])
    assert.doesNotMatch(first.body.error.message, /fail|retry/i)
    assert.equal(first.headers.get('location'), `/v1/attempts/${first.body.attempt_id}`)

    const again = await probe.call(token, 'change_item.v1', { id: 'one', name: 'a50' }, 'a50')
    assert.deepEqual([again.status, again.body.duplicate, again.body.attempt_id], [202, true, first.body.attempt_id])
    assertRefused(await probe.call(token, 'change_item.v1', { id: 'one', name: 'a50' }, 'another'), 409, 'TARGET_BUSY')
    assert.deepEqual(probe.arrived().filter(line => line.startsWith('PUT')), ['PUT /items/one'])

    const told = await askControl(`${probe.site.folder}/data/control.sock`, {
      command: 'resolve', id: first.body.attempt_id, outcome: 'completed', code: null, note: 'seen in the shop',
    })
    assert.equal(told.ok, true)
    const end = await probe.attempt(token, first.body.attempt_id, 0)
    assert.deepEqual([end.status, end.body.outcome, end.body.evidence.source], [200, 'completed', 'person'])
    assert.equal(probe.upstream.ledger.filter(({ method }) => method === 'PUT').length, 1)
  })
})

test('every call that was refused has one row in the audit, with its step and its code', async () => {
  for (const { reached: { body }, step } of refused) {
    const row = await rowOf(probe, body.correlation_id)
    assert.deepEqual([row.event, row.step, row.code, row.sent], ['action.refused', step, body.error.code, false])
  }
  assert.ok(refused.length > 40)
})
