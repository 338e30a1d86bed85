// A replica that could not tell Redis at its start what it knew went on watching for ever: the process neither served nor ended.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openReplica } from '../../src/store/replica.ts'
import { keysOf } from '../../src/store/redis-keys.ts'
import { PASS, startRedisTap } from '../invariants/redis-tap.ts'
import { reached } from '../store/drafts.ts'
import { startRedis } from '../support/redis.ts'

const ENDS_WITHIN_MS = 60_000
const EVENTS = { lost: () => {}, ended: () => {}, landed: () => {}, fault: () => {}, journalSynced: () => {}, journalFault: () => {} }

const CODE = `
  import { openReplica } from './src/store/replica.ts'
  const [url, folder] = process.argv.slice(1)
  const nothing = () => {}
  const events = { lost: nothing, ended: nothing, landed: nothing, fault: nothing, journalSynced: nothing, journalFault: nothing }
  try {
    await openReplica(url, { folder, digest: () => 'd', events })
    process.exitCode = 3
  } catch (error) {
    console.log(error.name)
    process.exitCode = 2
  }`

test('a replica that cannot tell the store what it knows fails to start, and leaves nothing running', async t => {
  const redis = await startRedis()
  t.after(() => redis.stop())
  const folder = mkdtempSync(join(tmpdir(), 'aval-replica-'))
  t.after(() => { rmSync(folder, { recursive: true, force: true }) })
  const store = await openReplica(redis.url, { folder, digest: () => 'd', events: EVENTS })
  const { id, tag } = await reached(store, 'dispatched')
  await store.close()
  // What stands there now cannot be an attempt, so the script that tells of it is refused.
  await redis.command('DEL', keysOf(tag).attempt(id))
  await redis.command('SET', keysOf(tag).attempt(id), 'x')

  const child = spawn(process.execPath, ['--input-type=module', '-e', CODE, redis.url, folder], { stdio: ['ignore', 'pipe', 'inherit'] })
  const timer = setTimeout(() => { child.kill('SIGKILL') }, ENDS_WITHIN_MS)
  let said = ''
  child.stdout.on('data', data => { said += data })
  const [code, signal] = await once(child, 'close') as [number | null, NodeJS.Signals | null]
  clearTimeout(timer)
  assert.deepEqual([code, signal, said.trim()], [2, null, 'StateUnavailable'])
})

test('a replica whose first questions to Redis find no answer asks again, and starts', async t => {
  const redis = await startRedis()
  t.after(() => redis.stop())
  const tap = await startRedisTap(redis.port)
  t.after(() => tap.stop())
  const folder = mkdtempSync(join(tmpdir(), 'aval-replica-'))
  t.after(() => { rmSync(folder, { recursive: true, force: true }) })
  const muted: string[] = []
  let infos = 0
  tap.rule = (verb, [name]) => {
    const isInfo = name?.toUpperCase() === 'INFO'
    if (isInfo) infos += 1
    // The first INFO is the client's own question whether the server is ready.
    const what = isInfo && infos === 2 ? 'settings' : verb === 'beat' ? 'beat' : null
    if (what === null || muted.includes(what)) return 'pass'
    muted.push(what)
    return 'mute'
  }
  const store = await openReplica(`redis://127.0.0.1:${tap.port}`, { folder, digest: () => 'd', events: EVENTS })
  tap.rule = PASS
  assert.deepEqual(muted, ['settings', 'beat'])
  await reached(store, 'dispatched')
  await store.close()
})
