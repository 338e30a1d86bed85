// A replica that ends in peace, and a store that loses what it did, just then or later: nobody else can tell the store again, so it is waited for.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { keysOf, MEMBERS, WATCH_TAG } from '../../src/store/redis-keys.ts'
import { openReplica, type ReplicaStore } from '../../src/store/replica.ts'
import { StateUnavailable } from '../../src/store/store.ts'
import { eventually, nameFor, reached, settle } from '../store/drafts.ts'
import { startRedis } from '../support/redis.ts'

const nothing = (): void => {}

function folderFor (t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'aval-leaves-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const replicaIn = (folder: string, url: string): Promise<ReplicaStore> => openReplica(url, {
  folder, digest: () => 'd1',
  events: { lost: nothing, ended: nothing, landed: nothing, fault: nothing, journalSynced: nothing, journalFault: nothing },
})

for (const [what, forgets] of [['still has', false], ['has lost', true]] as const) {
  test(`a replica that ends while the store ${what} what it acknowledged ${forgets ? 'stays' : 'is no longer'} a member`, async t => {
    const redis = await startRedis()
    t.after(() => redis.stop())
    const store = await replicaIn(folderFor(t), redis.url)
    const { replica } = store.replica
    const record = await settle(store, await reached(store, 'dispatched'))
    if (forgets) {
      await redis.command('DEL', `${keysOf(record.tag).prefix}attempt:${record.id}`)
      await redis.command('SET', keysOf(WATCH_TAG).canary(replica), '0')
    }
    await store.close()
    assert.equal((await redis.command('HKEYS', MEMBERS)).includes(replica), forgets)
  })
}

for (const ends of ['it comes back', 'a person does without it'] as const) {
  test(`a store that forgets all of a replica that has ended in peace is not believed until ${ends}`, async t => {
    const redis = await startRedis()
    t.after(() => redis.stop())
    const folder = folderFor(t)
    const leaving = await replicaIn(folder, redis.url)
    const staying = await replicaIn(folderFor(t), redis.url)
    t.after(() => staying.close())
    const name = leaving.replica.replica
    const knows = (live: number) => async (): Promise<boolean> => staying.replica.members().length === live
    await eventually(knows(2), 'they know of each other')
    const record = await settle(leaving, await reached(leaving, 'dispatched', { key: 'k-1' }))
    await leaving.close()
    await eventually(knows(1), 'that it left is known')
    await redis.command('FLUSHALL')
    await eventually(async () => staying.replica.quarantine()?.waitingFor.join() === name, 'it alone is waited for')
    await assert.rejects(staying.recall(nameFor(record)), StateUnavailable)
    if (ends === 'it comes back') {
      const back = await replicaIn(folder, redis.url)
      t.after(() => back.close())
      await eventually(async () => staying.replica.quarantine() === null, 'it has told the store again')
      assert.equal((await staying.recall(nameFor(record))).finding.kind, 'duplicate')
    } else {
      await staying.replica.acceptLoss()
      await eventually(async () => staying.replica.quarantine() === null, 'the loss is accepted')
      // And stays so: it is not found out again at every beat.
      await new Promise(resolve => setTimeout(resolve, 500))
      assert.equal((await staying.recall(nameFor(record))).finding.kind, 'free')
    }
  })
}
