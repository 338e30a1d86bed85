// The port in plain data, as short as it can be said: what the drivers are compared with, and what the simulator runs on. Not a driver: it keeps
// nothing and locks nothing.
import { advance as reduce, givesBack, isUnresolved, RECORD_FORMAT, type AttemptRecord } from '../../src/attempts/attempt.ts'
import { begunAt, nameOf, stamped } from '../../src/store/codec.ts'
import { laterLock, lockedAfter, NEVER_LOCKED_STATE, turnOf, type LockState } from '../../src/store/lock-store.ts'
import { judgeRepeat } from '../../src/store/recall.ts'
import { memoryProposals } from './memory-proposals.ts'
import type { Begun, Recalled, RecordName, Store } from '../../src/store/store.ts'

interface Run { stopped: boolean, readonly calls: Map<string, number>, readonly refusals: Map<string, number>, readonly last: Map<string, string> }

export interface MemoryOptions {
  /** The store's time; left out, it ticks with every change. */
  readonly nowMs?: () => number
  /** Where the attempts lie, oldest first. */
  readonly attempts?: AttemptRecord[]
}

export interface MemoryStore extends Store {
  /** When the next attempt can be claimed; null: none. */
  nextDueMs (): number | null
  /** For a record that was put back as it was before. */
  makeDue (record: AttemptRecord): void
}

function made<V> (map: Map<string, V>, key: string, make: () => V): V {
  const value = map.get(key) ?? make()
  map.set(key, value)
  return value
}

