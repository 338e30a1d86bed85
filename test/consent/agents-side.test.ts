// What an agent can do with proposals and what it cannot, by its side of the HTTP API alone: the consent part of the hostile list.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import { createKnownRoles } from '../../src/http/people/known-roles.ts'
import { NO_ALIASES } from '../../src/consent/principals.ts'
import { COOL_DOWN_MS, DENY_CODES, type DenyCode } from '../../src/consent/proposal.ts'
import { denialHint } from '../../src/execution/denial-hint.ts'
import { auditRows, eventually } from '../invariants/ground.ts'
import { addressChange } from '../people/drafts.ts'
import { CHANGE, consentStage, OTHER_ADDRESS, type Stage } from './stage.ts'

const HOUR_MS = 3_600_000
const address = (at: number): object => ({ destination: { ...OTHER_ADDRESS, street: `${at} Numbered Road` } })

describe('a proposal of somebody else', () => {
  test('is answered like one that there is not, to every question (A30)', async t => {
    const on = await consentStage(t, 'sqlite')
    const id = await on.propose()
    await on.approve(id)
    const others = [
      await on.site.token({ run: 'run-2' }), await on.site.token({ run: 'run-1', sub: 'agent-2' }), await on.site.token({ run: 'run-1', tenant: 'other' }),
    ]
    const plain = ({ status, body }: { status: number, body: any }): unknown => [status, { ...body, correlation_id: '' }]
    for (const token of others) {
      for (const unknown of [`${id.slice(0, 7)}${'0'.repeat(32)}`, 'prop_zz', 'nothing']) {
        assert.deepEqual(plain(await on.commit(id, { token })), plain(await on.commit(unknown, { token })))
        assert.deepEqual(plain(await on.broker.get(token, `/v1/proposals/${id}`)), plain(await on.broker.get(token, `/v1/proposals/${unknown}`)))
        assert.deepEqual(plain(await on.withdraw(id, token)), plain(await on.withdraw(unknown, token)))
      }
      assert.equal((await on.commit(id, { token })).status, 404)
    }
    assert.deepEqual([on.writes().length, (await on.record(id)).state], [0, 'approved'])
  })
})

for (const kind of ['sqlite', 'redis'] as const) {
  test(`${kind}: with a run that is stopped ends what it has open, on every replica; the agent is told why, and nobody can approve it`, async t => {
    const on = await consentStage(t, kind)
    const [approved, pending] = [await on.propose(), await on.propose({ ...address(1), customer_id: 'cus_1002' })]
    await on.approve(approved)
    const other = kind === 'redis' ? await on.another() : on.broker
    assert.equal((await on.broker.post(on.token, '/v1/run/stop')).status, 200)
    for (const id of [approved, pending]) {
      assert.deepEqual([(await on.record(id)).state, (await on.record(id)).cause], ['invalidated', 'run_stopped'])
      const { body } = await other.get(on.token, `/v1/proposals/${id}`)
      assert.deepEqual([body.outcome, body.error.code, body.error.cause, body.next], ['rejected', 'PROPOSAL_INVALIDATED', 'run_stopped', undefined])
    }
    const commit = await on.commit(approved, { broker: other })
    assert.deepEqual([commit.status, commit.body.error.code], [403, 'RUN_STOPPED'])
    assert.equal((await on.approve(pending)).kind, 'refused')
    assert.deepEqual([(await on.call(address(2))).body.error.code, on.writes().length], ['RUN_STOPPED', 0])
  })
}

