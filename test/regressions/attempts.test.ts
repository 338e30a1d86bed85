// What agents do to their own attempts, and what becomes of attempts whose broker changes.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { advance, type AttemptRecord } from '../../src/attempts/attempt.ts'
import { ERRORS } from '../../src/errors.ts'
import { auditRows, eventually, worksGround } from '../invariants/ground.ts'
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

test('an attempt whose sheet was changed meanwhile is not given up: with the sheet of then it is looked up to its end', async t => {
  const { works, site, broker: start, token } = await worksGround(t, 'sqlite')
  works.onWrite = asked => {
    asked.apply()
    asked.socket.destroy()
  }
  works.onRead = asked => asked.answer(500, {})
  const first = await start()
  const { body } = await first.call(token, 'do_work.v1', { item: 'one', amount: 7 }, 'key-1')
  await first.close()
  works.onRead = asked => asked.honest()
  const path = join(site.folder, 'actions/works/do_work.v1.yaml')
  const text = readFileSync(path, 'utf8')
  writeFileSync(path, text.replace('amount == args.amount', 'amount >= args.amount'))
  const next = await start()
  await eventually(async () => /aval_lookups_total\{[^}]*inconclusive[^}]*\} [1-9]/.test(await next.metrics()), 'its turn came')
  await sleep(100)
  assert.equal((await next.get(token, `/v1/attempts/${body.attempt_id}`)).body.error.hint, null, 'it is with nobody')
  writeFileSync(path, text)
  await next.reload()
  const end = await next.attempt(token, body.attempt_id)
  assert.deepEqual([end.body.outcome, end.body.evidence.source], ['completed', 'lookup'])
})
