// Which runs have written lately, so that an operator can find the one to stop: those whose writes this replica began, and those that have something open
// in the store, whoever began it. For the eyes alone; nothing rests on it.
import type { RunOwner } from '../attempts/identity.ts'
import type { Store } from '../store/store.ts'

const REMEMBERED_MAX = 1_000
const LISTED_MAX = 1_000
const RECENT_MS = 3_600_000

export interface RecentRun extends RunOwner {
  /** As far as is known here. */
  readonly writes: number
  /** Wall clock. */
  readonly lastAtMs: number
}

export interface RecentRuns {
  /** The same store, whose writes are noted. */
  watch (store: Store): Store
  /** Latest first. @throws StateUnavailable */
  list (store: Store): Promise<readonly RecentRun[]>
}

export function createRecentRuns (nowMs: () => number): RecentRuns {
  const seen = new Map<string, RecentRun>()
  const note = (owner: RunOwner): void => {
    const name = nameOf(owner)
    const writes = (seen.get(name)?.writes ?? 0) + 1
    seen.delete(name)
    seen.set(name, { ...runOf(owner), writes, lastAtMs: nowMs() })
    if (seen.size > REMEMBERED_MAX) seen.delete(seen.keys().next().value!)
  }
  return {
    watch: store => ({
      ...store,
      async begin (record, after, limits) {
        const begun = await store.begin(record, after, limits)
        if (begun.kind === 'begun') note(begun.record.owner)
        return begun
      },
    }),
    async list (store) {
      const [unresolved, open] = await Promise.all([store.unresolved(LISTED_MAX), store.openProposals(LISTED_MAX)])
      const recent = [...seen].filter(([, { lastAtMs }]) => nowMs() - lastAtMs <= RECENT_MS)
      const all = new Map<string, RecentRun>(recent)
      const add = (owner: RunOwner, writes: number, lastAtMs: number): void => {
        const known = all.get(nameOf(owner))
        all.set(nameOf(owner), { ...runOf(owner), writes: Math.max(writes, known?.writes ?? 0), lastAtMs: Math.max(lastAtMs, known?.lastAtMs ?? 0) })
      }
      for (const { owner, dispatchedAtMs, preparedAtMs } of unresolved) add(owner, 1, dispatchedAtMs ?? preparedAtMs)
      for (const { record: { owner, createdAtMs } } of open) add(owner, 0, createdAtMs)
      return [...all.values()].sort((one, other) => other.lastAtMs - one.lastAtMs)
    },
  }
}

const runOf = ({ iss, sub, tenant, run }: RunOwner): RunOwner => ({ iss, sub, tenant, run })
const nameOf = (owner: RunOwner): string => JSON.stringify(Object.values(runOf(owner)))
