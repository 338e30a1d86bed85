// The identity provider says that somebody signed out there: their sessions here end, and nobody else's; and nobody but the provider can say so.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SignJWT } from 'jose'
import { Visitor, type Answer } from './browser-like.ts'
import { startPeople, type People } from './ground.ts'

const PATH = '/sign-in/back-channel-logout'
const EVENTS = { 'http://schemas.openid.net/event/backchannel-logout': {} }

/** As a provider posts it: no browser, no cookie, no origin. */
async function post (people: People, token: string, headers: Record<string, string> = {}): Promise<{ readonly status: number, readonly text: string, readonly cache: string | null }> {
  const answer = await fetch(`${people.origin}${PATH}`, {
    method: 'POST', body: new URLSearchParams({ logout_token: token }).toString(), headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  })
  return { status: answer.status, text: await answer.text(), cache: answer.headers.get('cache-control') }
}

/** Signed in as this person, in a session of this name at the provider. */
async function visitorOf (people: People, sub: string, sid?: string): Promise<Visitor> {
  people.idp.who = { sub, name: `Person ${sub}`, groups: ['leads'], ...(sid === undefined ? {} : { sid }) }
  // Signed in a while ago there, as people are.
  people.idp.authAgeS = 60
  const visitor = new Visitor(people.origin)
  await visitor.signIn()
  return visitor
}

const isIn = async (visitor: Visitor): Promise<boolean> => {
  const { status }: Answer = await visitor.ask('/approvals')
  assert.ok(status === 200 || status === 401, String(status))
  return status === 200
}

const all = (...visitors: readonly Visitor[]): Promise<readonly boolean[]> => Promise.all(visitors.map(isIn))

test('of one session there the one session here ends, and those of the same person elsewhere do not', async t => {
  const people = await startPeople(t)
  const [laptop, phone] = [await visitorOf(people, 'ann', 'sid-1'), await visitorOf(people, 'ann', 'sid-2')]
  const answer = await post(people, await people.idp.logoutToken({ sub: 'ann', sid: 'sid-1' }))
  assert.deepEqual([answer.status, answer.cache], [200, 'no-store'])
  assert.deepEqual(await all(laptop, phone), [false, true])
  assert.equal((await post(people, await people.idp.logoutToken({ sid: 'sid-2' }))).status, 200)
  assert.deepEqual(await all(laptop, phone), [false, false])
  assert.deepEqual(people.told.filter(({ what }) => what === 'signedOut').map(({ event }) => (event as { sub: unknown }).sub), ['ann', null])
})

test('of a person all sessions end, named or not, and nobody else\'s; whoever signs in again is signed in', async t => {
  const people = await startPeople(t)
  const [named, nameless, other] = [await visitorOf(people, 'ann', 'sid-1'), await visitorOf(people, 'ann'), await visitorOf(people, 'bob', 'sid-3')]
  const token = await people.idp.logoutToken({ sub: 'ann' })
  assert.equal((await post(people, token)).status, 200)
  assert.deepEqual(await all(named, nameless, other), [false, false, true])
  people.idp.who = { sub: 'ann', name: 'Ann', groups: ['leads'], sid: 'sid-1' }
  people.idp.bendClaims = claims => { claims['auth_time'] = Math.floor(Date.now() / 1_000) + 1 }
  const again = new Visitor(people.origin)
  await again.signIn()
  assert.equal((await post(people, token)).status, 200, 'the same again is the same')
  assert.deepEqual(await all(again), [true])
})

test('a session that has no name ends with any of its person: which one is meant cannot be told', async t => {
  const people = await startPeople(t)
  const nameless = await visitorOf(people, 'ann')
  assert.equal((await post(people, await people.idp.logoutToken({ sub: 'ann', sid: 'elsewhere' }))).status, 200)
  assert.deepEqual(await all(nameless), [false])
})

