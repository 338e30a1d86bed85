// What ends by itself: told once, by whoever ended it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createConsentFeed } from '../../src/consent/events.ts'
import { createSweep } from '../../src/consent/sweep.ts'
import { neverSent } from '../store/drafts.ts'
import { commitOf, TERMS } from '../store/proposal-drafts.ts'
import { ground, person, taken, type Ground } from './desk-ground.ts'

const ann = person('ann')

function sweepOf ({ store, lock }: Ground, lostUntilMs = () => -Infinity, stoppedRuns = (): ReadonlySet<string> => new Set()) {
  const told: string[] = []
  const feed = createConsentFeed(error => { throw error })
  feed.listen(event => { told.push('record' in event ? `${event.type} ${event.record.id} ${event.record.cause ?? ''}`.trim() : event.type) })
  return { ...createSweep({ store, events: feed, lock: { epoch: () => lock.at }, lostUntilMs, stoppedRuns }), told }
}

test('what nobody decided in time expires, and what was approved and not committed; it is told once, whoever sweeps', async t => {
  const on = ground(t)
  const [undecided, approved, later] = [await on.make({ pendingMs: 50 }), await on.make({ pendingMs: 60, hardMs: 60 }), await on.make()]
  taken(await on.decide(ann, approved))
  const [one, other] = [sweepOf(on), sweepOf(on)]
  await one.turn()
  assert.deepEqual(one.told, [])
  await sleep(80)
  await Promise.all([one.turn(), other.turn()])
  await one.turn()
  assert.deepEqual([...one.told, ...other.told].sort(), [`expired ${undecided.id}`, `expired ${approved.id}`].sort())
  assert.equal((await on.store.findProposal(later.id))!.record.state, 'pending')
})

test('once the vault was locked, what was approved before is void, grants too; what waits goes on waiting', async t => {
  const on = ground(t)
  const [approved, grant, pending, consumed] = [await on.make(), await on.make({ grant: TERMS }), await on.make(), await on.make()]
  for (const one of [approved, grant, consumed]) taken(await on.decide(ann, one))
  const { attempt, limits } = commitOf((await on.store.findProposal(consumed.id))!.record)
  assert.equal((await on.store.begin(attempt, null, limits)).kind, 'begun')
  const sweep = sweepOf(on)
  await sweep.turn()
  assert.deepEqual(sweep.told, [])
  on.lock.at = 2
  await sweep.turn()
  await sweep.turn()
  assert.deepEqual([...sweep.told].sort(), [`invalidated ${approved.id} vault_epoch_changed`, `invalidated ${grant.id} vault_epoch_changed`].sort())
  assert.equal((await on.store.findProposal(pending.id))!.record.state, 'pending')
  assert.equal((await on.store.findProposal(consumed.id))!.record.state, 'consumed')
  taken(await on.decide(ann, pending))
  await sweep.turn()
  assert.equal((await on.store.findProposal(pending.id))!.record.state, 'approved', 'what was said since counts')
})

test('how many wait, and since when, is told for the metrics', async t => {
  const on = ground(t)
  const sweep = sweepOf(on)
  assert.deepEqual(await sweep.waiting(), { undecided: 0, oldestAgeMs: null })
  const first = await on.make()
  await sleep(20)
  taken(await on.decide(ann, await on.make()))
  await on.make()
  const { undecided, oldestAgeMs } = await sweep.waiting()
  assert.equal(undecided, 2)
  assert.ok(oldestAgeMs! >= 20 && oldestAgeMs! <= Date.now() - first.createdAtMs + 5)
})

test('once the store has lost something, what was proposed before that is over is void, decided or not', async t => {
  const on = ground(t)
  const [pending, grant] = [await on.make(), await on.make({ grant: TERMS })]
  taken(await on.decide(ann, grant))
  let lostUntilMs = -Infinity
  const sweep = sweepOf(on, () => lostUntilMs)
  await sweep.turn()
  await sleep(3)
  lostUntilMs = grant.createdAtMs + 1
  const later = await on.make()
  await sweep.turn()
  assert.deepEqual([...sweep.told].sort(), [`invalidated ${pending.id} state_lost`, `invalidated ${grant.id} state_lost`].sort())
  assert.equal((await on.store.findProposal(later.id))!.record.state, 'pending')
})

test('what a stopped run has open ends, grants too, and what is given back to it later; other runs go on', async t => {
  const on = ground(t)
  const [pending, approved, grant, used, other] = [await on.make(), await on.make(), await on.make({ grant: TERMS }), await on.make(), await on.make({ run: 'r2' })]
  for (const one of [approved, grant, used]) taken(await on.decide(ann, one))
  const { attempt, limits } = commitOf((await on.store.findProposal(used.id))!.record)
  const begun = await on.store.begin(attempt, null, limits)
  assert.equal(begun.kind, 'begun')
  let stopped: ReadonlySet<string> = new Set()
  const [one, two] = [sweepOf(on, undefined, () => stopped), sweepOf(on, undefined, () => stopped)]
  await one.turn()
  await on.store.stopRun(pending.tag, pending.runKey)
  stopped = new Set([pending.runKey])
  await Promise.all([one.turn(), two.turn()])
  assert.deepEqual([...one.told, ...two.told].sort(), [pending, approved, grant].map(({ id }) => `invalidated ${id} run_stopped`).sort())
  assert.equal((await on.store.findProposal(other.id))!.record.state, 'pending')
  if (begun.kind === 'begun') await on.store.advance(begun.record, { type: 'settle', token: begun.record.token, settlement: neverSent() })
  assert.equal((await on.store.findProposal(used.id))!.record.state, 'approved')
  for (let turn = 0; turn < 10; turn++) await one.turn()
  assert.deepEqual([one.told.at(-1), (await on.store.findProposal(used.id))!.record.state], [`invalidated ${used.id} run_stopped`, 'invalidated'])
})
