// Invariant 1: at most one dispatch per attempt. The works honour no keys: whatever arrives twice is done twice.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { Client, Reached } from '../support/broker.ts'
import { ask, persist } from '../crash/agent.ts'
import { ending, eventually, inTurns, STORES, worksGround } from './ground.ts'
import { arrivals, itemOf, MANNERS, mannerly } from './manners.ts'

const REPEATS = 3

/** A store on a busy disk, or a busy upstream, may be too slow for a send: the call says so, nothing left, and it may be made again. */
const isUnsent = ({ status, body }: Reached): boolean =>
  status === 503 && (body.error?.code === 'STATE_UNAVAILABLE' || body.error?.code === 'UPSTREAM_UNREACHABLE') && body.sent === false

async function unlessUnsent (call: () => Promise<Reached>): Promise<Reached> {
  let answer = await call()
  for (let tries = 0; tries < 5 && isUnsent(answer); tries++) answer = await call()
  return answer
}

describe('an attempt is dispatched once or not at all', { concurrency: true }, () => {
  for (const kind of STORES) {
    test(`${kind}: an answer that is lost, cut, late or strange is never followed by a second send, however often the call is repeated`, async t => {
      const { works, broker: start, token } = await worksGround(t, kind)
      works.onWrite = mannerly()
      const broker = await start()
      // A request that was given up before the works had read it never arrived.
      const once = (item: string): void => assert.ok(arrivals(works.writes, item) <= 1, item)
      await inTurns(MANNERS.filter(({ first }) => first !== 'rejected'), async manner => {
        const item = itemOf(manner)
        const call = (): Promise<Reached> => broker.call(token, 'do_work.v1', { item, amount: 7 }, `key-${item}`)
        const first = await unlessUnsent(call)
        for (let repeat = 0; repeat < REPEATS; repeat++) {
          const { status, body } = await unlessUnsent(call)
          assert.deepEqual([status < 300, body.duplicate, body.attempt_id], [true, true, first.body.attempt_id], `${item}: ${JSON.stringify(body)}`)
        }
        once(item)
        // Until it is settled, and for those that took effect for good: look-ups only read.
        if (manner.effect) await ending(broker, token, first)
        once(item)
      })
      assert.ok(works.writes.length > MANNERS.length / 2, 'nearly all of them arrived')
    })

    test(`${kind}: of fifty equal calls at once one is sent, and all others hear of its attempt`, async t => {
      const { works, broker: start, token } = await worksGround(t, kind)
      works.onWrite = asked => setTimeout(asked.honest, 50)
      const broker = await start()
      for (const key of ['key-of-all', undefined]) {
        const item = key ?? 'no key'
        const answers = await Promise.all(Array.from({ length: 50 }, () => broker.call(token, 'do_work.v1', { item, amount: 7 }, key)))
        assert.equal(arrivals(works.writes, item), 1)
        assert.ok(
          answers.every(answer => answer.status === 200 || answer.status === 202 || answer.status === 409 || isUnsent(answer)),
          JSON.stringify(answers.map(({ status, body }) => [status, body.error?.code, body.sent])),
        )
        const ids = new Set(answers.filter(({ status }) => status < 300).map(({ body }) => body.attempt_id))
        assert.equal(ids.size, 1)
        assert.equal(answers.filter(({ status, body }) => status < 300 && body.duplicate === false).length, 1, 'one of them was the call itself')
        assert.ok(answers.filter(({ status }) => status === 409).every(({ body }) => body.error?.code === 'CALL_IN_PROGRESS' && body.sent === false))
      }
    })

    test(`${kind}: what was under way when its broker died is looked up by the next one, and never sent again`, async t => {
      const { works, process: start, token } = await worksGround(t, kind)
      works.onWrite = asked => asked.apply()
      const dying = await start()
      const errand = { token, action: 'do_work.v1', args: { item: 'left behind', amount: 7 }, key: 'key-1' }
      const unanswered = ask(dying, errand)
      await eventually(() => works.writes.length === 1, 'the write arrived')
      await dying.kill9()
      assert.equal(await unanswered, null)
      works.onWrite = asked => asked.honest()
      const next = await start()
      const { body } = await persist(() => next, errand, () => false)
      assert.deepEqual([body.outcome, body.evidence?.source, body.duplicate], ['completed', 'lookup', true])
      assert.deepEqual([works.writes.length, works.effects.length], [1, 1])
    })
  }

  test('redis: where the state was lost and the attempt begun again elsewhere, the mark of the other is no mark: nothing is sent on it', async t => {
    const { works, state, site, broker: start, token } = await worksGround(t, 'redis')
    const broker = await start()
    const replica = await start({ AVAL_STATE: state.redis!.url, AVAL_DATA: join(site.folder, 'replica') })
    works.onWrite = asked => setTimeout(asked.honest, 400)
    let held = false
    state.tap!.rule = verb => verb === 'change:dispatched' && !held ? (held = true, 'hold') : 'pass'
    const call = (client: Client): Promise<Reached> => client.call(token, 'do_work.v1', { item: 'begun twice', amount: 7 }, 'key-1')
    const first = call(broker)
    await eventually(() => held, 'the mark of the first is on its way')
    // This much and no more: a state that has lost what it acknowledged is not believed.
    const forget = 'for _, name in ipairs({ "attempt", "key" }) do for _, key in ipairs(redis.call("KEYS", "aval:{*:" .. name .. ":*")) do redis.call("DEL", key) end end return 1'
    await state.redis!.command('EVAL', forget, '0')
    const second = call(replica)
    await eventually(() => works.writes.length === 1, 'the second was sent')
    state.tap!.release()
    const { status, body } = await first
    assert.deepEqual([status, body.sent, body.error?.code], [503, false, 'STATE_UNAVAILABLE'], JSON.stringify(body))
    assert.equal((await second).body.outcome, 'completed')
    assert.deepEqual([works.writes.length, works.effects.length], [1, 1])
  })

  test('redis: a record that stands under the token of another begin is no leave to send, dispatched or not', async t => {
    const { works, state, broker: start, token } = await worksGround(t, 'redis')
    const broker = await start()
    let held = false
    state.tap!.rule = verb => verb === 'change:dispatched' && !held ? (held = true, 'hold') : 'pass'
    const call = broker.call(token, 'do_work.v1', { item: 'begun twice', amount: 7 }, 'key-1')
    await eventually(() => held, 'the mark is on its way')
    const [name] = /aval:\{t..\}:attempt:att_\w+/.exec(await state.redis!.command('KEYS', '*:attempt:*'))!
    await state.redis!.command('HSET', name, 'token', 'f'.repeat(32), 'state', 'dispatched', 'revision', '2')
    state.tap!.release()
    const { status, body } = await call
    assert.deepEqual([status, body.sent, body.error?.code], [503, false, 'STATE_UNAVAILABLE'], JSON.stringify(body))
    assert.equal(works.writes.length, 0)
  })
})
