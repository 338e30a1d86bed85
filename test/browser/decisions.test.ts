// What a person's click comes to in a real browser where it must not count: a form that is not good, content that is not this, a time that is over, a
// person who may not, an address that was merely opened, a script of another site that listens.
import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import { parsePrincipals, type Principals } from '../../src/consent/principals.ts'
import { addressChange, place, refund, type Over } from '../people/drafts.ts'
import type { People } from '../people/ground.ts'
import { REQUIREMENT } from '../store/proposal-drafts.ts'
import { another, closeBrowser, look, open, otherSite, picture, signIn, votes, type Look } from './chromium.ts'

after(closeBrowser)

/** Presses it, and waits for the page that comes of it. */
async function press (page: Page, button: string): Promise<number> {
  const [response] = await Promise.all([page.waitForResponse(one => one.request().method() === 'POST'), page.click(button)])
  await page.waitForLoadState()
  return response.status()
}

async function fillDenial (page: Page, words: string): Promise<void> {
  await page.click('summary:has-text("Deny")')
  await page.selectOption('#reason_code', 'wrong_value')
  await page.fill('#reason', words)
}

/** To the second step, until the button believes a click. */
async function review (page: Page): Promise<void> {
  await page.click('a.go')
  await page.waitForSelector('button[value=approve]')
  await page.mouse.move(10, 10)
  await page.mouse.move(20, 20)
  await page.waitForSelector('button[value=approve]:not([aria-disabled])')
}

/** By a script of the page itself, with everything that a program would send along: only who asks is wrong. */
const forge = (page: Page, id: string, decision: string): Promise<{ status: number, why: string }> => page.evaluate(`(async () => {
  const one = await (await fetch('/approvals/${id}', { headers: { accept: 'application/json' } })).json()
  const body = JSON.stringify({ ...one.forms.decision, digest: one.record.digest, decision: '${decision}', confirmed: 'cus_1001', reason_code: 'other' })
  const answer = await fetch('/approvals/${id}/decision', { method: 'POST', headers: { accept: 'application/json', 'content-type': 'application/json' }, body })
  return { status: answer.status, why: (await answer.json()).why }
})()`)

const TOKENS: ReadonlyArray<{ readonly what: string, readonly token: (l: Look, id: string) => Promise<string | null> }> = [
  { what: 'no token', token: async () => null },
  { what: 'a made-up token', token: async () => 'x.y' },
  {
    what: 'the token of somebody else', token: async ({ people, browser }, id) => {
      people.idp.who = { sub: 'bob', groups: ['leads'] }
      const context = await browser.newContext()
      const page = await context.newPage()
      await signIn({ people, page }, `/approvals/${id}`)
      const token = await page.getAttribute(`form[action="/approvals/${id}/decision"] [name=token]`, 'value')
      await context.close()
      return token
    },
  },
  { what: 'the token of another form', token: ({ page }, id) => page.getAttribute(`form[action="/approvals/${id}/extend"] [name=token]`, 'value') },
]

for (const { what, token } of TOKENS) {
  test(`a form with ${what} is not taken, and what was written in it is kept (D12)`, async t => {
    const l = await look(t)
    const record = await open(l, addressChange())
    const value = await token(l, record.id)
    await fillDenial(l.page, 'keep these words')
    await l.page.evaluate(`(() => {
      const input = document.querySelector('form[action$="/decision"] [name=token]')
      ${value === null ? 'input.remove()' : `input.value = ${JSON.stringify(value)}`}
    })()`)
    assert.equal(await press(l.page, 'button[value=deny]'), 403)
    assert.match(await l.page.innerText('main'), /This form is no longer good/)
    assert.deepEqual([await l.page.inputValue('#reason'), await l.page.inputValue('#reason_code')], ['keep these words', 'wrong_value'])
    assert.equal(await votes(l, record), 0)
    assert.equal(await press(l.page, 'button[value=deny]'), 303, 'the new form is good')
    assert.equal(await votes(l, record), 1)
  })
}

