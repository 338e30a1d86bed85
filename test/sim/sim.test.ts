// The short form of `npm run sim`, always with the same seeds.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { NOT_MODELLED, ROWS } from './rows.ts'
import { runSchedule, type Stage } from './schedule.ts'
import { openStage, runMany, tellFailure } from './stage.ts'

const FIRST_SEED = 20_300_101
const SCHEDULES = 3_000

describe('the simulator', () => {
  let stage: Stage
  before(async () => { stage = await openStage() })

  test('thousands of schedules of faults violate no invariant, and fire every row of the table', async t => {
    const { events, attempts, effects, fired, failed } = await runMany(stage, FIRST_SEED, SCHEDULES, 1)
    assert.equal(failed.length, 0, failed.map(tellFailure).join('\n\n'))
    assert.deepEqual(fired.below(1), [], 'rows that were never fired')
    t.diagnostic(`${SCHEDULES} schedules, ${events} events, ${attempts} attempts, ${effects} effects`)
  })

  test('one seed is one schedule, step by step', async () => {
    for (let seed = FIRST_SEED; seed < FIRST_SEED + 100; seed++) {
      const [one, again] = [await runSchedule(stage, seed, true), await runSchedule(stage, seed, true)]
      assert.deepEqual(one.steps, again.steps, `seed ${seed}`)
      assert.ok(one.steps.length > 10)
    }
  })

  test('each of the 46 rows is in the table, or is named with the reason why it is not', () => {
    const all = [...ROWS.keys(), ...NOT_MODELLED.keys()].sort((one, other) => one - other)
    assert.deepEqual(all, Array.from({ length: 46 }, (_, index) => index + 1))
  })
})
