// The client behind a network that fails in every way, at random: what it says is held against the ledger of the server, send by send.
import { after, before, describe, test } from 'node:test'
import assert from 'node:assert/strict'
import type { Reply, UpstreamClient } from '../../src/upstream/wire.ts'
import { createUpstreamClient } from '../../src/upstream/client.ts'
import { startHostileUpstream, type HostileUpstream } from '../support/hostile-upstream.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { aWrite, hearing, postTo, upstreamAt, type Heard } from './upstream-fixture.ts'

const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

describe('behind a failing network', () => {
  let server: HostileUpstream
  let proxy: TcpProxy
  let client: UpstreamClient
  let heard: Heard

  before(async () => {
    server = await startHostileUpstream()
    proxy = await startTcpProxy({ port: server.port })
    heard = hearing()
    client = createUpstreamClient({ telemetry: heard })
  })
  after(async () => {
    await client.close(0)
    await proxy.stop()
    await server.stop()
  })
  const shop = (name: string) => upstreamAt(`http://127.0.0.1:${proxy.port}`, { name, timeouts: { connectMs: 300, totalMs: 1_000 } })
  const arrived = (path: string): number => server.ledger.filter(entry => entry.path === path).length

  test('a reply that is dropped makes a send lost, and its effect is in the ledger', async () => {
    proxy.dropNextReply()
    const reply = await client.send(shop('drop'), postTo('/ok?dropped'), aWrite())
    assert.deepEqual([reply.kind, 'cause' in reply ? reply.cause : null], ['lost', 'reset'])
    assert.equal(arrived('/ok?dropped'), 1)
    assert.equal((await client.send(shop('drop'), postTo('/ok?next'), aWrite())).kind, 'answer')
  })

  test('a partition on the way there makes a send lost without an effect, and one on the way back lost with one', async () => {
    proxy.partition('up')
    const there = await client.send(shop('there'), postTo('/ok?there'), aWrite(150))
    proxy.partition('down')
    const back = await client.send(shop('back'), postTo('/ok?back'), aWrite(150))
    proxy.pass()
    assert.deepEqual([there.kind, back.kind], ['lost', 'lost'])
    assert.equal(arrived('/ok?back'), 1)
  })

  test('a request that is cut on its way is lost and has no effect', async () => {
    proxy.cutAfter('up', 40)
    const reply = await client.send(shop('cut-up'), postTo('/ok?cut'), aWrite())
    proxy.pass()
    assert.equal(reply.kind, 'lost')
    assert.equal(arrived('/ok?cut'), 0)
  })

  test('an answer that is cut in its body is cut, and in its head lost', async () => {
    proxy.cutAfter('down', 80)
    const body = await client.send(shop('cut-body'), postTo('/ok?body'), aWrite())
    proxy.cutAfter('down', 10)
    const head = await client.send(shop('cut-head'), postTo('/ok?head'), aWrite())
    proxy.pass()
    assert.deepEqual([body.kind, head.kind], ['cut', 'lost'])
  })

  test('nobody listening makes a send unsent, and listening again makes the next one answered', async () => {
    await proxy.refuse()
    const reply = await client.send(shop('refused'), postTo('/ok?refused'), aWrite())
    await proxy.accept()
    assert.deepEqual([reply.kind, 'cause' in reply ? reply.cause : null], ['unsent', 'refused'])
    assert.equal((await client.send(shop('refused'), postTo('/ok?again'), aWrite())).kind, 'answer')
  })

  test('of hundreds of sends under random faults none arrives twice, none that is unsent arrives, and all that are answered did', async () => {
    const faults: ReadonlyArray<() => void | Promise<void>> = [
      () => proxy.pass(),
      () => proxy.pass(),
      () => proxy.reset(),
      () => proxy.end(),
      () => proxy.dropNextReply(),
      () => proxy.cutAfter('up', Math.floor(Math.random() * 400)),
      () => proxy.cutAfter('down', Math.floor(Math.random() * 400)),
      () => proxy.latency(5, 10),
      () => proxy.resetNew(),
      () => proxy.partition(Math.random() < 0.5 ? 'up' : 'down'),
      () => proxy.blackHole(),
      () => server.endConnections(),
      () => proxy.refuse(),
      () => proxy.accept(),
    ]
    let running = true
    const spoil = (async () => {
      while (running) {
        await faults[Math.floor(Math.random() * faults.length)]!()
        await pause(Math.random() * 12)
      }
      await proxy.accept()
    })()
    const narrow = upstreamAt(`http://127.0.0.1:${proxy.port}`, {
      name: 'storm',
      timeouts: { connectMs: 100, totalMs: 1_000 },
      limits: { concurrency: 6, perSecond: null, tenantShare: 1 },
    })
    const told = new Map<string, Reply>()
    const worker = async (who: number): Promise<void> => {
      for (let at = 0; at < 40; at += 1) {
        const path = `/ok?storm=${who}.${at}`
        const sendByMs = performance.now() + 30 + Math.random() * 60
        const options = { kind: 'write', timeoutMs: 40 + Math.random() * 80, sendByMs, attemptId: path } as const
        told.set(path, await client.send(narrow, postTo(path), options))
      }
    }
    await Promise.all(Array.from({ length: 10 }, (_, who) => worker(who)))
    running = false
    await spoil
    // What a black hole held back may still arrive.
    await pause(100)
    const seen = { answer: 0, cut: 0, lost: 0, unsent: 0 }
    for (const [path, reply] of told) {
      seen[reply.kind] += 1
      const effects = arrived(path)
      assert.ok(effects <= 1, `${path} arrived ${effects} times`)
      if (reply.kind === 'unsent') assert.equal(effects, 0, path)
      if (reply.kind === 'answer' || reply.kind === 'cut') assert.equal(effects, 1, path)
    }
    assert.equal(told.size, 400)
    assert.deepEqual(heard.alarms, [])
    // Faults that never fired prove nothing.
    for (const kind of ['answer', 'lost', 'unsent'] as const) assert.ok(seen[kind] > 0, JSON.stringify(seen))
  })
})
