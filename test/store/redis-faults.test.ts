// What only Redis can do to the store: lose a reply, forget scripts, die and come back, be set up so that it forgets.
import assert from 'node:assert/strict'
import { after, before, beforeEach, test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openRedis } from '../../src/store/redis.ts'
import { StateRefused, StateUnavailable, type Store } from '../../src/store/store.ts'
import { startRedis, type RedisServer } from '../support/redis.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { begun, changed, done, draft, eventually, FREE, nameFor, reached, settle } from './drafts.ts'

let server: RedisServer
before(async () => { server = await startRedis() })
beforeEach(async () => { await server.command('FLUSHALL') })
after(() => server.stop())

async function open (t: TestContext, url: string = server.url): Promise<Store> {
  const store = await openRedis(url)
  t.after(() => store.close())
  return store
}

async function throughProxy (t: TestContext): Promise<{ store: Store, proxy: TcpProxy }> {
  const proxy = await startTcpProxy({ port: server.port })
  t.after(() => proxy.stop())
  return { store: await open(t, `redis://127.0.0.1:${proxy.port}`), proxy }
}

/** Commands that the server has run since it started. */
async function scriptsRun (): Promise<number> {
  const info = await server.command('INFO', 'commandstats')
  return [...info.matchAll(/cmdstat_(?:evalsha|eval):calls=(\d+)/g)].reduce((sum, match) => sum + Number(match[1]), 0)
}

test('two replicas over one Redis: of 50 equal begins at once one is begun, and both can go on with it', async t => {
  const [one, other] = [await open(t), await open(t)]
  const answers = await Promise.all(Array.from({ length: 50 }, (_, index) =>
    (index % 2 === 0 ? one : other).begin(draft({ args: { same: 1 }, target: 'c1' }), null, FREE)))
  const winners = answers.filter(answer => answer.kind === 'begun')
  assert.equal(winners.length, 1)
  const record = winners[0]!.kind === 'begun' ? winners[0]!.record : assert.fail()
  const dispatched = await changed(other, record, { type: 'dispatch', token: record.token })
  const settled = await settle(one, dispatched)
  assert.deepEqual(await other.find(record.id), settled)
})

test('two replicas: of many different ends at once one is written', async t => {
  const [one, other] = [await open(t), await open(t)]
  const record = await reached(one, 'dispatched')
  const answers = await Promise.all(Array.from({ length: 30 }, (_, index) =>
    (index % 2 === 0 ? one : other).advance(record, { type: 'settle', token: record.token, settlement: done({ index }) })))
  assert.equal(answers.filter(answer => answer.kind === 'changed').length, 1)
  assert.equal((await one.find(record.id))!.revision, record.revision + 1)
})

test('a write is three round trips from its begin to its end', async t => {
  const store = await open(t)
  await settle(store, await reached(store, 'dispatched'))
  const before = await scriptsRun()
  const record = await begun(store, { target: 'c1', serialize: 's1' })
  const dispatched = await changed(store, record, { type: 'dispatch', token: record.token })
  await settle(store, dispatched)
  assert.equal(await scriptsRun() - before, 3)
})

for (const lost of ['begin', 'dispatch', 'settle'] as const) {
  test(`a ${lost} whose reply is lost with its connection is done once, and its owner hears that it is done`, async t => {
    const { store, proxy } = await throughProxy(t)
    const limits = { callsPerRun: 1, concurrencyPerTenant: 1, unresolvedMax: 1 }
    const prepared = draft({ target: 'c1' })
    const loseIf = (step: string): void => { if (step === lost) proxy.dropNextReply() }
    loseIf('begin')
    assert.equal((await store.begin(prepared, null, limits)).kind, 'begun')
    loseIf('dispatch')
    const dispatched = await changed(store, prepared, { type: 'dispatch', token: prepared.token })
    loseIf('settle')
    const settled = await settle(store, dispatched)
    assert.equal(proxy.counts.faults, 1, 'a reply was really lost')
    assert.equal(settled.revision, prepared.revision + 2)
    assert.deepEqual(await store.find(prepared.id), settled)
    assert.equal((await store.recall(nameFor(prepared))).calls, 1)
  })
}

test('a look-up whose reply is lost is counted once', async t => {
  const { store, proxy } = await throughProxy(t)
  const record = await reached(store, 'unknown')
  proxy.dropNextReply()
  const looked = await changed(store, record, { type: 'lookup', nowMs: record.unknownAtMs!, finding: { kind: 'inconclusive', retryAfterMs: null } })
  assert.equal(proxy.counts.faults, 1)
  assert.equal(looked.lookups, 1)
  assert.deepEqual(await store.find(record.id), looked)
})

