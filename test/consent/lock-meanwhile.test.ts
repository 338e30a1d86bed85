// The lock falls and is opened again while a commit is under way. What people said before it is void, wherever the call was by then.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { controlOf, eventually } from '../invariants/ground.ts'
import { askForChange, consentStage, OTHER_ADDRESS, type Stage } from './stage.ts'

async function lockAndUnlock ({ site }: Stage): Promise<void> {
  for (const command of ['vault lock', 'vault unlock'] as const) assert.equal((await controlOf(site, { command, note: 'a test' })).ok, true)
}

describe('a lock that falls and is opened again', () => {
  test('while a commit reads voids the yes that it rests on', async t => {
    const on = await consentStage(t, 'sqlite')
    const id = await on.propose()
    await on.approve(id)
    on.shop.faults.arm({ kind: 'delay', delayMs: 800 }, { method: 'GET' })
    const reads = on.recorder.requests.length
    const committing = on.commit(id)
    await eventually(() => on.recorder.requests.length > reads, 'the commit reads')
    await lockAndUnlock(on)
    const { status, body } = await committing
    assert.deepEqual([on.writes().length, status, body.error?.code, body.error?.cause], [0, 409, 'PROPOSAL_INVALIDATED', 'vault_epoch_changed'])
  })

  for (const point of ['before_credential', 'after_credential', 'before_mark', 'before_send']) {
    test(`${point} voids the yes: nothing is sent, and it has to be given again`, async t => {
      const on = await consentStage(t, 'sqlite', { env: { AVAL_FAILPOINTS: `${point}:sleep(1800)` } })
      const id = await on.propose()
      await on.approve(id)
      const committing = on.commit(id)
      await sleep(400)
      await lockAndUnlock(on)
      const { body } = await committing
      assert.deepEqual([on.writes().length, body.outcome, body.sent], [0, 'rejected', false], JSON.stringify(body))
      const again = await on.commit(id)
      assert.deepEqual([again.body.error?.cause, on.writes().length], ['vault_epoch_changed', 0], JSON.stringify(again.body))
    })
  }

  test('while a call under a grant is under way ends the grant for that call too', async t => {
    const on = await consentStage(t, 'sqlite', { env: { AVAL_FAILPOINTS: 'before_send:sleep(1800)' }, edit: site => askForChange(site, 'session') })
    const grant = await on.propose()
    await on.approve(grant)
    const calling = on.call({ destination: OTHER_ADDRESS })
    await sleep(400)
    await lockAndUnlock(on)
    const { body } = await calling
    assert.deepEqual([on.writes().length, body.outcome, body.sent], [0, 'rejected', false], JSON.stringify(body))
    assert.equal((await on.call({ destination: OTHER_ADDRESS })).body.pending_on, 'consent', 'it is asked for anew')
  })
})