test('a form that was opened over an hour ago is not taken, and what was written in it is kept (D12)', async t => {
  const l = await look(t)
  const record = await open(l, addressChange())
  await fillDenial(l.page, 'keep these words')
  for (let third = 0; third < 3; third++) {
    l.people.ahead(21 * 60_000)
    assert.equal(await l.page.evaluate(`fetch('/approvals').then(answer => answer.status)`), 200)
  }
  assert.equal(await press(l.page, 'button[value=deny]'), 403)
  assert.equal(await l.page.inputValue('#reason'), 'keep these words')
  assert.equal(await votes(l, record), 0)
})

test('an address that is merely opened, looked at or fetched beforehand decides nothing (D14)', async t => {
  const l = await look(t)
  const record = await open(l, addressChange())
  const [path, decision] = [`/approvals/${record.id}`, `/approvals/${record.id}/decision?decision=approve`]
  l.people.desk.told.length = 0
  assert.equal((await l.page.goto(l.people.origin + decision))!.status(), 405)
  const asked = await l.page.evaluate(`Promise.all([['HEAD', '${path}'], ['HEAD', '${decision}'], ['GET', '${decision}']]
    .map(([method, path]) => fetch(path, { method }).then(answer => answer.status)))`)
  assert.deepEqual(asked, [405, 405, 405])
  for (const host of ['localhost', '127.0.0.1'] as const) {
    const before = l.people.answered.length
    const site = await otherSite(t, () => [path, decision].map(one => `<link rel="prefetch" href="${l.people.origin}${one}"><link rel="preload" as="fetch" href="${l.people.origin}${one}">
      <img src="${l.people.origin}${one}"><script src="${l.people.origin}${one}"></script>`).join(''), host)
    const other = await l.context.newPage()
    await other.goto(site, { waitUntil: 'networkidle' })
    const came = l.people.answered.slice(before)
    assert.ok(came.length >= 4, came.join('\n'))
    assert.deepEqual(came.filter(one => !/ 40[135]$/.test(one)), [])
  }
  const scanner = await (await another(t, l.people)).context.newPage()
  assert.equal((await scanner.goto(l.people.origin + path))!.status(), 401)
  assert.equal((await scanner.goto(l.people.origin + decision))!.status(), 405)
  const { record: now } = (await l.people.store.findProposal(record.id))!
  assert.deepEqual([now.revision, now.state, l.people.desk.told], [1, 'pending', []], 'and nobody is said to have seen it')
})

test('a yes to another content than this one is not taken, and this one is shown (D17)', async t => {
  const l = await look(t)
  const record = await open(l, addressChange())
  await review(l.page)
  await l.page.evaluate(`document.querySelector('form[action$="/decision"] [name=digest]').value = '${'0'.repeat(64)}'`)
  assert.equal(await press(l.page, 'button[value=approve]'), 409)
  assert.match(await l.page.innerText('.notice.stop'), /This changed since you opened it/)
  assert.match(await l.page.innerText('.diff'), /12 Quay Street/)
  assert.equal(await votes(l, record), 0)
  await review(l.page)
  assert.equal(await press(l.page, 'button[value=approve]'), 303, 'what is shown now can be approved')
  assert.equal(await votes(l, record), 1)
})

test('a yes after the time is over is not taken, and no button is left (D18)', async t => {
  // With a script the button would be off by then.
  const l = await look(t, { javaScriptEnabled: false })
  const record = await open(l, addressChange({ pendingUntilMs: 6_000 }))
  await l.page.click('a.go')
  await l.page.waitForTimeout(6_200)
  assert.equal(await press(l.page, 'button[value=approve]'), 410)
  assert.match(await l.page.innerText('main'), /The time to decide was over/)
  assert.equal(await l.page.locator('button[name=decision], a.go').count(), 0)
  assert.equal(await votes(l, record), 0)
})

test('a yes while the broker is locked is not taken; a no is (D18)', async t => {
  const l = await look(t)
  const record = await open(l, addressChange())
  await review(l.page)
  l.people.desk.lock.locked = true
  assert.equal(await press(l.page, 'button[value=approve]'), 423)
  assert.match(await l.page.innerText('.notice.stop'), /locked the broker/)
  assert.equal(await l.page.locator('a.go, button[value=approve]').count(), 0)
  assert.deepEqual([await votes(l, record), await forge(l.page, record.id, 'approve')], [0, { status: 423, why: 'locked' }])
  await fillDenial(l.page, '')
  assert.equal(await press(l.page, 'button[value=deny]'), 303)
  assert.equal((await l.people.store.findProposal(record.id))!.record.state, 'denied')
})

