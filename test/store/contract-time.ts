// Contract: what comes with time. What is due, what is claimed, what is forgotten and what never is.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AttemptRecord } from '../../src/attempts/attempt.ts'
import { RETENTION } from '../../src/store/retention.ts'
import { begun, changed, done, draft, eventually, FREE, free, identity, nameFor, reached, settle } from './drafts.ts'
import type { OpenStore } from './contract.ts'

/** An unknown attempt is due 200 ms after it was lost. */
const DUE_MS = 230

export function timeContract (name: string, open: OpenStore): void {
  claiming(name, open)
  forgetting(name, open)
}

function claiming (name: string, open: OpenStore): void {
  test(`${name}: what is due is claimed once, and again when the claimer has let its lease run out`, async t => {
    const store = await open(t)
    const lost = await reached(store, 'unknown')
    await reached(store, 'dispatched')
    await reached(store, 'settled')
    assert.deepEqual(await store.claimDue(10, 60_000), [], 'not due yet')
    await sleep(DUE_MS)
    const [claim, ...more] = await store.claimDue(10, 150)
    assert.deepEqual(more, [])
    assert.deepEqual(claim!.record, lost, 'the lease is no change of the record')
    assert.ok(claim!.nowMs >= lost.dueAtMs!)
    assert.deepEqual(await store.claimDue(10, 150), [])
    await sleep(170)
    assert.deepEqual((await store.claimDue(10, 60_000)).map(due => due.record.id), [lost.id])
    assert.deepEqual(await store.claimDue(10, 60_000), [])
  })

  test(`${name}: a change says anew when the attempt is due, whatever lease was on it`, async t => {
    const store = await open(t)
    const lost = await reached(store, 'unknown')
    await sleep(DUE_MS)
    const [claim] = await store.claimDue(10, 600_000)
    const asked = await changed(store, claim!.record, { type: 'lookup', nowMs: claim!.nowMs, finding: { kind: 'inconclusive', retryAfterMs: 30 } })
    await eventually(async () => (await store.claimDue(10, 600_000)).length === 1, 'due again')
    await settle(store, asked)
    await sleep(50)
    assert.deepEqual(await store.claimDue(10, 600_000), [])
    assert.equal((await store.find(lost.id))!.state, 'settled')
  })

  test(`${name}: a wish to cancel leaves the lease of whoever looks it up`, async t => {
    const store = await open(t)
    const lost = await reached(store, 'unknown')
    await sleep(DUE_MS)
    assert.equal((await store.claimDue(10, 600_000)).length, 1)
    const wished = await changed(store, lost, { type: 'cancel' })
    assert.equal(wished.dueAtMs, lost.dueAtMs)
    assert.deepEqual(await store.claimDue(10, 600_000), [])
  })

  test(`${name}: two claimers at once never hold the same attempt, and together they get all`, async t => {
    const store = await open(t)
    const lost: AttemptRecord[] = []
    for (let index = 0; index < 30; index++) lost.push(await reached(store, 'unknown', { tenant: `tenant-${index % 4}` }))
    await sleep(DUE_MS)
    const claimed: string[] = []
    for (let round = 0; round < 20; round++) {
      const [one, other] = await Promise.all([store.claimDue(3, 600_000), store.claimDue(3, 600_000)])
      assert.ok(one.length <= 3 && other.length <= 3)
      claimed.push(...[...one, ...other].map(due => due.record.id))
    }
    assert.deepEqual([...claimed].sort(), lost.map(record => record.id).sort())
  })

  test(`${name}: a tenant with much to look up does not hold up another`, async t => {
    const store = await open(t)
    const other = Array.from({ length: 100 }, (_, index) => `tenant-${index}`).find(tenant => identity.tag(tenant) !== identity.tag('t1'))!
    for (let index = 0; index < 20; index++) await reached(store, 'unknown', { tenant: 't1' })
    const small = await reached(store, 'unknown', { tenant: other })
    await sleep(DUE_MS)
    assert.ok((await store.claimDue(2, 600_000)).some(due => due.record.id === small.id))
  })

  test(`${name}: a dispatched attempt whose broker died becomes unknown at its deadline, by the store's time`, async t => {
    const store = await open(t)
    const record = await reached(store, 'dispatched', { timeoutMs: 1 })
    const early = await store.advance(record, { type: 'deadline', nowMs: record.dueAtMs! - 1 })
    assert.deepEqual(early, { kind: 'refused', record, alarm: false })
    const unknown = await changed(store, record, { type: 'deadline', nowMs: record.dueAtMs! })
    assert.equal(unknown.state, 'unknown')
    assert.ok(unknown.missing !== null)
    const settled = await settle(store, unknown, done({ late: true }))
    assert.deepEqual(settled.settlement!.result, { late: true })
  })
}

