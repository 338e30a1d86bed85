// Invariant 12: the audit has exactly one terminal line per attempt and per refused call that the process survived; intents without a result are
// listed.
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Json } from '../../src/catalog/catalog.ts'
import type { Client, Reached, Site } from '../support/broker.ts'
import { aval } from '../support/program.ts'
import { WORKER } from '../crash/works.ts'
import { auditRows, controlOf, ending, eventually, STORES, worksGround, type AuditRow } from './ground.ts'
import { PASS } from './redis-tap.ts'

/** Calls, and what was answered to each. */
class History {
  readonly answers: Reached[] = []
  readonly #broker: Client
  readonly #token: string

  constructor (broker: Client, token: string) {
    this.#broker = broker
    this.#token = token
  }

  async call (action: string, args: Json, key?: string, token = this.#token): Promise<Reached> {
    const answer = await this.#broker.call(token, action, args, key)
    this.answers.push(answer)
    return answer
  }
}

/** Every call has one line; every attempt that was ever named has one end, and it is the end that the broker tells. */
function holdLines (rows: readonly AuditRow[], history: History, ends: ReadonlyMap<string, string>): void {
  for (const { status, body } of history.answers) {
    const own = rows.filter(row => row.correlation_id === body.correlation_id && row.step !== undefined)
    assert.equal(own.length, 1, `${JSON.stringify(body)} has ${JSON.stringify(own)}`)
    assert.deepEqual([own[0]!.outcome, own[0]!.code ?? null, own[0]!.sent ?? false], [body.outcome, body.error?.code ?? null, body.sent ?? false])
    if (status >= 400) assert.equal(own[0]!.event, 'action.refused', JSON.stringify(body))
  }
  for (const [id, outcome] of ends) {
    const terminal = rows.filter(row => row.attempt?.id === id && ['execution.result', 'execution.resolved', 'action.refused'].includes(row.event))
    assert.deepEqual(terminal.map(row => row.outcome), [outcome], `${id}: ${JSON.stringify(rows.filter(row => row.attempt?.id === id))}`)
    const intents = rows.filter(row => row.attempt?.id === id && row.event === 'execution.intent')
    assert.ok(intents.length === 1 || (intents.length === 0 && terminal[0]!.sent === false), 'what left had an intent')
    if (intents.length === 1) assert.ok(rows.indexOf(intents[0]!) < rows.indexOf(terminal[0]!), 'the intent stands before the end')
  }
  const named = new Set(rows.flatMap(row => row.attempt === undefined ? [] : [row.attempt.id]))
  assert.deepEqual([...named].filter(id => !ends.has(id)), [], 'the audit names no attempt that the broker does not')
}

async function endsOf (broker: Client, token: string): Promise<Map<string, string>> {
  const { body } = await broker.get(token, '/v1/attempts?limit=200')
  return new Map(body.attempts.map((one: { attempt_id: string, outcome: string }) => [one.attempt_id, one.outcome]))
}

const verify = (t: TestContext, site: Site): ReturnType<typeof aval> => aval(t, ['audit', 'verify', join(site.folder, 'data', 'audit')])

