// A settled attempt is forgotten in the end. An equal write that comes after that is meant anew: it must not get the name of the one that is forgotten.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { Identity } from '../../src/attempts/identity.ts'
import { firstTurn } from '../../src/execution/reserve.ts'
import { Secret } from '../../src/secret.ts'
import { STORES, worksGround, type WorksGround } from '../invariants/ground.ts'

const WEEK_MS = 7 * 24 * 3_600_000

/** As the end of its time leaves it. */
async function forget ({ state, site }: WorksGround): Promise<void> {
  if (state.redis !== null) {
    const names = 'for _, name in ipairs({ "attempt", "key", "result" }) do for _, key in ipairs(redis.call("KEYS", "aval:{*:" .. name .. ":*")) do redis.call("DEL", key) end end return 1'
    await state.redis.command('EVAL', names, '0')
    return
  }
  const db = new DatabaseSync(join(site.folder, 'data', 'aval.db'))
  db.exec('DELETE FROM attempts')
  db.close()
}

for (const kind of STORES) {
  test(`${kind}: an equal write after its attempt is forgotten is another attempt, with an id of its own`, async t => {
    const ground = await worksGround(t, kind)
    const { works, token } = ground
    const ask = { item: 'one', amount: 7 }
    const ids: string[] = []
    for (let time = 0; time < 3; time++) {
      const broker = await ground.broker()
      const { body } = await broker.call(token, 'do_work.v1', ask, 'key-1')
      assert.deepEqual([body.outcome, body.duplicate], ['completed', false])
      ids.push(body.attempt_id)
      await broker.close()
      await forget(ground)
    }
    assert.equal(new Set(ids).size, 3)
    assert.equal(works.effects.length, 3)
    // Had the store lost it and not forgotten it, an upstream that knows its keys would do it once.
    assert.equal(new Set(works.effects.map(({ key }) => key)).size, 1)
  })
}

test('the upstream key of a call is the same within a week, and another one a week later, whatever came between', () => {
  const identity = new Identity(new Secret('env:TEST', Buffer.alloc(32, 7)))
  const keyAt = (ms: number): string => identity.upstreamKey('record', firstTurn(ms).g)
  const monday = 2_900 * WEEK_MS
  assert.equal(keyAt(monday), keyAt(monday + WEEK_MS - 1))
  for (const ms of [0, 1, WEEK_MS - 1]) assert.notEqual(keyAt(monday + ms), keyAt(monday + ms + WEEK_MS))
  assert.ok(firstTurn(monday).g + 100_000 < firstTurn(monday + WEEK_MS).g, 'generations of one week do not reach the next')
})
