// The sheets have changed while an attempt was unknown, and whoever looks it up has never read the old ones (row 45).
import assert from 'node:assert/strict'
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { BrokerProcess } from '../support/broker.ts'
import { makeRedisRig, makeRig, serve, until, type Rig } from './rig.ts'

/** A later edition of the sheet, whose look-up never finds anything and whose requests say that they are of it. */
function renew (folder: string): void {
  const sheet = join(folder, 'works', 'do_work.v1.yaml')
  const text = readFileSync(sheet, 'utf8')
  writeFileSync(sheet, text.replace('where: item.key == attempt.key', "where: item.key == attempt.key + ' of another edition'"))
}

async function loseOne (rig: Rig, broker: BrokerProcess): Promise<string> {
  rig.works.onWrite = asked => {
    asked.apply()
    asked.socket.destroy()
  }
  rig.works.onRead = asked => asked.answer(503, {})
  const { status, body } = await broker.call(rig.token, 'do_work.v1', { item: 'old edition', amount: 1 }, 'key-1')
  assert.deepEqual([status, body.outcome], [202, 'unknown'])
  return body.attempt_id
}

async function completes (rig: Rig, broker: BrokerProcess, id: string): Promise<void> {
  rig.works.onRead = asked => asked.honest()
  rig.works.onWrite = asked => asked.honest()
  const settled = await broker.attempt(rig.token, id, 50_000)
  assert.deepEqual([settled.status, settled.body.outcome, settled.body.result], [200, 'completed', { work_id: 'work_1' }])
  assert.equal(settled.body.evidence.source, 'lookup')
  assert.equal(rig.works.writes.length, 1)
}

// Mostly waiting.
describe('sheets that have changed', { concurrency: 3 }, () => {
  test('a broker that was killed and started on changed sheets looks the attempt up by the old one', async t => {
    const rig = await makeRig(t)
    const broker = await serve(t, rig)
    const id = await loseOne(rig, broker)
    await broker.kill9()
    renew(join(rig.site.folder, 'actions'))
    await completes(rig, await serve(t, rig), id)
  })

  test('the same where the sheet is gone: nothing of the attempt is left open, and the effect is told to whoever may ask again', async t => {
    const rig = await makeRig(t)
    const broker = await serve(t, rig)
    const id = await loseOne(rig, broker)
    await broker.kill9()
    const actions = join(rig.site.folder, 'actions')
    const before = join(rig.site.folder, 'before')
    cpSync(actions, before, { recursive: true })
    rmSync(join(actions, 'works', 'do_work.v1.yaml'))
    writeFileSync(join(actions, 'policy.yaml'), readFileSync(join(actions, 'policy.yaml'), 'utf8').replace('do_work.v1, ', ''))
    rig.works.onRead = asked => asked.honest()
    const without = await serve(t, rig)
    await until('it was looked up', async () => /aval_lookups_total\{[^}]*finding="settled"[^}]*\} 1/.test(await without.metrics()))
    assert.equal((await without.get(rig.token, `/v1/attempts/${id}`)).status, 404)
    await without.stop()
    await completes(rig, await serve(t, rig, { AVAL_ACTIONS: before }), id)
  })

  test('a replica that was rolled out with other sheets looks up by the old one what a replica that is gone had begun', async t => {
    const rig = await makeRedisRig(t)
    const old = await rig.replica()
    const id = await loseOne(rig, old.broker)
    const next = join(rig.site.folder, 'next')
    cpSync(join(rig.site.folder, 'actions'), next, { recursive: true })
    renew(next)
    await old.broker.kill9()
    await completes(rig, (await rig.replica({ AVAL_ACTIONS: next })).broker, id)
  })
})
