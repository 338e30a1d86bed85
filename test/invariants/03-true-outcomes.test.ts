// Invariant 3: every `completed` is in the upstream's own ledger, every `rejected` is not.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { inTurns, STORES, worksGround } from './ground.ts'
import { itemOf, MANNERS, mannerly } from './manners.ts'

describe('every completed is in the ledger, every rejected is not', { concurrency: true }, () => {
  for (const kind of STORES) {
    test(`${kind}: whatever the upstream does, what is said of a write is what its ledger says`, async t => {
      const { works, broker: start, token } = await worksGround(t, kind)
      works.onWrite = mannerly()
      const broker = await start()
      const effects = (item: string): number => works.effects.filter(effect => effect.item === item).length
      const told = new Map<string, string>()
      await inTurns(MANNERS, async manner => {
        const item = itemOf(manner)
        const first = await broker.call(token, 'do_work.v1', { item, amount: 7 }, `key-${item}`)
        if (first.body.outcome === 'completed') assert.equal(effects(item), 1, `${manner.name}: ${JSON.stringify(first.body)}`)
        // What is open is asked for later, so that the waits of all run at the same time.
        told.set(item, first.body.attempt_id)
      })
      await inTurns(MANNERS, async manner => {
        const item = itemOf(manner)
        const { body } = await broker.attempt(token, told.get(item)!)
        const said = `${manner.name}: ${JSON.stringify(body)}`
        assert.ok(body.outcome === 'completed' || body.outcome === 'rejected', said)
        assert.equal(effects(item), body.outcome === 'completed' ? 1 : 0, said)
        if (body.outcome === 'rejected' && manner.first === 'unknown') assert.equal(body.error.code, 'NOT_APPLIED', said)
        told.set(item, body.outcome)
      }, MANNERS.length)
      // Nothing late has made any of it untrue.
      for (const [item, outcome] of told) assert.equal(effects(item), outcome === 'completed' ? 1 : 0, item)
      const asMeant = MANNERS.filter(manner => effects(itemOf(manner)) === (manner.effect ? 1 : 0))
      assert.ok(asMeant.length >= MANNERS.length - 3, 'the upstream behaved as it was told to')
    })
  }
})
