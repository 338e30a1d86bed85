// Redis that cannot be reached, cannot be written to, or dies in the middle of a write: nothing new is sent, what was sent is not lost, and it all
// goes on by itself when Redis is back.
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import type { Client, Reached } from '../support/broker.ts'
import { makeRedisRig, stateInRedis, until, type RedisRig, type Replica } from './rig.ts'

async function refuses (client: Client, rig: RedisRig, name: string): Promise<void> {
  const before = rig.works.writes.length
  const { status, body, headers } = await client.call(rig.token, 'do_work.v1', { item: name, amount: 1 }, `key-${name}`)
  assert.deepEqual([status, body.error?.code, body.sent, body.error?.retryable], [503, 'STATE_UNAVAILABLE', false, true], JSON.stringify(body))
  assert.ok(Number(headers.get('retry-after')) >= 1)
  assert.equal(rig.works.writes.length, before, 'nothing was sent')
}

/** Without a restart. */
const RECOVERY_MS = 10_000

async function recovers (client: Client, rig: RedisRig, name: string): Promise<void> {
  let last: Reached | null = null
  await until('calls end again', async () => {
    last = await client.call(rig.token, 'do_work.v1', { item: name, amount: 1 }, `key-${name}`)
    return last.body.outcome === 'completed'
  }, RECOVERY_MS).catch(error => { throw new Error(`${error.message}: ${JSON.stringify(last?.body)}`) })
  assert.equal(rig.works.effects.filter(({ item }) => item === name).length, 1)
}

async function readiness (client: Client): Promise<number> {
  return (await fetch(`${client.operationsUrl}/readyz`)).status
}

interface Fault {
  readonly name: string
  break (rig: RedisRig, replica: Replica): Promise<unknown> | void
  mend (rig: RedisRig, replica: Replica): Promise<unknown> | void
}

const FAULTS: readonly Fault[] = [
  { name: 'killed', break: ({ redis }) => redis.kill9(), mend: ({ redis }) => redis.restart() },
  { name: 'silent', break: (_rig, { way }) => way.blackHole(), mend: (_rig, { way }) => way.pass() },
  { name: 'cut off', break: async (_rig, { way }) => { await way.refuse(); way.reset() }, mend: (_rig, { way }) => way.accept() },
  // A port on which nobody is: the master that it says it follows does not exist.
  {
    name: 'a replica',
    break: ({ redis }) => redis.command('REPLICAOF', '127.0.0.1', '1'),
    mend: ({ redis }) => redis.command('REPLICAOF', 'NO', 'ONE'),
  },
  {
    name: 'full',
    break: ({ redis }) => redis.command('CONFIG', 'SET', 'maxmemory', '1'),
    mend: ({ redis }) => redis.command('CONFIG', 'SET', 'maxmemory', '0'),
  },
  {
    name: 'without the replicas that it wants',
    break: ({ redis }) => redis.command('CONFIG', 'SET', 'min-replicas-to-write', '1'),
    mend: ({ redis }) => redis.command('CONFIG', 'SET', 'min-replicas-to-write', '0'),
  },
]

// Mostly waiting: together they take as long as the longest.
describe('Redis cannot be used', { concurrency: 3 }, () => {
  for (const fault of FAULTS) {
    const title = 'nothing new is sent, what is under way ends true and is written down later, and it recovers by itself (rows 5, 10, 32, 44)'
    test(`${fault.name}: ${title}`, t => suffers(t, fault))
  }
})

async function suffers (t: TestContext, fault: Fault): Promise<void> {
  const rig = await makeRedisRig(t)
  const { works, token } = rig
  const replica = await rig.replica()
  const { broker } = replica
  await recovers(broker, rig, 'before')
  assert.equal(await readiness(broker), 200)
  let release = (): void => {}
  works.onWrite = asked => { release = () => asked.honest() }
  const underWay = broker.call(token, 'do_work.v1', { item: 'under way', amount: 1 }, 'key-under-way')
  await until('the write has arrived', () => works.writes.length === 2)
  await fault.break(rig, replica)
  release()
  const { status, body } = await underWay
  assert.deepEqual([status, body.outcome, body.recorded, body.result], [200, 'completed', false, { work_id: 'work_2' }], JSON.stringify(body))
  works.onWrite = asked => asked.honest()
  for (let times = 0; times < 3; times++) await refuses(broker, rig, `meanwhile-${times}`)
  assert.equal(await readiness(broker), 503)
  assert.equal((await fetch(`${broker.operationsUrl}/healthz`)).status, 200, 'it is alive')
  // A store that takes no writes cannot be told that this replica goes by the lock, so nothing is read either.
  await until('reads are refused', async () => {
    const read = await broker.call(token, 'get_item.v1', { item: 'any' })
    return read.status === 503 && read.body.error.code === 'STATE_UNAVAILABLE'
  })

  await fault.mend(rig, replica)
  await recovers(broker, rig, 'afterwards')
  await recovers(broker, rig, 'meanwhile-0')
  await until('the settlement is written down', async () => {
    const { body: found } = await broker.get(token, `/v1/attempts/${body.attempt_id}`)
    return found.outcome === 'completed' && found.evidence.source === 'response'
  })
  assert.equal(await readiness(broker), 200)
  assert.equal(works.effects.filter(({ item }) => item === 'under way').length, 1)
}

