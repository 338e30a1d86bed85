// A small upstream with its document, sheets and policy as data that a test changes before it is written out and loaded.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { CatalogFaults, type Action, type Catalog, type Fault } from '../../src/catalog/catalog.ts'
import { loadCatalog, type LoadOptions } from '../../src/catalog/load.ts'

const string = { type: 'string' }
const customer = {
  type: 'object',
  required: ['id', 'version', 'state'],
  properties: {
    id: string,
    version: { type: 'integer' },
    state: { enum: ['active', 'deleted'] },
    email: { type: ['string', 'null'] },
    balance: { type: 'number' },
    ssn: string,
    shipping_address: { $ref: '#/components/schemas/Address' },
    tags: { type: 'array', items: string },
  },
}
const json = (schema: unknown): unknown => ({ 'application/json': { schema } })
const idParameter = { name: 'id', in: 'path', required: true, schema: string }
const operationItem = {
  type: 'object',
  required: ['key', 'state'],
  properties: { key: string, state: string, version: { type: 'integer' } },
}

export const shopDocument = (): any => ({
  openapi: '3.1.0',
  info: { title: 'Shop', version: '1' },
  paths: {
    '/customers/{id}': {
      get: {
        operationId: 'getCustomer',
        parameters: [idParameter],
        responses: {
          200: { description: 'ok', content: json({ $ref: '#/components/schemas/Customer' }) },
          404: { description: 'none', content: json({ type: 'object', properties: { error: string } }) },
        },
      },
      patch: {
        operationId: 'updateCustomer',
        parameters: [idParameter, { name: 'If-Match', in: 'header', schema: string }, { name: 'dry', in: 'query', schema: { type: 'boolean' } }],
        requestBody: {
          required: true,
          content: json({
            type: 'object',
            properties: {
              shipping_address: { $ref: '#/components/schemas/Address' },
              note: { type: ['string', 'null'] },
              level: { type: 'integer' },
              request_id: string,
            },
          }),
        },
        responses: {
          200: { description: 'ok', content: json({ $ref: '#/components/schemas/Customer' }) },
          202: { description: 'later', content: json({ type: 'object', properties: { job_id: string } }) },
          409: { description: 'conflict', content: json({ type: 'object', properties: { code: string } }) },
        },
      },
      delete: { operationId: 'deleteCustomer', parameters: [idParameter], responses: { 204: { description: 'gone' } } },
    },
    '/operations': {
      get: {
        operationId: 'listOperations',
        parameters: [{ name: 'key', in: 'query', schema: string }],
        responses: {
          200: {
            description: 'ok',
            content: json({ type: 'object', required: ['items'], properties: { items: { type: 'array', items: operationItem } } }),
          },
        },
      },
    },
    '/elsewhere': {
      get: { operationId: 'getElsewhere', servers: [{ url: 'https://other.example/v1' }], responses: { 200: { description: 'ok' } } },
      put: { operationId: 'putHere', servers: [{ url: 'HTTPS://API.shop.example/v1/' }], responses: { 200: { description: 'ok' } } },
    },
    '/upload': {
      post: {
        operationId: 'upload',
        requestBody: { content: { 'text/plain': { schema: string }, 'application/octet-stream': { schema: string } } },
        responses: { 200: { description: 'ok', content: { 'application/pdf': { schema: string } } } },
      },
    },
  },
  components: {
    schemas: {
      Address: { type: 'object', required: ['city'], properties: { city: string, country: string } },
      Customer: customer,
    },
    securitySchemes: {
      key: { type: 'apiKey', in: 'header', name: 'X-Api-Key' },
      digest: { type: 'http', scheme: 'digest' },
      oauth: { type: 'oauth2', flows: {} },
      bearerAuth: { type: 'http', scheme: 'Bearer' },
    },
  },
})

export const writeSheet = (): any => ({
  action: 'change_shipping_address',
  version: 2,
  upstream: 'shop',
  operation: 'updateCustomer',
  title: 'Change a customer\'s shipping address',
  description: 'Replaces the shipping address of one customer.',
  effect: 'reversible_change',
  involves: ['personal_data'],
  sensitivity: 'personal',
  consent: 'call',
  retry: 'same_key',
  input: {
    type: 'object',
    additionalProperties: false,
    required: ['customer_id', 'destination'],
    properties: {
      customer_id: { type: 'string', maxLength: 40, pattern: '^c_[a-z0-9]+$' },
      destination: {
        type: 'object',
        additionalProperties: false,
        required: ['city'],
        properties: { city: { type: 'string', maxLength: 80 }, country: { type: 'string', maxLength: 2, pattern: '^[A-Z]{2}$' } },
      },
    },
  },
  scope: [{ require: 'args.customer_id in caller.claims.customers' }],
  reads: { customer: { operation: 'getCustomer', path: { id: '${args.customer_id}' } } },
  values: { city: '${reads.customer.body.shipping_address.city}' },
  checks: [
    { require: 'reads.customer.body.state != \'deleted\'', error: 'CUSTOMER_DELETED', message: 'The customer has been deleted.', retryable: false },
    { require: 'reads.customer.body.shipping_address != args.destination', outcome: 'already_in_desired_state' },
  ],
  target: { type: 'customer', id: '${args.customer_id}', version: '${reads.customer.body.version}' },
  proposal: {
    effect: 'Replace the shipping address of customer ${args.customer_id}',
    before: { shipping_address: '${reads.customer.body.shipping_address}' },
    after: { shipping_address: '${args.destination}' },
    facts: { environment: 'production', city: '${values.city}' },
  },
  request: {
    path: { id: '${args.customer_id}' },
    headers: { 'If-Match': '"${target.version}"' },
    body: { shipping_address: '${args.destination}' },
  },
  idempotency: { header: 'Idempotency-Key', retention: '24h' },
  outcomes: [
    { when: 'response.status == 412', outcome: 'rejected', error: 'VERSION_CONFLICT' },
    { when: 'response.status == 202', outcome: 'pending', reference: '${response.body.job_id}' },
  ],
  result: {
    schema: {
      type: 'object',
      additionalProperties: false,
      required: ['customer_id', 'new_version'],
      properties: { customer_id: { type: 'string' }, new_version: { type: 'integer' } },
    },
    view: { customer_id: '${response.body.id}', new_version: '${response.body.version}' },
    max_bytes: '16KiB',
  },
  lookup: {
    operation: 'listOperations',
    query: { key: '${attempt.key}' },
    find: { in: 'response.body.items', where: 'item.key == attempt.key' },
    outcomes: [
      {
        when: 'found.hasValue() && found.value().state == \'done\'',
        outcome: 'completed',
        result: { customer_id: '${args.customer_id}', new_version: '${found.value().version}' },
      },
      {
        when: 'found.hasValue() && found.value().state == \'failed\'',
        outcome: 'rejected',
        error: 'CHANGE_FAILED',
        message: 'The shop could not change the address.',
      },
      { when: 'found.hasValue()', outcome: 'pending' },
    ],
    absent: { when: 'response.status == 200 && !found.hasValue()', settles_after: '30s' },
  },
  limits: { timeout: '5s', calls_per_run: 20, refusals_per_run: 5, concurrency_per_tenant: 4, serialize: '${args.customer_id}' },
  repeatable: false,
  examples: [{ arguments: { customer_id: 'c_1', destination: { city: 'Rome', country: 'IT' } }, result: { customer_id: 'c_1', new_version: 8 } }],
})