describe('a commit before its time, or after', () => {
  const cases: ReadonlyArray<readonly [string, string, (on: Stage & { jump (ms: number): void }, id: string) => Promise<unknown>]> = [
    ['pending', 'PROPOSAL_PENDING', async () => undefined],
    ['denied', 'PROPOSAL_DENIED', (on, id) => on.deny(id)],
    ['withdrawn', 'PROPOSAL_WITHDRAWN', (on, id) => on.withdraw(id)],
    ['withdrawn', 'PROPOSAL_WITHDRAWN', async (on, id) => { await on.approve(id); await on.withdraw(id) }],
    ['revoked', 'PROPOSAL_REVOKED', async (on, id) => {
      await on.approve(id)
      await on.store().advanceProposal(await on.record(id), { type: 'revoke' })
    }],
    ['expired', 'PROPOSAL_EXPIRED', async on => { on.jump(HOUR_MS) }],
    ['expired', 'PROPOSAL_EXPIRED', async (on, id) => { await on.approve(id); on.jump(HOUR_MS) }],
    ['superseded', 'PROPOSAL_SUPERSEDED', async (on, id) => on.store().advanceProposal(await on.record(id), { type: 'supersede' })],
  ]
  for (const [state, code, bring] of cases) {
    test(`${state}: 409 ${code}, and nothing is sent (A33)`, async t => {
      let aheadMs = 0
      const on = { ...await consentStage(t, 'sqlite', { wallMs: () => Date.now() + aheadMs }), jump: (ms: number) => { aheadMs += ms } }
      const id = await on.propose()
      await bring(on, id)
      const { status, body } = await on.commit(id)
      assert.deepEqual([status, body.error.code, body.proposal.state, body.sent, on.writes().length], [409, code, state, false, 0])
      const seen = await on.get(id)
      if (state === 'pending') assert.deepEqual([seen.status, seen.body.outcome], [202, 'pending'])
      else assert.deepEqual([seen.status, seen.body.outcome, seen.body.error.code], [200, 'rejected', code])
    })
  }

  test('a yes of too few is none yet', async t => {
    const on = await consentStage(t, 'sqlite')
    const id = (await on.broker.call(on.token, 'delete_customer.v1', { customer_id: 'cus_1002' })).body.proposal.id
    await on.approve(id, { sub: 'lead-1' })
    assert.deepEqual([(await on.commit(id)).body.error.code, on.effects()], ['PROPOSAL_PENDING', 0])
    await on.approve(id, { sub: 'lead-2' })
    assert.deepEqual([(await on.commit(id)).body.outcome, on.effects()], ['completed', 1])
  })

  test('a yes by the agent itself, or by the one for whom it asks, does not count', async t => {
    const on = await consentStage(t, 'sqlite')
    const claims = { customers: ['cus_1001'], on_behalf_of: { iss: 'https://people.test.example', sub: 'asker' } }
    const token = await on.site.token({ run: 'run-1', claims })
    const refund = async (amount: number): Promise<string> =>
      (await on.broker.call(token, 'refund_order.v1', { customer_id: 'cus_1001', order_id: 'ord_1001', amount_minor: amount })).body.proposal.id
    const own = await refund(100)
    await on.approve(own, { sub: 'asker' })
    const { body } = await on.commit(own, { token })
    assert.deepEqual([body.error.code, body.error.cause, on.writes().length], ['PROPOSAL_INVALIDATED', 'approver_ineligible', 0])
    const other = await refund(101)
    await on.approve(other, { sub: 'somebody' })
    assert.equal((await on.commit(other, { token })).body.outcome, 'completed')
  })
})

test('a yes of the person who acts through the agent, under another identity, does not count', async t => {
  const principals = { of: (iss: string, sub: string) => ['agent-1', 'lead-1'].includes(sub) ? 'one-person' : `${iss}|${sub}` }
  const on = await consentStage(t, 'sqlite', { people: () => ({ origin: null, principals, rolesOf: async () => null }) })
  const id = await on.propose()
  await on.approve(id)
  const { body } = await on.commit(id)
  assert.deepEqual([body.error.code, body.error.cause, on.writes().length], ['PROPOSAL_INVALIDATED', 'approver_ineligible', 0])
})

test('two yeses of who is known by now to be one person are one', async t => {
  let known = false
  const principals = { of: (iss: string, sub: string) => known && sub.startsWith('lead-') ? 'one-person' : `${iss}|${sub}` }
  const on = await consentStage(t, 'sqlite', { people: () => ({ origin: null, principals, rolesOf: async () => null }) })
  const id = (await on.broker.call(on.token, 'delete_customer.v1', { customer_id: 'cus_1002' })).body.proposal.id
  for (const sub of ['lead-1', 'lead-2']) await on.approve(id, { sub })
  known = true
  const { body } = await on.commit(id)
  assert.deepEqual([body.error.code, body.error.cause, on.effects()], ['PROPOSAL_INVALIDATED', 'approver_ineligible', 0])
})

