// What the store acknowledged after the latest canary that it did: a store that loses no more than that has canaries that stand as they are remembered,
// so these attempts are looked at themselves.
import type { AttemptRecord } from '../attempts/attempt.ts'
import type { RedisConnection } from './redis-connection.ts'
import { keysOf } from './redis-keys.ts'
import { number } from './redis-reply.ts'

/** So far the store was with an attempt. */
export type Acknowledged = Pick<AttemptRecord, 'tag' | 'revision' | 'state'>

export class SinceBeat {
  #attempts: Map<string, Acknowledged>

  /** @param before by attempt, what the process before this one left so */
  constructor (before: ReadonlyMap<string, Acknowledged>) {
    this.#attempts = new Map(before)
  }

  add ({ id, tag, revision, state }: AttemptRecord): void {
    this.#attempts.set(id, { tag, revision, state })
  }

  /** A canary is about to be sent, and will cover what was acknowledged so far. @returns to be called where it was not heard of */
  cover (): () => void {
    const covered = this.#attempts
    this.#attempts = new Map()
    return () => { this.#attempts = new Map([...covered, ...this.#attempts]) }
  }

  clear (): void {
    this.#attempts.clear()
  }

  /** What is settled expires in the end; with it its mark would be lost, of which a canary tells. @throws StateUnavailable */
  async isForgottenBy (redis: RedisConnection): Promise<boolean> {
    const found = await Promise.all([...this.#attempts].map(async ([id, { tag, revision, state }]) => {
      const held = await redis.command('HGET', keysOf(tag).attempt(id), 'revision')
      return held === null ? state === 'settled' : number(held) >= revision
    }))
    return found.includes(false)
  }
}