export const readSheet = (): any => ({
  action: 'get_customer',
  version: 1,
  upstream: 'shop',
  operation: 'getCustomer',
  title: 'Read a customer',
  description: 'Reads one customer.',
  effect: 'observation',
  consent: 'none',
  retry: 'safe',
  input: {
    type: 'object',
    additionalProperties: false,
    required: ['customer_id'],
    properties: { customer_id: { type: 'string', maxLength: 40 } },
  },
  request: { path: { id: '${args.customer_id}' } },
  result: {
    schema: {
      type: 'object',
      additionalProperties: false,
      required: ['id', 'version'],
      properties: {
        id: { type: 'string' },
        version: { type: 'integer' },
        email: { type: ['string', 'null'] },
        tags: { type: 'array', items: { type: 'string' } },
        shipping_address: { type: 'object', additionalProperties: false, properties: { city: { type: 'string' } } },
      },
    },
  },
})

export interface Shop {
  document: any
  upstream: any
  policy: any
  read: any
  write: any
  /** Further files, or other text for known ones, by path. */
  files: { [path: string]: string | Buffer }
}

export const shop = (): Shop => ({
  // Its parts are shared between operations and between tests; a change must not be.
  document: structuredClone(shopDocument()),
  upstream: {
    upstream: 'shop',
    openapi: 'shop.json',
    server: 'https://api.shop.example/v1',
    headers: { 'X-Api-Version': '3' },
    credential: { scheme: 'key', secret: 'file:/run/secrets/shop' },
  },
  policy: {
    roles: {
      support_agent: { actions: ['get_customer.v1', 'change_shipping_address.v2'], max_effect: 'reversible_change' },
      reader: ['get_customer.v1'],
    },
    approvers: { support_lead: ['change_shipping_address.v2'] },
  },
  read: readSheet(),
  write: writeSheet(),
  files: {},
})

/** Writes the shop to a folder of the test's own. */
export function write (t: TestContext, change: (shop: Shop) => void): LoadOptions {
  const made = shop()
  change(made)
  const root = mkdtempSync(join(tmpdir(), 'aval-catalog-'))
  t.after(() => rmSync(root, { recursive: true, force: true }))
  const texts: { [path: string]: string | Buffer | null } = {
    'openapi/shop.json': JSON.stringify(made.document),
    'actions/policy.yaml': text(made.policy),
    'actions/shop/upstream.yaml': text(made.upstream),
    'actions/shop/get_customer.v1.yaml': text(made.read),
    'actions/shop/change_shipping_address.v2.yaml': text(made.write),
    ...made.files,
  }
  mkdirSync(join(root, 'actions'))
  for (const [path, content] of Object.entries(texts)) {
    if (content === null) continue
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), content)
  }
  return { actionsFolder: join(root, 'actions'), openapiFolder: join(root, 'openapi') }
}

export const load = async (t: TestContext, change: (shop: Shop) => void = () => {}): Promise<Catalog> => await loadCatalog(write(t, change))

/** JSON is YAML. */
const text = (value: unknown): string | null => value === null ? null : JSON.stringify(value, null, 2)

export async function faultsOf (t: TestContext, change: (shop: Shop) => void): Promise<readonly Fault[]> {
  try {
    await load(t, change)
    return []
  } catch (error) {
    if (error instanceof CatalogFaults) return error.faults
    throw error
  }
}

export const rulesOf = async (t: TestContext, change: (shop: Shop) => void): Promise<readonly string[]> =>
  [...new Set((await faultsOf(t, change)).map(fault => fault.rule))].sort()

export async function loadWrite (t: TestContext, change: (shop: Shop) => void = () => {}): Promise<Action> {
  return (await load(t, change)).actions.get('change_shipping_address.v2')!
}

export async function loadRead (t: TestContext, change: (shop: Shop) => void = () => {}): Promise<Action> {
  return (await load(t, change)).actions.get('get_customer.v1')!
}
