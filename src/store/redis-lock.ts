// The lock of the vault on Redis: one number that only rises, and beside it what each replica goes by.
import { randomBytes } from 'node:crypto'
import { stateOfTurn, turnOf, type FollowedLock, type LockFollower, type LockState, type LockStore } from './lock-store.ts'
import { pairsOf } from './loss.ts'
import type { RedisConnection } from './redis-connection.ts'
import { LOCK, LOCK_FOLLOWERS } from './redis-keys.ts'
import { list, number } from './redis-reply.ts'
import { SCRIPTS } from './redis-scripts.ts'

/** Of replicas that are gone. */
const FORGOTTEN_MS = 24 * 3_600_000

/** @param replica null: a process that is none, and is known by a name of its own all the same */
export function redisLock (redis: RedisConnection, replica: string | null): LockStore {
  const name = replica ?? randomBytes(8).toString('hex')
  const turn = async (seen: LockState, what: 'lock' | 'unlock'): Promise<LockState> =>
    stateOfTurn(number(await redis.run(SCRIPTS.turnLock, [LOCK, LOCK_FOLLOWERS], [turnOf(seen), what, FORGOTTEN_MS])))
  return {
    followLock: async seen => followed(await redis.run(SCRIPTS.followLock, [LOCK, LOCK_FOLLOWERS], [turnOf(seen), name, FORGOTTEN_MS])),
    lock: seen => turn(seen, 'lock'),
    unlock: seen => turn(seen, 'unlock'),
  }
}

function followed (reply: unknown): FollowedLock {
  const [held, atMs, followers] = list(reply)
  return {
    state: stateOfTurn(number(held)),
    followers: [...pairsOf(followers)].map(([replica, said]) => followerOf(replica, said, number(atMs))),
  }
}

/** `TURN MILLISECONDS`, by the store's clock. */
function followerOf (replica: string, said: string, nowMs: number): LockFollower {
  const [turn, atMs] = said.split(' ').map(Number)
  return { replica, state: stateOfTurn(turn!), ageMs: nowMs - atMs! }
}
