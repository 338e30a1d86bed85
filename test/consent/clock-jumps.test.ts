// The clock of the machine jumps by an hour: what was told as over stays over, and what was not yet over gains no time by it.
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { eventually, STORES, type StoreKind } from '../invariants/ground.ts'
import { startRedisTap } from '../invariants/redis-tap.ts'
import { startRedis } from '../support/redis.ts'
import { askForChange, consentStage, OTHER_ADDRESS, type Stage, type StageOptions } from './stage.ts'

const HOUR_MS = 3_600_000

interface Jumping extends Stage {
  /** Of whole seconds. */
  jump (ms: number): void
}

async function jumping (t: TestContext, kind: StoreKind, options: StageOptions = {}): Promise<Jumping> {
  if (kind === 'redis') {
    const redis = await startRedis()
    const tap = await startRedisTap(redis.port)
    t.after(async () => {
      await tap.stop()
      await redis.stop()
    })
    const on = await consentStage(t, 'sqlite', { ...options, env: { AVAL_STATE: `redis://127.0.0.1:${tap.port}` } })
    return { ...on, jump: ms => { tap.aheadS += Math.round(ms / 1_000) } }
  }
  let aheadMs = 0
  const on = await consentStage(t, 'sqlite', { ...options, wallMs: () => Date.now() + aheadMs })
  return { ...on, jump: ms => { aheadMs += ms } }
}

const codeOf = ({ body }: { readonly body: any }): string => body.error?.code ?? body.outcome

/** The clock of Redis can go back, so there what is over stays so from when it was swept, a moment later. */
async function over (on: Stage, kind: StoreKind, ...ids: readonly string[]): Promise<void> {
  if (kind === 'redis') for (const id of ids) await eventually(async () => (await on.record(id)).state === 'expired', 'it is swept')
}

for (const kind of STORES) {
  describe(`a clock that jumps an hour ahead and back: ${kind}`, () => {
    test(`leaves what nobody had decided expired: no yes is taken after it, nor a commit: ${kind} (F14)`, async t => {
      const on = await jumping(t, kind)
      const id = await on.propose()
      on.jump(HOUR_MS)
      const ahead = [codeOf(await on.get(id)), codeOf(await on.commit(id))]
      await over(on, kind, id)
      on.jump(-HOUR_MS)
      assert.deepEqual([ahead, codeOf(await on.get(id)), codeOf(await on.commit(id))], [['PROPOSAL_EXPIRED', 'PROPOSAL_EXPIRED'], 'PROPOSAL_EXPIRED', 'PROPOSAL_EXPIRED'])
      assert.equal((await on.approve(id)).kind, 'refused')
      assert.deepEqual([(await on.record(id)).decisions.length, on.writes().length], [0, 0])
    })

    test(`leaves an approval expired, over a restart too: ${kind} (F14)`, async t => {
      const on = await jumping(t, kind)
      const [told, untold] = [await on.propose(), await on.propose({ destination: OTHER_ADDRESS })]
      for (const id of [told, untold]) await on.approve(id)
      on.jump(HOUR_MS)
      assert.equal(codeOf(await on.commit(told)), 'PROPOSAL_EXPIRED')
      await over(on, kind, told, untold)
      on.jump(-HOUR_MS)
      for (const id of [told, untold]) assert.equal(codeOf(await on.commit(id)), 'PROPOSAL_EXPIRED')
      await on.broker.close()
      const again = await on.another()
      for (const id of [told, untold]) assert.equal(codeOf(await on.commit(id, { broker: again })), 'PROPOSAL_EXPIRED')
      assert.deepEqual([on.writes().length, on.effects()], [0, 0])
    })

    test(`leaves a grant ended: ${kind} (F14)`, async t => {
      const on = await jumping(t, kind, { edit: site => askForChange(site, 'session') })
      const { id } = (await on.call()).body.proposal
      await on.approve(id)
      on.jump(HOUR_MS)
      assert.deepEqual([(await on.call()).body.pending_on, on.effects()], ['consent', 0])
      await over(on, kind, id)
      on.jump(-HOUR_MS)
      assert.deepEqual([(await on.call()).body.pending_on, on.effects()], ['consent', 0])
    })
  })
}

describe('a clock that jumps an hour back', () => {
  test('ends nothing, and gives no approval more time than it had (F14)', async t => {
    const on = await jumping(t, 'sqlite')
    const [first, second] = [await on.propose(), await on.propose({ customer_id: 'cus_1002' })]
    for (const id of [first, second]) await on.approve(id)
    const before = await on.record(second)
    on.jump(-HOUR_MS)
    assert.equal(codeOf(await on.commit(first)), 'completed')
    const after = await on.record(second)
    assert.deepEqual([after.state, after.commitByMs], ['approved', before.commitByMs])
    // To just behind its end, by the clock as it was when it was approved.
    on.jump(HOUR_MS + before.commitByMs! - before.decidedAtMs! + 1_000)
    assert.equal(codeOf(await on.commit(second)), 'PROPOSAL_EXPIRED')
    await eventually(async () => (await on.record(second)).state === 'expired', 'it is swept')
    assert.equal(on.effects(), 1)
  })
})
