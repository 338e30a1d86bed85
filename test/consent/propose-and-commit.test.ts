// The way of a write that a person is asked for, as its agent meets it: proposed, decided, carried out.
import assert from 'node:assert/strict'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { parseDocument } from 'yaml'
import { BUNDLED } from '../../src/commands/demo/sheets.ts'
import { ADDRESS, CHANGE, consentStage, editYaml, OTHER_ADDRESS } from './stage.ts'

describe('a call that needs a person', () => {
  test('sends nothing, and answers what the person is shown', async t => {
    const on = await consentStage(t, 'sqlite')
    const { status, headers, body } = await on.call()
    const { proposal } = body
    assert.deepEqual([status, body.ok, body.outcome, body.pending_on, body.duplicate, body.content], [202, true, 'pending', 'consent', false, 'untrusted'])
    assert.equal(headers.get('location'), `/v1/proposals/${proposal.id}`)
    assert.deepEqual(body.next, { method: 'GET', path: `/v1/proposals/${proposal.id}`, after_seconds: 5 })
    assert.match(proposal.id, /^prop_[0-3][0-9a-f]{33}$/)
    assert.deepEqual([proposal.kind, proposal.state, proposal.effect], ['call', 'pending', 'Replace the shipping address of customer cus_1001'])
    assert.deepEqual(proposal.facts, { recipients: 1, reversible: 'yes, by the same action' })
    assert.deepEqual(proposal.target, { type: 'customer', id: 'cus_1001', version: 3 })
    assert.deepEqual(proposal.diff.map(({ pointer, now }: { pointer: string, now: string }) => [pointer, now]), [
      ['/shipping_address/street', ADDRESS.street], ['/shipping_address/city', ADDRESS.city], ['/shipping_address/postal_code', ADDRESS.postal_code],
    ])
    assert.match(proposal.arguments_sha256, /^[0-9a-f]{64}$/)
    assert.ok(Date.parse(proposal.expires_at) > Date.now())
    assert.equal(on.writes().length, 0)
  })

  test('is carried out once it is approved and committed, and a repeat of either is that one attempt', async t => {
    const on = await consentStage(t, 'sqlite')
    const id = await on.propose()
    assert.equal((await on.approve(id)).kind, 'changed')
    const seen = await on.get(id)
    assert.deepEqual([seen.status, seen.body.proposal.state, seen.body.next], [202, 'approved', { method: 'POST', path: `/v1/proposals/${id}/commit`, after_seconds: 0 }])
    const committed = await on.commit(id);
    assert.deepEqual([committed.status, committed.body.outcome, committed.body.result], [200, 'completed', { customer_id: 'cus_1001', new_version: 4 }])
    assert.equal(on.effects(), 1)
    for (const again of [await on.commit(id), await on.call()]) {
      assert.deepEqual([again.status, again.body.attempt_id, again.body.duplicate, again.body.outcome], [200, committed.body.attempt_id, true, 'completed'])
    }
    const after = await on.get(id)
    assert.deepEqual([after.status, after.body.outcome, after.body.proposal.state, after.body.attempt_id], [200, 'completed', 'consumed', committed.body.attempt_id])
    assert.equal(on.writes().length, 1)
  })

  test('is one proposal while it waits, whatever key it comes with, and another one with other arguments', async t => {
    const on = await consentStage(t, 'sqlite')
    const id = await on.propose()
    for (const key of [undefined, 'key-1', 'key-2']) {
      const again = await on.call({}, key === undefined ? {} : { key })
      assert.deepEqual([again.body.proposal.id, again.body.duplicate], [id, true])
    }
    assert.notEqual(await on.propose({ destination: OTHER_ADDRESS }), id)
  })

  test('whose request cannot be shown whole asks as strictly as anything does', async t => {
    const on = await consentStage(t, 'sqlite', {
      edit: site => {
        const folder = join(site.folder, 'other-openapi')
        cpSync(BUNDLED.openapiFolder, folder, { recursive: true })
        const document = parseDocument(readFileSync(join(folder, 'shop.yaml'), 'utf8'))
        document.setIn(['paths', '/customers/{id}', 'patch', 'requestBody', 'content', 'application/octet-stream'],
          document.createNode({ schema: { type: 'string', format: 'binary' } }))
        writeFileSync(join(folder, 'shop.yaml'), document.toString())
        Object.assign(site.env, { AVAL_OPENAPI: folder })
        editYaml(site, `shop/${CHANGE}.yaml`, sheet => {
          sheet.setIn(['request', 'media_type'], 'application/octet-stream')
          sheet.setIn(['request', 'body'], Buffer.from([0x80, 0x81, 0xff]).toString('base64'))
        })
      },
    })
    const { shown, requirement } = await on.record(await on.propose())
    assert.deepEqual([shown.undecodable, shown.request.body], [['/request/body'], null])
    assert.deepEqual([requirement.confirm, requirement.separation, requirement.signInMaxAgeS], ['type_value', 'requester', 300])
  })

  test('cannot be made where nobody can be asked', async t => {
    const on = await consentStage(t, 'sqlite', { people: () => null as never })
    const { status, body } = await on.call()
    assert.deepEqual([status, body.error.code, on.shop.requests.length], [403, 'CONSENT_UNAVAILABLE', 0])
  })
})
