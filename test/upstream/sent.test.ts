// Whether a request left, and that it never leaves twice.
import { after, before, beforeEach, describe, test } from 'node:test'
import assert from 'node:assert/strict'
import { channel } from 'node:diagnostics_channel'
import { Pool, type Dispatcher } from 'undici'
import type { Reply } from '../../src/upstream/wire.ts'
import { createUpstreamClient } from '../../src/upstream/client.ts'
import { Exchange } from '../../src/upstream/exchange.ts'
import { announce } from '../../src/upstream/sent.ts'
import { whole } from '../support/hostile-modes.ts'
import { startHostileUpstream, type HostileUpstream } from '../support/hostile-upstream.ts'
import { aWrite, hearing, postTo, upstreamAt } from './upstream-fixture.ts'

/** Announces itself as an exchange does, and lets undici do what it likes. */
class Counting implements Dispatcher.DispatchHandler {
  readonly path: string
  sends = 0
  constructor (path: string) {
    this.path = path
  }

  left (): void { this.sends += 1 }
  onRequestStart (): void { announce(this) }
  onResponseStart (): void {}
  onResponseData (): void {}
  onResponseEnd (): void {}
  onResponseError (): void {}
}

describe('the channel', () => {
  let server: HostileUpstream

  before(async () => {
    server = await startHostileUpstream()
    // Pipelining is never switched on by the client; it is the one way known to make undici 8 repeat a request over HTTP/1.1, so it stands here for
    // whatever else might. undici fails the request whose turn it was and repeats those behind it.
    server.mode('together', (socket, request) => {
      if (request.onConnection < 3) return
      socket.write(whole(200, [], 'one'))
      socket.end()
    })
  })
  beforeEach(() => { server.clear() })
  after(async () => { await server.stop() })

  test('is listened to from the moment that there is a client', async () => {
    assert.equal(channel('undici:client:sendHeaders').hasSubscribers, false)
    const client = createUpstreamClient({ telemetry: hearing() })
    assert.equal(channel('undici:client:sendHeaders').hasSubscribers, true)
    await client.close(0)
  })

  test('tells of every send of a request, also of one that undici repeats by itself', async () => {
    const pool = new Pool(server.origin, { allowH2: false, connections: 1, pipelining: 10 })
    try {
      const handlers = [0, 1, 2].map(at => new Counting(`/together/${at}`))
      for (const handler of handlers) pool.dispatch({ ...postTo(handler.path), idempotent: true, blocking: false }, handler)
      for (let tries = 0; tries < 100 && server.ledger.length < 4; tries += 1) await new Promise(resolve => setTimeout(resolve, 10))
      assert.deepEqual(handlers.map(handler => handler.sends), [1, 1, 2])
      assert.deepEqual(server.ledger.map(entry => entry.path), ['/together/0', '/together/1', '/together/2', '/together/2'])
    } finally {
      await pool.destroy()
    }
  })

  test('tells nothing of requests of other users of undici', async () => {
    const mine = new Counting('/ok?mine')
    announce(mine)
    await (await fetch(`${server.origin}/ok?other`)).text()
    assert.equal(mine.sends, 0)
  })

  test('keeps apart sends that are under way together', async () => {
    const client = createUpstreamClient({ telemetry: hearing() })
    const narrow = upstreamAt(server.origin, { limits: { concurrency: 2, perSecond: null, tenantShare: 1 } })
    const others = Array.from({ length: 10 }, () => fetch(`${server.origin}/ok`).then(reply => reply.text()))
    const mine = Array.from({ length: 10 }, (_, at) => client.send(narrow, postTo(at % 2 === 0 ? '/ok' : '/reset-after'), aWrite(at < 6 ? 2_000 : 1)))
    const replies = await Promise.all(mine)
    await Promise.all(others)
    const arrived = server.ledger.filter(entry => entry.method === 'POST').length
    assert.equal(arrived, replies.filter(reply => reply.kind !== 'unsent').length)
    await client.close(0)
  })

  test('a send that undici is about to repeat is stopped before a byte of it leaves, is told as possibly sent, and raises the alarm', async () => {
    const heard = hearing()
    const pool = new Pool(server.origin, { allowH2: false, connections: 1, pipelining: 10 })
    try {
      const replies = await Promise.all([0, 1, 2].map(at => new Promise<Reply>(resolve => {
        const request = postTo(`/together/${at}`)
        const exchange = new Exchange('shop', request, { ...aWrite(), attemptId: `att_${at}` }, heard, resolve)
        pool.dispatch({ ...request, idempotent: true, blocking: false }, exchange)
      })))
      await new Promise(resolve => setTimeout(resolve, 50))
      assert.deepEqual(replies.map(reply => reply.kind), ['answer', 'lost', 'lost'])
      assert.deepEqual(server.ledger.map(entry => entry.path), ['/together/0', '/together/1', '/together/2'])
      assert.deepEqual(heard.alarms, [{ attemptId: 'att_2', what: 'second_send' }])
    } finally {
      await pool.destroy()
    }
  })
})

describe('an exchange', () => {
  // The two guards stand one behind the other; here each is looked at alone.
  function exchange () {
    const heard = hearing()
    const aborted: number[] = []
    const controller = (number: number): Dispatcher.DispatchController =>
      ({ aborted: false, paused: false, reason: null, abort: () => { aborted.push(number) }, pause: () => {}, resume: () => {} })
    let reply: Reply | null = null
    const made = new Exchange('shop', postTo('/ok'), aWrite(), heard, told => { reply = told })
    return { made, heard, aborted, controller, reply: () => reply }
  }

  test('that is started twice aborts the second start', () => {
    const { made, heard, aborted, controller, reply } = exchange()
    made.onRequestStart(controller(1))
    made.left()
    made.onRequestStart(controller(2))
    assert.deepEqual([aborted, reply()?.kind, heard.alarms.length], [[2], 'lost', 1])
  })

  test('that left twice aborts', () => {
    const { made, heard, aborted, controller, reply } = exchange()
    made.onRequestStart(controller(1))
    made.left()
    made.left()
    assert.deepEqual([aborted, reply()?.kind, heard.alarms.length], [[1], 'lost', 1])
  })

  test('that was let go and never heard from the channel counts as sent', () => {
    const { made, controller, reply } = exchange()
    made.onRequestStart(controller(1))
    made.onResponseError(null, new Error('gone'))
    assert.equal(reply()?.kind, 'lost')
  })

  test('settles once, whatever comes later', () => {
    const { made, heard, controller } = exchange()
    made.onRequestStart(controller(1))
    made.left()
    made.onResponseError(null, new Error('gone'))
    made.onResponseError(null, new Error('gone again'))
    made.onResponseStart(controller(1), 200, {})
    made.onResponseEnd()
    made.expire()
    assert.equal(heard.sends.length, 1)
  })
})
