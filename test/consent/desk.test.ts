// What people can do at the desk: who sees what, who decides what, and that every answer is what the store holds.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { bindingText, readBinding } from '../../src/consent/binding.ts'
import { isConfirmed } from '../../src/consent/confirm.ts'
import { parsePrincipals } from '../../src/consent/principals.ts'
import { openRedis } from '../../src/store/redis.ts'
import { REQUIREMENT, TERMS } from '../store/proposal-drafts.ts'
import { startRedis } from '../support/redis.ts'
import { ground, mustSee, person, refusedFor, taken } from './desk-ground.ts'

const ann = person('ann')
const bob = person('bob')
const stranger = person('eve', { roles: ['somebody_else'] })

test('an approver sees what waits, oldest first, and approves it; the store, the audit and the listeners all hear of it', async t => {
  const { desk, make, decide, store, told, types } = ground(t)
  const [first, second] = [await make(), (await sleep(3), await make({ tenant: 'other' }))]
  const page = await desk.pending(ann, null, 10)
  assert.deepEqual(page.items.map(({ record }) => record.id), [first.id, second.id])
  const seen = await mustSee(desk.view(ann, first.id, 'page'))
  assert.deepEqual([seen.state, seen.mayNot, seen.votes, seen.before], ['pending', null, 0, null])
  const answer = taken(await decide(ann, first))
  assert.deepEqual([answer.decisive, answer.again, answer.seen.state, answer.seen.votes, answer.seen.mayNot], [true, false, 'approved', 1, 'not_pending'])
  const { record } = (await store.findProposal(first.id))!
  assert.deepEqual([record.state, record.decisions[0]!.approver.principal, record.decisions[0]!.shown.renderer], ['approved', 'https://idp.example|ann', 'test/1'])
  assert.deepEqual(told.map(one => [one.what, one.record.id, one.person.sub]), [['viewed', first.id, 'ann'], ['approved', first.id, 'ann']])
  assert.match(told[0]!.renderer!, /^aval-/)
  assert.deepEqual(types(), ['approved'])
  assert.deepEqual((await desk.pending(ann, null, 10)).items.map(seen => seen.record.id), [second.id])
})

test('who may not decide an action sees nothing of it, as if there were none', async t => {
  const { desk, make, decide, store, told } = ground(t)
  const record = await make()
  assert.deepEqual((await desk.pending(stranger, null, 10)).items, [])
  assert.equal(await desk.view(stranger, record.id, 'page'), null)
  assert.deepEqual(await decide(stranger, record), { kind: 'missing' })
  assert.deepEqual(await decide(stranger, record, { decision: 'deny' }), { kind: 'missing' })
  assert.equal(await desk.extend(stranger, record.id), null)
  assert.equal(await desk.revoke(stranger, record.id), null)
  assert.equal(await desk.view(ann, `prop_${record.tag}${'0'.repeat(32)}`, 'page'), null)
  assert.deepEqual((await store.findProposal(record.id))!.record, record)
  assert.deepEqual(told, [])
})

test('the rules in force count beside those of the proposal: whoever lost the right since may not decide', async t => {
  const { desk, make, decide, actions, store } = ground(t)
  const record = await make()
  actions.set('change.v1', { requirement: { ...REQUIREMENT, roles: ['finance'] } })
  assert.equal(await desk.view(ann, record.id, 'page'), null)
  assert.deepEqual(await decide(ann, record), { kind: 'missing' })
  assert.equal(await desk.view(person('fay', { roles: ['finance'] }), record.id, 'page'), null, 'nor who has it only now')
  actions.delete('change.v1')
  assert.deepEqual(await decide(ann, record), { kind: 'missing' })
  assert.equal((await store.findProposal(record.id))!.record.state, 'pending')
})

test('the agent never decides on its own request, and whoever it acts for does not where those are kept apart', async t => {
  const principals = parsePrincipals('p.yaml', Buffer.from('people: {ann: [{iss: "https://idp.example", sub: ann}, {iss: "https://issuer.example", sub: agent}]}'))
  const aliased = ground(t, { principals })
  const own = await aliased.make()
  assert.equal((await mustSee(aliased.desk.view(ann, own.id, 'page'))).mayNot, 'own_request')
  assert.equal(refusedFor(await aliased.decide(ann, own)), 'own_request')
  assert.equal(refusedFor(await aliased.decide(ann, own, { decision: 'deny' })), 'own_request')
  assert.equal(taken(await aliased.decide(bob, own)).seen.state, 'approved')
  const { make, decide, desk } = ground(t)
  const direct = await make({ onBehalfOf: { iss: 'https://idp.example', sub: 'ann' }, requirement: { separation: 'requester' } })
  assert.equal(refusedFor(await decide(ann, direct)), 'own_request')
  const once = await mustSee(desk.extend(ann, direct.id))
  assert.equal(once.record.revision, direct.revision, 'nor may they give themselves more time')
  const single = await make({ onBehalfOf: { iss: 'https://idp.example', sub: 'ann' } })
  assert.equal(taken(await decide(ann, single)).seen.state, 'approved', 'where one person is enough')
})

