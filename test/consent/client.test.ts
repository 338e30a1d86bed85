// The client for runtimes and a call that needs a person: it waits for the decision, carries out what was approved, and never takes one for the other.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connect, isProposed, type Client, type Outcome, type Proposed } from '../../src/client.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { ADDRESS, CHANGE, consentStage, type Stage } from './stage.ts'

const args = { customer_id: 'cus_1001', destination: ADDRESS }
const clientOf = (on: Stage, url = on.broker.agentsUrl): Client => connect({ url, token: on.token })

async function proposed (told: Promise<Outcome>): Promise<Proposed> {
  const outcome = await told
  assert.ok(isProposed(outcome), outcome.outcome)
  return outcome
}

test('a call is proposed, waited for and carried out', async t => {
  const on = await consentStage(t, 'sqlite')
  const client = clientOf(on)
  const asked = await proposed(client.call(CHANGE, args))
  const waiting = client.wait(asked, 20_000)
  await on.approve(asked.proposal.id)
  const decided = await proposed(waiting)
  assert.equal(decided.proposal.state, 'approved')
  assert.deepEqual([(await client.commit(decided.proposal)).outcome, on.effects()], ['completed', 1])
})

test('a denial is told as what it is, and nothing is tried again', async t => {
  const on = await consentStage(t, 'sqlite')
  const client = clientOf(on)
  const asked = await proposed(client.call(CHANGE, args))
  await on.deny(asked.proposal.id)
  const told = await client.wait(asked, 20_000)
  assert.deepEqual([told.outcome, told.error?.code, told.proposal?.reason_code], ['rejected', 'PROPOSAL_DENIED', 'wrong_target'])
  assert.deepEqual([(await client.commit(asked.proposal)).error?.code, on.writes().length], ['PROPOSAL_DENIED', 0])
})

test('a commit whose answer is lost is asked for again, and is one effect', async t => {
  const on = await consentStage(t, 'sqlite')
  const proxy = await startTcpProxy({ port: Number(new URL(on.broker.agentsUrl).port) })
  t.after(() => proxy.stop())
  const client = clientOf(on, `http://127.0.0.1:${proxy.port}`)
  const { proposal } = await proposed(client.call(CHANGE, args))
  await on.approve(proposal.id)
  proxy.dropReplyTo('POST /v1/proposals')
  const done = await client.commit(proposal)
  assert.deepEqual([done.outcome, done.duplicate, on.effects(), on.writes().length], ['completed', true, 1, 1])
})

test('what is not wanted any more is taken back', async t => {
  const on = await consentStage(t, 'sqlite')
  const client = clientOf(on)
  const { proposal } = await proposed(client.call(CHANGE, args))
  const gone = await client.withdraw(proposal)
  assert.deepEqual([gone.error?.code, gone.proposal?.state], ['PROPOSAL_WITHDRAWN', 'withdrawn'])
})
