// Contract: an approval and its attempt. Used up in the step that begins it, by one attempt at most; given back where it provably never left.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AttemptEvent, Settlement } from '../../src/attempts/attempt.ts'
import { PROPOSAL_FORMAT, type ProposalRecord } from '../../src/consent/proposal.ts'
import { RETENTION } from '../../src/store/retention.ts'
import type { Begun, Store } from '../../src/store/store.ts'
import type { OpenStore } from './contract.ts'
import { changed, done, draft, eventually, FREE, free, nameFor, neverSent, rejected, settle } from './drafts.ts'
import { approvedOne, commitOf, moved, proposed, saying, TERMS } from './proposal-drafts.ts'

export function consumeContract (name: string, open: OpenStore): void {
  consuming(name, open)
  givingBack(name, open)
  races(name, open)
}

async function commit (store: Store, record: ProposalRecord): Promise<Extract<Begun, { kind: 'begun' }>['record']> {
  const { attempt, limits } = commitOf(record)
  const begun = await store.begin(attempt, null, limits)
  if (begun.kind !== 'begun') assert.fail(begun.kind)
  return begun.record
}

const stateOf = async (store: Store, { id }: ProposalRecord): Promise<string> => (await store.findProposal(id))!.record.state

function consuming (name: string, open: OpenStore): void {
  test(`${name}: the attempt that is begun has used the approval up, and both know of each other`, async t => {
    const store = await open(t)
    const approved = await approvedOne(store)
    const attempt = await commit(store, approved)
    assert.equal(attempt.proposal, approved.id)
    assert.equal((await store.find(attempt.id))!.proposal, approved.id)
    const { record } = (await store.findProposal(approved.id))!
    assert.deepEqual(record, { ...approved, state: 'consumed', attemptId: attempt.id, revision: approved.revision + 1 })
    assert.deepEqual(await store.openProposals(10), [])
    assert.deepEqual((await store.endedProposals(10)).map(held => held.record.id), [approved.id])
    for (const event of [{ type: 'withdraw' }, { type: 'revoke' }, { type: 'invalidate', cause: 'agent_revoked' }] as const) {
      const late = await store.advanceProposal(approved, event)
      assert.equal(late.kind === 'refused' && late.why, 'ended')
    }
  })

  test(`${name}: begin asked again under the same token answers begun, and another begin hears of the attempt`, async t => {
    const store = await open(t)
    const approved = await approvedOne(store)
    const { attempt, limits } = commitOf(approved)
    const first = await store.begin(attempt, null, limits)
    assert.deepEqual(await store.begin(attempt, null, limits), first)
    const other = await store.begin(commitOf(approved).attempt, null, limits)
    assert.equal(other.kind === 'recalled' && other.recalled.finding.kind, 'in_progress')
  })

  for (const [what, prepare] of Object.entries<(store: Store) => Promise<ProposalRecord>>({
    'is not decided yet': store => proposed(store),
    'was denied': async store => {
      const record = await proposed(store)
      return moved(store, record, saying(record, { decision: 'deny' }))
    },
    'was withdrawn': async store => moved(store, await approvedOne(store), { type: 'withdraw' }),
    'was revoked': async store => moved(store, await approvedOne(store), { type: 'revoke' }),
    'has changed since it was seen': async store => ({ ...await approvedOne(store), revision: 1 }),
    'has run out, swept or not': async store => {
      const record = await approvedOne(store, { pendingMs: 150, hardMs: 150 })
      await sleep(170)
      return record
    },
    'is a grant': store => approvedOne(store, { grant: TERMS }),
    'is not there': async store => ({ ...await approvedOne(store), id: `prop_${draft().tag}${'0'.repeat(32)}` }),
  })) {
    test(`${name}: a proposal that ${what} begins nothing, and nothing is spent`, async t => {
      const store = await open(t)
      const record = await prepare(store)
      const before = await store.findProposal(record.id)
      const { attempt, limits } = commitOf(record)
      assert.deepEqual(await store.begin(attempt, null, { ...limits, callsPerRun: 0 }), { kind: 'proposal_changed' })
      assert.equal(await store.find(attempt.id), null)
      assert.deepEqual((await store.findProposal(record.id))?.record, before?.record)
      assert.equal((await store.recall(nameFor(attempt))).calls, 0)
    })
  }

  test(`${name}: what a newer version wrote is not used up`, async t => {
    const store = await open(t)
    const record = await proposed(store, { format: PROPOSAL_FORMAT + 1 })
    const { attempt, limits } = commitOf(record)
    assert.deepEqual(await store.begin(attempt, null, limits), { kind: 'proposal_changed' })
  })

  test(`${name}: a begin that is refused for another reason leaves the approval as it was`, async t => {
    const store = await open(t)
    const holder = draft({ target: 'c1' })
    assert.equal((await store.begin(holder, null, FREE)).kind, 'begun')
    const approved = await approvedOne(store)
    const { attempt, limits } = commitOf(approved, { target: 'c1' })
    assert.deepEqual(await store.begin(attempt, null, limits), { kind: 'target_busy' })
    assert.deepEqual(await store.begin(attempt, null, { ...limits, callsPerRun: 0 }), { kind: 'budget_exhausted' })
    assert.deepEqual((await store.findProposal(approved.id))!.record, approved)
    await changed(store, holder, { type: 'cancel' })
    assert.equal((await store.begin(attempt, null, limits)).kind, 'begun')
  })

  test(`${name}: an attempt consumes the proposal that it names, and no other`, async t => {
    const store = await open(t)
    const approved = await approvedOne(store)
    const { attempt, limits } = commitOf(approved)
    await assert.rejects(store.begin(attempt, null, FREE), TypeError)
    await assert.rejects(store.begin(draft(), null, limits), TypeError)
    const elsewhere = await approvedOne(store, { tenant: 'another tenant' })
    await assert.rejects(store.begin({ ...attempt, proposal: elsewhere.id }, null, commitOf(elsewhere).limits), TypeError)
    assert.equal(await stateOf(store, approved), 'approved')
  })
}