describe('one terminal line for each attempt and each refused call', { concurrency: true }, () => {
  for (const kind of STORES) {
    test(`${kind}: calls that end in every way there is have one line each, and the audit verifies clean once all of them have ended`, async t => {
      const { works, site, broker: start, token } = await worksGround(t, kind)
      const broker = await start()
      const history = new History(broker, token)
      const { call } = { call: history.call.bind(history) }
      const work = (item: string, key?: string): Promise<Reached> => call('do_work.v1', { item, amount: 7 }, key)
      const open: Reached[] = []

      await work('completed', 'key-1')
      await work('completed', 'key-1')
      await call('do_work.v1', { item: 'other arguments', amount: 1 }, 'key-1')
      await Promise.all(Array.from({ length: 10 }, () => work('at once', 'key-2')))
      await call('get_item.v1', { item: 'read' })
      await call('change_item.v1', { item: 'read', text: 'new' })
      await call('do_work.v1', { item: 'too much', amount: 9_999 })
      await call('do_work.v1', { item: 'unknown field', amount: 1, url: 'http://elsewhere.example' })
      await call('nothing_like_it.v1', {})
      await call('do_work.v1', { item: 'no run', amount: 1 }, undefined, await site.token({ ...WORKER, run: null }))

      works.onWrite = asked => asked.answer(422, {})
      await work('refused upstream', 'key-3')
      await work('refused upstream', 'key-3')
      works.onWrite = asked => { asked.apply(); asked.socket.destroy() }
      open.push(await work('lost and done', 'key-4'))
      works.onWrite = asked => asked.socket.destroy()
      open.push(await work('lost and not done', 'key-5'))
      await work('lost and not done', 'key-6')
      await work('lost and not done', 'key-5')
      const forPerson = await call('replace_item.v1', { item: 'for a person', text: 'x' }, 'key-7')
      works.onWrite = asked => { asked.apply(); asked.answer(202, { id: 'w', key: 'k', item: 'pending', amount: 7, state: 'queued' }) }
      open.push(await work('pending', 'key-8'))
      works.onRead = asked => asked.answer(404, {})
      await call('get_item.v1', { item: 'not there' })
      await call('change_item.v1', { item: 'not there', text: 'new' })
      works.onRead = asked => asked.honest()

      for (const answer of open) await ending(broker, token, answer)
      const resolve = { command: 'resolve', id: forPerson.body.attempt_id, outcome: 'completed', code: null, note: 'seen in the works' } as const
      await eventually(async () => (await controlOf(site, resolve)).ok, 'a person resolves the last one')
      await works.stop()
      await work('nobody there', 'key-9')

      const ends = await endsOf(broker, token)
      await broker.close()
      assert.ok([...ends.values()].every(outcome => outcome === 'completed' || outcome === 'rejected'))
      assert.equal(ends.size, 9)
      holdLines(auditRows(site), history, ends)
      const verified = await verify(t, site)
      assert.equal(verified.code, 0, `${verified.stdout}${verified.stderr}`)
    })

    test(`${kind}: an intent whose attempt has not ended is listed, and it alone`, async t => {
      const { works, site, broker: start, token } = await worksGround(t, kind)
      const broker = await start()
      assert.equal((await broker.call(token, 'do_work.v1', { item: 'ended', amount: 7 }, 'key-1')).body.outcome, 'completed')
      works.onWrite = asked => asked.socket.destroy()
      const { body } = await broker.call(token, 'replace_item.v1', { item: 'open', text: 'x' }, 'key-2')
      await broker.close()
      const verified = await verify(t, site)
      assert.equal(verified.code, 1)
      const listed = verified.stdout.match(/att_[0-9a-f]+/g) ?? []
      assert.deepEqual([...new Set(listed)], [body.attempt_id], verified.stdout)
    })
  }

  /** What the owner of the send wants to write, as opposed to a look-up. */
  const ofOwner = (parts: readonly string[]): boolean => parts.some(part => part.includes('"source":"response"'))

  for (const [faster, lookupIsFaster] of [['a look-up was faster', true], ['the broker was faster', false]] as const) {
    test(`redis: an end that could not be written down when it was told has one line all the same: ${faster}`, async t => {
      const { state, site, broker: start, token } = await worksGround(t, 'redis')
      const broker = await start()
      const history = new History(broker, token)
      let unheard = 0
      state.tap!.rule = (verb, parts) => {
        if (verb !== 'change:settled' || !ofOwner(parts) || (!lookupIsFaster && unheard === 6)) return 'pass'
        unheard += 1
        return 'break'
      }
      const told = await history.call('do_work.v1', { item: 'told before', amount: 7 }, 'key-1')
      assert.deepEqual([told.status, told.body.outcome, told.body.recorded], [200, 'completed', false])
      const writtenDown = async (): Promise<boolean> => {
        const { body } = await broker.get(token, `/v1/attempts/${told.body.attempt_id}`)
        return body.evidence?.source === (lookupIsFaster ? 'lookup' : 'response')
      }
      await eventually(writtenDown, 'it is written down', 30_000)
      state.tap!.rule = PASS
      // The other one comes too late, and says nothing.
      await sleep(lookupIsFaster ? 6_000 : 1_000)
      const ends = await endsOf(broker, token)
      await broker.close()
      holdLines(auditRows(site), history, ends)
      const verified = await verify(t, site)
      assert.equal(verified.code, 0, verified.stdout)
    })
  }

  test('redis: an end of which the reply was lost has one line', async t => {
    const { state, site, broker: start, token } = await worksGround(t, 'redis')
    const broker = await start()
    const history = new History(broker, token)
    let unheard = 0
    state.tap!.rule = verb => verb === 'change:settled' && unheard < 3 ? (unheard++, 'mute') : 'pass'
    const told = await history.call('do_work.v1', { item: 'unheard', amount: 7 }, 'key-1')
    assert.deepEqual([told.body.outcome, told.body.recorded], ['completed', false])
    const late = (): readonly AuditRow[] => auditRows(site).filter(row => row.event === 'execution.resolved')
    await eventually(() => late().length === 1, 'the end is told')
    const ends = await endsOf(broker, token)
    await broker.close()
    holdLines(
      auditRows(site).filter(row => row.event !== 'action.called' || row.attempt === undefined || row.correlation_id === told.body.correlation_id),
      history,
      ends,
    )
    assert.equal((await verify(t, site)).code, 0)
  })
})
