// Replicas over a Redis that can forget, for the tests of what becomes of a loss.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { AttemptRecord } from '../../src/attempts/attempt.ts'
import type { JournalOptions } from '../../src/store/journal.ts'
import type { Loss } from '../../src/store/loss.ts'
import { openReplica, type ReplicaStore } from '../../src/store/replica.ts'
import { StateUnavailable } from '../../src/store/store.ts'
import { startRedis, type RedisServer } from '../support/redis.ts'
import { draft, eventually, nameFor } from './drafts.ts'

export interface Told {
  readonly lost: Loss[]
  readonly ended: Loss[]
  readonly landed: AttemptRecord[]
}

export interface Opened {
  readonly store: ReplicaStore
  readonly told: Told
  /** Closes it, once. */
  close (): Promise<void>
}

export async function server (t: TestContext, options: Parameters<typeof startRedis>[0] = {}): Promise<RedisServer> {
  const redis = await startRedis(options)
  t.after(() => redis.stop())
  return redis
}

export function folderFor (t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'aval-replica-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export async function replica (t: TestContext, url: string, folder = folderFor(t), create?: JournalOptions['create']): Promise<Opened> {
  const told: Told = { lost: [], ended: [], landed: [] }
  const store = await openReplica(url, {
    folder,
    digest: () => 'd1',
    journal: create === undefined ? {} : { create },
    events: {
      lost: loss => told.lost.push(loss),
      ended: loss => told.ended.push(loss),
      landed: record => told.landed.push(record),
      fault: () => {},
      journalSynced: () => {},
      journalFault: () => {},
    },
  })
  let closed = false
  const close = async (): Promise<void> => {
    if (closed) return
    closed = true
    await store.close()
  }
  t.after(close)
  return { store, told, close }
}

export function unavailable (error: unknown): null {
  if (error instanceof StateUnavailable) return null
  throw error
}

export const isOpenFor = (store: ReplicaStore): Promise<boolean> => store.recall(nameFor(draft())).then(() => true, error => {
  if (!(error instanceof StateUnavailable)) throw error
  return false
})

export const whole = (store: ReplicaStore): Promise<void> => eventually(() => isOpenFor(store), 'writes go on', 20_000)
