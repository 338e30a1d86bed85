// Redis forgets while a commit is on its way to the upstream: whatever is forgotten, the write is one, and nobody is told that it was none.
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { eventually } from '../invariants/ground.ts'
import { consentStage, OTHER_ADDRESS, type Stage } from './stage.ts'
import type { RedisServer } from '../support/redis.ts'

interface Loss {
  readonly what: string
  /** While the write is on the wire. `before`: how long the append-only file was when the proposal had been made. */
  readonly lose: (redis: RedisServer, on: Stage, id: string, before: number) => Promise<unknown>
  /** What can be said of the proposal when all is over. */
  readonly after: RegExp
}

const keyOf = (id: string, kind = 'proposal'): string => `aval:{t${id.slice(5, 7)}}:${kind}:${id}`

const LOSSES: readonly Loss[] = [
  { what: 'is flushed', lose: redis => redis.command('FLUSHALL'), after: /^(gone|consumed)$/ },
  {
    what: 'comes back as it was before the approval', after: /^consumed$/,
    async lose (redis, _on, _id, before) {
      await redis.kill9()
      redis.truncateLog(before)
      await redis.restart()
    },
  },
  { what: 'evicts the proposal', lose: (redis, _on, id) => redis.command('DEL', keyOf(id)), after: /^gone$/ },
]

/** @param answered whether the shop answers what it has done */
async function commitThrough (t: TestContext, { lose }: Loss, answered: boolean): Promise<{ readonly on: Stage, readonly id: string, readonly told: { status: number, body: any } }> {
  const on = await consentStage(t, 'redis')
  const id = await on.propose()
  const before = on.redis!.logLength()
  await on.approve(id)
  on.recorder.before = async ({ method }) => {
    if (method === 'GET') return
    on.recorder.before = () => undefined
    await lose(on.redis!, on, id, before)
  }
  if (!answered) on.shop.faults.arm({ kind: 'lose' }, { method: 'PATCH' })
  const told = await on.commit(id)
  return { on, id, told }
}

for (const loss of LOSSES) {
  for (const answered of [true, false]) {
    test(`Redis ${loss.what} in the middle of a commit whose answer ${answered ? 'comes' : 'is lost'}: one effect, told as done or unknown, and none more (F11)`, async t => {
      const { on, id, told } = await commitThrough(t, loss, answered)
      assert.ok(['completed', 'unknown', 'pending'].includes(told.body.outcome), JSON.stringify(told.body))
      assert.equal(told.body.sent ?? true, true)
      let last: any = null
      await eventually(async () => {
        const { status, body } = last = await on.commit(id)
        assert.ok(on.writes().length === 1, 'nothing is sent a second time')
        if (status === 200) assert.equal(body.outcome, 'completed', JSON.stringify(body))
        return status === 200 || status === 404
      }, 'Redis is believed again', 60_000)
      const kept = await on.store().findProposal(id)
      assert.match(kept?.record.state ?? 'gone', loss.after, JSON.stringify(last.body))
      await eventually(async () => (await on.broker.get(on.token, `/v1/attempts/${told.body.attempt_id}`)).body.outcome === 'completed', 'the attempt is known', 60_000)
      assert.deepEqual([on.writes().length, on.effects()], [1, 1])
      const anew = await on.call({ destination: OTHER_ADDRESS })
      assert.deepEqual([anew.status, anew.body.pending_on, on.writes().length], [202, 'consent', 1], 'what comes next is asked of people')
    })
  }
}
