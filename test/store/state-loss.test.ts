// A Redis that forgets what it acknowledged, seen by the replicas that use it: found out, nothing sent meanwhile, told again what each of them knew.
import assert from 'node:assert/strict'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { unsent } from '../../src/attempts/attempt.ts'
import type { JournalOptions } from '../../src/store/journal.ts'
import { keysOf, WATCH_TAG } from '../../src/store/redis-keys.ts'
import { StateRefused, StateUnavailable } from '../../src/store/store.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { begun, changed, done, draft, eventually, FREE, nameFor, neverSent, reached, rejected, settle } from './drafts.ts'
import { folderFor, isOpenFor, replica, server, unavailable, whole } from './loss-ground.ts'

test('everything is gone: it is found out, told again as it was, and what was under way is unknown', async t => {
  const redis = await server(t)
  const { store, told } = await replica(t, redis.url)
  const settled = await settle(store, await reached(store, 'dispatched', { key: 'settled', args: { a: 1 } }), done({ work: 1 }))
  const dispatched = await reached(store, 'dispatched', { target: 'd' })
  const pending = await reached(store, 'pending', { target: 'p' })
  const prepared = await reached(store, 'prepared', { target: 'n' })
  await store.stopRun(settled.tag, 'run-key')
  assert.equal(await store.bindKey('key-1'), true)
  await redis.command('FLUSHALL')
  await eventually(async () => told.lost.length === 1, 'it is found out')
  assert.equal(told.lost[0]!.kind, 'proved')
  await whole(store)
  assert.equal(told.ended[0]!.state, 'restored')
  const repeat = await store.recall(nameFor(settled))
  assert.equal(repeat.finding.kind === 'duplicate' && repeat.finding.record.id, settled.id)
  assert.deepEqual((await store.find(settled.id))!.settlement, settled.settlement)
  const unknown = (await store.find(dispatched.id))!
  assert.deepEqual([unknown.state, unknown.missing], ['unknown', 'the store forgot the attempt while it was under way'])
  assert.deepEqual([(await store.find(pending.id))!.state, (await store.find(pending.id))!.reference], ['pending', 'job-1'])
  assert.equal(await store.find(prepared.id), null, 'nothing of it was ever sent')
  assert.deepEqual(await store.stoppedRuns(), ['run-key'])
  assert.equal(await store.bindKey('key-2'), false)
  assert.equal((await store.begin(draft({ target: 'd' }), null, FREE)).kind, 'target_busy', 'what it holds it holds again')
  assert.equal((await store.recall(nameFor(settled))).calls, 3)
  await settle(store, unknown, done({ late: true }))
})

test('a restart with everything on disk is no loss', async t => {
  const redis = await server(t)
  const [one, other] = [await replica(t, redis.url), await replica(t, redis.url)]
  const record = await reached(one.store, 'dispatched')
  for (let round = 0; round < 3; round++) {
    await redis.restart()
    await whole(one.store)
    await whole(other.store)
    await reached(other.store, 'dispatched')
  }
  assert.deepEqual(await one.store.find(record.id), record)
  assert.deepEqual([...one.told.lost, ...other.told.lost], [])
})

test('the tail of the append-only file is gone after a restart: it is found out by the replica whose marks were in it, and by the others', async t => {
  const redis = await server(t)
  const [one, other] = [await replica(t, redis.url), await replica(t, redis.url)]
  await reached(one.store, 'settled')
  const length = await redis.logLength()
  const lost = await reached(other.store, 'dispatched', { key: 'k', args: { a: 1 } })
  await redis.kill9()
  await redis.truncateLog(length)
  await redis.restart()
  // Whoever finds it out when the others have ended theirs begins another.
  await eventually(async () => one.told.lost.length > 0 && other.told.lost.length > 0 && await isOpenFor(one.store), 'both found it out', 20_000)
  await eventually(async () => {
    const again = await one.store.begin(draft({ key: 'k', args: { a: 1 } }), null, FREE).catch(unavailable)
    if (again === null) return false
    assert.equal(again.kind === 'recalled' && again.recalled.finding.kind, 'duplicate')
    return true
  }, 'a repeat is answered', 20_000)
  await eventually(async () => (await one.store.find(lost.id).catch(unavailable))?.state === 'unknown', 'it is unknown', 20_000)
})

