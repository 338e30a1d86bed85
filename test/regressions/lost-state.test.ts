// A store that has lost the end of what it was told: whoever sent a write knows more than the store, and what it knows must not be thrown away.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RedisServer } from '../support/redis.ts'
import { eventually, worksGround } from '../invariants/ground.ts'

const NAME = /aval:\{t..\}:attempt:att_\w+/

/** As a failover to a replica leaves it that never heard of the mark. */
async function forgetMark (redis: RedisServer, revision = '1'): Promise<void> {
  const name = NAME.exec(await redis.command('KEYS', '*:attempt:*'))![0]
  const [prefix, id] = name.split('attempt:') as [string, string]
  const soon = String(Date.now() + 300)
  await redis.command('HSET', name, 'state', 'prepared', 'revision', revision, 'change', '', 'dueAtMs', soon)
  await redis.command('HDEL', name, 'dispatchedAtMs')
  await redis.command('ZADD', `${prefix}due:1`, soon, id)
}

test('redis: an answer to a write whose durable mark was forgotten ends the attempt, which is never told as unsent and never sent again', async t => {
  const { works, state, broker: start, token } = await worksGround(t, 'redis')
  let release = (): void => {}
  works.onWrite = asked => { release = asked.honest }
  const broker = await start()
  const args = { item: 'one', amount: 7 }
  const call = broker.call(token, 'do_work.v1', args, 'key-1')
  await eventually(() => works.writes.length === 1, 'the write arrived')
  await forgetMark(state.redis!)
  release()
  const { status, body } = await call
  assert.deepEqual([status, body.outcome, body.sent, body.result], [200, 'completed', true, { work_id: 'work_1' }])
  await new Promise(resolve => setTimeout(resolve, 1_000))
  const later = await broker.get(token, `/v1/attempts/${body.attempt_id}`)
  assert.deepEqual([later.body.outcome, later.body.evidence.source], ['completed', 'response'], 'the sweeper does not close it as unsent')
  const repeat = await broker.call(token, 'do_work.v1', args, 'key-1')
  assert.deepEqual([repeat.body.outcome, repeat.body.duplicate, works.effects.length], ['completed', true, 1])
  assert.match(await broker.metrics(), /aval_integrity_alarms_total\{what="contradicting_evidence"\} 1/)
})

test('redis: a lost answer to a write whose durable mark was forgotten is unknown, and is looked up', async t => {
  const { works, state, broker: start, token } = await worksGround(t, 'redis')
  let lose = (): void => {}
  works.onWrite = asked => {
    asked.apply()
    lose = () => { asked.socket.destroy() }
  }
  const broker = await start()
  const call = broker.call(token, 'do_work.v1', { item: 'one', amount: 7 }, 'key-1')
  await eventually(() => works.writes.length === 1, 'the write arrived')
  await forgetMark(state.redis!)
  lose()
  const { status, body } = await call
  assert.deepEqual([status, body.outcome], [202, 'unknown'])
  const end = await broker.attempt(token, body.attempt_id)
  assert.deepEqual([end.body.outcome, end.body.evidence.source, works.effects.length], ['completed', 'lookup', 1])
})

test('redis: an answer to a write whose record is gone is told as it is, and the store learns of the attempt again', async t => {
  const { works, state, broker: start, token } = await worksGround(t, 'redis')
  let release = (): void => {}
  works.onWrite = asked => { release = asked.honest }
  const broker = await start()
  const call = broker.call(token, 'do_work.v1', { item: 'one', amount: 7 }, 'key-1')
  await eventually(() => works.writes.length === 1, 'the write arrived')
  await state.redis!.command('FLUSHALL')
  release()
  const { status, body } = await call
  assert.deepEqual([status, body.outcome, body.recorded, body.result], [200, 'completed', undefined, { work_id: 'work_1' }])
  await eventually(async () => {
    const repeat = await broker.call(token, 'do_work.v1', { item: 'one', amount: 7 }, 'key-1')
    return repeat.body.duplicate === true && repeat.body.outcome === 'completed'
  }, 'a repeat hears of it')
  assert.equal(works.effects.length, 1)
})

test('redis: where the sweeper was faster and closed it as unsent, the call still says what the upstream said, and that it is not written down', async t => {
  const { works, state, broker: start, token } = await worksGround(t, 'redis')
  let release = (): void => {}
  works.onWrite = asked => { release = asked.honest }
  const broker = await start()
  const call = broker.call(token, 'do_slow_work.v1', { item: 'one', amount: 7 }, 'key-1')
  await eventually(() => works.writes.length === 1, 'the write arrived')
  // What it has lost cannot be told from the revision that is left.
  await forgetMark(state.redis!, '7')
  await eventually(async () => /aval_attempt_changes_total\{[^}]*sweeper[^}]*\} 1/.test(await broker.metrics()), 'it was swept')
  release()
  const { status, body } = await call
  assert.deepEqual([status, body.outcome, body.sent, body.recorded, body.result], [200, 'completed', true, false, { work_id: 'work_1' }])
  assert.match(await broker.metrics(), /aval_integrity_alarms_total\{what="contradicting_evidence"\} 1/)
})
