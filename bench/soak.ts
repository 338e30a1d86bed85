// `node bench/soak.ts`: does a broker under constant load grow? Reads and writes at a fixed pace, on SQLite and on Redis at once; what each process
// holds is looked at every few seconds, after a collection of garbage, and its slope is taken behind a warm-up.
//
//   --minutes 3   behind the warm-up
//   --warm 60     seconds
//   --reads 200   a second and broker
//   --writes 20   a second and broker
import { parseArgs } from 'node:util'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Usage } from './child.ts'
import type { Load } from './load.ts'
import { startRig, type Process } from './rig.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '3' },
    warm: { type: 'string', default: '60' },
    reads: { type: 'string', default: '200' },
    writes: { type: 'string', default: '20' },
  },
})
const [minutes, warm, reads, writes] = [values.minutes, values.warm, values.reads, values.writes].map(Number) as [number, number, number, number]

const LOOK_MS = 5_000
const CONNECTIONS = 4

interface Look extends Usage {
  readonly atSeconds: number
}

const rig = await startRig({ connections: CONNECTIONS, profiles: null, nodeArguments: ['--expose-gc'], loads: 4 })
try {
  const brokers = [['SQLite', rig.sqlite], ['Redis', rig.redis]] as const
  const milliseconds = warm * 1_000 + minutes * 60_000
  const loads = Promise.all(brokers.flatMap(([, broker], index) => [
    rig.loads[2 * index]!.run(loadOf(broker, 'find_item.v1', reads, milliseconds)),
    rig.loads[2 * index + 1]!.run(loadOf(broker, 'add_item.v1', writes, milliseconds)),
  ]))
  await sleep(warm * 1_000)
  const looked = await lookAt(brokers.map(([, broker]) => broker), milliseconds - warm * 1_000)
  for (const { answers, faults, firstFault, p99Ms } of await loads) {
    console.log(`${answers} answers, p99 ${p99Ms.toFixed(1)} ms, ${faults} faults${firstFault === null ? '' : `: ${firstFault}`}`)
  }
  brokers.forEach(([name], index) => { report(name, looked.map(looks => looks[index]!)) })
} finally {
  await rig.stop()
}

function loadOf (broker: Process, action: string, perSecond: number, milliseconds: number): Load {
  return {
    port: broker.port, path: `/v1/actions/${action}`, tokens: rig.tokens, milliseconds, status: 200, holds: '"outcome":"completed"', from: 0,
    keyed: action.startsWith('add'), perSecond,
  }
}

/** What each of the processes held, time after time. */
async function lookAt (processes: readonly Process[], forMs: number): Promise<ReadonlyArray<readonly Look[]>> {
  const looked: Array<readonly Look[]> = []
  const startedAtMs = performance.now()
  for (let atMs = 0; atMs < forMs - LOOK_MS; atMs = performance.now() - startedAtMs) {
    const usages = await Promise.all(processes.map(process => process.usage()))
    looked.push(usages.map(usage => ({ ...usage, atSeconds: (performance.now() - startedAtMs) / 1_000 })))
    await sleep(LOOK_MS)
  }
  return looked
}

function report (name: string, looks: readonly Look[]): void {
  const [first, last] = [looks[0]!, looks.at(-1)!]
  const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1)
  console.log([
    `${name}, ${looks.length} looks in ${last.atSeconds.toFixed(0)} s:`,
    `  RSS      ${megabytes(first.rssBytes)} → ${megabytes(last.rssBytes)} MB, slope ${slope(looks, 'rssBytes').toFixed(1)} MB an hour`,
    `  heap     ${megabytes(first.heapBytes)} → ${megabytes(last.heapBytes)} MB, slope ${slope(looks, 'heapBytes').toFixed(1)} MB an hour`,
    `  handles  ${first.handles} → ${last.handles}, at most ${Math.max(...looks.map(look => look.handles))}`,
  ].join('\n'))
}

/** Least squares, in megabytes an hour. */
function slope (looks: readonly Look[], of: 'rssBytes' | 'heapBytes'): number {
  const mean = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0) / numbers.length
  const meanSeconds = mean(looks.map(look => look.atSeconds))
  const meanBytes = mean(looks.map(look => look[of]))
  const over = looks.reduce((sum, look) => sum + (look.atSeconds - meanSeconds) * (look[of] - meanBytes), 0)
  const under = looks.reduce((sum, look) => sum + (look.atSeconds - meanSeconds) ** 2, 0)
  return over / under * 3_600 / 1e6
}
