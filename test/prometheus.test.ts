// A real Prometheus reads a running broker; what it knows afterwards is asked of its own API.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { test, type TestContext } from 'node:test'
import { makeShopSite, startTestBroker, type ShopSite, type TestBroker } from './support/broker.ts'
import { startPrometheus, type Series } from './support/prometheus.ts'

async function startShopBroker (t: TestContext): Promise<{ site: ShopSite, broker: TestBroker, target: string }> {
  const site = await makeShopSite()
  t.after(() => site.remove())
  t.after(() => site.shop.close())
  const broker = await startTestBroker(site).catch(async error => {
    await site.shop.close()
    throw error
  })
  t.after(() => broker.close())
  return { site, broker, target: new URL(broker.operationsUrl).host }
}

test('Prometheus scrapes a running broker, and knows of each call what became of it', async t => {
  const { site, broker, target } = await startShopBroker(t)
  const prometheus = await startPrometheus(t, target)
  const up = await prometheus.until('up{job="aval"}', series => series[0]?.value === 1)
  assert.deepEqual(up.map(({ labels, value }) => [labels['instance'], value]), [[target, 1]])

  const token = await site.token()
  for (const status of [200, 200, 200, 422, 422]) {
    const answer = await broker.call(token, 'get_customer.v1', { customer_id: status === 200 ? 'cus_1001' : 'nobody' })
    assert.equal(answer.status, status)
  }
  assert.equal((await broker.call(token, 'no_such_action.v1', {})).status, 404)
  const written = await broker.call(token, 'cancel_order.v1', { customer_id: 'cus_1001', order_id: 'ord_1001' })
  assert.equal(written.body.outcome, 'completed')

  const sum = (series: readonly Series[]): number => series.reduce((total, { value }) => total + value, 0)
  const calls = await prometheus.until('sum by (action, version, outcome, code, step) (aval_calls_total)', series => sum(series) === 7)
  const names = ['action', 'version', 'outcome', 'code', 'step']
  const told = calls.map(({ labels, value }) => [...names.map(name => labels[name]), value].join(' ')).sort()
  assert.deepEqual(told, [
    'cancel_order 1 completed none record 1',
    'get_customer 1 completed none record 3',
    'get_customer 1 rejected INVALID_ARGUMENTS arguments 2',
    'none none rejected UNKNOWN_ACTION capability 1',
  ])
  const values = [
    ['aval_argument_refusals_total{action="get_customer",field="/customer_id",rule="pattern"}', 2],
    ['aval_call_duration_seconds_count{action="get_customer",outcome="completed"}', 3],
    ['sum(aval_upstream_duration_seconds_count{kind="write"})', 1],
    ['aval_integrity_alarms_total{what="second_send"}', 0],
    ['aval_attempts{state="unknown"}', 0],
    ['count(aval_catalog_info)', 1],
    ['histogram_quantile(0.99, sum by (le) (aval_call_duration_seconds_bucket)) > bool 0', 1],
  ] as const
  for (const [promql, value] of values) {
    assert.equal((await prometheus.until(promql, series => series[0]?.value === value))[0]?.value, value, promql)
  }
  // It has read them as what they are.
  const metadata = await prometheus.get('/api/v1/metadata?metric=aval_calls_total')
  assert.equal(metadata.aval_calls_total[0].type, 'counter')

  await broker.close()
  const down = await prometheus.until('up{job="aval"}', series => series[0]?.value === 0)
  assert.equal(down[0]?.value, 0)
})

test('what a running broker tells of 500 calls full of made-up names stays small, and promtool has nothing to say about it', async t => {
  const { site, broker } = await startShopBroker(t)
  const calls = async (count: number): Promise<void> => {
    for (let done = 0; done < count; done += 25) {
      await Promise.all(Array.from({ length: 25 }, async (_, index) => {
        // Every part of a call that an agent chooses is another one each time.
        const made = (): string => randomUUID().replaceAll('-', '_')
        const token = await site.token({ sub: `agent-${made()}`, tenant: `t-${made()}`.slice(0, 60), run: made() })
        const calling = [
          () => broker.call(token, `${made().replace(/^[0-9]/, 'a').slice(0, 30)}.v1`, {}),
          () => broker.call(token, 'get_customer.v1', { [made()]: 1, customer_id: 'cus_1001' }),
          () => broker.call(token, 'get_customer.v1', { customer_id: made() }, made()),
          () => broker.call(token, 'change_shipping_address.v2', { customer_id: 'cus_1001', destination: { [made()]: made() } }),
          () => broker.get(token, `/v1/attempts/att_${made()}`),
        ][index % 5]!
        const { status } = await calling()
        assert.ok(status >= 400 && status < 500, String(status))
      }))
    }
  }
  await calls(50)
  const before = seriesOf(await broker.metrics())
  await calls(500)
  const text = await broker.metrics()
  const after = seriesOf(text)
  const grown = [...after].filter(name => !before.has(name))
  // Not one series more: the first fifty calls met every field and every rule that the sheets have for them.
  assert.deepEqual(grown, [])
  assert.ok(after.size < 1_000, `${after.size} series`)
  assert.match(text, /aval_calls_total\{action="none",version="none",outcome="rejected",code="UNKNOWN_ACTION",step="capability"\} 110\n/)
  assert.match(text, /aval_argument_refusals_total\{action="get_customer",version="1",field="\/\?",rule="additionalProperties"\} 110\n/)

  const promtool = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' })
  assert.deepEqual([promtool.status, promtool.stdout, promtool.stderr], [0, '', ''])
})

/** Names with their labels, without the values. Those of the garbage collector and of what Node has open come with the kind, and the kinds are Node's own. */
const seriesOf = (text: string): ReadonlySet<string> => new Set(text.split('\n')
  .filter(line => line !== '' && !line.startsWith('#') && !/^aval_nodejs_(gc|active)_/.test(line))
  .map(line => line.slice(0, line.lastIndexOf(' '))))
