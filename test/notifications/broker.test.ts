// What a receiver hears of a broker's proposals, from the first call to the outcome.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { verifyAudit } from '../../src/telemetry/verify-audit.ts'
import { askControl } from '../../src/http/control.ts'
import { ADDRESS, CHANGE, consentStage, editYaml, type Stage, type StageOptions } from '../consent/stage.ts'
import { eventually } from '../store/drafts.ts'
import type { StoreKind } from '../invariants/ground.ts'
import { receiver, type Answer, type Receiver } from './receiver.ts'

const ORIGIN = 'https://approvals.test.example'

interface Ground {
  readonly on: Stage
  readonly hook: Receiver
  /** Of people who may not decide on what is proposed here. */
  readonly others: Receiver
  readonly secret: string
}

async function ground (t: TestContext, answer?: Answer, kind: StoreKind = 'sqlite', options: StageOptions & { readonly events?: readonly string[] } = {}): Promise<Ground> {
  const [hook, others] = [await receiver(t, answer), await receiver(t)]
  const folder = mkdtempSync(join(tmpdir(), 'aval-hooks-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const secret = `whsec_${randomBytes(32).toString('base64')}`
  writeFileSync(join(folder, 'secret'), secret, { mode: 0o600 })
  writeFileSync(join(folder, 'hooks.json'), JSON.stringify({
    endpoints: [{ url: hook.url, roles: ['shop_lead'] }, { url: others.url, roles: ['finance'] }]
      .map(one => ({ ...one, secret: `file:${join(folder, 'secret')}`, networks: ['loopback'], include_effect: true, ...options.events === undefined ? {} : { events: options.events } })),
  }))
  const people = { AVAL_PEOPLE: '127.0.0.1:0', AVAL_PEOPLE_ISSUER: 'http://127.0.0.1:9', AVAL_PEOPLE_CLIENT: 'aval', AVAL_PEOPLE_ORIGIN: ORIGIN }
  const env = { ...people, ...options.env, AVAL_WEBHOOKS: `file:${join(folder, 'hooks.json')}` }
  return { on: await consentStage(t, kind, { ...options, env }), hook, others, secret }
}

test('a receiver hears of a proposal, and of what came of it', async t => {
  const { on, hook, secret } = await ground(t)
  const id = await on.propose()
  await hook.came(1)
  await on.approve(id)
  assert.equal((await on.commit(id)).body.outcome, 'completed')
  await hook.came(2)
  assert.deepEqual(hook.taken.map(({ type, data }) => [type, data.proposal_id, data.action_id, data.outcome ?? null]), [
    ['proposal.pending', id, CHANGE, null], ['proposal.committed', id, CHANGE, 'completed'],
  ])
  assert.equal(hook.taken[0]!.data.url, `${ORIGIN}/approvals/${id}`)
  assert.equal(hook.taken[0]!.data.effect_sentence, 'Replace the shipping address of customer "cus_1001"')
  for (const { headers, body } of hook.taken) {
    assert.ok(new Webhook(secret).verify(body, headers))
    assert.ok(!body.includes(ADDRESS.street), 'no argument, no diff')
  }
})

test('of a flood of a thousand calls those who may decide hear one notice for each proposal that was made, and nobody else any (A40)', async t => {
  const { on, hook, others } = await ground(t)
  const answers: Array<Awaited<ReturnType<Stage['call']>>> = []
  for (let round = 0; round < 20; round++) {
    answers.push(...await Promise.all(Array.from({ length: 50 }, (_, at) => on.call({ destination: { ...ADDRESS, street: `${(50 * round + at) % 250} Low Road` } }))))
  }
  assert.deepEqual([...new Set(answers.map(({ status }) => status))].sort(), [202, 429])
  const turnedAway = answers.filter(({ status }) => status === 429)
  assert.deepEqual([...new Set(turnedAway.map(({ body }) => body.error.code))].filter(code => code !== 'RATE_LIMITED'), ['TOO_MANY_PENDING'])
  assert.ok(turnedAway.length > 900, String(turnedAway.length))
  const made = new Set(answers.filter(({ status }) => status === 202).map(({ body }) => body.proposal.id))
  assert.equal(made.size, 5)
  await hook.came(5)
  await new Promise(resolve => setTimeout(resolve, 100))
  assert.deepEqual(hook.taken.map(({ data }) => data.proposal_id).sort(), [...made].sort())
  assert.equal(others.taken.length, 0)
})

test('of two replicas the one that made a change tells it', async t => {
  const { on, hook } = await ground(t, undefined, 'redis')
  const other = await on.another()
  const id = await on.propose()
  const again = await on.call({}, { broker: other })
  assert.deepEqual([again.body.proposal.id, again.body.duplicate], [id, true])
  await on.approve(id)
  assert.equal((await on.commit(id, { broker: other })).body.outcome, 'completed')
  assert.equal((await on.commit(id)).body.duplicate, true)
  await hook.came(2)
  await new Promise(resolve => setTimeout(resolve, 200))
  assert.deepEqual(hook.taken.map(({ type, data }) => [type, data.proposal_id]), [['proposal.pending', id], ['proposal.committed', id]])
})

test('a receiver that never answers keeps no call waiting, nor the end of the broker', async t => {
  const { on } = await ground(t, () => null)
  const id = await on.propose()
  assert.equal((await on.withdraw(id)).status, 200)
  const startedMs = performance.now()
  await on.broker.close()
  assert.ok(performance.now() - startedMs < 10_000)
})

describe('a commit whose answer is lost', () => {
  const change = { method: 'PATCH' }

  test('is told as unknown, and again when a look-up has found out what came of it', async t => {
    const { on, hook, secret } = await ground(t)
    const id = await on.propose()
    await on.approve(id)
    on.shop.faults.arm({ kind: 'lose' }, change)
    assert.equal((await on.commit(id)).body.outcome, 'unknown')
    await hook.came(3)
    assert.deepEqual(hook.taken.map(({ type, data }) => [type, data.proposal_id, data.outcome ?? null]), [
      ['proposal.pending', id, null], ['proposal.unknown', id, 'unknown'], ['proposal.committed', id, 'completed'],
    ])
    assert.equal(on.effects(), 1)
    const { headers, body, data } = hook.taken[2]!
    assert.ok(new Webhook(secret).verify(body, headers))
    assert.equal(data.url, `${ORIGIN}/approvals/${id}`)
    assert.equal(new Set(hook.taken.map(one => one.headers['webhook-id'])).size, 3)
    assert.equal((await on.commit(id)).body.duplicate, true)
    await new Promise(resolve => setTimeout(resolve, 200))
    assert.equal(hook.taken.length, 3, 'who asks again changes nothing')
    assert.ok((await on.broker.metrics()).includes('aval_proposals_total{kind="call",became="committed"} 1\n'), 'counted once')
  })

  test('to a fault of the broker itself is told the same way', async t => {
    const { on, hook } = await ground(t, undefined, 'sqlite', { env: { AVAL_FAILPOINTS: 'before_settle:error' } })
    const id = await on.propose()
    await on.approve(id)
    assert.equal((await on.commit(id)).body.outcome, 'unknown')
    await hook.came(3)
    assert.deepEqual(hook.taken.map(({ type, data }) => [type, data.outcome ?? null]), [
      ['proposal.pending', null], ['proposal.unknown', 'unknown'], ['proposal.committed', 'completed'],
    ])
    assert.equal(on.effects(), 1)
  })

  test('is told again when a person has said what came of it', async t => {
    const { on, hook } = await ground(t, undefined, 'sqlite', { edit: site => editYaml(site, `shop/${CHANGE}.yaml`, sheet => sheet.set('lookup', 'none')) })
    const id = await on.propose()
    await on.approve(id)
    on.shop.faults.arm({ kind: 'drop' }, change)
    const { attempt_id: attempt } = (await on.commit(id)).body
    const control = join(on.site.folder, 'data', 'control.sock')
    await eventually(async () => (await askControl(control, { command: 'resolve', id: attempt, outcome: 'rejected', code: null, note: 'not there' })).ok, 'a person says so')
    await hook.came(3)
    assert.deepEqual(hook.taken.map(({ type, data }) => [type, data.outcome ?? null]), [
      ['proposal.pending', null], ['proposal.unknown', 'unknown'], ['proposal.committed', 'rejected'],
    ])
    assert.equal(on.effects(), 0)
  })
})

test('a receiver that keeps the checkpoints of the audit can show that rows were cut off', async t => {
  const { on, hook } = await ground(t, undefined, 'sqlite', { events: ['audit.checkpoint'] })
  for (let round = 0; round < 11; round++) await Promise.all(Array.from({ length: 100 }, () => on.broker.call(on.token, 'no_such_action.v1', {})))
  await hook.came(1)
  const folder = join(on.site.folder, 'data', 'audit')
  const kept = join(on.site.folder, 'kept')
  writeFileSync(kept, hook.taken.map(({ data }) => data.note).join(''))
  const checkpointsFile = kept
  await on.broker.close()
  const whole = await verifyAudit(folder, { checkpointsFile })
  assert.deepEqual(whole.findings, [])
  const { writer, size } = hook.taken.at(-1)!.data
  assert.ok(size >= 1_000)
  const [name] = readdirSync(folder).filter(one => one.startsWith(writer) && one.endsWith('.jsonl'))
  const lines = readFileSync(join(folder, name!), 'utf8').trimEnd().split('\n')
  writeFileSync(join(folder, name!), `${lines.slice(0, 500).join('\n')}\n`)
  rmSync(join(folder, `${writer}.checkpoints`))
  const cut = await verifyAudit(folder, { checkpointsFile })
  assert.ok(cut.findings.some(({ kind }) => kind === 'truncated'), JSON.stringify(cut.findings))
})
