// What can be seen of consent in Prometheus: whether anybody looks, and whether what is approved is read.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMetrics, type Metrics } from '../../src/telemetry/metrics.ts'
import { advanceProposal, type ProposalRecord } from '../../src/consent/proposal.ts'
import { proposal, saying, TERMS, type Saying } from '../store/proposal-drafts.ts'

async function seriesOf (metrics: Metrics, name: string): Promise<readonly string[]> {
  return (await metrics.text()).split('\n').filter(line => line.startsWith(name) && !line.endsWith(' 0')).sort()
}

const made = (grant: ProposalRecord['grant'] = null): ProposalRecord =>
  ({ ...proposal({ grant }), createdAtMs: 1_000, pendingUntilMs: 901_000, hardUntilMs: 3_601_000 })

function decided (record: ProposalRecord, said: Saying, atMs: number, msOnPage: number | null): ProposalRecord {
  const event = saying(record, said)
  if (event.type !== 'decide') throw new Error('no decision')
  const advance = advanceProposal(record, { ...event, decision: { ...event.decision, shown: { ...event.decision.shown, msOnPage } } }, atMs)
  if (advance.kind !== 'changed') throw new Error(advance.kind)
  return advance.record
}

test('what became of proposals is counted by kind, and every series is there from the start', async () => {
  const metrics = createMetrics()
  const text = await metrics.text()
  for (const series of ['aval_proposals_total{kind="session",became="expired"} 0', 'aval_denials_total{reason="suspicious"} 0',
    'aval_proposals_invalidated_total{cause="target_changed"} 0', 'aval_fast_approvals_total 0', 'aval_proposals_undecided 0']) assert.ok(text.includes(series), series)
  for (const type of ['pending', 'expired', 'withdrawn', 'extended'] as const) metrics.consent({ type, record: made() })
  metrics.consent({ type: 'revoked', record: made(TERMS) })
  metrics.consent({ type: 'committed', record: made(), outcome: 'completed' })
  metrics.consent({ type: 'locked', epoch: 3, atMs: 4 })
  metrics.consent({ type: 'invalidated', record: { ...made(), state: 'invalidated', cause: 'policy_changed' } })
  assert.deepEqual(await seriesOf(metrics, 'aval_proposals_'), [
    'aval_proposals_invalidated_total{cause="policy_changed"} 1',
    ...['committed', 'expired', 'invalidated', 'pending', 'withdrawn'].map(became => `aval_proposals_total{kind="call",became="${became}"} 1`),
    'aval_proposals_total{kind="session",became="revoked"} 1',
  ])
})

test('how long people took, what was approved without being read, and why they said no', async () => {
  const metrics = createMetrics()
  metrics.consent({ type: 'approved', record: decided(made(), {}, 3_000, 2_999) })
  metrics.consent({ type: 'approved', record: decided(made(), {}, 61_000, 3_000) })
  metrics.consent({ type: 'voted', record: decided(made(), {}, 21_000, null) })
  metrics.consent({ type: 'denied', record: decided(made(), { decision: 'deny' }, 5_000, 100) })
  assert.deepEqual(await seriesOf(metrics, 'aval_fast_approvals_total'), ['aval_fast_approvals_total 1'])
  assert.deepEqual(await seriesOf(metrics, 'aval_denials_total'), ['aval_denials_total{reason="not_now"} 1'])
  const seconds = await seriesOf(metrics, 'aval_decision_duration_seconds')
  for (const line of ['aval_decision_duration_seconds_count{decision="approve"} 3', 'aval_decision_duration_seconds_sum{decision="approve"} 82',
    'aval_decision_duration_seconds_bucket{le="3",decision="approve"} 1', 'aval_decision_duration_seconds_sum{decision="deny"} 4']) assert.ok(seconds.includes(line), line)
})

test('what waits for people, and since when', async () => {
  const metrics = createMetrics()
  metrics.waiting({ undecided: 4, oldestAgeMs: 61_500 })
  assert.deepEqual([...await seriesOf(metrics, 'aval_proposals_undecided'), ...await seriesOf(metrics, 'aval_oldest_undecided')],
    ['aval_proposals_undecided 4', 'aval_oldest_undecided_age_seconds 61.5'])
  metrics.waiting({ undecided: 0, oldestAgeMs: null })
  assert.deepEqual(await seriesOf(metrics, 'aval_oldest_undecided'), [])
})