test('two identities of one person are one vote', async t => {
  const principals = parsePrincipals('p.yaml', Buffer.from('people: {ann: [{iss: "https://idp.example", sub: ann}, {iss: "https://idp.example", sub: ann-at-work}]}'))
  const { make, decide, store } = ground(t, { principals })
  const record = await make({ requirement: { approve: 2 } })
  const first = taken(await decide(ann, record))
  assert.deepEqual([first.decisive, first.seen.state, first.seen.votes, first.seen.mayNot], [false, 'pending', 1, 'already_voted'])
  const second = taken(await decide(person('ann-at-work'), record))
  assert.deepEqual([second.again, second.decisive], [true, false])
  assert.equal((await store.findProposal(record.id))!.record.decisions.length, 1)
  assert.equal(taken(await decide(bob, record)).decisive, true)
})

test('a click that comes twice is one decision, told once; the opposite one is refused', async t => {
  const { make, decide, types, told, store } = ground(t)
  const record = await make({ requirement: { approve: 2 } })
  const clicks = await Promise.all([decide(ann, record, { decisionId: 'c1' }), decide(ann, record, { decisionId: 'c1' }), decide(ann, record, { decisionId: 'c1' })])
  assert.deepEqual(clicks.map(click => taken(click).again).sort(), [false, true, true])
  assert.deepEqual(types(), ['voted'])
  assert.equal(told.filter(({ what }) => what === 'approved').length, 1)
  assert.equal(refusedFor(await decide(ann, record, { decision: 'deny' })), 'already_voted')
  taken(await decide(bob, record))
  assert.equal(taken(await decide(ann, record)).again, true, 'after it was decided, too')
  assert.equal((await store.findProposal(record.id))!.record.decisions.length, 2)
})

test('one no is final, needs a reason, and ends the grants of the run for that action', async t => {
  const { make, decide, types, store, told } = ground(t)
  const grant = await make({ grant: TERMS })
  const elsewhere = await make({ grant: TERMS, run: 'r2' })
  for (const one of [grant, elsewhere]) taken(await decide(ann, one))
  const record = await make({ requirement: { approve: 3 } })
  assert.equal(refusedFor(await decide(bob, record, { decision: 'deny', reasonCode: null })), 'reason_missing')
  const denied = taken(await decide(bob, record, { decision: 'deny', reasonCode: 'suspicious', reasonText: 'x'.repeat(900), visibility: 'staff' }))
  assert.deepEqual([denied.decisive, denied.seen.state], [true, 'denied'])
  const { decisions } = (await store.findProposal(record.id))!.record
  assert.deepEqual([decisions[0]!.reasonCode, decisions[0]!.reasonText!.length, decisions[0]!.visibility], ['suspicious', 500, 'staff'])
  assert.deepEqual(types(), ['approved', 'approved', 'denied', 'revoked'])
  const { state, revokedBy } = (await store.findProposal(grant.id))!.record
  assert.deepEqual([state, revokedBy], ['revoked', bob.display], 'and it is kept who ended it')
  assert.equal((await store.findProposal(elsewhere.id))!.record.state, 'approved')
  assert.equal(told.at(-1)!.reasonCode, 'suspicious')
  assert.equal(refusedFor(await decide(ann, record)), 'not_pending')
})

test('a no that is said again ends the grants that it could not end the first time', async t => {
  const { make, decide, store } = ground(t)
  const grant = await make({ grant: TERMS })
  taken(await decide(ann, grant))
  const record = await make()
  const { grantsOf } = store
  store.grantsOf = async () => { throw new Error('the store is away') }
  await assert.rejects(decide(bob, record, { decision: 'deny', reasonCode: 'suspicious' }))
  store.grantsOf = grantsOf
  assert.equal(taken(await decide(bob, record, { decision: 'deny', reasonCode: 'suspicious' })).again, true)
  assert.equal((await store.findProposal(grant.id))!.record.state, 'revoked')
})

