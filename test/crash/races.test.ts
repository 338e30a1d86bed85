// Many callers at once, on two replicas over one Redis.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Reached } from '../support/broker.ts'
import { makeRedisRig, until } from './rig.ts'
import { WORKER } from './works.ts'

const AT_ONCE = 50

function countBy (answers: readonly Reached[], nameOf: (answer: Reached) => string): { readonly [name: string]: number } {
  const counts: { [name: string]: number } = {}
  for (const answer of answers) counts[nameOf(answer)] = (counts[nameOf(answer)] ?? 0) + 1
  return counts
}

test('fifty equal calls at once on two replicas have one effect, and all hear of the same attempt', async t => {
  const { works, token, replica } = await makeRedisRig(t)
  const [one, other] = await Promise.all([replica(), replica()])
  works.onWrite = asked => {
    asked.apply()
    setTimeout(() => asked.answer(201, { ...works.effects[0], state: 'done' }), 100)
  }
  for (const [round, key] of ['a-key', undefined].entries()) {
    const args = { item: `equal-${round}`, amount: 3 }
    const call = (at: number): Promise<Reached> => (at % 2 === 0 ? one : other).broker.call(token, 'do_work.v1', args, key)
    const answers = await Promise.all(Array.from({ length: AT_ONCE }, (_, at) => call(at)))
    const counts = countBy(answers, ({ status, body }) => `${status} ${body.error?.code ?? body.outcome} ${body.duplicate ?? ''}`)
    const allowed = ['200 completed false', '200 completed true', '202 pending true', '409 CALL_IN_PROGRESS ']
    assert.deepEqual(Object.keys(counts).filter(name => !allowed.includes(name)), [], JSON.stringify(counts))
    assert.equal(counts['200 completed false'], 1, JSON.stringify(counts))
    assert.equal(new Set(answers.flatMap(({ body }) => body.attempt_id ?? [])).size, 1)
    assert.equal(works.effects.length, round + 1)
    assert.equal(works.writes.length, round + 1, 'one write arrived')
    const late = await call(1)
    assert.deepEqual([late.status, late.body.outcome, late.body.duplicate], [200, 'completed', true])
    assert.equal(works.effects.length, round + 1)
  }
})

test('fifty different calls at once on one version of one target: one wins, the others are refused at once, nobody queues', async t => {
  const { works, token, replica } = await makeRedisRig(t)
  const [one, other] = await Promise.all([replica(), replica()])
  const answers = await Promise.all(Array.from({ length: AT_ONCE }, (_, at) =>
    (at % 2 === 0 ? one : other).broker.call(token, 'change_item.v1', { item: 'contended', text: `text ${at}` }, `key-${at}`)))
  const counts = countBy(answers, ({ body }) => body.error?.code ?? body.outcome)
  assert.deepEqual(Object.keys(counts).filter(name => !['completed', 'TARGET_BUSY', 'VERSION_CONFLICT'].includes(name)), [], JSON.stringify(counts))
  const completed = answers.filter(({ body }) => body.outcome === 'completed')
  assert.ok(completed.length >= 1)
  // A later one may win again, on the version that it read after the one before had ended; never two on one version.
  assert.equal(works.effects.length, completed.length)
  assert.equal(new Set(works.effects.map(({ key }) => key)).size, completed.length, 'one effect for each version')
  assert.deepEqual(new Set(completed.map(({ body }) => body.result.version)).size, completed.length)
  for (const { status, body } of answers) {
    if (body.error?.code === 'TARGET_BUSY') assert.deepEqual([status, body.sent, body.error.retryable], [409, false, true])
    if (body.error?.code === 'VERSION_CONFLICT') assert.equal(status, 200)
  }
  const { status } = await other.broker.call(token, 'change_item.v1', { item: 'contended', text: 'afterwards' }, 'key-after')
  assert.equal(status, 200, 'nothing holds the target any more')
})

test('while the winner of a target is under way, every other call on it hears TARGET_BUSY before anything of it is sent', async t => {
  const { works, token, replica, site } = await makeRedisRig(t)
  const [one, other] = await Promise.all([replica(), replica()])
  let release = (): void => {}
  works.onWrite = asked => { release = () => asked.honest() }
  const first = one.broker.call(token, 'change_item.v1', { item: 'held', text: 'first' }, 'first')
  await until('the first write has arrived', () => works.writes.length === 1)
  const rival = await site.token({ ...WORKER, sub: 'another-agent', run: 'run-2' })
  const busy = await Promise.all(Array.from({ length: 10 }, (_, at) =>
    other.broker.call(at % 2 === 0 ? token : rival, 'change_item.v1', { item: 'held', text: `rival ${at}` }, `rival-${at}`)))
  for (const { status, body } of busy) assert.deepEqual([status, body.error.code, body.sent], [409, 'TARGET_BUSY', false])
  assert.equal(works.writes.length, 1)
  release()
  assert.equal((await first).body.outcome, 'completed')
})
