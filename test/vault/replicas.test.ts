// The lock over several replicas on one Redis: it is made when each of them goes by it or sends nothing any more, and a Redis that goes back in time
// does not unlock.
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { askControl, type ControlAnswer } from '../../src/http/control.ts'
import {
  makeShopSite, startBrokerProcess, startTestBroker, type BrokerProcess, type Client, type ShopSite, type TestBroker,
} from '../support/broker.ts'
import { eventually } from '../invariants/ground.ts'
import { startRedis, type RedisServer } from '../support/redis.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'

const ORDER = { customer_id: 'cus_1001', sku: 'TEA-250', quantity: 1, max_total_minor: 5000 }

let redis: RedisServer
before(async () => { redis = await startRedis() })
after(() => redis.stop())

interface Ground {
  readonly site: ShopSite
  readonly token: string
  /** A broker with a folder of its own. */
  replica (name: string, url?: string): Promise<TestBroker>
  process (name: string): Promise<BrokerProcess>
  control (name: string, command: 'vault lock' | 'vault unlock' | 'vault status'): Promise<ControlAnswer>
}

async function ground (t: TestContext): Promise<Ground> {
  await redis.command('FLUSHALL')
  const site = await makeShopSite()
  const closing: Array<() => Promise<unknown>> = []
  t.after(async () => {
    for (const close of closing.reverse()) await close().catch(() => undefined)
    await site.shop.close()
    site.remove()
  })
  const folderOf = (name: string): string => {
    const folder = join(site.folder, name)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    return folder
  }
  return {
    site,
    token: await site.token({ run: 'one run' }),
    async replica (name, url = redis.url) {
      const broker = await startTestBroker(site, { AVAL_STATE: url, AVAL_DATA: folderOf(name) })
      closing.push(() => broker.close())
      return broker
    },
    async process (name) {
      const broker = await startBrokerProcess(site, { AVAL_STATE: redis.url, AVAL_DATA: folderOf(name) })
      closing.push(() => broker.kill9())
      return broker
    },
    control: (name, command) => askControl(join(folderOf(name), 'control.sock'),
      command === 'vault status' ? { command } : { command, note: 'a test' }),
  }
}

const statusOf = async (broker: Client, token: string): Promise<number> => (await broker.get(token, '/v1/actions')).status
const standing = (answer: ControlAnswer): any => {
  assert.ok(answer.ok, JSON.stringify(answer))
  return answer.result
}

test('when the lock answers, each of three replicas refuses, and none takes an order; after the unlock all do', async t => {
  const { site, token, replica, control } = await ground(t)
  const brokers = [await replica('one'), await replica('two'), await replica('three')]
  for (let epoch = 1; epoch <= 3; epoch++) {
    assert.partialDeepStrictEqual(standing(await control('two', 'vault lock')), { locked: true, epoch, waiting_for: [], vault: 'none' })
    assert.partialDeepStrictEqual(standing(await control('one', 'vault status')), { locked: true, note: 'a test' }, 'every replica knows why')
    const answers = await Promise.all(brokers.flatMap(broker => [broker.get(token, '/v1/actions'), broker.call(token, 'place_order.v1', ORDER, `${epoch}`)]))
    assert.deepEqual(answers.map(({ status }) => status), [423, 423, 423, 423, 423, 423])
    standing(await control('three', 'vault unlock'))
    await eventually(async () => (await Promise.all(brokers.map(broker => statusOf(broker, token)))).every(status => status === 200), 'all are unlocked')
  }
  assert.equal(site.shop.ledger.length, 0)
})

test('calls that come while it is locked are sent before the lock answers, or never', async t => {
  const { site, token, replica, control } = await ground(t)
  const brokers = [await replica('one'), await replica('two')]
  let going = true
  let called = 0
  const callers = brokers.map(async broker => {
    while (going) await broker.call(token, 'add_order_note.v1', { order_id: 'ord_0', note: 'x' }, `${called++}`).catch(() => null)
  })
  const orders = brokers.map(async broker => {
    while (going) await broker.call(token, 'place_order.v1', ORDER, `order-${called++}`)
  })
  await sleep(800)
  standing(await control('one', 'vault lock'))
  // What had left before may still arrive.
  await sleep(150)
  const sent = site.shop.ledger.length
  assert.ok(sent > 0)
  await sleep(800)
  going = false
  await Promise.all([...callers, ...orders])
  assert.equal(site.shop.ledger.length, sent)
})

