// A Redis that forgets, under whole brokers: nothing is sent until what was known is known again, or a person does without it.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { askControl } from '../../src/http/control.ts'
import type { Client } from '../support/broker.ts'
import { makeRedisRig, serve, until, type RedisRig, type Replica } from './rig.ts'

interface Lost {
  readonly rig: RedisRig
  readonly dead: Replica
  readonly alive: Replica
}

const WORK = { item: 'one', amount: 7 }
const call = (rig: RedisRig, client: Client, item = 'one') => client.call(rig.token, 'do_work.v1', { ...WORK, item }, `key-${item}`)

async function readiness (client: Client): Promise<any> {
  return (await fetch(`${client.operationsUrl}/readyz`)).json()
}

/** One broker is killed while its write is under way, its answer never heard, and Redis forgets everything. */
async function loseAll (rig: RedisRig): Promise<Lost> {
  const [dead, alive] = [await rig.replica(), await rig.replica()]
  rig.works.onWrite = asked => asked.apply()
  const lost = call(rig, dead.broker).catch(() => null)
  await until('the write has arrived', () => rig.works.effects.length === 1)
  await until('they know each other', async () => /aval_replicas\{state="live"\} 2/.test(await alive.broker.metrics()))
  await dead.broker.kill9()
  await lost
  await rig.redis.command('FLUSHALL')
  rig.works.onWrite = asked => asked.honest()
  await until('it is found out', async () => (await readiness(alive.broker)).ok === false)
  return { rig, dead, alive }
}

async function holdsStill ({ rig, alive }: Lost): Promise<void> {
  for (const item of ['one', 'another']) {
    const { status, body, headers } = await call(rig, alive.broker, item)
    assert.deepEqual([status, body.error?.code, body.sent, body.error?.retryable], [503, 'STATE_UNAVAILABLE', false, true], JSON.stringify(body))
    assert.ok(Number(headers.get('retry-after')) >= 1)
  }
  assert.equal(rig.works.writes.length, 1, 'nothing was sent')
  const read = await alive.broker.call(rig.token, 'get_item.v1', { item: 'any' })
  assert.deepEqual([read.status, read.body.outcome], [200, 'completed'], 'observations go on')
  await until('only the one that is gone is waited for', async () => {
    return /^has lost what it acknowledged; waits for the replicas [0-9a-f]{16}$/.test((await readiness(alive.broker)).dependencies[0].detail)
  })
  const metrics = await alive.broker.metrics()
  assert.match(metrics, /aval_state_quarantined 1/)
  assert.match(metrics, /aval_state_losses_total\{kind="proved"\} 1/)
  assert.match(alive.broker.log(), /nothing is sent until it knows it again/)
}

function auditOf (replica: Replica): string {
  const folder = join(replica.dataFolder, 'audit')
  return readdirSync(folder).filter(name => name.endsWith('.jsonl')).map(name => readFileSync(join(folder, name), 'utf8')).join('')
}

test('Redis forgets everything while a killed broker alone knows of a write: nothing is sent until it is back; the repeat gets the truth, and there is one effect (F11)', async t => {
  const rig = await makeRedisRig(t)
  const lost = await loseAll(rig)
  await holdsStill(lost)
  const { alive, dead } = lost
  await serve(t, rig, { AVAL_STATE: `redis://127.0.0.1:${dead.way.port}`, AVAL_DATA: dead.dataFolder })
  await until('the repeat hears how it ended', async () => {
    const { status, body } = await call(rig, alive.broker)
    // A refusal says that nothing was sent, and is no end.
    if (status === 503) return false
    assert.notEqual(body.outcome, 'rejected', JSON.stringify(body))
    return body.outcome === 'completed' && body.duplicate === true
  })
  assert.equal(rig.works.effects.length, 1)
  assert.equal((await readiness(alive.broker)).ok, true)
  assert.match(await alive.broker.metrics(), /aval_state_quarantined 0/)
  await until('the audit tells both', () => /"state\.lost"/.test(auditOf(alive)) && /"state\.restored"/.test(auditOf(alive)))
})

test('a person accepts the loss: writes go on without the replica that is gone, the audit and the log say so, and the rest is refused clearly', async t => {
  const rig = await makeRedisRig(t)
  const lost = await loseAll(rig)
  await holdsStill(lost)
  const { alive } = lost
  const socket = join(alive.dataFolder, 'control.sock')
  const answer = await askControl(socket, { command: 'state accept-loss', note: 'its disk is gone' })
  assert.ok(answer.ok)
  const result = answer.result as { readonly accepted: boolean, readonly kind: string, readonly without: readonly string[] }
  assert.deepEqual([result.accepted, result.kind, result.without.length], [true, 'proved', 1])
  await until('writes go on', async () => (await call(rig, alive.broker, 'another')).body.outcome === 'completed')
  assert.equal((await readiness(alive.broker)).ok, true)
  await until('the audit tells it', () => /"kind":"person"[^\n]*"state\.accepted"/.test(auditOf(alive)))
  const again = await askControl(socket, { command: 'state accept-loss', note: 'once more' })
  assert.deepEqual(again, { ok: true, result: { accepted: false, loss: null, kind: null, without: [] } })
})