/** Ann is known here under two names, and under a third elsewhere. The address of the provider is known once it listens. */
async function lookAsAnn (t: TestContext): Promise<Look> {
  let people: People | null = null
  const principals: Principals = {
    of: (iss, sub) => parsePrincipals('people.json', Buffer.from(JSON.stringify({
      people: { ann: [{ iss: people?.idp.issuer ?? 'https://none.example', sub: 'ann' }, { iss: people?.idp.issuer ?? 'https://none.example', sub: 'ann-2' }, { iss: 'https://other.example', sub: 'a-42' }] },
    }))).of(iss, sub),
  }
  const l = await look(t, {}, { principals })
  people = l.people
  return l
}

const apart = { ...REQUIREMENT, separation: 'requester' } as const
const OWN: ReadonlyArray<{ readonly what: string, readonly over: (issuer: string) => Over }> = [
  { what: 'is the agent', over: iss => ({ owner: { iss, sub: 'ann', tenant: 'default', run: 'r' } }) },
  { what: 'is the agent, under another name', over: iss => ({ owner: { iss, sub: 'ann-2', tenant: 'default', run: 'r' } }) },
  { what: 'is whom it is asked for', over: iss => ({ requirement: apart, onBehalfOf: { iss, sub: 'ann' } }) },
  { what: 'is whom it is asked for, at another provider', over: () => ({ requirement: apart, onBehalfOf: { iss: 'https://other.example', sub: 'a-42' } }) },
]

for (const { what, over } of OWN) {
  test(`whoever ${what} has no button, is told why, and cannot decide by a request of their own (D19)`, async t => {
    const l = await lookAsAnn(t)
    const record = await open(l, addressChange(over(l.people.idp.issuer)))
    assert.match(await l.page.innerText('.decision'), /somebody else has to decide/)
    assert.equal(await l.page.locator('a.go, button[name=decision], summary:has-text("Deny")').count(), 0)
    for (const decision of ['approve', 'deny']) assert.deepEqual(await forge(l.page, record.id, decision), { status: 403, why: 'own_request' })
    assert.equal(await votes(l, record), 0)
  })
}

test('whoever has decided under one name has no button under another (D19)', async t => {
  const l = await lookAsAnn(t)
  l.people.idp.who = { sub: 'ann', name: 'Ann', groups: ['finance'] }
  const record = await open(l, refund())
  await review(l.page)
  await l.page.fill('#confirmed', 'cus_1001')
  assert.equal(await press(l.page, 'button[value=approve]'), 303)
  l.people.idp.who = { sub: 'ann-2', name: 'Ann', groups: ['finance'] }
  const again = await another(t, l.people)
  await signIn(again, `/approvals/${record.id}`)
  assert.match(await again.page.innerText('.decision'), /decided on this already/)
  assert.equal(await again.page.locator('a.go, button[name=decision]').count(), 0)
  await forge(again.page, record.id, 'approve')
  const { state, decisions } = (await l.people.store.findProposal(record.id))!.record
  assert.deepEqual([state, decisions.length], ['pending', 1])
})

