// The short form of `npm run differential`.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { Fired } from '../sim/rows.ts'
import { openField, STORE_ROWS, type Field } from './differ.ts'

const RUNS = 60

let field: Field
before(async () => { field = await openField() })
after(() => field.close())

test('plain data, SQLite and Redis answer alike, whatever is asked', { timeout: 600_000 }, async () => {
  const fired = new Fired()
  await fc.assert(field.property(fired), { numRuns: RUNS })
  // Which of the others a run of this length meets is a matter of luck.
  for (const row of [2, 5, 10, 11, 39]) assert.ok(fired.of(row) > 0, `row ${row} was never fired`)
  assert.ok(STORE_ROWS.filter(row => fired.of(row) > 0).length > STORE_ROWS.length / 2)
})