test('Redis dies between begin and the mark: the call hears that nothing was sent, and the same key is used again', async t => {
  const rig = await makeRedisRig(t)
  const { works, token, redis } = rig
  const { broker, way } = await rig.replica()
  way.latency(100)
  const call = broker.call(token, 'do_work.v1', { item: 'half begun', amount: 1 }, 'key-half-begun')
  await until('the attempt is in Redis', async () => await stateInRedis(redis) === 'prepared')
  await redis.kill9()
  const { status, body } = await call
  assert.deepEqual([status, body.error.code, body.sent], [503, 'STATE_UNAVAILABLE', false])
  assert.equal(works.writes.length, 0)
  way.pass()
  await redis.restart()
  await until('the key is free again', async () => {
    const again = await broker.call(token, 'do_work.v1', { item: 'half begun', amount: 1 }, 'key-half-begun')
    return again.body.outcome === 'completed'
  })
  assert.equal(works.effects.length, 1)
})

test('the reply to the mark is lost: it is asked again, and sent once (row 5)', async t => {
  const rig = await makeRedisRig(t)
  const { works, token, redis } = rig
  const { broker, way } = await rig.replica()
  await recovers(broker, rig, 'warm')
  for (let round = 0; round < 5; round++) {
    // So that the only attempt is the one of this round; whatever else is lost would be told again.
    await redis.command('EVAL', 'for _, key in ipairs(redis.call("KEYS", "aval:*:attempt:*")) do redis.call("DEL", key) end return 1', '0')
    way.latency(30)
    const call = broker.call(token, 'do_work.v1', { item: `asked-again-${round}`, amount: 1 }, `key-${round}`)
    await until('the mark is in Redis', async () => await stateInRedis(redis) === 'dispatched')
    // Swallows the reply that is on its way.
    way.reset()
    way.pass()
    const { status, body } = await call
    const arrived = works.writes.length - 1 - round
    if (status === 200) assert.deepEqual([body.outcome, arrived], ['completed', 1])
    else assert.fail(JSON.stringify(body))
  }
})

test('the reply to the settlement is lost: the answer is the truth, and the attempt says the same (row 10)', async t => {
  const rig = await makeRedisRig(t)
  const { works, token } = rig
  const { broker, way } = await rig.replica()
  for (let round = 0; round < 5; round++) {
    works.onWrite = asked => {
      way.dropNextReply()
      asked.honest()
    }
    const { status, body } = await broker.call(token, 'do_work.v1', { item: `settled-${round}`, amount: 1 }, `key-${round}`)
    assert.deepEqual([status, body.outcome], [200, 'completed'], JSON.stringify(body))
    await until('it is written down', async () => (await broker.get(token, `/v1/attempts/${body.attempt_id}`)).body.outcome === 'completed')
    assert.equal(works.writes.length, round + 1)
  }
})

test('Redis is killed and started again under load: every call ends, each errand has one effect', async t => {
  const rig = await makeRedisRig(t)
  const { works, token, redis } = rig
  const [one, other] = await Promise.all([rig.replica(), rig.replica()])
  works.onWrite = asked => setTimeout(() => asked.honest(), 5)
  let open = true
  const agent = async (name: string): Promise<number> => {
    let errands = 0
    while (open) {
      const item = `${name}-${errands}`
      for (let tries = 0; ; tries++) {
        const { broker } = (errands + tries) % 2 === 0 ? one : other
        const { status, body } = await broker.call(token, 'do_work.v1', { item, amount: 1 }, `key-${item}`)
        if (status === 200 && body.outcome === 'completed') break
        assert.ok(status === 202 || body.error.retryable, JSON.stringify(body))
        await new Promise(resolve => setTimeout(resolve, 50))
      }
      errands += 1
    }
    return errands
  }
  const agents = ['a', 'b', 'c', 'd', 'e', 'f'].map(agent)
  for (let kill = 0; kill < 5; kill++) {
    const before = works.writes.length
    await until('calls go on', () => works.writes.length > before + 20)
    await redis.restart()
  }
  open = false
  const errands = (await Promise.all(agents)).reduce((sum, count) => sum + count, 0)
  assert.equal(works.effects.length, errands)
  assert.equal(new Set(works.effects.map(({ item }) => item)).size, errands)
})
