import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { createMetrics, type Metrics } from '../../src/telemetry/metrics.ts'
import { fieldsOf } from '../../src/telemetry/fields.ts'
import { ACTION, attemptEvent, callEvent, CATALOG, refusalEvent } from './events.ts'

function measured (): Metrics {
  const metrics = createMetrics()
  metrics.catalog(CATALOG)
  return metrics
}

/** The value of one series, or null where there is none. */
async function valueOf (metrics: Metrics, series: string): Promise<number | null> {
  const line = (await metrics.text()).split('\n').find(text => text.startsWith(`${series} `))
  return line === undefined ? null : Number(line.slice(series.length + 1))
}

function tellEverything (metrics: Metrics): void {
  metrics.call(callEvent())
  metrics.call(refusalEvent())
  metrics.attempt(attemptEvent('att_1'))
  metrics.attempts({ unknown: 3, pending: 1, escalated: 2, oldestUnknownAgeMs: 61_500 })
  metrics.lookup({ actionId: ACTION, finding: 'settled', durationMs: 12 })
  metrics.upstream({ upstream: 'shop', kind: 'write', result: 'lost', cause: 'reset', status: null, durationMs: 30 })
  metrics.upstream({ upstream: 'shop', kind: 'read', result: 'answer', cause: null, status: 404, durationMs: 30 })
  metrics.retried({ actionId: ACTION, retry: 'safe' })
  metrics.store({ verb: 'begin', ok: true, durationMs: 0.4 })
  metrics.integrity({ attemptId: 'att_1', what: 'second_send' })
  metrics.withheld({ actionId: ACTION, code: 'RESULT_WITHHELD' })
  metrics.reloaded('refused')
  metrics.httpRefused('MISDIRECTED')
  metrics.keySetLoaded({ ok: true, keys: 2 })
  metrics.audit.synced(7, 1.5)
  metrics.audit.waiting(4)
  metrics.audit.fault('sync')
  metrics.audit.lost(1)
}