test('where the object has no name, what has to be typed is not nothing', async t => {
  const record = await ground(t).make({ requirement: { confirm: 'type_value' } })
  for (const id of ['', '  ']) {
    const unnamed = { ...record, binding: bindingText({ ...readBinding(record.binding), target: { type: 'customer', id, version: 1, version_kind: 'revision' } }) }
    assert.deepEqual([isConfirmed(unnamed, ''), isConfirmed(unnamed, ' '), isConfirmed(unnamed, record.action)], [false, false, true])
  }
})

test('what a person saw is what they decide on: another digest, a missing confirmation or a passed end take nothing', async t => {
  const { make, decide, store, types } = ground(t)
  const record = await make()
  assert.equal(refusedFor(await decide(ann, { ...record, digest: '0'.repeat(64) })), 'changed')
  const ticked = await make({ requirement: { confirm: 'checkbox' } })
  for (const confirmed of [null, '', 'true', 'YES']) assert.equal(refusedFor(await decide(ann, ticked, { confirmed })), 'not_confirmed', String(confirmed))
  assert.equal(taken(await decide(ann, ticked, { confirmed: 'yes' })).seen.state, 'approved')
  const typed = await make({ requirement: { confirm: 'type_value' } })
  for (const confirmed of [null, 'yes', 'cus_100', 'CUS_1001']) assert.equal(refusedFor(await decide(ann, typed, { confirmed })), 'not_confirmed', String(confirmed))
  assert.equal(taken(await decide(bob, typed, { decision: 'deny' })).seen.state, 'denied', 'a no needs none')
  const again = await make({ requirement: { confirm: 'type_value' } })
  assert.equal(taken(await decide(ann, again, { confirmed: ' cus_1001\n' })).seen.state, 'approved', 'pasted')
  const short = await make({ pendingMs: 40 })
  await sleep(60)
  assert.equal(refusedFor(await decide(ann, short)), 'expired')
  assert.equal(refusedFor(await decide(ann, short, { decision: 'deny' })), 'expired')
  assert.equal((await store.findProposal(record.id))!.record.decisions.length, 0)
  assert.deepEqual(types(), ['approved', 'denied', 'approved'])
})

test('whoever signed in too long ago, or never by themselves, may not approve; they may still deny', async t => {
  const { desk, make, decide } = ground(t)
  const fresh = { requirement: { signInMaxAgeS: 300 } }
  const nowS = Date.now() / 1000
  const record = await make(fresh)
  for (const authTimeS of [nowS - 301, nowS - 90_000, 0, -5, Number.NaN, nowS + 600]) {
    const late = person('ann', { authTimeS })
    assert.equal((await mustSee(desk.view(late, record.id, 'page'))).mayNot, 'sign_in_too_old', String(authTimeS))
    assert.equal(refusedFor(await decide(late, record)), 'sign_in_too_old', String(authTimeS))
  }
  assert.equal(taken(await decide(person('ann', { authTimeS: nowS - 200 }), record)).seen.state, 'approved')
  const other = await make(fresh)
  assert.equal(taken(await decide(person('ann', { authTimeS: nowS - 9_000 }), other, { decision: 'deny' })).seen.state, 'denied')
  const any = await make()
  assert.equal(taken(await decide(person('ann', { authTimeS: nowS - 9_000 }), any)).seen.state, 'approved')
  const service = await make()
  assert.equal(refusedFor(await decide(person('ann', { authTimeS: 0 }), service)), 'sign_in_too_old')
})

test('while the vault is locked nothing is approved; a no is taken, and what was said before counts for nothing after', async t => {
  const { desk, make, decide, lock } = ground(t)
  const record = await make({ requirement: { approve: 2 } })
  taken(await decide(ann, record))
  lock.locked = true
  lock.at = 2
  assert.equal((await mustSee(desk.view(bob, record.id, 'page'))).mayNot, 'locked')
  assert.equal(refusedFor(await decide(bob, record)), 'locked')
  const other = await make()
  assert.equal(taken(await decide(bob, other, { decision: 'deny' })).seen.state, 'denied')
  lock.locked = false
  const seen = await mustSee(desk.view(ann, record.id, 'page'))
  assert.deepEqual([seen.votes, seen.mayNot], [0, null], 'ann is asked again')
  assert.deepEqual([taken(await decide(bob, record)).seen.votes, taken(await decide(ann, record)).seen.state], [1, 'approved'])
})

test('a decision waits for what is known of the lock', async t => {
  const { make, decide, lock } = ground(t)
  const record = await make()
  lock.fresh = false
  taken(await decide(ann, record))
  assert.equal(lock.asked, 1)
})

