// What this replica knows of the lock of the vault. The lock stands in the store, for all replicas; each lock raises its epoch, and what people decided
// under an earlier one is void. A replica that has not heard of the lock for a while sends nothing and tells nothing, for it may be locked by now.
import { Refusal } from '../errors.ts'
import type { FollowedLock, LockFollower, LockState } from '../store/lock-store.ts'
import type { Store } from '../store/store.ts'
import type { Services } from './services.ts'
import { reachState } from './state.ts'

/** An older view may miss a lock that was made elsewhere. */
const VIEW_AGE_MS_MAX = 1_000
/** The clocks of two machines may run a little apart from each other. */
const GONE_AFTER_MS = VIEW_AGE_MS_MAX + 500
const WAIT_PAUSE_MS = 50
/** Replicas that ask for the lock and never go by it are no replicas that can be waited for. */
const WAIT_MS_MAX = 30_000

export interface Lock {
  /** Rises with each lock. A proposal, a decision or a grant of another epoch is void. */
  epoch (): number
  isLocked (): boolean
  /** What is known of it is young enough to rest a call on; where it is not, `refresh` comes first. */
  isFresh (): boolean
  /** Asks the store; whoever asks meanwhile waits for the same answer. @throws StateUnavailable */
  refresh (): Promise<void>
}

/** Of a process that has no operator: a call that is made for its own sake. */
export const NEVER_LOCKED: Lock = Object.freeze({ epoch: () => 0, isLocked: () => false, isFresh: () => true, refresh: async () => {} })

export interface TurnedLock extends LockState {
  /** It was so before: nothing was done. */
  readonly already: boolean
  /** Replicas that live and do not go by it yet. */
  readonly waitingFor: readonly string[]
}

/** The same for those who lock and unlock. */
export interface LockControl extends Lock {
  /**
   * Resolves when no replica goes by an earlier state any more: each has said so, or has not asked for so long that it sends nothing.
   * @throws StateUnavailable: it may be locked all the same
   */
  lock (): Promise<TurnedLock>
  /** Unlocks what is locked now. @throws StateUnavailable */
  unlock (): Promise<TurnedLock>
  /** Read anew. @throws StateUnavailable */
  read (): Promise<LockState & { readonly waitingFor: readonly string[] }>
  /** Told of each state that this replica goes by from now on, before the store hears that it does. */
  onChange (listener: (state: LockState) => void): void
}

export interface LockOptions {
  readonly store: Pick<Store, 'followLock' | 'lock' | 'unlock'>
  /** Monotonic. */
  readonly nowMs?: () => number
  readonly sleep?: (ms: number) => Promise<void>
}

export function createLock (options: LockOptions): LockControl {
  return new FollowedStoreLock(options)
}

class FollowedStoreLock implements LockControl {
  readonly #store: LockOptions['store']
  readonly #listeners: Array<(state: LockState) => void> = []
  readonly #nowMs: () => number
  readonly #sleep: (ms: number) => Promise<void>
  #state: LockState = { epoch: 0, locked: false }
  #readAtMs = -Infinity
  #reading: Promise<FollowedLock> | null = null

  constructor ({ store, nowMs, sleep }: LockOptions) {
    this.#store = store
    this.#nowMs = nowMs ?? (() => performance.now())
    this.#sleep = sleep ?? (ms => new Promise(resolve => { setTimeout(resolve, ms) }))
  }

  epoch (): number { return this.#state.epoch }
  isLocked (): boolean { return this.#state.locked }
  isFresh (): boolean { return this.#nowMs() - this.#readAtMs <= VIEW_AGE_MS_MAX }

  async refresh (): Promise<void> {
    const before = this.#state
    await this.#follow()
    // Whoever locks waits to hear that this replica goes by it.
    if (this.#state !== before) await this.#follow()
  }

  async lock (): Promise<TurnedLock> {
    await this.#follow()
    const already = this.#state.locked
    this.#goBy(await this.#store.lock(this.#state))
    const { epoch } = this.#state
    return { epoch, locked: true, already, waitingFor: await this.#untilAllGoBy(epoch) }
  }

  async unlock (): Promise<TurnedLock> {
    await this.#follow()
    const already = !this.#state.locked
    if (!already) this.#goBy(await this.#store.unlock(this.#state))
    return { ...this.#state, already, waitingFor: [] }
  }

  async read (): Promise<LockState & { readonly waitingFor: readonly string[] }> {
    const { followers } = await this.#follow()
    return { ...this.#state, waitingFor: this.#state.locked ? behind(followers, this.#state.epoch) : [] }
  }

  onChange (listener: (state: LockState) => void): void {
    this.#listeners.push(listener)
  }

  #follow (): Promise<FollowedLock> {
    this.#reading ??= this.#ask().finally(() => { this.#reading = null })
    return this.#reading
  }

  async #ask (): Promise<FollowedLock> {
    const beganAtMs = this.#nowMs()
    const followed = await this.#store.followLock(this.#state)
    this.#goBy(followed.state)
    this.#readAtMs = beganAtMs
    return followed
  }

  /** A store that went back in time changes nothing here. */
  #goBy (state: LockState): void {
    const before = this.#state
    const later = state.epoch > before.epoch || (state.epoch === before.epoch && before.locked && !state.locked)
    if (!later) return
    this.#state = state
    for (const listener of this.#listeners) listener(state)
  }

  async #untilAllGoBy (epoch: number): Promise<readonly string[]> {
    const endsAtMs = this.#nowMs() + WAIT_MS_MAX
    for (;;) {
      const { followers } = await this.#follow()
      const late = behind(followers, epoch)
      if (late.length === 0 || this.#nowMs() > endsAtMs) return late
      await this.#sleep(WAIT_PAUSE_MS)
    }
  }
}

function behind (followers: readonly LockFollower[], epoch: number): readonly string[] {
  return followers.filter(({ state, ageMs }) => state.epoch < epoch && ageMs <= GONE_AFTER_MS).map(({ replica }) => replica).sort()
}

/** @throws Refusal VAULT_LOCKED, or STATE_UNAVAILABLE where that cannot be known */
export async function requireUnlocked (services: Pick<Services, 'lock' | 'telemetry' | 'clock'>): Promise<void> {
  const { lock } = services
  if (!lock.isFresh()) await reachState(services, 'followLock', () => lock.refresh())
  if (lock.isLocked()) throw Refusal.of('VAULT_LOCKED')
}

/**
 * Known to be unlocked, and known freshly.
 * @param epoch under which people allowed it: locked and opened again since, it is closed to what they allowed; null: it rests on nobody's yes
 */
export const isOpen = (lock: Lock, epoch: number | null = null): boolean => lock.isFresh() && !lock.isLocked() && (epoch === null || epoch === lock.epoch())

/** The same, found out anew where what is known of it is old. */
export async function opens (lock: Lock, epoch: number | null = null): Promise<boolean> {
  if (!lock.isFresh()) await lock.refresh().catch(() => undefined)
  return isOpen(lock, epoch)
}

/** As far as can be known now. What an upstream answered to a call that was under way is told where nobody can say that it was locked meanwhile. */
export async function wasLocked (lock: Lock): Promise<boolean> {
  if (!lock.isFresh()) await lock.refresh().catch(() => undefined)
  return lock.isLocked()
}
