// The reducer, transition by transition: what applies, what is already done, what is refused, and when evidence contradicts what is written down.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  advance, DEADLINE_GRACE_MS, freesKey, isUnresolved, LOOKUPS_MAX, nextGeneration, SEND_WINDOW_MS, unsent,
  type Advance, type AttemptEvent, type AttemptRecord, type AttemptState, type Finding, type Settlement,
} from '../../src/attempts/attempt.ts'
import { begunAt, stamped } from '../../src/store/codec.ts'
import { done, draft, neverSent, rejected } from '../store/drafts.ts'

const T0 = 1_000_000
const TOKEN = 'mine'

const prepared: AttemptRecord = begunAt(draft({ token: TOKEN }), T0)

function after (record: AttemptRecord, event: AttemptEvent, atMs: number): AttemptRecord {
  const moved = advance(record, event)
  if (moved.kind !== 'changed') assert.fail(`${event.type} of ${record.state}: ${moved.kind}`)
  return stamped(moved, atMs)
}

const dispatched = after(prepared, { type: 'dispatch', token: TOKEN }, T0 + 10)
const unknown = after(dispatched, { type: 'lose', token: TOKEN, missing: 'the answer', reference: null }, T0 + 20)
const pending = after(dispatched, { type: 'pend', token: TOKEN, reference: 'job-1', retryAfterMs: null }, T0 + 20)
const escalated = after(unknown, { type: 'escalate' }, T0 + 30)
const settled = after(dispatched, { type: 'settle', token: TOKEN, settlement: done() }, T0 + 20)
const records: Readonly<Record<AttemptState, AttemptRecord>> = { prepared, dispatched, unknown, pending, escalated, settled }

/** Time enough for every wait of an absence. */
const LATE = T0 + 10_000_000

const absentFinding: Finding = { kind: 'absent', settlesAfterMs: 0, quiesced: true, withinRetention: true, retryable: true }

const events: Readonly<Record<string, AttemptEvent>> = {
  dispatch: { type: 'dispatch', token: TOKEN },
  settleSent: { type: 'settle', token: TOKEN, settlement: done() },
  settleOther: { type: 'settle', token: TOKEN, settlement: rejected('UPSTREAM_REJECTED') },
  settleUnsent: { type: 'settle', token: TOKEN, settlement: neverSent() },
  pend: { type: 'pend', token: TOKEN, reference: 'job-1', retryAfterMs: null },
  lose: { type: 'lose', token: TOKEN, missing: 'the answer', reference: null },
  deadline: { type: 'deadline', nowMs: LATE },
  found: { type: 'lookup', nowMs: LATE, finding: { kind: 'settled', settlement: done() } },
  foundOther: { type: 'lookup', nowMs: LATE, finding: { kind: 'settled', settlement: rejected('NOT_FOUND_THERE') } },
  running: { type: 'lookup', nowMs: LATE, finding: { kind: 'pending', reference: 'job-2', retryAfterMs: null } },
  absent: { type: 'lookup', nowMs: LATE, finding: absentFinding },
  nothing: { type: 'lookup', nowMs: LATE, finding: { kind: 'inconclusive', retryAfterMs: null } },
  impossible: { type: 'lookup', nowMs: LATE, finding: { kind: 'impossible' } },
  cancel: { type: 'cancel' },
  escalate: { type: 'escalate' },
  resolve: { type: 'resolve', settlement: done() },
  resolveOther: { type: 'resolve', settlement: rejected('SEEN_BY_A_PERSON') },
}

