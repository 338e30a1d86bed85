// Consent for a run: the first call asks for a grant, later ones use it up, one use each, on the object and for the time that it was given for.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import type { InvalidCause } from '../../src/consent/proposal.ts'
import { edited, eventually, STORES } from '../invariants/ground.ts'
import type { Reached } from '../support/broker.ts'
import { ADDRESS, askForChange, CHANGE, consentStage, editYaml, type Stage } from './stage.ts'

const MAIL = 'email_order_confirmation.v1'
const LIST = 'list_orders.v1'
const mail = (on: Stage, order = 'ord_1001', token = on.token): Promise<Reached> => on.broker.call(token, MAIL, { customer_id: 'cus_1001', order_id: order })
const moved = (at: number): object => ({ destination: { ...ADDRESS, street: `${at} Moved Road` } })

async function granted (on: Stage, ask: () => Promise<Reached>): Promise<string> {
  const { status, body } = await ask()
  assert.deepEqual([status, body.pending_on, body.proposal?.kind], [202, 'consent', 'session'], JSON.stringify(body))
  await on.approve(body.proposal.id)
  return body.proposal.id
}

describe('a grant', () => {
  for (const kind of STORES) {
    test(`is asked for by the first call and used by the calls after it, which say what is left (${kind})`, async t => {
      const on = await consentStage(t, kind, { edit: site => askForChange(site, 'session') })
      const asked = await on.call(moved(0))
      assert.deepEqual([(await on.call(moved(1))).body.proposal.id, on.writes().length], [asked.body.proposal.id, 0], 'it is one request for one object')
      const id = await granted(on, () => on.call(moved(0)))
      assert.deepEqual((await on.get(id)).body.next, { method: 'POST', path: `/v1/actions/${CHANGE}`, after_seconds: 0 })
      for (let at = 0; at < 3; at++) assert.deepEqual((await on.call(moved(at))).body.outcome, 'completed')
      assert.deepEqual([(await on.get(id)).body.proposal.uses_left, on.effects()], [17, 3])
    })
  }

  test('is for the one object that it was asked for', async t => {
    const on = await consentStage(t, 'sqlite', { edit: site => askForChange(site, 'session') })
    await granted(on, () => on.call(moved(0)))
    const other = await on.call({ customer_id: 'cus_1002' })
    assert.deepEqual([other.status, other.body.proposal.target.id, on.effects()], [202, 'cus_1002', 0])
  })

  test('is for its run and its action alone (A45)', async t => {
    const on = await consentStage(t, 'sqlite')
    await granted(on, () => mail(on))
    assert.equal((await mail(on)).body.outcome, 'completed')
    assert.equal((await mail(on, 'ord_1001', await on.site.token({ run: 'run-2' }))).status, 202)
    const refund = await on.broker.call(on.token, 'refund_order.v1', { customer_id: 'cus_1001', order_id: 'ord_1001', amount_minor: 1 })
    assert.deepEqual([refund.status, refund.body.proposal.kind, on.writes().length], [202, 'call', 1])
  })

  test('for what can be undone is none for money: a person is asked for that one call, and nothing is sent before (A45)', async t => {
    const on = await consentStage(t, 'sqlite', { edit: site => askForChange(site, 'session') })
    const id = await granted(on, () => on.call(moved(0)))
    const refund = await on.broker.call(on.token, 'refund_order.v1', { customer_id: 'cus_1001', order_id: 'ord_1001', amount_minor: 1 })
    assert.deepEqual([refund.status, refund.body.pending_on, refund.body.proposal.kind], [202, 'consent', 'call'])
    const commit = await on.commit(refund.body.proposal.id)
    assert.deepEqual([commit.status, commit.body.error.code, commit.body.sent], [409, 'PROPOSAL_PENDING', false])
    assert.deepEqual([on.writes().length, (await on.record(id)).uses], [0, 0])
    assert.equal((await on.call(moved(1))).body.outcome, 'completed', 'what it is for it is good for')
  })

  test('for a write that names no object is good for those values alone: others would reach whom nobody was shown', async t => {
    const on = await consentStage(t, 'sqlite', { edit: site => editYaml(site, `shop/${MAIL}.yaml`, sheet => sheet.delete('target')) })
    await granted(on, () => mail(on))
    assert.deepEqual([(await mail(on, 'ord_1002')).body.pending_on, on.effects()], ['consent', 0])
    assert.deepEqual([(await mail(on)).body.outcome, on.effects()], ['completed', 1])
  })

  test('is for the one on whose behalf it was asked', async t => {
    const on = await consentStage(t, 'sqlite', { edit: site => askForChange(site, 'session') })
    const tokenFor = (sub: string): Promise<string> => on.site.token({ run: 'run-1', claims: { customers: ['cus_1001'], on_behalf_of: sub } })
    const [alice, bob] = [await tokenFor('alice'), await tokenFor('bob')]
    await granted(on, () => on.call(moved(0), { token: alice }))
    const other = await on.call(moved(1), { token: bob })
    assert.deepEqual([other.body.pending_on, on.writes().length], ['consent', 0], JSON.stringify(other.body))
    assert.equal((await on.call(moved(1), { token: alice })).body.outcome, 'completed')
  })

  test('cannot be committed', async t => {
    const on = await consentStage(t, 'sqlite')
    const id = await granted(on, () => mail(on))
    const { status, body } = await on.commit(id)
    assert.deepEqual([status, body.error.code, on.writes().length], [400, 'MALFORMED_REQUEST', 0])
  })

  test('ends with its last use, and twenty calls at once take no more than there are', async t => {
    const on = await consentStage(t, 'redis', { edit: site => editYaml(site, `shop/${MAIL}.yaml`, sheet => sheet.deleteIn(['limits', 'calls_per_run'])) })
    const id = await granted(on, () => mail(on))
    let mails = 0
    // Of calls that were turned away the use comes back a moment later.
    await eventually(async () => {
      const answers = await Promise.all(Array.from({ length: 20 }, () =>
        on.broker.call(on.token, MAIL, { customer_id: 'cus_1001', order_id: 'ord_1001' }, randomUUID())))
      mails += answers.filter(({ body }) => body.outcome === 'completed' && body.duplicate === false).length
      return mails >= 10
    }, 'it is used up')
    const { status, body } = await on.broker.call(on.token, MAIL, { customer_id: 'cus_1001', order_id: 'ord_1001' }, randomUUID())
    assert.deepEqual([status, body.pending_on, (await on.record(id)).uses], [202, 'consent', 10])
    assert.deepEqual([mails, on.writes().length], [10, 10])
  })

  test('is given its use back where nothing left', async t => {
    const on = await consentStage(t, 'sqlite', { edit: site => askForChange(site, 'session') })
    const id = await granted(on, () => on.call(moved(0)))
    on.recorder.before = ({ method }) => { if (method === 'GET') on.recorder.refuse() }
    assert.equal((await on.call(moved(1))).body.error.code, 'UPSTREAM_UNREACHABLE')
    await eventually(async () => (await on.record(id)).uses === 0, 'the use is given back')
  })

  test('is not used by a repeat', async t => {
    const on = await consentStage(t, 'sqlite', { edit: site => askForChange(site, 'session') })
    const id = await granted(on, () => on.call(moved(0)))
    const first = await on.call(moved(1), { key: 'key-1' })
    const again = await on.call(moved(1), { key: 'key-1' })
    assert.deepEqual([again.body.attempt_id, again.body.duplicate, (await on.record(id)).uses], [first.body.attempt_id, true, 1])
  })
})

