// The example that introduces the three kinds of files, with every field of a sheet in the spelling that it is introduced with, loads as it stands.
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { CatalogFaults, effectText, type Catalog } from '../../src/catalog/catalog.ts'
import { loadCatalog } from '../../src/catalog/load.ts'

const UPSTREAM = `
upstream: shop
openapi: shop.yaml
server: https://api.shop.example/v1
networks: [public]
headers: {User-Agent: aval, X-Api-Version: "3"}
credential: {scheme: apiKey, secret: "file:/run/secrets/shop"}
timeouts: {connect: 2s, total: 10s}
limits: {concurrency: 32, per_second: 50, tenant_share: 0.5}
`

const SHEET = `
action: change_shipping_address
version: 2
upstream: shop
operation: updateCustomer
title: Change a customer's shipping address
description: >
  Replaces the shipping address of one customer. Use this when the customer has moved. Do not use this for one order; use add_order_note instead.
  Returns the new version. If it answers VERSION_CONFLICT, read the customer again and propose anew.
effect: reversible_change
involves: [personal_data]
sensitivity: personal
consent: call
retry: same_key
input:
  type: object
  additionalProperties: false
  required: [customer_id, destination]
  properties:
    customer_id: {type: string, pattern: "^cus_[0-9]{1,12}$", maxLength: 16}
    destination:
      type: object
      additionalProperties: false
      required: [city, country]
      properties:
        city: {type: string, minLength: 1, maxLength: 100}
        country: {type: string, pattern: "^[A-Z]{2}$", maxLength: 2}
scope:
  - require: args.customer_id in caller.claims.customers
reads:
  customer: {operation: getCustomer, path: {id: "\${args.customer_id}"}, allow: []}
values:
  country: \${reads.customer.body.country}
checks:
  - {require: "reads.customer.body.state != 'deleted'", error: CUSTOMER_DELETED, message: The customer has been deleted., retryable: false}
  - {require: "reads.customer.body.shipping_address != args.destination", outcome: already_in_desired_state}
target: {type: customer, id: "\${args.customer_id}", version: "\${reads.customer.body.version}"}
proposal:
  effect: Replace the shipping address of customer \${args.customer_id}
  before: {shipping_address: "\${reads.customer.body.shipping_address}"}
  after: {shipping_address: "\${args.destination}"}
  facts: {environment: production, recipients: 1, reversible: "yes, by the same action"}
request:
  path: {id: "\${args.customer_id}"}
  headers: {If-Match: "\${target.version}"}
  body: {shipping_address: "\${args.destination}"}
idempotency: {header: Idempotency-Key, retention: 24h}
outcomes:
  - {when: "response.status == 412", outcome: rejected, error: VERSION_CONFLICT}
  - {when: "response.status == 202", outcome: pending, reference: "\${response.body.job_id}"}
result:
  schema:
    type: object
    additionalProperties: false
    properties: {customer_id: {type: string}, new_version: {type: integer}}
  view: {customer_id: "\${response.body.id}", new_version: "\${response.body.version}"}
  max_bytes: 16KiB
lookup:
  operation: listOperations
  query: {key: "\${attempt.key}"}
  find: {in: response.body.items, where: "item.key == attempt.key"}
  outcomes:
    - {when: "found.hasValue() && found.value().state == 'done'", outcome: completed, result: {new_version: "\${found.value().version}"}}
    - {when: "found.hasValue()", outcome: pending}
  absent: {when: "response.status == 200 && !found.hasValue()", settles_after: 30s}
limits: {timeout: 5s, calls_per_run: 20, refusals_per_run: 5, concurrency_per_tenant: 4, serialize: "\${args.customer_id}"}
repeatable: false
compensate_with: restore_address.v1
examples: [{arguments: {customer_id: cus_1, destination: {city: Galway, country: IE}}, result: {customer_id: cus_1, new_version: 4}}]
sunset: {after: 2027-03-01, use: change_shipping_address.v3}
`

