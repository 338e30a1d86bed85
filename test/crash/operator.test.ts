// What a person does to a running broker: with the real commands, and as an agent asks for it.
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { ISSUER, type BrokerProcess } from '../support/broker.ts'
import { aval, type Ended } from '../support/program.ts'
import { makeRedisRig, makeRig, serve, until, type Rig } from './rig.ts'
import { WORKER } from './works.ts'

const run = (t: TestContext, rig: Rig, args: readonly string[], env: { readonly [name: string]: string } = {}): Promise<Ended> =>
  aval(t, args, { env: { ...rig.site.env as { readonly [name: string]: string }, ...env } })

/** A write whose answer is lost and that nothing but a person can find: its id. */
async function lose (rig: Rig, broker: BrokerProcess, item: string, applied: boolean): Promise<string> {
  rig.works.onWrite = asked => {
    if (applied) asked.apply()
    asked.socket.destroy()
  }
  const { status, body } = await broker.call(rig.token, 'replace_item.v1', { item, text: 'x' }, `key-${item}`)
  assert.deepEqual([status, body.outcome], [202, 'unknown'])
  rig.works.onWrite = asked => asked.honest()
  // Its sheet has no look-up, so from the first answer on it is a person's.
  assert.match(body.error.message, /waits for a person/)
  assert.ok(body.next.after_seconds >= 600, 'nobody need ask soon')
  return body.attempt_id
}

test('`aval attempts --unknown` lists what a person must decide, and `aval resolve` decides it, once', async t => {
  const rig = await makeRig(t)
  const { token } = rig
  const broker = await serve(t, rig)
  const none = await run(t, rig, ['attempts', '--unknown'])
  assert.deepEqual([none.code, none.stdout], [0, ''], none.stderr)
  const done = await lose(rig, broker, 'done', true)
  const undone = await lose(rig, broker, 'undone', false)
  const busy = await broker.call(token, 'replace_item.v1', { item: 'undone', text: 'another' }, 'key-another')
  // Nothing tells the two writes apart, so the second one must wait for the person.
  assert.deepEqual([busy.status, busy.body.error.code, busy.body.sent], [409, 'TARGET_BUSY', false])

  const listed = await run(t, rig, ['attempts', '--unknown'])
  assert.equal(listed.code, 1, listed.stderr)
  for (const id of [done, undone]) assert.match(listed.stdout, new RegExp(`^${id} +(unknown|escalated) +replace_item\\.v1 +default +run-1 `, 'm'))
  const json = await run(t, rig, ['attempts', '--unknown', '--json'])
  assert.equal(json.code, 1)
  assert.deepEqual(JSON.parse(json.stdout).attempts.map((one: { attempt: string }) => one.attempt), [done, undone], 'the oldest first')
  assert.ok(!json.stdout.includes('"x"'), 'no argument is shown')

  const wrong = await run(t, rig, ['resolve', `att_00${'0'.repeat(32)}`, '--outcome', 'completed', '--note', 'no such attempt'])
  assert.deepEqual([wrong.code, wrong.stdout], [2, ''])
  assert.equal((await run(t, rig, ['resolve', done, '--outcome', 'completed'])).code, 2, 'a note is needed')
  const resolved = await run(t, rig, ['resolve', done, '--outcome', 'completed', '--note', 'seen in the works'])
  assert.equal(resolved.code, 0, resolved.stderr)
  const first = await broker.attempt(token, done)
  assert.deepEqual([first.status, first.body.outcome, first.body.sent, first.body.evidence.source], [200, 'completed', true, 'person'])
  const again = await run(t, rig, ['resolve', done, '--outcome', 'rejected', '--note', 'changed my mind'])
  assert.equal(again.code, 2, 'what is settled stays as it is')
  assert.match(again.stderr, /ALREADY_SETTLED: The attempt is settled already, as completed by a person/)
  assert.equal((await broker.attempt(token, done)).body.outcome, 'completed')

  const rejected = await run(t, rig, ['resolve', undone, '--outcome', 'rejected', '--note', 'not in the works'])
  assert.equal(rejected.code, 0, rejected.stderr)
  const second = await broker.attempt(token, undone)
  assert.deepEqual([second.body.outcome, second.body.error.code, second.body.evidence.source], ['rejected', 'NOT_APPLIED', 'person'])
  assert.equal((await run(t, rig, ['attempts', '--unknown'])).code, 0)
  const next = await broker.call(token, 'replace_item.v1', { item: 'undone', text: 'another' }, 'key-another')
  assert.equal(next.body.outcome, 'completed', 'the target is free')
})

