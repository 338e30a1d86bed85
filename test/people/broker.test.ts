// The whole way, with nothing stood in for: an agent proposes, a person signs in with their provider and decides on the page, the agent commits, and the
// shop's own ledger says what was done.
import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { StoreKind } from '../invariants/ground.ts'
import { consentStage, CHANGE, editYaml, type Stage, type StageOptions } from '../consent/stage.ts'
import { Visitor, type Answer } from './browser-like.ts'
import { freePort } from './ground.ts'
import { startIdp, type Idp } from './idp.ts'

interface Whole extends Stage {
  readonly idp: Idp
  readonly origin: string
  signIn (sub?: string, groups?: readonly string[]): Promise<Visitor>
  decide (visitor: Visitor, id: string, how?: { readonly [name: string]: string }): Promise<Answer>
  /** Rows of this event, once there are so many of them: they are written a moment later. */
  audited (event: string, count: number): Promise<readonly Row[]>
}

interface Row { readonly event: string, readonly what?: string, readonly actor?: { readonly kind: string, readonly sub?: string } }

async function whole (t: TestContext, kind: StoreKind = 'sqlite', edit?: StageOptions['edit']): Promise<Whole> {
  const idp = await startIdp(t)
  const origin = `http://127.0.0.1:${await freePort()}`
  const staged = await consentStage(t, kind, {
    people: () => null,
    ...edit === undefined ? {} : { edit },
    env: {
      AVAL_PEOPLE: new URL(origin).host, AVAL_PEOPLE_ISSUER: idp.issuer, AVAL_PEOPLE_CLIENT: 'aval', AVAL_PEOPLE_ORIGIN: origin,
      AVAL_PEOPLE_ROLES: 'claim=groups,leads=shop_lead,ops=operator',
    },
  })
  return {
    ...staged,
    idp,
    origin,
    async signIn (sub = 'ann', groups = ['leads']) {
      idp.who = { sub, name: sub, groups }
      const visitor = new Visitor(origin)
      await visitor.signIn()
      return visitor
    },
    async decide (visitor, id, how = { decision: 'approve' }) {
      const path = `/approvals/${id}`
      const page = await visitor.ask(how['decision'] === 'approve' ? `${path}/confirm` : path)
      assert.equal(page.status, 200, page.text)
      await new Promise(resolve => setTimeout(resolve, 850))
      return visitor.submit(page, `${path}/decision`, how)
    },
    async audited (event, count) {
      for (let tries = 0; ; tries++) {
        const found = rows().filter(row => row.event === event)
        if (found.length >= count || tries === 100) return found
        await new Promise(resolve => setTimeout(resolve, 50))
      }
    },
  }

  function rows (): readonly Row[] {
    const folder = join(staged.site.folder, 'data', 'audit')
    return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.jsonl'))
      .flatMap(name => readFileSync(join(folder, name), 'utf8').split('\n').filter(line => line !== '').map(line => JSON.parse(line)))
  }
}

for (const kind of ['sqlite', 'redis'] as const) {
  test(`what a person approves on the page is what the shop is asked for, once (${kind})`, async t => {
    const w = await whole(t, kind)
    const answer = await w.call()
    const { id, approval_url: url } = answer.body.proposal
    assert.equal(url, `${w.origin}/approvals/${id}`)
    const ann = await w.signIn()
    assert.match((await ann.ask('/approvals')).text, /Replace the shipping address of customer/)
    const page = await ann.ask(`/approvals/${id}`)
    for (const shown of ['9 Low Road', 'cus_1001', 'agent-1', 'run-1', '/v1/customers/cus_1001']) assert.ok(page.text.includes(shown), shown)
    assert.equal((await w.commit(id)).body.error.code, 'PROPOSAL_PENDING')
    assert.equal(w.effects(), 0)
    assert.equal((await w.decide(ann, id)).status, 303)
    const done = await w.commit(id)
    assert.equal(done.body.outcome, 'completed', JSON.stringify(done.body))
    assert.equal(w.effects(), 1)
    assert.match((await ann.ask(`/approvals/${id}`)).text, /Approved and carried out/)
    assert.match((await ann.ask('/approvals/history')).text, /Replace the shipping address/)
    assert.equal((await w.commit(id)).body.duplicate, true)
    assert.equal(w.effects(), 1)
    for (const event of ['person.signed_in', 'proposal.viewed', 'proposal.decided', 'proposal.consumed']) assert.ok((await w.audited(event, 1)).length > 0, event)
  })
}

