// A store that forgets, and an attempt that somebody else than its sender ended: who found the end out knows it, and what was begun meanwhile, because
// the end was forgotten, neither is sent nor takes the place of what it repeats.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { AttemptRecord } from '../../src/attempts/attempt.ts'
import { openRedis } from '../../src/store/redis.ts'
import { openReplica, type ReplicaStore } from '../../src/store/replica.ts'
import { StateUnavailable } from '../../src/store/store.ts'
import { begun, changed, done, eventually, FREE, draft, nameFor, neverSent, reached, rejected, settle } from '../store/drafts.ts'
import { startRedis } from '../support/redis.ts'

async function ground (t: TestContext): Promise<{ readonly url: string, forget (): Promise<void>, replica (): Promise<ReplicaStore> }> {
  const redis = await startRedis()
  t.after(() => redis.stop())
  return {
    url: redis.url,
    forget: async () => { await redis.command('FLUSHALL') },
    replica: async () => {
      const folder = mkdtempSync(join(tmpdir(), 'aval-forgotten-'))
      const nothing = (): void => {}
      const store = await openReplica(redis.url, {
        folder, digest: () => 'd1',
        events: { lost: nothing, ended: nothing, landed: nothing, fault: nothing, journalSynced: nothing, journalFault: nothing },
      })
      t.after(async () => {
        await store.close()
        rmSync(folder, { recursive: true, force: true })
      })
      return store
    },
  }
}

/** As it is once what was lost has been found out, and told again by all. */
async function restored (store: ReplicaStore, id: string): Promise<AttemptRecord> {
  let found: AttemptRecord | null = null
  await eventually(async () => {
    try {
      found = await store.find(id)
    } catch (error) {
      if (!(error instanceof StateUnavailable)) throw error
    }
    return found !== null
  }, `${id} is known again`, 20_000)
  return found!
}

test('an end that another replica found out outlives the store: the attempt does not end a second time, in another way', async t => {
  const { forget, replica } = await ground(t)
  const [sender, finder] = [await replica(), await replica()]
  await eventually(async () => sender.replica.members().length === 2, 'they know of each other')
  const record = await reached(sender, 'unknown')
  const end = { ...rejected('NOT_APPLIED', true), evidence: { source: 'lookup', upstreamStatus: 200, by: null } } as const
  const ended = await settle(finder, record, end)
  await forget()
  const found = await restored(sender, record.id)
  assert.deepEqual([found.state, found.settlement?.code, found.settledAtMs], ['settled', 'NOT_APPLIED', ended.settledAtMs])
})

test('what became of an attempt whose sender never wrote it down is known to who found it out', async t => {
  const { url, forget, replica } = await ground(t)
  // As a process leaves it that died before its journal was on the disk: the store alone has the mark.
  const dead = await openRedis(url)
  t.after(() => dead.close())
  const finder = await replica()
  const [lost, cancelled] = [await reached(dead, 'dispatched'), await begun(dead)]
  await changed(finder, lost, { type: 'lose', token: lost.token, missing: 'no broker reported an answer', reference: null })
  await settle(finder, cancelled, neverSent())
  await forget()
  assert.equal((await restored(finder, lost.id)).state, 'unknown')
  assert.equal((await restored(finder, cancelled.id)).settlement?.sent, false)
})

test('what its own sender settled before it left is known after the store has forgotten it', async t => {
  const { forget, replica } = await ground(t)
  const sender = await replica()
  const record = await settle(sender, await begun(sender), neverSent())
  await forget()
  assert.equal((await restored(sender, record.id)).settlement?.sent, false)
})

test('what was begun while its key was forgotten does not take the place of what was done under that key', async t => {
  const { url, forget, replica } = await ground(t)
  const sender = await replica()
  const first = await settle(sender, await reached(sender, 'dispatched', { key: 'k', args: { a: 1 } }), done())
  await forget()
  const blind = await openRedis(url)
  t.after(() => blind.close())
  const second = await begun(blind, { key: 'k', args: { a: 1 }, n: 1 })
  await settle(blind, second, neverSent())
  await restored(sender, first.id)
  const { finding } = await sender.recall(nameFor(first))
  assert.equal(finding.kind === 'duplicate' && finding.record.id, first.id, 'a repeat gets what was done, and is not begun anew')
})

test('what was begun before what was lost is known again is not sent afterwards', async t => {
  const { url, forget, replica } = await ground(t)
  const sender = await replica()
  const first = await settle(sender, await reached(sender, 'dispatched', { key: 'k', args: { a: 1 } }), done())
  await forget()
  const blind = await openRedis(url)
  t.after(() => blind.close())
  const second = await begun(blind, { key: 'k', args: { a: 1 }, n: 1 })
  await restored(sender, first.id)
  await assert.rejects(sender.advance(second, { type: 'dispatch', token: second.token }), StateUnavailable)
  assert.equal((await sender.find(second.id))!.state, 'prepared')
  const { finding } = await sender.recall(nameFor(first))
  assert.equal(finding.kind === 'duplicate' && finding.record.id, first.id)
  assert.equal((await sender.begin(draft(), null, FREE)).kind, 'begun')
})

test('a replica that has never made a mark among the attempts of a tenant does not send what it repeats blindly, at the moment of the loss', async t => {
  const { forget, replica } = await ground(t)
  const [sender, other] = [await replica(), await replica()]
  await eventually(async () => sender.replica.members().length === 2, 'they know of each other')
  await settle(sender, await reached(sender, 'dispatched', { key: 'k', args: { a: 1 } }), done())
  await forget()
  // At once: before its next beat could find it out.
  const again = async (): Promise<unknown> => {
    const second = await begun(other, { key: 'k', args: { a: 1 }, n: 1 })
    return other.advance(second, { type: 'dispatch', token: second.token })
  }
  await assert.rejects(again(), StateUnavailable)
})

test('what repeated a call without a key while that was forgotten, and came to nothing, is no other write after which the call is meant anew', async t => {
  const { forget, replica } = await ground(t)
  const [sender, other] = [await replica(), await replica()]
  await eventually(async () => sender.replica.members().length === 2, 'they know of each other')
  const first = await reached(sender, 'settled', { args: { item: 'i-1' } })
  await forget()
  // At once: before the next beat finds it out.
  const again = await begun(other, { args: { item: 'i-1' }, n: 7, since: 7 })
  await settle(other, again, neverSent())
  await restored(sender, first.id)
  const { finding } = await sender.recall(nameFor(first))
  assert.deepEqual([finding.kind, finding.kind === 'duplicate' && finding.record.id], ['duplicate', first.id])
})