/** For each state what each event makes of it: a state, `already`, `refused`, or `alarm`. */
const TABLE: Readonly<Record<AttemptState, Readonly<Record<keyof typeof events, AttemptState | 'already' | 'refused' | 'alarm'>>>> = {
  prepared: {
    dispatch: 'dispatched', settleSent: 'alarm', settleOther: 'alarm', settleUnsent: 'settled',
    pend: 'alarm', lose: 'alarm', deadline: 'settled',
    found: 'refused', foundOther: 'refused', running: 'refused', absent: 'refused', nothing: 'refused', impossible: 'refused',
    cancel: 'settled', escalate: 'refused', resolve: 'refused', resolveOther: 'refused',
  },
  dispatched: {
    dispatch: 'already', settleSent: 'settled', settleOther: 'settled', settleUnsent: 'settled',
    pend: 'pending', lose: 'unknown', deadline: 'unknown',
    found: 'refused', foundOther: 'refused', running: 'refused', absent: 'refused', nothing: 'refused', impossible: 'refused',
    cancel: 'dispatched', escalate: 'refused', resolve: 'refused', resolveOther: 'refused',
  },
  unknown: {
    dispatch: 'refused', settleSent: 'settled', settleOther: 'settled', settleUnsent: 'settled',
    pend: 'pending', lose: 'already', deadline: 'refused',
    found: 'settled', foundOther: 'settled', running: 'pending', absent: 'unknown', nothing: 'unknown', impossible: 'escalated',
    cancel: 'unknown', escalate: 'escalated', resolve: 'settled', resolveOther: 'settled',
  },
  pending: {
    dispatch: 'refused', settleSent: 'settled', settleOther: 'settled', settleUnsent: 'alarm',
    pend: 'already', lose: 'refused', deadline: 'refused',
    found: 'settled', foundOther: 'settled', running: 'pending', absent: 'pending', nothing: 'pending', impossible: 'escalated',
    cancel: 'pending', escalate: 'escalated', resolve: 'settled', resolveOther: 'settled',
  },
  escalated: {
    dispatch: 'refused', settleSent: 'settled', settleOther: 'settled', settleUnsent: 'settled',
    pend: 'refused', lose: 'refused', deadline: 'refused',
    found: 'settled', foundOther: 'settled', running: 'refused', absent: 'refused', nothing: 'refused', impossible: 'refused',
    cancel: 'escalated', escalate: 'already', resolve: 'settled', resolveOther: 'settled',
  },
  settled: {
    dispatch: 'refused', settleSent: 'already', settleOther: 'alarm', settleUnsent: 'alarm',
    pend: 'refused', lose: 'refused', deadline: 'refused',
    found: 'already', foundOther: 'alarm', running: 'already', absent: 'already', nothing: 'already', impossible: 'already',
    cancel: 'already', escalate: 'refused', resolve: 'already', resolveOther: 'refused',
  },
}

const outcomeOf = (moved: Advance): string =>
  moved.kind === 'changed' ? moved.record.state : moved.kind === 'refused' && moved.alarm ? 'alarm' : moved.kind

for (const [state, row] of Object.entries(TABLE)) {
  test(`every event in state ${state} does what the table says, and nothing else`, () => {
    for (const [name, wanted] of Object.entries(row)) {
      const record = records[state as AttemptState]
      const before = structuredClone(record)
      const moved = advance(record, events[name]!)
      assert.equal(outcomeOf(moved), wanted, name)
      assert.deepEqual(record, before, 'the record that was given is not touched')
      if (moved.kind === 'changed') assert.equal(moved.record.revision, record.revision + 1)
    }
  })
}

test('only the token that began it dispatches and reports', () => {
  for (const record of Object.values(records)) {
    for (const event of Object.values(events)) {
      if (!('token' in event)) continue
      assert.deepEqual(advance(record, { ...event, token: 'another' }), { kind: 'refused', alarm: false }, `${event.type} of ${record.state}`)
    }
  }
})

test('a dispatched attempt is due once its send cannot be under way and its broker had time to report', () => {
  assert.equal(dispatched.dueAtMs, T0 + 10 + SEND_WINDOW_MS + dispatched.timeoutMs + DEADLINE_GRACE_MS)
  assert.equal(outcomeOf(advance(dispatched, { type: 'deadline', nowMs: dispatched.dueAtMs! - 1 })), 'refused')
  const swept = after(dispatched, { type: 'deadline', nowMs: dispatched.dueAtMs! }, dispatched.dueAtMs!)
  assert.equal(swept.state, 'unknown')
  assert.equal(swept.settlement, null)
  assert.equal(swept.unknownAtMs, dispatched.dueAtMs)
})

