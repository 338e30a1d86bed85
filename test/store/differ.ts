// The same asks of three stores: plain data, SQLite, and two replicas over one Redis. Whatever the sequence, they answer alike, times aside.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { openRedis } from '../../src/store/redis.ts'
import { openSqlite } from '../../src/store/sqlite.ts'
import type { Fired } from '../sim/rows.ts'
import { startRedis } from '../support/redis.ts'
import { Asker, plain, sequences, withoutSensitive, type Ask } from './asks.ts'
import { openMemory } from './memory-store.ts'

/** Rows of the table of faults that are an ask of the store, or an answer of it. */
export const STORE_ROWS: readonly number[] = [2, 4, 5, 6, 9, 10, 11, 12, 13, 14, 15, 18, 20, 21, 24, 25, 26, 28, 39, 40, 41, 42, 45]
const ASKS_MAX = 60

export interface Field {
  property (fired: Fired): fc.IRawProperty<[readonly Ask[]]>
  close (): Promise<void>
}

export async function openField (): Promise<Field> {
  const folder = mkdtempSync(join(tmpdir(), 'aval-store-'))
  const server = await startRedis()
  const replicas = await Promise.all([openRedis(server.url), openRedis(server.url)])
  let file = 0
  return {
    property: fired => fc.asyncProperty(sequences(ASKS_MAX), async sequence => {
      await server.command('FLUSHALL')
      const path = join(folder, `${++file}.db`)
      const sqlite = openSqlite(path)
      try {
        const askers = [new Asker([openMemory()], fired), new Asker([sqlite]), new Asker(replicas)]
        for (const [index, ask] of sequence.entries()) {
          const [model, ...drivers] = await Promise.all(askers.map(async asker => withoutSensitive(plain(await asker.ask(ask)))))
          for (const [driver, answer] of drivers.entries()) {
            assert.deepEqual(answer, model, `${['sqlite', 'redis'][driver]}, ask ${index}: ${JSON.stringify(ask)}`)
          }
        }
      } finally {
        await sqlite.close()
        for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true })
      }
    }) as unknown as fc.IRawProperty<[readonly Ask[]]>,
    async close () {
      await Promise.all(replicas.map(store => store.close()))
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