test('a yes does not count once the role is known to be gone (A37)', async t => {
  const roles = new Map([['leads', ['shop_lead']]])
  const on = await consentStage(t, 'sqlite', {
    people: store => ({ origin: null, principals: NO_ALIASES, rolesOf: ({ iss, sub }) => createKnownRoles(store, roles).of(iss, sub) }),
  })
  const known = createKnownRoles(on.store(), roles)
  const id = await on.propose()
  await on.approve(id)
  await known.remember('https://people.test.example', 'lead-1', ['cooks'])
  const { body } = await on.commit(id)
  assert.deepEqual([body.error.code, body.error.cause, on.writes().length], ['PROPOSAL_INVALIDATED', 'approver_ineligible', 0])
})

describe('what was denied', () => {
  test('is told with its code and reason, and the same call is refused for a while, whatever its key (A41)', async t => {
    const on = await consentStage(t, 'sqlite')
    const id = await on.propose()
    for (const key of [undefined, 'another']) {
      const again = await on.call({}, key === undefined ? {} : { key })
      assert.deepEqual([again.status, again.body.proposal.id, again.body.duplicate], [202, id, true], 'until then it is one proposal')
    }
    await on.deny(id, { code: 'wrong_value', text: 'The street is wrong.' })
    for (const key of [undefined, 'another']) {
      const { status, body } = await on.call({}, key === undefined ? {} : { key })
      assert.deepEqual([status, body.error.code, body.error.retryable], [409, 'RECENTLY_DENIED', false])
      assert.deepEqual([body.proposal.id, body.proposal.reason_code, body.proposal.reason], [id, 'wrong_value', 'The street is wrong.'])
      assert.ok(Date.parse(body.proposal.decided_at) <= Date.now())
    }
    assert.equal((await on.call(address(1))).status, 202, 'other arguments are another plan')
  })

  test('leads nobody round the no: what helps is said by its reason, and the time until it may be asked again', async t => {
    const on = await consentStage(t, 'sqlite')
    const hints = new Map<DenyCode, string>()
    for (const [at, code] of DENY_CODES.entries()) {
      const args = address(at)
      const id = await on.propose(args)
      await on.deny(id, { code })
      const [asked, called, committed] = [await on.get(id), await on.call(args), await on.commit(id)]
      assert.deepEqual([asked.body.error.code, called.body.error.code, committed.body.error.code], ['PROPOSAL_DENIED', 'RECENTLY_DENIED', 'PROPOSAL_DENIED'])
      for (const { body } of [asked, called, committed]) {
        assert.match(body.error.hint, /For 10 minutes after the denial the same call is refused/)
        assert.ok(body.error.retry_after_seconds > 590 && body.error.retry_after_seconds <= 601, String(body.error.retry_after_seconds))
        assert.equal(body.error.retryable, false)
      }
      assert.equal(called.headers.get('retry-after'), String(called.body.error.retry_after_seconds))
      hints.set(code, called.body.error.hint)
    }
    const saying = (pattern: RegExp): readonly string[] => [...hints].flatMap(([code, hint]) => pattern.test(hint) ? [code] : [])
    assert.deepEqual(saying(/find the right one/), ['wrong_target', 'wrong_value'])
    assert.deepEqual(saying(/can be proposed later/), ['not_now', 'needs_more_context'])
    assert.deepEqual(saying(/Do not ask for the same in another form/), ['not_needed', 'policy', 'suspicious', 'other'])
    assert.deepEqual(saying(/must change/), [])
  })

  test('is told without a time once the same call is heard again', async () => {
    const decidedAtMs = 1_000_000
    const record = { ...addressChange(), state: 'denied' as const, decidedAtMs }
    const at = (nowMs: number): unknown => denialHint({ record, nowMs })?.retryAfterSeconds
    assert.deepEqual([at(decidedAtMs), at(decidedAtMs + COOL_DOWN_MS), at(decidedAtMs + COOL_DOWN_MS + 1)], [601, 1, null])
    assert.equal(denialHint({ record: { ...record, state: 'revoked' }, nowMs: decidedAtMs }), null)
  })

  test('what was said to the staff alone is not told to the agent, nor who said it', async t => {
    const on = await consentStage(t, 'sqlite')
    const id = await on.propose()
    await on.deny(id, { text: 'Looks like fraud to me.', visibility: 'staff' })
    const { body } = await on.get(id)
    assert.deepEqual([body.proposal.reason_code, body.proposal.reason], ['wrong_target', undefined])
    assert.doesNotMatch(JSON.stringify(body), /fraud|lead-1|people\.test/)
  })
})