test('a prepared attempt whose lease ran out is closed as never sent, and may be tried again', () => {
  assert.equal(outcomeOf(advance(prepared, { type: 'deadline', nowMs: prepared.dueAtMs! - 1 })), 'refused')
  const swept = after(prepared, { type: 'deadline', nowMs: prepared.dueAtMs! }, prepared.dueAtMs!)
  assert.equal(swept.settlement!.sent, false)
  assert.equal(swept.settlement!.retryable, true)
  assert.equal(freesKey(swept), true)
  assert.equal(outcomeOf(advance(swept, events['dispatch']!)), 'refused', 'the broker that comes back does not send')
})

test('a wish to cancel after the dispatch is noted once and changes neither state nor schedule', () => {
  for (const record of [dispatched, unknown, pending, escalated]) {
    const wished = after(record, { type: 'cancel' }, LATE)
    assert.deepEqual(wished, { ...record, cancelRequested: true, revision: record.revision + 1 })
    assert.deepEqual(advance(wished, { type: 'cancel' }), { kind: 'already' })
  }
  const cancelled = after(prepared, { type: 'cancel' }, T0 + 1)
  assert.deepEqual([cancelled.settlement!.code, cancelled.settlement!.sent], ['CANCELLED', false])
})

test('evidence alarms where it contradicts what is written down, and only there', () => {
  const end = (settlement: Settlement): AttemptRecord => ({ ...settled, settlement })
  const notApplied: Settlement = { ...unsent('NOT_APPLIED', 'No effect.', true), sent: true }
  const rows: ReadonlyArray<readonly [string, Settlement, Settlement, boolean]> = [
    ['no effect, then an effect', notApplied, done(), true],
    ['an effect, then none', done(), rejected('UPSTREAM_REJECTED'), true],
    ['an effect, then the proof that nothing left', done(), neverSent(), true],
    ['never sent, then an answer', neverSent(), rejected('UPSTREAM_REJECTED'), true],
    ['no effect, told in two ways', notApplied, rejected('UPSTREAM_REJECTED'), false],
    ['no effect, then the proof that nothing left', notApplied, neverSent(), false],
    ['never sent, for two reasons', neverSent(), unsent('CANCELLED', 'Cancelled.', true), false],
  ]
  for (const [what, written, told, alarm] of rows) {
    assert.deepEqual(advance(end(written), { type: 'settle', token: TOKEN, settlement: told }), { kind: 'refused', alarm }, what)
  }
})

test('a late answer settles what is unknown, pending or with a person', () => {
  for (const record of [unknown, pending, escalated]) {
    const late = after(record, { type: 'settle', token: TOKEN, settlement: done({ late: true }) }, LATE)
    assert.deepEqual([late.state, late.settlement!.result, late.dueAtMs, late.settledAtMs], ['settled', { late: true }, null, LATE])
  }
  assert.equal(after(unknown, events['pend']!, LATE).state, 'pending')
})

test('a reference that is known is kept until a newer one is told', () => {
  const lost = after(dispatched, { type: 'lose', token: TOKEN, missing: 'm', reference: 'job-0' }, T0 + 20)
  assert.equal(lost.reference, 'job-0')
  assert.equal(after(lost, { type: 'pend', token: TOKEN, reference: null, retryAfterMs: null }, LATE).reference, 'job-0')
  const running = (reference: string | null): AttemptEvent =>
    ({ type: 'lookup', nowMs: LATE, finding: { kind: 'pending', reference, retryAfterMs: null } })
  assert.equal(after(lost, running(null), LATE).reference, 'job-0')
  assert.equal(after(lost, running('job-9'), LATE).reference, 'job-9')
})