test('a sign-in that was on its way when its person signed out opens nothing', async t => {
  const people = await startPeople(t)
  people.idp.authAgeS = 60
  people.idp.who = { sub: 'ann', name: 'Ann', groups: ['leads'], sid: 'sid-1' }
  assert.equal((await post(people, await people.idp.logoutToken({ sub: 'ann', sid: 'sid-1' }))).status, 200)
  const visitor = new Visitor(people.origin)
  const landed = await visitor.open('/sign-in')
  assert.equal(landed.status, 401)
})

const now = (): number => Math.floor(Date.now() / 1_000)
const REFUSED: ReadonlyArray<readonly [string, (people: People) => Promise<string>]> = [
  ['that is none', async () => 'no token'],
  ['without a signature', async people => `${Buffer.from('{"alg":"none"}').toString('base64url')}.${(await people.idp.logoutToken({ sub: 'ann' })).split('.')[1]}.`],
  ['signed with a secret', async people => new SignJWT({ sub: 'ann', jti: 'x', events: EVENTS }).setProtectedHeader({ alg: 'HS256' })
    .setIssuer(people.idp.issuer).setAudience('aval').setIssuedAt().setExpirationTime('2m').sign(Buffer.alloc(32, 'x'))],
  ['whose bytes were changed', async people => (await people.idp.logoutToken({ sub: 'ann' })).replace(/\.[^.]+\./, part => `.${Buffer.from(Buffer.from(part, 'base64url').toString().replace('ann', 'bob')).toString('base64url')}.`)],
  ['of another issuer', people => people.idp.logoutToken({ sub: 'ann', iss: 'https://evil.example' })],
  ['for another client', people => people.idp.logoutToken({ sub: 'ann', aud: 'other' })],
  ['that is an ID token', people => people.idp.logoutToken({ sub: 'ann', nonce: 'n' })],
  ['of another kind', people => people.idp.logoutToken({ sub: 'ann' }, 'at+jwt')],
  ['of no event', people => people.idp.logoutToken({ sub: 'ann', events: undefined })],
  ['of another event', people => people.idp.logoutToken({ sub: 'ann', events: { 'http://schemas.openid.net/event/other': {} } })],
  ['of nobody', people => people.idp.logoutToken({ sub: undefined, sid: undefined })],
  ['of a person that is no text', people => people.idp.logoutToken({ sub: { $ne: '' } })],
  ['without an id', people => people.idp.logoutToken({ sub: 'ann', jti: undefined })],
  ['that is over', people => people.idp.logoutToken({ sub: 'ann', exp: now() - 60 })],
  ['that is old', people => people.idp.logoutToken({ sub: 'ann', iat: now() - 3_600 })],
  ['of the future', people => people.idp.logoutToken({ sub: 'ann', iat: now() + 3_600 })],
]

test('a token that is not the provider\'s word for it signs nobody out', async t => {
  const people = await startPeople(t)
  const ann = await visitorOf(people, 'ann', 'sid-1')
  for (const [what, make] of REFUSED) {
    const { status } = await post(people, await make(people))
    assert.equal(status, 400, what)
    assert.ok(await isIn(ann), what)
  }
  const refused = people.told.filter(({ what }) => what === 'signInRefused')
  assert.equal(refused.length, REFUSED.length)
  for (const { event } of refused) assert.match((event as { reason: string }).reason, /^LOGOUT_TOKEN [A-Z_]+$/)
  assert.deepEqual([await post(people, await people.idp.logoutToken({ sub: 'ann' }), { authorization: 'Bearer x' })].map(({ status }) => status), [401])
  assert.equal((await fetch(`${people.origin}${PATH}?logout_token=${await people.idp.logoutToken({ sub: 'ann' })}`)).status, 405, 'nothing is done by opening an address')
  assert.ok(await isIn(ann))
})

test('while the provider cannot be asked for its keys it is told to come again, and nobody is signed out', async t => {
  const people = await startPeople(t)
  const token = await people.idp.logoutToken({ sub: 'ann' })
  await people.idp.stop()
  assert.equal((await post(people, token)).status, 503)
  assert.ok(people.told.some(({ what }) => what === 'providerFault'))
})
