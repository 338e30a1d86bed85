// Several proposals on one page: each is one proposal and one decision all the same.
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { batchDigest } from '../../src/consent/batch.ts'
import type { ProposalRecord } from '../../src/consent/proposal.ts'
import { REQUIREMENT, TERMS } from '../store/proposal-drafts.ts'
import { hidden, Visitor, type Answer } from './browser-like.ts'
import { addressChange, place, refund, slot, text, type Over } from './drafts.ts'
import { startPeople, type People } from './ground.ts'

const customer = (at: number, over: Over = {}): ProposalRecord => addressChange({
  equalKey: `customer ${at}`, ...over,
  shown: { effect: [text('Replace the shipping address of customer '), slot('args.customer_id', `cus_${at}`)], diff: [{ pointer: '/street', was: `${at} Old Road`, now: `${at} New Road` }], ...over.shown },
})

interface Ground {
  readonly people: People
  readonly visitor: Visitor
  readonly records: readonly ProposalRecord[]
  readonly path: string
  states (): Promise<readonly string[]>
}

async function ground (t: TestContext, made: readonly ProposalRecord[]): Promise<Ground> {
  const people = await startPeople(t)
  people.idp.who = { sub: 'ann', name: 'Ann Approver', groups: ['leads', 'finance'] }
  const visitor = new Visitor(people.origin)
  await visitor.signIn()
  const records: ProposalRecord[] = []
  for (const record of made) records.push(await place(people.store, record))
  const states = async (): Promise<readonly string[]> => Promise.all(records.map(async ({ id }) => (await people.store.findProposal(id))!.record.state))
  return { people, visitor, records, path: `/approvals/${records[0]!.id}/together`, states }
}

async function review ({ people, visitor, path }: Ground): Promise<Answer> {
  const page = await visitor.ask(path)
  assert.equal(page.status, 200, page.text)
  people.ahead(1_000)
  return page
}

const approve = { decision: 'approve' }
const three = (over: Over = {}): readonly ProposalRecord[] => [1, 2, 3].map(at => customer(at, over))

