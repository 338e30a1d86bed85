// A process of its own: a whole broker on a large catalog, which says what its start and its reloads cost. The environment is the broker's.
import { readConfig } from '../../src/config.ts'
import { startBroker } from '../../src/main.ts'

const RELOADS = 3

const cpuMs = (used: NodeJS.CpuUsage): number => (used.user + used.system) / 1_000

const startedAtMs = performance.now()
const broker = await startBroker(readConfig(process.env))
// Since the process began, with the reading of its own program.
const start = {
  cpuMs: cpuMs(process.cpuUsage()), wallMs: performance.now(), brokerMs: performance.now() - startedAtMs,
  memoryMib: process.resourceUsage().maxRSS / 1024,
}

/** How much CPU this thread used between two of its turns: what else runs on the machine does not count. */
class Stalls {
  longestMs = 0
  #lastMs = cpuMs(process.threadCpuUsage())
  readonly #timer = setInterval(() => this.#turn(), 1)

  #turn (): void {
    const nowMs = cpuMs(process.threadCpuUsage())
    this.longestMs = Math.max(this.longestMs, nowMs - this.#lastMs)
    this.#lastMs = nowMs
  }

  stop (): void {
    this.#turn()
    clearInterval(this.#timer)
  }
}

const reloads = []
for (let count = 0; count < RELOADS; count++) {
  const before = process.cpuUsage()
  const fromMs = performance.now()
  const stalls = new Stalls()
  await broker.reload()
  stalls.stop()
  reloads.push({ stallMs: stalls.longestMs, cpuMs: cpuMs(process.cpuUsage(before)), wallMs: performance.now() - fromMs })
}
process.stdout.write(JSON.stringify({ start, reloads, memoryMib: process.resourceUsage().maxRSS / 1024 }))
await broker.close()
