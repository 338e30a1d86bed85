// An attempt that came to nothing, another under the same upstream key that did it, and a store that forgets: a look-up under that key finds what the
// second one did, and must not be believed of the first, whose end stood in no journal.
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { AttemptEvent, AttemptRecord } from '../../src/attempts/attempt.ts'
import { connectRedis } from '../../src/store/redis-connection.ts'
import { openRedis } from '../../src/store/redis.ts'
import { parseRedisUrl } from '../../src/store/redis-url.ts'
import { restore } from '../../src/store/restore.ts'
import { RETENTION } from '../../src/store/retention.ts'
import type { Store } from '../../src/store/store.ts'
import { begun, changed, draft, free, FREE, nameFor, neverSent, reached, settle } from '../store/drafts.ts'
import { startRedis } from '../support/redis.ts'

const CALL = { key: 'k-1', args: { item: 'i-1' } } as const

/** What the journals hold of two attempts under one key: of the first that it was to be sent, of the second that it was, and the store nothing. */
async function forgotten (t: TestContext): Promise<{ readonly store: Store, readonly first: AttemptRecord, readonly second: AttemptRecord, tell (record: AttemptRecord, owed?: AttemptEvent): Promise<unknown> }> {
  const redis = await startRedis()
  t.after(() => redis.stop())
  const [store, connection] = [await openRedis(redis.url), await connectRedis(parseRedisUrl(redis.url), 5_000)]
  t.after(() => Promise.all([store.close(), connection.close()]))
  const first = await reached(store, 'dispatched', CALL)
  await settle(store, first, neverSent())
  const { n, g, since, after } = free(await store.recall(nameFor(first)))
  assert.deepEqual([n, g, since], [1, 0, 0])
  const second = await begun(store, { ...CALL, n, g, since }, after)
  const sent = await changed(store, second, { type: 'dispatch', token: second.token })
  await redis.command('FLUSHALL')
  return { store, first, second: sent, tell: (record, owed) => restore(connection, record, RETENTION, owed) }
}

for (const order of ['the first is told again before the second', 'the second is told again before the first'] as const) {
  test(`what a later attempt did under the same key is not taken for what an earlier one did: ${order}`, async t => {
    const { store, first, second, tell } = await forgotten(t)
    for (const record of order.startsWith('the first') ? [first, second] : [second, first]) await tell(record)
    const [one, two] = [await store.find(first.id), await store.find(second.id)]
    assert.deepEqual([one?.state, one?.settlement?.outcome, one?.settledAtMs], ['settled', 'rejected', second.preparedAtMs])
    assert.equal(two?.state, 'unknown')
    const { finding } = await store.recall(nameFor(first))
    assert.deepEqual([finding.kind, finding.kind === 'duplicate' && finding.record.id], ['duplicate', second.id])
  })
}

for (const order of ['before', 'after'] as const) {
  test(`the end that a journal knows is kept, where it is told ${order} what another one knows less of`, async t => {
    const { store, first, second, tell } = await forgotten(t)
    const ended: AttemptRecord = { ...first, state: 'settled', revision: 3, settlement: neverSent(), settledAtMs: second.preparedAtMs - 1 }
    await tell(second)
    for (const record of order === 'before' ? [ended, first] : [first, ended]) await tell(record)
    const kept = await store.find(first.id)
    assert.deepEqual([kept?.settlement, kept?.settledAtMs], [neverSent(), ended.settledAtMs])
    // And is not written over by anybody who assumes again, or knows it again.
    await tell(first)
    await tell({ ...ended, settlement: { ...neverSent(), code: 'CANCELLED' } })
    assert.deepEqual((await store.find(first.id))?.settlement, neverSent())
    assert.equal((await store.find(second.id))?.state, 'unknown')
  })
}

test('the end that its sender owes the store is kept, and not one that is assumed', async t => {
  const { store, first, second, tell } = await forgotten(t)
  await tell(second)
  await tell(first, { type: 'settle', token: first.token, settlement: neverSent() })
  assert.deepEqual((await store.find(first.id))?.settlement, neverSent())
})

test('one that was begun because the store had forgotten the first says nothing of it', async t => {
  const { store, first, tell } = await forgotten(t)
  // Under the same key, and not after the first: nobody knew of that any more.
  const blind = await begun(store, { ...CALL, n: 7, g: 0 })
  await tell(first)
  assert.deepEqual([(await store.find(first.id))?.state, (await store.find(blind.id))?.state], ['unknown', 'prepared'])
})

test('an end is not written over by who knows only what was to come next', async t => {
  const redis = await startRedis()
  t.after(() => redis.stop())
  const store = await openRedis(redis.url)
  t.after(() => store.close())
  const record = draft(CALL)
  const begin = await store.begin(record, null, FREE)
  assert.equal(begin.kind, 'begun')
  const held = begin.kind === 'begun' ? begin.record : record
  const cancelled = await changed(store, held, { type: 'cancel' })
  assert.equal(cancelled.revision, 2)
  // As it stands in the journal of a sender whose mark was never taken.
  const planned: AttemptRecord = { ...held, state: 'dispatched', revision: 2 }
  const told = await store.advance(planned, { type: 'settle', token: held.token, settlement: neverSent() })
  assert.notEqual(told.kind, 'changed')
  const after = await store.find(held.id)
  assert.deepEqual([after?.revision, after?.settlement?.code, after?.settledAtMs], [2, 'CANCELLED', cancelled.settledAtMs])
})
