// What a replica knows of runs: which are stopped, and how often they were refused. Where it cannot know, nothing is sent.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createRuns } from '../../src/execution/runs.ts'
import { WORKER } from '../crash/works.ts'
import { edited, eventually, STORES, worksGround } from '../invariants/ground.ts'
import { openMemory } from '../store/memory-store.ts'
import type { Site } from '../support/broker.ts'

function allowTwoRefusals (site: Site, action: string): void {
  edited(site, `actions/works/${action}.yaml`, text => text.replace('limits: {timeout: 1s}', 'limits: {timeout: 1s, refusals_per_run: 2}'))
}

test('redis: an observation is refused where the stopped runs could not be read for a second, and goes on when they can', async t => {
  const { works, state, broker: start, token } = await worksGround(t, 'redis')
  const broker = await start()
  assert.equal((await broker.call(token, 'get_item.v1', { item: 'one' })).body.outcome, 'completed')
  const before = works.lookups.length
  await state.redis!.kill9()
  // What was read within the last second still holds, and an observation asks the store for nothing else.
  assert.equal((await broker.call(token, 'get_item.v1', { item: 'one' })).body.outcome, 'completed')
  assert.equal(works.lookups.length, before + 1)
  await sleep(1_300)
  const { status, body } = await broker.call(token, 'get_item.v1', { item: 'one' })
  assert.deepEqual([status, body.error.code, body.sent], [503, 'STATE_UNAVAILABLE', false])
  assert.equal(works.lookups.length, before + 1, 'nothing was sent')
  await state.redis!.restart()
  await eventually(async () => (await broker.call(token, 'get_item.v1', { item: 'one' })).body.outcome === 'completed', 'reads go on')
})

test('a reading of the stopped runs that began before a run was stopped does not bring that run back', async () => {
  const store = openMemory()
  let answer = (_runs: readonly string[]): void => {}
  const runs = createRuns({ ...store, claimDue: async () => [], stoppedRuns: () => new Promise(resolve => { answer = resolve }) })
  const reading = runs.refresh()
  await runs.stop('00', 'run-a')
  answer([])
  await reading
  assert.ok(runs.isStopped('run-a'))
  const later = runs.refresh()
  answer(['run-a', 'run-b'])
  await later
  assert.deepEqual(['run-a', 'run-b', 'run-c'].map(run => runs.isStopped(run)), [true, true, false])
})

for (const kind of STORES) {
  test(`${kind}: a run that was refused too often stays so for a broker that starts anew, and for another one`, async t => {
    const { works, broker: start, token } = await worksGround(t, kind, {}, site => allowTwoRefusals(site, 'do_work.v1'))
    const first = await start()
    const guess = { item: 'one', amount: 0 }
    for (let times = 0; times < 2; times++) assert.equal((await first.call(token, 'do_work.v1', guess)).body.error.code, 'INVALID_ARGUMENTS')
    assert.equal((await first.call(token, 'do_work.v1', guess)).body.error.code, 'TOO_MANY_REFUSALS')
    await first.close()
    const next = await start()
    const { status, body } = await next.call(token, 'do_work.v1', { item: 'one', amount: 1 }, 'key-1')
    assert.deepEqual([status, body.error?.code], [429, 'TOO_MANY_REFUSALS'])
    assert.equal(works.writes.length, 0)
  })
}

test('what an upstream does not answer is no guess of the agent, and uses up none of its refusals', async t => {
  const { works, site, broker: start } = await worksGround(t, 'sqlite', {}, one => allowTwoRefusals(one, 'change_item.v1'))
  const broker = await start()
  const token = await site.token({ ...WORKER, run: 'run-2' })
  works.onRead = asked => asked.answer(400, {})
  for (let times = 0; times < 4; times++) {
    assert.equal((await broker.call(token, 'change_item.v1', { item: 'one', text: 'new' })).body.error.code, 'CHECK_UNAVAILABLE')
  }
  works.onRead = asked => asked.honest()
  assert.equal((await broker.call(token, 'change_item.v1', { item: 'one', text: 'new' })).body.outcome, 'completed')
})
