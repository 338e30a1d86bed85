// The pages of approvers over real sockets: who sees them, what a request must bring with it to change something, and what each answer of the desk
// becomes. What a real browser makes of them is looked at in test/browser/.
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { DECIDE_COOKIE, VIEW_COOKIE } from '../../src/http/people/cookies.ts'
import { NO_ALIASES, parsePrincipals, type Principals } from '../../src/consent/principals.ts'
import { STAND_IN } from '../../src/consent/binding.ts'
import type { ProposalRecord } from '../../src/consent/proposal.ts'
import { requestView } from '../../src/consent/request-view.ts'
import { REQUIREMENT } from '../store/proposal-drafts.ts'
import { hidden, Visitor, type Answer, type Sent } from './browser-like.ts'
import { addressChange, place, refund, slot, text, type Over } from './drafts.ts'
import { startPeople, type People } from './ground.ts'

interface Ground {
  readonly people: People
  readonly visitor: Visitor
  readonly record: ProposalRecord
  readonly path: string
  state (): Promise<ProposalRecord>
}

async function ground (t: TestContext, record = addressChange()): Promise<Ground> {
  const people = await startPeople(t)
  const visitor = new Visitor(people.origin)
  await visitor.signIn()
  const placed = await place(people.store, record)
  return { people, visitor, record: placed, path: `/approvals/${placed.id}`, state: async () => (await people.store.findProposal(placed.id))!.record }
}

/** Opens the second step, and waits until a person could have read it. */
async function review ({ visitor, people, path }: Ground): Promise<Answer> {
  const page = await visitor.ask(`${path}/confirm`)
  assert.equal(page.status, 200, page.text)
  people.ahead(1_000)
  return page
}

const deny = { decision: 'deny', reason_code: 'wrong_value', reason: '', visibility: 'agent' }

test('what is approved on the page is approved, and the next page says so', async t => {
  const g = await ground(t)
  const answer = await g.visitor.submit(await review(g), `${g.path}/decision`, { decision: 'approve' })
  assert.equal(answer.status, 303)
  const after = await g.visitor.ask(answer.headers.get('location')!)
  assert.match(after.text, /You approved this[\s\S]*carried out, once, until <time/)
  assert.match((await g.visitor.ask('/approvals/history')).text, /you approved it <time/)
  const { state, decisions } = await g.state()
  assert.equal(state, 'approved')
  assert.equal(decisions[0]!.approver.sub, 'ann')
  assert.equal(decisions[0]!.digest, g.record.digest)
  assert.equal(decisions[0]!.shown.surface, 'page')
  assert.ok(decisions[0]!.shown.msOnPage! >= 1_000)
})

test('the same button pressed twice is one decision (D13)', async t => {
  const g = await ground(t)
  const page = await review(g)
  for (let press = 0; press < 2; press++) {
    assert.equal((await g.visitor.submit(page, `${g.path}/decision`, { decision: 'approve' })).status, 303)
  }
  assert.equal((await g.state()).decisions.length, 1)
})

test('what is denied is denied, with the reason and for whom it is', async t => {
  const g = await ground(t)
  const page = await g.visitor.ask(g.path)
  const answer = await g.visitor.submit(page, `${g.path}/decision`, { ...deny, reason: 'Wrong \u202e street', visibility: 'staff' })
  assert.equal(answer.status, 303)
  const { state, decisions } = await g.state()
  assert.equal(state, 'denied')
  assert.equal(decisions[0]!.reasonCode, 'wrong_value')
  assert.equal(decisions[0]!.reasonText, 'Wrong \u202e street')
  assert.equal(decisions[0]!.visibility, 'staff')
  assert.match((await g.visitor.ask(answer.headers.get('location')!)).text, /Wrong <span class="chip">⟦U\+202E⟧<\/span>/)
})

test('a denial without a reason, or with too many words, is asked for again and loses nothing (D22)', async t => {
  const g = await ground(t)
  const page = await g.visitor.ask(g.path)
  for (const filled of [{ ...deny, reason_code: '' }, { ...deny, reason_code: 'made_up' }, { ...deny, reason: `keep me ${'x'.repeat(10_000)}` }]) {
    const answer = await g.visitor.submit(page, `${g.path}/decision`, { ...filled, reason: filled.reason || 'keep me' })
    assert.equal(answer.status, 422)
    assert.match(answer.text, /role="alert" tabindex="-1" data-focus/)
    assert.ok(answer.text.includes('\nkeep me'))
  }
  assert.equal((await g.state()).state, 'pending')
})

