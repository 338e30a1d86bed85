// Hostile input at the agents listener, over real sockets. The small execution behind it reports what it was asked and which bodies it decoded, so
// each test can say what never got through.
import assert from 'node:assert/strict'
import { gzipSync } from 'node:zlib'
import { describe, test } from 'node:test'
import { BODY_BYTES_MAX } from '../../src/http/body.ts'
import { call, RawClient, rawCall, say, sendRaw, startBoundary, TOKEN, type Said } from './boundary.ts'

function assertRefused (said: Pick<Said, 'status' | 'json'> | null, status: number, code: string): void {
  assert.ok(said !== null, 'no answer')
  assert.deepEqual([said.status, said.json?.error?.code], [status, code])
  assert.deepEqual([said.json.ok, said.json.outcome, said.json.sent], [false, 'rejected', false])
  assert.match(said.json.correlation_id, /^cor_[0-9a-f]{32}$/)
}

describe('bodies', () => {
  test('arguments arrive as they were sent: null, texts and truth values are not turned into numbers, unknown names are not dropped', async t => {
    const boundary = await startBoundary(t)
    const sent = { arguments: { a: null, b: true, c: '1', d: 'x', e: [], unknown: { deep: 1 }, f: 2.0, g: 19.99 } }
    assert.equal((await call(boundary, JSON.stringify(sent))).status, 200)
    assert.deepEqual(boundary.bodies, [sent])
  })

  const refusedBodies: ReadonlyArray<readonly [string, string | Buffer, string]> = [
    ['a key that stands twice', '{"arguments":{"amount":1,"amount":9}}', 'DUPLICATE_KEY'],
    ['a key that stands twice, once escaped', '{"arguments":{"b":1,"\\u0062":9}}', 'DUPLICATE_KEY'],
    ['"arguments" twice', '{"arguments":{"a":1},"arguments":{"a":2}}', 'DUPLICATE_KEY'],
    ['an integer past the safe ones', '{"arguments":{"n":9007199254740993}}', 'UNSAFE_NUMBER'],
    ['a number past the largest double', '{"arguments":{"n":1e400}}', 'UNSAFE_NUMBER'],
    ['__proto__', '{"arguments":{"__proto__":{"x":1}}}', 'MALFORMED_REQUEST'],
    ['constructor.prototype', '{"arguments":{"constructor":{"prototype":{"x":1}}}}', 'MALFORMED_REQUEST'],
    ['an escaped __proto__', '{"arguments":{"\\u005f_proto__":{"x":1}}}', 'MALFORMED_REQUEST'],
    ['20,000 levels', `{"arguments":${'['.repeat(20_000)}${']'.repeat(20_000)}}`, 'TOO_DEEP'],
    ['half of a surrogate pair', '{"arguments":{"a":"\\ud800"}}', 'ILL_FORMED_TEXT'],
    ['bytes that are no UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 'ILL_FORMED_TEXT'],
    ['a byte order mark', Buffer.from('\ufeff{"arguments":{}}'), 'MALFORMED_JSON'],
    ['nothing', '', 'MALFORMED_JSON'],
    ['a second value behind the first', '{"arguments":{}}{"arguments":{}}', 'MALFORMED_JSON'],
    ['UTF-16', Buffer.from('{"arguments":{}}', 'utf16le'), 'MALFORMED_JSON'],
  ]
  test('each kind of bad body gets its own code, and nothing of it gets through', async t => {
    const boundary = await startBoundary(t)
    for (const [name, body, code] of refusedBodies) {
      await t.test(name, async () => { assertRefused(await call(boundary, body as string), 400, code) })
    }
    assert.deepEqual(boundary.bodies, [])
    assert.equal(({} as Record<string, unknown>)['x'], undefined)
    assert.deepEqual(boundary.faults, [])
    await t.test('and the next good call is served', async () => { assert.equal((await call(boundary, '{"arguments":{}}')).status, 200) })
  })

  test('a refusal names the place of what it refused, and nothing of the value', async t => {
    const boundary = await startBoundary(t)
    const { json, text } = await call(boundary, '{"arguments":{"list":[{"n":9007199254740993}]}}')
    assert.equal(json.error.field, '/arguments/list/0/n')
    assert.doesNotMatch(text, /90071992/)
  })

  test('64 KiB are read and one byte more is not', async t => {
    const boundary = await startBoundary(t)
    const padded = (length: number): string => `{"arguments":{"a":"${'x'.repeat(length - 22)}"}}`
    assert.equal(padded(BODY_BYTES_MAX).length, BODY_BYTES_MAX)
    assert.equal((await call(boundary, padded(BODY_BYTES_MAX))).status, 200)
    assertRefused(await call(boundary, padded(BODY_BYTES_MAX + 1)), 413, 'TOO_LARGE')
    assert.equal(boundary.bodies.length, 1)
  })

  test('an endless chunked body is refused once it is too long, and its connection ends', async t => {
    const boundary = await startBoundary(t)
    const chunks = Array.from({ length: 9 }, () => `4000\r\n${'x'.repeat(0x4000)}\r\n`)
    const { client, answer } = await sendRaw(t, boundary.port, rawCall(['Transfer-Encoding: chunked'], chunks.join('')))
    assertRefused(answer, 413, 'TOO_LARGE')
    assert.equal(answer!.headers['connection'], 'close')
    await client.end()
    assert.deepEqual(boundary.bodies, [])
  })

  test('an upload of 10 MB without a good token is answered 401 and its body is never read', async t => {
    const boundary = await startBoundary(t)
    const size = 10_000_000
    const head = rawCall([`Content-Length: ${size}`], '').replace(TOKEN, 'Bearer forged')
    // First with not one byte of the body sent: the answer cannot have waited for any.
    const { answer, client } = await sendRaw(t, boundary.port, head)
    assertRefused(answer, 401, 'UNAUTHENTICATED')
    assert.equal(answer!.headers['connection'], 'close')
    await client.end()
    // Then by a client that sends all of it before it reads a byte: the answer comes through and is not lost to a reset.
    const full = await RawClient.open(t, boundary.port)
    full.socket.pause()
    await new Promise<void>((resolve, reject) => {
      full.socket.once('error', reject)
      full.socket.write(Buffer.concat([Buffer.from(head), Buffer.alloc(size, 0x20)]), () => { resolve() })
    })
    full.socket.resume()
    assertRefused(await full.answer(), 401, 'UNAUTHENTICATED')
    await full.end()
    assert.equal(boundary.reads.count, 0)
  })

  test('a small body that nobody read is thrown away and the connection goes on', async t => {
    const boundary = await startBoundary(t)
    const { client, answer } = await sendRaw(t, boundary.port, rawCall(['Content-Length: 16']).replace(TOKEN, 'Bearer forged'))
    assertRefused(answer, 401, 'UNAUTHENTICATED')
    assert.equal(answer!.headers['connection'], 'keep-alive')
    client.send(rawCall(['Content-Length: 16']))
    assert.equal((await client.answer())!.status, 200)
  })

  const types = [
    'text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'application/jsonx', 'application/json; charset=utf-16',
    'application/json;',
    'application/json\t; charset=utf-8', 'application/problem+json', 'application/json, text/plain', 'json', '*/*',
  ]
  test('no type but application/json in UTF-8 is taken', async t => {
    const boundary = await startBoundary(t)
    for (const type of types) {
      await t.test(JSON.stringify(type), async () => {
        assertRefused(await call(boundary, '{"arguments":{}}', { 'content-type': type }), 415, 'UNSUPPORTED_MEDIA_TYPE')
      })
    }
    await t.test('none at all', async () => {
      const { answer } = await sendRaw(t, boundary.port, rawCall(['Content-Length: 16']).replace('Content-Type: application/json\r\n', ''))
      assertRefused(answer, 415, 'UNSUPPORTED_MEDIA_TYPE')
    })
    await t.test('with a token that is not good, the token is what is refused', async () => {
      assertRefused(await call(boundary, 'a=1', { 'content-type': 'text/plain', authorization: 'Bearer forged' }), 401, 'UNAUTHENTICATED')
    })
    assert.deepEqual(boundary.bodies, [])
  })

  test('an encoded body is refused, whatever the encoding', async t => {
    const boundary = await startBoundary(t)
    const zipped = new Uint8Array(gzipSync('{"arguments":{}}'))
    for (const encoding of ['gzip', 'br', 'identity', 'gzip, gzip']) {
      assertRefused(await call(boundary, zipped, { 'content-encoding': encoding }), 415, 'UNSUPPORTED_MEDIA_TYPE')
    }
    assert.deepEqual(boundary.bodies, [])
  })

  test('a body where none belongs is refused before anything is done', async t => {
    const boundary = await startBoundary(t)
    const headers = { authorization: TOKEN, 'content-type': 'application/json' }
    for (const path of ['/v1/attempts/att_1/cancel', '/v1/attempts/att_1/escalate', '/v1/run/stop']) {
      assertRefused(await say(boundary, path, { method: 'POST', headers, body: '{"arguments":{"a":1}}' }), 400, 'MALFORMED_REQUEST')
    }
    const { answer } = await sendRaw(t, boundary.port,
      `GET /v1/actions HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: ${TOKEN}\r\nContent-Length: 2\r\n\r\n{}`)
    assertRefused(answer, 400, 'MALFORMED_REQUEST')
    assert.deepEqual(boundary.asked, [])
  })
})

describe('requests that two readers would read differently', () => {
  const head = `POST /v1/actions/echo.v1 HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: ${TOKEN}\r\nContent-Type: application/json\r\n`
  const rows: ReadonlyArray<readonly [string, string]> = [
    ['a length and a coding', `${head}Content-Length: 16\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /v1/actions HTTP/1.1\r\n\r\n`],
    ['two lengths', `${head}Content-Length: 16\r\nContent-Length: 17\r\n\r\n{"arguments":{}}`],
    ['the same length twice', `${head}Content-Length: 16\r\nContent-Length: 16\r\n\r\n{"arguments":{}}`],
    ['a length that is a list', `${head}Content-Length: 16, 16\r\n\r\n{"arguments":{}}`],
    ['a length with a sign', `${head}Content-Length: +16\r\n\r\n{"arguments":{}}`],
    ['a transfer coding that nobody knows', `${head}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`],
    ['chunked twice', `${head}Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n`],
    ['chunked not last', `${head}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`],
    ['two transfer encodings', `${head}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n`],
    ['a bare line feed', 'GET /v1/actions HTTP/1.1\nHost: 127.0.0.1\n\n'],
    ['a space before the colon', `${head}X-Thing : 1\r\nContent-Length: 16\r\n\r\n{"arguments":{}}`],
    ['a folded header', `${head}X-Thing: 1\r\n 2\r\nContent-Length: 16\r\n\r\n{"arguments":{}}`],
    ['a NUL in a header', `${head}X-Thing: a\u0000b\r\nContent-Length: 16\r\n\r\n{"arguments":{}}`],
    ['a chunk size that is no number', `${head}Transfer-Encoding: chunked\r\n\r\nzz\r\n{"arguments":{}}\r\n0\r\n\r\n`],
    ['no HTTP at all', '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003'],
    ['another version', 'GET /v1/actions HTTP/3.7\r\nHost: 127.0.0.1\r\n\r\n'],
    ['headers of 20 kB', `${head}X-Thing: ${'a'.repeat(20_000)}\r\n\r\n`],
  ]
  test('each is answered in the 400s with the envelope, and its connection ends', async t => {
    const boundary = await startBoundary(t)
    for (const [name, bytes] of rows) {
      await t.test(name, async t => {
        const { answer, client } = await sendRaw(t, boundary.port, Buffer.from(bytes, 'latin1'))
        assertRefused(answer, name === 'headers of 20 kB' ? 431 : 400, 'MALFORMED_REQUEST')
        assert.equal(answer!.headers['connection'], 'close')
        assert.equal(answer!.headers['cache-control'], 'no-store')
        assert.equal(answer!.headers['aval-correlation-id'], answer!.json.correlation_id)
        await client.end()
        assert.equal(await client.answer(), null, 'a second answer was given')
      })
    }
    assert.deepEqual(boundary.bodies, [])
  })

  test('a header that must be single is refused when it stands twice', async t => {
    const boundary = await startBoundary(t)
    for (const twice of [
      'Host: 127.0.0.1', 'Host: evil.example', 'Authorization: Bearer other', 'Content-Type: text/plain',
      'Idempotency-Key: a\r\nIdempotency-Key: b', 'Content-Encoding: gzip\r\ncontent-encoding: br',
    ]) {
      await t.test(twice, async t => {
        const { answer } = await sendRaw(t, boundary.port, rawCall([twice, 'Content-Length: 16']))
        assertRefused(answer, 400, 'MALFORMED_REQUEST')
      })
    }
    assert.deepEqual(boundary.asked, [])
  })
})

describe('names and targets', () => {
  test('a host that is not served is refused, however it is written', async t => {
    const boundary = await startBoundary(t)
    for (const host of ['evil.example', 'evil.example:80', '127.0.0.1.evil.example', 'localhost.', '127.0.0.1@evil.example', '127.1', '[::2]',
      '127.0.0.1:99999999', '', 'a b', '127.0.0.1,127.0.0.1']) {
      await t.test(JSON.stringify(host), async t => {
        const { answer } = await sendRaw(t, boundary.port, `GET /v1/actions HTTP/1.1\r\nHost: ${host}\r\nAuthorization: ${TOKEN}\r\n\r\n`)
        assertRefused(answer, 421, 'MISDIRECTED')
      })
    }
    await t.test('and so it is on a path that does not exist', async t => {
      const { answer } = await sendRaw(t, boundary.port, 'GET /nothing HTTP/1.1\r\nHost: evil.example\r\n\r\n')
      assertRefused(answer, 421, 'MISDIRECTED')
    })
    assert.deepEqual(boundary.asked, [])
  })

  test('a served host passes with any port and in any case', async t => {
    const boundary = await startBoundary(t)
    for (const host of ['127.0.0.1', 'LocalHost', 'localhost:1', '[::1]:8080']) {
      const { answer } = await sendRaw(t, boundary.port, `GET /v1/actions HTTP/1.1\r\nHost: ${host}\r\nAuthorization: ${TOKEN}\r\n\r\n`)
      assert.equal(answer!.status, 200, host)
    }
  })

  test('a request without Host is malformed', async t => {
    const boundary = await startBoundary(t)
    for (const version of ['1.1', '1.0']) {
      const { answer } = await sendRaw(t, boundary.port, `GET /v1/actions HTTP/${version}\r\nAuthorization: ${TOKEN}\r\n\r\n`)
      assertRefused(answer, 400, 'MALFORMED_REQUEST')
    }
  })

  test('in absolute form the authority of the target must be served too', async t => {
    const boundary = await startBoundary(t)
    const get = (target: string): string => `GET ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: ${TOKEN}\r\n\r\n`
    assertRefused((await sendRaw(t, boundary.port, get('http://evil.example/v1/actions'))).answer, 421, 'MISDIRECTED')
    assertRefused((await sendRaw(t, boundary.port, get('http://user@127.0.0.1/v1/actions'))).answer, 421, 'MISDIRECTED')
    assertRefused((await sendRaw(t, boundary.port, get('ftp://127.0.0.1/v1/actions'))).answer, 400, 'MALFORMED_REQUEST')
    assert.deepEqual(boundary.asked, [])
    assert.equal((await sendRaw(t, boundary.port, get('http://127.0.0.1/v1/actions'))).answer!.status, 200)
  })

  test('X-Forwarded headers of a stranger change nothing', async t => {
    const boundary = await startBoundary(t)
    const headers = { authorization: TOKEN, 'x-forwarded-host': 'evil.example', 'x-forwarded-for': '203.0.113.9', 'x-forwarded-proto': 'https',
      forwarded: 'for=203.0.113.9' }
    assert.equal((await call(boundary, '{"arguments":{}}', headers)).status, 200)
    assert.equal(boundary.asked[0]!.ask['source'], 'h1:127.0.0.1')
  })

  test('X-Forwarded-For of a proxy that is configured is the address of the client', async t => {
    const boundary = await startBoundary(t, { trustProxy: ['127.0.0.0/8'] })
    const headers = { 'x-forwarded-for': '198.51.100.7, 203.0.113.9', 'x-forwarded-host': 'evil.example' }
    const { status } = await call(boundary, '{"arguments":{}}', headers)
    assert.equal(status, 200)
    assert.equal(boundary.asked[0]!.ask['source'], 'h1:203.0.113.9')
  })

  test('an action name that holds dots, slashes or NUL is handed on as a name, and routes nowhere else', async t => {
    const boundary = await startBoundary(t)
    const names = ['..%2F..%2Fmetrics', '%2e%2e', 'a%2Fb', 'a%5Cb', 'a%00b', '%252e', 'a;x=..', '@evil', 'http:%2F%2Fevil',
      'a%0d%0aX:%20y']
    for (const name of names) {
      const { answer } = await sendRaw(t, boundary.port, rawCall(['Content-Length: 16'], undefined, `/v1/actions/${name}`))
      assert.equal(answer!.status, 200, name)
    }
    assert.deepEqual(boundary.asked.map(({ ask }) => ask['actionId']), names.map(name => decodeURIComponent(name)))
  })

  test('a path that is not percent-encoded rightly, or a name that is too long, is malformed', async t => {
    const boundary = await startBoundary(t)
    for (const name of ['%zz', '%', '%c0%af', 'a'.repeat(129)]) {
      const { answer } = await sendRaw(t, boundary.port, rawCall(['Content-Length: 16'], undefined, `/v1/actions/${name}`))
      assertRefused(answer, 400, 'MALFORMED_REQUEST')
      assert.equal(answer!.headers['x-content-type-options'], 'nosniff')
    }
    assert.deepEqual(boundary.asked, [])
  })

  test('paths that only look like a route are not one', async t => {
    const boundary = await startBoundary(t)
    for (const path of ['/v1//actions', '//evil.example/v1/actions', '/V1/actions', '/v1/actions/a/b', '/v1/../v1/actions', '/v1/actions;a=1',
      '/v1/attempts/a/b']) {
      const { answer } = await sendRaw(t, boundary.port, `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: ${TOKEN}\r\n\r\n`)
      assertRefused(answer, 404, 'NOT_FOUND')
    }
    assert.deepEqual(boundary.asked, [])
  })
})

describe('queries', () => {
  test('a parameter that is unknown, repeated, in brackets or badly encoded is refused', async t => {
    const boundary = await startBoundary(t)
    for (const [path, rule] of [
      ['/v1/actions?x=1&x=2', 'unknown_parameter'], ['/v1/actions?query=a&query=b', 'repeated_parameter'],
      ['/v1/actions?query=a&%71uery=b', 'repeated_parameter'],
      ['/v1/actions?x[]=', 'unknown_parameter'], ['/v1/actions?query[]=a', 'unknown_parameter'], ['/v1/actions?__proto__=1', 'unknown_parameter'],
      ['/v1/actions?_method=DELETE', 'unknown_parameter'],
      ['/v1/actions?query=%zz', 'percent_encoding'], ['/v1/actions?query=%ff', 'percent_encoding'], ['/v1/actions?&', 'unknown_parameter'],
      ['/v1/actions/a.v1?limit=1', 'unknown_parameter'],
      ['/v1/actions?limit=1;effect=observation', 'limit'], ['/docs?x=1', 'unknown_parameter'],
    ] as const) {
      await t.test(path, async () => {
        const said = await say(boundary, path, { headers: { authorization: TOKEN } })
        assertRefused(said, 400, 'MALFORMED_REQUEST')
        assert.equal(said.json.error.rule, rule)
      })
    }
    assert.deepEqual(boundary.asked, [])
  })

  test('a call takes no query, so that nothing can hide in one', async t => {
    const boundary = await startBoundary(t)
    const { answer } = await sendRaw(t, boundary.port, rawCall(['Content-Length: 16'], undefined, '/v1/actions/echo.v1?_method=GET'))
    assertRefused(answer, 400, 'MALFORMED_REQUEST')
    assert.deepEqual(boundary.asked, [])
  })
})

describe('planes and methods', () => {
  test('nothing of another plane stands on this listener, with or without a token', async t => {
    const boundary = await startBoundary(t)
    for (const path of ['/metrics', '/healthz', '/readyz', '/approvals', '/approvals/prop_1', '/operator', '/audit', '/audit/events', '/debug',
      '/.env']) {
      for (const headers of [{}, { authorization: TOKEN }]) assertRefused(await say(boundary, path, { headers }), 404, 'NOT_FOUND')
    }
    assert.deepEqual(boundary.asked, [])
  })

  test('headers that ask for another method are not heard', async t => {
    const boundary = await startBoundary(t)
    for (const header of ['x-http-method-override', 'x-http-method', 'x-method-override']) {
      assert.equal((await say(boundary, '/v1/actions/echo.v1', { headers: { authorization: TOKEN, [header]: 'POST' } })).status, 200)
    }
    assert.deepEqual(boundary.asked.map(({ what }) => what), ['describeAction', 'describeAction', 'describeAction'])
  })

  test('a method that a path does not answer is refused, and those that it does are named', async t => {
    const boundary = await startBoundary(t)
    for (const [method, path, allow] of [
      ['DELETE', '/v1/actions/echo.v1', 'GET, HEAD, POST'], ['PUT', '/v1/actions', 'GET, HEAD'], ['GET', '/v1/run/stop', 'POST'],
      ['PATCH', '/openapi.json', 'GET, HEAD'],
      ['OPTIONS', '/v1/actions', 'GET, HEAD'], ['POST', '/docs?x=1', 'GET, HEAD'],
    ] as const) {
      const headers = { authorization: TOKEN, origin: 'https://evil.example', 'access-control-request-method': 'GET' }
      const said = await say(boundary, path, { method, headers })
      assertRefused(said, 405, 'METHOD_NOT_ALLOWED')
      assert.equal(said.headers.get('allow'), allow)
    }
    const { answer } = await sendRaw(t, boundary.port, 'TRACE /v1/actions HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
    assertRefused(answer, 405, 'METHOD_NOT_ALLOWED')
  })

  test('no answer lets another origin read it, keep it, frame it or guess its type', async t => {
    const boundary = await startBoundary(t)
    const origin = { origin: 'https://evil.example', authorization: TOKEN }
    for (const said of [
      await say(boundary, '/v1/actions', { headers: origin }), await say(boundary, '/docs', { headers: origin }),
      await say(boundary, '/nothing', { headers: origin }),
      await say(boundary, '/v1/actions?x=1', { headers: origin }), await call(boundary, '{', origin),
      await say(boundary, '/v1/actions/%zz', { headers: origin }),
    ]) {
      const names = [...said.headers.keys()]
      assert.deepEqual(names.filter(name => name.startsWith('access-control-') || name === 'server' || name === 'x-powered-by'), [])
      assert.equal(said.headers.get('x-content-type-options'), 'nosniff')
      assert.equal(said.headers.get('cache-control'), 'no-store')
      assert.match(said.headers.get('content-security-policy')!, /default-src 'none'.*frame-ancestors 'none'/)
    }
  })

  test('the correlation id is made here, whatever the client sends', async t => {
    const boundary = await startBoundary(t)
    const headers = { authorization: TOKEN, 'aval-correlation-id': 'cor_mine', 'x-request-id': 'mine', 'request-id': 'mine', traceparent: '00-1-2-3' }
    const [one, other] = [await say(boundary, '/v1/actions', { headers }), await say(boundary, '/v1/actions', { headers })]
    assert.match(one.headers.get('aval-correlation-id')!, /^cor_[0-9a-f]{32}$/)
    assert.notEqual(one.headers.get('aval-correlation-id'), other.headers.get('aval-correlation-id'))
    assert.equal(one.json.correlation_id, one.headers.get('aval-correlation-id'))
  })
})
