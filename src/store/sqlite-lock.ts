// The lock of the vault in the embedded store, which one process has to itself.
import { laterLock, lockedAfter, stateOfTurn, turnOf, type LockState, type LockStore } from './lock-store.ts'
import type { Batch } from './sqlite-batch.ts'
import type { SqliteQueries } from './sqlite-queries.ts'

export function sqliteLock (batch: Batch, sql: SqliteQueries): LockStore {
  const stands = (seen: LockState): LockState => laterLock(stateOfTurn(sql.lockTurn()), seen)
  const keep = (state: LockState): LockState => {
    sql.setLockTurn(turnOf(state))
    return state
  }
  const unlocked = (held: LockState, seen: LockState): LockState =>
    held.locked && held.epoch === seen.epoch && seen.locked ? { epoch: held.epoch, locked: false } : held
  return {
    async followLock (seen) {
      const held = await batch.read(() => stateOfTurn(sql.lockTurn()))
      const state = laterLock(held, seen)
      return { state: state === held ? held : await batch.write(() => keep(stands(seen))), followers: [] }
    },
    lock: seen => batch.write(() => keep(lockedAfter(stands(seen)))),
    unlock: seen => batch.write(() => keep(unlocked(stands(seen), seen))),
  }
}
