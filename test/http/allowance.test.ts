// Allowances in windows of time, with a clock of the test's own.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { Allowance } from '../../src/http/allowance.ts'

describe('an allowance', () => {
  test('is spent point by point, and says how long until there is more', () => {
    const allowance = new Allowance(2, 1_000)
    assert.deepEqual([100, 200, 300, 1_099].map(nowMs => allowance.spend('a', nowMs)), [0, 0, 800, 1])
    assert.equal(allowance.spend('a', 1_100), 0)
  })

  test('is one for each key', () => {
    const allowance = new Allowance(1, 1_000)
    assert.deepEqual([allowance.spend('a', 0), allowance.spend('b', 0), allowance.spend('a', 0)], [0, 0, 1_000])
  })

  test('admits so many in a window that begins with the first, whatever the order of keys and pauses', () => {
    const step = fc.record({ key: fc.constantFrom('a', 'b', 'c'), pauseMs: fc.integer({ min: 0, max: 1_500 }) })
    fc.assert(fc.property(fc.array(step, { maxLength: 60 }), fc.integer({ min: 1, max: 4 }), (steps, points) => {
      const allowance = new Allowance(points, 1_000)
      const model = new Map<string, { left: number, endsAtMs: number }>()
      let nowMs = 5
      for (const { key, pauseMs } of steps) {
        nowMs += pauseMs
        let window = model.get(key)
        if (window === undefined || nowMs >= window.endsAtMs) model.set(key, window = { left: points, endsAtMs: nowMs + 1_000 })
        const expected = window.left === 0 ? window.endsAtMs - nowMs : 0
        window.left = Math.max(0, window.left - 1)
        assert.equal(allowance.spend(key, nowMs), expected)
      }
    }))
  })
})
