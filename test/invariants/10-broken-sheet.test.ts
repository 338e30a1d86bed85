// Invariant 10: a broken sheet refuses the whole load and the old catalog stays.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { readConfig } from '../../src/config.ts'
import { CatalogFaults } from '../../src/catalog/catalog.ts'
import type { ControlAnswer } from '../../src/http/control.ts'
import { startBroker } from '../../src/main.ts'
import { aval } from '../support/program.ts'
import type { ShopSite } from '../support/broker.ts'
import { controlOf, edited, shopGround, type ShopGround } from './ground.ts'

/** Each breaks one thing; beside it stands a change that is good, and must not be taken either. */
const BREAKS: ReadonlyArray<readonly [name: string, rule: RegExp, damage: (site: ShopSite) => void]> = [
  [
    'text that is no YAML',
    /^shop\/get_customer\.v1\.yaml:\d+:\d+ yaml/,
    site => edited(site, 'actions/shop/get_customer.v1.yaml', text => `${text}\n  : : [`),
  ],
  [
    'an unknown field',
    /^shop\/list_orders\.v1\.yaml:\d+:\d+ /,
    site => edited(site, 'actions/shop/list_orders.v1.yaml', text => `${text}\nretires: 3\n`),
  ],
  [
    'a misspelt field in an expression',
    /^shop\/cancel_order\.v1\.yaml:\d+:\d+ /,
    site => edited(site, 'actions/shop/cancel_order.v1.yaml', text => text.replace('reads.order.body.customer_id', 'reads.order.body.custumer_id')),
  ],
  [
    'an operation that the document lacks',
    /^shop\/get_customer\.v1\.yaml:\d+:\d+ /,
    site => edited(site, 'actions/shop/get_customer.v1.yaml', text => text.replace('operation: getCustomer', 'operation: getCustomers')),
  ],
  [
    'an open input',
    /^shop\/place_order\.v1\.yaml:\d+:\d+ /,
    site => edited(site, 'actions/shop/place_order.v1.yaml', text => text.replace('additionalProperties: false', 'additionalProperties: true')),
  ],
  [
    'an example that its schema refuses',
    /^shop\/get_customer\.v1\.yaml:\d+:\d+ /,
    site => edited(site, 'actions/shop/get_customer.v1.yaml', text => text.replace(/customer_id: cus_1001\}/, 'customer_id: 7}')),
  ],
  [
    'consent that is too weak',
    /^shop\/refund_order\.v1\.yaml:\d+:\d+ /,
    site => edited(site, 'actions/shop/refund_order.v1.yaml', text => text.replace('consent: call', 'consent: none')),
  ],
  [
    'a grant of what is not there',
    /^policy\.yaml:\d+:\d+ /,
    site => edited(site, 'actions/policy.yaml', text => text.replace('[start_deployment.v1]', '[start_deployments.v1]')),
  ],
  [
    'a ceiling that a grant exceeds',
    /^policy\.yaml:\d+:\d+ /,
    site => edited(site, 'actions/policy.yaml', text => text.replace('max_effect: irreversible_change', 'max_effect: observation')),
  ],
  ['no policy', /^policy\.yaml:\d+:\d+ file-missing/, site => rmSync(join(site.folder, 'actions', 'policy.yaml'))],
  ['no upstream.yaml', /^shop\/upstream\.yaml:\d+:\d+ file-missing/, site => rmSync(join(site.folder, 'actions', 'shop', 'upstream.yaml'))],
  [
    'a document that is not there',
    /^shop\/upstream\.yaml:\d+:\d+ document-unknown/,
    site => edited(site, 'actions/shop/upstream.yaml', text => text.replace('openapi: shop.yaml', 'openapi: shops.yaml')),
  ],
  ['a stray file', /file-misplaced/, site => writeFileSync(join(site.folder, 'actions', 'shop', 'notes.yaml'), 'a: 1\n')],
]

const inForce = async ({ broker }: ShopGround, token: string): Promise<unknown> => {
  const { body } = await broker.get(token, '/v1/actions?limit=200')
  const digest = /^aval_catalog_info\{digest="([0-9a-f]+)"\} 1$/m.exec(await broker.metrics())?.[1]
  return [digest, body.actions]
}

