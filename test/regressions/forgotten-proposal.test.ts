// A store that forgets not only what was sent, but also the very proposal under which it was: by that alone the call was known. It is not asked for again,
// for whoever is asked again says yes again, and then it would be done twice.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tagOfAttempt } from '../../src/attempts/identity.ts'
import { keysOf } from '../../src/store/redis-keys.ts'
import { consentStage, OTHER_ADDRESS, type Stage } from '../consent/stage.ts'
import { eventually } from '../invariants/ground.ts'

const OTHER = { destination: OTHER_ADDRESS }

/** Until the store has been told again of all that it had acknowledged. */
async function forget (on: Stage, attempt: string): Promise<void> {
  await on.redis!.command('FLUSHALL')
  const { attempt: keyOf } = keysOf(tagOfAttempt(attempt)!)
  await eventually(async () => (await on.redis!.command('EXISTS', keyOf(attempt))).startsWith(':1'), 'the store is told again')
  await eventually(async () => (await on.call(OTHER, { key: 'key-9' })).status === 202, 'it is believed again')
}

for (const [how, key] of [['with the key of the call', 'key-1'], ['without a key', undefined]] as const) {
  test(`what was approved and done is repeated, not asked for again, by a call ${how}`, async t => {
    const on = await consentStage(t, 'redis')
    const id = await on.propose({}, key === undefined ? {} : { key })
    await on.approve(id)
    const done = await on.commit(id)
    assert.equal(done.body.outcome, 'completed', JSON.stringify(done.body))
    await forget(on, done.body.attempt_id)
    const again = await on.call({}, key === undefined ? {} : { key })
    assert.deepEqual([again.status, again.body.outcome, again.body.duplicate, again.body.attempt_id], [200, 'completed', true, done.body.attempt_id])
    assert.equal((await on.commit(id)).status, 404)
    assert.deepEqual([on.writes().length, on.effects()], [1, 1])
  })
}

test('another key of an equal call, and other arguments, are asked for as ever', async t => {
  const on = await consentStage(t, 'redis')
  const id = await on.propose({}, { key: 'key-1' })
  await on.approve(id)
  const done = await on.commit(id)
  await forget(on, done.body.attempt_id)
  const reused = await on.call(OTHER, { key: 'key-1' })
  assert.deepEqual([reused.status, reused.body.error.code], [422, 'IDEMPOTENCY_KEY_REUSED'])
  const other = await on.call({ destination: { ...OTHER_ADDRESS, street: '11 Low Road' } }, { key: 'key-2' })
  assert.deepEqual([other.status, other.body.pending_on], [202, 'consent'])
  assert.equal(on.writes().length, 1)
})