describe('a grant ends', () => {
  const cases: ReadonlyArray<readonly [string, InvalidCause | null, (on: Stage, id: string) => Promise<unknown>]> = [
    ['with its sheet', 'sheet_changed', async on => {
      edited(on.site, `actions/shop/${MAIL}.yaml`, text => text.replace('timeout: 5s', 'timeout: 4s'))
      await on.broker.reload()
    }],
    ['with the rules', 'policy_changed', async on => {
      editYaml(on.site, 'policy.yaml', policy => policy.setIn(['consent', 'external_commitment'], policy.createNode({ level: 'session', approvers: ['shop_lead', 'other'] })))
      editYaml(on.site, 'policy.yaml', policy => policy.setIn(['consent', 'personal_data'], policy.createNode({ level: 'none', quorum: 2 })))
      await on.broker.reload()
    }],
    ['with the role of who gave it', 'approver_ineligible', async on => {
      editYaml(on.site, 'policy.yaml', policy => policy.setIn(['approvers'], policy.createNode({ other: [MAIL, CHANGE, 'refund_order.v1', 'delete_customer.v1'] })))
      editYaml(on.site, 'policy.yaml', policy => policy.deleteIn(['consent', 'money', 'approvers']))
      await on.broker.reload()
    }],
    ['when it is taken back by a person', null, async (on, id) => on.store().advanceProposal(await on.record(id), { type: 'revoke' })],
    ['when its agent gives it up', null, (on, id) => on.withdraw(id)],
  ]
  for (const [how, cause, end] of cases) {
    test(how, async t => {
      const on = await consentStage(t, 'sqlite')
      const id = await granted(on, () => mail(on))
      await end(on, id)
      const { status, body } = await mail(on)
      assert.deepEqual([status, body.pending_on, body.proposal.id === id, on.writes().length], [202, 'consent', false, 0], JSON.stringify(body))
      assert.equal((await on.record(id)).cause, cause)
    })
  }

  test('with the lock of the vault', async t => {
    const on = await consentStage(t, 'sqlite')
    const asked = (await mail(on)).body.proposal.id
    await on.approve(asked, { epoch: -1 })
    assert.deepEqual([(await mail(on)).status, (await on.record(asked)).cause, on.writes().length], [202, 'vault_epoch_changed', 0])
  })
})

