// What the client makes of answers that arrive, and what it sends.
import { after, before, beforeEach, describe, test } from 'node:test'
import assert from 'node:assert/strict'
import { Pool } from 'undici'
import type { Reply, UpstreamClient } from '../../src/upstream/wire.ts'
import { createUpstreamClient } from '../../src/upstream/client.ts'
import { Exchange } from '../../src/upstream/exchange.ts'
import { watchSends } from '../../src/upstream/sent.ts'
import { startHostileUpstream, type HostileUpstream } from '../support/hostile-upstream.ts'
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
    const request = { method: 'PATCH', path: '/echo/a%2Fb?q=1&q=2', headers: { accept: 'application/json', 'content-type': 'application/json', 'x-one': 'two' }, body: Buffer.from('{"é":1}') }
    const reply = await client.send(upstreamAt(server.origin), request, aWrite())
    const seen = JSON.parse((reply as Extract<Reply, { kind: 'answer' }>).body.toString()) as { method: string, path: string, headers: Record<string, string>, body: string }
    assert.deepEqual([seen.method, seen.path, seen.body, seen.headers['x-one']], ['PATCH', '/echo/a%2Fb?q=1&q=2', '{"é":1}', 'two'])
    assert.equal(seen.headers['host'], `127.0.0.1:${server.port}`)
    assert.equal(seen.headers['content-length'], '8')
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

describe('a second send that undici makes by itself', () => {
  // Pipelining is never switched on by the client; it is the one way known to make undici 8 repeat a request over HTTP/1.1, so it stands here for whatever
  // else might. Without the guard the last request of this pipeline arrives twice.
  test('is stopped before a byte of it leaves, told as possibly sent, and raises the alarm', async () => {
    watchSends()
    const server = await startHostileUpstream()
    server.mode('together', (socket, request) => {
      if (request.onConnection < 3) return
      socket.write(whole(200, [], 'one'))
      socket.end()
    })
    const heard = hearing()
    const pool = new Pool(server.origin, { allowH2: false, connections: 1, pipelining: 10 })
    try {
      const send = (at: number): Promise<Reply> => new Promise(resolve => {
        const request = { ...postTo(`/together/${at}`) }
        const options = { ...aWrite(), attemptId: `att_${at}` }
        pool.dispatch({ ...request, idempotent: true, blocking: false }, new Exchange('shop', request, options, heard, resolve))
      })
      const replies = await Promise.all([send(0), send(1), send(2)])
      assert.deepEqual(replies.map(reply => reply.kind), ['answer', 'lost', 'lost'])
      assert.deepEqual(server.ledger.map(entry => entry.path).sort(), ['/together/0', '/together/1', '/together/2'])
      // undici fails the request whose turn it was, and repeats those behind it.
      assert.deepEqual(heard.alarms, [{ attemptId: 'att_2', what: 'second_send' }])
    } finally {
      await pool.destroy()
      await server.stop()
    }
  })
})

describe('the channel', () => {
  test('keeps apart sends that are under way together and requests of other users of undici', async () => {
    const server = await startHostileUpstream()
    const client = createUpstreamClient({ telemetry: hearing() })
    const narrow = upstreamAt(server.origin, { limits: { concurrency: 2, perSecond: null, tenantShare: 1 } })
    try {
      const others = Array.from({ length: 10 }, () => fetch(`${server.origin}/ok`).then(reply => reply.text()))
      const mine = Array.from({ length: 10 }, (_, at) => client.send(narrow, postTo(at % 2 === 0 ? '/ok' : '/reset-after'), aWrite(at < 6 ? 2_000 : 1)))
      const replies = await Promise.all(mine)
      await Promise.all(others)
      const arrived = server.ledger.filter(entry => entry.method === 'POST').length
      assert.equal(arrived, replies.filter(reply => reply.kind !== 'unsent').length)
    } finally {
      await client.close(0)
      await server.stop()
    }
  })
})
