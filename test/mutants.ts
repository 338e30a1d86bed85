// `npm run mutants [WORD]`: proves that the tests of the invariants can fail. Each mutant of the table takes away a line that protects an invariant,
// in a copy of the tree, and the test that is named beside it must fail. A test that already fails without any mutant proves nothing, so each is run
// unharmed first. Exit code 1 where a mutant survives, 2 where the table or a test is at fault; a WORD is the number of an invariant, or part of the
// name of a mutant or of its test.
import { spawn } from 'node:child_process'
import { inTrees, isStale, type Tree } from './mutant-tree.ts'
import { MUTANTS, type Mutant } from './mutants-table.ts'

const AT_ONCE = 2
/** A mutant may make a test wait until its patience ends; that is a failure like any other. */
const TEST_MS = 90_000
const RUN_MS = 150_000

interface Run {
  readonly passed: readonly string[]
  readonly failed: readonly string[]
  readonly seconds: number
  /** How the first one failed, in a line. */
  readonly why: string
  readonly text: string
}

/** Runs the tests of one file whose titles hold these words. */
function runTest (tree: Tree, { test, killedBy }: Mutant): Promise<Run> {
  const startedAtMs = performance.now()
  const pattern = killedBy.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const args = ['--test', '--test-reporter=tap', `--test-timeout=${TEST_MS}`, `--test-name-pattern=${pattern}`, test]
  const child = spawn(process.execPath, args, { cwd: tree.folder, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  let text = ''
  child.stdout.on('data', chunk => { text += chunk })
  child.stderr.on('data', chunk => { text += chunk })
  // The brokers that a test starts belong to its group.
  const end = (): void => { try { process.kill(-child.pid!, 'SIGKILL') } catch { /* it has ended by itself */ } }
  const timer = setTimeout(end, RUN_MS)
  return new Promise(resolve => child.once('close', () => {
    clearTimeout(timer)
    end()
    const titles = (word: string): readonly string[] =>
      [...text.matchAll(new RegExp(`^ *${word} \\d+ - (.*?)(?: # .*)?$`, 'gm'))].map(match => match[1]!).filter(title => title.includes(killedBy))
    const why = /^ *error: (?:\|-\n *)?(.*(?:\n .*){0,3})/m.exec(text)?.[1]?.replaceAll(/\s+/g, ' ').slice(0, 200) ?? ''
    resolve({ passed: titles('ok'), failed: titles('not ok'), seconds: (performance.now() - startedAtMs) / 1_000, why, text })
  }))
}

async function main (words: readonly string[]): Promise<number> {
  const chosen = MUTANTS.filter(({ invariant, name, test }) =>
    words.length === 0 || words.some(word => word === String(invariant) || name.includes(word) || test.includes(word)))
  const unharmed = [...new Map(chosen.map(mutant => [`${mutant.test} ${mutant.killedBy}`, mutant])).values()]
  let sound = true
  const stale = chosen.flatMap(({ name, edits }) => edits.filter(isStale).map(({ file }) => `${name}: ${file}`))
  if (stale.length > 0) {
    console.error(`The table is older than the code; the text to replace does not stand there exactly once:\n${stale.join('\n')}`)
    return 2
  }
  await inTrees(unharmed, AT_ONCE, async (tree, mutant) => {
    const run = await runTest(tree, mutant)
    if (run.failed.length === 0 && run.passed.length > 0) return
    sound = false
    const fault = run.failed.length > 0 ? 'fails without any mutant' : 'names no test'
    console.error(`${mutant.test}: "${mutant.killedBy}" ${fault}\n${run.text.slice(-3_000)}`)
  })
  if (!sound) return 2
  const runs = new Map<Mutant, Run>()
  await inTrees(chosen, AT_ONCE, async (tree, mutant) => {
    const run = await tree.with(mutant.edits, () => runTest(tree, mutant))
    runs.set(mutant, run)
    console.error(`${run.failed.length === 0 ? 'SURVIVES' : 'killed'}  ${mutant.invariant}  ${mutant.name}: ${run.why}`)
  })
  console.log('| invariant | mutant | killed by | seconds |\n|---|---|---|---|')
  for (const mutant of chosen) console.log(rowOf(mutant, runs.get(mutant)!))
  const survivors = chosen.filter(mutant => runs.get(mutant)!.failed.length === 0).length
  console.log(`\n${chosen.length} mutants, ${chosen.length - survivors} killed, ${survivors} survived`)
  return survivors === 0 ? 0 : 1
}

function rowOf ({ invariant, name, test }: Mutant, { failed, seconds }: Run): string {
  const file = test.replace(/^test\//, '').replace(/\.test\.ts$/, '')
  return `| ${invariant} | ${name} | ${failed[0] === undefined ? '**survives**' : `${file}: ${failed[0]}`} | ${seconds.toFixed(1)} |`
}

process.exitCode = await main(process.argv.slice(2))