describe('the metrics', () => {
  test('pass promtool check metrics', async () => {
    const metrics = measured()
    tellEverything(metrics)
    const text = await metrics.text()
    const said = await new Promise<string>((resolve, reject) => {
      const child = execFile(
        'promtool', ['check', 'metrics'],
        (error, stdout, stderr) => error === null ? resolve(stdout + stderr) : reject(new Error(`${error.message}\n${stdout}${stderr}`)),
      )
      child.stdin!.end(text)
    })
    assert.equal(said, '')
  })

  test('all begin with aval_ and say what they measure', async () => {
    const text = await measured().text()
    for (const [, name, help] of text.matchAll(/^# HELP (\S+) (.*)$/gm)) {
      assert.match(name!, /^aval_[a-z0-9_]+$/)
      assert.ok(help!.length > 5, `${name} has no help`)
    }
  })

  const told: ReadonlyArray<[string, number]> = [
    ['aval_calls_total{action="place_order",version="1",outcome="completed",code="none",step="record"}', 1],
    ['aval_calls_total{action="place_order",version="1",outcome="rejected",code="INVALID_ARGUMENTS",step="arguments"}', 1],
    ['aval_call_duration_seconds_sum{action="place_order",version="1",outcome="completed"}', 0.00625],
    ['aval_argument_refusals_total{action="place_order",version="1",field="/quantity",rule="maximum"}', 1],
    ['aval_attempt_changes_total{by="lookup",state="settled",outcome="completed"}', 1],
    ['aval_attempts{state="unknown"}', 3],
    ['aval_attempts{state="escalated"}', 2],
    ['aval_oldest_unknown_age_seconds', 61.5],
    ['aval_lookups_total{action="place_order",version="1",finding="settled"}', 1],
    ['aval_upstream_duration_seconds_count{upstream="shop",kind="write",result="lost",status_class="none"}', 1],
    ['aval_upstream_duration_seconds_count{upstream="shop",kind="read",result="answer",status_class="4xx"}', 1],
    ['aval_upstream_faults_total{upstream="shop",kind="write",result="lost",cause="reset"}', 1],
    ['aval_retries_total{action="place_order",version="1",retry="safe"}', 1],
    ['aval_store_duration_seconds_count{verb="begin",ok="true"}', 1],
    ['aval_integrity_alarms_total{what="second_send"}', 1],
    ['aval_integrity_alarms_total{what="foreign_record"}', 0],
    ['aval_results_withheld_total{action="place_order",version="1",code="RESULT_WITHHELD"}', 1],
    ['aval_catalog_reloads_total{result="refused"}', 1],
    ['aval_catalog_info{digest="c0ffee"}', 1],
    ['aval_catalog_actions', 1],
    ['aval_http_refusals_total{code="MISDIRECTED"}', 1],
    ['aval_key_set_keys', 2],
    ['aval_audit_rows_total', 7],
    ['aval_audit_waiting_rows', 4],
    ['aval_audit_faults_total{what="sync"}', 1],
    ['aval_audit_lost_rows_total', 1],
  ]
  for (const [series, value] of told) {
    test(`count what is told: ${series}`, async () => {
      const metrics = measured()
      tellEverything(metrics)
      assert.equal(await valueOf(metrics, series), value)
    })
  }

  test('name the catalog in force only', async () => {
    const metrics = measured()
    metrics.catalog({ ...CATALOG, digest: 'decaf' })
    assert.equal(await valueOf(metrics, 'aval_catalog_info{digest="c0ffee"}'), null)
    assert.equal(await valueOf(metrics, 'aval_catalog_info{digest="decaf"}'), 1)
  })

  test('know the codes of the table and of the sheet, and no others', async () => {
    const metrics = measured()
    metrics.call(callEvent({ outcome: 'rejected', step: 'facts', code: 'OUT_OF_STOCK' }))
    metrics.call(callEvent({ outcome: 'rejected', step: 'facts', code: 'MADE_UP' }))
    const series = (code: string): string => `aval_calls_total{action="place_order",version="1",outcome="rejected",code="${code}",step="facts"}`
    assert.equal(await valueOf(metrics, series('OUT_OF_STOCK')), 1)
    assert.equal(await valueOf(metrics, series('MADE_UP')), null)
    assert.equal(await valueOf(metrics, series('other')), 1)
  })

  test('never grow by what agents make up', async () => {
    const metrics = measured()
    tellEverything(metrics)
    // One of each kind of stranger first: after them, no further one may add a series.
    metrics.call(refusalEvent({ field: '/canary', rule: 'canary rule' }))
    metrics.call(refusalEvent({ field: '/items/0/canary', rule: 'canary rule' }))
    metrics.call(refusalEvent({ field: '/labels/canary/canary', rule: 'canary rule' }))
    metrics.call(refusalEvent({ actionId: null, asked: 'canary', code: 'UNKNOWN_ACTION', step: 'capability', field: null }))
    const before = seriesOf(await metrics.text())
    const name = fc.string({ minLength: 1, maxLength: 12 }).map(text => `canary${text.replaceAll('~', '~0').replaceAll('/', '~1')}`)
    await fc.assert(fc.asyncProperty(name, name, async (one, other) => {
      metrics.call(refusalEvent({ field: `/${one}`, rule: `${other} rule` }))
      metrics.call(refusalEvent({ field: `/items/0/${one}`, rule: `${other} rule` }))
      metrics.call(refusalEvent({ field: `/labels/${one}/${other}`, rule: `${other} rule` }))
      metrics.call(refusalEvent({ actionId: null, asked: one, code: 'UNKNOWN_ACTION', step: 'capability', field: `/${other}` }))
    }), { numRuns: 200 })
    const text = await metrics.text()
    assert.deepEqual(seriesOf(text), before)
    assert.doesNotMatch(text, /canary/)
  })
})

const seriesOf = (text: string): readonly string[] => text.split('\n').filter(
  line => /^aval_(calls|argument)/.test(line),
).map(line => line.replace(/ [^ ]*$/, ''))

describe('a field of the arguments', () => {
  const fields = fieldsOf(CATALOG)
  const cases: ReadonlyArray<[string, string, string]> = [
    ['/quantity', '/quantity', '/quantity'],
    ['/arguments/quantity', '/quantity', '/quantity'],
    ['', '', ''],
    ['/arguments', '', ''],
    ['/destination/country', '/destination/country', '/destination/country'],
    ['/items/17/sku', '/items/*/sku', '/items/17/sku'],
    ['/items/17', '/items/*', '/items/17'],
    ['/items/17/a~1b~0c', '/items/*/a~1b~0c', '/items/17/a~1b~0c'],
    ['/labels/mine/text', '/labels/*/text', '/labels/*/text'],
    ['/payment/card', '/payment/card', '/payment/card'],
    ['/payment/iban', '/payment/iban', '/payment/iban'],
    ['/tree/children/3/left/right', '/tree/children/*/left/right', '/tree/children/3/left/right'],
    ['/password', '/?', '/?'],
    ['/password/of/mine', '/?', '/?'],
    ['/destination/secret', '/destination/?', '/destination/?'],
    ['/items/0/secret', '/items/*/?', '/items/0/?'],
    ['/items/secret', '/items/*', '/items/*'],
    ['/quantity/deeper', '/quantity/?', '/quantity/?'],
    ['/__proto__', '/?', '/?'],
    ['/constructor', '/?', '/?'],
  ]
  for (const [pointer, label, shown] of cases) {
    test(`"${pointer}" is the label ${label} and is shown as ${shown}`, () => {
      assert.deepEqual(fields.bounded(ACTION, pointer), { label, pointer: shown })
    })
  }

  test('of an action that nothing knows is none', () => {
    assert.equal(fields.bounded('other.v1', '/quantity'), null)
  })

  test('is found soon in a schema that refers to itself many times over', () => {
    const branch = Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`p${index}`, { $ref: '#/$defs/node' }]))
    const inputSchema = { $ref: '#/$defs/node', $defs: { node: { allOf: [{ $ref: '#/$defs/node' }, { properties: branch }], properties: branch } } }
    const catalog = { ...CATALOG, actions: new Map([[ACTION, { id: ACTION, inputSchema, errors: [] }]]) } as unknown as typeof CATALOG
    assert.equal(fieldsOf(catalog).bounded(ACTION, '/p3')?.label, '/p3')
  })
})
