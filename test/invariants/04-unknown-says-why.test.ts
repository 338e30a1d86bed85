// Invariant 4: `unknown` only where evidence is missing, and it names what is missing.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { controlOf, edited, eventually, inTurns, STORES, worksGround } from './ground.ts'
import { itemOf, MANNERS, mannerly } from './manners.ts'

describe('unknown is said only where evidence is missing, and operators are told which', { concurrency: true }, () => {
  for (const kind of STORES) {
    test(`${kind}: each way in which a write can end is unknown if and only if its answer proves nothing, and names what is missing`, async t => {
      // Nothing settles it afterwards: what was missing stays to be read.
      const { works, site, broker: start, token } = await worksGround(t, kind, {}, one => edited(one, 'actions/works/do_work.v1.yaml', text =>
        text.replace(/^lookup:[^]*?(?=^limits:)/m, 'lookup: none\n').replace(/.*202.*\n/, '').replace('timeout: 1s', 'timeout: 3s')))
      works.onWrite = mannerly()
      const broker = await start()
      const ids = new Map<string, string>()
      await inTurns(MANNERS, async manner => {
        const { status, body } = await broker.call(token, 'do_work.v1', { item: itemOf(manner), amount: 7 }, `key-${itemOf(manner)}`)
        const said = `${manner.name}: ${JSON.stringify(body)}`
        ids.set(manner.name, body.attempt_id)
        if (withoutLookup(manner).missing === null) {
          assert.deepEqual([status, body.outcome], [200, withoutLookup(manner).first], said)
          return
        }
        assert.deepEqual(
          [status, body.ok, body.outcome, body.sent, body.error?.code, body.error?.retryable],
          [202, false, 'unknown', true, 'OUTCOME_UNKNOWN', false],
          said,
        )
        assert.doesNotMatch(body.error?.message, /fail|retry/i)
        assert.equal(body.next.path, `/v1/attempts/${body.attempt_id}`)
      })
      const open = MANNERS.filter(manner => withoutLookup(manner).missing !== null)
      const listed = async (): Promise<ReadonlyMap<string, Listed>> => {
        const answer = await controlOf(site, { command: 'attempts', unknown: true })
        assert.ok(answer.ok)
        const { attempts } = answer.result as unknown as { readonly attempts: readonly Listed[] }
        return new Map(attempts.map(one => [one.attempt, one]))
      }
      await eventually(async () => (await listed()).size === open.length, 'all of them stand in the list of the operators')
      const list = await listed()
      for (const manner of open) assert.match(list.get(ids.get(manner.name)!)?.missing ?? '', withoutLookup(manner).missing!, manner.name)
    })

    test(`${kind}: a call of which it is proved that nothing left is never unknown`, async t => {
      const { works, broker: start, token } = await worksGround(t, kind)
      const broker = await start()
      await works.stop()
      const { status, body } = await broker.call(token, 'do_work.v1', { item: 'nobody there', amount: 1 }, 'key-1')
      assert.deepEqual(
        [status, body.outcome, body.sent, body.error?.code, body.error?.retryable],
        [503, 'rejected', false, 'UPSTREAM_UNREACHABLE', true],
      )
      const listed = await broker.get(token, '/v1/attempts')
      assert.deepEqual(listed.body.attempts.map((one: { outcome: string, sent: boolean }) => [one.outcome, one.sent]), [['rejected', false]])
    })

    test(`${kind}: as soon as there is evidence, an unknown outcome ends by it`, async t => {
      const { works, broker: start, token } = await worksGround(t, kind)
      works.onWrite = asked => {
        asked.apply()
        asked.socket.destroy()
      }
      let answers = 0
      // Neither of these says anything about the write.
      works.onRead = asked => {
        answers += 1
        if (answers <= 2) asked.answer(answers === 1 ? 500 : 404, { title: 'not now' })
        else asked.honest()
      }
      const broker = await start()
      const first = await broker.call(token, 'do_work.v1', { item: 'found late', amount: 7 }, 'key-1')
      assert.equal(first.body.outcome, 'unknown')
      const { body } = await broker.attempt(token, first.body.attempt_id)
      assert.deepEqual([body.outcome, body.evidence?.source, body.evidence?.upstream_status], ['completed', 'lookup', 200])
      assert.equal(works.lookups.length, 3)
    })
  }
})

interface Listed {
  readonly attempt: string
  readonly missing: string | null
}

/** Without a look-up there is no second opinion: a 202 will never be followed up, and a refusal is taken for what it says. */
function withoutLookup (manner: (typeof MANNERS)[number]): Pick<(typeof MANNERS)[number], 'first' | 'missing'> {
  if (manner.first === 'pending') return { first: 'unknown', missing: /accepted the call \(202\) and no look-up is declared/ }
  if (manner.name.endsWith('its own echo')) return { first: 'rejected', missing: null }
  return manner
}
