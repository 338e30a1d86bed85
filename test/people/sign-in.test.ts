// Signing in: what has to come back from the identity provider before anybody is taken for anyone, and what a session is good for. A real provider, real
// sockets, a real store.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DECIDE_COOKIE, SIGN_IN_COOKIE, VIEW_COOKIE } from '../../src/http/people/cookies.ts'
import { hidden, Visitor, type Answer } from './browser-like.ts'
import { startPeople } from './ground.ts'
import type { Idp } from './idp.ts'

const isRefused = (answer: Answer, visitor: Visitor): void => {
  assert.equal(answer.status, 400, answer.text)
  assert.match(answer.text, /The sign-in did not succeed/)
  assert.equal(visitor.cookies.has(VIEW_COOKIE), false, 'there is no session')
}

test('whoever comes back from the provider is signed in, and lands where they wanted to go', async t => {
  const people = await startPeople(t)
  const visitor = new Visitor(people.origin)
  const page = await visitor.open('/approvals/history')
  assert.equal(page.status, 401)
  assert.match(page.text, /Please sign in/)
  const landed = await visitor.open(/href="(\/sign-in[^"]*)"/.exec(page.text)![1]!)
  assert.equal(landed.status, 200)
  assert.equal(landed.url, `${people.origin}/approvals/history`)
  assert.match(landed.text, /Ann Approver/)
  assert.deepEqual(people.told.map(({ what }) => what), ['signedIn'])
  assert.deepEqual((people.told[0]!.event as { roles: string[] }).roles, ['support_lead'])
  const asked = people.idp.asked[0]!
  assert.equal(asked.get('code_challenge_method'), 'S256')
  assert.equal(asked.get('max_age'), String(8 * 3_600))
  assert.equal(asked.get('redirect_uri'), `${people.origin}/sign-in/callback`)
  for (const name of ['state', 'nonce', 'code_challenge']) assert.ok((asked.get(name) ?? '').length >= 43, name)
})

