// The whole contract of the store once more, with a journal beside it and a watch over it.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before } from 'node:test'
import { openReplica } from '../../src/store/replica.ts'
import { startRedis, type RedisServer } from '../support/redis.ts'
import { storeContract } from './contract.ts'

let server: RedisServer
before(async () => { server = await startRedis() })
after(() => server.stop())

storeContract('a replica over redis', async (t, options) => {
  await server.command('FLUSHALL')
  const folder = mkdtempSync(join(tmpdir(), 'aval-replica-'))
  const nothing = (): void => {}
  const store = await openReplica(server.url, {
    ...options, folder, digest: () => 'd1',
    events: { lost: nothing, ended: nothing, landed: nothing, fault: nothing, journalSynced: nothing, journalFault: nothing },
  })
  t.after(async () => {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return store
})