const FOREIGN: ReadonlyArray<{ readonly what: string, readonly headers: Sent['headers'], readonly status?: number }> = [
  { what: 'from another site', headers: { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' } },
  { what: 'from another site by a browser that says nothing of sites', headers: { 'sec-fetch-site': undefined, origin: 'https://evil.example' } },
  { what: 'from a neighbour of our site', headers: { 'sec-fetch-site': 'same-site', origin: 'http://other.localhost' } },
  { what: 'from a sandbox', headers: { origin: 'null' } },
  { what: 'from nowhere', headers: { origin: undefined, 'sec-fetch-site': undefined } },
  { what: 'typed by hand', headers: { 'sec-fetch-site': 'none' } },
  { what: 'as text/plain', headers: { 'content-type': 'text/plain' }, status: 415 },
  { what: 'as multipart', headers: { 'content-type': 'multipart/form-data; boundary=x' }, status: 415 },
]

for (const { what, headers, status = 403 } of FOREIGN) {
  test(`a decision that comes ${what} is not taken (D10)`, async t => {
    const g = await ground(t)
    const answer = await g.visitor.submit(await review(g), `${g.path}/decision`, { decision: 'approve' }, headers)
    assert.equal(answer.status, status)
    assert.equal((await g.state()).decisions.length, 0)
  })
}

test('a decision takes the strict cookie: the one that a link brings along is not enough (D15)', async t => {
  const g = await ground(t)
  const page = await review(g)
  const view = `${VIEW_COOKIE}=${g.visitor.cookies.get(VIEW_COOKIE)}`
  for (const cookie of [view, `${view}; ${DECIDE_COOKIE}=${'x'.repeat(43)}`]) {
    assert.equal((await g.visitor.submit(page, `${g.path}/decision`, { decision: 'approve' }, { cookie })).status, 403)
  }
  assert.equal((await g.visitor.submit(page, `${g.path}/decision`, { decision: 'approve' }, { cookie: '' })).status, 401)
  assert.equal((await g.state()).decisions.length, 0)
})

test('a form of another session, another path, an hour ago, or none is not taken, and keeps what was written (D12)', async t => {
  const g = await ground(t)
  const other = new Visitor(g.people.origin)
  g.people.idp.who = { sub: 'bob', groups: ['leads'] }
  await other.signIn()
  const theirs = hidden(await other.ask(g.path), `${g.path}/decision`)
  const own = await g.visitor.ask(g.path)
  const extend = hidden(own, `${g.path}/extend`)
  const stale: Array<{ [name: string]: string }> = [{ token: '' }, { token: 'x.y' }, { token: theirs['token']!, click: theirs['click']! }, { token: extend['token']!, click: extend['click']! }, { click: theirs['click']! }]
  for (const made of stale) {
    const answer = await g.visitor.submit(own, `${g.path}/decision`, { ...deny, reason: 'keep these words', ...made })
    assert.equal(answer.status, 403)
    assert.match(answer.text, /keep these words/)
  }
  g.people.ahead(20 * 60_000)
  await g.visitor.ask('/approvals')
  g.people.ahead(20 * 60_000)
  await g.visitor.ask('/approvals')
  g.people.ahead(21 * 60_000)
  assert.equal((await g.visitor.submit(own, `${g.path}/decision`, deny)).status, 403)
  assert.equal((await g.state()).decisions.length, 0)
})

test('whoever decides after their sign-in was over is told that it was not taken, and comes back to the proposal', async t => {
  const g = await ground(t)
  const page = await review(g)
  g.visitor.cookies.clear()
  const answer = await g.visitor.submit(page, `${g.path}/decision`, { decision: 'approve' })
  assert.equal(answer.status, 401)
  assert.match(answer.text, /Your decision was not taken[\s\S]*Sign in and look again/)
  assert.equal((await g.visitor.open(/href="(\/sign-in[^"]*)"/.exec(answer.text)![1]!)).url, g.people.origin + g.path)
  const open = await g.visitor.ask(g.path)
  g.visitor.cookies.clear()
  assert.match((await g.visitor.submit(open, `${g.path}/extend`)).text, /Nothing was changed/)
  assert.equal((await g.state()).decisions.length, 0)
})

test('what has not happened is not told as if it had', async t => {
  const g = await ground(t, addressChange({ equalKey: 'first', shown: { diff: [{ pointer: '/city', was: 'Galway', now: 'Limerick' }] } }))
  const next = await place(g.people.store, addressChange({ supersedes: g.record.id }))
  const heads = async (path: string): Promise<string[]> => [...(await g.visitor.ask(path)).text.matchAll(/<th scope="col">([^<]*)<\/th>/g)].map(match => match[1]!)
  assert.deepEqual(await heads(`/approvals/${next.id}`), ['Field', 'Now', 'Would be', 'Field', 'Earlier proposal', 'This one'])
  assert.deepEqual(await heads(`/approvals/${next.id}/confirm`), ['Field', 'Now', 'Would be'])
  await g.visitor.submit(await g.visitor.ask(g.path), `${g.path}/decision`, deny)
  assert.deepEqual(await heads(g.path), ['Field', 'Was', 'Would have been'])
})

test('what is only made when it is sent is not shown as if it were known; an agent cannot write those words', async t => {
  const shown: Over['shown'] = {
    request: { method: 'POST', url: `https://shop.example/${STAND_IN.key}`, headers: { 'idempotency-key': STAND_IN.key, 'x-attempt': STAND_IN.id }, body: `{"key":"${STAND_IN.key}"}` },
  }
  const g = await ground(t, addressChange({ shown }))
  const { text } = await g.visitor.ask(g.path)
  assert.equal(text.split('(made when it is sent)').length - 1, 4)
  assert.doesNotMatch(text, /00000000-0000|att_-/)
  const { url } = requestView({ request: shown.request! }, { note: STAND_IN.key })
  assert.equal(url, `https://shop.example/${STAND_IN.key}`)
})

test('a page that refuses keeps the way around, for whoever is signed in', async t => {
  const g = await ground(t)
  for (const [path, status] of [['/operator', 403], ['/operator/lock', 403], [`${g.path}/decision`, 405], ['/nothing', 404]] as const) {
    const page = await g.visitor.ask(path)
    assert.deepEqual([page.status, /href="\/approvals\/history"/.test(page.text)], [status, true], path)
    assert.doesNotMatch((await new Visitor(g.people.origin).ask(path)).text, /approvals\/history/)
  }
})

test('nothing is decided by opening an address (D14)', async t => {
  const g = await ground(t)
  const scanner = new Visitor(g.people.origin)
  const plain = { accept: '*/*', 'sec-fetch-site': undefined, 'sec-fetch-dest': undefined, 'sec-fetch-mode': undefined }
  for (const [who, method, path, status] of [
    [g.visitor, 'GET', `${g.path}/decision?decision=approve`, 405], [g.visitor, 'HEAD', g.path, 405], [scanner, 'GET', g.path, 401],
    [scanner, 'HEAD', g.path, 405], [scanner, 'GET', `${g.path}/decision?decision=approve`, 405], [g.visitor, 'GET', `${g.path}?decision=approve`, 400],
  ] as const) {
    assert.equal((await who.ask(path, { method, headers: plain })).status, status, `${method} ${path}`)
  }
  assert.deepEqual(g.people.desk.told, [])
  for (const headers of [{ 'sec-purpose': 'prefetch' }, { 'sec-fetch-dest': 'iframe' }, { 'sec-fetch-dest': 'image' }, { 'sec-fetch-dest': 'empty', 'sec-fetch-site': 'cross-site' }]) {
    assert.equal((await g.visitor.ask(g.path, { headers })).status, 403)
  }
  assert.deepEqual(g.people.desk.told, [], 'what was not opened was not seen')
  assert.equal((await g.state()).revision, 1)
})

test('a link in a mail opens the page (D15)', async t => {
  const g = await ground(t)
  const cookie = `${VIEW_COOKIE}=${g.visitor.cookies.get(VIEW_COOKIE)}`
  const page = await g.visitor.ask(g.path, { headers: { 'sec-fetch-site': 'cross-site', cookie } })
  assert.equal(page.status, 200)
})

test('an access token opens nothing here, and that it came is told (A42)', async t => {
  const g = await ground(t)
  const before = g.people.told.length
  for (const [method, path] of [['GET', '/approvals'], ['GET', g.path], ['POST', `${g.path}/decision`], ['GET', '/operator'], ['POST', '/operator/lock'], ['GET', '/sign-in'], ['GET', '/nothing']] as const) {
    const answer = await g.visitor.ask(path, { method, headers: { authorization: 'Bearer eyJhbGciOiJub25lIn0.e30.', accept: 'application/json' } })
    assert.equal(answer.status, 401, `${method} ${path}`)
    assert.equal(JSON.parse(answer.text).why, 'agent_token')
  }
  assert.deepEqual(g.people.told.slice(before).map(({ what }) => what), Array.from({ length: 7 }, () => 'planeViolation'))
  assert.equal((await g.state()).revision, 1)
})

test('a yes before anybody can have read the page is not taken (D13)', async t => {
  const g = await ground(t)
  const page = await g.visitor.ask(`${g.path}/confirm`)
  const answer = await g.visitor.submit(page, `${g.path}/decision`, { decision: 'approve' })
  assert.equal(answer.status, 409)
  assert.match(answer.text, /too quick/)
  assert.equal((await g.state()).decisions.length, 0)
})

test('a decision on what is no longer shown is not taken, and the new content is (D17)', async t => {
  const g = await ground(t)
  const answer = await g.visitor.submit(await review(g), `${g.path}/decision`, { decision: 'approve', digest: '0'.repeat(64) })
  assert.equal(answer.status, 409)
  assert.match(answer.text, /This changed since you opened it/)
  assert.match(answer.text, /12 Quay Street/)
  assert.equal((await g.state()).decisions.length, 0)
})

for (const [why, status, says] of [
  ['expired', 410, /time to decide was over/], ['locked', 423, /locked the broker/], ['own_request', 403, /somebody else has to decide/],
  ['not_entitled', 403, /None of your roles/], ['sign_in_too_old', 403, /Sign in again/], ['not_pending', 409, /nothing left to decide/], ['already_voted', 409, /decided on this already/],
] as const) {
  test(`a decision that the desk does not take (${why}) is answered ${status}, in words (D18, D19)`, async t => {
    const g = await ground(t)
    const page = await review(g)
    g.people.desk.nextWhy = why
    const answer = await g.visitor.submit(page, `${g.path}/decision`, { decision: 'approve' })
    assert.equal(answer.status, status)
    assert.match(answer.text, says)
    assert.equal((await g.state()).decisions.length, 0)
  })
}

const REFUSED_PERSONS: ReadonlyArray<{ readonly what: string, readonly says: RegExp, readonly mayDeny: boolean, readonly over: (people: People) => Over, readonly before?: (people: People) => void, readonly principals?: (issuer: string) => string }> = [
  { what: 'who is the agent', says: /somebody else has to decide/, mayDeny: false, over: ({ idp }) => ({ owner: { iss: idp.issuer, sub: 'ann', tenant: 'default', run: 'r' } }) },
  { what: 'for whom it is asked', says: /somebody else has to decide/, mayDeny: false, over: ({ idp }) => ({ requirement: { ...REQUIREMENT, separation: 'requester' }, onBehalfOf: { iss: idp.issuer, sub: 'ann' } }) },
  {
    what: 'for whom it is asked under another of their identities', says: /somebody else has to decide/, mayDeny: false,
    over: () => ({ requirement: { ...REQUIREMENT, separation: 'requester' }, onBehalfOf: { iss: 'https://other.example', sub: 'a-42' } }),
    principals: issuer => JSON.stringify({ people: { ann: [{ iss: issuer, sub: 'ann' }, { iss: 'https://other.example', sub: 'a-42' }] } }),
  },
  {
    what: 'who signed in too long ago', says: /Sign in again/, mayDeny: true, over: () => ({ requirement: { ...REQUIREMENT, signInMaxAgeS: 300 } }),
    before: ({ idp }) => { idp.authAgeS = 3_600 },
  },
  { what: 'while the broker is locked', says: /locked the broker/, mayDeny: true, over: () => ({}), before: ({ desk }) => { desk.lock.locked = true } },
]

for (const { what, says, mayDeny, over, before, principals } of REFUSED_PERSONS) {
  test(`whoever may not decide is told why and has no button to approve, and a forged yes is none: ${what} (D18, D19)`, async t => {
    const issuers: string[] = []
    // The provider's address is known once it listens.
    const aliases: Principals = { of: (iss, sub) => principals === undefined ? NO_ALIASES.of(iss, sub) : parsePrincipals('p.json', Buffer.from(principals(issuers[0]!))).of(iss, sub) }
    const people = await startPeople(t, { principals: aliases })
    issuers.push(people.idp.issuer)
    before?.(people)
    const visitor = new Visitor(people.origin)
    await visitor.signIn()
    const record = await place(people.store, addressChange(over(people)))
    const path = `/approvals/${record.id}`
    const page = await visitor.ask(path)
    assert.match(page.text, says)
    assert.doesNotMatch(page.text, /Review and approve/)
    assert.equal(/value="deny"/.test(page.text), mayDeny)
    assert.equal((await visitor.ask(`${path}/confirm`)).status, 303)
    const json = JSON.parse((await visitor.ask(path, { headers: { accept: 'application/json' } })).text)
    const forged = await visitor.ask(`${path}/decision`, {
      method: 'POST', body: JSON.stringify({ ...json.forms.decision, digest: record.digest, decision: 'approve' }),
      headers: { accept: 'application/json', 'content-type': 'application/json' },
    })
    assert.ok([403, 423].includes(forged.status), forged.text)
    assert.equal((await people.store.findProposal(record.id))!.record.decisions.length, 0)
    if (!mayDeny) return
    assert.equal((await visitor.submit(page, `${path}/decision`, deny)).status, 303)
    assert.equal((await people.store.findProposal(record.id))!.record.state, 'denied')
  })
}

test('a yes under a sign-in that is too old is not recorded; whoever signs in again on the way may give it (B16)', async t => {
  const people = await startPeople(t)
  people.idp.authAgeS = 3_600
  const visitor = new Visitor(people.origin)
  await visitor.signIn()
  const record = await place(people.store, addressChange({ requirement: { ...REQUIREMENT, signInMaxAgeS: 300 } }))
  const path = `/approvals/${record.id}`
  const g: Ground = { people, visitor, record, path, state: async () => (await people.store.findProposal(record.id))!.record }
  const page = await visitor.ask(path)
  const again = /href="(\/sign-in[^"]*)"/.exec(page.text)![1]!.replaceAll('&amp;', '&')
  const json = JSON.parse((await visitor.ask(path, { headers: { accept: 'application/json' } })).text)
  const forged = await visitor.ask(`${path}/decision`, {
    method: 'POST', body: JSON.stringify({ ...json.forms.decision, digest: record.digest, decision: 'approve' }),
    headers: { accept: 'application/json', 'content-type': 'application/json' },
  })
  assert.deepEqual([forged.status, JSON.parse(forged.text).why, (await g.state()).decisions.length], [403, 'sign_in_too_old', 0])
  assert.equal((await visitor.open(again)).status, 400, 'a provider that did not ask again is not believed')
  assert.equal(people.idp.asked.at(-1)!.get('prompt'), 'login')
  people.idp.authAgeS = 1
  assert.equal((await visitor.open(again)).url, people.origin + path, 'and back to where they were')
  assert.equal((await visitor.submit(await review(g), `${path}/decision`, { decision: 'approve' })).status, 303)
  assert.equal((await g.state()).state, 'approved')
})

test('two identities of one person are one vote (D19)', async t => {
  const issuers: string[] = []
  const aliases: Principals = {
    of: (iss, sub) => parsePrincipals('p.json', Buffer.from(JSON.stringify({ people: { ann: [{ iss: issuers[0], sub: 'ann' }, { iss: issuers[0], sub: 'ann-2' }] } }))).of(iss, sub),
  }
  const people = await startPeople(t, { principals: aliases })
  issuers.push(people.idp.issuer)
  const record = await place(people.store, refund())
  for (const sub of ['ann', 'ann-2']) {
    people.idp.who = { sub, groups: ['finance'] }
    const visitor = new Visitor(people.origin)
    await visitor.signIn()
    const page = await visitor.ask(`/approvals/${record.id}/confirm`)
    if (sub === 'ann-2') {
      assert.equal(page.status, 303)
      assert.match((await visitor.ask(`/approvals/${record.id}`)).text, /decided on this already/)
      continue
    }
    people.ahead(1_000)
    assert.equal((await visitor.submit(page, `/approvals/${record.id}/decision`, { decision: 'approve', confirmed: 'cus_1001' })).status, 303)
  }
  const { state, decisions } = (await people.store.findProposal(record.id))!.record
  assert.deepEqual([state, decisions.length], ['pending', 1])
})

test('whoever has no role that may decide finds neither the proposal nor the list of it', async t => {
  const people = await startPeople(t)
  people.idp.who = { sub: 'eve', groups: ['nobody'] }
  const visitor = new Visitor(people.origin)
  await visitor.signIn()
  const record = await place(people.store, addressChange())
  assert.match((await visitor.ask('/approvals')).text, /Nothing waits for you/)
  for (const path of [`/approvals/${record.id}`, `/approvals/${record.id}/confirm`]) assert.equal((await visitor.ask(path)).status, 404)
})

test('a yes after the time is over is none, and the page has no buttons any more (D18)', async t => {
  const g = await ground(t, addressChange({ pendingUntilMs: 1_500 }))
  const page = await review(g)
  await new Promise(resolve => setTimeout(resolve, 1_700))
  const late = await g.visitor.submit(page, `${g.path}/decision`, { decision: 'approve' })
  assert.equal(late.status, 410)
  assert.match(late.text, /The time to decide was over/)
  assert.doesNotMatch(late.text, /value="deny"|Review and approve/)
  assert.equal((await g.state()).decisions.length, 0)
})

test('what has to be typed or ticked has to be typed or ticked', async t => {
  const g = await ground(t, refund())
  const page = await review(g)
  assert.match(page.text, /Type <strong class="to-type"><span class="untrusted" translate="no">cus_1001/)
  const wrong = await g.visitor.submit(page, `${g.path}/decision`, { decision: 'approve', confirmed: 'cus_10' })
  assert.equal(wrong.status, 422)
  assert.match(wrong.text, /value="cus_10"/)
  assert.match(wrong.text, /You typed <strong class="to-type"><span[^>]*>cus_10<\/span><\/strong>; <strong class="to-type"><span[^>]*>cus_1001<\/span><\/strong> is asked for/)
  const evil = await g.visitor.submit(page, `${g.path}/decision`, { decision: 'approve', confirmed: '<b>\u202e' })
  assert.match(evil.text, /You typed <strong[^>]*><span[^>]*>&lt;b&gt;<span class="chip">⟦U\+202E⟧/)
  assert.match((await g.visitor.submit(page, `${g.path}/decision`, { decision: 'approve' })).text, /nothing was typed/)
  const ticked = await ground(t, addressChange({ requirement: { ...REQUIREMENT, confirm: 'checkbox' } }))
  const untouched = await ticked.visitor.submit(await review(ticked), `${ticked.path}/decision`, { decision: 'approve' })
  assert.deepEqual([untouched.status, /Tick the box/.test(untouched.text)], [422, true])
  g.people.ahead(1_000)
  assert.equal((await g.visitor.submit(wrong, `${g.path}/decision`, { decision: 'approve', confirmed: 'cus_1001' })).status, 303)
  assert.equal((await g.state()).state, 'pending', 'it takes two')
  assert.match((await g.visitor.ask(`${g.path}?said=decision`)).text, /You approved this: 1 of 2/)
})

test('the second step shows all that is approved: every change, the facts, and what a grant is good for', async t => {
  const g = await ground(t, refund())
  const page = (await g.visitor.ask(`${g.path}/confirm`)).text
  for (const shown of ['1,000.00 EUR', '/state', 'refunded', 'Alice Example', 'IE29 AIBK 9311 5212 3456 78']) assert.ok(page.replaceAll('<wbr>', '').includes(shown), shown)
  assert.match(page, /with the account <span[^>]*>shop<\/span> <small>\(<span[^>]*>file<\/span>\)/, 'and not where its file lies')
  const terms = { actions: [{ id: 'change_shipping_address.v2', digest: 'd' }], targets: [{ type: 'customer', id: 'cus_1001' }], usesMax: 7, lifeMs: 1_800_000 }
  const grant = await place(g.people.store, addressChange({ kind: 'session', grant: terms, equalKey: 'other' }))
  assert.match((await g.visitor.ask(`/approvals/${grant.id}/confirm`)).text, /7 uses within 30 min of the approval/)
  const asked = (await g.visitor.ask(`/approvals/${grant.id}/confirm`)).text
  assert.match(asked, /What you approve is not this call alone: while the grant lasts, the agent may repeat the action with other values/)
  assert.doesNotMatch(asked, /nothing else will be carried out/, 'which is so of one call alone')
  assert.match(asked, />Allow 7 uses for 30 min<\/button>/)
  assert.match(asked, /chosen by the agent for each use, within the rules of the action/)
  assert.match(page, /nothing else will be carried out/)
})

test('one no after one yes of two is final (D21)', async t => {
  const g = await ground(t, refund())
  await g.visitor.submit(await review(g), `${g.path}/decision`, { decision: 'approve', confirmed: 'cus_1001' })
  g.people.idp.who = { sub: 'bob', groups: ['finance'] }
  const bob = new Visitor(g.people.origin)
  await bob.signIn()
  assert.match((await bob.ask(g.path)).text, /Ann Approver<\/span> approved, /, 'he sees who has said yes so far')
  assert.equal((await bob.submit(await bob.ask(g.path), `${g.path}/decision`, deny)).status, 303)
  assert.equal((await g.state()).state, 'denied')
})

test('more time is given, and what is shown stays the same (D25)', async t => {
  const g = await ground(t)
  const answer = await g.visitor.submit(await g.visitor.ask(g.path), `${g.path}/extend`)
  assert.equal(answer.status, 303)
  const { pendingUntilMs, digest } = await g.state()
  assert.ok(pendingUntilMs >= g.record.pendingUntilMs)
  assert.equal(digest, g.record.digest)
  assert.match((await g.visitor.ask(answer.headers.get('location')!)).text, /There is more time now[\s\S]{0,40}Until <time/)
})

test('an approval and a grant can be taken back', async t => {
  const g = await ground(t)
  await g.visitor.submit(await review(g), `${g.path}/decision`, { decision: 'approve' })
  const back = await g.visitor.submit(await g.visitor.ask(g.path), `${g.path}/revoke`)
  assert.equal((await g.state()).state, 'revoked')
  assert.match((await g.visitor.ask(back.headers.get('location')!)).text, /Taken back by <span[^>]*>Ann Approver<\/span>, <time/)

  const terms = { actions: [{ id: 'change_shipping_address.v2', digest: 'd' }], targets: [], usesMax: 20, lifeMs: 1_800_000 }
  const grant = await place(g.people.store, addressChange({ kind: 'session', grant: terms, equalKey: 'other' }))
  const given = await g.visitor.submit(await review({ ...g, path: `/approvals/${grant.id}` }), `/approvals/${grant.id}/decision`, { decision: 'approve' })
  assert.match((await g.visitor.ask(given.headers.get('location')!)).text, /The grant is in force until <time[^>]*>[^<]*<\/time>: 0 used, 20 left/)
  const grants = await g.visitor.ask('/approvals/grants')
  assert.match(grants.text, /0 used, 20 left/)
  const taken = await g.visitor.submit(grants, `/approvals/${grant.id}/revoke`)
  assert.equal(taken.headers.get('location'), '/approvals/grants?said=revoked')
  assert.equal((await g.people.store.findProposal(grant.id))!.record.state, 'revoked')
})

test('the first of two approvers can take their yes back', async t => {
  const g = await ground(t, addressChange({ requirement: { ...addressChange().requirement, approve: 2 } }))
  await g.visitor.submit(await review(g), `${g.path}/decision`, { decision: 'approve' })
  const page = await g.visitor.ask(g.path)
  assert.match(page.text, /1 of 2/)
  assert.match(page.text, /You approved this\. If you take that back, it ends for everyone/)
  const answer = await g.visitor.submit(page, `${g.path}/revoke`)
  assert.match((await g.visitor.ask(answer.headers.get('location')!)).text, /It was taken back/)
  assert.equal((await g.state()).state, 'revoked')
})

test('a proposal of a run that was stopped is not approved, and the page says why', async t => {
  const g = await ground(t)
  const page = await review(g)
  await g.people.store.stopRun(g.record.tag, g.record.runKey)
  const answer = await g.visitor.submit(page, `${g.path}/decision`, { decision: 'approve' })
  assert.equal(answer.status, 409)
  assert.match(answer.text, /The run was stopped, by an operator or by its own agent/)
  assert.equal((await g.state()).state, 'invalidated')
})

test('a long list comes in pages, each proposal once', async t => {
  const g = await ground(t)
  for (let n = 0; n < 30; n++) await place(g.people.store, addressChange({ equalKey: `k${n}` }))
  const first = await g.visitor.ask('/approvals')
  const second = await g.visitor.ask(/href="(\/approvals\?cursor=[^"]+)" rel="next"/.exec(first.text)![1]!)
  const idsOf = ({ text }: Answer): string[] => [...text.matchAll(/<h2><a href="\/approvals\/(prop_[0-9a-f]+)"/g)].map(match => match[1]!)
  assert.equal(idsOf(first).length, 25)
  assert.equal(new Set([...idsOf(first), ...idsOf(second)]).size, 31)
  assert.doesNotMatch(second.text, /rel="next"/)
})

