// `aval audit missing`: on the audit of a real broker that agents asked for things.
import assert from 'node:assert/strict'
import { appendFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { main } from '../../src/cli.ts'
import { startShopBroker } from '../support/shop-broker.ts'

interface Told { readonly code: number, readonly out: string, readonly err: string }

async function missing (...argv: readonly string[]): Promise<Told> {
  let [out, err] = ['', '']
  const code = await main(['audit', 'missing', ...argv], {
    env: { AVAL_ACTIONS: 'actions', AVAL_OPENAPI: 'openapi' },
    print: text => { out += `${text}\n` },
    tell: text => { err += `${text}\n` },
    startBroker: () => { throw new Error('nothing here starts a broker') },
  })
  return { code, out, err }
}

test('names that nobody offers are counted, most asked first; what exists and is only not granted is no gap', async t => {
  const works = await startShopBroker(t)
  const reader = await works.mint({ roles: ['shop_reader'], run: 'run-2', sub: 'agent-2' })
  for (let n = 0; n < 3; n++) await works.call('get_invoice.v1', {})
  await works.call('get_invoice.v1', {}, { token: reader })
  await works.call('place_ordr.v1', {})
  await works.call('\u202epay_me_now\u001b[31m', {}).catch(() => {})
  // Offered to others.
  await works.call('place_order.v1', {}, { token: reader })
  // Offered and refused for another reason.
  await works.call('get_customer.v1', {})
  await works.broker.close()
  const audit = join(works.data, 'audit')
  const { code, out } = await missing(audit)
  assert.equal(code, 1)
  const lines = out.trim().split('\n')
  assert.match(lines[0]!, /^"get_invoice\.v1" 4 times, by 2 agents in 2 runs, last 20\d\d-/)
  assert.ok(lines.some(line => /^"place_ordr\.v1" 1 time, by 1 agent in 1 run, .*; near place_order\.v1$/.test(line)), out)
  assert.doesNotMatch(out, /"place_order\.v1"|get_customer/)
  assert.doesNotMatch(out, /[\u001b\u202e]/)
  const { ok, missing: listed } = JSON.parse((await missing(audit, '--json')).out)
  assert.deepEqual([ok, listed[0].name, listed[0].count, listed[0].agents, listed[0].near], [false, 'get_invoice.v1', 4, 2, null])
})

test('an audit without such a name is clean; a damaged one is read as far as it goes, and says so', async t => {
  const works = await startShopBroker(t)
  await works.call('get_customer.v1', {})
  const audit = join(works.data, 'audit')
  await works.broker.close()
  assert.deepEqual([(await missing(audit)).code, (await missing(audit)).err], [0, 'no agent asked for an action that nobody offers\n'])
  const chain = readdirSync(audit).find(name => name.endsWith('.jsonl'))!
  appendFileSync(join(audit, chain), '{"not": "a row"}\n')
  assert.match((await missing(audit)).err, /was read up to row \d+: .*aval audit verify says more/)
})

test('a folder that is not there ends with 2', async () => {
  const { code, out, err } = await missing('/nonexistent/audit')
  assert.deepEqual([code, out], [2, ''])
  assert.match(err, /cannot be read \(ENOENT\)/)
})
