// Hostile values, asserted on what a real server receives: the raw request line, before anything decodes it.
import assert from 'node:assert/strict'
import { createServer, request as send } from 'node:http'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { Json, PlacedRequest } from '../../src/catalog/catalog.ts'
import type { Operation } from '../../src/catalog/openapi/operation.ts'
import { Refusal } from '../../src/errors.ts'
import { buildRequest } from '../../src/upstream/request.ts'
import { bodiesOf, caseOf, operationWith, parameterOf, ruleOf, upstreamOf } from './placing.ts'

interface Received {
  readonly url: string
  readonly rawHeaders: readonly string[]
  readonly body: string
}

/** A server that keeps what it receives, and a way to build and send one request to it. */
async function serverOf (t: TestContext): Promise<{
  readonly received: Received[], act (operation: Operation, values: Partial<PlacedRequest>): Promise<void>,
}> {
  const received: Received[] = []
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => {
      received.push({ url: incoming.url ?? '', rawHeaders: incoming.rawHeaders, body: Buffer.concat(chunks).toString() })
      response.end()
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const upstream = upstreamOf({ origin: `http://127.0.0.1:${port}`, basePath: '/base' })
  return {
    received,
    async act (operation, values) {
      const wire = buildRequest(upstream, { operation, path: {}, query: {}, headers: {}, cookies: {}, body: undefined, mediaType: null, ...values })
      const reply = await new Promise<IncomingMessage>((resolve, reject) => {
        const outgoing = send({ port, host: '127.0.0.1', method: wire.method, path: wire.path, headers: wire.headers, agent: false }, resolve)
        outgoing.on('error', reject)
        outgoing.end(wire.body ?? undefined)
      })
      reply.resume()
      await new Promise(resolve => reply.on('end', resolve))
    },
  }
}

const HOSTILE = [
  '..', '.', '%2e%2e', '%2E%2e', '.%2E', '%2e', '%252e%252e', '%25252e', '%2F', '%5C', '%5c', '%00', '%', '%41', '100%',
  'a/b', 'a%2Fb', '/', '//evil.example.test',
  '\\', '\\\\evil.example.test', 'a\\b', 'a?x=1', '?', 'a#f', '#', ';v=1', ';x=..', 'a;b', '',
  '\u0000', '\t', '..\t', '\n..', 'a\r\nb', '\u007f', '\u0085',
  'http://evil.example.test/', '@evil.example.test', '../../admin', '..;/admin', './x', '/..', '{uid}/x',
]

test('A22, A25, F-19: a path value that could lead elsewhere is refused, and the server receives nothing', async t => {
  const { received, act } = await serverOf(t)
  const operation = caseOf('F-19', 'dropNote')
  for (const value of HOSTILE) {
    for (const path of [{ uid: value, nid: '1' }, { uid: '1', nid: value }]) {
      await assert.rejects(act(operation, { path }), (error: unknown) => {
        assert.ok(error instanceof Refusal)
        assert.deepEqual([error.code, error.details.rule], ['INVALID_ARGUMENTS', 'path'], JSON.stringify(value))
        assert.ok(value.length < 3 || !JSON.stringify([error.message, error.details]).includes(value))
        return true
      })
    }
  }
  assert.deepEqual(received, [])
})

test('a hostile value is refused in every style of a path, in lists and in the names of objects too', () => {
  const upstream = upstreamOf()
  for (const style of ['simple', 'label', 'matrix'] as const) {
    for (const explode of [true, false]) {
      const operation = operationWith({ path: '/a/{c}/z', parameters: [parameterOf({ name: 'c', in: 'path', style, explode })] })
      for (const value of HOSTILE) {
        for (const c of [value, ['ok', value], { key: value }, { [value]: 'ok' }]) {
          const rule = ruleOf(
            () => buildRequest(
              upstream, { operation, path: { c: c as Json }, query: {}, headers: {}, cookies: {}, body: undefined, mediaType: null },
            ),
          )
          assert.ok(rule === 'path' || rule === 'separator', `${style} ${JSON.stringify(c)} ${rule}`)
        }
      }
    }
  }
})

test('a path value that is missing, null, a list of nothing or foreign is refused before anything is sent', async t => {
  const { received, act } = await serverOf(t)
  const operation = caseOf('F-19', 'dropNote')
  const rows: ReadonlyArray<readonly [{ readonly [name: string]: Json }, string]> = [
    [{ uid: '1' }, 'path'], [{}, 'path'], [{ uid: '1', nid: null }, 'null'], [{ uid: '1', nid: [] }, 'empty'], [{ uid: '1', nid: {} }, 'empty'],
    [{ uid: '1', nid: [['a']] }, 'type'], [{ uid: '1', nid: '2', other: '3' }, 'path'], [{ uid: '1', nid: '2', toString: '3' }, 'path'],
  ]
  for (const [path, rule] of rows) {
    await assert.rejects(act(operation, { path }), (error: unknown) => error instanceof Refusal && error.details.rule === rule)
  }
  assert.deepEqual(received, [])
})

test('what is merely unusual in a path arrives escaped, in its own segment', async t => {
  const { received, act } = await serverOf(t)
  const operation = caseOf('F-19', 'dropNote')
  const values = [
    ' ',
    'https:evil',
    'ünï',
    'a b',
    'x.y',
    '...',
    '..a',
    'a..',
    'a+b&c=d',
    'a:b@c',
    '\u{1f600}',
    '\'"<>`|^~!*()',
    '{x}',
    '[1]',
    'e\u0301',
    '\u00e9',
    '\uff0e\uff0e',
    true,
    5,
    -1.5,
  ]
  for (const nid of values) await act(operation, { path: { uid: 'u', nid } })
  assert.deepEqual(received.map(one => decodeURIComponent(one.url.replace('/base/users/u/notes/', ''))), values.map(String))
  for (const one of received) assert.match(one.url, /^\/base\/users\/u\/notes\/(?:[A-Za-z0-9._~-]|%[0-9A-F]{2})+$/)
  await act(caseOf('F-19', 'file'), { path: { name: 'a.b', ext: 'tar.gz' } })
  assert.equal(received.at(-1)?.url, '/base/files/a.b.tar.gz')
})

test('a query value never becomes another parameter, a fragment or a path', async t => {
  const { received, act } = await serverOf(t)
  for (const allowReserved of [false, true]) {
    const operation = operationWith({ method: 'GET', parameters: [parameterOf({ name: 'q', in: 'query', allowReserved })] })
    for (const value of [...HOSTILE, 'a&b=c', 'a=b&', 'x[]=', '__proto__=1', 'a+b', '#f', '\u2028', 'a%26b']) {
      await act(operation, { query: { q: value } })
      const url = new URL(received.at(-1)?.url ?? '', 'http://x')
      assert.equal(url.pathname, '/base/x')
      assert.deepEqual([...url.searchParams], [['q', value]], JSON.stringify(value))
    }
  }
})

test('a header, a cookie and a form never carry more than their value', async t => {
  const { received, act } = await serverOf(t)
  const operation = operationWith({
    parameters: [parameterOf({ name: 'X-A', in: 'header' }), parameterOf({ name: 'c', in: 'cookie' })],
    bodies: bodiesOf({ mediaType: 'application/x-www-form-urlencoded' }).bodies,
  })
  for (const value of ['a\r\nX-Evil: 1', 'a\n\nGET / HTTP/1.1', 'a\u0000', '\r']) {
    await assert.rejects(act(operation, { headers: { 'X-A': value } }), Refusal)
    await act(operation, { cookies: { c: `${value}; evil=1` }, body: { f: `${value}&evil=1` } })
    const last = received.at(-1)
    assert.ok(last !== undefined)
    assert.ok(!last.rawHeaders.some(name => name.toLowerCase() === 'x-evil'))
    const cookie = last.rawHeaders[last.rawHeaders.findIndex(name => name.toLowerCase() === 'cookie') + 1] ?? ''
    assert.deepEqual([cookie.split(';').length, decodeURIComponent(cookie)], [1, `c=${value}; evil=1`])
    assert.deepEqual([...new URLSearchParams(last.body)], [['f', `${value}&evil=1`]])
  }
})

test('an address that a URL parser reads otherwise is never sent, whatever the base path and the template hold', () => {
  const values = { path: {}, query: {}, headers: {}, cookies: {}, body: undefined, mediaType: null }
  for (const path of ['/a/../b', '/a/%2e%2e/b', '/a b', '//evil/x', '/a\\b', '/a#b', '/{', '/a}', '/a?b=c']) {
    assert.equal(ruleOf(() => buildRequest(upstreamOf({ basePath: '' }), { operation: operationWith({ path }), ...values })), 'path', path)
  }
  for (const basePath of ['/..', '//evil', '@evil', '.evil.test', '/a?b', '/%2e']) {
    assert.equal(ruleOf(() => buildRequest(upstreamOf({ basePath }), { operation: operationWith(), ...values })), 'path', basePath)
  }
})