test('nothing is approved that the audit has no room for', async t => {
  const { make, decide, audit, store } = ground(t)
  const [record, other] = [await make(), await make()]
  audit.room = false
  await assert.rejects(decide(ann, record), { code: 'STATE_UNAVAILABLE' })
  assert.equal((await store.findProposal(record.id))!.record.state, 'pending')
  assert.equal(taken(await decide(ann, other, { decision: 'deny' })).seen.state, 'denied')
})

test('a stored proposal that is not what was made ends, with an alarm, and nobody approves it', async t => {
  const { store, desk, make, decide, altered, types } = ground(t)
  const record = await make()
  for (const [what, change] of Object.entries({
    shown: { shown: { ...record.shown, title: 'Something harmless' } }, owner: { owner: { ...record.owner, sub: 'another' } },
    requirement: { requirement: { ...record.requirement, roles: ['anyone'] } }, binding: { binding: record.binding.replace('cus_1001', 'cus_9999') },
    arguments: { argumentsSha256: '0'.repeat(64) },
  })) {
    const forged = { ...record, ...change }
    const findProposal = async () => ({ record: forged, nowMs: record.createdAtMs + 1 })
    const advanceProposal: typeof store.advanceProposal = async (held, event) => {
      assert.deepEqual(event, { type: 'invalidate', cause: 'stored_bytes_changed' })
      return { kind: 'changed', record: { ...held, state: 'invalidated', cause: 'stored_bytes_changed' }, nowMs: record.createdAtMs + 2 }
    }
    const roles = ['support_lead', 'anyone']
    const broken = ground(t, { store: { ...store, findProposal, advanceProposal } })
    assert.equal((await mustSee(broken.desk.view(person('ann', { roles }), record.id, 'page'))).state, 'invalidated', what)
    assert.deepEqual([broken.altered, broken.types()], [[record.id], ['invalidated']], what)
    assert.equal(refusedFor(await broken.decide(person('ann', { roles }), record)), 'not_pending', what)
  }
  assert.deepEqual([altered, types()], [[], []])
  assert.equal((await mustSee(desk.view(ann, record.id, 'page'))).state, 'pending')
  taken(await decide(ann, record))
})

test('more time is given once more, and an approval or a grant is taken back, by whoever may decide', async t => {
  const { desk, make, decide, types, store, told } = ground(t)
  const record = await make({ pendingMs: 10_000 })
  const extended = await mustSee(desk.extend(ann, record.id))
  assert.ok(extended.record.pendingUntilMs > record.pendingUntilMs)
  assert.equal((await mustSee(desk.revoke(bob, record.id))).state, 'pending', 'there is nothing to take back yet')
  taken(await decide(ann, record))
  assert.equal((await mustSee(desk.revoke(bob, record.id))).state, 'revoked')
  const grant = await make({ grant: TERMS })
  taken(await decide(ann, grant))
  assert.deepEqual((await desk.grants(bob)).map(seen => seen.record.id), [grant.id])
  assert.deepEqual(await desk.grants(stranger), [])
  await desk.revoke(ann, grant.id)
  assert.deepEqual(await desk.grants(bob), [])
  assert.deepEqual(types(), ['extended', 'approved', 'revoked', 'approved', 'revoked'])
  assert.deepEqual(told.map(({ what }) => what), ['extended', 'approved', 'revoked', 'approved', 'revoked'])
  assert.equal((await store.findProposal(record.id))!.record.state, 'revoked')
})

test('the first of two approvers takes their yes back, which ends it; whoever has said nothing cannot', async t => {
  const { desk, make, decide, store, types, told } = ground(t)
  const [one, two] = [await make({ requirement: { approve: 2 } }), await make({ requirement: { approve: 2 } })]
  for (const record of [one, two]) taken(await decide(ann, record))
  assert.equal((await mustSee(desk.revoke(bob, one.id))).state, 'pending')
  assert.equal((await mustSee(desk.revoke(person('ann', { roles: [] }), one.id))).state, 'revoked', 'whatever roles they have by now')
  assert.equal(refusedFor(await decide(bob, one)), 'not_pending')
  assert.deepEqual((await store.findProposal(one.id))!.record.decisions.map(({ decision }) => decision), ['approve'], 'what was said is kept')
  taken(await decide(bob, two))
  assert.equal((await mustSee(desk.revoke(ann, two.id))).state, 'revoked')
  assert.deepEqual(types(), ['voted', 'voted', 'revoked', 'approved', 'revoked'])
  assert.equal(told.filter(({ what }) => what === 'revoked').length, 2)
})

