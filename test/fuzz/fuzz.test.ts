// The short form of `npm run fuzz`, always with the same seed.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { run } from './target.ts'
import { TARGETS } from './targets.ts'

const SEED = 20_300_101

describe('whatever comes to the boundary', () => {
  for (const target of TARGETS) {
    test(target.holds, async t => {
      const { cases, counts, failure, seldom } = await run(target, target.shortRuns, SEED)
      assert.equal(failure, null, failure ?? '')
      assert.deepEqual(seldom, [], `too few of ${cases} cases: ${JSON.stringify([...counts])}`)
      t.diagnostic(`${cases} cases: ${[...counts].map(([what, times]) => `${times} ${what}`).join(', ')}`)
    })
  }
})