test('an agent hands an unknown attempt to a person: it says that a person was asked, and later what the person said', async t => {
  const rig = await makeRig(t)
  const { works, token } = rig
  const broker = await serve(t, rig)
  works.onWrite = asked => asked.socket.destroy()
  works.onRead = asked => asked.answer(503, {})
  const { body } = await broker.call(token, 'do_work.v1', { item: 'handed over', amount: 1 }, 'key-1')
  const escalated = await broker.post(token, `/v1/attempts/${body.attempt_id}/escalate`)
  assert.deepEqual([escalated.status, escalated.body.outcome, escalated.body.sent], [202, 'unknown', true])
  assert.match(escalated.body.error.hint, /person/)
  assert.match(escalated.body.error.message, /waits for a person/)
  assert.deepEqual([body.next.after_seconds < 60, escalated.body.next.after_seconds >= 600], [true, true])
  assert.equal((await broker.post(token, `/v1/attempts/${body.attempt_id}/escalate`)).status, 202, 'asking twice is asking once')
  const asked = await rig.site.token({ ...WORKER, sub: 'someone-else', run: 'run-1' })
  assert.equal((await broker.post(asked, `/v1/attempts/${body.attempt_id}/escalate`)).status, 404, 'it is nobody else\'s to hand over')
  const listed = await run(t, rig, ['attempts', '--unknown'])
  assert.match(listed.stdout, new RegExp(`^${body.attempt_id} +escalated `, 'm'))
  assert.equal((await run(t, rig, ['resolve', body.attempt_id, '--outcome', 'rejected', '--note', 'not there'])).code, 0)
  const settled = await broker.attempt(token, body.attempt_id)
  assert.deepEqual([settled.body.outcome, settled.body.evidence.source, settled.body.error.code], ['rejected', 'person', 'NOT_APPLIED'])
})

test('a run that is stopped admits no further call, on any replica; what was sent goes on to its end', async t => {
  const rig = await makeRedisRig(t)
  const { works, site, token } = rig
  const [one, other] = await Promise.all([rig.replica(), rig.replica()])
  let release = (): void => {}
  works.onWrite = asked => { release = () => asked.honest() }
  const underWay = one.broker.call(token, 'do_work.v1', { item: 'under way', amount: 1 }, 'key-1')
  await until('the write has arrived', () => works.writes.length === 1)
  const stopped = await one.broker.post(token, '/v1/run/stop')
  assert.deepEqual([stopped.status, stopped.body.ok, stopped.body.stopped, stopped.body.run], [200, true, true, 'run-1'])
  for (const { broker } of [one, other]) {
    const { status, body } = await broker.call(token, 'do_work.v1', { item: 'too late', amount: 1 }, 'key-2')
    // At once, also where the list of stopped runs was not read yet.
    assert.deepEqual([status, body.error.code, body.sent], [403, 'RUN_STOPPED', false])
  }
  await until('reads are refused on the other replica too', async () => {
    const { body } = await other.broker.call(token, 'get_item.v1', { item: 'any' })
    return body.error?.code === 'RUN_STOPPED'
  })
  release()
  assert.equal((await underWay).body.outcome, 'completed')
  assert.equal((await other.broker.attempt(token, (await underWay).body.attempt_id)).body.outcome, 'completed', 'its attempts can still be asked for')

  const another = await site.token({ ...WORKER, run: 'run-2' })
  works.onWrite = asked => asked.honest()
  assert.equal((await other.broker.call(another, 'do_work.v1', { item: 'other run', amount: 1 }, 'key-1')).body.outcome, 'completed')
  const byPerson = await run(t, rig, ['runs', 'stop', 'run-2', '--sub', 'agent-1', '--issuer', ISSUER], { AVAL_DATA: one.dataFolder })
  assert.deepEqual([byPerson.code, byPerson.stderr.trim()], [0, 'run run-2 of agent-1 is stopped'])
  const unseen = await run(t, rig, ['runs', 'stop', 'run-9', '--sub', 'agent-1', '--issuer', ISSUER], { AVAL_DATA: one.dataFolder })
  assert.deepEqual([unseen.code, unseen.stderr.trim()], [0, 'no write and no proposal of a run run-9 of agent-1 has been seen; if it comes, it is refused'])
  const refused = await other.broker.call(another, 'do_work.v1', { item: 'other run again', amount: 1 }, 'key-2')
  assert.deepEqual([refused.status, refused.body.error.code, refused.body.sent], [403, 'RUN_STOPPED', false])
  assert.equal(works.writes.length, 2)
})

test('a run stays stopped over a restart, on the embedded store', async t => {
  const rig = await makeRig(t)
  const { works, token } = rig
  const broker = await serve(t, rig)
  assert.equal((await broker.post(token, '/v1/run/stop')).status, 200)
  await broker.kill9()
  const next = await serve(t, rig)
  const { status, body } = await next.call(token, 'do_work.v1', { item: 'after the restart', amount: 1 }, 'key-1')
  assert.deepEqual([status, body.error.code], [403, 'RUN_STOPPED'])
  assert.equal(works.writes.length, 0)
})

test('commands say that no broker runs, with exit code 2 and nothing on stdout', async t => {
  const rig = await makeRig(t)
  const commands = [['attempts'], ['reload'], ['runs', 'stop', 'run-1', '--sub', 'a'], ['resolve', 'att_x', '--outcome', 'completed', '--note', 'n']]
  for (const args of commands) {
    const { code, stdout, stderr } = await run(t, rig, args)
    assert.deepEqual([code, stdout], [2, ''], stderr)
    assert.match(stderr, /No broker runs here/)
  }
})
