// Contract: proposals, from being made until they have ended. What is decided, by whom and in time; and what is listed.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { APPROVED_MS, HARD_MS, PENDING_MAX, PENDING_MS, PROPOSAL_FORMAT, stateAt, type ProposalRecord } from '../../src/consent/proposal.ts'
import { RETENTION } from '../../src/store/retention.ts'
import type { Store } from '../../src/store/store.ts'
import type { OpenStore } from './contract.ts'
import { eventually, identity, neighbours } from './drafts.ts'
import { approvedOne, atMost, moved, proposal, proposed, saying, TERMS } from './proposal-drafts.ts'

export function proposalContract (name: string, open: OpenStore): void {
  making(name, open)
  deciding(name, open)
  timing(name, open)
  granting(name, open)
  listing(name, open)
  peopleSessions(name, open)
}

async function stored (store: Store, id: string): Promise<ProposalRecord> {
  const held = await store.findProposal(id)
  assert.ok(held !== null, id)
  return held.record
}

function making (name: string, open: OpenStore): void {
  test(`${name}: a proposal is found as it was made, stamped by the store's clock`, async t => {
    const store = await open(t)
    const record = proposal()
    const made = await proposed(store, {})
    const { createdAtMs } = made
    assert.ok(createdAtMs > 0)
    assert.deepEqual([made.pendingUntilMs, made.hardUntilMs], [createdAtMs + PENDING_MS, createdAtMs + HARD_MS])
    const held = await store.findProposal(made.id)
    assert.deepEqual(held!.record, made)
    assert.ok(held!.nowMs >= createdAtMs && held!.nowMs < createdAtMs + 60_000)
    assert.equal(await store.findProposal(record.id), null)
    assert.equal(await store.findProposal('prop_nothing'), null)
  })

  test(`${name}: it is the latest of its record key and of its equal key, until there is another`, async t => {
    const store = await open(t)
    const first = await proposed(store, { args: { a: 1 }, key: 'k1' })
    assert.deepEqual((await store.recallProposal(first.tag, first.recordKey))!.record, first)
    assert.deepEqual((await store.recallProposal(first.tag, first.equalKey))!.record, first)
    assert.equal(await store.recallProposal(first.tag === '00' ? '01' : '00', first.equalKey), null)
    const unaware = await store.propose(proposal({ args: { a: 1 }, key: 'k2' }), null, atMost(100))
    assert.deepEqual(unaware.kind === 'recalled' && unaware.latest.record, first)
    const second = await store.propose(proposal({ args: { a: 1 }, key: 'k2' }), first.id, atMost(100))
    assert.equal(second.kind, 'proposed')
    assert.equal((await store.recallProposal(first.tag, first.recordKey))!.record.id, first.id, 'the other key still means the first')
    assert.equal((await store.recallProposal(first.tag, first.equalKey))!.record.id, second.kind === 'proposed' && second.record.id)
  })

  test(`${name}: asked again with the same id it answers as it did, however far it has come`, async t => {
    const store = await open(t)
    const record = proposal()
    const first = await store.propose(record, null, atMost(1))
    assert.deepEqual(await store.propose(record, null, atMost(1)), first)
    const made = await stored(store, record.id)
    const denied = await moved(store, made, saying(made, { decision: 'deny' }))
    assert.deepEqual(await store.propose(record, null, atMost(1)), { kind: 'proposed', record: denied })
    assert.equal(await store.countProposals(record.tag, record.agentKey, 0), 1)
  })

  test(`${name}: of 50 equal calls at once one proposal is made, and the others hear of it`, async t => {
    const store = await open(t)
    const answers = await Promise.all(Array.from({ length: 50 }, () => store.propose(proposal({ args: { same: true } }), null, atMost(100))))
    const made = answers.filter(answer => answer.kind === 'proposed')
    assert.equal(made.length, 1)
    for (const answer of answers) if (answer.kind !== 'proposed') assert.equal(answer.kind === 'recalled' && answer.latest.record.id, made[0]!.record.id)
    assert.equal((await store.openProposals(100)).length, 1)
  })

  test(`${name}: an agent has so many undecided proposals and no more, and those of others do not count`, async t => {
    const store = await open(t)
    const [tenant, neighbour] = neighbours()
    await proposed(store, { tenant: neighbour })
    await proposed(store, { sub: 'another' })
    const first = await proposed(store, { tenant })
    await proposed(store, { tenant, run: 'r2' })
    assert.deepEqual(await store.propose(proposal({ tenant }), null, atMost(2)), { kind: 'too_many_pending' })
    await moved(store, first, saying(first))
    assert.equal((await store.propose(proposal({ tenant }), null, atMost(2))).kind, 'proposed', 'what is decided makes room')
    assert.deepEqual(await store.propose(proposal({ tenant }), null, atMost(2)), { kind: 'too_many_pending' })
    const many = await Promise.all(Array.from({ length: 20 }, () => store.propose(proposal({ sub: 'third' }), null, atMost(3))))
    assert.equal(many.filter(answer => answer.kind === 'proposed').length, 3)
  })

  test(`${name}: what has run out makes room, swept or not`, async t => {
    const store = await open(t)
    await proposed(store, { pendingMs: 150 })
    assert.deepEqual(await store.propose(proposal(), null, atMost(1)), { kind: 'too_many_pending' })
    await sleep(170)
    assert.equal((await store.propose(proposal(), null, atMost(1))).kind, 'proposed')
  })

  test(`${name}: of 40 proposals of eight agents at once as many are made as fit on one desk, and the others leave nothing`, async t => {
    const store = await open(t)
    const drafts = Array.from({ length: 40 }, (_, at) => proposal({ sub: `agent-${at % 8}` }))
    const answers = await Promise.all(drafts.map(draft => store.propose(draft, null, PENDING_MAX)))
    assert.deepEqual(['proposed', 'desk_full'].map(kind => answers.filter(answer => answer.kind === kind).length), [25, 15])
    assert.equal((await store.openProposals(100)).length, 25)
    const refused = drafts.filter((_, at) => answers[at]!.kind === 'desk_full')
    for (const { id, tag, equalKey } of refused) assert.deepEqual([await store.findProposal(id), await store.recallProposal(tag, equalKey)], [null, null])
  })

  test(`${name}: a desk is that of one role in one tenant, and what several may decide lies on each`, async t => {
    const store = await open(t)
    const [tenant, neighbour] = neighbours()
    const kindOf = async (roles: readonly string[], of = tenant): Promise<string> =>
      (await store.propose(proposal({ tenant: of, requirement: { roles } }), null, atMost(100, 2))).kind
    assert.equal(await kindOf(['finance', 'lead']), 'proposed')
    assert.equal(await kindOf(['lead']), 'proposed')
    assert.equal(await kindOf(['lead']), 'desk_full')
    assert.equal(await kindOf(['legal', 'lead']), 'desk_full', 'one full desk is enough')
    assert.equal(await kindOf(['finance']), 'proposed')
    assert.equal(await kindOf(['finance']), 'desk_full', 'what both may decide lies on both')
    assert.equal(await kindOf(['legal']), 'proposed')
    assert.equal(await kindOf(['lead'], neighbour), 'proposed', 'the tenant beside it has a desk of its own')
  })

  const rooms: ReadonlyArray<readonly [string, (store: Store, record: ProposalRecord) => Promise<unknown>]> = [
    ['an approval', (store, record) => moved(store, record, saying(record))],
    ['a denial', (store, record) => moved(store, record, saying(record, { decision: 'deny' }))],
    ['its agent\'s withdrawal', (store, record) => moved(store, record, { type: 'withdraw' })],
    ['what makes it invalid', (store, record) => moved(store, record, { type: 'invalidate', cause: 'target_changed' })],
    ['its end, swept or not', () => sleep(420)],
  ]
  for (const [what, make] of rooms) {
    test(`${name}: ${what} makes room on the desk, and a first yes of two does not`, async t => {
      const store = await open(t)
      const kept = await proposed(store, { requirement: { approve: 2 } })
      await moved(store, kept, saying(kept))
      const record = await proposed(store, { pendingMs: 400, sub: 'other', grant: TERMS })
      assert.deepEqual(await store.propose(proposal({ sub: 'third' }), null, atMost(5, 2)), { kind: 'desk_full' })
      await make(store, record)
      assert.equal((await store.propose(proposal({ sub: 'third' }), null, atMost(5, 2))).kind, 'proposed')
      assert.deepEqual(await store.propose(proposal({ sub: 'third' }), null, atMost(5, 2)), { kind: 'desk_full' })
    })
  }

  test(`${name}: a run that was stopped proposes nothing`, async t => {
    const store = await open(t)
    const record = proposal()
    await store.stopRun(record.tag, record.runKey)
    assert.deepEqual(await store.propose(record, null, atMost(100)), { kind: 'run_stopped' })
    assert.equal(await store.findProposal(record.id), null)
    assert.equal((await store.propose(proposal({ run: 'r2' }), null, atMost(100))).kind, 'proposed')
  })

  test(`${name}: what is not a new proposal is not made, and leaves nothing`, async t => {
    const store = await open(t)
    const record = proposal()
    for (const wrong of [
      { state: 'approved' as const }, { attemptId: 'att_x' }, { tag: record.tag === '00' ? '01' : '00' }, { createdAtMs: 5 }, { pendingUntilMs: 0 },
      { hardUntilMs: 1 },
    ]) await assert.rejects(store.propose({ ...record, ...wrong }, null, atMost(100)), TypeError, JSON.stringify(wrong))
    assert.equal(await store.findProposal(record.id), null)
    assert.equal(await store.countProposals(record.tag, record.agentKey, 0), 0)
  })
}

