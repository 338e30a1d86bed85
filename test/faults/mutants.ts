// `npm run faults:mutants [WORD] [--unharmed]`: proves that the rig sees what it must see. Each mutant takes a rule away in a copy of the tree, and a
// short run with the faults for which that rule is there must find a violation of an invariant that is named beside it. A run in which too few of
// these faults fired proves nothing and says so. With --unharmed the same runs are made of the code as it is, and must find nothing. Exit code 1 where
// a mutant survives (or the code as it is does not), 2 where a run proves nothing or the table is older than the code.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inTrees, isStale, type Tree } from '../mutant-tree.ts'
import type { MutantRun } from './mutant-run.ts'
import { RIG_MUTANTS, type RigMutant } from './mutants-table.ts'

const AT_ONCE = 1
const RUN_MS = 180_000
const SEED = 'mutants'

interface Result {
  /** Of an invariant that may catch it. */
  readonly caught: readonly string[]
  readonly what: string
  readonly missing: readonly string[]
  readonly attempts: number
  readonly seconds: number
  readonly folder: string
}

async function runRig (tree: Tree, mutant: RigMutant, unharmed: boolean): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'aval-rig-'))
  const startedAtMs = performance.now()
  const child = spawn(process.execPath, [join(tree.folder, 'test/faults/mutant-run.ts'), JSON.stringify({ ...mutant.run, folder, seed: SEED })], {
    cwd: tree.folder, stdio: ['ignore', 'pipe', 'pipe'], detached: true,
  })
  let [said, told] = ['', '']
  child.stdout.on('data', chunk => { said += chunk })
  child.stderr.on('data', chunk => { told += chunk })
  // What a run starts belongs to its group.
  const end = (): void => { try { process.kill(-child.pid!, 'SIGKILL') } catch { /* it has ended by itself */ } }
  const timer = setTimeout(end, RUN_MS)
  await new Promise(resolve => child.once('close', resolve))
  clearTimeout(timer)
  end()
  const seconds = (performance.now() - startedAtMs) / 1_000
  if (!said.includes('{')) return { caught: [], what: `the run did not end: ${told.slice(-500)}`, missing: ['an end'], attempts: 0, seconds, folder }
  const { violations, fired, attempts } = JSON.parse(said) as MutantRun
  const count = (name: string): number => Object.entries(fired).reduce((sum, [own, times]) => own.startsWith(name) ? sum + times : sum, 0)
  // Some faults fire only where the mutant asks for them.
  const missing = Object.entries(unharmed ? {} : mutant.fires).filter(([name, times]) => count(name) < times)
    .map(([name, times]) => `${name}: ${count(name)} of ${times}`)
  const own = unharmed ? violations : violations.filter(({ invariant }) => mutant.caughtBy.includes(invariant))
  return { caught: [...new Set(own.map(({ invariant }) => invariant))], what: own[0]?.what ?? '', missing, attempts, seconds, folder }
}

async function main (args: readonly string[]): Promise<number> {
  const unharmed = args.includes('--unharmed')
  const words = args.filter(arg => !arg.startsWith('--'))
  const chosen = RIG_MUTANTS.filter(({ name }) => words.length === 0 || words.some(word => name.includes(word)))
  const stale = chosen.flatMap(({ name, edits }) => edits.filter(isStale).map(({ file }) => `${name}: ${file}`))
  if (stale.length > 0) {
    console.error(`The table is older than the code; the text to replace does not stand there exactly once:\n${stale.join('\n')}`)
    return 2
  }
  const results = new Map<RigMutant, Result>()
  await inTrees(chosen.filter(({ instead }) => instead === undefined), AT_ONCE, async (tree, mutant) => {
    const result = await tree.with(unharmed ? [] : mutant.edits, () => runRig(tree, mutant, unharmed))
    results.set(mutant, result)
    const isAsMeant = (result.caught.length > 0) !== unharmed
    if (isAsMeant) rmSync(result.folder, { recursive: true, force: true })
    const said = unharmed ? (isAsMeant ? 'clean' : 'NOT CLEAN') : isAsMeant ? 'caught' : 'SURVIVES'
    const word = result.missing.length > 0 ? `INVALID (${result.missing.join(', ')})` : said
    console.error(`${word}  ${mutant.name}: ${result.caught.join(' ')} ${result.what}${isAsMeant ? '' : `; see ${result.folder}`}`)
  })
  console.log('| mutant | caught by | how | attempts | seconds |\n|---|---|---|---|---|')
  for (const mutant of chosen) console.log(rowOf(mutant, results.get(mutant)))
  const all = [...results.values()]
  if (all.some(({ missing }) => missing.length > 0)) return 2
  return all.every(({ caught }) => (caught.length > 0) !== unharmed) ? 0 : 1
}

function rowOf ({ name, instead }: RigMutant, result: Result | undefined): string {
  if (result === undefined) return `| ${name} | — | ${instead} | | |`
  const { caught, what, attempts, seconds } = result
  return `| ${name} | ${caught.length === 0 ? '**nothing**' : caught.join(', ')} | ${what} | ${attempts} | ${seconds.toFixed(0)} |`
}

process.exitCode = await main(process.argv.slice(2))
