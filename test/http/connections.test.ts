// Connections: how long each may take, what is said to bytes that are no request, and how a listener closes. Times are set short, and no test
// asserts one.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer } from '../../src/execution/envelope.ts'
import { call, RawClient, rawCall, say, sendRaw, startBoundary, TOKEN } from './boundary.ts'

const SHORT = { headersMs: 150, requestMs: 300, keepAliveMs: 100, checkingMs: 50, lingerMs: 100 }
const GET = `GET /v1/actions HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: ${TOKEN}\r\n\r\n`

/** A promise and the function that settles it. */
function gate (): { readonly opened: Promise<void>, readonly open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { opened: promise, open: resolve }
}

const settled = (correlationId: string): Answer => ({
  status: 200, location: null, retryAfterSeconds: null, envelope: { ok: true, outcome: 'completed', sent: true, correlation_id: correlationId },
})

describe('what is slow', () => {
  test('connections that say nothing are ended, and hundreds of them keep nobody else from being served', async t => {
    const boundary = await startBoundary(t, { timeouts: SHORT })
    const idle = await Promise.all(Array.from({ length: 500 }, () => RawClient.open(t, boundary.port)))
    assert.equal((await call(boundary, '{"arguments":{}}')).status, 200)
    await Promise.all(idle.map(client => client.end()))
  })

  test('headers that come a byte at a time are cut off with 408', async t => {
    const boundary = await startBoundary(t, { timeouts: { ...SHORT, requestMs: 60_000 } })
    const client = await RawClient.open(t, boundary.port)
    client.send('GET /v1/actions HTTP/1.1\r\nHost: 127.0.0.1\r\n')
    for (let at = 0; !client.ended && client.received === ''; at++) {
      client.send(`X-${at}: 1\r\n`)
      await sleep(20)
    }
    const answer = await client.answer()
    assert.deepEqual([answer?.status, answer?.json.error.code], [408, 'MALFORMED_REQUEST'])
    await client.end()
    assert.deepEqual(boundary.asked, [])
  })

  test('a body that comes a byte at a time is cut off with 408, and is never decoded', async t => {
    const boundary = await startBoundary(t, { timeouts: SHORT })
    const client = await RawClient.open(t, boundary.port)
    client.send(rawCall(['Content-Length: 60000'], '{"arguments":"'))
    while (!client.ended && client.received === '') {
      client.send('x')
      await sleep(20)
    }
    assert.equal((await client.answer())?.status, 408)
    await client.end()
    assert.deepEqual([boundary.reads.count, boundary.bodies.length], [1, 0])
  })

  test('a connection between two requests is ended when nothing more comes', async t => {
    const boundary = await startBoundary(t, { timeouts: SHORT })
    const { client, answer } = await sendRaw(t, boundary.port, GET)
    assert.equal(answer!.headers['connection'], 'keep-alive')
    await client.end()
  })

  test('an answer that takes longer than a request may is not cut off', async t => {
    const boundary = await startBoundary(t, {
      timeouts: SHORT,
      answer: async arrival => {
        await sleep(SHORT.requestMs * 3)
        return settled(arrival.correlationId)
      },
    })
    assert.equal((await call(boundary, '{"arguments":{}}')).status, 200)
  })
})

describe('a client that waits to be asked for its body', () => {
  test('is asked for it when the token is good', async t => {
    const boundary = await startBoundary(t)
    const client = await RawClient.open(t, boundary.port)
    client.send(rawCall(['Content-Length: 16', 'Expect: 100-continue'], ''))
    assert.equal((await client.answer())!.status, 100)
    client.send('{"arguments":{}}')
    assert.equal((await client.answer())!.status, 200)
    assert.deepEqual(boundary.bodies, [{ arguments: {} }])
  })

  test('is refused without being asked when it is not', async t => {
    const boundary = await startBoundary(t)
    const asking = rawCall(['Content-Length: 16', 'Expect: 100-continue'], '').replace(TOKEN, 'Bearer forged')
    const { client, answer } = await sendRaw(t, boundary.port, asking)
    assert.deepEqual([answer!.status, answer!.headers['connection']], [401, 'close'])
    await client.end()
    assert.equal(boundary.reads.count, 0)
  })

  test('and then never sends it is cut off', async t => {
    const boundary = await startBoundary(t, { timeouts: SHORT })
    const client = await RawClient.open(t, boundary.port)
    client.send(rawCall(['Content-Length: 16', 'Expect: 100-continue'], ''))
    assert.equal((await client.answer())!.status, 100)
    assert.equal((await client.answer())!.status, 408)
    await client.end()
    assert.deepEqual(boundary.bodies, [])
  })

  test('another expectation is not heard', async t => {
    const boundary = await startBoundary(t)
    assert.equal((await sendRaw(t, boundary.port, rawCall(['Content-Length: 16', 'Expect: miracles']))).answer!.status, 200)
  })
})

