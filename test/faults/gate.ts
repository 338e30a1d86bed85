// The gates. `npm run faults`: twenty minutes that must find nothing, and are invalid where too little fired. `npm run faults:nightly`: round after round,
// stopped and resumed at will, until so many attempts were made; its report is bench/faults.json.
//
//   node test/faults/gate.ts short | gate | nightly  [--seed S] [--attempts N] [--minutes M] [--state FILE] [--report FILE] [--folder DIR]
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { randomBytes } from 'node:crypto'
import type { Fired } from './chronicle.ts'
import { readJson, type RunFacts } from './folder.ts'
import { commitNow, versions } from './made-with.ts'
import { addFired, isMet, missingFailpoints, tally, type Minimum, type Tally } from './minimum.ts'
import { judge, runRound, type RoundOptions, type RoundReport } from './round.ts'
import { add, attemptsOf, figuresOf, NOTHING, timesLine, violationsOf, type Totals } from './totals.ts'

export interface GateOptions {
  readonly seed: string
  /** Of all rounds; each has one of its own in it, which is removed where nothing was found. */
  readonly folder: string
  readonly minimum: Minimum
  /** No rounds are begun that could not end by then. */
  readonly minutes: number
  /** At the same time: where one only waits, the others have the machine. */
  readonly rounds: readonly Plan[]
  /** They are run again and again until the minimum is met or the time is over. Otherwise once, for as long as there is time or until it is met. */
  readonly again: boolean
  /** null: nothing is resumed. */
  readonly stateFile: string | null
  readonly say: (line: string) => void
}

export type Plan = Pick<RoundOptions, 'store' | 'stormMs' | 'afterMs' | 'drainMs' | 'atOnce' | 'stateLoss' | 'pace'>

export interface GateResult {
  readonly totals: Totals
  readonly tallies: readonly Tally[]
  readonly valid: boolean
}

/** Of the loss of what the store acknowledged. */
const STATE_LOSS = true

const redis: Plan = {
  store: 'redis', stormMs: 240_000, afterMs: 13_000, drainMs: 35_000, atOnce: 192, stateLoss: STATE_LOSS,
  pace: { killMs: 1_800, unarmed: 0.2, stopMs: 2_500, termMs: 12_000, rollMs: 60_000, storeMs: 1_800, calmMs: 12_000 },
}
/** One process alone: while it is away nothing happens, so it is left in peace for longer. */
const sqlite: Plan = {
  store: 'sqlite', stormMs: 240_000, afterMs: 11_000, drainMs: 20_000, atOnce: 80, stateLoss: false,
  pace: { killMs: 3_000, unarmed: 0.4, stopMs: 6_000, termMs: 13_000, rollMs: null, storeMs: 0, calmMs: 18_000 },
}

/** What a run must have seen that is to say something of all of it. */
const MINIMUM: Minimum = {
  attempts: 20_000, kills: 300, stops: 200, redisKills: 40, network: 5_000, truncations: STATE_LOSS ? 10 : 0, blows: STATE_LOSS ? 3 : 0,
  failpoint: { times: 10, names: null },
}

export const GATES: Readonly<Record<'short' | 'gate' | 'nightly', Pick<GateOptions, 'minimum' | 'minutes' | 'rounds' | 'again'>>> = {
  short: {
    // What a minute or two do to it even on a machine that is busy: each run of the suite has to be able to say something.
    minimum: { attempts: 500, kills: 12, stops: 8, redisKills: 3, network: 100, truncations: 0, blows: 0, failpoint: { times: 1, names: 10 } },
    minutes: 4,
    rounds: [
      { ...sqlite, drainMs: 8_000, atOnce: 24, pace: { ...sqlite.pace, killMs: 6_000, unarmed: 0.4, stopMs: 5_000, termMs: 15_000, calmMs: 8_000 } },
      { ...redis, drainMs: 12_000, atOnce: 48, pace: { killMs: 5_000, unarmed: 0.15, stopMs: 2_500, termMs: 12_000, rollMs: null, storeMs: 2_500, calmMs: 6_000 } },
    ],
    again: false,
  },
  gate: {
    minimum: MINIMUM,
    // It ends as soon as it has seen enough.
    minutes: 20,
    rounds: [sqlite, redis],
    again: false,
  },
  // Brokers that live long are quick: most of the attempts come from here, and what befell them for hours.
  nightly: {
    minimum: { ...MINIMUM, attempts: 200_000, kills: 200, failpoint: { times: 1, names: 20 } },
    minutes: 24 * 60,
    rounds: [
      { ...sqlite, stormMs: 600_000, drainMs: 90_000, atOnce: 112, pace: { ...sqlite.pace, killMs: 6_000, unarmed: 0.8, stopMs: 8_000, termMs: 30_000, calmMs: 45_000 } },
      { ...redis, stormMs: 600_000, drainMs: 90_000, atOnce: 384, pace: { killMs: 5_000, unarmed: 0.8, stopMs: 4_000, termMs: 25_000, rollMs: 120_000, storeMs: 1_600, calmMs: 40_000 } },
    ],
    again: true,
  },
}