export function openMemory (options: MemoryOptions = {}): MemoryStore {
  const attempts = options.attempts ?? []
  /** By id: when it can be claimed. */
  const due = new Map<string, number>()
  const runs = new Map<string, Run>()
  const places = new Map<string, Set<string>>()
  const stopped = new Set<string>()
  const definitions = new Map<string, string>()
  let bound: string | null = null
  let lock: LockState = NEVER_LOCKED_STATE
  let ticks = 1_000_000
  const tick = options.nowMs ?? (() => ++ticks)
  const now = options.nowMs ?? (() => ticks)
  const runOf = (key: string): Run => made(runs, key, () => ({ stopped: false, calls: new Map(), refusals: new Map(), last: new Map() }))
  const placesOf = (tenant: string, action: string): Set<string> => made(places, `${action} ${tenant}`, () => new Set())
  const add = (counts: Map<string, number>, name: string): number => counts.set(name, (counts.get(name) ?? 0) + 1).get(name)!
  const find = (id: string): AttemptRecord | null => attempts.find(record => record.id === id) ?? null
  const latest = (recordKey: string): AttemptRecord | null =>
    attempts.filter(record => record.recordKey === recordKey).sort((one, other) => other.n - one.n)[0] ?? null

  function recall (name: RecordName): Recalled {
    const run = runOf(name.runKey)
    return {
      finding: judgeRepeat(name, latest(name.recordKey), run.last.get(name.upstream) ?? null, now()),
      runStopped: run.stopped,
      calls: run.calls.get(name.action) ?? 0,
      unresolved: attempts.filter(({ owner, action, state }) => owner.tenant === name.tenant && action === name.action && isUnresolved(state)).length,
      atMs: now(),
    }
  }

  function blocked (record: AttemptRecord): boolean {
    const mine = [record.claims.target, record.claims.serialize].filter(claim => claim !== null)
    return attempts.some(other => {
      if (other.state === 'settled') return false
      if (other.claims.equal === record.claims.equal && (other.state === 'unknown' || other.state === 'escalated')) return true
      const held = [other.claims.target, other.claims.serialize]
      return mine.some(claim => held.includes(claim)) && !(record.guarded && other.state === 'escalated')
    })
  }

  function hasChanged (record: AttemptRecord, sinceMs: number | null): boolean {
    return sinceMs !== null && record.claims.target !== null && attempts.some(other => other.claims.target === record.claims.target &&
      other.settlement?.outcome === 'completed' && other.settledAtMs! >= sinceMs)
  }

  const { approval, consume, giveBack, ...proposals } = memoryProposals(now, runKey => runOf(runKey).stopped)

  return {
    ...proposals,
    recall: async name => recall(name),
    async begin (record, after, limits): Promise<Begun> {
      const own = find(record.id)
      if (own?.token === record.token) return { kind: 'begun', record: own }
      const name = nameOf(record)
      const run = runOf(record.runKey)
      const recalled = recall(name)
      const before = latest(record.recordKey)
      if (run.stopped) return { kind: 'run_stopped' }
      if (before?.id !== after?.id || before?.revision !== after?.revision || own !== null) return { kind: 'recalled', recalled }
      const approved = limits.consume === undefined ? undefined : approval(limits.consume, now())
      if (approved === null) return { kind: 'proposal_changed' }
      if (limits.callsPerRun !== null && recalled.calls >= limits.callsPerRun) return { kind: 'budget_exhausted' }
      if (recalled.unresolved >= limits.unresolvedMax) return { kind: 'unresolved_limit' }
      if (blocked(record)) return { kind: 'target_busy' }
      if (hasChanged(record, limits.unchangedSinceMs ?? null)) return { kind: 'target_changed' }
      const taken = placesOf(name.tenant, record.action)
      if (limits.concurrencyPerTenant !== null && taken.size >= limits.concurrencyPerTenant) return { kind: 'rate_limited' }
      if (limits.concurrencyPerTenant !== null) taken.add(record.id)
      attempts.push(begunAt(record, tick()))
      due.set(record.id, attempts.at(-1)!.dueAtMs!)
      if (approved !== undefined) consume(approved, record.id)
      add(run.calls, record.action)
      run.last.set(record.upstream, record.id)
      return { kind: 'begun', record: attempts.at(-1)! }
    },
    async advance (held, event) {
      const record = find(held.id)
      if (record === null) return { kind: 'missing' }
      if (record.format > RECORD_FORMAT) return { kind: 'refused', record, alarm: false }
      const moved = reduce(record, event)
      if (moved.kind === 'already') return { kind: 'already', record }
      if (moved.kind === 'refused') return { kind: 'refused', record, alarm: moved.alarm }
      const next = stamped(moved, tick())
      attempts[attempts.indexOf(record)] = next
      if (next.dueAtMs === null) due.delete(next.id)
      else if (moved.dueAfterMs !== 'keep') due.set(next.id, next.dueAtMs)
      if (givesBack(next)) giveBack(next.proposal!, next.id)
      if (next.state === 'settled') placesOf(record.owner.tenant, record.action).delete(record.id)
      return { kind: 'changed', record: next }
    },
    async claimDue (limit, leaseMs) {
      const nowMs = now()
      const ids = [...due].filter(([id, atMs]) => atMs <= nowMs && find(id)!.format <= RECORD_FORMAT).sort(([, one], [, other]) => one - other)
      return ids.slice(0, limit).map(([id]) => {
        due.set(id, nowMs + leaseMs)
        return { record: find(id)!, nowMs }
      })
    },
    makeDue (record) {
      if (record.dueAtMs === null) due.delete(record.id)
      else due.set(record.id, record.dueAtMs)
    },
    nextDueMs: () => due.size === 0 ? null : Math.min(...due.values()),
    find: async id => find(id),
    ofRun: async (tag, runKey, limit) => attempts.filter(record => record.tag === tag && record.runKey === runKey).reverse().slice(0, limit),
    unresolved: async limit => attempts.filter(record => isUnresolved(record.state)).slice(0, limit),
    async stopRun (_tag, runKey) {
      runOf(runKey).stopped = true
      stopped.add(runKey)
    },
    stoppedRuns: async () => [...stopped],
    followLock: async seen => ({ state: lock = laterLock(lock, seen), followers: [] }),
    lock: async seen => lock = lockedAfter(laterLock(lock, seen)),
    unlock: async seen => lock = lock.locked && turnOf(lock) === turnOf(seen) ? { epoch: lock.epoch, locked: false } : lock,
    countRefusal: async (_tag, runKey, action) => add(runOf(runKey).refusals, action),
    refusals: async (_tag, runKey, action) => runOf(runKey).refusals.get(action) ?? 0,
    async enter (place, limits) {
      const run = runOf(place.runKey)
      const taken = placesOf(place.tenant, place.action)
      if (taken.has(place.callId)) return 'entered'
      if (run.stopped) return 'run_stopped'
      if (limits.callsPerRun !== null && (run.calls.get(place.action) ?? 0) >= limits.callsPerRun) return 'budget_exhausted'
      if (limits.concurrencyPerTenant !== null && taken.size >= limits.concurrencyPerTenant) return 'rate_limited'
      taken.add(place.callId)
      add(run.calls, place.action)
      return 'entered'
    },
    async leave (place) { placesOf(place.tenant, place.action).delete(place.callId) },
    async keepDefinition (digest, text) { made(definitions, digest, () => text) },
    definition: async digest => definitions.get(digest) ?? null,
    async bindKey (keyId) {
      bound ??= keyId
      return bound === keyId
    },
    async ping () {},
    async close () {},
  }
}
