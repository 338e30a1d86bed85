// Whatever comes in whatever order, the promises of an attempt hold.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { advance, type AttemptEvent, type AttemptRecord, type Finding, type Settlement } from '../../src/attempts/attempt.ts'
import { begunAt, stamped } from '../../src/store/codec.ts'
import { done, draft, neverSent, rejected } from '../store/drafts.ts'

const settlements: fc.Arbitrary<Settlement> = fc.constantFrom<Settlement>(
  done(), done({ other: 1 }), rejected('UPSTREAM_REJECTED'), rejected('UPSTREAM_RATE_LIMITED', true), neverSent(),
  { ...done(null), outcome: 'already_in_desired_state' },
)
const tokens = fc.constantFrom('mine', 'mine', 'mine', 'another')

const findings: fc.Arbitrary<Finding> = fc.oneof(
  fc.record({ kind: fc.constant('settled' as const), settlement: settlements }),
  fc.record({ kind: fc.constant('pending' as const), reference: fc.constantFrom(null, 'job'), retryAfterMs: fc.constantFrom(null, 50) }),
  fc.record({
    kind: fc.constant('absent' as const), settlesAfterMs: fc.constantFrom(0, 100), quiesced: fc.boolean(), withinRetention: fc.boolean(),
    retryable: fc.boolean(),
  }),
  fc.record({ kind: fc.constant('inconclusive' as const), retryAfterMs: fc.constant(null) }),
  fc.record({ kind: fc.constant('impossible' as const) }),
)

/** `nowMs` is filled in from the clock of the run. */
const events: fc.Arbitrary<AttemptEvent> = fc.oneof(
  fc.record({ type: fc.constant('dispatch' as const), token: tokens }),
  fc.record({ type: fc.constant('settle' as const), token: tokens, settlement: settlements }),
  fc.record({ type: fc.constant('pend' as const), token: tokens, reference: fc.constantFrom(null, 'job'), retryAfterMs: fc.constant(null) }),
  fc.record({ type: fc.constant('lose' as const), token: tokens, missing: fc.constant('m'), reference: fc.constant(null) }),
  fc.record({ type: fc.constant('deadline' as const), nowMs: fc.constant(0) }),
  { weight: 3, arbitrary: fc.record({ type: fc.constant('lookup' as const), nowMs: fc.constant(0), finding: findings }) },
  fc.record({ type: fc.constant('cancel' as const) }),
  fc.record({ type: fc.constant('escalate' as const) }),
  fc.record({ type: fc.constant('resolve' as const), settlement: settlements }),
)

interface History {
  dispatches: number
  absences: number
}

function check (before: AttemptRecord, event: AttemptEvent, next: AttemptRecord, history: History): void {
  assert.equal(next.revision, before.revision + 1)
  assert.notEqual(before.state, 'settled', 'what is settled is never changed')
  assert.notEqual(next.state, 'prepared')
  if (event.type === 'dispatch') {
    history.dispatches++
    assert.equal(before.state, 'prepared')
  } else {
    assert.ok(next.state !== 'dispatched' || before.state === 'dispatched', 'only a dispatch dispatches')
  }
  assert.ok(history.dispatches <= 1)
  if ('token' in event) assert.equal(event.token, before.token)
  assert.equal(next.settlement !== null, next.state === 'settled')
  assert.equal(next.settledAtMs !== null, next.state === 'settled')
  if (next.state === 'settled') {
    assert.equal(next.dueAtMs, null)
    // Nothing but the owner's proof, or a person, says of a dispatched attempt that it was not sent.
    if (!next.settlement!.sent && before.state !== 'prepared') {
      assert.ok(event.type === 'settle' || event.type === 'resolve' || (event.type === 'lookup' && event.finding.kind === 'settled'))
    }
    if (next.settlement!.code === 'NOT_APPLIED') assert.ok(history.absences >= 2 && before.state === 'unknown')
    if (before.state === 'prepared') assert.equal(next.settlement!.sent, false)
  } else if (next.state !== 'escalated') {
    assert.ok(next.dueAtMs !== null, 'whatever is open and not with a person is due some time')
  }
  const same = ['id', 'tag', 'token', 'key', 'n', 'g', 'args', 'claims', 'definition', 'owner', 'preparedAtMs'] as const
  for (const field of same) assert.deepEqual(next[field], before[field])
}

test('any sequence of events keeps the promises of an attempt', () => {
  fc.assert(fc.property(fc.array(fc.tuple(events, fc.integer({ min: 0, max: 6_000 })), { maxLength: 60 }), steps => {
    let nowMs = 1_000_000
    let record = begunAt(draft({ token: 'mine', args: {} }), nowMs)
    const history: History = { dispatches: 0, absences: 0 }
    for (const [raw, pauseMs] of steps) {
      nowMs += pauseMs
      const event = 'nowMs' in raw ? { ...raw, nowMs } : raw
      const moved = advance(record, event)
      if (event.type === 'lookup' && event.finding.kind === 'absent' && moved.kind === 'changed') history.absences++
      if (moved.kind !== 'changed') continue
      const next = stamped(moved, nowMs)
      check(record, event, next, history)
      // An event that carries a token is done once: asked again it changes nothing.
      if ('token' in event || ['cancel', 'escalate', 'resolve'].includes(event.type)) assert.equal(advance(next, event).kind, 'already')
      record = next
    }
  }), { numRuns: 3_000 })
})
