// A Redis that forgets what it acknowledged of approvals: what was sent under one of them is never sent under it again.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AttemptRecord } from '../../src/attempts/attempt.ts'
import type { ProposalRecord } from '../../src/consent/proposal.ts'
import { openRedis } from '../../src/store/redis.ts'
import type { Store } from '../../src/store/store.ts'
import type { RedisServer } from '../support/redis.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { changed, done, eventually, nameFor, neverSent, rejected, settle } from './drafts.ts'
import { replica, server, whole } from './loss-ground.ts'
import { approvedOne, commitOf, moved, proposed, saying, TERMS } from './proposal-drafts.ts'

async function commit (store: Store, record: ProposalRecord, n = 0): Promise<AttemptRecord> {
  const { attempt, limits } = commitOf(record, { n })
  const begun = await store.begin(attempt, null, limits)
  if (begun.kind !== 'begun') assert.fail(begun.kind)
  return begun.record
}

const dispatched = (store: Store, attempt: AttemptRecord): Promise<AttemptRecord> =>
  changed(store, attempt, { type: 'dispatch', token: attempt.token })

async function forgetSince (redis: RedisServer, length: number): Promise<void> {
  await redis.kill9()
  redis.truncateLog(length)
  await redis.restart()
}

const found = async (store: Store, { id }: ProposalRecord): Promise<ProposalRecord | null> => (await store.findProposal(id))?.record ?? null

for (const [what, settlement] of [['is under way', null], ['completed', done()], ['was refused for now', rejected('UPSTREAM_RATE_LIMITED', true)]] as const) {
  test(`a commit that ${what} is forgotten and told again: its approval is used up, and nothing more is begun for it`, async t => {
    const redis = await server(t)
    const [one, other] = [await replica(t, redis.url), await replica(t, redis.url)]
    const approved = await approvedOne(one.store)
    const length = redis.logLength()
    let attempt = await dispatched(one.store, await commit(one.store, approved))
    if (settlement !== null) attempt = await settle(one.store, attempt, settlement)
    await forgetSince(redis, length)
    await eventually(async () => one.told.lost.length === 1, 'it is found out')
    await whole(one.store)
    await whole(other.store)
    const now = (await found(other.store, approved))!
    assert.deepEqual([now.state, now.attemptId], ['consumed', attempt.id])
    const again = commitOf(now, { n: 1 })
    const answer = await other.store.begin(again.attempt, null, again.limits)
    assert.equal(answer.kind === 'recalled' && answer.recalled.finding.kind === 'duplicate' && answer.recalled.finding.record.id, attempt.id)
    assert.equal((await other.store.find(attempt.id))!.state, settlement === null ? 'unknown' : 'settled')
  })
}

test('a yes that was forgotten with its commit is not asked for again', async t => {
  const redis = await server(t)
  const { store, told } = await replica(t, redis.url)
  const record = await proposed(store)
  const length = redis.logLength()
  const approved = await moved(store, record, saying(record))
  const attempt = await dispatched(store, await commit(store, approved))
  await forgetSince(redis, length)
  await eventually(async () => told.lost.length === 1, 'it is found out')
  await whole(store)
  const now = (await found(store, record))!
  assert.deepEqual([now.state, now.attemptId], ['consumed', attempt.id])
  assert.deepEqual(await store.openProposals(10), [])
  const late = await store.advanceProposal(now, saying(record))
  assert.equal(late.kind === 'refused' && late.why, 'ended')
})

test('what was begun blindly for the same approval yields to what was sent, and gives nothing back', async t => {
  const redis = await server(t)
  const way = await startTcpProxy({ port: redis.port })
  t.after(() => way.stop())
  const { store, told } = await replica(t, `redis://127.0.0.1:${way.port}`)
  const approved = await approvedOne(store)
  const length = redis.logLength()
  const sent = await dispatched(store, await commit(store, approved))
  await way.refuse()
  way.reset()
  await forgetSince(redis, length)
  // As one that has not found it out yet.
  const blind = await openRedis(redis.url)
  t.after(() => blind.close())
  const second = await commit(blind, approved, 1)
  assert.notEqual(second.id, sent.id)
  await way.accept()
  await eventually(async () => told.lost.length === 1, 'it is found out')
  await whole(store)
  await settle(blind, second, neverSent())
  const now = (await found(store, approved))!
  assert.deepEqual([now.state, now.attemptId], ['consumed', sent.id])
  const { finding } = await store.recall(nameFor(sent))
  assert.equal(finding.kind === 'duplicate' && finding.record.id, sent.id)
})