export async function runGate (options: GateOptions): Promise<GateResult> {
  const { minimum, say } = options
  const endsAtMs = performance.now() + options.minutes * 60_000
  const talliesOf = (totals: Totals): readonly Tally[] => tally(totals.fired, attemptsOf(totals), minimum)
  const commit = commitNow()
  let totals = resumed(options.stateFile)
  for (;;) {
    const longest = Math.max(...options.rounds.map(lengthMs))
    if (options.again && (isMet(talliesOf(totals)) || performance.now() + longest > endsAtMs)) break
    // Where there is no other time, they may storm for as long as there is, until enough was done.
    const moreMs = options.again ? 0 : endsAtMs - performance.now() - longest
    const first = totals.rounds.length
    const before = totals
    const live = options.rounds.map((): Live => ({ fired: {}, errands: 0 }))
    const isEnough = (): boolean => !options.again && isMet(tally(
      live.reduce((sum, { fired }) => addFired(sum, fired), before.fired), live.reduce((sum, { errands }) => sum + errands, attemptsOf(before)), minimum))
    const runs = await Promise.all(options.rounds.map((plan, at) => {
      const folder = join(options.folder, `round-${first + at}`)
      rmSync(folder, { recursive: true, force: true })
      return runRound({
        ...plan, stormMs: Math.max(STORM_MS_MIN, plan.stormMs + moreMs), seed: `${options.seed}/${first + at}`, folder,
        cacheFolder: join(options.folder, 'code'),
        isEnough (fired, errands) {
          live[at] = { fired, errands }
          return isEnough()
        },
      })
    }))
    for (const run of runs) {
      const report = judge(run)
      totals = add(totals, report, commit, readJson<RunFacts>(run.folder, 'run.json')!.healedAtMs)
      if (options.stateFile !== null) keep(options.stateFile, totals)
      tellRound(report, say)
      if (report.checked.violations.length === 0) rmSync(run.folder, { recursive: true, force: true })
    }
    if (!options.again) break
  }
  const tallies = talliesOf(totals)
  return { totals, tallies, valid: isMet(tallies) }
}

/** What was done to a round so far. */
interface Live {
  readonly fired: Fired
  readonly errands: number
}

/** In git for as long as a long run is not at its end: it is gone on with from there, on whatever machine. */
const STATE_FILE = 'bench/faults-state.json'
/** However late it is. */
const STORM_MS_MIN = 20_000
/** To start everything, to heal it, and to check what came of it. */
const AROUND_MS = 40_000

const lengthMs = ({ stormMs, afterMs, drainMs }: Plan): number => stormMs + afterMs + drainMs + AROUND_MS

function resumed (stateFile: string | null): Totals {
  return stateFile !== null && existsSync(stateFile) ? JSON.parse(readFileSync(stateFile, 'utf8')) as Totals : NOTHING
}

/** A run that is killed while it writes leaves the state as it was. */
function keep (stateFile: string, totals: Totals): void {
  writeFileSync(`${stateFile}.new`, JSON.stringify(totals))
  renameSync(`${stateFile}.new`, stateFile)
}

