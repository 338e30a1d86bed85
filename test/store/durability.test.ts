// `durability: strict`: sent only once Redis has the mark on its disk. A server that acknowledges before that, and cannot be made to wait, sends nothing.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openRedis } from '../../src/store/redis.ts'
import { StateUnavailable } from '../../src/store/store.ts'
import { makeSite, startTestBroker } from '../support/broker.ts'
import { startWorks, WORKER, worksFiles } from '../crash/works.ts'
import { startRedis } from '../support/redis.ts'
import { begun, changed } from './drafts.ts'

test('a strict mark is made where the server syncs before it answers, and not made at all where it does not', async t => {
  const redis = await startRedis({ appendfsync: 'everysec' })
  t.after(() => redis.stop())
  const version = /redis_version:(\d+)\.(\d+)/.exec(await redis.command('INFO', 'server'))!.slice(1).map(Number)
  const waits = version[0]! > 7 || (version[0] === 7 && version[1]! >= 2)
  const store = await openRedis(redis.url)
  t.after(() => store.close())
  const [plain, strict] = [await begun(store), { ...await begun(store), strict: true as const }]
  await changed(store, plain, { type: 'dispatch', token: plain.token })
  const marking = store.advance(strict, { type: 'dispatch', token: strict.token })
  if (waits) {
    assert.equal((await marking).kind, 'changed')
    return
  }
  await assert.rejects(marking, (error: unknown) => error instanceof StateUnavailable && /appendfsync always/.test(error.message))
  assert.equal((await store.find(strict.id))!.state, 'prepared', 'nothing was run')
  await redis.command('CONFIG', 'SET', 'appendfsync', 'always')
  await changed(store, strict, { type: 'dispatch', token: strict.token })
})

test('a strict action is refused unsent while Redis acknowledges before it syncs; the others go on', async t => {
  const redis = await startRedis()
  t.after(() => redis.stop())
  const works = await startWorks()
  t.after(() => works.stop())
  const strict = (path: string, text: string): string => path.endsWith('do_work.v1.yaml') ? `${text}\ndurability: strict\n` : text
  const site = await makeSite({ files: worksFiles(works.port, strict), env: { WORKS_KEY: works.key, AVAL_STATE: redis.url } })
  t.after(() => site.remove())
  const broker = await startTestBroker(site)
  t.after(() => broker.close())
  const token = await site.token({ ...WORKER, run: 'run-1' })
  const call = (action: string, item: string) => broker.call(token, action, { item, amount: 1 }, `key-${item}`)
  assert.equal((await call('do_work.v1', 'one')).body.outcome, 'completed')
  await redis.command('CONFIG', 'SET', 'appendfsync', 'everysec')
  const refused = await call('do_work.v1', 'two')
  assert.deepEqual([refused.status, refused.body.error?.code, refused.body.sent], [503, 'STATE_UNAVAILABLE', false], JSON.stringify(refused.body))
  assert.equal((await call('do_slow_work.v1', 'three')).body.outcome, 'completed')
  assert.deepEqual(works.effects.map(({ item }) => item), ['one', 'three'])
  await redis.command('CONFIG', 'SET', 'appendfsync', 'always')
  assert.equal((await call('do_work.v1', 'two')).body.outcome, 'completed')
})
