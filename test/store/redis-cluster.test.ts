// The same contract on a real cluster of one node that owns every slot: a script that touched two hash tags would be refused there.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openRedis } from '../../src/store/redis.ts'
import { startRedis, type RedisServer } from '../support/redis.ts'
import { storeContract } from './contract.ts'
import { begun, draft, eventually, reached, settle } from './drafts.ts'

let server: RedisServer
before(async () => { server = await startRedis({ cluster: true }) })
after(() => server.stop())

storeContract('redis cluster', async (t, options) => {
  await server.command('FLUSHALL')
  const store = await openRedis(server.url, options)
  t.after(() => store.close())
  return store
})

test('redis cluster: after kill -9 and a restart the store goes on by itself', async t => {
  await server.command('FLUSHALL')
  const store = await openRedis(server.url)
  t.after(() => store.close())
  const record = await reached(store, 'dispatched')
  await server.restart()
  await eventually(async () => store.ping().then(() => true, () => false), 'it reconnects')
  await settle(store, record)
  await begun(store, { args: draft().args })
  assert.equal((await store.ofRun(record.tag, record.runKey, 10)).length, 2)
})