test('an end is all that is gone, acknowledged after the latest canary: it is found out all the same, and told again', async t => {
  const redis = await server(t)
  const { store, told } = await replica(t, redis.url)
  for (let round = 0; round < 5; round++) {
    const sent = await reached(store, 'dispatched', { key: `k-${round}`, args: { a: round } })
    // A canary or two.
    await sleep(250)
    const length = await redis.logLength()
    await settle(store, sent, neverSent())
    await redis.kill9()
    await redis.truncateLog(length)
    await redis.restart()
    await eventually(async () => (await store.find(sent.id).catch(unavailable))?.state === 'settled', `round ${round}: its end is there`, 20_000)
    assert.equal(told.lost.length, round + 1)
    await whole(store)
  }
})

test('while one replica has not told what it knows nothing is begun, marked, read or swept by any other; then everything goes on', async t => {
  const redis = await server(t)
  const folder = folderFor(t)
  const one = await replica(t, redis.url)
  const way = await startTcpProxy({ port: redis.port })
  t.after(() => way.stop())
  const other = await replica(t, `redis://127.0.0.1:${way.port}`, folder)
  const held = await reached(one.store, 'prepared')
  const theirs = await reached(other.store, 'dispatched', { key: 'k', args: { a: 1 } })
  await eventually(async () => one.store.replica.members().filter(({ live }) => live).length === 2, 'they know each other')
  await way.refuse()
  way.reset()
  await redis.command('FLUSHALL')
  await eventually(async () => one.told.lost.length === 1, 'it is found out')
  const { replica: missing } = other.store.replica
  await eventually(async () => one.store.replica.quarantine()?.waitingFor.join() === missing, 'one replica is waited for')
  const fresh = draft()
  for (const ask of [
    () => one.store.recall(nameFor(fresh)), () => one.store.begin(fresh, null, FREE), () => one.store.find(held.id),
    () => one.store.claimDue(10, 1_000), () => one.store.advance(held, { type: 'dispatch', token: held.token }),
    () => one.store.advance(held, { type: 'cancel' }),
  ]) await assert.rejects(ask(), StateUnavailable)
  await way.accept()
  await whole(one.store)
  const again = await one.store.begin(draft({ key: 'k', args: { a: 1 } }), null, FREE)
  assert.equal(again.kind === 'recalled' && again.recalled.finding.kind, 'duplicate')
  assert.equal((await one.store.find(theirs.id))!.state, 'unknown')
})

test('a person accepts the loss: writes go on without the missing replica, which tells what it knows when it comes back', async t => {
  const redis = await server(t)
  const folder = folderFor(t)
  const one = await replica(t, redis.url)
  const way = await startTcpProxy({ port: redis.port })
  t.after(() => way.stop())
  const other = await replica(t, `redis://127.0.0.1:${way.port}`, folder)
  const theirs = await reached(other.store, 'dispatched')
  await eventually(async () => one.store.replica.members().length === 2, 'they know each other')
  assert.equal(await one.store.replica.acceptLoss(), null, 'there is nothing to accept')
  await way.refuse()
  way.reset()
  await redis.command('FLUSHALL')
  await eventually(async () => one.store.replica.quarantine()?.waitingFor.join() === other.store.replica.replica, 'the other is waited for')
  const accepted = await one.store.replica.acceptLoss()
  assert.deepEqual([accepted!.state, accepted!.waitingFor], ['accepted', [other.store.replica.replica]])
  await whole(one.store)
  assert.deepEqual(one.told.ended.map(({ state }) => state), ['accepted'])
  await reached(one.store, 'dispatched')
  assert.equal(await one.store.find(theirs.id), null)
  await way.accept()
  const seen = (): Promise<string | undefined> => one.store.find(theirs.id).then(record => record?.state, () => undefined)
  await eventually(async () => await seen() === 'unknown', 'it has told what it knows')
})

test('a replica that leaves with everything settled is not waited for; one that is owed an answer is', async t => {
  const redis = await server(t)
  const [one, clean, open] = [await replica(t, redis.url), await replica(t, redis.url), await replica(t, redis.url)]
  await reached(clean.store, 'settled')
  await reached(open.store, 'dispatched')
  await eventually(async () => one.store.replica.members().length === 3, 'they know each other')
  await clean.close()
  await open.close()
  await eventually(async () => one.store.replica.members().length === 2, 'one has left')
  // The store still knows that it left, and so whatever it did before.
  await redis.command('DEL', keysOf(WATCH_TAG).canary(one.store.replica.replica))
  await eventually(async () => one.store.replica.quarantine()?.waitingFor.join() === open.store.replica.replica, 'the other is waited for')
})