function deciding (name: string, open: OpenStore): void {
  test(`${name}: a yes approves, and the approval has a time of its own`, async t => {
    const store = await open(t)
    const record = await proposed(store)
    const advanced = await store.advanceProposal(record, saying(record))
    if (advanced.kind !== 'changed') assert.fail(advanced.kind)
    const { record: approved, nowMs } = advanced
    assert.equal(approved.state, 'approved')
    assert.equal(approved.revision, record.revision + 1)
    assert.equal(approved.decidedAtMs, nowMs)
    assert.equal(approved.commitByMs, nowMs + APPROVED_MS)
    assert.equal(approved.decisions[0]!.atMs, nowMs)
    assert.deepEqual(await stored(store, record.id), approved)
  })

  test(`${name}: no approval outlives the end of its proposal`, async t => {
    const store = await open(t)
    const record = await proposed(store, { pendingMs: 300_000, hardMs: 300_000 })
    assert.equal((await moved(store, record, saying(record))).commitByMs, record.hardUntilMs)
    const other = await proposed(store, { hardMs: PENDING_MS })
    assert.equal((await moved(store, other, { type: 'extend' })).pendingUntilMs, other.hardUntilMs)
  })

  test(`${name}: where two must say yes, each of them is counted once, at its own time`, async t => {
    const store = await open(t)
    const record = await proposed(store, { requirement: { approve: 2 } })
    const one = await moved(store, record, saying(record))
    assert.equal(one.state, 'pending')
    assert.deepEqual((await store.advanceProposal(record, saying(record))).kind, 'already', 'one person is one')
    await sleep(5)
    const two = await moved(store, one, saying(record, { who: 'bob' }))
    assert.equal(two.state, 'approved')
    assert.deepEqual(two.decisions.map(({ approver }) => approver.sub), ['ann', 'bob'])
    assert.equal(two.decisions[0]!.atMs, one.decisions[0]!.atMs, 'the first yes keeps its time')
    assert.ok(two.decisions[1]!.atMs > two.decisions[0]!.atMs)
    assert.deepEqual(await stored(store, record.id), two)
  })

  test(`${name}: of two people at once both count, and the last of them decides`, async t => {
    const store = await open(t)
    for (let round = 0; round < 10; round++) {
      const record = await proposed(store, { requirement: { approve: 2 } })
      const answers = await Promise.all([store.advanceProposal(record, saying(record)), store.advanceProposal(record, saying(record, { who: 'bob' }))])
      assert.deepEqual(answers.map(answer => answer.kind), ['changed', 'changed'])
      const now = await stored(store, record.id)
      assert.equal(now.state, 'approved')
      assert.equal(now.decisions.length, 2)
    }
  })

  test(`${name}: of a yes and a no at once one is taken and the other hears that it is over`, async t => {
    const store = await open(t)
    for (let round = 0; round < 10; round++) {
      const record = await proposed(store)
      const answers = await Promise.all([
        store.advanceProposal(record, saying(record)), store.advanceProposal(record, saying(record, { who: 'bob', decision: 'deny' })),
      ])
      assert.deepEqual(answers.map(answer => answer.kind).sort(), ['changed', 'refused'])
      const { state, decisions } = await stored(store, record.id)
      assert.deepEqual([state, decisions.length], [answers[0]!.kind === 'changed' ? 'approved' : 'denied', 1])
    }
  })

  test(`${name}: one no is final`, async t => {
    const store = await open(t)
    const record = await proposed(store, { requirement: { approve: 2 } })
    const one = await moved(store, record, saying(record))
    const denied = await moved(store, one, saying(record, { who: 'bob', decision: 'deny' }))
    assert.equal(denied.state, 'denied')
    assert.equal(denied.endedAtMs, denied.decidedAtMs)
    for (const event of [saying(record, { who: 'cat' }), { type: 'extend' as const }, { type: 'withdraw' as const }]) {
      const answer = await store.advanceProposal(record, event)
      assert.equal(answer.kind === 'refused' && answer.why, 'ended')
    }
    const changed = await store.advanceProposal(record, saying(record, { who: 'ann', decision: 'deny' }))
    assert.equal(changed.kind === 'refused' && changed.why, 'already_voted')
    assert.deepEqual(await stored(store, record.id), denied)
  })

  test(`${name}: a decision on another content is refused`, async t => {
    const store = await open(t)
    const record = await proposed(store)
    const answer = await store.advanceProposal(record, saying(record, { digest: 'f'.repeat(64) }))
    assert.equal(answer.kind === 'refused' && answer.why, 'digest_differs')
    assert.deepEqual(await stored(store, record.id), record)
  })

  test(`${name}: the same change asked again changes nothing more, whatever came between`, async t => {
    const store = await open(t)
    const record = await proposed(store, { requirement: { approve: 2 } })
    const [first, second] = [randomUUID(), randomUUID()]
    const one = await moved(store, record, { type: 'extend' }, first)
    const two = await moved(store, one, saying(record), second)
    const again = await store.advanceProposal(record, { type: 'extend' }, first)
    assert.deepEqual(again.kind === 'changed' && again.record, two)
  })

  test(`${name}: what a caller holds may be old`, async t => {
    const store = await open(t)
    const record = await proposed(store)
    const extended = await moved(store, record, { type: 'extend' })
    const withdrawn = await moved(store, record, { type: 'withdraw' })
    assert.equal(withdrawn.revision, extended.revision + 1)
    assert.equal(withdrawn.pendingUntilMs, extended.pendingUntilMs)
    assert.equal((await store.advanceProposal(record, { type: 'withdraw' })).kind, 'already')
    assert.deepEqual(await store.advanceProposal(proposal(), { type: 'withdraw' }), { kind: 'missing' })
  })

  for (const [event, state] of [
    [{ type: 'withdraw' }, 'withdrawn'], [{ type: 'supersede' }, 'superseded'], [{ type: 'invalidate', cause: 'sheet_changed' }, 'invalidated'],
    [{ type: 'revoke' }, 'revoked'],
  ] as const) {
    test(`${name}: an approval that is ${state} is over, and says when and why`, async t => {
      const store = await open(t)
      const record = await approvedOne(store)
      const ended = await moved(store, record, event)
      assert.deepEqual([ended.state, ended.cause, ended.commitByMs], [state, event.type === 'invalidate' ? event.cause : null, record.commitByMs])
      assert.ok(ended.endedAtMs! >= record.decidedAtMs!)
      assert.deepEqual(await stored(store, record.id), ended)
    })
  }

  test(`${name}: a first yes of two is taken back, and nothing is where nobody has said yes`, async t => {
    const store = await open(t)
    const record = await proposed(store, { requirement: { approve: 2 } })
    const early = await store.advanceProposal(record, { type: 'revoke' })
    assert.equal(early.kind === 'refused' && early.why, 'not_approved')
    const ended = await moved(store, await moved(store, record, saying(record)), { type: 'revoke', by: 'Ann' })
    assert.deepEqual([ended.state, ended.decisions.length, ended.decidedAtMs, ended.revokedBy], ['revoked', 1, null, 'Ann'])
    assert.ok(ended.endedAtMs! >= record.createdAtMs)
    assert.deepEqual([await stored(store, record.id), await store.openProposals(10)], [ended, []])
  })

  test(`${name}: of a stopped run nothing is approved, extended or spent, and all of it can be ended`, async t => {
    const store = await open(t)
    const [record, given, other] = [await proposed(store, { args: { a: 1 } }), await proposed(store, { args: { a: 2 }, grant: TERMS }), await proposed(store, { run: 'r2' })]
    const grant = await moved(store, given, saying(given))
    await store.stopRun(record.tag, record.runKey)
    const asked = [await store.advanceProposal(record, saying(record)), await store.advanceProposal(record, { type: 'extend' }), await store.advanceProposal(grant, { type: 'spend' })]
    for (const one of asked) assert.equal(one.kind === 'refused' && one.why, 'run_stopped')
    assert.deepEqual([await stored(store, record.id), await stored(store, grant.id)], [record, grant])
    assert.equal((await moved(store, record, { type: 'invalidate', cause: 'run_stopped' })).cause, 'run_stopped')
    assert.equal((await moved(store, grant, { type: 'revoke' })).state, 'revoked')
    assert.equal((await moved(store, other, saying(other))).state, 'approved', 'other runs go on')
  })

  test(`${name}: of 30 runs that are stopped while people say yes, none has an approval that was given after the stop`, async t => {
    const store = await open(t)
    await Promise.all(Array.from({ length: 30 }, async (_, at) => {
      const record = await proposed(store, { run: `stopped-${at}` })
      const yes = store.advanceProposal(record, saying(record))
      await store.stopRun(record.tag, record.runKey)
      const late = await store.advanceProposal(record, saying(record, { who: 'bob' }))
      const first = await yes
      assert.ok(late.kind === 'refused')
      assert.equal(late.why, first.kind === 'changed' ? 'ended' : 'run_stopped')
    }))
  })

  test(`${name}: what a newer version wrote is neither moved nor swept`, async t => {
    const store = await open(t)
    const record = await proposed(store, { format: PROPOSAL_FORMAT + 1, pendingMs: 30 })
    const answer = await store.advanceProposal(record, saying(record))
    assert.equal(answer.kind === 'refused' && answer.why, 'newer_format')
    await sleep(50)
    assert.deepEqual(await store.overdueProposals(10), [])
    assert.deepEqual(await stored(store, record.id), record)
  })
}

