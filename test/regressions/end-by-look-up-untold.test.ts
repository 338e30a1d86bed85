// A look-up, or the sweeper, ended an attempt in the store and the reply was lost: the process lived on, and told nobody of the end that it had made.
// The audit listed an intent without a result for ever.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { AttemptEvent, AttemptRecord } from '../../src/attempts/attempt.ts'
import { createResolver, type ResolverPorts } from '../../src/attempts/resolver.ts'
import { processClock } from '../../src/clock.ts'
import { openRedis } from '../../src/store/redis.ts'
import { StateUnavailable, type Store } from '../../src/store/store.ts'
import type { AttemptEventTold } from '../../src/telemetry/telemetry.ts'
import { startRedis, type RedisServer } from '../support/redis.ts'
import { begun, eventually } from '../store/drafts.ts'

describe('an end whose reply was lost', () => {
  let server: RedisServer
  before(async () => { server = await startRedis() })
  after(() => server.stop())

  test('is told once by whoever made it, and by nobody else', async t => {
    const store = await openRedis(server.url)
    t.after(() => store.close())
    const record = await begun(store)
    const told: AttemptEventTold[] = []
    let asks = 0
    const losing: Store = {
      ...store,
      unresolved: async () => [],
      claimDue: async () => asks === 0 ? [{ record, nowMs: record.dueAtMs! }] : [],
      async advance (held: AttemptRecord, event: AttemptEvent, changeId?: string) {
        const advanced = await store.advance(held, event, changeId)
        if (++asks <= 2) throw new StateUnavailable('the reply was lost')
        return advanced
      },
    }
    const resolver = createResolver({
      store: losing, clock: processClock, fault: () => {}, rests: () => false, telemetry: { attempt: (event: AttemptEventTold) => { told.push(event) } },
    } as unknown as ResolverPorts)
    resolver.start()
    t.after(() => resolver.stop())
    await eventually(async () => told.length > 0, 'the end is never told')
    assert.equal(asks, 3)
    assert.deepEqual(told.map(({ attemptId, state, sent }) => [attemptId, state, sent]), [[record.id, 'settled', false]])
    const ended = (await store.find(record.id))!
    assert.equal((await store.advance(ended, { type: 'deadline', nowMs: record.dueAtMs! }, 'of somebody else')).kind, 'refused')
  })

  test('is told by whoever asks with the same words, and the store has changed once', async t => {
    const store = await openRedis(server.url)
    t.after(() => store.close())
    const record = await begun(store)
    const event: AttemptEvent = { type: 'deadline', nowMs: record.dueAtMs! }
    const [first, again] = [await store.advance(record, event, 'one change'), await store.advance(record, event, 'one change')]
    assert.equal(first.kind, 'changed')
    assert.deepEqual(again, first)
  })
})