test('what was lost while a replica was down is found out when it comes back, by its own journal', async t => {
  const redis = await server(t)
  const folder = folderFor(t)
  const before = await replica(t, redis.url, folder)
  const settled = await reached(before.store, 'settled', { key: 'k', args: { a: 1 } })
  await before.close()
  await redis.command('FLUSHALL')
  const after = await replica(t, redis.url, folder)
  assert.equal(after.store.replica.replica, before.store.replica.replica)
  await whole(after.store)
  assert.equal(after.told.lost.length, 1)
  assert.equal((await after.store.recall(nameFor(settled))).finding.kind, 'duplicate')
})

test('how an attempt ended is told a store that cannot be reached as soon as it can be, after a restart of the replica too', async t => {
  const redis = await server(t)
  const folder = folderFor(t)
  const way = await startTcpProxy({ port: redis.port })
  t.after(() => way.stop())
  const before = await replica(t, `redis://127.0.0.1:${way.port}`, folder)
  const record = await reached(before.store, 'dispatched')
  await way.refuse()
  way.reset()
  await assert.rejects(settle(before.store, record, done({ late: 1 })), StateUnavailable)
  await before.close()
  assert.match(await redis.command('HGET', `aval:{t${record.tag}}:attempt:${record.id}`, 'state'), /dispatched/)
  const after = await replica(t, redis.url, folder)
  await eventually(async () => (await after.store.find(record.id))?.state === 'settled', 'it is told')
  await eventually(async () => after.told.landed.length > 0, 'it is told of')
  assert.deepEqual(after.told.landed.map(({ settlement }) => settlement!.result), [{ late: 1 }])
})

test('what a dead sender could not tell stands, in a store that forgot it, as soon as nothing is missing there: no look-up can end it otherwise', async t => {
  const redis = await server(t)
  const folder = folderFor(t)
  const way = await startTcpProxy({ port: redis.port })
  t.after(() => way.stop())
  const before = await replica(t, `redis://127.0.0.1:${way.port}`, folder)
  const record = await reached(before.store, 'dispatched')
  await way.refuse()
  way.reset()
  await assert.rejects(settle(before.store, record, done({ late: 1 })), StateUnavailable)
  await before.close()
  await redis.command('FLUSHALL')
  const after = await replica(t, redis.url, folder)
  await whole(after.store)
  const found = (await after.store.find(record.id))!
  assert.deepEqual([found.state, found.settlement?.result], ['settled', { late: 1 }])
  assert.ok(found.settledAtMs! > found.dispatchedAtMs!)
  await eventually(async () => after.told.landed.length > 0, 'it is told of')
  assert.deepEqual(after.told.landed.map(({ id }) => id), [record.id])
})

test('what a dead sender could not tell is no end for a store that forgot another one, of which the replica that found it out tells later', async t => {
  const redis = await server(t)
  const folder = folderFor(t)
  const [way, late] = [await startTcpProxy({ port: redis.port }), await startTcpProxy({ port: redis.port })]
  t.after(() => Promise.all([way.stop(), late.stop()]))
  const before = await replica(t, `redis://127.0.0.1:${way.port}`, folder)
  const finder = await replica(t, `redis://127.0.0.1:${late.port}`)
  await eventually(async () => before.store.replica.members().length === 2, 'they know each other')
  const record = await reached(before.store, 'dispatched')
  await way.refuse()
  way.reset()
  await assert.rejects(settle(before.store, record, rejected('UPSTREAM_REJECTED', false)), StateUnavailable)
  await before.close()
  const unknown = await changed(finder.store, record, { type: 'lose', token: record.token, missing: 'no broker reported an answer', reference: null })
  const ended = await settle(finder.store, unknown, rejected('NOT_APPLIED', true))
  await late.refuse()
  late.reset()
  await redis.command('FLUSHALL')
  const after = await replica(t, redis.url, folder)
  await eventually(async () => after.store.replica.quarantine()?.waitingFor.join() === finder.store.replica.replica, 'the other is waited for')
  await sleep(1_500)
  await late.accept()
  await whole(after.store)
  assert.deepEqual((await after.store.find(record.id))!.settlement, ended.settlement)
  assert.deepEqual(after.told.landed, [])
})

test('a mark whose store has lost an earlier one of the same replica is not made', async t => {
  const redis = await server(t)
  const { store } = await replica(t, redis.url)
  const record = await begun(store)
  await reached(store, 'dispatched')
  // At once: before the next beat could find it out.
  await redis.command('SET', `aval:{t00}:canary:${store.replica.replica}`, '0')
  await assert.rejects(store.advance(record, { type: 'dispatch', token: record.token }), StateUnavailable)
  assert.match(await redis.command('HGET', `aval:{t${record.tag}}:attempt:${record.id}`, 'state'), /prepared/)
})

