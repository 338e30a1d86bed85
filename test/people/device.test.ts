// Signing in from a terminal, at an identity provider that others wrote: the session that comes of it, and everything that does not make one.
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { createIdentityProvider } from '../../src/http/people/identity-provider.ts'
import { createIssuerFetch } from '../../src/upstream/issuer-fetch.ts'
import { startDeviceIdp, type DeviceIdp } from './device-idp.ts'
import { freePort, startPeople, type People } from './ground.ts'

interface Asked { readonly status: number, readonly body: any, readonly cookies: readonly string[] }

interface Ground {
  readonly people: People
  readonly idp: DeviceIdp
  /** The clock that the provider's times are held against. */
  readonly provider: { aheadMs: number }
  ask (path: string, fields?: object, headers?: Record<string, string>): Promise<Asked>
  begin (fields?: object): Promise<Asked>
  poll (ticket: string): Promise<Asked>
}

async function ground (t: TestContext, grants?: readonly string[]): Promise<Ground> {
  const idp = await startDeviceIdp(t, grants)
  const fetcher = createIssuerFetch(5_000)
  t.after(() => fetcher.close())
  const clock = { aheadMs: 0 }
  const provider = createIdentityProvider(
    { issuer: idp.issuer, client: 'aval', secret: null, origin: `http://127.0.0.1:${await freePort()}`, roleClaim: 'groups' },
    { fetch: fetcher, nowMs: () => Date.now() + clock.aheadMs },
  )
  const people = await startPeople(t, { provider })
  const { origin } = people
  const ask: Ground['ask'] = async (path, fields, headers = {}) => {
    const answer = await fetch(`${origin}${path}`, {
      ...(fields === undefined ? {} : { method: 'POST', body: JSON.stringify(fields) }),
      headers: { accept: 'application/json', 'content-type': 'application/json', origin, ...headers },
    })
    return { status: answer.status, body: await answer.json(), cookies: answer.headers.getSetCookie().map(line => line.split(';')[0]!) }
  }
  return { people, idp, provider: clock, ask, begin: (fields = {}) => ask('/sign-in/device', fields), poll: ticket => ask('/sign-in/device/poll', { ticket }) }
}

/** Past the interval that the provider asks for. */
const wait = (people: People): void => people.ahead(6_000)

test('whoever enters the code is signed in at the terminal that showed it, with the two cookies of a browser', async t => {
  const { people, idp, ask, begin, poll } = await ground(t)
  const { status, body } = await begin()
  assert.equal(status, 200)
  assert.match(body.user_code, /^[A-Z]{4}-[A-Z]{4}$/)
  assert.deepEqual([(await poll(body.ticket)).status, (await poll(body.ticket)).status], [202, 202])
  await idp.enter(body.verification_uri, body.user_code, 'ann')
  wait(people)
  const done = await poll(body.ticket)
  assert.equal(done.status, 200, JSON.stringify(done.body))
  assert.equal(done.cookies.length, 2)
  const list = await ask('/approvals', undefined, { cookie: done.cookies.join('; ') })
  assert.deepEqual([list.status, list.body.ok], [200, true])
  assert.deepEqual(people.told.filter(({ what }) => what === 'signedIn').map(({ event }) => (event as { roles: readonly string[] }).roles), [['support_lead']])
  assert.equal((await poll(body.ticket)).status, 400, 'a ticket is good once')
  assert.doesNotMatch(JSON.stringify([body, done.body]), /id_token|access_token|device_code/)
})

test('the provider is not asked more often than it wants', async t => {
  const { idp, people, begin, poll } = await ground(t)
  const { body } = await begin()
  for (let turn = 0; turn < 5; turn++) assert.equal((await poll(body.ticket)).status, 202)
  assert.equal(idp.tokenRequests(), 1)
  wait(people)
  await poll(body.ticket)
  assert.equal(idp.tokenRequests(), 2)
})

test('who proved who they are too long ago is not signed in', async t => {
  const { idp, begin, poll, provider } = await ground(t)
  const { body } = await begin()
  await idp.enter(body.verification_uri, body.user_code, 'ann')
  provider.aheadMs = 9 * 3_600_000
  assert.deepEqual([(await poll(body.ticket)).status, (await poll(body.ticket)).status], [400, 400])
})

test('a ticket that is none, or is too old, signs nobody in', async t => {
  const { people, idp, begin, poll } = await ground(t)
  for (const ticket of ['', 'x', 'A'.repeat(43)]) assert.equal((await poll(ticket)).status, 400)
  const { body } = await begin()
  await idp.enter(body.verification_uri, body.user_code, 'ann')
  people.ahead(20 * 60_000)
  assert.deepEqual([(await poll(body.ticket)).status, (await poll(body.ticket)).cookies], [400, []])
})

test('a sign-in is begun from our own origin alone, and never with an access token', async t => {
  const { ask } = await ground(t)
  assert.equal((await ask('/sign-in/device', {}, { origin: 'https://evil.example' })).status, 403)
  assert.equal((await ask('/sign-in/device/poll', { ticket: 'x' }, { origin: 'null' })).status, 403)
  assert.equal((await ask('/sign-in/device', {}, { authorization: 'Bearer a.b.c' })).status, 401)
  assert.equal((await ask('/sign-in/device', { other: 'x' })).status, 400)
})

test('where the provider does not offer it to the broker\'s client there is no such sign-in', async t => {
  const { begin } = await ground(t, ['authorization_code'])
  const { status, body } = await begin()
  assert.deepEqual([status, body.ok], [400, false])
})

test('so many may be under way, and no more', async t => {
  const { people, begin } = await ground(t)
  const answers = await Promise.all(Array.from({ length: 60 }, () => begin()))
  assert.equal(answers.filter(({ status }) => status === 200).length, 50)
  assert.equal(answers.filter(({ status }) => status === 429).length, 10)
  people.ahead(20 * 60_000)
  assert.equal((await begin()).status, 200)
})
