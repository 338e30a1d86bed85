// Redis behind a sentinel: the master is found by its name, and found again after a failover.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { openRedis } from '../../src/store/redis.ts'
import { StateUnavailable } from '../../src/store/store.ts'
import { askRedis, freePort, startRedis, type RedisServer } from '../support/redis.ts'
import { eventually, reached, settle } from './drafts.ts'

async function startSentinel (t: TestContext, master: RedisServer): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'aval-sentinel-'))
  const port = await freePort()
  writeFileSync(join(folder, 'sentinel.conf'), [
    `port ${port}`, 'bind 127.0.0.1', `dir ${folder}`, `sentinel monitor main 127.0.0.1 ${master.port} 1`,
    'sentinel down-after-milliseconds main 400', 'sentinel failover-timeout main 2000', '',
  ].join('\n'))
  const child = spawn('redis-server', [join(folder, 'sentinel.conf'), '--sentinel'], { stdio: 'ignore' })
  t.after(async () => {
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
    rmSync(folder, { recursive: true, force: true })
  })
  return port
}

test('a master is found through its sentinel, and its successor after it died', { timeout: 60_000 }, async t => {
  const master = await startRedis()
  t.after(() => master.stop())
  const replica = await startRedis({ settings: ['--replicaof', '127.0.0.1', String(master.port), '--repl-diskless-sync-delay', '0'] })
  t.after(() => replica.stop())
  await eventually(async () => (await master.command('INFO', 'replication')).includes('state=online'), 'the replica is in step')
  const port = await startSentinel(t, master)
  const store = await openRedis(`redis+sentinel://127.0.0.1:${port}/main`, { startMs: 15_000 })
  t.after(() => store.close())
  const record = await reached(store, 'dispatched')
  await assert.rejects(openRedis(`redis+sentinel://127.0.0.1:${port}/other`, { startMs: 800 }), StateUnavailable)
  await eventually(async () => {
    // The sentinel must know of the replica, and the replica of the record, before the master may die.
    const known = await askRedis(port, ['SENTINEL', 'REPLICAS', 'main'])
    return known.includes(String(replica.port)) && (await replica.command('EXISTS', `aval:{t${record.tag}}:attempt:${record.id}`)).startsWith(':1')
  }, 'the sentinel knows the replica')
  await master.kill9()
  await eventually(async () => store.ping().then(() => true, () => false), 'the successor is found', 40_000)
  const settled = await settle(store, record)
  assert.match(await replica.command('HGET', `aval:{t${record.tag}}:attempt:${settled.id}`, 'state'), /settled/)
})