/** A real file whose syncs wait for the gate. */
const gated = (gate: () => Promise<void>): NonNullable<JournalOptions['create']> => async path => {
  const file = await open(path, 'wx', 0o600)
  return {
    async write (bytes) { await file.write(bytes) },
    async sync () {
      await gate()
      await file.datasync()
    },
    close: () => file.close(),
  }
}

test('a mark is not made before the journal has it on the disk, however fast the store is', async t => {
  const { promise, resolve } = Promise.withResolvers<void>()
  t.after(() => { resolve() })
  const redis = await server(t)
  let gate = Promise.resolve()
  const { store } = await replica(t, redis.url, folderFor(t), gated(() => gate))
  const record = await begun(store)
  gate = promise
  let made = false
  const marking = store.advance(record, { type: 'dispatch', token: record.token }).then(advanced => {
    made = true
    return advanced
  })
  await eventually(async () => (await redis.command('HGET', `aval:{t${record.tag}}:attempt:${record.id}`, 'state')).includes('dispatched'), 'Redis has it')
  await eventually(async () => await store.find(record.id) !== null, 'other work goes on')
  assert.equal(made, false)
  resolve()
  assert.equal((await marking).kind, 'changed')
})

test('a disk under the journal that takes nothing: no mark is made, what was under way is closed, and it all goes on when the disk is back', async t => {
  const redis = await server(t)
  let full = false
  const { store, told } = await replica(t, redis.url, folderFor(t), gated(async () => { if (full) throw new Error('ENOSPC') }))
  const [sent, record] = [await reached(store, 'dispatched'), await begun(store)]
  full = true
  await assert.rejects(store.advance(record, { type: 'dispatch', token: record.token }), (error: unknown) =>
    error instanceof StateUnavailable && /journal/.test(error.message))
  assert.equal((await settle(store, record, unsent('STATE_UNAVAILABLE', 'No.', true))).settlement!.sent, false)
  assert.equal((await settle(store, sent)).state, 'settled', 'how an attempt ended can still be told')
  full = false
  await reached(store, 'settled')
  assert.deepEqual(told.lost, [])
})

test('one folder serves one process', async t => {
  const redis = await server(t)
  const folder = folderFor(t)
  await replica(t, redis.url, folder)
  await assert.rejects(replica(t, redis.url, folder), StateRefused)
})

test('a replica of Redis that lags behind is promoted: what it never heard of is found missing and told again (F11)', async t => {
  const master = await server(t)
  const target = { port: master.port }
  const [way, link] = [await startTcpProxy(target), await startTcpProxy({ port: master.port })]
  t.after(() => Promise.all([way.stop(), link.stop()]))
  const heir = await server(t, { settings: ['--replicaof', '127.0.0.1', String(link.port), '--repl-diskless-sync-delay', '0'] })
  await eventually(async () => (await heir.command('INFO', 'replication')).includes('master_link_status:up'), 'the heir is in step')
  const [one, other] = [await replica(t, `redis://127.0.0.1:${way.port}`), await replica(t, `redis://127.0.0.1:${way.port}`)]
  const known = await reached(one.store, 'settled', { key: 'known', args: { a: 1 } })
  await eventually(async () => (await heir.command('EXISTS', `aval:{t${known.tag}}:attempt:${known.id}`)).startsWith(':1'), 'the heir has heard of it')
  link.blackHole()
  const lost = await reached(one.store, 'dispatched', { key: 'lost', args: { a: 2 } })
  const half = await reached(other.store, 'settled', { key: 'half', args: { a: 3 } })
  await master.kill9()
  await heir.command('REPLICAOF', 'NO', 'ONE')
  target.port = heir.port
  way.reset()
  await eventually(async () => one.told.lost.length > 0, 'it is found out')
  await whole(one.store)
  await whole(other.store)
  for (const [record, state] of [[known, 'settled'], [lost, 'unknown'], [half, 'settled']] as const) {
    assert.equal((await other.store.find(record.id))?.state, state)
    const again = await other.store.begin(draft({ key: record === known ? 'known' : record === lost ? 'lost' : 'half', args: record.args }), null, FREE)
    assert.equal(again.kind === 'recalled' && again.recalled.finding.kind, 'duplicate')
  }
})
