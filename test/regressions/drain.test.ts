// The end of a broker whose store is gone: it waits for what is under way, and then it ends.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually, worksGround } from '../invariants/ground.ts'

// As long as the drain, which has to be waited out.
test('redis: a broker that cannot write an end down ends after its drain all the same', async t => {
  const { works, state, process: start, token } = await worksGround(t, 'redis')
  let release = (): void => {}
  works.onWrite = asked => { release = asked.honest }
  const broker = await start()
  const call = broker.call(token, 'do_work.v1', { item: 'one', amount: 7 }, 'key-1')
  await eventually(() => works.writes.length === 1, 'the write arrived')
  await state.redis!.kill9()
  release()
  assert.deepEqual([(await call).body.outcome, (await call).body.recorded], ['completed', false])
  assert.equal(await Promise.race([broker.stop(), sleep(50_000, 'still there', { ref: false })]), 0)
})
