// Invariant 2: no byte leaves before its record is durable. The store is made to fail at each of its steps, by what stands between it and the broker:
// a proxy that knows the verbs in front of Redis, a file that may not grow under SQLite.
import assert from 'node:assert/strict'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import type { Json } from '../../src/catalog/catalog.ts'
import type { Reached, Site } from '../support/broker.ts'
import { persist } from '../crash/agent.ts'
import { growthOf, letGrow, limitGrowth } from './disk.ts'
import { auditFiles, auditRows, eventually, STORES, worksGround, type State } from './ground.ts'
import { arrivals } from './manners.ts'
import { PASS, type Fate } from './redis-tap.ts'

describe('nothing leaves before it is durable', { concurrency: true }, () => {
  for (const kind of STORES) {
    test(`${kind}: when a write arrives upstream, its record says dispatched and its intent stands on disk, and not before`, async t => {
      const { works, state, site, broker: start, token } = await worksGround(t, kind)
      const broker = await start()
      const found: unknown[] = []
      const look = async (): Promise<void> => { found.push([await statesOf(state, site), intentsOf(site)]) }
      works.onRead = asked => void look().then(asked.honest)
      works.onWrite = asked => void look().then(asked.honest)
      const { body } = await broker.call(token, 'change_item.v1', { item: 'item_1', text: 'new' }, 'key-1')
      assert.equal(body.outcome, 'completed')
      assert.deepEqual(found, [[[], []], [['dispatched'], [body.attempt_id]]], 'at the read nothing, at the write both')
      assert.deepEqual(await statesOf(state, site), ['settled'])
    })
  }

  const FATES: ReadonlyArray<readonly [verb: string, fate: Fate]> = [
    ['recall', 'break'], ['recall', 'hold'],
    ['begin', 'break'], ['begin', 'mute'], ['begin', 'hold'],
    ['change:dispatched', 'break'], ['change:dispatched', 'mute'], ['change:dispatched', 'hold'],
  ]
  test('redis: where a step before the send is not heard of, nothing is sent, and the call says so', async t => {
    const { works, state, broker: start, token } = await worksGround(t, 'redis')
    const broker = await start()
    const tap = state.tap!
    for (const [verb, fate] of FATES) {
      const item = `${verb} ${fate}`.replace(':', ' ')
      const action = verb === 'recall' ? 'change_item.v1' : 'do_work.v1'
      const args: Json = verb === 'recall' ? { item, text: 'new' } : { item, amount: 7 }
      const before = works.writes.length
      tap.rule = came => came === verb ? fate : 'pass'
      const { status, body } = await broker.call(token, action, args, `key of ${item}`.replaceAll(' ', '-'))
      assert.deepEqual(
        [status, body.outcome, body.sent, body.error?.code, body.error?.retryable],
        [503, 'rejected', false, 'STATE_UNAVAILABLE', true],
        item,
      )
      assert.ok(tap.seen.has(verb), `${verb} came by`)
      tap.rule = PASS
      tap.discard()
      assert.equal(works.writes.length, before, `${item}: nothing was sent`)
      if (verb !== 'begin') {
        // A begin whose reply was lost may stand; its lease ends by itself. Everything else lets the same key be called again at once.
        const last = await persist(() => broker, { token, action, args, key: `key of ${item}`.replaceAll(' ', '-') }, () => false)
        assert.equal(last.body.outcome, 'completed', item)
        assert.equal(works.writes.length, before + 1, item)
      }
    }
  })

  test('redis: a store that is slow, but answers within the send window, delays the send and nothing else', async t => {
    const { works, state, broker: start, token } = await worksGround(t, 'redis')
    const broker = await start()
    const tap = state.tap!
    let held = false
    tap.rule = verb => verb === 'change:dispatched' && !held ? (held = true, 'hold') : 'pass'
    const call = broker.call(token, 'do_work.v1', { item: 'slow', amount: 7 }, 'key-1')
    await eventually(() => held, 'the mark is held')
    await new Promise(resolve => setTimeout(resolve, 300))
    assert.equal(works.writes.length, 0, 'nothing left while the mark was on its way')
    tap.release()
    assert.equal((await call).body.outcome, 'completed')
    assert.equal(works.writes.length, 1)
  })

  test('redis: where the intent cannot be kept in the audit, nothing is sent, whatever the store says', async t => {
    const { works, site, process: start, token } = await worksGround(t, 'redis')
    const broker = await start()
    const call = (item: string): Promise<Reached> => broker.call(token, 'do_work.v1', { item, amount: 7 }, `key-of-${item}`)
    assert.equal((await call('before')).body.outcome, 'completed')
    limitGrowth(broker.pid, auditFiles(site)[0]!, 0)
    const { status, body } = await call('no-room')
    assert.deepEqual([status, body.sent, body.error?.code, arrivals(works.writes, 'no-room')], [503, false, 'STATE_UNAVAILABLE', 0])
    letGrow(broker.pid)
    const last = await persist(
      () => broker,
      { token, action: 'do_work.v1', args: { item: 'no-room', amount: 7 }, key: 'key-of-no-room' },
      () => false,
    )
    assert.deepEqual([last.body.outcome, arrivals(works.writes, 'no-room')], ['completed', 1])
  })

  test('sqlite: where the file cannot grow at some step, what was not durable was not sent, and the call says so', async t => {
    const { works, site, process: start, token } = await worksGround(t, 'sqlite')
    const broker = await start()
    const file = join(site.folder, 'data', 'aval.db-wal')
    const call = (item: string): Promise<Reached> => broker.call(token, 'do_work.v1', { item, amount: 7 }, `key-of-${item}`)
    const needed = await growthOf(file, () => call('measured'))
    const refused: number[] = []
    for (let share = 0; share <= 10; share++) {
      const item = `limited-${share}`
      limitGrowth(broker.pid, file, Math.floor(needed * share / 10))
      const { status, body } = await call(item)
      letGrow(broker.pid)
      if (status === 503) {
        assert.deepEqual([body.sent, body.error?.code], [false, 'STATE_UNAVAILABLE'], item)
        assert.equal(arrivals(works.writes, item), 0, `${item}: nothing was sent`)
        refused.push(share)
      } else {
        assert.deepEqual([body.outcome, arrivals(works.writes, item)], ['completed', 1], `${item}: ${JSON.stringify(body)}`)
      }
      const last = await persist(() => broker, { token, action: 'do_work.v1', args: { item, amount: 7 }, key: `key-of-${item}` }, () => false)
      assert.deepEqual([last.body.outcome, arrivals(works.writes, item)], ['completed', 1], item)
    }
    // The first of the three commits is refused at the start of the sweep, the second one later: so more than one step was met.
    assert.ok(refused.length >= 3 && refused.length < 10, `refused at ${refused}`)
  })
})

/** The states of all attempts, as another process would find them on disk or in Redis at this moment. */
async function statesOf (state: State, site: Site): Promise<readonly string[]> {
  if (state.redis !== null) {
    const keys = (await state.redis.command('KEYS', '*}:attempt:*')).match(/^aval:\S+$/gm) ?? []
    const replies = await Promise.all(keys.map(key => state.redis!.command('HGET', key, 'state')))
    return replies.map(reply => reply.split('\r\n')[1]!)
  }
  const folder = mkdtempSync(join(tmpdir(), 'aval-copy-'))
  try {
    for (const name of ['aval.db', 'aval.db-wal']) copyFileSync(join(site.folder, 'data', name), join(folder, name))
    const db = new DatabaseSync(join(folder, 'aval.db'))
    const states = db.prepare('SELECT state FROM attempts').all().map(row => String(row['state']))
    db.close()
    return states
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const intentsOf = (site: Site): readonly string[] => auditRows(site).filter(row => row.event === 'execution.intent').map(row => row.attempt!.id)