function timing (name: string, open: OpenStore): void {
  test(`${name}: a yes that comes too late is late, though nobody has swept yet`, async t => {
    const store = await open(t)
    const record = await proposed(store, { pendingMs: 40 })
    await sleep(60)
    const answer = await store.advanceProposal(record, saying(record))
    assert.equal(answer.kind === 'refused' && answer.why, 'expired')
    assert.ok(answer.kind === 'refused' && answer.nowMs > record.pendingUntilMs)
    assert.equal((await stored(store, record.id)).state, 'pending')
    const extended = await store.advanceProposal(record, { type: 'extend' })
    assert.equal(extended.kind === 'refused' && extended.why, 'expired')
  })

  test(`${name}: whatever the moment, no yes is taken after the end, and none before it is refused`, async t => {
    const store = await open(t)
    const taken = { changed: 0, refused: 0 }
    await Promise.all(Array.from({ length: 60 }, async (_, index) => {
      const record = await proposed(store, { pendingMs: 200 + index, sub: `agent-${index}` })
      await sleep(Math.max(0, record.pendingUntilMs - Date.now() - 20 + index % 30))
      const answer = await store.advanceProposal(record, saying(record))
      if (answer.kind !== 'changed' && answer.kind !== 'refused') assert.fail(answer.kind)
      taken[answer.kind]++
      if (answer.kind === 'changed') assert.ok(answer.record.decidedAtMs! <= record.pendingUntilMs, 'taken in time')
      else assert.ok(answer.kind === 'refused' && answer.why === 'expired' && answer.nowMs > record.pendingUntilMs, 'refused too late')
    }))
    assert.ok(taken.changed > 0 && taken.refused > 0, JSON.stringify(taken))
  })

  test(`${name}: what is overdue is listed until it is expired, and not before its time`, async t => {
    const store = await open(t)
    const undecided = await proposed(store, { pendingMs: 200 })
    const approved = await approvedOne(store, { pendingMs: 210, hardMs: 210, tenant: 'another tenant' })
    const later = await proposed(store)
    const early = await store.advanceProposal(undecided, { type: 'expire' })
    assert.equal(early.kind === 'refused' && early.why, 'ended')
    assert.deepEqual(await store.overdueProposals(10), [])
    await sleep(240)
    const overdue = await store.overdueProposals(10)
    assert.deepEqual(overdue.map(({ record }) => record.id).sort(), [undecided.id, approved.id].sort())
    for (const { record, nowMs } of overdue) assert.equal(stateAt(record, nowMs), 'expired')
    assert.equal((await store.overdueProposals(1)).length, 1)
    for (const { record } of overdue) {
      const expired = await moved(store, record, { type: 'expire' })
      assert.equal(expired.state, 'expired')
      assert.ok(expired.endedAtMs! > record.createdAtMs)
      assert.equal((await store.advanceProposal(record, { type: 'expire' })).kind, 'already')
    }
    assert.deepEqual(await store.overdueProposals(10), [])
    assert.equal((await stored(store, later.id)).state, 'pending')
  })

  test(`${name}: more time keeps it from being overdue`, async t => {
    const store = await open(t)
    const record = await proposed(store, { pendingMs: 150 })
    const extended = await moved(store, record, { type: 'extend' })
    assert.ok(extended.pendingUntilMs > record.pendingUntilMs + 1_000)
    await sleep(180)
    assert.deepEqual(await store.overdueProposals(10), [])
    assert.equal((await moved(store, record, saying(record))).state, 'approved')
  })

  test(`${name}: what has ended is kept for a while and then forgotten; what is open never is`, async t => {
    const store = await open(t, { retention: { ...RETENTION, settledMs: 250 } })
    const kept = await proposed(store)
    const record = await proposed(store)
    const denied = await moved(store, record, saying(record, { decision: 'deny' }))
    assert.deepEqual(await stored(store, record.id), denied)
    await eventually(async () => await store.findProposal(record.id) === null, 'forgotten')
    assert.equal(await store.recallProposal(record.tag, record.equalKey), null)
    assert.deepEqual((await store.endedProposals(10)).map(held => held.record.id), [])
    assert.deepEqual(await stored(store, kept.id), kept)
    assert.equal((await store.propose(proposal({ args: { made: 'anew' } }), record.id, atMost(100))).kind, 'proposed')
  })
}

