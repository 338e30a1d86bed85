// The process that had begun an attempt died before it could send it, and the agent cancelled it through another one: nobody told the audit of that end,
// for that was left to the call that had begun it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { auditRowsIn, eventually } from '../invariants/ground.ts'
import { makeRedisRig, stateInRedis, until } from '../crash/rig.ts'

test('what a dead process had begun and somebody cancelled has its end in the audit, once', async t => {
  const { works, token, redis, replica } = await makeRedisRig(t)
  const owner = await replica({ AVAL_FAILPOINTS: 'before_mark:kill@1' })
  const other = await replica()
  const call = owner.broker.call(token, 'do_work.v1', { item: 'cancelled', amount: 1 }, 'key-1').catch(() => null)
  await until('the attempt is in Redis', async () => await stateInRedis(redis) === 'prepared')
  assert.equal(await call, null, 'its process has died')
  const { body: listed } = await other.broker.get(token, '/v1/attempts')
  const id: string = listed.attempts[0].attempt_id
  const cancelled = await other.broker.post(token, `/v1/attempts/${id}/cancel`)
  assert.deepEqual([cancelled.body.cancel, cancelled.body.sent], ['cancelled', false])
  await other.broker.post(token, `/v1/attempts/${id}/cancel`)
  const told = () => auditRowsIn(other.dataFolder).filter(row => row.attempt?.id === id && row.event.startsWith('execution.'))
    .map(({ event, by, code, outcome, sent }) => [event, by, code, outcome, sent])
  await eventually(async () => told().length > 0, 'the end is told')
  await other.broker.stop()
  assert.deepEqual(told(), [['execution.resolved', 'agent', 'CANCELLED', 'rejected', false]])
  assert.equal(works.writes.length, 0)
})