describe('an observation that a person is asked for', () => {
  const personal = (level: 'session' | 'call') => (site: Parameters<typeof askForChange>[0]): void => {
    editYaml(site, `shop/${LIST}.yaml`, sheet => sheet.set('consent', level))
    editYaml(site, 'policy.yaml', policy => policy.addIn(['approvers', 'shop_lead'], LIST))
  }
  const list = (on: Stage, args: object = {}): Promise<Reached> => on.broker.call(on.token, LIST, { customer_id: 'cus_1001', ...args })

  test('reads nothing until it is granted, and then reads for the run', async t => {
    const on = await consentStage(t, 'sqlite', { edit: personal('session') })
    const id = await granted(on, () => list(on))
    assert.equal(on.recorder.requests.length, 0)
    for (let at = 0; at < 3; at++) assert.equal((await list(on)).body.outcome, 'completed')
    assert.equal((await on.record(id)).uses, 3)
  })

  test('asked for call by call, it is one grant for that one call with its arguments', async t => {
    const on = await consentStage(t, 'sqlite', { edit: personal('call') })
    await granted(on, () => list(on))
    assert.equal((await list(on, { customer_id: 'cus_1002' })).status, 202)
    assert.deepEqual([(await list(on)).body.outcome, (await list(on)).status], ['completed', 202])
  })

  test('needs a run, and is not listed without one', async t => {
    const on = await consentStage(t, 'sqlite', { edit: personal('session') })
    const token = await on.site.token({ run: null })
    const { status, body } = await on.broker.call(token, LIST, { customer_id: 'cus_1001' })
    assert.deepEqual([status, body.error.code], [403, 'RUN_REQUIRED'])
    const { actions } = (await on.broker.get(token, '/v1/actions')).body
    assert.ok(!actions.some(({ action }: { action: string }) => action === LIST))
  })
})
