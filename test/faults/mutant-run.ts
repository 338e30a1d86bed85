// One short run for one mutant, in whatever tree this file lies in: `node test/faults/mutant-run.ts OPTIONS`, a JSON of ShortRunOptions. Says on
// stdout what the checker found.
import { check } from './check.ts'
import { readJson } from './folder.ts'
import { shortRun, type ShortRunOptions } from './short-run.ts'

export interface MutantRun {
  readonly violations: ReadonlyArray<{ readonly invariant: string, readonly what: string, readonly attempt: string | null }>
  readonly attempts: number
  readonly fired: { readonly [name: string]: number }
}

const options = JSON.parse(process.argv[2]!) as ShortRunOptions
await shortRun(options)
const { violations, counts } = check(options.folder)
const found: MutantRun = {
  violations: violations.map(({ invariant, what, attempt }) => ({ invariant, what, attempt })),
  attempts: counts.attempts,
  fired: readJson<Record<string, number>>(options.folder, 'fired.json') ?? {},
}
console.log(JSON.stringify(found))
