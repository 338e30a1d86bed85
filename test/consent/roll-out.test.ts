// During a roll-out replicas go by different sheets: what was proposed by one catalog is carried out by a replica that has it, and by no other; once nobody
// has it any more, it is invalid.
import assert from 'node:assert/strict'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { eventually } from '../invariants/ground.ts'
import type { TestBroker } from '../support/broker.ts'
import { CHANGE, consentStage, type Stage } from './stage.ts'

/** A replica with the next version of the sheet. */
async function nextOf (on: Stage): Promise<TestBroker> {
  const actions = join(on.site.folder, 'next-actions')
  cpSync(join(on.site.folder, 'actions'), actions, { recursive: true })
  const file = join(actions, 'shop', `${CHANGE}.yaml`)
  writeFileSync(file, readFileSync(file, 'utf8').replace('timeout: 5s', 'timeout: 4s'))
  return on.another({ AVAL_ACTIONS: actions })
}

async function rolling (t: TestContext): Promise<{ readonly on: Stage, readonly next: TestBroker }> {
  const on = await consentStage(t, 'redis')
  const next = await nextOf(on)
  // Replicas have found each other long before anybody has decided anything.
  await new Promise(resolve => setTimeout(resolve, 500))
  return { on, next }
}

describe('while replicas differ', () => {
  test('what was proposed by the old one is not carried out by the new one, which says to ask again; the old one carries it out', async t => {
    const { on, next } = await rolling(t)
    const id = await on.propose()
    await on.approve(id)
    const told = await on.commit(id, { broker: next })
    assert.deepEqual([told.status, told.body.error.code, told.body.error.retryable, on.writes().length], [503, 'STATE_UNAVAILABLE', true, 0])
    assert.deepEqual([(await on.record(id)).state, (await on.call({}, { broker: next })).body.proposal.id], ['approved', id])
    assert.deepEqual([(await on.commit(id)).body.outcome, on.effects()], ['completed', 1])
  })

  test('and the other way round', async t => {
    const { on, next } = await rolling(t)
    const id = (await on.call({}, { broker: next })).body.proposal.id
    await on.approve(id)
    assert.equal((await on.commit(id)).status, 503)
    assert.equal((await on.commit(id, { broker: next })).body.outcome, 'completed')
  })

  test('once nobody has the old one any more, what it proposed is invalid, and is proposed anew', async t => {
    const { on, next } = await rolling(t)
    const id = await on.propose()
    await on.approve(id)
    await on.broker.close()
    await eventually(async () => (await on.commit(id, { broker: next })).status === 409, 'the old one is gone')
    const { state, cause } = await on.record(id)
    assert.deepEqual([state, cause, on.writes().length], ['invalidated', 'sheet_changed', 0])
    assert.equal((await on.call({}, { broker: next })).body.proposal.supersedes, id)
  })
})
