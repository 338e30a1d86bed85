// `npm run sim [-- --schedules N]`: schedules of faults around the code of a call, the reducer, the rule of duplicates and the resolver, in virtual
// time. Each schedule comes from one seed; `SEED=… npm run sim` runs that one alone and tells its steps. Exit code 1 where an invariant was violated,
// 2 where the run proves nothing because it fired some row of the table too seldom.
import { parseArgs } from 'node:util'
import { NOT_MODELLED, ROWS } from './rows.ts'
import { runSchedule } from './schedule.ts'
import { openStage, runMany, tellFailure } from './stage.ts'

/** A run of the gate that fires a row less often proves nothing about it. */
const LEAST_OF_ROW = 200
const GATE_SCHEDULES = 100_000

const isSeed = (text: string): boolean => /^\d+$/.test(text) && Number.isSafeInteger(Number(text))

async function main (): Promise<number> {
  const { values } = parseArgs({ options: { schedules: { type: 'string', default: '5000' } } })
  const schedules = Number(values.schedules)
  if (!Number.isSafeInteger(schedules) || schedules < 1) {
    console.error('--schedules takes a whole number from 1')
    return 2
  }
  const asked = process.env['SEED']
  if (asked !== undefined && !isSeed(asked)) {
    console.error('SEED is a whole number from 0, as an earlier run told it')
    return 2
  }
  const stage = await openStage()
  if (asked !== undefined) {
    const result = await runSchedule(stage, Number(asked), true)
    console.log(tellFailure(result))
    return result.violations.length === 0 ? 0 : 1
  }
  const firstSeed = Math.floor(Math.random() * 2 ** 48)
  const startedAtMs = performance.now()
  const summary = await runMany(stage, firstSeed, schedules)
  const seconds = (performance.now() - startedAtMs) / 1_000
  for (const result of summary.failed) console.log(tellFailure(result))
  for (const [row, what] of ROWS) console.log(`row ${String(row).padStart(2)}  ${String(summary.fired.of(row)).padStart(8)}  ${what}`)
  for (const [row, why] of NOT_MODELLED) console.log(`row ${String(row).padStart(2)}  not modelled: ${why}`)
  const { events, attempts, effects, failed } = summary
  console.log(`seeds ${firstSeed} to ${firstSeed + summary.schedules - 1}: ${summary.schedules} schedules, ${events} events, ${attempts} attempts, ` +
    `${effects} effects, ${failed.length} violated; ${seconds.toFixed(1)} s, ${Math.round(summary.schedules / seconds)} schedules a second`)
  if (failed.length > 0) return 1
  const seldom = summary.fired.below(Math.min(LEAST_OF_ROW, Math.floor(LEAST_OF_ROW * schedules / GATE_SCHEDULES)))
  if (seldom.length > 0) console.log(`INVALID: rows ${seldom.join(', ')} were fired too seldom for this run to prove anything about them`)
  return seldom.length > 0 ? 2 : 0
}

process.exitCode = await main()
