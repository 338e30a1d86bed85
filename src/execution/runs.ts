// What this replica knows about runs without asking the store at each call: which are stopped, and how often a run was refused. The store stays the
// authority: `begin` refuses a stopped run whatever this view says, and refusals are counted there.
import type { Store } from '../store/store.ts'

const RUNS_REMEMBERED = 20_000

export interface Runs {
  isStopped (runKey: string): boolean
  refusals (runKey: string, action: string): number
  /** Counts in the background; the answer does not wait for it. */
  refused (tag: string, runKey: string, action: string): Promise<void>
  /** @throws StateUnavailable */
  stop (tag: string, runKey: string): Promise<void>
  /** Reads the stopped runs again. @throws StateUnavailable */
  refresh (): Promise<void>
}

export function createRuns (store: Store): Runs {
  let stopped: ReadonlySet<string> = new Set()
  const refusals = new Map<string, number>()

  return {
    isStopped: runKey => stopped.has(runKey),
    refusals: (runKey, action) => refusals.get(`${runKey} ${action}`) ?? 0,
    async refused (tag, runKey, action) {
      const name = `${runKey} ${action}`
      // Counted here first: a guessing loop must not outrun the store.
      remember(refusals, name, (refusals.get(name) ?? 0) + 1)
      const total = await store.countRefusal(tag, runKey, action)
      if (total > (refusals.get(name) ?? 0)) remember(refusals, name, total)
    },
    async stop (tag, runKey) {
      await store.stopRun(tag, runKey)
      stopped = new Set([...stopped, runKey])
    },
    async refresh () {
      stopped = new Set(await store.stoppedRuns())
    },
  }
}

function remember (counts: Map<string, number>, name: string, count: number): void {
  counts.delete(name)
  counts.set(name, count)
  if (counts.size > RUNS_REMEMBERED) counts.delete(counts.keys().next().value!)
}
