// An upstream whose look-ups failed for a while: what waits for minutes by then is looked up as soon as another look-up of it says something.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '../support/broker.ts'
import { makeRedisRig } from '../crash/rig.ts'
import { ending, eventually, STORES, worksGround } from '../invariants/ground.ts'

const failedOf = async (broker: Client): Promise<number> =>
  Number(/aval_lookups_total\{[^}]*finding="inconclusive"[^}]*\} (\d+)/.exec(await broker.metrics())?.[1] ?? 0)

describe('an upstream that answers look-ups again', { concurrency: true }, () => {
  for (const kind of STORES) {
    test(`${kind}: what was asked about in vain is asked about at once, and not in half a minute`, async t => {
      const { works, broker: start, token } = await worksGround(t, kind)
      const broker = await start()
      works.onWrite = asked => {
        asked.apply()
        asked.socket.destroy()
      }
      works.onRead = asked => asked.answer(503, {})
      const startedAtMs = performance.now()
      const waits = await broker.call(token, 'do_work.v1', { item: 'waits', amount: 1 }, 'key-1')
      assert.equal(waits.body.outcome, 'unknown')
      await eventually(async () => await failedOf(broker) === 3, 'its look-ups at 0.2, 1 and 5 s failed')
      const triedForMs = performance.now() - startedAtMs

      works.onRead = asked => asked.honest()
      const backAtMs = performance.now()
      await broker.call(token, 'do_work.v1', { item: 'comes later', amount: 1 }, 'key-2')
      const { status, body } = await ending(broker, token, waits)
      assert.deepEqual([status, body.outcome, body.evidence?.source], [200, 'completed', 'lookup'])
      assert.ok(performance.now() - backAtMs < 2 * triedForMs, 'its own turn is 30 s later')
      assert.equal(works.writes.length, 2)
      assert.equal(works.effects.length, 2)
    })

    test(`${kind}: so is what a broker that is gone asked about in vain`, async t => {
      const { works, process: start, token } = await worksGround(t, kind)
      const first = await start()
      works.onWrite = asked => {
        asked.apply()
        asked.socket.destroy()
      }
      works.onRead = asked => asked.answer(503, {})
      const startedAtMs = performance.now()
      const waits = await first.call(token, 'do_work.v1', { item: 'waits', amount: 1 }, 'key-1')
      await eventually(async () => await failedOf(first) === 3, 'its look-ups at 0.2, 1 and 5 s failed')
      const triedForMs = performance.now() - startedAtMs
      await first.stop()

      works.onRead = asked => asked.honest()
      const next = await start()
      const backAtMs = performance.now()
      const { status, body } = await ending(next, token, waits)
      assert.deepEqual([status, body.outcome, body.evidence?.source], [200, 'completed', 'lookup'])
      assert.ok(performance.now() - backAtMs < 2 * triedForMs, 'its own turn is 30 s later')
      assert.equal(works.effects.length, 1)
    })
  }

  test('so is what a replica that died since asked about in vain, by one that lives on', async t => {
    const rig = await makeRedisRig(t)
    const { works, token } = rig
    const [{ broker: first }, { broker: other }] = [await rig.replica(), await rig.replica()]
    works.onWrite = asked => {
      asked.apply()
      asked.socket.destroy()
    }
    works.onRead = asked => asked.answer(503, {})
    const startedAtMs = performance.now()
    // All of its look-ups are to be the first one's, and the other one has looked at its start for what waits.
    await sleep(500)
    other.signal('SIGSTOP')
    const waits = await first.call(token, 'do_work.v1', { item: 'waits', amount: 1 }, 'key-1')
    await eventually(async () => await failedOf(first) === 3, 'its look-ups at 0.2, 1 and 5 s failed')
    const triedForMs = performance.now() - startedAtMs
    await first.kill9()
    other.signal('SIGCONT')
    works.onRead = asked => asked.honest()
    const backAtMs = performance.now()
    await other.call(token, 'do_work.v1', { item: 'comes later', amount: 1 }, 'key-2')
    const { status, body } = await ending(other, token, waits)
    assert.deepEqual([status, body.outcome, body.evidence?.source], [200, 'completed', 'lookup'])
    assert.ok(performance.now() - backAtMs < 2 * triedForMs, 'its own turn is 30 s later')
    assert.equal(works.effects.length, 2)
  })
})
