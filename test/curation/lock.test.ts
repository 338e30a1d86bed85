// `aval lock` and AVAL_LOCK=strict: what was looked at is what is served.
import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { CatalogFaults } from '../../src/catalog/catalog.ts'
import { main } from '../../src/cli.ts'
import { BUNDLED } from '../../src/commands/demo/sheets.ts'
import type { Environment } from '../../src/config.ts'
import { startBroker } from '../../src/main.ts'
import { makeSite, startTestBroker } from '../support/broker.ts'

interface Told { readonly code: number, readonly out: string, readonly err: string }

async function aval (words: readonly string[], env: Environment): Promise<Told> {
  let [out, err] = ['', '']
  const code = await main(words, { env, print: text => { out += `${text}\n` }, tell: text => { err += `${text}\n` }, startBroker })
  return { code, out, err }
}

/** A copy of the bundled sheets, to be changed. */
function copied (t: TestContext): { readonly folder: string, readonly env: Environment, change (file: string, from: string | RegExp, to: string): void } {
  const folder = mkdtempSync(join(tmpdir(), 'aval-lock-'))
  t.after(() => rmSync(folder, { recursive: true }))
  for (const name of ['actions', 'openapi']) cpSync(BUNDLED[name === 'actions' ? 'actionsFolder' : 'openapiFolder'], join(folder, name), { recursive: true })
  return {
    folder,
    env: { AVAL_ACTIONS: join(folder, 'actions'), AVAL_OPENAPI: join(folder, 'openapi') },
    change (file, from, to) {
      const path = join(folder, file)
      const text = readFileSync(path, 'utf8')
      assert.notEqual(text.replace(from, to), text, `${file} has ${String(from)}`)
      writeFileSync(path, text.replace(from, to))
    },
  }
}

test('the lock names roles, versions, effects, consents, digests and judges, and is the same however often it is written', async t => {
  const { folder, env, change } = copied(t)
  assert.equal((await aval(['lock'], env)).code, 0)
  const text = readFileSync(join(folder, 'actions/aval.lock'), 'utf8')
  const lock = JSON.parse(text)
  assert.deepEqual(lock.roles.shop_reader, ['get_customer.v1', 'list_orders.v1'])
  const refund = lock.actions['refund_order.v1']
  assert.deepEqual([refund.version, refund.effect, refund.consent], [1, 'external_commitment', 'call'])
  assert.deepEqual(Object.keys(refund.operations), ['request refundOrder', 'reads/order getOrder', 'reads/refunds listRefunds', 'lookup listRefunds'])
  for (const digest of [refund.digest, refund.sheet, ...Object.values<string>(refund.operations)]) assert.match(digest, /^[0-9a-f]{64}$/)
  assert.ok(['node', 'ajv', 're2js', '@marcbachmann/cel-js'].every(name => /^\d/.test(lock.judges[name])))
  await aval(['lock'], env)
  assert.equal(readFileSync(join(folder, 'actions/aval.lock'), 'utf8'), text)
  // A comment is nothing that is served.
  change('actions/shop/get_customer.v1.yaml', /^/, '# a comment\n')
  assert.equal((await aval(['lock', '--check'], env)).code, 0)
})

const CHANGES: ReadonlyArray<readonly [string, string, string | RegExp, string, RegExp]> = [
  ['a sheet', 'actions/shop/place_order.v1.yaml', 'maximum: 5,', 'maximum: 4,', /^breaking.*\n  place_order\.v1 \/input: breaking/m],
  ['a description', 'actions/shop/list_orders.v1.yaml', 'description: >\n', 'description: >\n  Really.\n', /^wording.*\n  list_orders\.v1 \/wording/m],
  ['a view', 'actions/shop/get_customer.v1.yaml', '${response.body.name}', '${response.body.email}', /^view.*\n  get_customer\.v1 \/result/m],
  ['the document', 'openapi/shop.yaml', /operationId: listRefunds/, 'operationId: listRefunds\n      x-none: 1\n      deprecated: true', /nothing differs/],
  ['a grant', 'actions/policy.yaml', 'shop_deployer: [start_deployment.v1]', 'shop_deployer: [start_deployment.v1, get_customer.v1]', /role shop_deployer: may call get_customer\.v1 now/],
  ['an upstream', 'actions/shop/upstream.yaml', '127.0.0.1:4010', '127.0.0.1:4011', /upstream\.yaml of shop has changed/],
  ['a consent of the policy', 'actions/policy.yaml', 'quorum: 2', 'quorum: 1', /the policy or an upstream\.yaml has changed/],
]

for (const [what, file, from, to, told] of CHANGES) {
  test(`lock --check: ${what} that has changed`, async t => {
    const { env, change } = copied(t)
    await aval(['lock'], env)
    change(file, from, to)
    const { code, out, err } = await aval(['lock', '--check'], env)
    assert.match(out + err, told)
    assert.equal(code, told.source === 'nothing differs' ? 0 : 1)
  })
}

test('a broker under AVAL_LOCK=strict serves what is locked, refuses what is not, and keeps the old catalog at a reload', async t => {
  const { folder, env, change } = copied(t)
  const site = await makeSite({ actions: env['AVAL_ACTIONS']!, openapi: env['AVAL_OPENAPI']!, env: { ...env, AVAL_LOCK: 'strict' } })
  t.after(() => site.remove())
  await assert.rejects(startTestBroker(site), (error: unknown) => error instanceof CatalogFaults && /^aval\.lock:1:1 lock-missing /.test(error.message))
  await aval(['lock'], env)
  const broker = await startTestBroker(site)
  t.after(() => broker.close())
  await broker.reload()
  change('actions/shop/place_order.v1.yaml', 'maximum: 5,', 'maximum: 4,')
  const line = readFileSync(join(folder, 'actions/aval.lock'), 'utf8').split('\n').findIndex(text => text.includes('"place_order.v1": {')) + 1
  await assert.rejects(broker.reload(), (error: unknown) => error instanceof CatalogFaults && error.message === `aval.lock:${line}:1 lock-differs place_order.v1 has changed, or what it rests on has`)
  const contract = await broker.get(await site.token(), '/v1/actions/place_order.v1')
  assert.match(JSON.stringify(contract.body), /"quantity":\{[^}]*"maximum":5/)
  await aval(['lock'], env)
  await broker.reload()
})

for (const [what, file, from, to, told] of [
  ['a grant', 'actions/policy.yaml', 'shop_deployer: [start_deployment.v1]', 'shop_deployer: []', /the role shop_deployer grants other actions/],
  ['the policy', 'actions/policy.yaml', 'quorum: 2', 'quorum: 1', /the policy has changed since the lock/],
] as const) {
  test(`a broker under AVAL_LOCK=strict does not start where ${what} differs`, async t => {
    const { env, change } = copied(t)
    const site = await makeSite({ actions: env['AVAL_ACTIONS']!, openapi: env['AVAL_OPENAPI']!, env: { ...env, AVAL_LOCK: 'strict' } })
    t.after(() => site.remove())
    await aval(['lock'], env)
    change(file, from, to)
    await assert.rejects(startTestBroker(site), told)
  })
}

test('what is no lock is said to be none', async t => {
  const { folder, env } = copied(t)
  writeFileSync(join(folder, 'actions/aval.lock'), '{"half":')
  const { code, err } = await aval(['lock', '--check'], env)
  assert.equal(code, 2)
  assert.match(err, /aval\.lock:1:1 lock-malformed/)
})