const POLICY = `
roles:
  support_agent: {actions: [get_customer.v1, change_shipping_address.v2], max_effect: reversible_change}
consent:
  irreversible_change: {level: call, quorum: 2}
  money: {level: call, approvers: [finance]}
approvers:
  support_lead: [change_shipping_address.v2]
`

const GET_CUSTOMER = `
action: get_customer
version: 1
upstream: shop
operation: GET /customers/{id}
title: Read a customer
description: Reads one customer.
effect: observation
consent: none
retry: safe
input: {type: object, additionalProperties: false, required: [customer_id], properties: {customer_id: {type: string, maxLength: 16}}}
request: {path: {id: "\${args.customer_id}"}}
result: {schema: {type: object, additionalProperties: false, properties: {id: {type: string}, version: {type: integer}}}}
`

const DOCUMENT = `
openapi: 3.1.0
info: {title: Shop, version: "3"}
servers: [{url: https://ignored.example}]
paths:
  /customers/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    get:
      operationId: getCustomer
      responses: {"200": {description: it, content: {application/json: {schema: {$ref: "#/components/schemas/Customer"}}}}}
    patch:
      operationId: updateCustomer
      parameters: [{name: If-Match, in: header, schema: {type: string}}, {name: request_id, in: query, schema: {type: string}}]
      requestBody:
        required: true
        content: {application/json: {schema: {type: object, properties: {shipping_address: {$ref: "#/components/schemas/Address"}}}}}
      responses:
        "200": {description: done, content: {application/json: {schema: {$ref: "#/components/schemas/Customer"}}}}
        "202": {description: later, content: {application/json: {schema: {type: object, properties: {job_id: {type: string}}}}}}
  /operations:
    get:
      operationId: listOperations
      parameters: [{name: key, in: query, schema: {type: string}}]
      responses:
        "200":
          description: them
          content:
            application/json:
              schema:
                type: object
                required: [items]
                properties:
                  items: {type: array, items: {type: object, properties: {key: {type: string}, state: {type: string}, version: {type: integer}}}}
components:
  schemas:
    Address: {type: object, properties: {city: {type: string}, country: {type: string}}}
    Customer:
      type: object
      required: [id, version, state]
      properties:
        id: {type: string}
        version: {type: integer}
        state: {type: string}
        country: {type: string}
        shipping_address: {$ref: "#/components/schemas/Address"}
  securitySchemes: {apiKey: {type: apiKey, in: header, name: X-Api-Key}}
`

async function load (t: TestContext, change: (files: Record<string, string>) => void = () => {}): Promise<Catalog> {
  const root = mkdtempSync(join(tmpdir(), 'aval-example-'))
  t.after(() => rmSync(root, { recursive: true, force: true }))
  const named = (action: string, version: number): string => SHEET
    .replace('action: change_shipping_address', `action: ${action}`).replace('version: 2', `version: ${version}`)
    .replace(/^sunset: .*\n/m, '').replace(/^compensate_with: .*\n/m, '')
  const files: Record<string, string> = {
    'actions/policy.yaml': POLICY,
    'actions/shop/upstream.yaml': UPSTREAM,
    'actions/shop/get_customer.v1.yaml': GET_CUSTOMER,
    'actions/shop/change_shipping_address.v2.yaml': SHEET,
    'actions/shop/change_shipping_address.v3.yaml': named('change_shipping_address', 3),
    'actions/shop/restore_address.v1.yaml': named('restore_address', 1),
    'openapi/shop.yaml': DOCUMENT,
  }
  change(files)
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  return loadCatalog({ actionsFolder: join(root, 'actions'), openapiFolder: join(root, 'openapi') })
}