describe('many proposals', () => {
  test('more than a few undecided ones of one agent are refused, in all its runs together (A40)', async t => {
    const on = await consentStage(t, 'sqlite')
    for (let at = 0; at < 5; at++) await on.propose(address(at), at % 2 === 0 ? {} : { token: await on.site.token({ run: 'run-2' }) })
    const { status, body } = await on.call(address(9))
    assert.deepEqual([status, body.error.code, body.sent], [429, 'TOO_MANY_PENDING', false])
    assert.equal((await on.call(address(0))).body.duplicate, true, 'what waits already is answered')
    assert.equal((await on.call(address(9), { token: await on.site.token({ run: 'run-1', sub: 'agent-2' }) })).status, 202, 'of others nothing is counted')
    await on.withdraw((await on.call(address(0))).body.proposal.id)
    assert.equal((await on.call(address(9))).status, 202)
  })

  for (const kind of ['sqlite', 'redis'] as const) {
    test(`${kind}: more than fit on the desk of those who may decide are refused, of all agents together, and a decision makes room`, async t => {
      const on = await consentStage(t, kind)
      const brokers = kind === 'redis' ? [on.broker, await on.another()] : [on.broker]
      const tokens = await Promise.all(Array.from({ length: 8 }, (_, at) => on.site.token({ run: 'run-1', sub: `agent-${at}` })))
      const asked = await Promise.all(Array.from({ length: 40 }, (_, at) => on.call(address(at), { token: tokens[at % 8]!, broker: brokers[at % brokers.length]! })))
      const refused = asked.filter(({ status }) => status !== 202)
      assert.equal(asked.length - refused.length, 25)
      for (const { status, body } of refused) {
        assert.deepEqual([status, body.error.code, body.sent, body.proposal], [429, 'TOO_MANY_PENDING', false, undefined])
        assert.match(body.error.hint, /of all agents together/)
      }
      const [tenant, late] = [await on.site.token({ run: 'run-1', tenant: 'other' }), await on.site.token({ run: 'run-1', sub: 'agent-9' })]
      assert.equal((await on.call(address(0), { token: tenant })).status, 202, 'another tenant has desks of its own')
      assert.equal((await on.call(address(41), { token: late })).status, 429)
      await on.deny(asked.find(({ status }) => status === 202)!.body.proposal.id)
      assert.equal((await on.call(address(41), { token: late })).status, 202)
    })
  }

  test('more than a hundred within an hour are refused, though each is taken back at once', async t => {
    const on = await consentStage(t, 'sqlite')
    const ends = new Set<string>()
    for (let at = 0; at < 102; at++) {
      const { status, body } = await on.call(address(at))
      ends.add(`${status} ${body.error?.code ?? 'proposed'}`)
      if (status === 202) await on.withdraw(body.proposal.id)
      else assert.ok(at >= 100, `the ${at}th`)
    }
    assert.deepEqual([...ends], ['202 proposed', '429 TOO_MANY_PENDING'])
    assert.equal((await on.call(address(0), { token: await on.site.token({ run: 'run-1', sub: 'agent-2' }) })).status, 202, 'of others nothing is counted')
  })

  test('two hundred equal calls, twenty at a time, are one proposal (A41)', async t => {
    const on = await consentStage(t, 'sqlite')
    const ids = new Set<string>()
    for (let round = 0; round < 10; round++) {
      const answers = await Promise.all(Array.from({ length: 20 }, (_, at) => on.call({}, at % 2 === 0 ? {} : { key: randomUUID() })))
      for (const { body } of answers) if (body.proposal !== undefined) ids.add(body.proposal.id)
    }
    assert.equal(ids.size, 1)
  })
})

