// What the look-up of the own id says after a 404, 409, 410 or 412 is told as it is: not only that the write was found, but also how.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { edited, worksGround } from '../invariants/ground.ts'
import type { Asked } from '../crash/works.ts'

const foundAs = (state: string, id = 'work_1') => (asked: Asked): void => {
  const key = new URL(asked.request.path, 'http://works').searchParams.get('key')
  asked.answer(200, { items: [{ key, item: 'one', amount: 7, id, state }] })
}

test('a refused write whose own id is found as still running is pending, not unknown', async t => {
  const { works, broker: start, token } = await worksGround(t, 'sqlite')
  works.onWrite = asked => asked.answer(409, {})
  works.onRead = foundAs('running')
  const broker = await start()
  const { status, body } = await broker.call(token, 'do_work.v1', { item: 'one', amount: 7 }, 'key-1')
  assert.deepEqual([status, body.outcome, body.pending_on, body.sent], [202, 'pending', 'upstream', true])
  works.onRead = foundAs('done')
  const end = await broker.attempt(token, body.attempt_id)
  assert.deepEqual([end.body.outcome, end.body.result], ['completed', { work_id: 'work_1' }])
})

test('a refused write that is found done says so with the status of the look-up, and why it has no result', async t => {
  const { works, broker: start, token } = await worksGround(t, 'sqlite')
  works.onWrite = asked => asked.answer(409, {})
  works.onRead = foundAs('done')
  const broker = await start()
  const plain = await broker.call(token, 'do_work.v1', { item: 'one', amount: 7 }, 'key-1')
  assert.deepEqual([plain.status, plain.body.outcome, plain.body.result], [200, 'completed', { work_id: 'work_1' }])
  assert.deepEqual([plain.body.evidence.source, plain.body.evidence.upstream_status], ['lookup', 200])
  works.onRead = foundAs('done', works.key)
  const hidden = await broker.call(token, 'do_work.v1', { item: 'one', amount: 7 }, 'key-2')
  assert.deepEqual([hidden.body.outcome, hidden.body.result, hidden.body.withheld], ['completed', null, 'RESULT_WITHHELD'])
  assert.match(await broker.metrics(), /aval_results_withheld_total\{[^}]*RESULT_WITHHELD[^}]*\} 1/)
})

test('a look-up that finds the object as it was wanted gives the result that its rule names', async t => {
  const { works, broker: start, token } = await worksGround(t, 'sqlite', {}, site => edited(site, 'actions/works/do_work.v1.yaml', text =>
    text.replace('== args.amount\n      outcome: completed\n', '== args.amount\n      outcome: already_in_desired_state\n')))
  works.onWrite = asked => {
    asked.apply()
    asked.socket.destroy()
  }
  const broker = await start()
  const { body } = await broker.call(token, 'do_work.v1', { item: 'one', amount: 7 }, 'key-1')
  const end = await broker.attempt(token, body.attempt_id)
  assert.deepEqual([end.body.outcome, end.body.result], ['already_in_desired_state', { work_id: 'work_1' }])
})
