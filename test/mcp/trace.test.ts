// The runtime's trace id goes from the request into the line of the log, over both faces, and nothing else of it does.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeShopSite, startBrokerProcess } from '../support/broker.ts'
import { callTool, ERAS } from './speak.ts'

const traceOf = (digit: string): string => digit.repeat(32)
const parentOf = (trace: string): string => `00-${trace}-00f067aa0ba902b7-01`

test('a trace id stands in the line of its call, and what is none stands nowhere', async t => {
  const site = await makeShopSite()
  const broker = await startBrokerProcess(site, { AVAL_LOG: 'info' })
  t.after(async () => {
    await broker.kill9()
    await site.shop.close()
    site.remove()
  })
  const token = await site.token()
  const args = { customer_id: 'cus_1001' }
  for (const [index, era] of ERAS.entries()) {
    await callTool(broker.agentsUrl, token, 'get_customer_v1', args, { era, meta: { traceparent: parentOf(traceOf(String(index + 1))) } })
    for (const traceparent of ['not-a-trace', parentOf(traceOf('0')), 7, `00-${'a'.repeat(31)}-00f067aa0ba902b7-01`]) {
      await callTool(broker.agentsUrl, token, 'get_customer_v1', args, { era, meta: { traceparent } })
    }
  }
  await fetch(`${broker.agentsUrl}/v1/actions/get_customer.v1`, {
    method: 'POST', headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', traceparent: parentOf(traceOf('3')) }, body: JSON.stringify({ arguments: args }),
  })
  const lines = (): any[] => broker.log().split('\n').filter(line => line.includes('"msg":"call"')).map(line => JSON.parse(line))
  const endsAtMs = performance.now() + 15_000
  while (lines().length < 11 && performance.now() < endsAtMs) await new Promise(resolve => setTimeout(resolve, 20))
  assert.deepEqual(lines().flatMap(line => line.trace_id ?? []).sort(), ['1', '2', '3'].map(traceOf))
  assert.doesNotMatch(broker.log(), /not-a-trace|00f067aa/)
})