test('entering whose reply is lost spends one call', async t => {
  const { store, proxy } = await throughProxy(t)
  const { tag, runKey } = draft()
  const place = { tag, tenant: 't1', runKey, action: 'read.v1', callId: 'call-1' }
  proxy.dropNextReply()
  assert.equal(await store.enter(place, { callsPerRun: 2, concurrencyPerTenant: 1 }, 60_000), 'entered')
  assert.equal(proxy.counts.faults, 1)
  await store.leave(place)
  assert.equal(await store.enter({ ...place, callId: 'call-2' }, { callsPerRun: 2, concurrencyPerTenant: 1 }, 60_000), 'entered')
})

test('a Redis that stays silent is unavailable within seconds, and what was asked meanwhile is asked again safely', async t => {
  const { store, proxy } = await throughProxy(t)
  const record = draft()
  proxy.blackHole()
  await assert.rejects(store.begin(record, null, FREE), StateUnavailable)
  proxy.reset()
  proxy.pass()
  await eventually(async () => store.ping().then(() => true, () => false), 'it reconnects')
  const answer = await store.begin(record, null, FREE)
  assert.equal(answer.kind, 'begun')
  assert.equal((await store.recall(nameFor(record))).calls, 1)
})

test('connections that are reset again and again lose nothing and double nothing', async t => {
  const { store, proxy } = await throughProxy(t)
  let stopped = false
  const nemesis = (async () => {
    while (!stopped) {
      await sleep(250)
      proxy.reset()
    }
  })()
  const ends = await Promise.all(Array.from({ length: 40 }, async (_, index) => {
    await sleep(index * 40)
    const record = draft({ target: `c${index}` })
    const persist = async <T>(ask: () => Promise<T>): Promise<T> => {
      for (;;) {
        try {
          return await ask()
        } catch (error) {
          assert.ok(error instanceof StateUnavailable, String(error))
          await sleep(10)
        }
      }
    }
    assert.equal((await persist(() => store.begin(record, null, FREE))).kind, 'begun')
    const dispatched = await persist(() => store.advance(record, { type: 'dispatch', token: record.token }))
    assert.ok(dispatched.kind === 'changed' || dispatched.kind === 'already')
    const settled = await persist(() => store.advance(record, { type: 'settle', token: record.token, settlement: done({ index }) }))
    assert.ok(settled.kind === 'changed' || settled.kind === 'already')
    return record
  }))
  stopped = true
  await nemesis
  await eventually(async () => store.ping().then(() => true, () => false), 'it reconnects')
  for (const record of ends) {
    const now = await store.find(record.id)
    assert.equal(now!.state, 'settled')
    assert.equal(now!.revision, 3)
  }
  assert.equal((await store.recall(nameFor(draft()))).calls, 40)
})

test('a server that has forgotten its scripts is told them again', async t => {
  const store = await open(t)
  const record = await begun(store)
  await server.command('SCRIPT', 'FLUSH')
  const dispatched = await changed(store, record, { type: 'dispatch', token: record.token })
  await server.command('SCRIPT', 'FLUSH')
  const settled = await settle(store, dispatched)
  await server.command('SCRIPT', 'FLUSH')
  assert.deepEqual(await store.find(record.id), settled)
})

test('after kill -9 and a restart everything that was acknowledged is there, and the store goes on by itself', async t => {
  const store = await open(t)
  const records = []
  for (const state of ['prepared', 'dispatched', 'unknown', 'pending', 'escalated', 'settled'] as const) {
    records.push(await reached(store, state, { target: state }))
  }
  await server.kill9()
  await assert.rejects(store.begin(draft(), null, FREE), StateUnavailable)
  const startedAtMs = performance.now()
  await assert.rejects(store.ping(), StateUnavailable)
  assert.ok(performance.now() - startedAtMs < 1_900, 'who comes while it is known to be down does not wait for it')
  await server.restart()
  await eventually(async () => store.ping().then(() => true, () => false), 'it reconnects')
  for (const record of records) assert.deepEqual(await store.find(record.id), record)
  assert.equal((await store.unresolved(10)).length, 3)
  assert.equal((await store.begin(draft({ target: 'unknown' }), null, FREE)).kind, 'target_busy')
  await settle(store, records[1]!)
})

test('unsettled attempts and their keys have no time to live, settled ones have', async t => {
  const store = await open(t)
  const ttl = async (name: string): Promise<number> => Number(/:(-?\d+)/.exec(await server.command('PTTL', name))![1])
  for (const state of ['prepared', 'dispatched', 'unknown', 'pending', 'escalated', 'settled'] as const) {
    const record = await reached(store, state, { target: state })
    const [attempt, key] = [await ttl(`aval:{t${record.tag}}:attempt:${record.id}`), await ttl(`aval:{t${record.tag}}:key:${record.recordKey}`)]
    if (state === 'settled') assert.ok(attempt > 6 * 86_400_000 && Math.abs(attempt - key) < 1_000)
    else assert.deepEqual([attempt, key], [-1, -1], state)
  }
})