test('what the sheet keeps from people stands on no page and in no answer, its change is seen, and it is what the shop is asked for', async t => {
  const w = await whole(t, 'sqlite', site => editYaml(site, `shop/${CHANGE}.yaml`, sheet => sheet.setIn(['proposal', 'redact'], ['/shipping_address/street'])))
  const was = w.shop.state.customers.get('cus_1001')!.shipping_address.street
  const { status, body } = await w.call()
  assert.equal(status, 202)
  const { id } = body.proposal
  const ann = await w.signIn()
  const json = { accept: 'application/json', 'sec-fetch-dest': 'empty', 'sec-fetch-site': 'same-origin' }
  const answers = [
    JSON.stringify(body), (await ann.ask(`/approvals/${id}`)).text, (await ann.ask(`/approvals/${id}?show=all`)).text, (await ann.ask(`/approvals/${id}/confirm`)).text,
    (await ann.ask('/approvals')).text, (await ann.ask(`/approvals/${id}`, { headers: json })).text, (await ann.ask('/approvals', { headers: json })).text,
  ]
  for (const [at, answer] of answers.entries()) for (const secret of [was, '9 Low Road', encodeURIComponent('9 Low Road')]) assert.ok(!answer.includes(secret), `${secret} in answer ${at}`)
  for (const page of answers.slice(1, 4)) {
    const marks = [...page.matchAll(/<span class="value redacted">•••• \(HMAC ([0-9a-f]{8})\)/g)].map(([, mark]) => mark)
    assert.equal(new Set(marks).size, 2, 'one for what was, another for what would be')
    assert.match(page, /T12 X7YW/)
  }
  assert.equal((await w.decide(ann, id)).status, 303)
  assert.equal((await w.commit(id)).body.outcome, 'completed')
  assert.equal(w.shop.state.customers.get('cus_1001')!.shipping_address.street, '9 Low Road')
})

test('what a person denies on the page is not done, and the agent is told why (D22)', async t => {
  const w = await whole(t)
  const id = await w.propose()
  const ann = await w.signIn()
  await w.decide(ann, id, { decision: 'deny', reason_code: 'wrong_target', reason: 'Another \u202ecustomer', visibility: 'agent' })
  const answer = await w.commit(id)
  assert.equal(answer.status, 409)
  assert.equal(answer.body.error.code, 'PROPOSAL_DENIED')
  assert.equal(answer.body.proposal.reason_code, 'wrong_target')
  assert.equal(answer.body.proposal.reason, 'Another ⟦U+202E⟧customer')
  assert.equal(w.effects(), 0)
})

