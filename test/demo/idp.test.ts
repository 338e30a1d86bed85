// The demo's identity provider, by a client that others wrote, and by what it refuses.
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import * as oidc from 'openid-client'
import { DEMO_CLIENT, DEMO_PEOPLE, startDemoIdp } from '../../src/commands/demo/idp.ts'

const BACK = 'http://127.0.0.1:65000/sign-in/callback'

async function open (t: TestContext): Promise<{ readonly issuer: string, readonly client: oidc.Configuration }> {
  const { issuer, close } = await startDemoIdp(() => BACK)
  t.after(close)
  const client = await oidc.discovery(new URL(issuer), DEMO_CLIENT, {}, oidc.None(), { execute: [oidc.allowInsecureRequests, oidc.enableNonRepudiationChecks] })
  return { issuer, client }
}

interface SignIn { readonly url: URL, readonly verifier: string, readonly nonce: string, readonly state: string }

async function begin (client: oidc.Configuration): Promise<SignIn> {
  const [verifier, nonce, state] = [oidc.randomPKCECodeVerifier(), oidc.randomNonce(), oidc.randomState()]
  const url = oidc.buildAuthorizationUrl(client, {
    redirect_uri: BACK, scope: 'openid', state, nonce, code_challenge: await oidc.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256',
  })
  return { url, verifier, nonce, state }
}

const choose = (issuer: string, url: URL, person: string, origin = issuer): Promise<Response> => {
  const form = new URLSearchParams(url.search)
  form.set('person', person)
  return fetch(`${issuer}/authorize`, { method: 'POST', body: form, redirect: 'manual', headers: { origin } })
}

test('a person is chosen on a page that says what it is, and the broker\'s own library believes the answer', async t => {
  const { issuer, client } = await open(t)
  const { url, verifier, nonce, state } = await begin(client)
  const page = await (await fetch(url)).text()
  assert.match(page, /Development sign-in/)
  for (const { name } of DEMO_PEOPLE) assert.ok(page.includes(name))
  const answer = await choose(issuer, url, 'lena')
  assert.equal(answer.status, 303)
  const back = new URL(answer.headers.get('location')!)
  const checks = { expectedNonce: nonce, expectedState: state, pkceCodeVerifier: verifier, idTokenExpected: true, maxAge: 60 }
  const claims = (await oidc.authorizationCodeGrant(client, back, checks)).claims()!
  assert.deepEqual([claims.sub, claims['roles'], typeof claims.auth_time], ['lena', ['shop_lead'], 'number'])
  await assert.rejects(oidc.authorizationCodeGrant(client, back, checks), 'a code is good once')
})

test('a code is nothing without the verifier it was asked with', async t => {
  const { issuer, client } = await open(t)
  const { url, nonce, state } = await begin(client)
  const back = new URL((await choose(issuer, url, 'lena')).headers.get('location')!)
  await assert.rejects(oidc.authorizationCodeGrant(client, back, { expectedNonce: nonce, expectedState: state, pkceCodeVerifier: oidc.randomPKCECodeVerifier() }))
})

test('nobody is signed in by another page, for another place, without a challenge, or under another name of this address', async t => {
  const { issuer, client } = await open(t)
  const { url } = await begin(client)
  assert.equal((await choose(issuer, url, 'lena', 'http://evil.example')).status, 403)
  assert.equal((await choose(issuer, url, 'nobody')).status, 403)
  for (const [name, value] of [['redirect_uri', 'http://evil.example/'], ['code_challenge_method', 'plain'], ['code_challenge', ''], ['client_id', 'other'], ['response_type', 'token']] as const) {
    const changed = new URL(url)
    changed.searchParams.set(name, value)
    assert.equal((await fetch(changed)).status, 400, name)
    assert.equal((await choose(issuer, changed, 'lena')).status, 403, name)
  }
  const { port } = new URL(issuer)
  const { request } = await import('undici')
  assert.equal((await request(`${issuer}/jwks`, { headers: { host: `rebound.example:${port}` } })).statusCode, 400)
})

test('what is in the link is text on the page, and chooses nobody', async t => {
  const { client } = await open(t)
  const { url } = await begin(client)
  url.searchParams.set('state', '"><script>alert(1)</script>')
  url.searchParams.set('person', 'olga')
  const page = await (await fetch(url)).text()
  assert.doesNotMatch(page, /<script/)
  assert.equal(page.split('name="person"').length - 1, DEMO_PEOPLE.length, 'buttons only')
})

test('Enter in the field of the code chooses nobody', async t => {
  const { issuer } = await open(t)
  const page = await (await fetch(`${issuer}/device`)).text()
  const [first] = /<button[^>]*>/.exec(page) ?? []
  assert.equal(first, '<button disabled hidden>', 'it is the one that Enter presses')
  const nobody = await fetch(`${issuer}/device`, { method: 'POST', body: new URLSearchParams({ user_code: 'BBBB-BBBB' }), headers: { origin: issuer } })
  assert.equal(nobody.status, 400)
  assert.match(await nobody.text(), /Nobody was chosen[^]*<a href="\/device">/)
})

test('a terminal is signed in by its code, once, by whoever was chosen', async t => {
  const { issuer, client } = await open(t)
  const device = await oidc.initiateDeviceAuthorization(client, { scope: 'openid' })
  const ask = (): Promise<oidc.TokenEndpointResponse & oidc.TokenEndpointResponseHelpers> =>
    oidc.genericGrantRequest(client, 'urn:ietf:params:oauth:grant-type:device_code', { device_code: device.device_code })
  await assert.rejects(ask(), (error: oidc.ResponseBodyError) => error.error === 'authorization_pending')
  const type = (code: string): Promise<Response> =>
    fetch(`${issuer}/device`, { method: 'POST', body: new URLSearchParams({ user_code: code, person: 'omar' }), headers: { origin: issuer } })
  const wrong = await type('BBBB-BBBB')
  assert.equal(wrong.status, 400)
  assert.match(await wrong.text(), /<a href="\/device">/, 'there is a way back to the form')
  assert.equal((await type('')).status, 400)
  assert.equal((await type(` ${device.user_code.toLowerCase().replace('-', ' ')} `)).status, 200, 'without its dash, in small letters, with blanks')
  assert.equal((await type(device.user_code)).status, 400, 'a code is good once')
  assert.equal((await ask()).claims()!.sub, 'omar')
  await assert.rejects(ask())
})
