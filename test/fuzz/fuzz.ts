// `npm run fuzz [-- --cases N] [TARGET…]`: what must hold at the boundary whatever comes, for many cases. `SEED=… CASE=… npm run fuzz -- TARGET` runs
// one case that failed again. Exit code 1 where something did not hold, 2 where too few cases came to the point.
import { parseArgs } from 'node:util'
import { run } from './target.ts'
import { TARGETS } from './targets.ts'

async function main (): Promise<number> {
  const { values, positionals } = parseArgs({ options: { cases: { type: 'string', default: '100000' } }, allowPositionals: true })
  const cases = Number(values.cases)
  const unknown = positionals.filter(name => !TARGETS.some(target => target.name === name))
  if (!Number.isSafeInteger(cases) || cases < 1 || unknown.length > 0) {
    const known = TARGETS.map(({ name }) => name).join(', ')
    console.error(unknown.length > 0 ? `no such target: ${unknown.join(', ')}; there are ${known}` : '--cases takes a whole number from 1')
    return 2
  }
  const seed = process.env['SEED'] === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(process.env['SEED'])
  if (!Number.isSafeInteger(seed)) {
    console.error('SEED is a whole number, as an earlier run told it')
    return 2
  }
  let status = 0
  for (const target of TARGETS) {
    if (positionals.length > 0 && !positionals.includes(target.name)) continue
    const { cases: done, counts, seconds, failure, seldom } = await run(target, cases, seed, process.env['CASE'])
    const told = [...counts].map(([what, times]) => `${times} ${what}`).join(', ')
    console.log(`${failure === null ? 'holds ' : 'FAILS '} ${target.name.padEnd(10)} seed ${seed}: ${done} cases (${told}) in ${seconds.toFixed(1)} s`)
    if (failure !== null) console.log(failure)
    if (seldom.length > 0) console.log(`INVALID: too few cases of ${target.name} were ${seldom.join(', ')}`)
    status = failure !== null ? 1 : seldom.length > 0 ? Math.max(status, 2) : status
  }
  return status
}

process.exitCode = await main()