test('what is like it is on one page, each whole, and one press approves all of that and nothing else', async t => {
  const other = customer(9, { runKey: 'another-run' })
  const g = await ground(t, [...three(), other, refund({ equalKey: 'money' }), customer(8, { kind: 'session', grant: TERMS })])
  const list = await g.visitor.ask('/approvals')
  assert.deepEqual([...list.text.matchAll(/href="(\/approvals\/prop_[^"]*\/together)">([^<]*)</g)].map(([, href, label]) => [href, label]), [[g.path, 'Review 3 of this kind and run together']])
  const page = await review(g)
  assert.match(page.text, /3 proposals, on 1 object</)
  for (const at of [1, 2, 3]) for (const shown of [`cus_${at}`, `${at} Old Road`, `${at} New Road`]) assert.ok(page.text.includes(shown), shown)
  for (const unlike of ['cus_9', 'cus_8', '1,000.00 EUR']) assert.ok(!page.text.includes(unlike), unlike)
  assert.equal(hidden(page, g.path)['digest'], batchDigest(g.records.slice(0, 3)))
  assert.deepEqual(g.people.desk.told.filter(({ what }) => what === 'viewed').map(({ record }) => record.id), g.records.slice(0, 3).map(({ id }) => id))
  for (let press = 0; press < 2; press++) {
    const answer = await g.visitor.submit(page, g.path, approve)
    assert.deepEqual([answer.status, answer.headers.get('location')], [303, '/approvals/history'], 'pressed twice it is the same')
  }
  assert.deepEqual(await g.states(), ['approved', 'approved', 'approved', 'pending', 'pending', 'pending'])
  for (const { id, digest } of g.records.slice(0, 3)) {
    const { decisions } = (await g.people.store.findProposal(id))!.record
    assert.deepEqual(decisions.map(made => [made.digest, made.approver.sub, made.shown.surface]), [[digest, 'ann', 'page']])
  }
  assert.equal(new Set((await Promise.all(g.records.slice(0, 3).map(({ id }) => g.people.store.findProposal(id)))).map(held => held!.record.decisions[0]!.id)).size, 3)
})

test('what is decided is what was on the page: one more, one less, another order, or another digest is nothing of it', async t => {
  const g = await ground(t, [...three(), customer(9, { runKey: 'another-run' }), refund({ equalKey: 'money' })])
  const page = await review(g)
  const ids = g.records.map(({ id }) => id)
  const digestOf = (...at: readonly number[]): string => batchDigest(at.map(one => g.records[one]!))
  const bent: ReadonlyArray<readonly [string, Record<string, string>]> = [
    ['one less', { ids: ids.slice(0, 2).join(' ') }],
    ['another order', { ids: [ids[1], ids[0], ids[2]].join(' ') }],
    ['another digest', { digest: 'f'.repeat(64) }],
    ['one of another run', { ids: `${ids[0]} ${ids[3]}`, digest: digestOf(0, 3) }],
    ['one that has to be typed', { ids: `${ids[0]} ${ids[4]}`, digest: digestOf(0, 4) }],
    ['one twice', { ids: `${ids[0]} ${ids[0]}`, digest: digestOf(0, 0) }],
    ['none', { ids: '', digest: batchDigest([]) }],
    ['more than there may be', { ids: Array.from({ length: 51 }, () => ids[0]).join(' ') }],
    ['one that is not there', { ids: `${ids[0]} prop_00${'0'.repeat(32)}` }],
    ['a denial', { decision: 'deny' }],
    ['no form of ours', { token: 'x' }],
  ]
  for (const [what, fields] of bent) {
    const { status } = await g.visitor.submit(page, g.path, { ...approve, ...fields })
    assert.ok([400, 403, 404].includes(status), `${what}: ${status}`)
  }
  assert.equal((await g.visitor.submit(page, g.path, approve, { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' })).status, 403)
  assert.deepEqual(new Set(await g.states()), new Set(['pending']))
})

test('of several one may be over by then: the others are approved, and it is said which was not and why', async t => {
  const g = await ground(t, three())
  const page = await review(g)
  await g.people.store.advanceProposal(g.records[1]!, { type: 'withdraw' })
  const answer = await g.visitor.submit(page, g.path, approve)
  assert.equal(answer.status, 409)
  assert.match(answer.text, /2 of 3 were approved/)
  assert.match(answer.text, /There is nothing left to decide here/)
  assert.deepEqual(await g.states(), ['approved', 'withdrawn', 'approved'])
})

test('a box has to be ticked where one of them asks for it, and nobody is quicker than they can read', async t => {
  const g = await ground(t, three({ requirement: { ...REQUIREMENT, confirm: 'checkbox' } }))
  const early = await g.visitor.ask(g.path)
  assert.equal((await g.visitor.submit(early, g.path, { ...approve, confirmed: 'yes' })).status, 409)
  const page = await review(g)
  assert.match(page.text, /I have read what changes in each of the 3/)
  assert.equal((await g.visitor.submit(page, g.path, approve)).status, 422)
  assert.deepEqual(await g.states(), ['pending', 'pending', 'pending'])
  assert.equal((await g.visitor.submit(page, g.path, { ...approve, confirmed: 'yes' })).status, 303)
  assert.deepEqual(await g.states(), ['approved', 'approved', 'approved'])
})

test('one alone is no batch, what has to be typed is never in one, and neither is what this person may not decide', async t => {
  const g = await ground(t, [customer(1), refund({ equalKey: 'one' }), refund({ equalKey: 'two' })])
  const alone = await g.visitor.ask(g.path)
  assert.deepEqual([alone.status, alone.headers.get('location')], [303, `/approvals/${g.records[0]!.id}`])
  assert.equal((await g.visitor.ask(`/approvals/${g.records[1]!.id}/together`)).status, 303)
  assert.doesNotMatch((await g.visitor.ask('/approvals')).text, /together/)
  g.people.idp.who = { sub: 'kim', name: 'Kim', groups: [] }
  const kim = new Visitor(g.people.origin)
  await kim.signIn()
  assert.equal((await kim.ask(g.path)).status, 404)
})
