// What a broker tells of proposals by itself: in its metrics and in its audit, and that what is overdue ends without anybody asking.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { PENDING_MAX } from '../../src/consent/proposal.ts'
import { eventually } from '../store/drafts.ts'
import { proposal } from '../store/proposal-drafts.ts'
import { makeSite, startTestBroker } from '../support/broker.ts'
import { consentStage, type Stage } from './stage.ts'

function rowsOf ({ site }: Stage): ReadonlyArray<Record<string, any>> {
  const folder = join(site.folder, 'data', 'audit')
  const files = readdirSync(folder, { recursive: true }).map(String).filter(name => name.endsWith('.jsonl') && !/checkpoint/.test(name))
  return files.flatMap(name => readFileSync(join(folder, name), 'utf8').trim().split('\n').filter(line => line !== '').map(line => JSON.parse(line)))
}

const has = (on: Stage, series: string): Promise<void> =>
  eventually(async () => (await on.broker.metrics()).split('\n').includes(series), series)

test('a proposal is counted when it is made and when it is committed, and the audit says what used it up before the attempt ends', async t => {
  const on = await consentStage(t, 'sqlite')
  const id = await on.propose()
  await has(on, 'aval_proposals_total{kind="call",became="pending"} 1')
  await on.approve(id)
  const committed = await on.commit(id)
  assert.equal(committed.status, 200)
  await has(on, 'aval_proposals_total{kind="call",became="committed"} 1')
  await eventually(async () => rowsOf(on).some(({ event }) => event === 'execution.result'), 'the end is in the audit')
  const { digest } = await on.record(id)
  const told = rowsOf(on).filter(row => row.proposal?.id === id && row.event !== 'action.called').map(({ event, proposal, attempt }) => [event, proposal.digest, attempt?.id])
  const { attempt_id } = committed.body
  assert.deepEqual(told, [['proposal.made', digest, undefined], ['proposal.consumed', digest, attempt_id], ['execution.result', undefined, attempt_id]])
})

for (const kind of ['sqlite', 'redis'] as const) {
  test(`${kind}: what nobody decides in time expires by itself, and is counted and written down once`, async t => {
    const on = await consentStage(t, kind)
    const made = await on.store().propose(proposal({ pendingMs: 200 }), null, PENDING_MAX)
    assert.equal(made.kind, 'proposed')
    const other = kind === 'redis' ? await on.another() : null
    await eventually(async () => made.kind === 'proposed' && (await on.record(made.record.id)).state === 'expired', 'it expires')
    await new Promise(resolve => setTimeout(resolve, 1_500))
    const told = await Promise.all([on.broker, other].map(async broker => (await broker?.metrics() ?? '').split('\n').filter(line => line === 'aval_proposals_total{kind="call",became="expired"} 1').length))
    assert.equal(told[0]! + told[1]!, 1)
    if (other === null) {
      const ended = rowsOf(on).filter(({ event }) => event === 'proposal.ended')
      assert.deepEqual(ended.map(({ what, proposal }) => [what, proposal.state]), [['expired', 'expired']])
    }
  })
}

test('a file of principals with faults is no start, and one without is', async t => {
  const site = await makeSite({ files: { 'actions/policy.yaml': 'roles: {}\n' } })
  t.after(() => site.remove())
  const path = join(site.folder, 'people.yaml')
  writeFileSync(path, 'people:\n  ann: [{iss: "https://idp.example", subject: "1"}]\n')
  await assert.rejects(startTestBroker(site, { AVAL_PRINCIPALS: `file:${path}` }), /AVAL_PRINCIPALS names a file with faults:\n[^]*people\.yaml:2:38 unknown-field there is no field "subject"/)
  writeFileSync(path, 'people:\n  ann: [{iss: "https://idp.example", sub: "1"}]\n')
  const broker = await startTestBroker(site, { AVAL_PRINCIPALS: `file:${path}` })
  await broker.close()
})