function granting (name: string, open: OpenStore): void {
  test(`${name}: a grant is in force from the yes on, for as long as it says, and for its run alone`, async t => {
    const store = await open(t)
    const record = await proposed(store, { grant: TERMS })
    assert.deepEqual(await store.grantsOf(record.tag, record.runKey), [])
    const granted = await moved(store, record, saying(record))
    assert.equal(granted.commitByMs, granted.decidedAtMs! + TERMS.lifeMs)
    await approvedOne(store)
    await approvedOne(store, { grant: TERMS, run: 'r2' })
    assert.deepEqual((await store.grantsOf(record.tag, record.runKey)).map(held => held.record), [granted])
    await moved(store, granted, { type: 'revoke' })
    assert.deepEqual(await store.grantsOf(record.tag, record.runKey), [])
  })

  test(`${name}: a grant may outlive the time in which it could be decided, and ends at its own`, async t => {
    const store = await open(t)
    const short = { ...TERMS, lifeMs: 500 }
    const granted = await approvedOne(store, { grant: short, pendingMs: 200, hardMs: 200 })
    await sleep(230)
    assert.equal((await store.grantsOf(granted.tag, granted.runKey)).length, 1)
    await sleep(330)
    assert.deepEqual(await store.grantsOf(granted.tag, granted.runKey), [])
    const late = await store.advanceProposal(granted, { type: 'spend' })
    assert.equal(late.kind === 'refused' && late.why, 'expired')
  })

  test(`${name}: of 50 uses at once exactly as many are had as were granted`, async t => {
    const store = await open(t)
    const granted = await approvedOne(store, { grant: { ...TERMS, usesMax: 7 } })
    const answers = await Promise.all(Array.from({ length: 50 }, () => store.advanceProposal(granted, { type: 'spend' })))
    assert.equal(answers.filter(answer => answer.kind === 'changed').length, 7)
    assert.ok(answers.every(answer => answer.kind === 'changed' || (answer.kind === 'refused' && answer.why === 'used_up')))
    const { uses } = await stored(store, granted.id)
    assert.equal(uses, 7)
    assert.equal((await moved(store, granted, { type: 'give_back' })).uses, 6)
    assert.equal((await moved(store, granted, { type: 'spend' })).uses, 7)
  })

  test(`${name}: a use asked for again with the same words is one use, though others came between`, async t => {
    const store = await open(t)
    const granted = await approvedOne(store, { grant: { ...TERMS, usesMax: 9 } })
    const change = randomUUID()
    await moved(store, granted, { type: 'spend' }, change)
    await moved(store, granted, { type: 'spend' }, randomUUID())
    assert.equal((await moved(store, granted, { type: 'spend' }, change)).uses, 2)
    assert.equal((await stored(store, granted.id)).uses, 2)
    await moved(store, granted, { type: 'revoke' })
    assert.equal((await moved(store, await stored(store, granted.id), { type: 'spend' }, change)).state, 'revoked', 'it was had, whatever came of the grant')
    const late = await store.advanceProposal(granted, { type: 'give_back' }, randomUUID())
    assert.deepEqual(late.kind === 'refused' && [late.why, late.record.uses], ['not_approved', 2], 'what has ended stays as it was')
  })
}

