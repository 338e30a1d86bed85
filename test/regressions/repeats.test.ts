// A repeat is answered with the attempt that it repeats whatever else is full: recall comes before the limits.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Site } from '../support/broker.ts'
import { edited, eventually, STORES, worksGround } from '../invariants/ground.ts'

for (const kind of STORES) {
  test(`${kind}: a repeat of a write under way is answered with it while the upstream has no place for another call`, async t => {
    const narrow = (site: Site): void => edited(site, 'actions/works/upstream.yaml', text => `${text}\nlimits: {concurrency: 1}\n`)
    const { works, broker: start, token } = await worksGround(t, kind, {}, narrow)
    let release = (): void => {}
    works.onWrite = asked => { release = asked.honest }
    const broker = await start()
    const first = broker.call(token, 'do_slow_work.v1', { item: 'one', amount: 7 }, 'key-1')
    await eventually(() => works.writes.length === 1, 'the write arrived')
    const repeat = await broker.call(token, 'do_slow_work.v1', { item: 'one', amount: 7 }, 'key-1')
    assert.deepEqual([repeat.status, repeat.body.outcome, repeat.body.duplicate], [202, 'pending', true], JSON.stringify(repeat.body))
    const reused = await broker.call(token, 'do_slow_work.v1', { item: 'one', amount: 8 }, 'key-1')
    assert.deepEqual([reused.status, reused.body.error.code], [422, 'IDEMPOTENCY_KEY_REUSED'])
    const other = await broker.call(token, 'do_slow_work.v1', { item: 'two', amount: 7 }, 'key-2')
    assert.deepEqual([other.status, other.body.error.code], [429, 'RATE_LIMITED'])
    release()
    assert.equal((await first).body.attempt_id, repeat.body.attempt_id)
    assert.equal(works.writes.length, 1)
  })
}
