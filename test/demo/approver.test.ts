// The tour's own approver, on the real pages and at the demo's identity provider.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PageVisitor } from '../../src/commands/demo/approver.ts'
import { DEMO_CLIENT, startDemoIdp } from '../../src/commands/demo/idp.ts'
import { createIdentityProvider } from '../../src/http/people/identity-provider.ts'
import { createIssuerFetch } from '../../src/upstream/issuer-fetch.ts'
import { addressChange, place } from '../people/drafts.ts'
import { startPeople } from '../people/ground.ts'

test('signs in, reads, and approves on the page', async t => {
  let origin = ''
  const idp = await startDemoIdp(() => `${origin}/sign-in/callback`)
  t.after(idp.close)
  const fetcher = createIssuerFetch(5_000)
  t.after(() => fetcher.close())
  const trust = { issuer: idp.issuer, client: DEMO_CLIENT, secret: null, roleClaim: 'roles', get origin () { return origin } }
  const people = await startPeople(t, { provider: createIdentityProvider(trust, { fetch: fetcher, nowMs: () => Date.now() }), roles: { shop_lead: 'support_lead' } })
  origin = people.origin
  const record = await place(people.store, addressChange({ requirement: { approve: 1, roles: ['support_lead'], separation: 'requester', signInMaxAgeS: null, confirm: 'checkbox' } }))
  const lena = new PageVisitor(origin)
  await lena.signIn('lena')
  const text = await lena.read(record.id)
  assert.match(text, /Replace the shipping address of customer/)
  assert.ok(text.indexOf('Cork') < text.indexOf('The customer moved'))
  await lena.approve(record.id)
  const { state, decisions } = (await people.store.findProposal(record.id))!.record
  assert.deepEqual([state, decisions[0]!.approver.sub, decisions[0]!.shown.surface], ['approved', 'lena', 'page'])
})
