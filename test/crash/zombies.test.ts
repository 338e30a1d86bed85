// A replica that is stopped in the middle of a write for longer than its deadline, and then goes on where it was.
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import type { BrokerProcess } from '../support/broker.ts'
import { makeRedisRig, stateInRedis, until } from './rig.ts'

function stop (t: TestContext, broker: BrokerProcess): void {
  broker.signal('SIGSTOP')
  // SIGKILL ends a stopped process too, but what it holds open must not outlive the test.
  t.after(() => broker.signal('SIGCONT'))
}

async function outcomeOf (broker: BrokerProcess, token: string): Promise<{ readonly id: string, readonly outcome: string } | undefined> {
  const { body } = await broker.get(token, '/v1/attempts')
  const [attempt] = body.attempts
  return attempt === undefined ? undefined : { id: attempt.attempt_id, outcome: attempt.outcome }
}

async function wakesTooLate (t: TestContext, reply: 'lost' | 'waiting'): Promise<void> {
  const { works, token, redis, replica } = await makeRedisRig(t)
  const [owner, other] = await Promise.all([replica(), replica()])
  works.onRead = asked => asked.answer(503, { title: 'no look-ups today' })
  // The mark reaches Redis, and its reply does not reach the owner.
  const call = owner.broker.call(token, 'do_work.v1', { item: 'late', amount: 1 }, 'key-1')
  owner.way.latency(40)
  await until('the mark is in Redis', async () => await stateInRedis(redis) === 'dispatched')
  owner.way.blackHole()
  stop(t, owner.broker)
  if (reply === 'lost') owner.way.reset()
  await until('another replica has seen the deadline pass', async () => (await outcomeOf(other.broker, token))?.outcome === 'unknown')
  assert.equal(works.writes.length, 0)
  owner.way.pass()
  owner.broker.signal('SIGCONT')

  const { status, body } = await call
  assert.deepEqual([status, body.sent, body.error.retryable], [503, false, true], JSON.stringify(body))
  const { id } = (await outcomeOf(other.broker, token))!
  const settled = await other.broker.attempt(token, id)
  assert.deepEqual([settled.status, settled.body.outcome, settled.body.sent], [200, 'rejected', false])
  assert.equal(works.writes.length, 0, 'nothing was ever sent')

  const again = await other.broker.call(token, 'do_work.v1', { item: 'late', amount: 1 }, 'key-1')
  assert.equal(again.body.outcome, 'completed', 'and so its key is free')
  assert.equal(works.writes.length, 1)
}

// Mostly waiting.
describe('a replica that is stopped', { concurrency: 3 }, () => {
  for (const reply of ['lost', 'waiting'] as const) {
    const title = 'and the write, it wakes too late and sends nothing: unknown for the others, then rejected as never sent (row 13)'
    test(`stopped between the mark, whose reply is ${reply}, ${title}`, t => wakesTooLate(t, reply))
  }

  test('stopped before the mark for longer than the lease, it finds its attempt closed and sends nothing', async t => {
    const { works, token, redis, replica } = await makeRedisRig(t)
    const [owner, other] = await Promise.all([replica(), replica()])
    owner.way.latency(40)
    const call = owner.broker.call(token, 'do_work.v1', { item: 'prepared', amount: 1 }, 'key-1')
    await until('the attempt is in Redis', async () => await stateInRedis(redis) === 'prepared')
    owner.way.blackHole()
    stop(t, owner.broker)
    const busy = await other.broker.call(token, 'do_work.v1', { item: 'prepared', amount: 1 }, 'key-1')
    assert.deepEqual([busy.status, busy.body.error.code, busy.body.sent], [409, 'CALL_IN_PROGRESS', false])
    await until('the lease of the attempt is over', async () => await stateInRedis(redis) === 'settled')
    owner.way.pass()
    owner.broker.signal('SIGCONT')
    const { status, body } = await call
    assert.deepEqual([status, body.sent], [503, false], JSON.stringify(body))
    assert.equal(works.writes.length, 0)
    assert.equal((await other.broker.call(token, 'do_work.v1', { item: 'prepared', amount: 1 }, 'key-1')).body.outcome, 'completed')
    assert.equal(works.writes.length, 1)
  })

  test('stopped after the write, it wakes to an answer that has arrived: unknown for the others, then completed by that answer (row 14)', async t => {
    const { works, token, replica } = await makeRedisRig(t)
    const [owner, other] = await Promise.all([replica(), replica()])
    works.onRead = asked => asked.answer(503, { title: 'no look-ups today' })
    works.onWrite = asked => setTimeout(() => asked.honest(), 300)
    const call = owner.broker.call(token, 'do_work.v1', { item: 'sent', amount: 1 }, 'key-1')
    await until('the write has arrived', () => works.writes.length === 1)
    stop(t, owner.broker)
    await until('another replica has seen the deadline pass', async () => (await outcomeOf(other.broker, token))?.outcome === 'unknown')
    const repeat = await other.broker.call(token, 'do_work.v1', { item: 'sent', amount: 1 }, 'key-1')
    assert.deepEqual([repeat.status, repeat.body.outcome, repeat.body.duplicate], [202, 'unknown', true])
    owner.broker.signal('SIGCONT')
    const { status, body } = await call
    assert.deepEqual([status, body.outcome, body.evidence.source], [200, 'completed', 'response'], JSON.stringify(body))
    const settled = await other.broker.get(token, `/v1/attempts/${body.attempt_id}`)
    assert.deepEqual([settled.body.outcome, settled.body.result, settled.body.evidence.source], ['completed', { work_id: 'work_1' }, 'response'])
    assert.equal(works.writes.length, 1)
  })

  test('the same where a person had been asked already: the late answer is evidence all the same', async t => {
    const { works, token, replica } = await makeRedisRig(t)
    const [owner, other] = await Promise.all([replica(), replica()])
    works.onWrite = asked => setTimeout(() => asked.honest(), 300)
    const call = owner.broker.call(token, 'replace_item.v1', { item: 'sent', text: 'x' }, 'key-1')
    await until('the write has arrived', () => works.writes.length === 1)
    stop(t, owner.broker)
    await until('a person is asked', async () => {
      const { body } = await other.broker.get(token, '/v1/attempts')
      return /A person has been asked/.test(body.attempts[0]?.error?.hint ?? '')
    })
    owner.broker.signal('SIGCONT')
    assert.deepEqual([(await call).body.outcome, (await call).body.evidence.source], ['completed', 'response'])
    assert.equal(works.writes.length, 1)
  })

  test('a replica that is stopped while it looks up holds up the truth for its lease alone: another one finds it', async t => {
    const { works, token, replica } = await makeRedisRig(t)
    const first = await replica()
    works.onWrite = asked => {
      asked.apply()
      asked.socket.destroy()
    }
    works.onRead = () => {}
    const { body } = await first.broker.call(token, 'do_work.v1', { item: 'found late', amount: 1 }, 'key-1')
    assert.equal(body.outcome, 'unknown')
    await until('a look-up is under way', () => works.lookups.length >= 1)
    stop(t, first.broker)
    works.onRead = asked => asked.honest()
    const second = await replica()
    const settled = await second.broker.attempt(token, body.attempt_id, 60_000)
    assert.deepEqual([settled.body.outcome, settled.body.evidence.source], ['completed', 'lookup'])
    assert.equal(works.writes.length, 1)
  })
})
