// What this replica knows about runs without asking the store at each call: which are stopped, and how often a run was refused. The store stays the
// authority: `begin` refuses a stopped run whatever this view says, and refusals are counted there.
import type { Store } from '../store/store.ts'

const RUNS_REMEMBERED = 20_000
/** An older view may miss a run that was stopped elsewhere: on it nothing is sent. */
const VIEW_AGE_MS_MAX = 1_000

export interface Runs {
  /** The view of the stopped runs is young enough to rest a call on; where it is not, `refresh` comes first. */
  isFresh (): boolean
  isStopped (runKey: string): boolean
  /** By their keys. */
  stopped (): ReadonlySet<string>
  /** How often calls of this action were refused in this run, as far as is known here. @throws StateUnavailable where nothing is known of it yet */
  refusals (tag: string, runKey: string, action: string): Promise<number>
  /** Counts in the background; the answer does not wait for it. */
  refused (tag: string, runKey: string, action: string): Promise<void>
  /** @throws StateUnavailable */
  stop (tag: string, runKey: string): Promise<void>
  /** Reads the stopped runs again; whoever asks meanwhile waits for the same reading. @throws StateUnavailable */
  refresh (): Promise<void>
}

export interface RunsOptions {
  /** Monotonic. */
  readonly nowMs?: () => number
  /** Ends what a run that is stopped still has waiting for people. Where that cannot be done now, the sweep does it. */
  readonly endOf?: (runKey: string) => Promise<void>
}

export function createRuns (store: Store, { nowMs = () => performance.now(), endOf = async () => {} }: RunsOptions = {}): Runs {
  let stopped: ReadonlySet<string> = new Set()
  let readAtMs = -Infinity
  let reading: Promise<void> | null = null
  /** Stopped through this replica, and when: a reading that began before that does not list them yet. */
  const stoppedHere = new Map<string, number>()
  const refusals = new Map<string, number>()

  async function read (): Promise<void> {
    const beganAtMs = nowMs()
    const listed = await store.stoppedRuns()
    for (const [runKey, atMs] of stoppedHere) if (atMs < beganAtMs) stoppedHere.delete(runKey)
    stopped = new Set([...listed, ...stoppedHere.keys()])
    readAtMs = beganAtMs
  }

  return {
    isFresh: () => nowMs() - readAtMs <= VIEW_AGE_MS_MAX,
    isStopped: runKey => stopped.has(runKey),
    stopped: () => stopped,
    async refusals (tag, runKey, action) {
      const name = `${runKey} ${action}`
      const known = refusals.get(name)
      if (known !== undefined) return known
      const total = await store.refusals(tag, runKey, action)
      // Refusals of this replica may have been counted meanwhile.
      remember(refusals, name, Math.max(total, refusals.get(name) ?? 0))
      return refusals.get(name)!
    },
    async refused (tag, runKey, action) {
      const name = `${runKey} ${action}`
      // Counted here first: a guessing loop must not outrun the store.
      remember(refusals, name, (refusals.get(name) ?? 0) + 1)
      const total = await store.countRefusal(tag, runKey, action)
      if (total > (refusals.get(name) ?? 0)) remember(refusals, name, total)
    },
    async stop (tag, runKey) {
      await store.stopRun(tag, runKey)
      stoppedHere.set(runKey, nowMs())
      stopped = new Set([...stopped, runKey])
      await endOf(runKey).catch(() => undefined)
    },
    refresh () {
      reading ??= read().finally(() => { reading = null })
      return reading
    },
  }
}

function remember (counts: Map<string, number>, name: string, count: number): void {
  counts.delete(name)
  counts.set(name, count)
  if (counts.size > RUNS_REMEMBERED) counts.delete(counts.keys().next().value!)
}
