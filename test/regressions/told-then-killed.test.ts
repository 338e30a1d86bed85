// A broker that is killed in the moment in which an agent hears how its write ended, and a Redis that then forgets everything: what was told stands.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeRedisRig, serve, until } from '../crash/rig.ts'
import { auditRowsIn, type AuditRow } from '../invariants/ground.ts'
import { PASS, startRedisTap } from '../invariants/redis-tap.ts'
import type { Reached } from '../support/broker.ts'
import { freePort } from '../support/redis.ts'

const ROUNDS = 5

test('what was told is kept, though its broker died in the same moment and Redis forgot it', async t => {
  const rig = await makeRedisRig(t)
  const { broker: first, way, dataFolder } = await rig.replica()
  let broker = first
  for (let round = 0; round < ROUNDS; round++) {
    // By a look-up it would have come to nothing under another code.
    rig.works.onWrite = asked => asked.answer(413, {})
    const { status, body } = await broker.call(rig.token, 'do_work.v1', { item: `item-${round}`, amount: 7 }, `key-${round}`)
    const dead = broker.kill9()
    assert.deepEqual([status, body.outcome, body.error?.code, body.sent], [200, 'rejected', 'UPSTREAM_REJECTED', true])
    await dead
    await rig.redis.command('FLUSHALL')
    broker = await serve(t, rig, { AVAL_STATE: `redis://127.0.0.1:${way.port}`, AVAL_DATA: dataFolder })
    await until('it is known again', async () => (await broker.get(rig.token, `/v1/attempts/${body.attempt_id}`)).status === 200)
    const again = (await broker.get(rig.token, `/v1/attempts/${body.attempt_id}?wait=20s`)).body
    assert.deepEqual([again.outcome, again.error?.code], ['rejected', 'UPSTREAM_REJECTED'])
  }
  assert.equal(rig.works.writes.length, ROUNDS)
})

test('what Redis acknowledged to a broker that died before it heard so, and others were told, is kept though Redis forgot it', async t => {
  const rig = await makeRedisRig(t)
  const tap = await startRedisTap(rig.redis.port)
  t.after(() => tap.stop())
  const env = { AVAL_STATE: `redis://127.0.0.1:${tap.port}`, AVAL_DATA: join(rig.site.folder, 'sender') }
  const sender = await serve(t, rig, env)
  const { broker: other } = await rig.replica()
  // Redis does it, and the sender never hears so.
  tap.rule = verb => verb === 'change:settled' ? 'mute' : 'pass'
  rig.works.onWrite = asked => asked.answer(413, {})
  const call = sender.call(rig.token, 'do_work.v1', { item: 'item-1', amount: 7 }, 'key-1').catch(() => null)
  let told: Reached['body'] | undefined
  await until('the other one knows its end', async () => {
    told = (await other.get(rig.token, '/v1/attempts')).body.attempts[0]
    return told?.outcome === 'rejected'
  })
  await sender.kill9()
  assert.equal(await call, null)
  const id = told!.attempt_id
  assert.equal((await other.get(rig.token, `/v1/attempts/${id}`)).body.error.code, 'UPSTREAM_REJECTED')
  await rig.redis.command('FLUSHALL')
  tap.rule = PASS
  await serve(t, rig, env)
  await until('it is known again', async () => (await other.get(rig.token, `/v1/attempts/${id}`)).status === 200)
  const again = (await other.get(rig.token, `/v1/attempts/${id}?wait=20s`)).body
  assert.deepEqual([again.outcome, again.error?.code], ['rejected', 'UPSTREAM_REJECTED'])
  assert.equal(rig.works.writes.length, 1)
})

test('of what never left, and whose broker died before Redis was told so, the next one tells', async t => {
  const rig = await makeRedisRig(t)
  const tap = await startRedisTap(rig.redis.port)
  t.after(() => tap.stop())
  const closed = await freePort()
  const upstream = join(rig.site.folder, 'actions/works/upstream.yaml')
  writeFileSync(upstream, readFileSync(upstream, 'utf8').replace(/127\.0\.0\.1:\d+/, `127.0.0.1:${closed}`))
  const env = { AVAL_STATE: `redis://127.0.0.1:${tap.port}`, AVAL_DATA: join(rig.site.folder, 'sender') }
  const sender = await serve(t, rig, env)
  let dead: Promise<void> | null = null
  tap.rule = verb => {
    if (verb !== 'change:settled') return 'pass'
    dead ??= sender.kill9()
    return 'break'
  }
  await assert.rejects(sender.call(rig.token, 'do_work.v1', { item: 'item-1', amount: 7 }, 'key-1'))
  await dead
  tap.rule = PASS
  const next = await serve(t, rig, env)
  const ends = (): readonly AuditRow[] => auditRowsIn(env.AVAL_DATA).filter(({ event }) => event === 'execution.resolved')
  await until('its end is told', () => ends().length > 0)
  const [{ attempt_id: id, error }] = (await next.get(rig.token, '/v1/attempts')).body.attempts
  assert.equal(error.code, 'UPSTREAM_UNREACHABLE')
  assert.deepEqual(ends().map(({ attempt, by, code, sent }) => [attempt!.id, by, code, sent]), [[id, 'late_answer', 'UPSTREAM_UNREACHABLE', false]])
  assert.equal(rig.works.writes.length, 0)
})
