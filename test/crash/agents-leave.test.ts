// Agents that do not wait, that change their minds, or that are kept waiting.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeRedisRig, makeRig, serve, serveHere, stateInRedis, until } from './rig.ts'

test('an agent that disconnects in the middle of a call cancels nothing: the write goes on, and is found by its key (row 17)', async t => {
  const rig = await makeRig(t)
  const { works, token } = rig
  const broker = await serve(t, rig)
  let release = (): void => {}
  works.onWrite = asked => { release = () => asked.honest() }
  const gone = new AbortController()
  const call = fetch(`${broker.agentsUrl}/v1/actions/do_work.v1`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'idempotency-key': 'key-1' },
    body: JSON.stringify({ arguments: { item: 'left', amount: 1 } }),
    signal: gone.signal,
  }).catch(() => null)
  await until('the write has arrived', () => works.writes.length === 1)
  gone.abort()
  assert.equal(await call, null)
  await sleep(50)
  const under = await broker.call(token, 'do_work.v1', { item: 'left', amount: 1 }, 'key-1')
  assert.deepEqual([under.status, under.body.outcome, under.body.pending_on, under.body.duplicate], [202, 'pending', 'dispatch', true])
  release()
  const settled = await broker.attempt(token, under.body.attempt_id)
  assert.deepEqual([settled.status, settled.body.outcome, settled.body.evidence.source], [200, 'completed', 'response'])
  assert.equal(works.writes.length, 1)
})

test('an agent that stops waiting for an attempt costs nothing, and may ask again', async t => {
  const rig = await makeRig(t)
  const { works, token } = rig
  const broker = await serveHere(t, rig)
  works.onWrite = asked => asked.socket.destroy()
  works.onRead = asked => asked.answer(503, {})
  const { body } = await broker.call(token, 'do_work.v1', { item: 'unknown', amount: 1 }, 'key-1')
  for (let times = 0; times < 5; times++) {
    const gone = new AbortController()
    const headers = { authorization: `Bearer ${token}` }
    const asked = fetch(`${broker.agentsUrl}${body.next.path}?wait=30s`, { headers, signal: gone.signal }).catch(() => null)
    await sleep(20)
    gone.abort()
    assert.equal(await asked, null)
  }
  assert.equal((await broker.attempt(token, body.attempt_id, 0)).body.outcome, 'unknown')
})

test('a cancel before the dispatch ends the call exactly there: nothing is sent, both hear so, and the key is free (rows 40 and 42)', async t => {
  const { works, token, redis, replica } = await makeRedisRig(t)
  const [owner, other] = await Promise.all([replica(), replica()])
  owner.way.latency(150)
  const call = owner.broker.call(token, 'do_work.v1', { item: 'cancelled', amount: 1 }, 'key-1')
  await until('the attempt is in Redis', async () => await stateInRedis(redis) === 'prepared')
  const { body: listed } = await other.broker.get(token, '/v1/attempts')
  const cancelled = await other.broker.post(token, `/v1/attempts/${listed.attempts[0].attempt_id}/cancel`)
  assert.deepEqual([cancelled.status, cancelled.body.cancel, cancelled.body.outcome, cancelled.body.sent, cancelled.body.error.code],
    [200, 'cancelled', 'rejected', false, 'CANCELLED'])
  const { status, body } = await call
  assert.deepEqual([status, body.error.code, body.sent], [409, 'CANCELLED', false])
  assert.equal(works.writes.length, 0)
  owner.way.pass()
  const again = await owner.broker.call(token, 'do_work.v1', { item: 'cancelled', amount: 1 }, 'key-1')
  assert.equal(again.body.outcome, 'completed')
  const late = await owner.broker.post(token, `/v1/attempts/${again.body.attempt_id}/cancel`)
  assert.deepEqual([late.status, late.body.cancel, late.body.outcome], [200, 'already_settled', 'completed'])
})

