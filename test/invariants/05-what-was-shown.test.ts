// Invariant 5: a proposal is consumed by at most one attempt, and what executes is what was shown, byte for byte. Whatever the agent holds changes nothing
// of it; whatever the approval rests on is changed here, one thing at a time, and then nothing is sent and the code names the cause.
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { NO_ALIASES } from '../../src/consent/principals.ts'
import { readBinding, STAND_IN, type Binding } from '../../src/consent/binding.ts'
import { bindingDigest } from '../../src/consent/canonical.ts'
import type { InvalidCause } from '../../src/consent/proposal.ts'
import { ADDRESS, CHANGE, consentStage, editYaml, OTHER_ADDRESS, type Stage, type StageOptions } from '../consent/stage.ts'
import { controlOf, edited } from './ground.ts'

describe('what is carried out is what was approved', () => {
  test('the request that leaves is the one that the yes was bound to', async t => {
    const on = await consentStage(t, 'sqlite')
    const id = await on.propose()
    await on.approve(id)
    const { binding, digest } = await on.record(id)
    assert.equal((await on.commit(id)).body.outcome, 'completed')
    assert.equal(bindingDigest(binding), digest)
    const [sent, ...others] = on.writes()
    assert.equal(others.length, 0)
    assert.deepEqual(requestOf(sent!), requestIn(binding))
    assert.deepEqual(JSON.parse(sent!.body), { shipping_address: ADDRESS })
    assert.equal(on.effects(), 1)
  })

  test('where the request carries the key of its attempt, that alone is not the one of the binding', async t => {
    const on = await consentStage(t, 'sqlite')
    const args = { customer_id: 'cus_1001', order_id: 'ord_1001', amount_minor: 500 }
    const id = (await on.broker.call(on.token, 'refund_order.v1', args)).body.proposal.id
    await on.approve(id)
    const done = await on.commit(id)
    assert.deepEqual([done.status, done.body.outcome, done.body.result?.amount_minor], [200, 'completed', 500])
    const [sent] = on.writes()
    const key = String(sent!.headers['idempotency-key'])
    assert.match(key, /^[0-9a-f-]{36}$/)
    const bound = requestIn((await on.record(id)).binding)
    assert.deepEqual(bound.headers.find(([name]) => name === 'idempotency-key'), ['idempotency-key', STAND_IN.key])
    assert.deepEqual(requestOf({ ...sent!, headers: { ...sent!.headers, 'idempotency-key': STAND_IN.key } }), bound)
  })

  test('arguments that come with a commit are refused and never merged; what then executes is what was shown (A31)', async t => {
    const on = await consentStage(t, 'sqlite')
    const id = await on.propose()
    await on.approve(id)
    for (const body of [JSON.stringify({ arguments: { customer_id: 'cus_1002', destination: OTHER_ADDRESS } }), '{"digest":"0"}', '[]', 'null', '"x"']) {
      const refused = await on.commit(id, { body })
      assert.deepEqual([refused.status, refused.body.error.code], [400, 'MALFORMED_REQUEST'], body)
    }
    const other = await on.call({ destination: OTHER_ADDRESS })
    assert.notEqual(other.body.proposal.id, id, 'other arguments are another proposal, which nobody has approved')
    assert.deepEqual((await on.commit(id, { body: '{}' })).body.outcome, 'completed')
    assert.deepEqual(on.writes().map(({ body }) => JSON.parse(body)), [{ shipping_address: ADDRESS }])
  })

  test('the order in which an agent writes its arguments is not part of what was approved', async t => {
    const on = await consentStage(t, 'sqlite')
    const { postal_code: code, ...rest } = ADDRESS
    const id = await on.propose({ destination: { postal_code: code, ...rest } })
    assert.equal((await on.call()).body.proposal.id, id)
    await on.approve(id)
    assert.equal((await on.commit(id)).body.outcome, 'completed')
  })
})

interface Change {
  readonly what: string
  /** Of the list of hostile inputs. */
  readonly row?: string
  readonly cause: InvalidCause
  readonly code?: string
  readonly options?: StageOptions
  readonly by?: Parameters<Stage['approve']>[1]
  change (on: Stage): unknown
}