test('one no after one yes of two is the end of it (D21)', async t => {
  const l = await look(t)
  l.people.idp.who = { sub: 'ann', name: 'Ann', groups: ['finance'] }
  const record = await open(l, refund())
  await review(l.page)
  await l.page.fill('#confirmed', 'cus_1001')
  assert.equal(await press(l.page, 'button[value=approve]'), 303)
  assert.match(await l.page.innerText('.notice.done'), /1 of 2/)
  l.people.idp.who = { sub: 'bob', name: 'Bob', groups: ['finance'] }
  const bob = await another(t, l.people)
  await signIn(bob, `/approvals/${record.id}`)
  await fillDenial(bob.page, 'no')
  assert.equal(await press(bob.page, 'button[value=deny]'), 303)
  await bob.page.waitForSelector('.state.denied')
  l.people.idp.who = { sub: 'cat', name: 'Cat', groups: ['finance'] }
  const cat = await another(t, l.people)
  await signIn(cat, `/approvals/${record.id}`)
  assert.match(await cat.page.innerText('.state'), /Denied/)
  assert.equal(await cat.page.locator('a.go, button[name=decision]').count(), 0)
  assert.deepEqual(await forge(cat.page, record.id, 'approve'), { status: 409, why: 'not_pending' })
  const { state, decisions } = (await l.people.store.findProposal(record.id))!.record
  assert.deepEqual([state, decisions.length], ['denied', 2])
})

test('a denial without a reason, or with too many words, says what is wrong, begins there, and keeps the words (D22)', async t => {
  const l = await look(t)
  const record = await open(l, addressChange())
  const long = 'x'.repeat(10_240)
  for (const [code, words, says] of [['', 'my words', /Choose a reason/], ['wrong_value', long, /10240 characters; at most 500/]] as const) {
    if (await l.page.locator('#reason').isHidden()) await l.page.click('summary:has-text("Deny")')
    await l.page.selectOption('#reason_code', code)
    await l.page.fill('#reason', words)
    assert.equal(await press(l.page, 'button[value=deny]'), 422)
    assert.match(await l.page.innerText('.notice.stop'), says)
    assert.equal(await l.page.evaluate(`document.activeElement.matches('.notice.stop')`), true, 'the reader begins there')
    assert.equal(await l.page.inputValue('#reason'), words)
    assert.equal(await votes(l, record), 0)
  }
  await l.page.fill('#reason', 'Refund \u202e00.001$ ot ecilA')
  assert.equal(await press(l.page, 'button[value=deny]'), 303)
  assert.match(await l.page.innerText('.decision'), /Refund ⟦U\+202E⟧00\.001\$ ot ecilA/)
  await picture(l.page, 'denied-with-words')
})

test('a script of another site, or of a neighbour who gets our cookies, hears nothing by a socket, by events or by reading (D29)', async t => {
  const l = await look(t)
  const record = await open(l, addressChange())
  const { host } = new URL(l.people.origin)
  const paths = l.people.routes.filter(route => route.startsWith('GET ')).map(route => route.slice(4).replace('/approvals/:id', `/approvals/${record.id}`).replace(/:\w+/, 'att_00'))
  l.people.desk.told.length = 0
  const script = `<script>
    const heard = []
    const wait = (name, source) => new Promise(done => {
      for (const type of ['open', 'message']) source['on' + type] = event => { heard.push(name + ' ' + type + ' ' + event.data) }
      source.onerror = () => done(source.readyState)
    })
    const read = path => fetch(path, { credentials: 'include' }).then(async answer => heard.push(path + ' ' + await answer.text()), () => {})
    Promise.all(${JSON.stringify(paths)}.flatMap(path => [
      wait('socket ' + path, new WebSocket('ws://${host}' + path)), wait('events ' + path, new EventSource('${l.people.origin}' + path, { withCredentials: true })), read('${l.people.origin}' + path),
    ])).then(states => { window.result = { heard, states: states.filter(Number.isInteger) } })
  </script>`
  for (const site of ['localhost', '127.0.0.1'] as const) {
    const before = l.people.answered.length
    const other = await l.context.newPage()
    await other.goto(await otherSite(t, () => script, site))
    await other.waitForFunction('window.result !== undefined')
    const { heard, states } = await other.evaluate('result') as { heard: string[], states: number[] }
    assert.deepEqual(heard, [], site)
    assert.ok(states.length >= 2 * paths.length - 1 && states.every(state => state >= 2), `closed: ${states.join()}`)
    const came = l.people.answered.slice(before)
    for (const path of paths) assert.ok(came.filter(one => one.startsWith(`GET ${path} `)).length >= 2, `socket and events came to ${path}`)
    assert.deepEqual(came.filter(one => !one.endsWith(' 403')), [])
  }
  assert.deepEqual(l.people.desk.told, [])
})
