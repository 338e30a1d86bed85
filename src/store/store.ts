// The store port: where attempts live. Each verb names the guarantee it gives; both drivers pass test/store/contract.ts. Every verb is idempotent by
// the attempt's token or id, so that a caller whose reply was lost asks again with the same words. A driver that cannot reach its state throws
// `StateUnavailable` and has then possibly done what was asked.
//
// Everything that one call changes (its record key, its attempt, its target, its run, its tenant's sets) shares one hash tag, derived from the
// tenant, and changes in one atomic step.
import type { AttemptEvent, AttemptRecord } from '../attempts/attempt.ts'
import type { ConsentStore } from './consent-store.ts'
import type { LockStore } from './lock-store.ts'

/** The state cannot be read or written now. */
export class StateUnavailable extends Error {
  override readonly name = 'StateUnavailable'
}

/** The state can be reached and must not be used as it is: wrong settings, in use by another process, made by a newer version. */
export class StateRefused extends Error {
  override readonly name = 'StateRefused'
}

/** Who repeats what. All names are HMACs, so that they are short and say nothing. */
export interface RecordName {
  readonly tag: string
  /** Many tenants share one tag. */
  readonly tenant: string
  readonly runKey: string
  readonly recordKey: string
  readonly fingerprint: string
  /** The agent gave an Idempotency-Key: the same key with another fingerprint is refused. */
  readonly keyed: boolean
  readonly upstream: string
  readonly action: string
}

/** The attempt that a new one follows, as it was when the key was recalled: the guard of `begin`. */
export interface After {
  readonly id: string
  readonly revision: number
}

/** What is known about a record key, and about the budgets that a new attempt would spend. */
export interface Recalled {
  readonly finding:
    /** The next attempt of this key would be number `n` under upstream key generation `g`; those from `since` on came to nothing under the same. */
    | { readonly kind: 'free', readonly n: number, readonly g: number, readonly since: number, readonly after: After | null }
    | { readonly kind: 'duplicate', readonly record: AttemptRecord }
    /** Prepared and not yet dispatched. */
    | { readonly kind: 'in_progress', readonly record: AttemptRecord }
    | { readonly kind: 'key_reused' }
  readonly runStopped: boolean
  /** Writes of this action begun in this run. */
  readonly calls: number
  /** Unknown, pending and escalated attempts of (tenant, action). */
  readonly unresolved: number
  /** The store's time, milliseconds since the epoch. */
  readonly atMs: number
}

export interface BeginLimits {
  readonly callsPerRun: number | null
  readonly concurrencyPerTenant: number | null
  readonly unresolvedMax: number
  /** The version of the target was read after this time of the store; null or absent: what became of the target since then does not matter. */
  readonly unchangedSinceMs?: number | null
  /** The approval that this attempt is: it must stand as it was seen, and is used up by the attempt. Given where the record names a proposal. */
  readonly consume?: { readonly proposal: string, readonly revision: number }
}

export type PlaceLimits = Pick<BeginLimits, 'callsPerRun' | 'concurrencyPerTenant'>

export type Entered = 'entered' | 'run_stopped' | 'budget_exhausted' | 'rate_limited'

/** One observation under way. */
export interface Place {
  readonly tag: string
  readonly tenant: string
  readonly runKey: string
  readonly action: string
  readonly callId: string
}

export type Begun =
  | { readonly kind: 'begun', readonly record: AttemptRecord }
  /** The key is not as it was when it was recalled; this is how it is now. */
  | { readonly kind: 'recalled', readonly recalled: Recalled }
  | { readonly kind: 'run_stopped' | 'budget_exhausted' | 'unresolved_limit' | 'rate_limited' | 'target_busy' | 'target_changed' }
  /** The proposal is not approved any more, or not as it was seen: it was taken back, ran out, or something of it has changed. */
  | { readonly kind: 'proposal_changed' }

export type Advanced =
  | { readonly kind: 'changed' | 'already', readonly record: AttemptRecord }
  | { readonly kind: 'refused', readonly record: AttemptRecord, readonly alarm: boolean }
  | { readonly kind: 'missing' }

export interface Due {
  readonly record: AttemptRecord
  /** The store's time when it was claimed. */
  readonly nowMs: number
}

export interface Store extends ConsentStore, LockStore {
  /** Reads; changes nothing. */
  recall (name: RecordName): Promise<Recalled>

  /**
   * Makes the attempt, its claims and its spending durable, all or nothing. `record` is prepared, `after` is what `recall` said (null: the key was
   * never used); where the key has changed since, nothing is done. Refuses in this order: run stopped, key taken, the proposal that it is to consume
   * not approved or not as it was seen, calls per run, unresolved, target or serialize key held by another unsettled attempt (an escalated holder does not block a guarded record), an equal write unknown, the target
   * changed by an attempt that ended since its version was read, concurrency.
   * Asking again with the same token answers `begun`.
   */
  begin (record: AttemptRecord, after: After | null, limits: BeginLimits): Promise<Begun>

  /**
   * Applies one event of the reducer by compare-and-set on the revision; `held` is the record as the caller last saw it, and is read anew where it
   * is stale.
   * A settled attempt gives back its claims in the same step, and its proposal where it provably never left; an unresolved one enters the index that `unresolved` lists.
   * Asked again with the same change id, as long as nothing else has changed the attempt since, it answers as it did: whoever lost the reply learns
   * that the change was its own.
   */
  advance (held: AttemptRecord, event: AttemptEvent, changeId?: string): Promise<Advanced>

  find (id: string): Promise<AttemptRecord | null>

  /** At most `limit` attempts whose time has come, each hidden from other claimers for `leaseMs`. */
  claimDue (limit: number, leaseMs: number): Promise<readonly Due[]>

  /** Attempts of a run, latest first. */
  ofRun (tag: string, runKey: string, limit: number): Promise<readonly AttemptRecord[]>

  /** Unknown, pending and escalated attempts of everyone, oldest first. */
  unresolved (limit: number): Promise<readonly AttemptRecord[]>

  /** No later `begin` of this run succeeds. */
  stopRun (tag: string, runKey: string): Promise<void>

  /** Run keys stopped in the last two days; polled by each replica. */
  stoppedRuns (): Promise<readonly string[]>

  /** Counts one refusal and returns how many there are by now of this action in this run. Where a reply was lost it may have counted twice. */
  countRefusal (tag: string, runKey: string, action: string): Promise<number>
  /** How many were counted. */
  refusals (tag: string, runKey: string, action: string): Promise<number>

  /**
   * Spends one call of an observation against the declared limits; `leave` gives the place back. Places end by themselves after `deadlineMs`.
   * Asking again with the same call id, before it left, answers `entered` and spends nothing.
   */
  enter (place: Place, limits: PlaceLimits, deadlineMs: number): Promise<Entered>
  leave (place: Place): Promise<void>

  /** Keeps what an action was compiled from, for look-ups of its attempts after it is gone from the sheets; kept once, and for good. */
  keepDefinition (digest: string, text: string): Promise<void>
  definition (digest: string): Promise<string | null>

  /** Binds the state to the key that made its names: false where it was made under another. */
  bindKey (keyId: string): Promise<boolean>

  /** Throws StateUnavailable. */
  ping (): Promise<void>
  close (): Promise<void>
}
