import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openAudit } from '../../src/telemetry/audit.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { createTelemetry, type BrokerTelemetry } from '../../src/telemetry/record.ts'
import { ACTION, AGENT, attemptEvent, callEvent, CATALOG, intentEvent, NOBODY, refusalEvent, resultEvent } from './events.ts'

const CANARY = 'canary-9e1f77a2'

interface Setting {
  readonly telemetry: BrokerTelemetry
  /** All that was written anywhere: log lines, audit files, metrics. */
  readonly written: () => Promise<{ readonly log: readonly string[], readonly audit: readonly string[], readonly metrics: string }>
}

async function setting (t: TestContext): Promise<Setting> {
  const folder = await mkdtemp(join(tmpdir(), 'aval-telemetry-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const metrics = createMetrics()
  metrics.catalog(CATALOG)
  const audit = await openAudit({ folder, keyId: 'hmac-1', metrics: metrics.audit, onFault: () => {} })
  t.after(() => audit.close())
  const log: string[] = []
  const logger = createLogger(
    { level: 'info', scrub: text => text.replaceAll(CANARY, '[secret]'), destination: { write: line => { log.push(line) } } },
  )
  return {
    telemetry: createTelemetry({ audit, metrics, logger }),
    async written () {
      await audit.sync()
      const files = (await readdir(folder)).filter(name => name.endsWith('.jsonl'))
      const lines = (await Promise.all(files.map(name => readFile(join(folder, name), 'utf8')))).join('').split('\n').filter(line => line !== '')
      return { log, audit: lines.slice(1), metrics: await metrics.text() }
    },
  }
}

describe('telemetry', () => {
  test('makes one audit line, one metric set and one log line of a call', async t => {
    const { telemetry, written } = await setting(t)
    telemetry.call(callEvent({ correlationId: 'cor_only' }))
    const { log, audit, metrics } = await written()
    assert.equal(log.filter(line => line.includes('cor_only')).length, 1)
    assert.equal(audit.filter(line => line.includes('cor_only')).length, 1)
    assert.match(metrics, /aval_calls_total\{action="place_order",version="1",outcome="completed",code="none",step="record"\} 1\n/)
  })

  test('counts and logs a caller without a token, and keeps no line of it', async t => {
    const { telemetry, written } = await setting(t)
    telemetry.call(refusalEvent({ actor: NOBODY, actionId: null, step: 'authenticate', code: 'UNAUTHENTICATED', field: null, rule: null }))
    const { log, audit, metrics } = await written()
    assert.equal(log.length, 1)
    assert.deepEqual(audit, [])
    assert.match(metrics, /aval_calls_total\{action="none",version="none",outcome="rejected",code="UNAUTHENTICATED",step="authenticate"\} 1\n/)
  })

  test('shows which field was refused, but no name that the schema does not have', async t => {
    const { telemetry, written } = await setting(t)
    telemetry.call(refusalEvent({ field: '/items/3/sku', rule: 'pattern' }))
    telemetry.call(refusalEvent({ field: `/items/3/${CANARY}`, rule: 'additionalProperties' }))
    telemetry.call(refusalEvent({ field: `/${CANARY}`, rule: 'additionalProperties', actionId: null }))
    const { log, audit, metrics } = await written()
    const fieldsOf = (lines: readonly string[]): unknown[] => lines.map(line => (JSON.parse(line) as { field?: string }).field)
    assert.deepEqual(fieldsOf(audit), ['/items/3/sku', '/items/3/?', undefined])
    assert.deepEqual(fieldsOf(log), ['/items/3/sku', '/items/3/?', undefined])
    assert.doesNotMatch([...log, ...audit, metrics].join(''), /canary|\[secret\]/)
  })

  test('shows a secret nowhere, whatever event it got into', async t => {
    const { telemetry, written } = await setting(t)
    const internal = `the upstream said ${CANARY}`
    telemetry.call(refusalEvent({ internal, field: `/quantity/${CANARY}` }))
    telemetry.call(callEvent({ internal, outcome: 'unknown', code: 'OUTCOME_UNKNOWN' }))
    telemetry.call(refusalEvent({ rule: CANARY, field: `/${CANARY}` }))
    await telemetry.intent(intentEvent('att_1'))
    telemetry.call(resultEvent('att_1', { internal }))
    const { log, audit, metrics } = await written()
    assert.equal(audit.length, 5)
    assert.doesNotMatch([...log, ...audit, metrics].join(''), /canary/)
  })

  test('lets an intent be durable before it resolves, and says that there is room', async t => {
    const { telemetry, written } = await setting(t)
    assert.equal(telemetry.hasRoom(), true)
    await telemetry.intent(intentEvent('att_1'))
    assert.match((await written()).audit.join(''), /"event":"execution.intent"/)
  })

  test('tells everything else where it belongs', async t => {
    const { telemetry, written } = await setting(t)
    telemetry.call(resultEvent('att_1'))
    telemetry.attempt(attemptEvent('att_2'))
    telemetry.lookup({ actionId: ACTION, finding: 'absent', durationMs: 3 })
    telemetry.upstream({ upstream: 'shop', kind: 'read', result: 'answer', cause: null, status: 200, durationMs: 3 })
    telemetry.retried({ actionId: ACTION, retry: 'unsent' })
    telemetry.store({ verb: 'recall', ok: false, durationMs: 3 })
    telemetry.integrity({ attemptId: 'att_1', what: 'second_send' })
    telemetry.withheld({ actionId: ACTION, code: 'RESULT_INVALID' })
    telemetry.reloaded({ result: 'refused', digest: null, faults: 3 })
    telemetry.runStopped({ actor: AGENT, note: null, correlationId: 'cor_stop' })
    const { log, audit, metrics } = await written()
    assert.deepEqual(audit.map(line => (JSON.parse(line) as { event: string }).event), [
      'execution.result', 'execution.resolved', 'integrity.alarm', 'response.withheld', 'sheet.reloaded', 'run.stopped',
    ])
    assert.deepEqual(log.map(line => (JSON.parse(line) as { msg: string }).msg), [
      'call', 'attempt changed', 'integrity alarm', 'result withheld', 'a new catalog was refused', 'a run was stopped',
    ])
    for (const series of [
      'aval_attempt_changes_total{by="lookup",state="settled",outcome="completed"} 1',
      'aval_lookups_total{action="place_order",version="1",finding="absent"} 1',
      'aval_upstream_duration_seconds_count{upstream="shop",kind="read",result="answer",status_class="2xx"} 1',
      'aval_retries_total{action="place_order",version="1",retry="unsent"} 1',
      'aval_store_duration_seconds_count{verb="recall",ok="false"} 1', 'aval_integrity_alarms_total{what="second_send"} 1',
      'aval_results_withheld_total{action="place_order",version="1",code="RESULT_INVALID"} 1', 'aval_catalog_reloads_total{result="refused"} 1',
    ]) assert.ok(metrics.includes(`${series}\n`), series)
  })

  test('tells calls a moment later, in their order, and whatever else is told comes after them', async t => {
    const { telemetry, written } = await setting(t)
    const names = async (): Promise<readonly string[]> => (await written()).audit.map(line => (JSON.parse(line) as { correlation_id?: string, event: string }))
      .map(row => row.correlation_id ?? row.event)
    for (const correlationId of ['cor_1', 'cor_2']) telemetry.callSoon(() => callEvent({ correlationId }))
    assert.deepEqual(await names(), [], 'nothing of it is told in the turn of the call')
    telemetry.integrity({ attemptId: 'att_1', what: 'second_send' })
    telemetry.callSoon(() => callEvent({ correlationId: 'cor_3' }))
    telemetry.flush()
    assert.deepEqual(await names(), ['cor_1', 'cor_2', 'integrity.alarm', 'cor_3'])
    telemetry.callSoon(() => callEvent({ correlationId: 'cor_4' }))
    while (!(await names()).includes('cor_4')) await sleep(5)
    for (let at = 0; at < 200; at++) telemetry.callSoon(() => callEvent({ correlationId: `many_${at}` }))
    assert.ok((await names()).length > 100, 'a flood is not kept')
  })

  test('tells the other calls where one of them cannot be told', async t => {
    const { telemetry, written } = await setting(t)
    telemetry.callSoon(() => { throw new Error('no such mark') })
    telemetry.callSoon(() => callEvent({ correlationId: 'cor_next' }))
    telemetry.flush()
    const { log, audit } = await written()
    assert.deepEqual([audit.length, log.some(line => line.includes('could not be recorded')), log.some(line => line.includes('cor_next'))], [1, true, true])
  })

  test('never throws into a call, even when an event is not what it should be', async t => {
    const { telemetry, written } = await setting(t)
    telemetry.call({ ...callEvent(), actor: null } as unknown as Parameters<BrokerTelemetry['call']>[0])
    telemetry.attempt(null as unknown as Parameters<BrokerTelemetry['attempt']>[0])
    assert.ok((await written()).log.some(line => line.includes('could not be recorded')))
  })
})