test('the example that the format is introduced with loads as it stands, and means what it says', async t => {
  const catalog = await load(t)
  const action = catalog.actions.get('change_shipping_address.v2')!
  assert.deepEqual([action.effect, action.consent, action.retry, action.sensitivity, action.repeatable], ['reversible_change', 'call', 'same_key', 'personal', false])
  assert.deepEqual(action.sunset, { after: '2027-03-01', use: 'change_shipping_address.v3' })
  assert.deepEqual({ ...action.limits, serialize: null }, { timeoutMs: 5_000, callsPerRun: 20, refusalsPerRun: 5, concurrencyPerTenant: 4, serialize: null })
  assert.equal(action.lookup!.absent!.settlesAfterMs, 30_000)
  assert.deepEqual(catalog.upstreams.get('shop')!.limits, { concurrency: 32, perSecond: 50, tenantShare: 0.5 })
  assert.deepEqual([...catalog.roles.get('support_agent')!.actions], ['get_customer.v1', 'change_shipping_address.v2'])
  const bindings = {
    args: { customer_id: 'cus_1', destination: { city: 'Galway', country: 'IE' } }, caller: { sub: 's', tenant: 't', run: 'r', claims: { customers: ['cus_1'] } },
    reads: { customer: { status: 200, headers: {}, body: { id: 'cus_1', version: 3, state: 'active', country: 'DE', shipping_address: { city: 'Ulm', country: 'DE' } } } },
    values: { country: 'DE' }, target: { type: 'customer', id: 'cus_1', version: 3 }, attempt: { id: 'att', key: 'k', reference: null }, response: null, now: '2026-11-30T10:20:30.000Z',
  }
  const { path, headers, body } = action.request.place(bindings)
  assert.deepEqual([path, headers, body], [{ id: 'cus_1' }, { 'If-Match': 3, 'idempotency-key': 'k' }, { shipping_address: { city: 'Galway', country: 'IE' } }])
  assert.equal(effectText(action.proposal!.effect(bindings)), 'Replace the shipping address of customer cus_1')
  assert.deepEqual(action.proposal!.facts(bindings), { environment: 'production', recipients: 1, reversible: 'yes, by the same action' })
})

test('each other spelling that it is introduced with loads as well', async t => {
  const sheet = 'actions/shop/change_shipping_address.v2.yaml'
  const upstream = 'actions/shop/upstream.yaml'
  const secret = 'secret: "file:/run/secrets/shop"}'
  const rows: ReadonlyArray<readonly [file: string, from: string | RegExp, to: string]> = [
    [sheet, 'operation: updateCustomer', 'operation: "PATCH /customers/{id}"'],
    [sheet, 'idempotency: {header: Idempotency-Key,', 'idempotency: {query: request_id,'],
    [sheet, 'allow: []', 'allow: [404]'],
    [sheet, /lookup:\n(?: {2}.*\n)+/, 'lookup: none\n'],
    [sheet, /^ {2}view: .*\n/m, ''],
    [upstream, 'credential: {scheme: apiKey,', 'credential: {scheme: bearer,'],
    [upstream, 'credential: {scheme: apiKey,', 'credential: {scheme: basic, username: aval,'],
    [upstream, 'credential: {scheme: apiKey,', 'credential: {scheme: {in: header, name: X-Token, prefix: "Token "},'],
    [upstream, `credential: {scheme: apiKey, ${secret}`, `credentials: {read: {scheme: apiKey, secret: "env:SHOP_READ"}, write: {scheme: apiKey, ${secret}}`],
    [upstream, '/run/secrets/shop', '/run/secrets/{tenant}/shop'],
    [upstream, '[public]', '[public, loopback, 10.0.0.0/8, "fd00::/8"]'],
    ['actions/policy.yaml', '{actions: [get_customer.v1, change_shipping_address.v2], max_effect: reversible_change}', '[get_customer.v1]'],
  ]
  for (const [file, from, to] of rows) {
    const pendingNeedsLookup = to.startsWith('lookup: none') ? /^ {2}- \{when: "response\.status == 202".*\n/m : null
    await load(t, files => {
      const changed = files[file]!.replace(from, to)
      assert.notEqual(changed, files[file])
      files[file] = pendingNeedsLookup === null ? changed : changed.replace(pendingNeedsLookup, '')
    }).catch((error: unknown) => { assert.fail(`${to}: ${error instanceof CatalogFaults ? JSON.stringify(error.faults) : String(error)}`) })
  }
})
