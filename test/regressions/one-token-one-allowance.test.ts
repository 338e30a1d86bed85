import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeProbe } from '../hostile/probe.ts'
import { startTestBroker } from '../support/broker.ts'

test('a token has one allowance, however its header is written', async t => {
  const probe = await makeProbe(t, { env: { AVAL_RATE: 'token=1/s,address=100/s,burst=20s' } })
  const broker = await startTestBroker(probe.site)
  t.after(() => broker.close())
  const ask = async (authorization: string): Promise<number> => (await fetch(`${broker.agentsUrl}/v1/actions`, { headers: { authorization } })).status
  const statuses: number[] = []
  for (let blanks = 1; blanks <= 20; blanks++) {
    for (const scheme of ['Bearer', 'bEARER']) statuses.push(await ask(`${scheme}${' '.repeat(blanks)}${probe.token}`))
  }
  assert.equal(statuses.filter(status => status === 200).length, 20, statuses.join(' '))
  assert.ok(statuses.includes(429))
  // Another token of the same address is not hindered.
  assert.equal(await ask(`Bearer ${await probe.site.token({ roles: ['prober'] })}`), 200)
})