test('nothing of a run that was stopped is approved or given more time, though nobody has swept yet; it ends, and that is told', async t => {
  const { desk, make, decide, store, events, types } = ground(t)
  const [one, two, three] = [await make(), await make({ pendingMs: 10_000 }), await make()]
  await store.stopRun(one.tag, one.runKey)
  const refused = await decide(ann, one)
  assert.deepEqual([refusedFor(refused), refused.kind === 'refused' && [refused.seen.state, refused.seen.record.cause]], ['not_pending', ['invalidated', 'run_stopped']])
  assert.equal((await mustSee(desk.extend(ann, two.id))).state, 'invalidated')
  taken(await decide(ann, three, { decision: 'deny' }))
  assert.deepEqual(types(), ['invalidated', 'invalidated', 'denied'])
  assert.deepEqual(events.map(event => 'record' in event && event.record.id), [one.id, two.id, three.id])
})

test('whoever decided sees what became of it, whatever roles they have by now', async t => {
  const { desk, make, decide } = ground(t)
  const [one, two, three] = [await make(), await make(), await make()]
  taken(await decide(ann, two))
  await sleep(3)
  taken(await decide(ann, one, { decision: 'deny' }))
  taken(await decide(bob, three))
  const retired = person('ann', { roles: [] })
  assert.deepEqual((await desk.history(retired, null, 10)).items.map(seen => seen.record.id), [one.id, two.id])
  assert.equal((await mustSee(desk.view(retired, two.id, 'page'))).state, 'approved')
  assert.equal(await desk.view(retired, three.id, 'page'), null)
  assert.equal((await mustSee(desk.revoke(retired, two.id))).state, 'revoked', 'their own yes they may always take back')
})

test('pages follow each other whatever happens between them, and a cursor that is none begins at the start', async t => {
  const { desk, make, decide } = ground(t)
  const made = []
  for (let index = 0; index < 7; index++) {
    made.push(await make())
    await sleep(2)
  }
  const first = await desk.pending(ann, null, 3)
  assert.deepEqual(first.items.map(seen => seen.record.id), made.slice(0, 3).map(record => record.id))
  taken(await decide(ann, made[0]!))
  taken(await decide(ann, made[2]!))
  const second = await desk.pending(ann, first.next, 3)
  assert.deepEqual(second.items.map(seen => seen.record.id), made.slice(3, 6).map(record => record.id))
  const third = await desk.pending(ann, second.next, 3)
  assert.deepEqual([third.items.map(seen => seen.record.id), third.next], [[made[6]!.id], null])
  for (const cursor of ['', 'AAAA', 'x'.repeat(3_000), Buffer.from('1 prop_zz').toString('base64url')]) {
    assert.equal((await desk.pending(ann, cursor, 1)).items[0]!.record.id, made[1]!.id, cursor.slice(0, 10))
  }
  const decided = await desk.history(ann, null, 1)
  assert.deepEqual([decided.items.length, (await desk.history(ann, decided.next, 5)).items.length], [1, 1])
})

test('what an agent asked for today is counted, and what a proposal is instead of is there to compare', async t => {
  const { desk, make, store } = ground(t)
  const first = await make()
  await store.advanceProposal(first, { type: 'invalidate', cause: 'target_changed' })
  await make({ sub: 'another agent' })
  const second = await make({ supersedes: first.id })
  const seen = await mustSee(desk.view(ann, second.id, 'terminal'))
  assert.deepEqual([seen.countToday, seen.before?.id, seen.before?.state], [2, first.id, 'invalidated'])
})

test('the desk is the same over Redis: two people on two replicas decide at once', async t => {
  const server = await startRedis()
  const replicas = await Promise.all([openRedis(server.url), openRedis(server.url)])
  t.after(async () => {
    await Promise.all(replicas.map(store => store.close()))
    await server.stop()
  })
  const [one, other] = replicas.map(store => ground(t, { store })) as [ReturnType<typeof ground>, ReturnType<typeof ground>]
  const record = await one.make({ requirement: { approve: 2 } })
  const both = await Promise.all([one.decide(ann, record), other.decide(bob, record)])
  assert.deepEqual(both.map(answer => taken(answer).decisive).sort(), [false, true])
  assert.deepEqual([...one.types(), ...other.types()].sort(), ['approved', 'voted'])
  const contested = await one.make()
  const race = await Promise.all([one.decide(ann, contested), other.decide(bob, contested, { decision: 'deny' })])
  assert.deepEqual(race.map(answer => answer.kind).sort(), ['refused', 'taken'])
  assert.deepEqual((await other.desk.history(ann, null, 10)).items.map(seen => seen.record.id).includes(record.id), true)
  assert.equal((await other.desk.pending(ann, null, 10)).items.length, 0)
})