describe('a broken sheet refuses the whole load', { concurrency: true }, () => {
  test('a reload with one fault changes nothing, says what is wrong and where, and what was good in it is not taken either', async t => {
    const ground = await shopGround(t, 'sqlite')
    const { site, broker, shop } = ground
    const token = await ground.token({ run: 'run-1' })
    const before = await inForce(ground, token)
    for (const [name, wanted, damage] of BREAKS) {
      const mended = snapshot(site)
      damage(site)
      edited(site, 'actions/shop/quote_order.v1.yaml', text => text.replace('title: Quote an order', 'title: Another title'))
      const answer = await controlOf(site, { command: 'reload' })
      assert.equal(answer.ok, false, name)
      assert.ok(faultsIn(answer).some(line => wanted.test(line)), `${name}: ${faultsIn(answer).join('\n')}`)
      await assert.rejects(broker.reload(), CatalogFaults, name)
      assert.deepEqual(await inForce(ground, token), before, name)
      const { body } = await broker.call(token, 'get_customer.v1', { customer_id: 'cus_1001' })
      assert.deepEqual([body.outcome, body.result.customer_id], ['completed', 'cus_1001'], name)
      mended()
    }
    assert.ok(shop.requests.every(({ key }) => key === 'read'))
    // All faults of a set at once.
    for (const [, , damage] of [BREAKS[2]!, BREAKS[3]!, BREAKS[7]!]) damage(site)
    const answer = await controlOf(site, { command: 'reload' })
    for (const index of [2, 3, 7]) assert.ok(faultsIn(answer).some(line => BREAKS[index]![1].test(line)), faultsIn(answer).join('\n'))
    assert.deepEqual(await inForce(ground, token), before)
  })

  test('a good set is taken whole, and calls under way end by the definition that they began with', async t => {
    const ground = await shopGround(t, 'sqlite')
    const { site, broker, shop } = ground
    const token = await ground.token({ run: 'run-1' })
    const [digest] = await inForce(ground, token) as [string, unknown]
    shop.faults.arm({ kind: 'delay', delayMs: 1_000 }, { method: 'POST', path: '/orders' })
    const call = broker.call(token, 'place_order.v1', { customer_id: 'cus_1001', sku: 'TEA-250', quantity: 1, max_total_minor: 5_000 }, 'key-1')
    while (shop.ledger.length === 0) await new Promise(resolve => setTimeout(resolve, 10))
    edited(site, 'actions/shop/place_order.v1.yaml', text => text.replace('title: Reserve goods for a customer', 'title: Another title')
      .replace('    order_id: ${response.body.id}\n', '    order_id: "${response.body.id + \'-new\'}"\n'))
    await broker.reload()
    const [next, actions] = await inForce(ground, token) as [string, ReadonlyArray<{ readonly action: string, readonly title: string }>]
    assert.notEqual(next, digest)
    assert.equal(actions.find(one => one.action === 'place_order.v1')!.title, 'Another title')
    assert.equal((await call).body.result.order_id, shop.ledger[0]!.object, 'the old view')
    const after = await broker.call(
      token,
      'place_order.v1',
      { customer_id: 'cus_1001', sku: 'TEA-250', quantity: 2, max_total_minor: 5_000 },
      'key-2',
    )
    assert.equal(after.body.result.order_id, `${shop.ledger[1]!.object}-new`)
  })

  test('a broker does not start on a broken set: exit code 2, every fault with its place, and nobody is served', async t => {
    const { site, broker } = await shopGround(t, 'sqlite')
    await broker.close()
    BREAKS[2]![2](site)
    BREAKS[7]![2](site)
    await assert.rejects(async () => startBroker(readConfig(site.env)), CatalogFaults)
    const { code, stdout, stderr } = await aval(t, ['serve', '--json'], { env: site.env as Record<string, string> })
    assert.equal(code, 2)
    assert.doesNotMatch(stdout, /127\.0\.0\.1/)
    for (const index of [2, 7]) assert.ok(`${stdout}${stderr}`.split('\n').some(line => BREAKS[index]![1].test(line)), stderr)
  })
})

const faultsIn = (answer: ControlAnswer): readonly string[] =>
  (answer.ok ? [] : answer.error.faults ?? []).map(({ file, line, column, rule, message }) => `${file}:${line}:${column} ${rule} ${message}`)

/** Puts every file of `actions/` back as it was. */
function snapshot (site: ShopSite): () => void {
  const folder = join(site.folder, 'actions')
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.yaml')).map(name => join(folder, name))
  const kept = paths.map(path => [path, readFileSync(path, 'utf8')] as const)
  return () => {
    rmSync(join(site.folder, 'actions', 'shop', 'notes.yaml'), { force: true })
    for (const [path, text] of kept) writeFileSync(path, text)
  }
}