test('an agent’s token opens nothing on the people listener, and a person’s cookie nothing on the agents’; both are in the audit (A42)', async t => {
  const w = await whole(t)
  const id = await w.propose()
  for (const path of ['/approvals', `/approvals/${id}`, '/operator', '/audit']) {
    const answer = await fetch(`${w.origin}${path}`, { headers: { authorization: `Bearer ${w.token}`, accept: 'application/json' } })
    assert.equal(answer.status, 401, path)
  }
  const decision = await fetch(`${w.origin}/approvals/${id}/decision`, {
    method: 'POST', body: JSON.stringify({ decision: 'approve' }), headers: { authorization: `Bearer ${w.token}`, 'content-type': 'application/json', origin: w.origin },
  })
  assert.equal(decision.status, 401)
  const ann = await w.signIn()
  const cookie = [...ann.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  for (const [headers, status] of [[{ cookie }, 401], [{ cookie, authorization: `Bearer ${w.token}` }, 403]] as const) {
    const answer = await fetch(`${w.broker.agentsUrl}/v1/actions`, { headers })
    assert.equal(answer.status, status)
  }
  const violations = await w.audited('plane.violation', 7)
  assert.deepEqual(violations.map(({ what }) => what), ['people', 'people', 'people', 'people', 'people', 'agents', 'agents'])
  assert.equal((await w.record(id)).decisions.length, 0)
})

test('whoever has lost the role since they approved has not approved (A37)', async t => {
  const w = await whole(t)
  const id = await w.propose()
  const ann = await w.signIn()
  await w.decide(ann, id)
  assert.equal((await w.record(id)).state, 'approved')
  await w.signIn('ann', [])
  const answer = await w.commit(id)
  assert.equal(answer.body.error.code, 'PROPOSAL_INVALIDATED')
  assert.equal(answer.body.error.cause, 'approver_ineligible')
  assert.equal(w.effects(), 0)
  assert.equal((await ann.ask(`/approvals/${await w.propose()}`)).status, 404, 'and their older session has lost it as well')
})

test('an operator locks the broker on the page: nothing is approved, what was approved is void, and unlocking takes a fresh sign-in (A38, D18)', async t => {
  const w = await whole(t)
  const [first, second] = [await w.propose(), await w.propose({ customer_id: 'cus_1002' })]
  const ann = await w.signIn()
  await w.decide(ann, first)
  const confirm = await ann.ask(`/approvals/${second}/confirm`)
  const olga = await w.signIn('olga', ['ops'])
  const locked = await olga.submit(await olga.ask('/operator/broker'), '/operator/lock', { note: 'a leak' })
  assert.match(locked.text, /The broker is locked/)
  assert.equal((await w.commit(first)).status, 423)
  await new Promise(resolve => setTimeout(resolve, 850))
  assert.equal((await ann.submit(confirm, `/approvals/${second}/decision`, { decision: 'approve' })).status, 423)
  assert.match((await ann.ask(`/approvals/${second}`)).text, /An operator has locked the broker/)
  w.idp.authAgeS = 3_600
  const late = await w.signIn('olga', ['ops'])
  assert.doesNotMatch((await late.ask('/operator/broker')).text, /action="\/operator\/unlock"/)
  w.idp.authAgeS = 0
  const again = await w.signIn('olga', ['ops'])
  assert.match((await again.submit(await again.ask('/operator/broker'), '/operator/unlock', { note: 'all clear' })).text, /The broker is unlocked/)
  const answer = await w.commit(first)
  assert.equal(answer.body.error.cause, 'vault_epoch_changed', JSON.stringify(answer.body))
  assert.equal(w.effects(), 0)
  for (const event of ['vault.locked', 'vault.unlocked']) assert.equal((await w.audited(event, 1))[0]!.actor?.kind, 'person', event)
})

test('an operator finds the run, stops it, and nothing more of it is done', async t => {
  const w = await whole(t)
  const id = await w.propose()
  const olga = await w.signIn('olga', ['ops'])
  const page = await olga.ask('/operator/runs')
  assert.match(page.text, /run-1/)
  const { iss, sub, tenant, run } = (await w.record(id)).owner
  assert.equal((await olga.submit(page, '/operator/runs/stop', { iss, sub, tenant, run, note: 'it loops' })).status, 303)
  assert.match((await olga.ask('/operator/runs')).text, /run-1[^]*<strong>Stopped<\/strong> by [^]*it loops/)
  assert.equal((await w.record(id)).cause, 'run_stopped')
  assert.equal((await w.audited('run.stopped', 1))[0]!.what, 'it loops')
  assert.equal((await w.call({ customer_id: 'cus_1002' })).body.error.code, 'RUN_STOPPED')
})

test('the sheets are read again from the page', async t => {
  const w = await whole(t)
  const olga = await w.signIn('olga', ['ops'])
  assert.match((await olga.submit(await olga.ask('/operator/broker'), '/operator/reload')).text, /actions are in force/)
  editYaml(w.site, 'policy.yaml', policy => policy.set('rolls', {}))
  const refused = await olga.submit(await olga.ask('/operator/broker'), '/operator/reload')
  assert.equal(refused.status, 422)
  assert.match(refused.text, /policy\.yaml:\d+:\d+/)
})
