// `npm run differential [-- --runs N]`: sequences of asks of the three stores, which must answer alike. `SEED=… CASE=… npm run differential` runs a
// sequence that did not again. Exit code 1 where they differ, 2 where the run fired some row of the table too seldom to prove anything about it.
import { parseArgs } from 'node:util'
import fc from 'fast-check'
import { Fired, ROWS } from '../sim/rows.ts'
import { openField, STORE_ROWS } from './differ.ts'

const RUNS = 2_000
/** In so many runs. */
const LEAST_OF_ROW = 200

async function main (): Promise<number> {
  const { values } = parseArgs({ options: { runs: { type: 'string', default: String(RUNS) } } })
  const numRuns = Number(values.runs)
  if (!Number.isSafeInteger(numRuns) || numRuns < 1) {
    console.error('--runs takes a whole number from 1')
    return 2
  }
  const seed = process.env['SEED'] === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(process.env['SEED'])
  if (!Number.isSafeInteger(seed)) {
    console.error('SEED is a whole number, as an earlier run told it')
    return 2
  }
  const path = process.env['CASE']
  const field = await openField()
  const fired = new Fired()
  const startedAtMs = performance.now()
  try {
    const details = await fc.check(field.property(fired), { numRuns, seed, ...(path === undefined ? {} : { path, endOnFailure: true }) })
    for (const row of STORE_ROWS) console.log(`row ${String(row).padStart(2)}  ${String(fired.of(row)).padStart(8)}  ${ROWS.get(row)}`)
    console.log(`seed ${seed}: ${details.numRuns} sequences in ${((performance.now() - startedAtMs) / 1_000).toFixed(1)} s`)
    if (details.failed) {
      console.log(`${fc.defaultReportMessage(details) ?? ''}\nAgain: SEED=${details.seed} CASE=${details.counterexamplePath} npm run differential`)
      return 1
    }
    const least = Math.floor(LEAST_OF_ROW * Math.min(1, numRuns / RUNS))
    const seldom = path === undefined ? STORE_ROWS.filter(row => fired.of(row) < least) : []
    if (seldom.length > 0) console.log(`INVALID: rows ${seldom.join(', ')} were fired too seldom for this run to prove anything about them`)
    return seldom.length > 0 ? 2 : 0
  } finally {
    await field.close()
  }
}

process.exitCode = await main()
