import { after, before } from 'node:test'
import { openRedis } from '../../src/store/redis.ts'
import { startRedis, type RedisServer } from '../support/redis.ts'
import { storeContract } from './contract.ts'

let server: RedisServer
before(async () => { server = await startRedis() })
after(() => server.stop())

storeContract('redis', async (t, options) => {
  await server.command('FLUSHALL')
  const store = await openRedis(server.url, options)
  t.after(() => store.close())
  return store
})
