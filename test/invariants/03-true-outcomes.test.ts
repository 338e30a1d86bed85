// Invariant 3: every `completed` is in the upstream's own ledger, every `rejected` is not.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ending, inTurns, STORES, worksGround } from './ground.ts'
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
        if (body.outcome === 'rejected' && manner.first === 'unknown') assert.equal(body.error?.code, 'NOT_APPLIED', said)
        told.set(item, body.outcome)
      }, MANNERS.length)
      // Nothing late has made any of it untrue.
      for (const [item, outcome] of told) assert.equal(effects(item), outcome === 'completed' ? 1 : 0, item)
      const asMeant = MANNERS.filter(manner => effects(itemOf(manner)) === (manner.effect ? 1 : 0))
      assert.ok(asMeant.length >= MANNERS.length - 3, 'the upstream behaved as it was told to')
    })

    test(`${kind}: not found twice is no proof while the write can still be under way`, async t => {
      const { works, broker: start, token } = await worksGround(t, kind)
      let late = (): void => {}
      let arrivedAtMs = 0
      works.onWrite = ({ socket, apply }) => {
        arrivedAtMs = performance.now()
        late = apply
        socket.destroy()
      }
      let lookups = 0
      works.onRead = asked => {
        asked.honest()
        lookups += 1
        // Well before the send window and the time-out are over, and after the broker was told twice that there is nothing.
        if (lookups === 2 && performance.now() - arrivedAtMs < 2_700) late()
      }
      const broker = await start()
      for (let tries = 0; works.effects.length === 0; tries++) {
        assert.ok(tries < 5, 'the second look-up never came in time')
        lookups = 0
        const first = await broker.call(token, 'do_work.v1', { item: `late-${tries}`, amount: 7 }, `key-${tries}`)
        const { body } = await ending(broker, token, first)
        if (works.effects.length > 0) assert.equal(body.outcome, 'completed', JSON.stringify(body))
      }
    })
  }
})
