// Contract: advance. One change at a time, by compare-and-set; whoever asks again hears that it is done.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { RECORD_FORMAT, type AttemptEvent } from '../../src/attempts/attempt.ts'
import type { JsonObject } from '../../src/catalog/catalog.ts'
import { begun, changed, done, draft, FREE, nameFor, neverSent, reached, rejected, settle } from './drafts.ts'
import type { OpenStore } from './contract.ts'

export function advanceContract (name: string, open: OpenStore): void {
  changes(name, open)
  races(name, open)
  fidelity(name, open)
}

function changes (name: string, open: OpenStore): void {
  test(`${name}: an attempt goes from begin to its end, each change stamped and counted`, async t => {
    const store = await open(t)
    const prepared = await begun(store)
    const dispatched = await changed(store, prepared, { type: 'dispatch', token: prepared.token })
    assert.equal(dispatched.revision, prepared.revision + 1)
    assert.ok(dispatched.dispatchedAtMs! >= prepared.preparedAtMs)
    assert.ok(dispatched.dueAtMs! > dispatched.dispatchedAtMs! + prepared.timeoutMs)
    const settled = await settle(store, dispatched, done({ id: 7 }))
    assert.equal(settled.revision, dispatched.revision + 1)
    assert.ok(settled.settledAtMs! >= dispatched.dispatchedAtMs!)
    assert.equal(settled.dueAtMs, null)
    assert.deepEqual(settled.settlement, done({ id: 7 }))
    assert.deepEqual(await store.find(prepared.id), settled)
  })

  test(`${name}: what the caller holds may be old; the store goes by what it holds itself`, async t => {
    const store = await open(t)
    const prepared = await begun(store)
    const dispatched = await changed(store, prepared, { type: 'dispatch', token: prepared.token })
    const settled = await settle(store, prepared)
    assert.equal(settled.revision, dispatched.revision + 1)
    assert.deepEqual(await store.advance(prepared, { type: 'dispatch', token: prepared.token }), { kind: 'refused', record: settled, alarm: false })
    const lose: AttemptEvent = { type: 'lose', token: prepared.token, missing: 'x', reference: null }
    assert.deepEqual(await store.advance(dispatched, lose), { kind: 'refused', record: settled, alarm: false })
    assert.deepEqual(await store.find(prepared.id), settled)
  })

  test(`${name}: a caller who wrongly believes it done is told how it is`, async t => {
    const store = await open(t)
    const prepared = await begun(store)
    const imagined = { ...prepared, state: 'dispatched' as const, revision: 2 }
    const advanced = await store.advance(imagined, { type: 'dispatch', token: prepared.token })
    assert.equal(advanced.kind, 'changed')
    assert.equal((await store.find(prepared.id))!.state, 'dispatched')
  })

  test(`${name}: a time that no longer holds is taken back`, async t => {
    const store = await open(t)
    const unknown = await reached(store, 'unknown')
    const absent = await changed(store, unknown, {
      type: 'lookup',
      nowMs: unknown.unknownAtMs!,
      finding: { kind: 'absent', settlesAfterMs: 0, quiesced: false, withinRetention: true, retryable: false },
    })
    assert.ok(absent.firstAbsentAtMs! >= unknown.unknownAtMs!)
    const pending = { kind: 'pending', reference: 'job', retryAfterMs: null } as const
    const running = await changed(store, absent, { type: 'lookup', nowMs: absent.firstAbsentAtMs!, finding: pending })
    assert.equal(running.firstAbsentAtMs, null)
    assert.deepEqual(await store.find(unknown.id), running)
  })

  test(`${name}: another token neither dispatches nor reports`, async t => {
    const store = await open(t)
    const prepared = await begun(store)
    const events: readonly AttemptEvent[] = [
      { type: 'dispatch', token: 'x' },
      { type: 'settle', token: 'x', settlement: neverSent() },
      { type: 'pend', token: 'x', reference: 1, retryAfterMs: null },
      { type: 'lose', token: 'x', missing: 'y', reference: null },
    ]
    for (const event of events) assert.deepEqual(await store.advance(prepared, event), { kind: 'refused', record: prepared, alarm: false })
    assert.deepEqual(await store.find(prepared.id), prepared)
  })

  test(`${name}: every event that is asked again is already done, and changes nothing`, async t => {
    const store = await open(t)
    const { token } = draft({ token: 'mine' })
    const dispatch: AttemptEvent = { type: 'dispatch', token }
    const lose: AttemptEvent = { type: 'lose', token, missing: 'the answer', reference: null }
    const ways: ReadonlyArray<readonly AttemptEvent[]> = [
      [dispatch],
      [dispatch, { type: 'settle', token, settlement: done() }],
      [{ type: 'settle', token, settlement: neverSent() }],
      [dispatch, { type: 'pend', token, reference: 'job', retryAfterMs: 50 }],
      [dispatch, lose],
      [{ type: 'cancel' }],
      [dispatch, { type: 'cancel' }],
      [dispatch, lose, { type: 'escalate' }],
      [dispatch, lose, { type: 'resolve', settlement: done(null) }],
    ]
    for (const way of ways) {
      let record = await begun(store, { token })
      for (const event of way) record = await changed(store, record, event)
      const again = await store.advance(record, way.at(-1)!)
      assert.deepEqual(again, { kind: 'already', record }, JSON.stringify(way))
      assert.deepEqual(await store.find(record.id), record)
    }
  })

  test(`${name}: an attempt that is not there is missing, whatever the event`, async t => {
    const store = await open(t)
    const record = draft()
    assert.deepEqual(await store.advance(record, { type: 'dispatch', token: record.token }), { kind: 'missing' })
    assert.deepEqual(await store.advance({ ...record, state: 'settled', settlement: done() }, { type: 'cancel' }), { kind: 'missing' })
    assert.equal(await store.find(record.id), null)
    assert.equal(await store.find('no attempt id'), null)
  })

  test(`${name}: a record of a newer format is read, and neither settled nor swept`, async t => {
    const store = await open(t)
    const newer = await begun(store, { format: RECORD_FORMAT + 1 })
    assert.deepEqual(await store.find(newer.id), newer)
    assert.deepEqual(await store.advance(newer, { type: 'dispatch', token: newer.token }), { kind: 'refused', record: newer, alarm: false })
    const settling = { type: 'settle', token: newer.token, settlement: neverSent() } as const
    assert.deepEqual(await store.advance({ ...newer, format: RECORD_FORMAT }, settling), { kind: 'refused', record: newer, alarm: false })
    assert.deepEqual((await store.recall(nameFor(newer))).finding, { kind: 'in_progress', record: newer })
    assert.deepEqual(await store.find(newer.id), newer)
  })

  test(`${name}: evidence against what is settled raises an alarm and overwrites nothing`, async t => {
    const store = await open(t)
    const unknown = await reached(store, 'unknown')
    const settled = await changed(store, unknown, { type: 'resolve', settlement: rejected('NOT_APPLIED') })
    const late = await store.advance(unknown, { type: 'settle', token: unknown.token, settlement: done() })
    assert.deepEqual(late, { kind: 'refused', record: settled, alarm: true })
    assert.deepEqual(await store.find(unknown.id), settled)
  })
}