function givingBack (name: string, open: OpenStore): void {
  for (const [what, event] of Object.entries<(token: string) => AttemptEvent>({
    'its owner settles as never sent': token => ({ type: 'settle', token, settlement: neverSent() }),
    'is cancelled before it is sent': () => ({ type: 'cancel' }),
    'the sweeper closes as abandoned': () => ({ type: 'deadline', nowMs: Number.MAX_SAFE_INTEGER }),
  })) {
    test(`${name}: what ${what} gives its approval back, for as long as it would have been good`, async t => {
      const store = await open(t)
      const approved = await approvedOne(store)
      const attempt = await commit(store, approved)
      await changed(store, attempt, event(attempt.token))
      const { record } = (await store.findProposal(approved.id))!
      assert.deepEqual(record, { ...approved, revision: approved.revision + 2 })
      assert.deepEqual((await store.openProposals(10)).map(held => held.record.id), [approved.id])
      assert.deepEqual(await store.endedProposals(10), [])
      const place = free(await store.recall(nameFor(attempt)))
      assert.deepEqual([place.n, place.g], [1, 0])
      const stale = commitOf(approved, { n: 1 })
      assert.deepEqual(await store.begin(stale.attempt, place.after, stale.limits), { kind: 'proposal_changed' }, 'seen as it was before')
      const next = commitOf(record, { n: 1 })
      assert.equal((await store.begin(next.attempt, place.after, next.limits)).kind, 'begun')
      assert.equal((await store.findProposal(approved.id))!.record.attemptId, next.attempt.id)
    })
  }

  const sent: ReadonlyArray<readonly [string, Settlement]> = [
    ['completed', done()], ['refused by the upstream', rejected('UPSTREAM_REJECTED')], ['refused for now', rejected('UPSTREAM_RATE_LIMITED', true)],
    ['refused as stale', rejected('VERSION_CONFLICT')], ['proved to have had no effect', rejected('NOT_APPLIED', true)],
  ]
  for (const [what, settlement] of sent) {
    test(`${name}: what was sent and is ${what} has used its approval up for good`, async t => {
      const store = await open(t)
      const approved = await approvedOne(store)
      const attempt = await commit(store, approved)
      await changed(store, attempt, { type: 'dispatch', token: attempt.token })
      const settled = await settle(store, attempt, settlement)
      assert.equal(await stateOf(store, approved), 'consumed')
      assert.deepEqual((await store.recall(nameFor(attempt))).finding, { kind: 'duplicate', record: settled })
      const { record } = (await store.findProposal(approved.id))!
      const again = commitOf(record, { n: 1 })
      const answer = await store.begin(again.attempt, { id: settled.id, revision: settled.revision }, again.limits)
      assert.deepEqual(answer, { kind: 'proposal_changed' })
    })
  }

  test(`${name}: a write of the run that comes after does not let a consented one be begun anew`, async t => {
    const store = await open(t)
    const approved = await approvedOne(store)
    const attempt = await commit(store, approved)
    const settled = await settle(store, await changed(store, attempt, { type: 'dispatch', token: attempt.token }))
    assert.equal((await store.begin(draft(), null, FREE)).kind, 'begun')
    assert.deepEqual((await store.recall(nameFor(attempt))).finding, { kind: 'duplicate', record: settled })
  })

  test(`${name}: what is given back after its time is over is overdue, and expires`, async t => {
    const store = await open(t)
    const approved = await approvedOne(store, { pendingMs: 200, hardMs: 200 })
    const attempt = await commit(store, approved)
    await sleep(230)
    assert.deepEqual(await store.overdueProposals(10), [], 'an attempt has it')
    await changed(store, attempt, { type: 'cancel' })
    assert.deepEqual((await store.overdueProposals(10)).map(held => held.record.id), [approved.id])
    const { record } = (await store.findProposal(approved.id))!
    const again = commitOf(record, { n: 1 })
    assert.deepEqual(await store.begin(again.attempt, free(await store.recall(nameFor(attempt))).after, again.limits), { kind: 'proposal_changed' })
    assert.equal((await moved(store, record, { type: 'expire' })).state, 'expired')
  })

  test(`${name}: a consumed proposal is kept as long as its attempt is open, and then for a while`, async t => {
    const store = await open(t, { retention: { ...RETENTION, settledMs: 60 } })
    const approved = await approvedOne(store)
    const attempt = await commit(store, approved)
    await changed(store, attempt, { type: 'dispatch', token: attempt.token })
    await sleep(150)
    assert.equal(await stateOf(store, approved), 'consumed')
    await settle(store, attempt)
    await eventually(async () => await store.findProposal(approved.id) === null, 'forgotten')
  })
}

