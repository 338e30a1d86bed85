// Every attempt record of a store and every proposal, read past the brokers, into `store.jsonl` and `proposals.jsonl`.
import { DatabaseSync } from 'node:sqlite'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import type { AttemptRecord } from '../../src/attempts/attempt.ts'
import type { ProposalRecord } from '../../src/consent/proposal.ts'
import { proposalOf } from '../../src/store/redis-proposals.ts'
import { attemptOf } from '../../src/store/redis-reply.ts'
import { recordOf, type AttemptRow } from '../../src/store/sqlite-queries.ts'

const AT_ONCE = 500

export interface Kept {
  readonly attempts: readonly AttemptRecord[]
  readonly proposals: readonly ProposalRecord[]
}

export async function keptInRedis (port: number): Promise<Kept> {
  const redis = new Redis({ port, host: '127.0.0.1', protocol: 2, maxRetriesPerRequest: 5 })
  try {
    const attempts = await scan(redis, 'aval:{t*}:attempt:*', async key => {
      const [fields, result] = await Promise.all([redis.call('HGETALL', key), redis.get(key.replace(':attempt:', ':result:'))])
      return attemptOf([fields, result])!
    })
    const proposals = await scan(redis, 'aval:{t*}:proposal:*', async key => proposalOf(await redis.call('HGETALL', key))!)
    return { attempts, proposals }
  } finally {
    redis.disconnect()
  }
}

async function scan<T extends { readonly id: string }> (redis: Redis, pattern: string, read: (key: string) => Promise<T>): Promise<readonly T[]> {
  const found: T[] = []
  let cursor = '0'
  do {
    const [next, keys] = await redis.scan(cursor, 'MATCH', pattern, 'COUNT', AT_ONCE)
    found.push(...await Promise.all(keys.map(read)))
    cursor = next
  } while (cursor !== '0')
  // SCAN may name a key twice.
  return [...new Map(found.map(one => [one.id, one])).values()]
}

/** @param path of a database that no broker has open */
export function keptInSqlite (path: string): Kept {
  const db = new DatabaseSync(path, { readOnly: true })
  try {
    const rows = db.prepare('SELECT * FROM attempts').all() as unknown as readonly AttemptRow[]
    const proposals = db.prepare('SELECT body FROM proposals').all() as unknown as ReadonlyArray<{ readonly body: string }>
    return { attempts: rows.map(row => recordOf(row, 0)), proposals: proposals.map(({ body }) => JSON.parse(body) as ProposalRecord) }
  } finally {
    db.close()
  }
}

export function writeStore (folder: string, { attempts, proposals }: Kept): void {
  const lines = (all: readonly object[]): string => all.map(one => `${JSON.stringify(one)}\n`).join('')
  writeFileSync(join(folder, 'store.jsonl'), lines(attempts))
  writeFileSync(join(folder, 'proposals.jsonl'), lines(proposals))
}
