// Signing in in a real browser at a provider that others wrote and certified, which insists on PKCE and our secret, and says who it is (RFC 9207).
import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import { Secret } from '../../src/secret.ts'
import { createIdentityProvider } from '../../src/http/people/identity-provider.ts'
import { createIssuerFetch } from '../../src/upstream/issuer-fetch.ts'
import { addressChange, place } from '../people/drafts.ts'
import { freePort, startPeople, type People } from '../people/ground.ts'
import { CLIENT_SECRET, startStrictIdp } from '../people/strict-idp.ts'
import { closeBrowser, openBrowser } from './chromium.ts'
import { REQUIREMENT } from '../store/proposal-drafts.ts'

after(closeBrowser)

async function site (t: TestContext, secret = CLIENT_SECRET): Promise<{ readonly people: People, readonly page: Page, readonly issuer: string }> {
  const idp = await startStrictIdp(t)
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  idp.expect(origin)
  const fetcher = createIssuerFetch(10_000)
  t.after(() => fetcher.close())
  const provider = createIdentityProvider(
    { issuer: idp.issuer, client: 'aval', secret: async () => new Secret('env:OURS', Buffer.from(secret)), origin, roleClaim: 'groups' },
    { fetch: fetcher, nowMs: () => Date.now() },
  )
  const people = await startPeople(t, { provider, port })
  const context = await (await openBrowser()).newContext()
  t.after(() => context.close())
  const page = await context.newPage()
  page.setDefaultTimeout(30_000)
  return { people, page, issuer: idp.issuer }
}

/** The provider's own pages: a name and a password, and consent. */
async function signInAs (page: Page, name: string): Promise<void> {
  await page.waitForSelector('input[name=login]')
  await page.fill('input[name=login]', name)
  await page.fill('input[name=password]', 'x')
  await page.press('input[name=password]', 'Enter')
  await Promise.race([page.waitForSelector('.who'), page.waitForSelector('.message'), page.waitForSelector('button[autofocus]').then(() => page.click('button[autofocus]'))])
  await page.waitForSelector('.who, .message')
}

test('a person types their name at the provider, comes back, and decides', async t => {
  const { people, page } = await site(t)
  const record = await place(people.store, addressChange())
  await page.goto(`${people.origin}/approvals/${record.id}`)
  await page.click('main a.button')
  await signInAs(page, 'ann')
  assert.equal(page.url(), `${people.origin}/approvals/${record.id}`)
  assert.match(await page.innerText('.who'), /Person ann/)
  await page.click('a.go')
  await page.waitForSelector('button[value=approve]')
  await page.mouse.move(20, 20)
  await page.mouse.move(30, 30)
  await page.click('button[value=approve]:not([aria-disabled])')
  await page.waitForSelector('.notice.done')
  const { decisions } = (await people.store.findProposal(record.id))!.record
  assert.deepEqual(decisions.map(({ approver }) => [approver.sub, approver.roles]), [['ann', ['support_lead']]])
})

test('where the sign-in has to be fresh the provider asks again, although it knows the person (B16)', async t => {
  const { people, page } = await site(t)
  const record = await place(people.store, addressChange({ requirement: { ...REQUIREMENT, signInMaxAgeS: 3_600 } }))
  await page.goto(`${people.origin}/approvals`)
  await page.click('main a.button')
  await signInAs(page, 'ann')
  await page.goto(`${people.origin}/sign-in?return_to=/approvals/${record.id}`)
  await page.waitForSelector('button[autofocus]')
  assert.equal(await page.locator('input[name=login]').count(), 0, 'otherwise it knows the person')
  await page.goto(`${people.origin}/sign-in?return_to=/approvals/${record.id}&fresh=yes`)
  await signInAs(page, 'ann')
  assert.equal(page.url(), `${people.origin}/approvals/${record.id}`)
})

test('with another secret than the provider knows, nobody is signed in', async t => {
  const { people, page } = await site(t, 'not-the-secret-of-the-broker')
  await page.goto(`${people.origin}/approvals`)
  await page.click('main a.button')
  await signInAs(page, 'ann')
  assert.match(await page.innerText('.message'), /The sign-in did not succeed/)
  assert.doesNotMatch(JSON.stringify(people.told), /not-the-secret/)
  await page.goto(`${people.origin}/approvals`)
  assert.match(await page.innerText('h1'), /Please sign in/)
})

test('who signs out at the provider is signed out here as well', async t => {
  const { people, page, issuer } = await site(t)
  await page.goto(`${people.origin}/sign-in`)
  await signInAs(page, 'ann')
  assert.match(await page.innerText('.who'), /Person ann/)
  await page.goto(`${issuer}/session/end`)
  await Promise.all([page.waitForURL(/session\/end\/success/), page.click('button[name=logout]')])
  await page.goto(`${people.origin}/approvals`)
  assert.match(await page.innerText('.message'), /Please sign in/)
  const { what, event } = people.told.at(-1)!
  assert.deepEqual([what, (event as { sub: string }).sub], ['signedOut', 'ann'])
})