function tellRound ({ seed, store, seconds, checked, fired, drained, folder, agents, recoveredMs }: RoundReport, say: (line: string) => void): void {
  const hurt = Object.entries(fired).filter(([name]) => !/^(upstream|status|people):/.test(name)).reduce((sum, [, times]) => sum + times, 0)
  say(`round ${seed} on ${store}: ${checked.counts.attempts} attempts of ${agents.errands} errands in ${Math.round(seconds)} s, ${hurt} faults of the rig, ` +
    `${checked.violations.length} violations, ${drained ? 'all settled' : 'some still unsettled'}, back after ${recoveredMs} ms`)
  for (const { invariant, what, attempt, errand } of checked.violations.slice(0, 50)) say(`  ${invariant}: ${what} (attempt ${attempt}, errand ${errand})`)
  if (checked.violations.length > 0) say(`  all that this round left behind is in ${folder}`)
}

export function tellResult ({ totals, tallies, valid }: GateResult, minimum: Minimum, say: (line: string) => void): void {
  for (const { name, fired, wanted } of tallies) say(`${fired >= wanted ? ' ' : '!'} ${name}: ${fired} of ${wanted}`)
  if (!valid) say(`  failpoints that fired too seldom: ${missingFailpoints(totals.fired, minimum.failpoint.times).join(', ')}`)
  for (const [name, times] of Object.entries(totals.fired)) if (name.startsWith('process:')) say(`! a broker ${name.slice('process:'.length)}: ${times} times`)
  say(`  unknown, absence provable: ${timesLine(totals.provable)}`)
  say(`  unknown, absence not provable: ${timesLine(totals.notProvable)}`)
  const attempts = attemptsOf(totals)
  const violations = violationsOf(totals).length
  if (violations > 0) say(`${violations} violations in ${attempts} attempts`)
  else if (!valid) say('invalid: too little fired for the result to say anything')
  else say(`no violation in ${attempts} attempts: with 95 % confidence fewer than ${(3 / attempts).toExponential(1)} of all`)
}

async function main (): Promise<number> {
  const { positionals: [name = 'gate'], values } = parseArgs({
    allowPositionals: true,
    options: {
      seed: { type: 'string' }, attempts: { type: 'string' }, minutes: { type: 'string' }, state: { type: 'string' }, report: { type: 'string' },
      folder: { type: 'string' },
    },
  })
  const gate = GATES[name as keyof typeof GATES]
  if (gate === undefined) throw new Error(`there is no gate ${name}: short, gate, nightly`)
  const stateFile = values.state ?? (gate.again ? STATE_FILE : null)
  const folder = resolve(values.folder ?? mkdtempSync(join(tmpdir(), 'aval-faults-')))
  mkdirSync(folder, { recursive: true })
  const minimum: Minimum = { ...gate.minimum, ...(values.attempts === undefined ? {} : { attempts: Number(values.attempts) }) }
  const seed = values.seed ?? seedOf(stateFile) ?? randomBytes(6).toString('hex')
  const say = (line: string): void => { console.log(line) }
  say(`seed ${seed}; ${folder}`)
  const result = await runGate({ ...gate, minimum, seed, folder, stateFile, say, minutes: values.minutes === undefined ? gate.minutes : Number(values.minutes) })
  tellResult(result, minimum, say)
  const report = values.report ?? (gate.again ? 'bench/faults.json' : null)
  if (report !== null) writeFileSync(report, `${JSON.stringify({ seed, ...versions(), valid: result.valid, ...figuresOf(result.totals) }, null, 2)}\n`)
  if (gate.again && result.valid && values.state === undefined) rmSync(stateFile!, { force: true })
  const clean = violationsOf(result.totals).length === 0
  if (clean && values.folder === undefined) rmSync(folder, { recursive: true, force: true })
  return clean && !hasStrangeProcesses(result.totals.fired) ? result.valid ? 0 : 2 : 1
}

/** A broker that ended though nobody ended it, or did not when it was told to. */
const hasStrangeProcesses = (fired: Fired): boolean => Object.keys(fired).some(name => name.startsWith('process:'))

/** The rounds that a resumed run goes on from say their seed. */
function seedOf (stateFile: string | null): string | null {
  return resumed(stateFile).rounds[0]?.seed.replace(/\/\d+$/, '') ?? null
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) process.exitCode = await main()