test('look-ups come at growing pauses, or when the upstream says, and end with a person', () => {
  const pauses: number[] = []
  let record = unknown
  while (record.state === 'unknown') {
    record = after(record, events['nothing']!, LATE)
    if (record.state === 'unknown') pauses.push(record.dueAtMs! - LATE)
  }
  assert.equal(unknown.dueAtMs! - unknown.unknownAtMs!, 200)
  assert.deepEqual(pauses.slice(0, 6), [1_000, 5_000, 30_000, 120_000, 600_000, 600_000])
  assert.equal(pauses.length, LOOKUPS_MAX - 1)
  assert.deepEqual([record.state, record.dueAtMs, record.lookups], ['escalated', null, LOOKUPS_MAX])
  assert.equal(after(unknown, { type: 'lookup', nowMs: LATE, finding: { kind: 'inconclusive', retryAfterMs: 7_000 } }, LATE).dueAtMs, LATE + 7_000)
  const inProgress: Finding = { kind: 'pending', reference: null, retryAfterMs: 9_000 }
  assert.equal(after(pending, { type: 'lookup', nowMs: LATE, finding: inProgress }, LATE).dueAtMs, LATE + 9_000)
})

test('after many quick look-ups that an upstream asked for, the next one is not minutes away', () => {
  const inconclusive = (retryAfterMs: number | null): Finding => ({ kind: 'inconclusive', retryAfterMs })
  const openedAtMs = unknown.dispatchedAtMs!
  let [record, nowMs] = [unknown, unknown.dueAtMs!]
  for (let asked = 0; asked < 6; asked++) {
    record = after(record, { type: 'lookup', nowMs, finding: inconclusive(1_000) }, nowMs)
    nowMs = record.dueAtMs!
  }
  record = after(record, { type: 'lookup', nowMs, finding: inconclusive(null) }, nowMs)
  assert.equal(record.lookups, 7)
  const pauseMs = record.dueAtMs! - nowMs
  assert.ok(pauseMs <= 5 * (nowMs - openedAtMs), `${pauseMs} ms behind ${nowMs - openedAtMs} ms`)
})

test('an operation that runs for ever ends with a person too, and with the latest reference', () => {
  let record = pending
  for (let index = 0; record.state === 'pending'; index++) {
    record = after(record, { type: 'lookup', nowMs: LATE, finding: { kind: 'pending', reference: `job-${index}`, retryAfterMs: null } }, LATE)
  }
  assert.deepEqual([record.state, record.reference, record.lookups], ['escalated', `job-${LOOKUPS_MAX - 1}`, LOOKUPS_MAX])
})

test('what frees its key, and what keeps the upstream key', () => {
  const rows: ReadonlyArray<readonly [Settlement | null, boolean, number]> = [
    [null, false, 1],
    [done(), false, 1],
    [{ ...done(null), outcome: 'already_in_desired_state', sent: false }, false, 0],
    [rejected('UPSTREAM_REJECTED'), false, 1],
    [rejected('UPSTREAM_RATE_LIMITED', true), true, 1],
    [rejected('VERSION_CONFLICT'), true, 1],
    [neverSent(), true, 0],
    [unsent('CREDENTIAL_UNAVAILABLE', 'No.', false), true, 0],
    [rejected('NOT_APPLIED', true), true, 0],
    [rejected('NOT_APPLIED', false), false, 0],
  ]
  for (const [settlement, frees, g] of rows) {
    const record = { ...settled, settlement }
    assert.equal(freesKey(record), frees, settlement?.code ?? settlement?.outcome)
    assert.equal(nextGeneration(record), g, settlement?.code ?? settlement?.outcome)
  }
})

test('unresolved is what somebody must still find out', () => {
  assert.deepEqual(Object.keys(records).filter(state => isUnresolved(state as AttemptState)), ['unknown', 'pending', 'escalated'])
})
