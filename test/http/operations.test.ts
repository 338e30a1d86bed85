import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { buildOperations, type OperationsOptions } from '../../src/http/operations/operations.ts'
import { say } from './boundary.ts'

async function start (t: TestContext, given: Partial<OperationsOptions> = {}): Promise<{ readonly url: string }> {
  const app = buildOperations({
    hosts: ['127.0.0.1'],
    trustProxy: [],
    tls: null,
    rates: null,
    draining: () => false,
    events: { refused: () => {}, fault: () => {} },
    metrics: async () => ({ contentType: 'text/plain; version=0.0.4; charset=utf-8', text: 'aval_up 1\n' }),
    dependencies: async () => [{ name: 'store', ok: true, detail: null }],
    ...given,
  })
  t.after(() => app.close())
  return { url: await app.listen({ host: '127.0.0.1', port: 0 }) }
}

test('metrics are the text that was handed in, with its type', async t => {
  const said = await say(await start(t), '/metrics')
  assert.deepEqual([said.status, said.text, said.headers.get('content-type')], [200, 'aval_up 1\n', 'text/plain; version=0.0.4; charset=utf-8'])
})

test('the broker is alive whatever it depends on, and ready only with all of it', async t => {
  const dependencies = [{ name: 'store', ok: false, detail: 'does not answer' }, { name: 'audit', ok: true, detail: null }]
  const operations = await start(t, { dependencies: async () => dependencies })
  assert.deepEqual([(await say(operations, '/healthz')).status, (await say(operations, '/healthz')).json], [200, { ok: true }])
  const ready = await say(operations, '/readyz')
  assert.deepEqual([ready.status, ready.json], [503, { ok: false, draining: false, dependencies }])
  dependencies[0]!.ok = true
  assert.equal((await say(operations, '/readyz')).status, 200)
})

test('a broker that drains is alive and measured, and not ready', async t => {
  const operations = await start(t, { draining: () => true })
  for (const path of ['/healthz', '/metrics']) assert.equal((await say(operations, path)).status, 200, path)
  const ready = await say(operations, '/readyz')
  assert.deepEqual([ready.status, ready.json.draining], [503, true])
})

test('metrics that cannot be had are a fault of the broker, told without its cause', async t => {
  const faults: unknown[] = []
  const operations = await start(t, {
    metrics: () => Promise.reject(new Error('secret words')),
    events: { refused: () => {}, fault: event => { faults.push(event.error) } },
  })
  const said = await say(operations, '/metrics')
  assert.deepEqual([said.status, said.json.error.code, faults.length], [500, 'INTERNAL', 1])
  assert.doesNotMatch(said.text, /secret words/)
})

test('nothing else lives there, and Host is checked there too', async t => {
  const operations = await start(t)
  for (const path of ['/', '/v1/actions', '/docs', '/openapi.json', '/mcp', '/approvals', '/operator', '/debug/pprof']) {
    assert.equal((await say(operations, path, { headers: { authorization: 'Bearer good' } })).status, 404, path)
  }
  assert.equal((await say(operations, '/metrics', { method: 'POST' })).status, 405)
  assert.equal((await say(operations, '/metrics?x=1')).status, 400)
  const other = operations.url.replace('127.0.0.1', 'localhost')
  assert.equal((await say({ url: other }, '/metrics')).status, 421)
})
