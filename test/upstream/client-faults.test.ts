// Every way in which a send can go wrong, against a server that really does it, in both kinds. What the client says is held against the server's own
// ledger: `unsent` means no effect and not one byte of a request; whatever else is told, the request arrived at most once.
import { after, before, beforeEach, describe, test } from 'node:test'
import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import type { Reply, UpstreamClient } from '../../src/upstream/wire.ts'
import { createUpstreamClient } from '../../src/upstream/client.ts'
import { startHostileUpstream, type HostileUpstream } from '../support/hostile-upstream.ts'
import { aRead, aWrite, hearing, postTo, requestTo, upstreamAt, type Heard } from './upstream-fixture.ts'

interface Row {
  readonly mode: string
  readonly kind: Reply['kind']
  readonly cause?: string
  readonly status?: number
  readonly timeoutMs?: number
}

const SENT: readonly Row[] = [
  { mode: 'end-after', kind: 'lost', cause: 'closed' },
  { mode: 'reset-after', kind: 'lost', cause: 'reset' },
  { mode: 'partial-head-reset', kind: 'lost', cause: 'reset' },
  { mode: 'silent', kind: 'lost', cause: 'deadline', timeoutMs: 150 },
  { mode: 'partial-head', kind: 'lost', cause: 'deadline', timeoutMs: 150 },
  { mode: 'garbage', kind: 'lost', cause: 'protocol' },
  { mode: 'continue', kind: 'lost', cause: 'protocol' },
  { mode: 'switching-protocols', kind: 'lost', cause: 'protocol' },
  { mode: 'two-lengths', kind: 'lost', cause: 'protocol' },
  { mode: 'length-and-chunked', kind: 'lost', cause: 'protocol' },
  { mode: 'bare-line-feeds', kind: 'lost', cause: 'protocol' },
  { mode: 'endless-interim', kind: 'lost', cause: 'protocol' },
  { mode: 'large-head', kind: 'lost', cause: 'too_large' },
  { mode: 'body-stalls', kind: 'cut', cause: 'deadline', status: 200, timeoutMs: 150 },
  { mode: 'drip', kind: 'cut', cause: 'deadline', status: 200, timeoutMs: 300 },
  { mode: 'short-length', kind: 'cut', cause: 'closed', status: 200 },
  { mode: 'short-length-close', kind: 'cut', cause: 'protocol', status: 200 },
  { mode: 'chunked-cut', kind: 'cut', status: 200 },
  { mode: 'body-reset', kind: 'cut', cause: 'reset', status: 200 },
  { mode: 'large', kind: 'cut', cause: 'too_large', status: 200 },
  { mode: 'endless-chunks', kind: 'cut', cause: 'too_large', status: 200, timeoutMs: 5_000 },
  { mode: 'status/999', kind: 'cut', cause: 'protocol', status: 999 },
  { mode: 'many-headers', kind: 'cut', cause: 'protocol', status: 200 },
  { mode: 'same-header-often', kind: 'cut', cause: 'protocol', status: 200 },
]