test('a replica that was killed is not waited for; started again it is locked', async t => {
  const { token, replica, process, control } = await ground(t)
  const one = await replica('one')
  const dead = await process('two')
  assert.equal(await statusOf(dead, token), 200)
  await dead.kill9()
  assert.partialDeepStrictEqual(standing(await control('one', 'vault lock')), { locked: true, epoch: 1, waiting_for: [], vault: 'none' })
  assert.equal(await statusOf(one, token), 423)
  const again = await process('two')
  assert.equal(await statusOf(again, token), 423)
})

test('a replica that hangs is not waited for, and sends nothing when it goes on', async t => {
  const { site, token, replica, process, control } = await ground(t)
  const one = await replica('one')
  const hung = await process('two')
  assert.equal((await hung.call(token, 'place_order.v1', ORDER, 'before')).body.outcome, 'completed')
  hung.signal('SIGSTOP')
  const calls = [hung.call(token, 'place_order.v1', ORDER, 'hung'), hung.get(token, '/v1/actions')]
  await sleep(300)
  assert.partialDeepStrictEqual(standing(await control('one', 'vault lock')), { locked: true, epoch: 1, waiting_for: [], vault: 'none' })
  assert.equal(await statusOf(one, token), 423)
  hung.signal('SIGCONT')
  for (const { status, body } of await Promise.all(calls)) assert.equal(status, 423, JSON.stringify(body))
  assert.equal(site.shop.ledger.length, 1)
})

test('a replica that cannot reach Redis is not waited for, and refuses everything', async t => {
  const { site, token, replica, control } = await ground(t)
  const way = await startTcpProxy({ port: redis.port })
  t.after(() => way.stop())
  await replica('one')
  const apart = await replica('two', `redis://127.0.0.1:${way.port}`)
  assert.equal(await statusOf(apart, token), 200)
  way.blackHole()
  assert.partialDeepStrictEqual(standing(await control('one', 'vault lock')), { locked: true, epoch: 1, waiting_for: [], vault: 'none' })
  const answers = await Promise.all([apart.get(token, '/v1/actions'), apart.call(token, 'get_customer.v1', { customer_id: 'cus_1001' })])
  assert.deepEqual(answers.map(({ status, body }) => [status, body.error.code]), [[503, 'STATE_UNAVAILABLE'], [503, 'STATE_UNAVAILABLE']])
  way.pass()
  await eventually(async () => await statusOf(apart, token) === 423, 'it hears of the lock')
  assert.equal(site.shop.ledger.length, 0)
})

test('a Redis that goes back to before the lock unlocks nobody, and not whoever starts afterwards', async t => {
  const own = await startRedis()
  t.after(() => own.stop())
  const { token, replica, control } = await ground(t)
  const [one, two] = [await replica('one', own.url), await replica('two', own.url)]
  await one.call(token, 'place_order.v1', ORDER, 'before')
  await sleep(1_200)
  const length = own.logLength()
  standing(await control('one', 'vault lock'))
  await own.kill9()
  own.truncateLog(length)
  await own.restart()
  for (let look = 0; look < 20; look++) {
    for (const broker of [one, two]) assert.notEqual(await statusOf(broker, token), 200)
    await sleep(100)
  }
  await eventually(async () => (await own.command('GET', 'aval:{t00}:lock')).startsWith('$1\r\n2\r\n'), 'Redis is told of the lock again')
  const three = await replica('three', own.url)
  assert.equal(await statusOf(three, token), 423)
  await eventually(async () => standing(await control('two', 'vault status')).locked, 'it is locked')
  assert.equal(standing(await control('two', 'vault unlock')).locked, false)
  await eventually(async () => await statusOf(one, token) === 200 && await statusOf(three, token) === 200, 'all are unlocked')
})

test('a Redis that forgot everything while every broker was away is told of the lock by the first that remembers it', async t => {
  const own = await startRedis()
  t.after(() => own.stop())
  const { token, replica, control } = await ground(t)
  const one = await replica('one', own.url)
  standing(await control('one', 'vault lock'))
  await one.close()
  await own.command('FLUSHALL')
  const again = await replica('one', own.url)
  assert.equal(await statusOf(again, token), 423)
  const other = await replica('two', own.url)
  assert.equal(await statusOf(other, token), 423)
})