test('the two cookies of a session have the prefix, and the one that decides stays at home', async t => {
  const people = await startPeople(t)
  const visitor = new Visitor(people.origin)
  const began = await visitor.ask('/sign-in')
  const back = await visitor.ask(await redirect(began))
  const callback = await visitor.ask(await redirect(back))
  const set = callback.headers.getSetCookie()
  assert.match(set.find(line => line.startsWith(VIEW_COOKIE))!, /^__Host-aval_view=[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Lax; Max-Age=28800$/)
  assert.match(set.find(line => line.startsWith(DECIDE_COOKIE))!, /^__Host-aval_decide=[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Strict; Max-Age=28800$/)
  assert.match(began.headers.getSetCookie()[0]!, /^__Host-aval_signin=[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Lax; Max-Age=600$/)
})

const redirect = async (answer: Answer): Promise<string> => {
  assert.equal(answer.status >= 300 && answer.status < 400, true, answer.text)
  return new URL(answer.headers.get('location')!, answer.url).href
}

const BENT: ReadonlyArray<{ readonly what: string, readonly bend: (idp: Idp) => void }> = [
  { what: 'without a state', bend: idp => { idp.bendRedirect = url => url.searchParams.delete('state') } },
  { what: 'with another state', bend: idp => { idp.bendRedirect = url => url.searchParams.set('state', 'x'.repeat(43)) } },
  { what: 'with two states', bend: idp => { idp.bendRedirect = url => url.searchParams.append('state', 'x') } },
  { what: 'without a code', bend: idp => { idp.bendRedirect = url => url.searchParams.delete('code') } },
  { what: 'with a code that the provider does not know', bend: idp => { idp.bendRedirect = url => url.searchParams.set('code', 'made-up') } },
  { what: 'with an error of the provider', bend: idp => { idp.bendRedirect = url => { url.searchParams.delete('code'); url.searchParams.set('error', 'access_denied') } } },
  { what: 'from another issuer (RFC 9207)', bend: idp => { idp.bendRedirect = url => url.searchParams.set('iss', 'https://evil.example') } },
  { what: 'with another nonce', bend: idp => { idp.bendClaims = claims => { if ('nonce' in claims) claims['nonce'] = 'other' } } },
  { what: 'without a nonce', bend: idp => { idp.bendClaims = claims => { delete claims['nonce'] } } },
  { what: 'with an ID token of another issuer', bend: idp => { idp.bendClaims = claims => { claims['iss'] = 'https://evil.example' } } },
  { what: 'with an ID token for another client', bend: idp => { idp.bendClaims = claims => { claims['aud'] = 'somebody-else' } } },
  { what: 'with an ID token that has expired', bend: idp => { idp.bendClaims = claims => { claims['exp'] = 1_000 } } },
  { what: 'of a service account, which never typed a password', bend: idp => { idp.authAgeS = null } },
  { what: 'of somebody who typed their password longer ago than a session lasts', bend: idp => { idp.authAgeS = 8 * 3_600 + 120 } },
]

for (const { what, bend } of BENT) {
  test(`a way back ${what} opens no session (B12)`, async t => {
    const people = await startPeople(t)
    bend(people.idp)
    const visitor = new Visitor(people.origin)
    isRefused(await visitor.open('/sign-in'), visitor)
    assert.deepEqual(people.told.map(({ what }) => what), ['signInRefused'])
    assert.doesNotMatch(JSON.stringify(people.told), /evil\.example|made-up/)
    assert.deepEqual(people.faults, [])
  })
}

test('a callback that nobody began, or that comes a second time, opens no session (B12)', async t => {
  const people = await startPeople(t)
  const visitor = new Visitor(people.origin)
  isRefused(await visitor.ask('/sign-in/callback?code=x&state=y'), visitor)
  const callback = await redirect(await visitor.ask(await redirect(await visitor.ask('/sign-in'))))
  const cookie = visitor.cookies.get(SIGN_IN_COOKIE)!
  assert.equal((await visitor.ask(callback)).status, 303)
  const other = new Visitor(people.origin)
  other.cookies.set(SIGN_IN_COOKIE, cookie)
  isRefused(await other.ask(callback), other)
})

test('two windows that sign in at the same time both come back to where they began', async t => {
  const people = await startPeople(t)
  const visitor = new Visitor(people.origin)
  const [one, other] = [await visitor.ask('/sign-in?return_to=/approvals/history'), await visitor.ask('/sign-in?return_to=/approvals/grants')]
  const [first, second] = [await redirect(await visitor.ask(await redirect(one))), await redirect(await visitor.ask(await redirect(other)))]
  assert.equal((await visitor.ask(first)).headers.get('location'), '/approvals/history')
  assert.equal((await visitor.ask(second)).headers.get('location'), '/approvals/grants')
  assert.equal((await visitor.ask('/approvals')).status, 200)
})

test('a callback in another browser than the one that began opens no session (B12)', async t => {
  const people = await startPeople(t)
  const attacker = new Visitor(people.origin)
  const callback = await redirect(await attacker.ask(await redirect(await attacker.ask('/sign-in'))))
  const victim = new Visitor(people.origin)
  isRefused(await victim.ask(callback), victim)
  await victim.ask('/sign-in')
  isRefused(await victim.ask(callback), victim)
})

test('a code cannot be exchanged without what began the sign-in (PKCE)', async t => {
  const people = await startPeople(t)
  const [one, two] = [new Visitor(people.origin), new Visitor(people.origin)]
  const first = new URL(await redirect(await one.ask(await redirect(await one.ask('/sign-in')))))
  const second = new URL(await redirect(await two.ask(await redirect(await two.ask('/sign-in')))))
  second.searchParams.set('code', first.searchParams.get('code')!)
  isRefused(await two.ask(second.href), two)
})

test('a cookie that was set before the sign-in is not the one after it, and what it named is gone (B14)', async t => {
  const people = await startPeople(t)
  const visitor = new Visitor(people.origin)
  const fixed = 'f'.repeat(43)
  visitor.cookies.set(VIEW_COOKIE, fixed)
  await visitor.signIn()
  const first = visitor.cookies.get(VIEW_COOKIE)!
  assert.notEqual(first, fixed)
  await visitor.signIn()
  assert.notEqual(visitor.cookies.get(VIEW_COOKIE), first)
  const old = new Visitor(people.origin)
  old.cookies.set(VIEW_COOKIE, first)
  assert.equal((await old.ask('/approvals')).status, 401)
})

test('a session that was tampered with, ended, idle too long, or made under other settings is none (B15)', async t => {
  const people = await startPeople(t)
  const visitor = new Visitor(people.origin)
  const page = await visitor.signIn()
  const view = visitor.cookies.get(VIEW_COOKIE)!
  const asks = async (cookie: string): Promise<number> =>
    (await new Visitor(people.origin).ask('/approvals', { headers: { cookie } })).status
  assert.equal(await asks(`${VIEW_COOKIE}=${view}`), 200)
  assert.equal(await asks(`${VIEW_COOKIE}=${view.slice(0, -1)}${view.endsWith('A') ? 'B' : 'A'}`), 401)
  assert.equal(await asks(`${VIEW_COOKIE}=${view}; ${VIEW_COOKIE}=${view}`), 401, 'twice is none')
  assert.equal(await asks(`${VIEW_COOKIE}=../../x`), 401)
  assert.equal((await visitor.submit(page, '/sign-out')).headers.get('location'), '/signed-out')
  assert.equal(await asks(`${VIEW_COOKIE}=${view}`), 401, 'after it was ended')

  await visitor.signIn()
  people.ahead(29 * 60_000)
  assert.equal((await visitor.ask('/approvals')).status, 200)
  people.ahead(29 * 60_000)
  assert.equal((await visitor.ask('/approvals')).status, 200, 'it was in use meanwhile')
  people.ahead(31 * 60_000)
  assert.equal((await visitor.ask('/approvals')).status, 401)
})

test('a session ends after eight hours, however busy it is', async t => {
  const people = await startPeople(t)
  const visitor = new Visitor(people.origin)
  await visitor.signIn()
  for (let minutes = 0; minutes < 8 * 60 - 20; minutes += 20) {
    people.ahead(20 * 60_000)
    assert.equal((await visitor.ask('/approvals')).status, 200, `after ${minutes} minutes`)
  }
  people.ahead(21 * 60_000)
  assert.equal((await visitor.ask('/approvals')).status, 401)
})

test('a session that was over is not good again where the clock is set back by an hour (F14)', async t => {
  const people = await startPeople(t)
  const visitor = new Visitor(people.origin)
  await visitor.signIn()
  const cookie = `${VIEW_COOKIE}=${visitor.cookies.get(VIEW_COOKIE)}`
  const asks = async (): Promise<number> => (await visitor.ask('/approvals', { headers: { cookie } })).status
  people.ahead(3_600_000)
  assert.equal(await asks(), 401)
  people.ahead(-3_600_000)
  assert.equal(await asks(), 401)
})

test('under another issuer, client or key no older session counts (B15)', async t => {
  const people = await startPeople(t)
  const visitor = new Visitor(people.origin)
  await visitor.signIn()
  const later = await startPeople(t, { store: people.store, trust: 'trust-2' })
  const same = new Visitor(later.origin)
  for (const [name, value] of visitor.cookies) same.cookies.set(name, value)
  assert.equal((await same.ask('/approvals')).status, 401)
})

for (const path of ['//evil.example', 'https://evil.example', '/\\evil.example', '\\\\evil.example', '/sign-out', 'javascript:alert(1)', '/%0d%0aset-cookie:x', '']) {
  test(`nobody is sent on to ${JSON.stringify(path)} after the sign-in`, async t => {
    const people = await startPeople(t)
    const visitor = new Visitor(people.origin)
    const began = await visitor.ask(`/sign-in?return_to=${encodeURIComponent(path)}`)
    const callback = await visitor.ask(await redirect(await visitor.ask(await redirect(began))))
    const to = new URL(callback.headers.get('location')!, people.origin)
    assert.equal(to.origin, people.origin)
    assert.ok(path.startsWith('/%') || to.pathname === '/approvals', to.href)
  })
}

test('a sign-in just now is asked for where it is needed, and an old one does not pass for it (B16)', async t => {
  const people = await startPeople(t)
  const visitor = new Visitor(people.origin)
  people.idp.authAgeS = 3_600
  await visitor.signIn()
  const other = new Visitor(people.origin)
  isRefused(await other.open('/sign-in?fresh=yes'), other)
  assert.equal(people.idp.asked.at(-1)!.get('prompt'), 'login')
  people.idp.authAgeS = 5
  assert.equal((await visitor.open('/sign-in?fresh=yes')).status, 200)
})

test('the roles are those of the map as it is now; without a map nobody has any', async t => {
  const people = await startPeople(t, { roles: null })
  const visitor = new Visitor(people.origin)
  people.idp.who = { sub: 'ann', groups: ['ops', 'operator', 'agent'] }
  await visitor.signIn()
  assert.equal((await visitor.ask('/operator')).status, 403)
})

test('the same e-mail under another subject is another person (B18)', async t => {
  const people = await startPeople(t)
  const said: string[] = []
  for (const sub of ['one', 'two']) {
    people.idp.who = { sub, email: 'ann@example.com' }
    await new Visitor(people.origin).signIn()
    said.push((people.told.at(-1)!.event as { sub: string }).sub)
  }
  assert.deepEqual(said, ['one', 'two'])
})

test('a name of the provider that is no name is shown as what it is (B19)', async t => {
  const people = await startPeople(t)
  people.idp.who = { sub: 'x', name: '<script>alert(1)</script>\u202eevil' }
  const page = await new Visitor(people.origin).signIn()
  assert.ok(page.text.includes('&lt;script&gt;alert(1)&lt;/script&gt;<span class="chip">⟦U+202E⟧</span>evil'))
  assert.ok(!page.text.includes('<script>alert'))
})

test('a provider that is not there is said to be not there, and signs people in once it is', async t => {
  const people = await startPeople(t, { issuer: 'http://127.0.0.1:9' })
  const answer = await new Visitor(people.origin).open('/sign-in')
  assert.equal(answer.status, 503)
  assert.match(answer.text, /does not answer/)
  assert.deepEqual(people.told.map(({ what }) => what), ['providerFault'])
})

test('signing out takes a form of ours', async t => {
  const people = await startPeople(t)
  const visitor = new Visitor(people.origin)
  const page = await visitor.signIn()
  assert.equal((await visitor.ask('/sign-out')).status, 405)
  const { click, token } = hidden(page, '/sign-out')
  for (const body of ['', `click=${click}`, `click=${click}&token=x`]) {
    assert.equal((await visitor.ask('/sign-out', { method: 'POST', body })).status, 403)
  }
  assert.equal((await visitor.ask('/approvals')).status, 200)
  assert.equal((await visitor.ask('/sign-out', { method: 'POST', body: `click=${click}&token=${token}` })).status, 303)
})
