// Invariant 11: with the store down, nothing new is sent. What had left before is told as it is.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { Client, Reached } from '../support/broker.ts'
import type { RedisServer } from '../support/redis.ts'
import type { Works } from '../crash/works.ts'
import { persist } from '../crash/agent.ts'
import { letGrow, limitGrowth } from './disk.ts'
import { eventually, worksGround } from './ground.ts'
import { PASS, type RedisTap } from './redis-tap.ts'

/** Ways in which Redis is down or must not be believed, and back again. */
const OUTAGES: ReadonlyArray<readonly [
  name: string,
  down: (redis: RedisServer, tap: RedisTap) => Promise<unknown>,
  up: (redis: RedisServer, tap: RedisTap) => Promise<unknown>,
]> = [
  ['dead', redis => redis.kill9(), redis => redis.restart()],
  ['silent', async (_redis, tap) => { tap.rule = () => 'hold' }, async (_redis, tap) => { tap.rule = PASS; tap.discard() }],
  ['read-only', redis => redis.command('REPLICAOF', '127.0.0.1', '1'), redis => redis.command('REPLICAOF', 'NO', 'ONE')],
  ['out of memory', redis => redis.command('CONFIG', 'SET', 'maxmemory', '1mb'), redis => redis.command('CONFIG', 'SET', 'maxmemory', '0')],
]

describe('with the store down nothing new is sent', { concurrency: true }, () => {
  test('redis: no call of any write is sent while Redis is dead, silent, read-only or out of memory, and all are when it is back', async t => {
    const { works, state, broker: start, token } = await worksGround(t, 'redis')
    const broker = await start()
    for (const [name, down, up] of OUTAGES) {
      const before = works.writes.length
      await down(state.redis!, state.tap!)
      await refusesWrites(broker, works, token, name)
      assert.equal((await fetch(`${broker.operationsUrl}/readyz`)).status, 503, name)
      assert.equal((await fetch(`${broker.operationsUrl}/healthz`)).status, 200, name)
      await up(state.redis!, state.tap!)
      const last = await persist(
        () => broker,
        { token, action: 'do_work.v1', args: { item: `${name} after`, amount: 7 }, key: `after-${name.replaceAll(' ', '-')}` },
        () => false,
      )
      assert.equal(last.body.outcome, 'completed', name)
      assert.equal(works.writes.length, before + 1, `${name}: only what was called after it was back`)
    }
  })

  test('redis: what was dispatched before Redis died is answered as it ended, and is written down when Redis is back', async t => {
    const { works, state, broker: start, token } = await worksGround(t, 'redis')
    let release = (): void => {}
    works.onWrite = asked => { release = asked.honest }
    const broker = await start()
    const call = broker.call(token, 'do_work.v1', { item: 'under way', amount: 7 }, 'key-1')
    await eventually(() => works.writes.length === 1, 'the write arrived')
    await state.redis!.kill9()
    release()
    const { status, body } = await call
    assert.deepEqual([status, body.outcome, body.recorded], [200, 'completed', false])
    await state.redis!.restart()
    await eventually(
      async () => (await broker.get(token, `/v1/attempts/${body.attempt_id}`)).body.outcome === 'completed',
      'it is written down',
      20_000,
    )
    assert.equal(works.writes.length, 1)
  })

  test('sqlite: no write is sent while the disk is full, and all are when there is room again', async t => {
    const { works, site, process: start, token } = await worksGround(t, 'sqlite')
    const broker = await start()
    limitGrowth(broker.pid, join(site.folder, 'data', 'aval.db-wal'), 0)
    await refusesWrites(broker, works, token, 'full')
    letGrow(broker.pid)
    const last = await persist(() => broker, { token, action: 'do_work.v1', args: { item: 'full after', amount: 7 }, key: 'after' }, () => false)
    assert.equal(last.body.outcome, 'completed')
    assert.equal(works.writes.length, 1)
  })
})

async function refusesWrites (broker: Client, works: Works, token: string, name: string): Promise<void> {
  const arrived = works.writes.length
  const calls: ReadonlyArray<Promise<Reached>> = [
    broker.call(token, 'do_work.v1', { item: name, amount: 7 }),
    broker.call(token, 'do_work.v1', { item: name, amount: 8 }, `key-${name.replaceAll(' ', '-')}`),
    broker.call(token, 'change_item.v1', { item: name, text: 'new' }),
    broker.call(token, 'replace_item.v1', { item: name, text: 'new' }),
  ]
  for (const { status, body } of await Promise.all(calls)) {
    assert.deepEqual(
      [status, body.outcome, body.sent, body.error?.code],
      [503, 'rejected', false, 'STATE_UNAVAILABLE'],
      `${name}: ${JSON.stringify(body)}`,
    )
  }
  assert.equal(works.writes.length, arrived, `${name}: nothing arrived`)
}