function listing (name: string, open: OpenStore): void {
  const ids = async (list: Promise<ReadonlyArray<{ readonly record: ProposalRecord }>>): Promise<readonly string[]> => (await list).map(held => held.record.id)

  test(`${name}: what is open is listed oldest first, and what has ended latest first, of all tenants`, async t => {
    const store = await open(t)
    const made: ProposalRecord[] = []
    for (let index = 0; index < 6; index++) {
      made.push(await proposed(store, { tenant: `tenant-${index}` }))
      await sleep(2)
    }
    assert.deepEqual(await ids(store.openProposals(10)), made.map(record => record.id))
    assert.deepEqual(await ids(store.openProposals(2)), made.slice(0, 2).map(record => record.id))
    assert.deepEqual(await ids(store.openProposals(0)), [])
    assert.deepEqual(await ids(store.endedProposals(10)), [])
    const [one, two, three, four] = made as [ProposalRecord, ProposalRecord, ProposalRecord, ProposalRecord]
    await moved(store, three, saying(three))
    assert.deepEqual(await ids(store.openProposals(10)), made.map(record => record.id), 'an approval is still open')
    await moved(store, two, { type: 'withdraw' })
    await sleep(2)
    await moved(store, one, saying(one, { decision: 'deny' }))
    await sleep(2)
    await moved(store, three, { type: 'revoke' })
    assert.deepEqual(await ids(store.openProposals(10)), [four, ...made.slice(4)].map(record => record.id))
    assert.deepEqual(await ids(store.endedProposals(10)), [three.id, one.id, two.id])
    assert.deepEqual(await ids(store.endedProposals(2)), [three.id, one.id])
    assert.deepEqual(await ids(store.endedProposals(0)), [])
  })

  test(`${name}: what has run out is on nobody's desk, and takes no place in the list`, async t => {
    const store = await open(t)
    await proposed(store, { pendingMs: 30 })
    await proposed(store, { pendingMs: 30 })
    const open1 = await proposed(store)
    await sleep(50)
    assert.deepEqual(await ids(store.openProposals(1)), [open1.id])
  })

  test(`${name}: what an agent has proposed lately is counted, whatever became of it`, async t => {
    const store = await open(t)
    const first = await proposed(store)
    await moved(store, first, { type: 'withdraw' })
    await sleep(5)
    const second = await proposed(store, { run: 'r2' })
    await proposed(store, { sub: 'another' })
    await proposed(store, { tenant: 'elsewhere' })
    const count = (sinceMs: number): Promise<number> => store.countProposals(first.tag, first.agentKey, sinceMs)
    assert.deepEqual([await count(0), await count(second.createdAtMs), await count(second.createdAtMs + 1)], [2, 1, 0])
    assert.equal(await store.countProposals(first.tag, identity.claim('nobody'), 0), 0)
  })
}

function peopleSessions (name: string, open: OpenStore): void {
  test(`${name}: a person's session is kept, replaced, dropped, and ends by itself`, async t => {
    const store = await open(t)
    const hash = 'a'.repeat(64)
    assert.equal(await store.session(hash), null)
    await store.keepSession(hash, '{"sub":"ann"}', 60_000)
    assert.equal(await store.session(hash), '{"sub":"ann"}')
    await store.keepSession(hash, 'other', 60_000)
    assert.equal(await store.session(hash), 'other')
    assert.equal(await store.session('b'.repeat(64)), null)
    await store.dropSession(hash)
    await store.dropSession(hash)
    assert.equal(await store.session(hash), null)
    await store.keepSession(hash, 'short', 40)
    await sleep(60)
    assert.equal(await store.session(hash), null)
  })
}
