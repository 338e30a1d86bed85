// The part of the store port that holds the lock of the vault. It only ever goes forward: every lock and every unlock makes one turn, and whoever knows
// of a later turn than the store has tells it. So a store that went back in time is locked again by the first replica that remembers it.

export interface LockState {
  /** How often it was locked. What people decided in another epoch is void. */
  readonly epoch: number
  readonly locked: boolean
}

/** What a replica goes by, as it last said, and how long ago that was. */
export interface LockFollower {
  readonly replica: string
  readonly state: LockState
  readonly ageMs: number
}

export interface FollowedLock {
  readonly state: LockState
  /** All that use this store; the embedded one has none beside its own process. */
  readonly followers: readonly LockFollower[]
}

export interface LockStore {
  /** Says what this replica goes by from now on, which is told the store where it knows of less, and asks what stands. */
  followLock (seen: LockState): Promise<FollowedLock>
  /** Locked as it is, it stays as it is. @param seen as of `followLock` */
  lock (seen: LockState): Promise<LockState>
  /** Unlocks this epoch alone: where it was locked again meanwhile it stays locked. */
  unlock (seen: LockState): Promise<LockState>
}

export const NEVER_LOCKED_STATE: LockState = Object.freeze({ epoch: 0, locked: false })

/** The turns in order: 1 never locked, 2 locked in epoch 1, 3 unlocked again, 4 locked in epoch 2, … */
export const turnOf = ({ epoch, locked }: LockState): number => 2 * epoch + (locked ? 0 : 1)
export const stateOfTurn = (turn: number): LockState => ({ epoch: Math.floor(turn / 2), locked: turn % 2 === 0 })

export const laterLock = (one: LockState, other: LockState): LockState => turnOf(other) > turnOf(one) ? other : one
/** The turn after it where that makes it locked, else itself. */
export const lockedAfter = (state: LockState): LockState => state.locked ? state : { epoch: state.epoch + 1, locked: true }