const reloaded = async (on: Stage, path: string, edit: (text: string) => string): Promise<void> => {
  edited(on.site, path, edit)
  await on.broker.reload()
}

const policy = async (on: Stage, path: readonly string[], value: unknown): Promise<void> => {
  editYaml(on.site, 'policy.yaml', document => { document.setIn(path, document.createNode(value)) })
  await on.broker.reload()
}

const roles: { now: readonly string[] | null } = { now: null }

const CHANGES: readonly Change[] = [
  { what: 'the sheet', row: 'A36', cause: 'sheet_changed', change: on => reloaded(on, `actions/shop/${CHANGE}.yaml`, text => text.replace('version: "${reads.customer', 'version:  "${reads.customer').replace('timeout: 5s', 'timeout: 4s')) },
  { what: 'upstream.yaml', row: 'A36', cause: 'sheet_changed', change: on => reloaded(on, 'actions/shop/upstream.yaml', text => text.replace('X-Shop-Client: aval', 'X-Shop-Client: other')) },
  { what: 'the effective rules', cause: 'policy_changed', change: on => policy(on, ['consent', 'personal_data'], { level: 'none', quorum: 2 }) },
  { what: 'another list of those who may decide, with the approver in it', cause: 'policy_changed', change: on => policy(on, ['approvers', 'second_lead'], [CHANGE]) },
  { what: 'the list of those who may decide, without the approver', row: 'A37', cause: 'approver_ineligible', change: on => policy(on, ['approvers'], { second_lead: [CHANGE] }) },
  {
    what: 'the role of the approver, where their own sign-in tells it', row: 'A37', cause: 'approver_ineligible',
    options: { people: () => ({ origin: null, principals: NO_ALIASES, rolesOf: async () => roles.now }) },
    change: () => { roles.now = ['cook'] },
  },
  { what: 'the lock of the vault, which the yes was given under', cause: 'vault_epoch_changed', by: { epoch: -1 }, change: () => undefined },
  {
    what: 'the lock of the vault, fallen and opened again since', row: 'A38', cause: 'vault_epoch_changed',
    change: async on => {
      assert.equal((await controlOf(on.site, { command: 'vault lock', note: 'a test' })).ok, true)
      assert.equal((await on.call()).status, 423)
      assert.equal((await controlOf(on.site, { command: 'vault unlock', note: 'a test' })).ok, true)
    },
  },
  {
    what: 'a fact that the request is made of, beside the version of the object', cause: 'request_changed',
    options: {
      edit: site => editYaml(site, `shop/${CHANGE}.yaml`, sheet => {
        sheet.setIn(['request', 'body', 'shipping_address'], sheet.createNode({
          street: '${args.destination.street}, c/o ${reads.customer.body.name}',
          city: '${args.destination.city}', postal_code: '${args.destination.postal_code}', country: '${args.destination.country}',
        }))
      }),
    },
    change: on => {
      const customer = on.shop.state.customers.get('cus_1001')!
      on.shop.state.customers.set('cus_1001', { ...customer, name: 'Somebody Else' })
    },
  },
  {
    what: 'the object', row: 'A35', cause: 'target_changed', code: 'VERSION_CONFLICT',
    change: async on => {
      const other = { ...ADDRESS, street: '1 Elsewhere' }
      const customer = on.shop.state.customers.get('cus_1001')!
      on.shop.state.customers.set('cus_1001', { ...customer, version: customer.version + 1, shipping_address: other })
    },
  },
]

