// When "not found" proves that nothing happened: each condition of time alone keeps an attempt unknown, and the waits never use up the look-ups.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { advance, LOOKUPS_MAX, type AttemptEvent, type AttemptRecord, type Finding } from '../../src/attempts/attempt.ts'
import { begunAt, stamped } from '../../src/store/codec.ts'
import { draft } from '../store/drafts.ts'

const SETTLES_MS = 500
const T0 = 1_000_000

function after (record: AttemptRecord, event: AttemptEvent, atMs: number): AttemptRecord {
  const moved = advance(record, event)
  if (moved.kind !== 'changed') assert.fail(`${event.type} of ${record.state}: ${moved.kind}`)
  return stamped(moved, atMs)
}

const begun = begunAt(draft({ token: 'mine' }), T0)
const dispatched = after(begun, { type: 'dispatch', token: 'mine' }, T0)
const unknown = after(dispatched, { type: 'lose', token: 'mine', missing: 'the answer', reference: null }, T0 + 100)
const quietAtMs = T0 + begun.quiescenceMs

type Absent = Extract<Finding, { kind: 'absent' }>

const absentFinding: Absent = { kind: 'absent', settlesAfterMs: SETTLES_MS, quiesced: true, withinRetention: true, retryable: true }

const absent = (nowMs: number, over: Partial<Absent> = {}): AttemptEvent =>
  ({ type: 'lookup', nowMs, finding: { ...absentFinding, ...over } })

const seenAbsentOnce = after(unknown, absent(T0 + 300), T0 + 310)

test('two absences apart, the last one after all is quiet, prove that nothing happened', () => {
  const proved = after(seenAbsentOnce, absent(quietAtMs), quietAtMs + 5)
  assert.equal(proved.state, 'settled')
  assert.deepEqual({ ...proved.settlement!, message: null }, {
    outcome: 'rejected', sent: true, code: 'NOT_APPLIED', message: null, retryable: true, retryAfterSeconds: null,
    result: null, truncated: false, withheld: null, evidence: { source: 'lookup', upstreamStatus: null, by: null },
  })
  assert.equal(after(seenAbsentOnce, absent(quietAtMs, { retryable: false }), quietAtMs).settlement!.retryable, false)
})

const missing: ReadonlyArray<readonly [string, AttemptRecord, AttemptEvent]> = [
  ['the first absence alone', unknown, absent(quietAtMs + 9_999)],
  ['before the quiescence is over', seenAbsentOnce, absent(quietAtMs - 1)],
  ['before the declared settling time has passed between the two', after(unknown, absent(quietAtMs), quietAtMs), absent(quietAtMs + SETTLES_MS - 1)],
  ['while the resolver itself has not waited the quiescence out', seenAbsentOnce, absent(quietAtMs + 9_999, { quiesced: false })],
  ['after the upstream has forgotten the id', seenAbsentOnce, absent(quietAtMs + 9_999, { withinRetention: false })],
  ['of an operation that was accepted', { ...seenAbsentOnce, state: 'pending' }, absent(quietAtMs + 9_999)],
  [
    'that was claimed in the very instant in which the first was written down',
    after(unknown, absent(quietAtMs, { settlesAfterMs: 0 }), quietAtMs), absent(quietAtMs, { settlesAfterMs: 0 }),
  ],
]

for (const [what, record, event] of missing) {
  test(`absence proves nothing: ${what}`, () => {
    const still = after(record, event, T0 + 20_000)
    assert.equal(still.state, record.state)
    assert.equal(still.settlement, null)
    assert.equal(still.lookups, record.lookups + 1)
  })
}

test('seen in progress in between, the absences begin anew', () => {
  const inProgress: Finding = { kind: 'pending', reference: null, retryAfterMs: null }
  const running = after(seenAbsentOnce, { type: 'lookup', nowMs: T0 + 400, finding: inProgress }, T0 + 400)
  assert.equal(running.firstAbsentAtMs, null)
  assert.equal(after(seenAbsentOnce, { type: 'pend', token: 'mine', reference: 1, retryAfterMs: null }, T0 + 400).firstAbsentAtMs, null)
  const inconclusive = after(seenAbsentOnce, { type: 'lookup', nowMs: T0 + 400, finding: { kind: 'inconclusive', retryAfterMs: null } }, T0 + 400)
  assert.equal(inconclusive.firstAbsentAtMs, T0 + 310, 'an error is no evidence in either direction')
})

test('whatever the waits, an upstream that keeps saying absent is believed in the end, with look-ups left', () => {
  const upTo = (max: number, min = 0): fc.Arbitrary<number> => fc.integer({ min, max })
  fc.assert(fc.property(upTo(120_000), upTo(120_000, 1_000), upTo(60_000), fc.boolean(),
    (settlesAfterMs, quiescenceMs, firstSeenLateMs, tellsOwnWait) => {
      let record: AttemptRecord = { ...unknown, quiescenceMs }
      // The resolver's own clock begins when it first sees the attempt, which after a restart may be long after.
      const ownQuietMs = record.unknownAtMs! + firstSeenLateMs + quiescenceMs
      let nowMs = Math.max(record.dueAtMs!, record.unknownAtMs! + firstSeenLateMs)
      while (record.state === 'unknown') {
        const quiesced = nowMs >= ownQuietMs
        const ownWait = tellsOwnWait ? { quietAfterMs: Math.max(0, ownQuietMs - nowMs) } : {}
        record = after(record, absent(nowMs, { settlesAfterMs, quiesced, ...ownWait }), nowMs + 3)
        if (record.state !== 'unknown') break
        assert.ok(record.dueAtMs! > nowMs)
        nowMs = record.dueAtMs!
      }
      assert.equal(record.state, 'settled', `${record.lookups} look-ups`)
      assert.ok(record.lookups < LOOKUPS_MAX / 2, `${record.lookups} look-ups`)
      assert.ok(nowMs >= record.dispatchedAtMs! + quiescenceMs && nowMs >= ownQuietMs && nowMs >= record.firstAbsentAtMs! + settlesAfterMs)
    }), { numRuns: 500 })
})