function races (name: string, open: OpenStore): void {
  test(`${name}: of 50 commits at once one attempt is begun`, async t => {
    const store = await open(t)
    const approved = await approvedOne(store)
    const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => {
      const { attempt, limits } = commitOf(approved, { n })
      return store.begin(attempt, null, limits)
    }))
    const begun = answers.filter(answer => answer.kind === 'begun')
    assert.equal(begun.length, 1)
    assert.ok(answers.every(answer => answer.kind === 'begun' || answer.kind === 'recalled'))
    assert.equal((await store.findProposal(approved.id))!.record.attemptId, begun[0]!.record.id)
    assert.equal((await store.recall(nameFor(draft()))).calls, 1)
  })

  test(`${name}: of a withdrawal and a commit at once one comes first, and the other hears of it`, async t => {
    const store = await open(t)
    const seen = new Set<string>()
    for (let round = 0; round < 20; round++) {
      const approved = await approvedOne(store)
      const { attempt, limits } = commitOf(approved)
      const soon = (mine: number): Promise<void> => round % 2 === mine ? new Promise(resolve => { setImmediate(resolve) }) : Promise.resolve()
      const answers = await Promise.all([
        soon(0).then(() => store.begin(attempt, null, limits)), soon(1).then(() => store.advanceProposal(approved, { type: 'withdraw' })),
      ])
      const kinds = answers.map(answer => answer.kind).sort().join(' ')
      assert.ok(kinds === 'begun refused' || kinds === 'changed proposal_changed', kinds)
      assert.equal(await stateOf(store, approved), kinds === 'begun refused' ? 'consumed' : 'withdrawn')
      seen.add(kinds)
    }
    assert.equal(seen.size, 2, 'both were met')
  })

  test(`${name}: whatever the moment, no approval is used up after its end, and none before it is refused`, async t => {
    const store = await open(t)
    const kinds = { begun: 0, proposal_changed: 0 }
    await Promise.all(Array.from({ length: 60 }, async (_, index) => {
      const pendingMs = 300 + index
      const approved = await approvedOne(store, { pendingMs, hardMs: pendingMs, sub: `agent-${index}` })
      await sleep(Math.max(0, approved.commitByMs! - Date.now() - 20 + index % 30))
      const { attempt, limits } = commitOf(approved)
      const answer = await store.begin(attempt, null, limits)
      if (answer.kind !== 'begun' && answer.kind !== 'proposal_changed') assert.fail(answer.kind)
      kinds[answer.kind]++
      if (answer.kind === 'begun') assert.ok(answer.record.preparedAtMs <= approved.commitByMs!, 'in time')
      else assert.ok((await store.findProposal(approved.id))!.nowMs > approved.commitByMs!, 'too late')
    }))
    assert.ok(kinds.begun > 0 && kinds.proposal_changed > 0, JSON.stringify(kinds))
  })
}
