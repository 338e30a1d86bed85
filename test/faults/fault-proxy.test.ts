// The proxy of the rig does what a fate says, counts it once, and passes nothing on late.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { test, type TestContext } from 'node:test'
import { startFaultProxy, type Fate } from './fault-proxy.ts'

interface Ground {
  /** What arrived at the server. */
  readonly heard: () => string
  readonly fired: readonly string[]
  readonly client: Socket
  /** What came back, until the connection was over. */
  readonly ended: Promise<string>
  readonly proxy: Awaited<ReturnType<typeof startFaultProxy>>
}

async function ground (t: TestContext, fate: Fate | null): Promise<Ground> {
  let heard = ''
  const server: Server = createServer(socket => {
    socket.on('error', () => {})
    socket.on('data', data => {
      heard += data
      socket.write(`<${data}>`)
    })
  })
  await new Promise<void>(resolve => { server.listen(0, '127.0.0.1', resolve) })
  const fired: string[] = []
  const proxy = await startFaultProxy({ port: (server.address() as AddressInfo).port, fate: () => fate, fired: name => fired.push(name), random: () => 0.5 })
  t.after(async () => {
    await proxy.stop()
    server.close()
  })
  const client = connect(proxy.port, '127.0.0.1')
  let back = ''
  client.on('data', data => { back += data })
  const ended = new Promise<string>(resolve => {
    client.on('error', error => { resolve(`${back} ${(error as NodeJS.ErrnoException).code}`) })
    client.on('end', () => { resolve(`${back} end`) })
  })
  await once(client, 'connect')
  return { heard: () => heard, fired, client, ended, proxy }
}

test('a connection without a fate passes whole', async t => {
  const { client, heard, fired } = await ground(t, null)
  client.write('hello')
  assert.equal(String((await once(client, 'data'))[0]), '<hello>')
  assert.deepEqual([heard(), fired], ['hello', []])
  client.destroy()
})

test('a cut lets so many bytes pass, and no more', async t => {
  const { client, heard, fired, ended } = await ground(t, { kind: 'cut', direction: 'up', bytes: 3 })
  client.write('hello')
  assert.match(await ended, /ECONNRESET$/)
  assert.ok(heard().length <= 3, heard())
  assert.deepEqual(fired, ['cut up'])
})

test('a dropped reply was given: the server heard the request, the client hears a reset', async t => {
  const { client, heard, fired, ended } = await ground(t, { kind: 'drop reply', nth: 1 })
  client.write('hello')
  assert.equal(await ended, ' ECONNRESET')
  assert.deepEqual([heard(), fired], ['hello', ['drop reply']])
})

test('what is held back is never passed on later', async t => {
  const { client, heard, fired, ended } = await ground(t, { kind: 'hold', direction: 'up', bytes: 0, ms: 100 })
  client.write('hello')
  assert.match(await ended, /ECONNRESET$/)
  await sleep(100)
  assert.deepEqual([heard(), fired], ['', ['hold up']])
})

test('a partition holds every connection, and those that stood still are reset', async t => {
  const { client, heard, fired, ended, proxy } = await ground(t, null)
  client.write('one')
  await once(client, 'data')
  const over = proxy.partition('up', 150)
  client.write('two')
  await over
  assert.match(await ended, /ECONNRESET$/)
  assert.deepEqual([heard(), fired], ['one', ['partition up']])
})

test('while nobody listens open connections are reset and new ones refused; then they pass again', async t => {
  const { proxy, ended, fired } = await ground(t, null)
  const over = proxy.refuse(150)
  assert.match(await ended, /ECONNRESET$/)
  const [refused] = await once(connect(proxy.port, '127.0.0.1'), 'error') as [NodeJS.ErrnoException]
  assert.equal(refused.code, 'ECONNREFUSED')
  await over
  const again = connect(proxy.port, '127.0.0.1')
  again.write('hello')
  assert.equal(String((await once(again, 'data'))[0]), '<hello>')
  assert.deepEqual(fired, ['refuse'])
  again.destroy()
})