describe('what is not as it was approved is not sent', () => {
  for (const { what, row, cause, code = 'PROPOSAL_INVALIDATED', options = {}, by = {}, change } of CHANGES) {
    test(`${what}: ${code}, ${cause}${row === undefined ? '' : ` (${row})`}`, async t => {
      roles.now = null
      const on = await consentStage(t, 'sqlite', options)
      const id = await on.propose()
      await on.approve(id, by)
      await change(on)
      for (let times = 0; times < 2; times++) {
        const { status, body } = await on.commit(id)
        assert.deepEqual([status, body.error.code, body.error.cause, body.sent], [409, times === 0 ? code : 'PROPOSAL_INVALIDATED', cause, false])
        assert.deepEqual([body.proposal.state, body.error.retryable], ['invalidated', false])
        assert.deepEqual(body.next, { method: 'POST', path: `/v1/actions/${CHANGE}`, after_seconds: 0 })
      }
      assert.deepEqual([on.writes().length, (await on.record(id)).attemptId], [0, null])
      const anew = await on.call()
      assert.deepEqual([anew.status, anew.body.proposal.supersedes], [202, id])
    })
  }

  test('the role of the caller: as if there were no such action', async t => {
    const on = await consentStage(t, 'sqlite')
    const id = await on.propose()
    await on.approve(id)
    const { status, body } = await on.commit(id, { token: await on.site.token({ run: 'run-1', roles: ['shop_manager'] }) })
    assert.deepEqual([status, body.error.code, on.writes().length], [404, 'UNKNOWN_ACTION', 0])
    const scoped = await on.commit(id, { token: await on.site.token({ run: 'run-1', claims: { customers: ['cus_1002'] } }) })
    assert.deepEqual([scoped.status, scoped.body.error.code, on.writes().length], [403, 'OUT_OF_SCOPE', 0])
    assert.equal((await on.commit(id)).body.outcome, 'completed', 'who may still call it still carries it out')
  })

  const ALTERED: ReadonlyArray<readonly [string, (record: any) => void]> = [
    ['the arguments that are bound', record => { record.binding = record.binding.replace('9 Low Road', '1 Evil Road') }],
    ['the arguments that are bound, and the digest with them', record => {
      record.binding = record.binding.replace('9 Low Road', '1 Evil Road')
      record.digest = bindingDigest(record.binding)
    }],
    ['what was shown', record => { record.shown.diff[0].now = 'elsewhere' }],
    ['how many it takes', record => { record.requirement.roles = ['cook', 'shop_lead'] }],
    ['whose it is', record => { record.onBehalfOf = { iss: 'x', sub: 'y' } }],
  ]
  for (const [what, alter] of ALTERED) {
    test(`the stored bytes, ${what}: an alarm, and PROPOSAL_INVALIDATED, stored_bytes_changed`, async t => {
      const on = await consentStage(t, 'sqlite')
      const id = await on.propose()
      await on.approve(id)
      await on.broker.close()
      inDatabase(on, id, alter)
      const again = await on.another()
      const { status, body } = await on.commit(id, { broker: again })
      assert.deepEqual([status, body.error.code, body.error.cause, on.writes().length], [409, 'PROPOSAL_INVALIDATED', 'stored_bytes_changed', 0])
      assert.match(await again.metrics(), /aval_integrity_alarms_total\{what="altered_proposal"\} 1/)
    })
  }
})

function inDatabase (on: Stage, id: string, alter: (record: any) => void): void {
  const database = new DatabaseSync(join(on.site.folder, 'data', 'aval.db'))
  try {
    const record = JSON.parse(database.prepare('SELECT body FROM proposals WHERE id = ?').get(id)!['body'] as string)
    const before = JSON.stringify(record)
    alter(record)
    assert.notEqual(JSON.stringify(record), before, 'something was altered')
    database.prepare('UPDATE proposals SET body = ? WHERE id = ?').run(JSON.stringify(record), id)
  } finally {
    database.close()
  }
}

const requestIn = (binding: string): Omit<Binding['upstream'], 'id' | 'origin' | 'account'> => {
  const { id, origin, account, ...request } = readBinding(binding).upstream
  return request
}

/** A request as the shop got it, in the form of a binding: without the credential, and what only the way to it adds. */
function requestOf ({ method, target, headers, body }: ReturnType<Stage['writes']>[number]): object {
  const { host, connection, 'content-length': length, 'x-api-key': key, ...rest } = headers
  return { method, path: target, query: [], headers: Object.entries(rest).sort(([one], [other]) => one < other ? -1 : 1), body_sha256: body === '' ? null : hash('sha256', body, 'hex') }
}