describe('bytes behind a request', () => {
  test('rubbish behind a call that is being answered gets no answer, which could be taken for that of the call', async t => {
    const { opened, open } = gate()
    const boundary = await startBoundary(t, {
      answer: async arrival => {
        await opened
        return settled(arrival.correlationId)
      },
    })
    const client = await RawClient.open(t, boundary.port)
    client.send(rawCall(['Content-Length: 16']))
    while (boundary.bodies.length === 0) await sleep(5)
    client.send('rubbish\r\n\r\n')
    await client.end()
    assert.equal(client.received, '')
    open()
  })

  test('rubbish behind an answered request is answered 400', async t => {
    const boundary = await startBoundary(t)
    const { client, answer } = await sendRaw(t, boundary.port, GET)
    assert.equal(answer!.status, 200)
    client.send('rubbish\r\n\r\n')
    assert.equal((await client.answer())!.status, 400)
    await client.end()
  })

  test('requests that are sent at once are answered in their order', async t => {
    const boundary = await startBoundary(t)
    const client = await RawClient.open(t, boundary.port)
    const other = rawCall(['Content-Length: 18'], '{"arguments":null}', '/v1/actions/b.v1')
    client.send(rawCall(['Content-Length: 16'], undefined, '/v1/actions/a.v1') + GET + other)
    const answers = [await client.answer(), await client.answer(), await client.answer()]
    assert.deepEqual(answers.map(answer => answer!.json.result), [{ arguments: {} }, 'listActions', { arguments: null }])
  })

  test('a chunked body that breaks off in the middle is refused, and is never decoded', async t => {
    const boundary = await startBoundary(t)
    const client = await RawClient.open(t, boundary.port)
    client.send(rawCall(['Transfer-Encoding: chunked'], '5\r\n{"arg\r\n'))
    while (boundary.reads.count === 0) await sleep(5)
    client.send('rubbish\r\n')
    assert.equal((await client.answer())!.status, 400)
    await client.end()
    assert.deepEqual(boundary.bodies, [])
  })

  test('a client that leaves in the middle of its body leaves nothing behind', async t => {
    const boundary = await startBoundary(t)
    const client = await RawClient.open(t, boundary.port)
    client.send(rawCall(['Content-Length: 1000'], '{"arg'))
    while (boundary.reads.count === 0) await sleep(5)
    client.socket.destroy()
    assert.equal((await call(boundary, '{"arguments":{}}')).status, 200)
    assert.deepEqual([boundary.bodies.length, boundary.faults], [1, []])
  })
})

describe('closing', () => {
  test('a call in flight is answered, a later one on its connection is told to ask again elsewhere, and no new connection is taken', async t => {
    const { opened, open } = gate()
    const boundary = await startBoundary(t, {
      answer: async arrival => {
        await opened
        return settled(arrival.correlationId)
      },
    })
    const busy = await RawClient.open(t, boundary.port)
    busy.send(rawCall(['Content-Length: 16']))
    while (boundary.bodies.length === 0) await sleep(5)
    const closed = boundary.app.close()
    while (boundary.app.server.listening) await sleep(5)
    busy.send(GET)
    open()
    assert.equal((await busy.answer())!.status, 200)
    const late = await busy.answer()
    assert.deepEqual([late?.status, late?.json.error.code, late?.headers['connection']], [503, 'SHUTTING_DOWN', 'close'])
    await assert.rejects(call(boundary, '{"arguments":{}}'))
    await closed
  })

  test('while the broker drains, everything is answered 503 with the envelope and a time to come back', async t => {
    let draining = false
    const boundary = await startBoundary(t, { draining: () => draining })
    assert.equal((await call(boundary, '{"arguments":{}}')).status, 200)
    draining = true
    const said = await call(boundary, '{"arguments":{}}')
    assert.deepEqual([said.status, said.json.error.code, said.json.error.retryable, said.headers.get('retry-after')],
      [503, 'SHUTTING_DOWN', true, '1'])
    assert.equal(boundary.bodies.length, 1)
  })

  test('whoever waits for an attempt is answered at once when the listener closes', async t => {
    const waiting = gate()
    const boundary = await startBoundary(t, {
      replaced: {
        async getAttempt (ask) {
          waiting.open()
          assert.equal(ask.waitMs, 60_000)
          if (!ask.signal.aborted) await once(ask.signal, 'abort')
          return settled(ask.correlationId)
        },
      },
    })
    const asked = say(boundary, '/v1/attempts/att_1?wait=60s', { headers: { authorization: TOKEN } })
    await waiting.opened
    await Promise.all([boundary.app.close(), asked.then(said => { assert.equal(said.status, 200) })])
  })

  test('the execution hears when whoever waited for an attempt has left', async t => {
    const [waiting, left] = [gate(), gate()]
    const boundary = await startBoundary(t, {
      replaced: {
        async getAttempt (ask) {
          waiting.open()
          await once(ask.signal, 'abort')
          left.open()
          return settled(ask.correlationId)
        },
      },
    })
    const leaving = new AbortController()
    const asked = say(boundary, '/v1/attempts/att_1?wait=60s', { headers: { authorization: TOKEN }, signal: leaving.signal })
    await waiting.opened
    leaving.abort()
    await assert.rejects(asked)
    await left.opened
  })

  test('a call that never ends, and a request that never gets whole, hold up a close no longer than the grace', async t => {
    const boundary = await startBoundary(t, { closeGraceMs: 100, answer: () => new Promise(() => {}) })
    const [stuck, half] = [await RawClient.open(t, boundary.port), await RawClient.open(t, boundary.port)]
    stuck.send(rawCall(['Content-Length: 16']))
    half.send('POST /v1/actions/echo.v1 HTTP/1.1\r\nHost: 127.0.0.1\r\n')
    while (boundary.bodies.length === 0) await sleep(5)
    await boundary.app.close()
    await Promise.all([stuck.end(), half.end()])
    assert.equal(stuck.received, '')
  })
})
