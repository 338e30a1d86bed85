// The look-ups of an attempt are enough for hours, whatever pauses its upstream asks for.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { advance, type AttemptRecord, type Finding } from '../../src/attempts/attempt.ts'
import { begunAt, stamped } from '../../src/store/codec.ts'
import { draft } from '../store/drafts.ts'

const START = 1_000_000

/** When look-ups come, in milliseconds after the dispatch, until a person has it. */
function lookUpTimes (finding: Finding): readonly number[] {
  const apply = (record: AttemptRecord, event: Parameters<typeof advance>[1], nowMs: number): AttemptRecord => {
    const moved = advance(record, event)
    assert.equal(moved.kind, 'changed')
    return stamped(moved as Extract<typeof moved, { kind: 'changed' }>, nowMs)
  }
  const begun = begunAt(draft({ token: 'mine' }), START)
  let record = apply(begun, { type: 'dispatch', token: 'mine' }, START)
  record = apply(record, { type: 'pend', token: 'mine', reference: 'job', retryAfterMs: 1_000 }, START)
  const times: number[] = []
  while (record.state === 'pending') {
    const nowMs = record.dueAtMs!
    times.push(nowMs - START)
    record = apply(record, { type: 'lookup', nowMs, finding }, nowMs)
  }
  assert.equal(record.state, 'escalated')
  return times
}

test('an operation that its upstream wants to be asked for every second is followed for hours, and its end is never heard much later than half its time after', () => {
  for (const finding of [{ kind: 'pending', reference: null, retryAfterMs: 1_000 }, { kind: 'inconclusive', retryAfterMs: 1_000 }] as const) {
    const times = lookUpTimes(finding)
    assert.ok(times.at(-1)! > 3_600_000, `given up after ${times.at(-1)! / 1_000} s`)
    times.slice(1).forEach((time, index) => assert.ok(time - times[index]! <= Math.max(1_000, time / 2) + 1, `${times[index]} → ${time}`))
  }
})

test('a pause that the upstream asks for is kept where it is longer', () => {
  const times = lookUpTimes({ kind: 'pending', reference: null, retryAfterMs: 900_000 })
  assert.ok(times.slice(1).every((time, index) => time - times[index]! === 900_000))
})
