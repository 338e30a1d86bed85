// `aval replay`: what was decided about recorded calls is decided again, and a sheet that decides otherwise is found.
import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { main } from '../../src/cli.ts'
import { BUNDLED } from '../../src/commands/demo/sheets.ts'
import type { Replayed } from '../../src/curation/replay/replay.ts'
import { startBroker } from '../../src/main.ts'

const CALLER = { roles: ['shop_assistant'], claims: { customers: ['cus_1001'] } }
const ADDRESS = { street: '1 New Road', city: 'Kilkenny', postal_code: 'H91 E2R0', country: 'IE' }
const CUSTOMER = { id: 'cus_1001', name: 'Ada', state: 'active', version: 3, shipping_address: { ...ADDRESS, city: 'Dublin' } }

/** As a gateway in front of a broker could have written them down. */
const TRACES = [
  { id: 'read', action: 'get_customer.v1', caller: CALLER, arguments: { customer_id: 'cus_1001' }, recorded: { allowed: true, effect: 'observation', consent: 'none' } },
  { id: 'foreign', action: 'get_customer.v1', caller: CALLER, arguments: { customer_id: 'cus_1002' }, recorded: { allowed: false, code: 'OUT_OF_SCOPE' } },
  { id: 'malformed', action: 'get_customer.v1', caller: CALLER, arguments: { customer_id: '1001' }, recorded: { allowed: false, code: 'INVALID_ARGUMENTS' } },
  { id: 'reader', action: 'cancel_order.v1', caller: { ...CALLER, roles: ['shop_reader'] }, arguments: { customer_id: 'cus_1001', order_id: 'ord_1001' }, recorded: { allowed: false, code: 'UNKNOWN_ACTION' } },
  { id: 'redacted', action: 'change_shipping_address.v2', caller: CALLER, arguments: { customer_id: 'cus_1001', destination: { street: '[redacted]', city: '[redacted]', postal_code: '[redacted]', country: 'IE' } }, recorded: { allowed: true, effect: 'reversible_change' } },
  { id: 'deleted', action: 'change_shipping_address.v2', caller: CALLER, arguments: { customer_id: 'cus_1001', destination: ADDRESS }, upstream: [{ operation: 'getCustomer', body: { ...CUSTOMER, state: 'deleted' } }], recorded: { allowed: false, code: 'CUSTOMER_DELETED' } },
  { id: 'moved', action: 'change_shipping_address.v2', caller: CALLER, arguments: { customer_id: 'cus_1001', destination: ADDRESS }, upstream: [{ operation: 'getCustomer', body: CUSTOMER }], recorded: { allowed: true } },
]

interface Site { readonly traces: string, readonly env: Record<string, string>, change (file: string, from: string | RegExp, to: string): void }

function site (t: TestContext, traces: readonly unknown[] = TRACES): Site {
  const folder = mkdtempSync(join(tmpdir(), 'aval-replay-'))
  t.after(() => rmSync(folder, { recursive: true }))
  cpSync(BUNDLED.actionsFolder, join(folder, 'actions'), { recursive: true })
  writeFileSync(join(folder, 'traces.jsonl'), traces.map(trace => typeof trace === 'string' ? trace : JSON.stringify(trace)).join('\n'))
  return {
    traces: join(folder, 'traces.jsonl'),
    env: { AVAL_ACTIONS: join(folder, 'actions'), AVAL_OPENAPI: BUNDLED.openapiFolder },
    change (file, from, to) {
      const path = join(folder, 'actions', file)
      const text = readFileSync(path, 'utf8')
      assert.notEqual(text.replace(from, to), text)
      writeFileSync(path, text.replace(from, to))
    },
  }
}

async function replayed ({ traces, env }: Site): Promise<{ readonly code: number, readonly results: readonly Replayed[], readonly err: string }> {
  let [out, err] = ['', '']
  const code = await main(['replay', traces, '--json'], { env, print: text => { out += text }, tell: text => { err += text }, startBroker })
  return { code, results: out === '' ? [] : (JSON.parse(out) as { results: readonly Replayed[] }).results, err }
}

const differing = (results: readonly Replayed[]): readonly string[] => results.filter(one => one.verdict !== 'same').map(one => `${one.verdict} ${one.trace}: ${one.message}`)

test('what was recorded is decided again as it was, redacted values and all', async t => {
  const { code, results, err } = await replayed(site(t))
  assert.equal(code, 0, err + JSON.stringify(results))
  assert.deepEqual(results.map(one => [one.trace, one.verdict]), TRACES.map(({ id }) => [id, 'same']))
})

for (const [what, file, from, to, told] of [
  ['a scope that is gone', 'shop/get_customer.v1.yaml', /scope:\n.*\n/, '', ['differs foreign: was refused with OUT_OF_SCOPE, and is allowed as observation']],
  ['a pattern that takes more', 'shop/get_customer.v1.yaml', '^cus_[0-9]{1,12}$', '^(cus_)?[0-9]{1,12}$', ['differs malformed: was refused with INVALID_ARGUMENTS, and is refused with OUT_OF_SCOPE']],
  ['a grant', 'policy.yaml', 'actions: [get_customer.v1, list_orders.v1]\n    max_effect: observation', 'actions: [get_customer.v1, list_orders.v1, cancel_order.v1]', ['differs reader: was refused with UNKNOWN_ACTION, and is allowed as reversible_change']],
  ['a business rule that is gone', 'shop/change_shipping_address.v2.yaml', /  - require: reads\.customer\.body\.state(.*\n){4}/, '', ['differs deleted: was refused with CUSTOMER_DELETED, and is allowed as reversible_change']],
  ['an argument that takes less', 'shop/change_shipping_address.v2.yaml', 'city: {type: string, minLength: 1, maxLength: 100', 'city: {type: string, minLength: 1, maxLength: 6', [
    'differs deleted: was refused with CUSTOMER_DELETED, and is refused with INVALID_ARGUMENTS', 'differs moved: was allowed, and is refused with INVALID_ARGUMENTS (/destination/city)',
  ]],
  ['a version whose time is over', 'shop/get_customer.v1.yaml', /^effect:/m, 'sunset: {after: "2020-01-01", use: list_orders.v1}\neffect:', ['differs read: was allowed, and is refused with VERSION_RETIRED', 'differs foreign: was refused with OUT_OF_SCOPE, and is refused with VERSION_RETIRED', 'differs malformed: was refused with INVALID_ARGUMENTS, and is refused with VERSION_RETIRED']],
] as const) {
  test(`found: ${what}`, async t => {
    const changed = site(t)
    changed.change(file, from, to)
    const { code, results, err } = await replayed(changed)
    assert.deepEqual(differing(results), told, err)
    assert.equal(code, 1)
  })
}

test('what hangs on facts that nobody recorded is undecided, not different', async t => {
  const { code, results } = await replayed(site(t, [{ ...TRACES[5], upstream: undefined }]))
  assert.deepEqual(differing(results), ['undecided deleted: what the upstream knew is not in the trace'])
  assert.equal(code, 0)
})

test('lines that are no traces are told with their place', async t => {
  const half = await replayed(site(t, [TRACES[0], '{"action":']))
  assert.equal(half.code, 2)
  assert.match(half.err, /traces\.jsonl:2:1 not-json/)
  const other = await replayed(site(t, [{ ...TRACES[0], actoin: 1 }]))
  assert.match(other.err, /traces\.jsonl:1:1 not-a-trace .*actoin/)
})