test('what was given back and forgotten is given back again, and is void like whatever was decided before', async t => {
  const redis = await server(t)
  const { store, told } = await replica(t, redis.url)
  const approved = await approvedOne(store)
  const attempt = await dispatched(store, await commit(store, approved))
  const length = redis.logLength()
  await settle(store, attempt, neverSent())
  // What tells the replica that something is lost.
  await dispatched(store, await commit(store, await approvedOne(store)))
  await forgetSince(redis, length)
  await eventually(async () => told.lost.length === 1, 'it is found out')
  await whole(store)
  const now = (await found(store, approved))!
  assert.deepEqual([now.state, now.attemptId, now.commitByMs], ['approved', null, approved.commitByMs])
  const { finding } = await store.recall(nameFor(attempt))
  assert.equal(finding.kind, 'free')
  const next = commitOf(now, { n: 1 })
  assert.deepEqual(await store.begin(next.attempt, finding.kind === 'free' ? finding.after : null, next.limits), { kind: 'proposal_changed' })
  const after = (await found(store, approved))!
  assert.deepEqual([after.state, after.cause], ['invalidated', 'state_lost'])
})

test('a no that was forgotten does not make a yes of anybody possible, nor a grant that was taken back good again', async t => {
  const redis = await server(t)
  const { store, told } = await replica(t, redis.url)
  const [record, grant, other] = [await proposed(store), await approvedOne(store, { grant: TERMS }), await approvedOne(store)]
  const length = redis.logLength()
  await moved(store, record, saying(record, { decision: 'deny' }))
  await moved(store, grant, { type: 'revoke' })
  await dispatched(store, await commit(store, await approvedOne(store)))
  await forgetSince(redis, length)
  await eventually(async () => told.lost.length === 1, 'it is found out')
  await whole(store)
  assert.deepEqual([(await found(store, record))!.state, (await found(store, grant))!.state], ['pending', 'approved'], 'the store has forgotten both')
  const yes = await store.advanceProposal(record, saying(record, { who: 'bob' }))
  assert.deepEqual(yes.kind === 'refused' && [yes.why, yes.record.state, yes.record.cause], ['ended', 'invalidated', 'state_lost'])
  const use = await store.advanceProposal(grant, { type: 'spend' })
  assert.deepEqual(use.kind === 'refused' && [use.why, use.record.cause, use.record.uses], ['ended', 'state_lost', 0])
  assert.equal((await moved(store, other, { type: 'revoke' })).state, 'revoked', 'what takes something away goes on')
  const anew = await approvedOne(store)
  const { attempt, limits } = commitOf(anew)
  assert.equal((await store.begin(attempt, null, limits)).kind, 'begun', 'what is proposed since is as good as ever')
})

test('a proposal that is lost altogether begins nothing, whether or not its attempt is known', async t => {
  const redis = await server(t)
  const { store, told } = await replica(t, redis.url)
  const [committed, uncommitted] = [await approvedOne(store), await approvedOne(store)]
  const attempt = await dispatched(store, await commit(store, committed))
  await redis.command('FLUSHALL')
  await eventually(async () => told.lost.length === 1, 'it is found out')
  await whole(store)
  assert.equal(await found(store, committed), null)
  const again = commitOf(committed, { n: 1 })
  const answer = await store.begin(again.attempt, null, again.limits)
  assert.equal(answer.kind === 'recalled' && answer.recalled.finding.kind === 'duplicate' && answer.recalled.finding.record.id, attempt.id)
  const { attempt: other, limits } = commitOf(uncommitted)
  assert.deepEqual(await store.begin(other, null, limits), { kind: 'proposal_changed' })
})

test('while a loss is open no proposal is made, read, decided or expired', async t => {
  const redis = await server(t)
  const { store, told } = await replica(t, redis.url)
  // Another member, which never tells again what it knew.
  await redis.command('HSET', 'aval:{t00}:members', 'gone', 'd1')
  const record = await proposed(store)
  await dispatched(store, await commit(store, await approvedOne(store)))
  await eventually(async () => store.replica.members().length === 2, 'it knows the other')
  await redis.command('FLUSHALL')
  await eventually(async () => told.lost.length === 1, 'it is found out')
  await assert.rejects(store.findProposal(record.id), /StateUnavailable|lost/)
  for (const ask of [
    () => store.recallProposal(record.tag, record.equalKey), () => store.advanceProposal(record, { type: 'expire' }), () => store.openProposals(1),
    () => store.endedProposals(1), () => store.overdueProposals(1), () => store.grantsOf(record.tag, record.runKey), () => proposed(store),
  ]) await assert.rejects(ask(), /lost/)
})
