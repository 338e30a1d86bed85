// The rule of repeats, as the pure function that both drivers use.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AttemptRecord, Settlement } from '../../src/attempts/attempt.ts'
import { judgeRepeat, UNKEYED_MERGE_MS } from '../../src/store/recall.ts'
import { done, draft, nameFor, neverSent, rejected } from './drafts.ts'

const NOW = 5_000_000
const base = draft({ args: { a: 1 } })
const keyed = draft({ args: { a: 1 }, key: 'k' })

const settledAt = (record: AttemptRecord, settlement: Settlement, agoMs = 0): AttemptRecord =>
  ({ ...record, state: 'settled', revision: 3, settlement, settledAtMs: NOW - agoMs })

test('a key that was never used is free', () => {
  assert.deepEqual(judgeRepeat(nameFor(base), null, 'att_other', NOW), { kind: 'free', n: 0, g: 0, since: 0, after: null })
})

test('an attempt that is not settled is merged with always, however old it is and whatever came after it', () => {
  for (const state of ['dispatched', 'unknown', 'pending', 'escalated'] as const) {
    const record = { ...base, state, preparedAtMs: 0 }
    assert.deepEqual(judgeRepeat(nameFor(base), record, 'att_other', NOW), { kind: 'duplicate', record })
  }
  assert.deepEqual(judgeRepeat(nameFor(base), base, 'att_other', NOW), { kind: 'in_progress', record: base })
})

test('a settled attempt without a key is merged with for ten minutes, and while it is the last write of its run on its upstream', () => {
  const rows: ReadonlyArray<readonly [number, string | null, 'duplicate' | 'free']> = [
    [0, base.id, 'duplicate'], [UNKEYED_MERGE_MS, base.id, 'duplicate'], [UNKEYED_MERGE_MS + 1, base.id, 'free'],
    [0, 'att_other', 'free'], [0, null, 'free'],
  ]
  for (const [agoMs, last, kind] of rows) {
    assert.equal(judgeRepeat(nameFor(base), settledAt(base, done(), agoMs), last, NOW).kind, kind, `${agoMs} ${last}`)
  }
  const old = judgeRepeat(nameFor(keyed), settledAt(keyed, done(), 10 * UNKEYED_MERGE_MS), 'att_other', NOW)
  assert.equal(old.kind, 'duplicate', 'with a key it is merged with for as long as it is known')
})

test('a rejection that frees its key lets the next attempt begin at once', () => {
  for (const settlement of [neverSent(), rejected('UPSTREAM_RATE_LIMITED', true), rejected('VERSION_CONFLICT')]) {
    const record = settledAt(keyed, settlement)
    const found = judgeRepeat(nameFor(keyed), record, keyed.id, NOW)
    assert.deepEqual(found, { kind: 'free', n: 1, g: settlement.sent ? 1 : 0, since: settlement.sent ? 1 : 0, after: { id: record.id, revision: 3 } })
  }
  assert.equal(judgeRepeat(nameFor(keyed), settledAt(keyed, rejected('UPSTREAM_REJECTED')), keyed.id, NOW).kind, 'duplicate')
})

test('the same key with another fingerprint is refused in every state', () => {
  const other = nameFor(draft({ args: { a: 2 }, key: 'k' }))
  for (const record of [keyed, { ...keyed, state: 'unknown' as const }, settledAt(keyed, done()), settledAt(keyed, neverSent())]) {
    assert.deepEqual(judgeRepeat(other, record, null, NOW), { kind: 'key_reused' })
  }
})
