// What the client makes of answers that arrive, and what it sends.
import { after, before, beforeEach, describe, test } from 'node:test'
import assert from 'node:assert/strict'
import type { Operation, Parameter } from '../../src/catalog/openapi/operation.ts'
import type { Reply, UpstreamClient } from '../../src/upstream/wire.ts'
import { createUpstreamClient } from '../../src/upstream/client.ts'
import { startHostileUpstream, type HostileUpstream, type LedgerEntry } from '../support/hostile-upstream.ts'
import { whole } from '../support/hostile-modes.ts'
import { aRead, aWrite, hearing, postTo, requestTo, upstreamAt } from './upstream-fixture.ts'

describe('an answer', () => {
  let server: HostileUpstream
  let client: UpstreamClient
  const get = (path: string): Promise<Reply> => client.send(upstreamAt(server.origin), requestTo(path), aRead())
  const answer = async (path: string): Promise<Extract<Reply, { kind: 'answer' }>> => {
    const reply = await get(path)
    assert.equal(reply.kind, 'answer')
    return reply as Extract<Reply, { kind: 'answer' }>
  }

  before(async () => {
    server = await startHostileUpstream()
    client = createUpstreamClient({ telemetry: hearing() })
  })
  beforeEach(() => { server.clear() })
  after(async () => {
    await client.close(0)
    await server.stop()
  })

  test('holds status, headers and the whole body', async () => {
    const reply = await answer('/status/418')
    assert.equal(reply.status, 418)
    assert.equal(reply.headers['content-type'], 'application/json')
    assert.equal(reply.body.toString(), '{"ok":true,"id":"one"}')
    assert.equal('delimited' in reply, false)
    assert.ok(reply.durationMs > 0)
  })

  test('in chunks is put together, however many, and its trailers are not read', async () => {
    const reply = await answer('/chunked')
    assert.equal(reply.body.toString(), '{"ok":true}')
    assert.equal('delimited' in reply, false)
    assert.equal(reply.headers['x-late'], undefined)
    assert.equal((await answer('/many-chunks')).body.length, 2 + 2 * 5_000 + 1)
  })

  test('that only the end of the connection ends says so, cut or not: nothing on the wire tells the two apart', async () => {
    const all = await answer('/until-close')
    assert.deepEqual([all.delimited, all.body.toString()], [false, '{"ok":true,"id":"one"}'])
    const part = await answer('/until-close-cut')
    assert.deepEqual([part.delimited, part.body.toString()], [false, '{"ok":t'])
  })

  test('without a body is empty and delimited', async () => {
    const reply = await answer('/no-content')
    assert.deepEqual([reply.status, reply.body.length, 'delimited' in reply], [204, 0, false])
  })

  test('after interim answers is the final one', async () => {
    assert.equal((await answer('/early-hints')).status, 200)
  })

  test('joins a header that came more than once', async () => {
    assert.equal((await answer('/telling-headers')).headers['set-cookie'], 'a=1, b=2')
  })

  for (const status of [301, 302, 303, 307, 308]) {
    test(`${status} is an answer and is not followed`, async () => {
      const reply = await client.send(upstreamAt(server.origin), postTo(`/redirect/${status}`), aWrite())
      assert.equal(reply.kind === 'answer' && reply.status, status)
      assert.deepEqual(server.ledger.map(entry => entry.path), [`/redirect/${status}`])
    })
  }

  test('is not inflated', async () => {
    const reply = await answer('/gzip')
    assert.equal(reply.headers['content-encoding'], 'gzip')
    assert.deepEqual([...reply.body.subarray(0, 2)], [0x1f, 0x8b])
  })

  test('that comes before the request was written whole is the answer', async () => {
    const reply = await client.send(upstreamAt(server.origin), postTo('/early-refusal', `"${'x'.repeat(200_000)}"`), aWrite())
    assert.equal(reply.kind === 'answer' && reply.status, 413)
  })

  test('says 1 MiB at most by default, and exactly that passes', async () => {
    server.mode('exactly', socket => { socket.write(whole(200, [], Buffer.alloc(1 << 20))) })
    server.mode('one-more', socket => { socket.write(whole(200, [], Buffer.alloc((1 << 20) + 1))) })
    assert.equal((await answer('/exactly')).body.length, 1 << 20)
    const reply = await get('/one-more')
    assert.deepEqual([reply.kind, 'cause' in reply ? reply.cause : null], ['cut', 'too_large'])
  })

  test('belongs to a request whose bytes are the ones that were given', async () => {
    const headers = { accept: 'application/json', 'content-type': 'application/json', 'x-one': 'two' }
    const request = { method: 'PATCH', path: '/echo/a%2Fb?q=1&q=2', headers, body: Buffer.from('{"é":1}') }
    const reply = await client.send(upstreamAt(server.origin), request, aWrite())
    const seen = JSON.parse((reply as Extract<Reply, { kind: 'answer' }>).body.toString()) as LedgerEntry
    assert.deepEqual([seen.method, seen.path, seen.body, seen.headers['x-one']], ['PATCH', '/echo/a%2Fb?q=1&q=2', '{"é":1}', 'two'])
    assert.equal(seen.headers['host'], `127.0.0.1:${server.port}`)
    assert.equal(seen.headers['content-length'], '8')
  })

  test('comes to what the client itself built from an operation: base path, fixed headers, placed values', async () => {
    const shop = upstreamAt(server.origin, { basePath: '/echo/v1', headers: { 'x-api-version': '3' } })
    const parameter: Parameter = {
      name: 'id', in: 'path', required: true, style: 'simple', explode: false, allowReserved: false, mediaType: null, schema: { type: 'string' },
    }
    const operation: Operation = {
      id: 'getOrder', method: 'GET', path: '/orders/{id}', parameters: [parameter], bodies: new Map(), bodyRequired: false, responses: [],
      declaredHeaders: new Set(), servers: [], digest: '', warnings: [],
    }
    const request = client.build(shop, { operation, path: { id: 'a b' }, query: {}, headers: {}, cookies: {}, body: undefined, mediaType: null })
    await client.send(shop, request, aRead())
    assert.deepEqual([server.ledger[0]!.path, server.ledger[0]!.headers['x-api-version']], ['/echo/v1/orders/a%20b', '3'])
  })

  test('of fifty sends at once each belongs to its own, over no more connections than the limit', async () => {
    const narrow = upstreamAt(server.origin, { name: 'narrow', limits: { concurrency: 4, perSecond: null, tenantShare: 1 } })
    const replies = await Promise.all(Array.from({ length: 50 }, (_, at) => client.send(narrow, requestTo(`/echo/${at}`), aRead(5_000))))
    replies.forEach((reply, at) => {
      assert.equal((JSON.parse((reply as Extract<Reply, { kind: 'answer' }>).body.toString()) as { path: string }).path, `/echo/${at}`)
    })
    assert.ok(server.connections <= 4)
    assert.equal(server.ledger.length, 50)
  })

  test('comes over a new connection once the old one has reached its age', async () => {
    const young = createUpstreamClient({ telemetry: hearing(), connectionAgeMs: 50 })
    try {
      const shop = upstreamAt(server.origin, { name: 'aging', limits: { concurrency: 1, perSecond: null, tenantShare: 1 } })
      const connections: number[] = []
      for (let at = 0; at < 3; at += 1) {
        await young.send(shop, requestTo('/ok'), aRead())
        connections.push(server.ledger.at(-1)!.connection)
        if (at > 0) await new Promise(resolve => setTimeout(resolve, 120))
      }
      assert.equal(connections[0], connections[1])
      assert.notEqual(connections[1], connections[2])
    } finally {
      await young.close(0)
    }
  })
})
