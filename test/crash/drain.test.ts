// The end of a broker that was asked to end.
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeRedisRig, makeRig, serve, until } from './rig.ts'

test('SIGTERM: calls in flight hear their true outcome, new ones that nothing was sent, and the process ends clean', async t => {
  const rig = await makeRig(t)
  const { works, token } = rig
  const broker = await serve(t, rig)
  const releases: Array<() => void> = []
  works.onWrite = asked => releases.push(() => asked.honest())
  const done = broker.call(token, 'do_work.v1', { item: 'in flight', amount: 1 }, 'key-1')
  await until('the write has arrived', () => works.writes.length === 1)
  const ended = broker.stop()
  await sleep(100)
  const refused = await broker.call(token, 'do_work.v1', { item: 'too late', amount: 1 }, 'key-2')
  assert.deepEqual([refused.status, refused.body.error.code, refused.body.sent, refused.body.error.retryable], [503, 'SHUTTING_DOWN', false, true])
  assert.equal(refused.headers.get('retry-after'), '1')
  for (const release of releases) release()
  const { status, body } = await done
  assert.deepEqual([status, body.outcome, body.result], [200, 'completed', { work_id: 'work_1' }])
  assert.equal(await ended, 0)
  assert.equal(works.writes.length, 1)

  const next = await serve(t, rig)
  const listed = await next.get(token, '/v1/attempts')
  assert.deepEqual(listed.body.attempts.map((attempt: { outcome: string }) => attempt.outcome), ['completed'], 'nothing is left open')
  works.onWrite = asked => asked.honest()
  const again = await next.call(token, 'do_work.v1', { item: 'too late', amount: 1 }, 'key-2')
  assert.equal(again.body.outcome, 'completed', 'the key of the refused call is free')
})

test('SIGTERM while a write never gets its answer: the call hears unknown at its own deadline, and the next broker learns the truth', async t => {
  const rig = await makeRig(t)
  const { works, token } = rig
  const broker = await serve(t, rig)
  works.onWrite = asked => asked.apply()
  const call = broker.call(token, 'do_work.v1', { item: 'silent', amount: 1 }, 'key-1')
  await until('the write has arrived', () => works.writes.length === 1)
  assert.equal(await broker.stop(), 0)
  const { status, body } = await call
  assert.deepEqual([status, body.outcome, body.sent], [202, 'unknown', true])
  const next = await serve(t, rig)
  const settled = await next.attempt(token, body.attempt_id)
  assert.deepEqual([settled.body.outcome, settled.body.evidence.source], ['completed', 'lookup'])
  assert.equal(works.writes.length, 1)
})

test('a second signal ends the process at once, and what it had sent is found by the next', async t => {
  const rig = await makeRig(t)
  const { works, token } = rig
  const broker = await serve(t, rig)
  works.onWrite = asked => asked.apply()
  const call = broker.call(token, 'do_slow_work.v1', { item: 'cut off', amount: 1 }, 'key-1').catch(() => null)
  await until('the write has arrived', () => works.writes.length === 1)
  const ended = broker.stop()
  // Within the first second a second signal counts as the same one: a press of Ctrl-C can arrive twice.
  await sleep(1_300)
  broker.signal('SIGTERM')
  assert.equal(await ended, null, 'ended by the signal')
  assert.equal(await call, null, 'no answer, and so no false one')
  works.onWrite = asked => asked.honest()
  const next = await serve(t, rig)
  const again = await next.call(token, 'do_slow_work.v1', { item: 'cut off', amount: 1 }, 'key-1')
  const settled = again.status === 202 ? await next.attempt(token, again.body.attempt_id) : again
  assert.equal(settled.body.outcome, 'completed')
  assert.equal(works.writes.length, 1, 'never sent again')
})

test('SIGHUP during the drain ends nothing', async t => {
  const rig = await makeRig(t)
  const { works, token } = rig
  const broker = await serve(t, rig)
  let release = (): void => {}
  works.onWrite = asked => { release = () => asked.honest() }
  const call = broker.call(token, 'do_work.v1', { item: 'in flight', amount: 1 }, 'key-1')
  await until('the write has arrived', () => works.writes.length === 1)
  const ended = broker.stop()
  await sleep(50)
  broker.signal('SIGHUP')
  await sleep(50)
  release()
  assert.equal((await call).body.outcome, 'completed')
  assert.equal(await ended, 0)
})

test('connections that are idle, that wait for an attempt, or that have said half a request do not hold up the end', async t => {
  const rig = await makeRig(t)
  const { works, token } = rig
  const broker = await serve(t, rig)
  works.onWrite = asked => asked.socket.destroy()
  const { body } = await broker.call(token, 'replace_item.v1', { item: 'lost', text: 'x' }, 'key-1')
  const waiting = broker.attempt(token, body.attempt_id, 60_000)
  const socket = connect(Number(new URL(broker.agentsUrl).port), '127.0.0.1')
  socket.on('error', () => {})
  t.after(() => socket.destroy())
  socket.write('POST /v1/actions/do_work.v1 HTTP/1.1\r\nHost: 127')
  await sleep(100)
  const startedAtMs = performance.now()
  assert.equal(await broker.stop(), 0)
  assert.ok(performance.now() - startedAtMs < 15_000)
  const asked = await waiting
  assert.ok(asked.status === 202 || asked.body.error?.code === 'SHUTTING_DOWN', JSON.stringify(asked.body))
})

test('one of two replicas drains while agents go on calling both: every call ends true, and none is sent twice', async t => {
  const { works, token, replica } = await makeRedisRig(t)
  const [leaving, staying] = await Promise.all([replica(), replica()])
  works.onWrite = asked => setTimeout(() => asked.honest(), 30)
  const agent = async (name: string): Promise<void> => {
    for (let call = 0; call < 8; call++) {
      const args = { item: `${name}-${call}`, amount: 1 }
      for (let tries = 0; ; tries++) {
        const { broker } = tries === 0 && call < 4 ? leaving : staying
        const answer = await broker.call(token, 'do_work.v1', args, `key-${name}-${call}`).catch(() => null)
        if (answer?.status === 200) break
        assert.ok(answer === null || answer.body.error.code === 'SHUTTING_DOWN', JSON.stringify(answer?.body))
      }
    }
  }
  const agents = ['a', 'b', 'c', 'd'].map(agent)
  await until('some writes have arrived', () => works.writes.length >= 6)
  assert.equal(await leaving.broker.stop(), 0)
  await Promise.all(agents)
  assert.equal(works.effects.length, 32)
  assert.equal(new Set(works.effects.map(({ key }) => key)).size, 32)
})