describe('a send that went wrong', () => {
  let server: HostileUpstream
  let client: UpstreamClient
  let heard: Heard

  before(async () => {
    server = await startHostileUpstream()
    heard = hearing()
    client = createUpstreamClient({ telemetry: heard })
  })
  beforeEach(() => {
    server.clear()
    server.accepting = 'serve'
    heard.sends.length = 0
    heard.alarms.length = 0
  })
  after(async () => {
    await client.close(0)
    await server.stop()
  })

  for (const kind of ['read', 'write'] as const) {
    const send = (path: string, timeoutMs?: number): Promise<Reply> => kind === 'read'
      ? client.send(upstreamAt(server.origin), requestTo(path), aRead(timeoutMs))
      : client.send(upstreamAt(server.origin), postTo(path), aWrite(timeoutMs))

    for (const row of SENT) {
      const told = row.cause === undefined ? row.kind : `${row.kind} (${row.cause})`
      test(`a ${kind} answered by ${row.mode} is ${told}, and arrived exactly once`, async () => {
        const reply = await send(`/${row.mode}`, row.timeoutMs)
        assert.equal(reply.kind, row.kind)
        if (row.cause !== undefined) assert.equal('cause' in reply ? reply.cause : null, row.cause)
        assert.equal('status' in reply ? reply.status : undefined, row.status)
        assert.equal(server.ledger.length, 1)
        assert.deepEqual(heard.sends.map(event => [event.kind, event.result, event.status]), [[kind, row.kind, row.status ?? null]])
        assert.deepEqual(heard.alarms, [])
      })
    }

    test(`a ${kind} on a connection that the server resets when it is used again is lost, and arrived exactly once`, async () => {
      const one = upstreamAt(server.origin, { name: `one-${kind}`, limits: { concurrency: 1, perSecond: null, tenantShare: 1 } })
      const sendOne = (): Promise<Reply> => client.send(one, postTo('/reset-when-reused'), kind === 'read' ? aRead() : aWrite())
      const first = await sendOne()
      assert.equal(first.kind, 'answer')
      const second = await sendOne()
      assert.deepEqual([second.kind, 'cause' in second ? second.cause : null], ['lost', 'reset'])
      assert.deepEqual(server.ledger.map(entry => entry.onConnection), [1, 2])
    })

    test(`a ${kind} on a connection that the server ended while it was idle is answered on a new one`, async () => {
      assert.equal((await send('/ok')).kind, 'answer')
      server.endConnections()
      await new Promise(resolve => setTimeout(resolve, 30))
      assert.equal((await send('/ok')).kind, 'answer')
      assert.equal(server.ledger.length, 2)
    })

    test(`a ${kind} to a server that ends connections when it accepts them counts as sent`, async () => {
      server.accepting = 'end'
      const reply = await send('/end-after')
      assert.deepEqual([reply.kind, 'cause' in reply ? reply.cause : null], ['lost', 'closed'])
      assert.ok(server.ledger.length <= 1)
    })

    test(`a ${kind} to a port where nobody listens is unsent`, async () => {
      const closed = createServer()
      const port = await new Promise<number>(resolve => closed.listen(0, '127.0.0.1', () => resolve((closed.address() as { port: number }).port)))
      await new Promise(resolve => closed.close(resolve))
      const reply = await client.send(upstreamAt(`http://127.0.0.1:${port}`), postTo('/ok'), kind === 'read' ? aRead() : aWrite())
      assert.deepEqual([reply.kind, 'cause' in reply ? reply.cause : null], ['unsent', 'refused'])
    })

    test(`a ${kind} to a name that does not resolve is unsent`, async () => {
      const reply = await client.send(upstreamAt('http://nowhere.invalid'), postTo('/ok'), kind === 'read' ? aRead() : aWrite())
      assert.deepEqual([reply.kind, 'cause' in reply ? reply.cause : null], ['unsent', 'unresolved_name'])
    })

    test(`a ${kind} that waits for a connection until its deadline is unsent, and stays unsent when one comes free`, async () => {
      const narrow = upstreamAt(server.origin, { name: `narrow-${kind}`, limits: { concurrency: 1, perSecond: null, tenantShare: 1 } })
      const options = (timeoutMs: number) => kind === 'read' ? aRead(timeoutMs) : aWrite(timeoutMs)
      const holding = client.send(narrow, postTo('/slow/400'), options(3_000))
      const queued = await client.send(narrow, postTo('/ok'), options(100))
      assert.deepEqual([queued.kind, 'cause' in queued ? queued.cause : null], ['unsent', 'deadline'])
      assert.equal((await holding).kind, 'answer')
      assert.equal((await client.send(narrow, postTo('/ok?later'), options(3_000))).kind, 'answer')
      assert.deepEqual(server.ledger.map(entry => entry.path), ['/slow/400', '/ok?later'])
    })

    test(`a ${kind} that undici itself refuses is unsent`, async () => {
      const broken = { ...postTo('/ok'), headers: { 'x-bad': 'a\r\nb: c' } }
      const reply = await client.send(upstreamAt(server.origin), broken, kind === 'read' ? aRead() : aWrite())
      assert.deepEqual([reply.kind, 'cause' in reply ? reply.cause : null], ['unsent', 'aborted'])
      assert.equal(server.bytes, 0)
    })
  }

  test('a send to a server that resets connections when it accepts them is told by the ledger: unsent only without a byte of it', async () => {
    server.accepting = 'reset'
    for (let at = 0; at < 30; at += 1) {
      const reply = await client.send(upstreamAt(server.origin, { name: `reset-${at}` }), postTo('/ok'), aWrite())
      // Whether the reset is seen before or after the request was handed to the socket is a race that the kernel decides.
      assert.ok(reply.kind === 'unsent' || reply.kind === 'lost', reply.kind)
      assert.equal('cause' in reply ? reply.cause : null, 'reset')
    }
    assert.deepEqual([server.ledger.length, server.bytes], [0, 0])
  })

  test('a write whose send window has passed aborts before its first byte', async () => {
    const late = { ...aWrite(), sendByMs: performance.now() - 1 }
    const reply = await client.send(upstreamAt(server.origin), postTo('/ok'), late)
    assert.deepEqual([reply.kind, 'cause' in reply ? reply.cause : null], ['unsent', 'send_window'])
    assert.deepEqual([server.ledger.length, server.bytes], [0, 0])
  })

  test('a write whose send window passes while it waits for a connection aborts before its first byte', async () => {
    const narrow = upstreamAt(server.origin, { name: 'narrow-window', limits: { concurrency: 1, perSecond: null, tenantShare: 1 } })
    const holding = client.send(narrow, postTo('/slow/300'), aWrite(3_000))
    const reply = await client.send(narrow, postTo('/ok'), { ...aWrite(3_000), sendByMs: performance.now() + 100 })
    assert.deepEqual([reply.kind, 'cause' in reply ? reply.cause : null], ['unsent', 'send_window'])
    assert.equal((await holding).kind, 'answer')
    assert.deepEqual(server.ledger.map(entry => entry.path), ['/slow/300'])
  })

  test('closing finishes what is under way, then nothing more is sent', async () => {
    const closing = createUpstreamClient({ telemetry: heard })
    const shop = upstreamAt(server.origin, { name: 'closing' })
    const underWay = closing.send(shop, postTo('/slow/150'), aWrite())
    const closed = closing.close(2_000)
    const refused = await closing.send(shop, postTo('/ok'), aWrite())
    assert.deepEqual([refused.kind, 'cause' in refused ? refused.cause : null], ['unsent', 'shutting_down'])
    // Of another upstream, to which no connection was ever open.
    const elsewhere = await closing.send(upstreamAt(server.origin, { name: 'never dialled' }), postTo('/ok'), aWrite())
    assert.deepEqual([elsewhere.kind, 'cause' in elsewhere ? elsewhere.cause : null], ['unsent', 'shutting_down'])
    assert.equal((await underWay).kind, 'answer')
    await closed
    assert.equal(server.ledger.length, 1)
  })

  test('closing destroys what is not finished in time, and says that it may have been sent', async () => {
    const closing = createUpstreamClient({ telemetry: heard })
    const underWay = closing.send(upstreamAt(server.origin, { name: 'closing' }), postTo('/silent'), aWrite(5_000))
    while (server.ledger.length === 0) await new Promise(resolve => setTimeout(resolve, 5))
    await closing.close(50)
    const reply = await underWay
    assert.deepEqual([reply.kind, 'cause' in reply ? reply.cause : null], ['lost', 'shutting_down'])
  })
})