function forgetting (name: string, open: OpenStore): void {
  test(`${name}: a result is forgotten before its attempt, and the attempt in the end`, async t => {
    const store = await open(t, { retention: { resultMs: 300, settledMs: 900, runMs: 60_000 } })
    const settled = await settle(store, await reached(store, 'dispatched', { key: 'k', args: { a: 1 } }), done({ secret: 1 }))
    const nothing = await settle(store, await reached(store, 'dispatched'), done(null))
    assert.deepEqual((await store.find(settled.id))!.settlement!.result, { secret: 1 })
    await eventually(async () => (await store.find(settled.id))?.settlement?.result === null, 'the result is forgotten')
    const remembered = { ...settled, settlement: { ...settled.settlement!, result: null, withheld: 'RESULT_EXPIRED' } }
    assert.deepEqual(await store.find(settled.id), remembered)
    assert.deepEqual((await store.recall(nameFor(settled))).finding, { kind: 'duplicate', record: remembered })
    assert.deepEqual((await store.find(nothing.id))!.settlement, done(null), 'what had no result has lost none')
    await eventually(async () => await store.find(settled.id) === null, 'the attempt is forgotten')
    assert.deepEqual(free(await store.recall(nameFor(settled))), { kind: 'free', n: 0, g: 0, since: 0, after: null })
    assert.deepEqual(await store.advance(settled, { type: 'cancel' }), { kind: 'missing' })
    await begun(store, { key: 'k', args: { a: 1 } })
  })

  test(`${name}: a sensitive result is told to whoever settled it and never kept`, async t => {
    const store = await open(t)
    const record = await reached(store, 'dispatched', { sensitive: true })
    const settled = await settle(store, record, done({ pin: 'zq81-never-kept' }))
    assert.deepEqual(settled.settlement!.result, { pin: 'zq81-never-kept' })
    const kept = await store.find(record.id)
    assert.equal(kept!.settlement!.result, null)
    assert.equal(kept!.settlement!.withheld, 'RESULT_EXPIRED')
    assert.equal(kept!.settlement!.outcome, 'completed')
  })

  test(`${name}: what is not settled is never forgotten, nor what it holds`, async t => {
    const store = await open(t, { retention: { resultMs: 20, settledMs: 40, runMs: 60 } })
    const held: AttemptRecord[] = []
    for (const state of ['prepared', 'dispatched', 'unknown', 'pending', 'escalated'] as const) {
      held.push(await reached(store, state, { target: state, run: state }))
    }
    await sleep(300)
    for (const record of held) {
      assert.deepEqual(await store.find(record.id), record)
      assert.deepEqual(await store.begin(draft({ target: record.target!.id, run: 'r2' }), null, FREE), { kind: 'target_busy' })
    }
    assert.equal((await store.unresolved(10)).length, 3)
    assert.equal((await store.recall(nameFor(draft()))).unresolved, 3)
    const { id, recordKey, fingerprint, runKey } = held[0]!
    assert.equal((await store.begin({ ...draft(), id, recordKey, fingerprint, runKey }, null, FREE)).kind, 'recalled')
  })

  test(`${name}: what a run has spent is kept while the run goes on`, async t => {
    const store = await open(t, { retention: { ...RETENTION, runMs: 250 } })
    const limits = { ...FREE, callsPerRun: 3 }
    for (let call = 0; call < 3; call++) {
      await begun(store, {}, null, limits)
      await sleep(120)
    }
    assert.deepEqual(await store.begin(draft(), null, limits), { kind: 'budget_exhausted' })
    await eventually(async () => (await store.recall(nameFor(draft()))).calls === 0, 'a run that has gone is forgotten')
  })
}
