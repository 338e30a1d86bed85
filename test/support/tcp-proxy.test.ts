// The proxy that other tests trust to fail: each fault does what its name says, and the counts say what passed.
import { after, before, beforeEach, describe, test } from 'node:test'
import assert from 'node:assert/strict'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts'

const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

interface Peer {
  readonly socket: Socket
  readonly text: () => string
  readonly ended: Promise<string>
}

describe('the proxy', () => {
  let echo: Server
  let proxy: TcpProxy
  const sockets = new Set<Socket>()

  before(async () => {
    echo = createServer(socket => {
      socket.on('error', () => {})
      socket.pipe(socket)
    })
    await new Promise<void>(resolve => echo.listen(0, '127.0.0.1', resolve))
    proxy = await startTcpProxy({ port: (echo.address() as AddressInfo).port })
  })
  beforeEach(async () => { await proxy.accept() })
  after(async () => {
    for (const socket of sockets) socket.destroy()
    await proxy.stop()
    await new Promise(resolve => echo.close(resolve))
  })

  async function open (): Promise<Peer> {
    const socket = connect(proxy.port, '127.0.0.1')
    sockets.add(socket)
    let text = ''
    socket.setEncoding('utf8').on('data', data => { text += data })
    const ended = new Promise<string>(resolve => {
      socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'error'))
      socket.on('close', () => resolve('closed'))
    })
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve)
      socket.once('error', reject)
    })
    return { socket, text: () => text, ended }
  }
  async function hears (peer: Peer, expected: string): Promise<void> {
    for (let tries = 0; tries < 200 && peer.text() !== expected; tries += 1) await pause(5)
    assert.equal(peer.text(), expected)
  }

  test('passes both ways and counts', async () => {
    const before = { ...proxy.counts, passed: { ...proxy.counts.passed } }
    const peer = await open()
    peer.socket.write('hello')
    await hears(peer, 'hello')
    assert.equal(proxy.counts.connections, before.connections + 1)
    assert.deepEqual([proxy.counts.passed.up - before.passed.up, proxy.counts.passed.down - before.passed.down], [5, 5])
    peer.socket.end()
    assert.equal(await peer.ended, 'closed')
  })

  test('holds back everything in a black hole, and lets it go afterwards', async () => {
    const peer = await open()
    proxy.blackHole()
    peer.socket.write('held')
    await pause(40)
    assert.equal(peer.text(), '')
    proxy.pass()
    await hears(peer, 'held')
  })

  test('holds back one direction only in a partition', async () => {
    const peer = await open()
    const before = proxy.counts.passed.up
    proxy.partition('down')
    peer.socket.write('there')
    await pause(40)
    assert.deepEqual([proxy.counts.passed.up - before, peer.text()], [5, ''])
    proxy.pass()
    await hears(peer, 'there')
  })

  test('delays and keeps the order', async () => {
    const peer = await open()
    proxy.latency(20, 20)
    for (const part of ['a', 'b', 'c', 'd']) {
      peer.socket.write(part)
      await pause(3)
    }
    assert.equal(peer.text(), '')
    await hears(peer, 'abcd')
  })

  test('cuts after so many bytes, in either direction', async () => {
    const up = await open()
    const before = proxy.counts.passed.up
    proxy.cutAfter('up', 3)
    up.socket.write('123456')
    assert.equal(await up.ended, 'ECONNRESET')
    assert.equal(proxy.counts.passed.up - before, 3)
    proxy.pass()
    const down = await open()
    proxy.cutAfter('down', 4)
    down.socket.write('123456')
    assert.equal(await down.ended, 'ECONNRESET')
    assert.equal(down.text(), '1234')
  })

  test('drops one reply, resets, and is done with it', async () => {
    const peer = await open()
    const before = proxy.counts.passed.up
    proxy.dropNextReply()
    peer.socket.write('hello')
    assert.equal(await peer.ended, 'ECONNRESET')
    assert.deepEqual([proxy.counts.passed.up - before, peer.text()], [5, ''])
    const next = await open()
    next.socket.write('again')
    await hears(next, 'again')
  })

  test('drops the reply to the request that starts with a text, and no other', async () => {
    const other = await open()
    const meant = await open()
    const before = proxy.counts.passed.up
    proxy.dropReplyTo('DELETE ')
    other.socket.write('GET one')
    await hears(other, 'GET one')
    meant.socket.write('DELETE one')
    assert.equal(await meant.ended, 'ECONNRESET')
    assert.deepEqual([proxy.counts.passed.up - before, meant.text()], [17, ''])
    const next = await open()
    next.socket.write('DELETE two')
    await hears(next, 'DELETE two')
  })

  test('resets and ends open connections, and resets new ones', async () => {
    const reset = await open()
    await pause(10)
    proxy.reset()
    assert.equal(await reset.ended, 'ECONNRESET')
    const ended = await open()
    await pause(10)
    proxy.end()
    assert.equal(await ended.ended, 'closed')
    proxy.resetNew()
    // The reset may be seen by the connect itself.
    const seen = await open().then(refused => refused.ended, (error: NodeJS.ErrnoException) => error.code)
    assert.equal(seen, 'ECONNRESET')
  })

  test('refuses new connections while open ones stay, and accepts again on the same port', async () => {
    const peer = await open()
    await pause(10)
    await proxy.refuse()
    await assert.rejects(open(), { code: 'ECONNREFUSED' })
    peer.socket.write('still')
    await hears(peer, 'still')
    await proxy.accept()
    const next = await open()
    next.socket.write('back')
    await hears(next, 'back')
  })
})