test('what others wrote is text on every page, whatever it is (D1)', async t => {
  const evil = '<img src=x onerror=alert(1)></textarea><script>alert(2)</script>{{7*7}}${7*7}"\'>'
  const g = await ground(t, addressChange({
    reason: evil,
    owner: { iss: evil, sub: evil, tenant: evil, run: evil },
    upstream: evil,
    action: evil,
    shown: {
      title: evil, effect: [text(evil), slot(evil, evil), slot('args.long', evil.repeat(3))], diff: [{ pointer: `/${evil}`, was: evil, now: { [evil]: [evil] } }],
      facts: { [evil]: evil }, undecodable: [evil], request: { method: 'POST', url: evil, headers: { [evil]: evil }, body: evil },
    },
  }))
  g.people.desk.actions.set(evil, { requirement: REQUIREMENT })
  for (const path of ['/approvals', g.path, `${g.path}/confirm`]) {
    const page = await g.visitor.ask(path)
    assert.equal(page.status, 200)
    assert.doesNotMatch(page.text, /<img|<script>|onerror=alert\(1\)>|<\/textarea><script/)
    assert.match(page.text, /&lt;img src=x onerror=alert\(1\)&gt;/)
  }
})

test('a page says what may run on it, be asked by it and be around it; nobody else may read it or keep it', async t => {
  const g = await ground(t)
  const { headers } = await g.visitor.ask(g.path)
  assert.equal(headers.get('content-security-policy'), "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    + "form-action 'self'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'")
  for (const [name, value] of Object.entries({
    'cache-control': 'no-store', 'x-content-type-options': 'nosniff', 'referrer-policy': 'same-origin', 'x-frame-options': 'DENY',
    'cross-origin-opener-policy': 'same-origin', 'cross-origin-resource-policy': 'same-origin',
  })) assert.equal(headers.get(name), value)
  const refused = await new Visitor(g.people.origin).ask(g.path)
  assert.equal(refused.headers.get('content-security-policy'), headers.get('content-security-policy'))
  for (const [method, path] of [['GET', g.path], ['OPTIONS', g.path], ['GET', '/assets/people.css']] as const) {
    const answer = await g.visitor.ask(path, { method, headers: { origin: 'https://evil.example' } })
    assert.deepEqual([...answer.headers.keys()].filter(name => name.startsWith('access-control-')), [])
  }
})

test('a program gets the same as JSON, and its decisions are held to the same', async t => {
  const g = await ground(t)
  const json = { accept: 'application/json' }
  const list = JSON.parse((await g.visitor.ask('/approvals', { headers: json })).text)
  assert.equal(list.items[0].record.id, g.record.id)
  const one = JSON.parse((await g.visitor.ask(g.path, { headers: json })).text)
  assert.equal(one.record.digest, g.record.digest)
  for (const internal of ['tag', 'runKey', 'agentKey', 'recordKey', 'equalKey', 'fingerprint']) assert.equal(internal in one.record, false, internal)
  const say = (body: object, headers: Sent['headers'] = {}): Promise<Answer> =>
    g.visitor.ask(`${g.path}/decision`, { method: 'POST', body: JSON.stringify(body), headers: { ...json, 'content-type': 'application/json', ...headers } })
  const good = { ...one.forms.decision, digest: one.record.digest, decision: 'approve' }
  assert.equal((await say(good, { origin: 'https://evil.example' })).status, 403)
  assert.equal((await say({ ...good, token: 'x' })).status, 403)
  assert.equal((await say({ ...good, extra: 'x' })).status, 400)
  assert.equal((await say({ ...good, decision: 'maybe' })).status, 400)
  assert.equal((await g.state()).revision, 1)
  const taken = await say(good)
  assert.equal(taken.status, 200, taken.text)
  assert.equal(JSON.parse(taken.text).decisive, true)
  assert.equal((await g.state()).decisions[0]!.shown.surface, 'terminal')
})

test('a proposal that is not there and one that may not be seen look alike', async t => {
  const g = await ground(t)
  const answer = await g.visitor.ask(`/approvals/prop_00${'0'.repeat(32)}`)
  assert.equal(answer.status, 404)
  assert.match(answer.text, /There is nothing here/)
})

test('an address with another host is not served', async t => {
  const g = await ground(t)
  const { port } = new URL(g.people.origin)
  const answer = await fetch(`http://127.0.0.2:${port}/approvals`).catch(() => null)
  assert.equal(answer === null || answer.status === 421, true)
})