test('a cancel after the dispatch comes too late and changes no outcome: what is told is what happened (row 41)', async t => {
  const rig = await makeRig(t)
  const { works, token } = rig
  const broker = await serve(t, rig)
  let release = (): void => {}
  works.onWrite = asked => { release = () => asked.honest() }
  const call = broker.call(token, 'do_work.v1', { item: 'sent', amount: 1 }, 'key-1')
  await until('the write has arrived', () => works.writes.length === 1)
  const { body: listed } = await broker.get(token, '/v1/attempts')
  const id = listed.attempts[0].attempt_id
  for (let times = 0; times < 2; times++) {
    const late = await broker.post(token, `/v1/attempts/${id}/cancel`)
    assert.deepEqual([late.status, late.body.cancel, late.body.outcome, late.body.pending_on], [202, 'too_late', 'pending', 'dispatch'])
  }
  release()
  assert.deepEqual([(await call).body.outcome, (await call).body.attempt_id], ['completed', id])

  works.onWrite = asked => {
    asked.apply()
    asked.socket.destroy()
  }
  const unknown = await broker.call(token, 'do_work.v1', { item: 'lost', amount: 1 }, 'key-2')
  const wished = await broker.post(token, `/v1/attempts/${unknown.body.attempt_id}/cancel`)
  assert.equal(wished.body.cancel === 'too_late' || wished.body.outcome === 'completed', true, JSON.stringify(wished.body))
  assert.equal((await broker.attempt(token, unknown.body.attempt_id)).body.outcome, 'completed')
})

test('many cancels race with many dispatches: each call is either cancelled and never arrived, or told as it ended (row 42)', async t => {
  const rig = await makeRig(t)
  const { works, token } = rig
  const broker = await serveHere(t, rig)
  let cancelled = 0
  for (let round = 0; round < 30; round++) {
    const item = `raced-${round}`
    const call = broker.call(token, 'do_work.v1', { item, amount: 1 }, `key-${round}`)
    const cancels: Array<Promise<void>> = []
    let answered = false
    void call.finally(() => { answered = true })
    while (!answered) {
      const { body } = await broker.get(token, '/v1/attempts?limit=1')
      const [latest] = body.attempts
      if (latest !== undefined && latest.outcome === 'pending') {
        cancels.push(broker.post(token, `/v1/attempts/${latest.attempt_id}/cancel`).then(({ body: said }) => {
          if (said.cancel === 'cancelled') cancelled++
        }))
      }
    }
    await Promise.all(cancels)
    const { status, body } = await call
    const arrived = works.effects.filter(effect => effect.item === item).length
    if (status === 409) assert.deepEqual([body.error.code, body.sent, arrived], ['CANCELLED', false, 0])
    else assert.deepEqual([body.outcome, arrived], ['completed', 1])
  }
  t.diagnostic(`${cancelled} of 30 were cancelled in time`)
})

test('a write that is still open after 20 s is answered 202, goes on, and completes by its own late answer (row 16)', async t => {
  const rig = await makeRig(t)
  const { works, token } = rig
  const broker = await serve(t, rig)
  works.onWrite = asked => setTimeout(() => asked.honest(), 22_000)
  const { status, body, headers } = await broker.call(token, 'do_slow_work.v1', { item: 'slow', amount: 1 }, 'key-1')
  assert.deepEqual([status, body.outcome, body.pending_on, body.duplicate], [202, 'pending', 'dispatch', false])
  assert.equal(headers.get('location'), `/v1/attempts/${body.attempt_id}`)
  assert.equal(works.effects.length, 0, 'it was answered before anything had come of it')
  const settled = await broker.attempt(token, body.attempt_id)
  assert.deepEqual([settled.status, settled.body.outcome, settled.body.result], [200, 'completed', { work_id: 'work_1' }])
  assert.equal(settled.body.evidence.source, 'response')
  assert.equal(works.writes.length, 1)
})
