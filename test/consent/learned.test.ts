// What is learned of an attempt after its commit was answered: told by whoever writes it down, and by nobody else.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AttemptEvent, AttemptRecord } from '../../src/attempts/attempt.ts'
import { createBackground } from '../../src/execution/background.ts'
import { createConsentFeed } from '../../src/consent/events.ts'
import { tellLearned } from '../../src/consent/learned.ts'
import type { Store } from '../../src/store/store.ts'
import { done, draft, FREE, neverSent, rejected } from '../store/drafts.ts'
import { approvedOne, commitOf } from '../store/proposal-drafts.ts'
import { openMemory } from '../store/memory-store.ts'

function listened () {
  const told: string[] = []
  const background = createBackground()
  const feed = createConsentFeed(error => { throw error })
  feed.listen(event => { told.push('outcome' in event ? `${event.type} ${event.record.id} ${event.outcome}` : event.type) })
  const store = tellLearned(openMemory(), feed, work => background.add(work))
  const change = async (record: AttemptRecord, event: AttemptEvent): Promise<AttemptRecord> => {
    const advanced = await store.advance(record, event)
    await background.drained(1_000)
    if (advanced.kind === 'missing') assert.fail('missing')
    return advanced.record
  }
  return { store, told, change }
}

/** An attempt of an approved proposal, sent. */
async function sent (store: Store): Promise<AttemptRecord> {
  const { attempt, limits } = commitOf(await approvedOne(store))
  const begun = await store.begin(attempt, null, limits)
  if (begun.kind !== 'begun') assert.fail(begun.kind)
  return advanced(store, begun.record, { type: 'dispatch', token: begun.record.token })
}

async function advanced (store: Store, record: AttemptRecord, event: AttemptEvent): Promise<AttemptRecord> {
  const answer = await store.advance(record, event)
  if (answer.kind !== 'changed') assert.fail(answer.kind)
  return answer.record
}

const LATER = Number.MAX_SAFE_INTEGER

test('that nobody reported it in time, and what a look-up found out then, once each', async () => {
  const { store, told, change } = listened()
  const record = await sent(store)
  const unknown = await change(record, { type: 'deadline', nowMs: LATER })
  assert.equal(unknown.state, 'unknown')
  await change(unknown, { type: 'lookup', nowMs: LATER, finding: { kind: 'inconclusive', retryAfterMs: null } })
  const found = { type: 'lookup', nowMs: LATER, finding: { kind: 'settled', settlement: rejected('UPSTREAM_CONFLICT') } } as const
  const ended = await change(unknown, found)
  assert.equal(ended.state, 'settled')
  await change(ended, found)
  assert.deepEqual(told, [`learned ${record.proposal} unknown`, `learned ${record.proposal} rejected`])
})

test('what a person said', async () => {
  const { store, told, change } = listened()
  const record = await sent(store)
  const unknown = await advanced(store, record, { type: 'lose', token: record.token, missing: 'no answer', reference: null })
  await change(await change(unknown, { type: 'escalate' }), { type: 'resolve', settlement: done() })
  assert.deepEqual(told, [`learned ${record.proposal} completed`])
})

test('nothing of what its own call reports, of what never left, nor of what nobody was asked for', async () => {
  const { store, told, change } = listened()
  const own = await sent(store)
  await change(own, { type: 'settle', token: own.token, settlement: done() })
  const { attempt, limits } = commitOf(await approvedOne(store))
  const begun = await store.begin(attempt, null, limits)
  assert.ok(begun.kind === 'begun')
  assert.equal((await change(begun.record, { type: 'deadline', nowMs: LATER })).settlement?.sent, false)
  assert.equal((await store.findProposal(attempt.proposal!))!.record.state, 'approved')
  const unasked = await store.begin(draft(), null, FREE)
  assert.ok(unasked.kind === 'begun')
  const dispatched = await advanced(store, unasked.record, { type: 'dispatch', token: unasked.record.token })
  assert.equal((await change(dispatched, { type: 'deadline', nowMs: LATER })).state, 'unknown')
  const refused = await sent(store)
  assert.equal((await store.advance(refused, { type: 'settle', token: refused.token, settlement: neverSent() })).kind, 'changed')
  assert.deepEqual(told, [])
})