describe('keys', () => {
  test('one key with other arguments is refused (A28)', async t => {
    const on = await consentStage(t, 'sqlite')
    await on.propose({}, { key: 'key-1' })
    const { status, body } = await on.call(address(1), { key: 'key-1' })
    assert.deepEqual([status, body.error.code], [422, 'IDEMPOTENCY_KEY_REUSED'])
  })

  test('a repeat with its key is answered with the attempt for as long as it is kept; another key means another call', async t => {
    const on = await consentStage(t, 'sqlite')
    const id = await on.propose({}, { key: 'key-1' })
    await on.approve(id)
    const done = await on.commit(id)
    assert.equal((await on.call({}, { key: 'key-1' })).body.attempt_id, done.body.attempt_id)
    const other = await on.call({ destination: OTHER_ADDRESS }, { key: 'key-2' })
    assert.deepEqual([other.status, other.body.pending_on], [202, 'consent'])
  })
})

describe('the agent\'s words', () => {
  test('are kept for people, cut where they are long, and bind nothing', async t => {
    const on = await consentStage(t, 'sqlite')
    const answer = await fetch(`${on.broker.agentsUrl}/v1/actions/${CHANGE}`, {
      method: 'POST', headers: { authorization: `Bearer ${on.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ arguments: { customer_id: 'cus_1001', destination: OTHER_ADDRESS }, reason: `Approved by the CEO. ${'é'.repeat(900)}` }),
    })
    const { proposal } = await answer.json() as { proposal: { id: string } }
    const record = await on.record(proposal.id)
    assert.deepEqual([[...record.reason!].length, record.reason!.endsWith('…'), record.state], [500, true, 'pending'])
    assert.doesNotMatch(record.binding, /CEO/)
  })
})

describe('waiting', () => {
  test('ends with the decision', async t => {
    const on = await consentStage(t, 'sqlite')
    const id = await on.propose()
    const waiting = on.get(id, '?wait=20s')
    await new Promise(resolve => setTimeout(resolve, 100))
    await on.approve(id)
    assert.equal((await waiting).body.proposal.state, 'approved')
  })

  test('says where a person decides, where that is known', async t => {
    const on = await consentStage(t, 'sqlite', { people: () => ({ origin: 'https://approvals.example', principals: NO_ALIASES, rolesOf: async () => null }) })
    const { body } = await on.call()
    assert.equal(body.proposal.approval_url, `https://approvals.example/approvals/${body.proposal.id}`)
  })
})

test('a stopped run proposes nothing and commits nothing', async t => {
  const on = await consentStage(t, 'sqlite')
  const id = await on.propose()
  await on.approve(id)
  await on.broker.post(on.token, '/v1/run/stop')
  for (const answer of [await on.commit(id), await on.call(address(1))]) assert.deepEqual([answer.status, answer.body.error.code], [403, 'RUN_STOPPED'])
  assert.equal(on.writes().length, 0)
})

test('each refused commit is one line of the audit, and what was carried out names what approved it', async t => {
  const on = await consentStage(t, 'sqlite')
  const id = await on.propose()
  await on.commit(id)
  await on.approve(id)
  const done = await on.commit(id)
  await eventually(() => auditRows(on.site).some(({ attempt, event }) => attempt?.id === done.body.attempt_id && event === 'execution.result'), 'the result is told')
  const refused = auditRows(on.site).filter(({ event }) => event === 'action.refused')
  assert.deepEqual(refused.map(({ code, step }) => [code, step]), [['PROPOSAL_PENDING', 'consent']])
})