function races (name: string, open: OpenStore): void {
  test(`${name}: of many different ends at once one is written, and everyone is told that one`, async t => {
    const store = await open(t)
    const record = await reached(store, 'dispatched')
    const answers = await Promise.all(Array.from({ length: 20 }, (_, index) =>
      store.advance(record, { type: 'settle', token: record.token, settlement: index % 2 === 0 ? done({ index }) : rejected('UPSTREAM_REJECTED') })))
    assert.equal(answers.filter(answer => answer.kind === 'changed').length, 1)
    const settled = await store.find(record.id)
    assert.equal(settled!.revision, record.revision + 1)
    for (const answer of answers) assert.deepEqual(answer.kind === 'missing' ? null : answer.record, settled)
  })

  test(`${name}: of a cancel and a dispatch at once exactly one wins`, async t => {
    const store = await open(t)
    let cancelled = 0
    for (let round = 0; round < 40; round++) {
      const record = await begun(store)
      const dispatch = () => store.advance(record, { type: 'dispatch', token: record.token })
      const cancel = () => store.advance(record, { type: 'cancel' })
      const [first, second] = await Promise.all(round % 2 === 0 ? [dispatch(), cancel()] : [cancel(), dispatch()])
      const now = await store.find(record.id)
      assert.ok(first.kind === 'changed' || second.kind === 'changed')
      if (now!.state === 'settled') {
        cancelled++
        assert.equal(now!.settlement!.code, 'CANCELLED')
        assert.equal(now!.dispatchedAtMs, null)
      } else {
        assert.equal(now!.state, 'dispatched')
        assert.equal(now!.cancelRequested, true)
      }
    }
    assert.ok(cancelled > 0 && cancelled < 40)
  })

  test(`${name}: many changes of one attempt at once all come to pass, each with a revision of its own`, async t => {
    const store = await open(t)
    const record = await reached(store, 'unknown')
    const answers = await Promise.all(Array.from({ length: 10 }, () =>
      store.advance(record, { type: 'lookup', nowMs: record.unknownAtMs!, finding: { kind: 'inconclusive', retryAfterMs: null } })))
    const revisions = answers.map(answer => answer.kind === 'changed' ? answer.record.revision : 0)
    assert.deepEqual([...revisions].sort((one, other) => one - other), Array.from({ length: 10 }, (_, index) => record.revision + 1 + index))
    assert.equal((await store.find(record.id))!.lookups, 10)
  })
}

function fidelity (name: string, open: OpenStore): void {
  test(`${name}: any JSON that was begun or settled with comes back as it was`, async t => {
    const store = await open(t)
    // JSON itself knows no negative zero.
    const json = fc.jsonValue({ maxDepth: 4 }).map(value => JSON.parse(JSON.stringify(value).replaceAll('-0', '0')))
    await fc.assert(fc.asyncProperty(fc.dictionary(fc.string(), json), json, async (args, result) => {
      const wanted = JSON.parse(JSON.stringify({ args })) as { args: JsonObject }
      const fresh = draft()
      const record = { ...fresh, args: wanted.args }
      assert.equal((await store.begin(record, null, FREE)).kind, 'begun')
      assert.deepEqual((await store.find(record.id))!.args, wanted.args)
      const dispatched = await changed(store, record, { type: 'dispatch', token: record.token })
      await settle(store, dispatched, done(result))
      assert.deepEqual((await store.find(record.id))!.settlement, done(result))
    }), { numRuns: 60 })
  })
}
