// `node test/faults/memory.ts [--minutes 30] [--rate 15] [--seed S] [--report FILE]`: three brokers that live, under constant load, while networks, the
// store and the upstream fail. What grows in them is measured: resident memory and open handles, from a warm-up on.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { randomBytes } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { versions } from './made-with.ts'
import type { Replicas } from './replicas.ts'
import { judge, runRound } from './round.ts'

const SAMPLE_MS = 5_000
/** Of the run: code is compiled, pools and caches fill. */
const WARM_UP_SHARE = 0.3

interface Sample {
  readonly atMs: number
  readonly megabytes: number
  readonly handles: number
}

function sample (pid: number): Sample | null {
  try {
    const kilobytes = Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1])
    return { atMs: performance.now(), megabytes: kilobytes / 1_024, handles: readdirSync(`/proc/${pid}/fd`).length }
  } catch {
    return null
  }
}

/** By least squares, an hour. */
function slopeAnHour (samples: readonly Sample[], of: (sample: Sample) => number): number {
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length
  const [atMean, mean0] = [mean(samples.map(({ atMs }) => atMs)), mean(samples.map(of))]
  const above = samples.reduce((sum, one) => sum + (one.atMs - atMean) * (of(one) - mean0), 0)
  return above / samples.reduce((sum, { atMs }) => sum + (atMs - atMean) ** 2, 0) * 3_600_000
}

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '30' }, rate: { type: 'string', default: '15' }, seed: { type: 'string' }, report: { type: 'string' } },
})
/** Of the stories under way at once: those that wait long do not slow down the others. */
const AT_ONCE = 192
const seed = values.seed ?? randomBytes(6).toString('hex')
const folder = mkdtempSync(join(tmpdir(), 'aval-faults-memory-'))
const stormMs = Number(values.minutes) * 60_000
const samples: Sample[][] = []

function watch (replicas: Replicas): () => void {
  const timer = setInterval(() => {
    for (let at = 0; at < replicas.count; at++) {
      const pid = replicas.pid(at)
      const one = pid === null ? null : sample(pid)
      if (one !== null) (samples[at] ??= []).push(one)
    }
  }, SAMPLE_MS)
  return () => { clearInterval(timer) }
}

console.log(`seed ${seed}; ${folder}`)
const report = judge(await runRound({
  folder: join(folder, 'round'), cacheFolder: join(folder, 'code'), seed, store: 'redis', stormMs, afterMs: 13_000, drainMs: 40_000, atOnce: AT_ONCE,
  rate: Number(values.rate), stateLoss: false, isEnough: () => false, watch,
  pace: { killMs: null, unarmed: 1, stopMs: null, termMs: null, rollMs: null, storeMs: 1_800, calmMs: 0 },
}))
const figures = samples.map(all => {
  const warm = all.slice(Math.floor(all.length * WARM_UP_SHARE))
  const last = warm.at(-1)!
  return {
    samples: warm.length, megabytes: Math.round(last.megabytes), megabytes_an_hour: Math.round(slopeAnHour(warm, one => one.megabytes) * 10) / 10,
    handles: last.handles, handles_most: Math.max(...warm.map(one => one.handles)), handles_an_hour: Math.round(slopeAnHour(warm, one => one.handles) * 10) / 10,
  }
})
const { attempts } = report.checked.counts
const told = JSON.stringify({
  seed, ...versions(), minutes: Number(values.minutes), stories_a_second: Number(values.rate), stories: report.agents.errands, attempts,
  faults: report.fired, violations: report.checked.violations, brokers: figures,
}, null, 2)
console.log(told)
if (values.report !== undefined) writeFileSync(values.report, `${told}\n`)
if (report.checked.violations.length === 0) rmSync(folder, { recursive: true })
else process.exitCode = 1
