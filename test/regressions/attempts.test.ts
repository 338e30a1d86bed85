// What agents do to their own attempts, and how it is told.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { advance, type AttemptRecord } from '../../src/attempts/attempt.ts'
import { ERRORS } from '../../src/errors.ts'
import { auditRows, worksGround } from '../invariants/ground.ts'
import { draft } from '../store/drafts.ts'

test('an attempt that its agent hands to a person, however often, is told once, and as the wish of the agent', async t => {
  const { works, site, broker: start, token } = await worksGround(t, 'sqlite')
  works.onWrite = asked => asked.answer(500, {})
  works.onRead = asked => asked.answer(500, {})
  const broker = await start()
  const { body } = await broker.call(token, 'do_work.v1', { item: 'one', amount: 7 }, 'key-1')
  for (let times = 0; times < 3; times++) assert.equal((await broker.post(token, `/v1/attempts/${body.attempt_id}/escalate`)).body.outcome, 'unknown')
  await broker.close()
  const told = auditRows(site).filter(({ event }) => event === 'execution.escalated')
  assert.deepEqual(told.map(({ by, attempt }) => [by, attempt!.id]), [['agent', body.attempt_id]])
})

test('that a call was cancelled is told alike by the call and by its attempt', () => {
  const cancelled = advance(draft(), { type: 'cancel' })
  assert.equal(cancelled.kind, 'changed')
  const record = (cancelled as { readonly record: AttemptRecord }).record
  assert.equal(record.settlement!.retryable, ERRORS.CANCELLED.retryable)
})
