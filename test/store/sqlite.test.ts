import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqlite } from '../../src/store/sqlite.ts'
import { storeContract } from './contract.ts'

storeContract('sqlite', async (t, options) => {
  const folder = mkdtempSync(join(tmpdir(), 'aval-store-'))
  const store = openSqlite(join(folder, 'aval.db'), { ...options, cleanEveryMs: 50 })
  t.after(async () => {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return store
})