test('when all is settled and forgotten nothing of it is left in Redis', async t => {
  const store = await openRedis(server.url, { retention: { resultMs: 50, settledMs: 100, runMs: 100 } })
  t.after(() => store.close())
  for (const [index, state] of (['dispatched', 'unknown', 'pending', 'escalated'] as const).entries()) {
    const record = await reached(store, state, { target: state, serialize: state, run: `r${index}` })
    if (state === 'escalated') await changed(store, record, { type: 'resolve', settlement: done(null) })
    else await settle(store, record)
  }
  const keys = async (): Promise<readonly string[]> => (await server.command('KEYS', 'aval:{*')).match(/^aval:[^\r]*/gm) ?? []
  // That a target was changed is kept for longer than any call may have read it before, and ends by itself.
  const isMark = (key: string): boolean => key.includes(':changed:')
  await eventually(async () => (await keys()).every(isMark), 'nothing is left')
  for (const key of await keys()) assert.ok(Number((await server.command('PTTL', key)).slice(1).split('\r')[0]) > 0, key)
})

test('a sensitive result is nowhere in Redis', async t => {
  const store = await open(t)
  await settle(store, await reached(store, 'dispatched', { sensitive: true }), done({ pin: 'zq81-never-kept' }))
  await settle(store, await reached(store, 'dispatched'), done({ pin: 'zq82-kept' }))
  const count = async (text: string): Promise<string> => server.command('EVAL', `
    local found = 0
    for _, key in ipairs(redis.call('KEYS', '*')) do
      local kind = redis.call('TYPE', key).ok
      local text = kind == 'string' and redis.call('GET', key) or kind == 'hash' and table.concat(redis.call('HGETALL', key), ' ') or ''
      if string.find(text, ARGV[1], 1, true) then found = found + 1 end
    end
    return found`, '0', text)
  assert.match(await count('zq82-kept'), /^:1/)
  assert.match(await count('zq81-never-kept'), /^:0/)
})

test('an attempt whose key was evicted is found again by its id, and not begun over (F11)', async t => {
  const store = await open(t)
  const record = await reached(store, 'unknown', { args: { a: 1 } })
  await server.command('DEL', `aval:{t${record.tag}}:key:${record.recordKey}`)
  const answer = await store.begin(draft({ args: { a: 1 } }), null, FREE)
  assert.deepEqual(answer.kind === 'recalled' && answer.recalled.finding, { kind: 'duplicate', record })
})

for (const [what, settings, why] of [
  ['a server without its append-only file', { aof: false }, /append-only/],
  ['a server that evicts keys', { settings: ['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'] }, /allkeys-lru/],
] as const) {
  test(`${what} is refused, unless the operator wants it so (F11)`, async t => {
    const forgetful = await startRedis(settings)
    t.after(() => forgetful.stop())
    await assert.rejects(openRedis(forgetful.url), (error: unknown) => error instanceof StateRefused && why.test(error.message))
    const store = await open(t, `${forgetful.url}?volatile=yes`)
    await begun(store)
  })
}

test('a server that takes no more memory or has become a replica keeps nothing, and says so', async t => {
  const full = await startRedis()
  t.after(() => full.stop())
  const store = await open(t, full.url)
  const record = await reached(store, 'dispatched')
  await full.command('CONFIG', 'SET', 'maxmemory', '1mb')
  await assert.rejects(store.begin(draft(), null, FREE), (error: unknown) => error instanceof StateUnavailable && /OOM/.test(error.message))
  await assert.rejects(store.ping(), StateUnavailable)
  assert.deepEqual(await store.find(record.id), record, 'reading needs no memory')
  await full.command('CONFIG', 'SET', 'maxmemory', '0')
  await store.ping()
  await full.command('REPLICAOF', '127.0.0.1', String(server.port))
  await assert.rejects(store.begin(draft(), null, FREE), StateUnavailable)
  await full.command('REPLICAOF', 'NO', 'ONE')
  await eventually(async () => store.ping().then(() => true, () => false), 'it goes on')
})

test('a server whose password is wrong, or that is not there, is told without the password', async t => {
  const locked = await startRedis({ settings: ['--requirepass', 'right-horse'] })
  t.after(() => locked.stop())
  const withPassword = (password: string): string => `redis://:${password}@127.0.0.1:${locked.port}`
  await assert.rejects(openRedis(withPassword('wrong-horse'), { startMs: 800 }), (error: unknown) =>
    error instanceof StateUnavailable && !error.message.includes('wrong-horse'))
  await (await open(t, withPassword('right-horse'))).ping()
  const nowhere = await startRedis()
  await nowhere.stop()
  await assert.rejects(openRedis(nowhere.url, { startMs: 500 }), StateUnavailable)
})
