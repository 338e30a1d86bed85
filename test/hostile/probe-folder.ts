// The document, the sheets and the policy of the probe, as data that a test changes before it is written out.

export interface ProbeFolder {
  document: any
  upstream: any
  policy: any
  /** By id. */
  sheets: Record<string, any>
}

const string = { type: 'string' }
const json = (schema: unknown): object => ({ 'application/json': { schema } })
const closed = (required: readonly string[], properties: object): any => ({ type: 'object', additionalProperties: false, required, properties })
const text = (maxLength = 100): object => ({ type: 'string', maxLength })

const ITEM = {
  type: 'object',
  required: ['id'],
  properties: {
    id: string,
    name: { type: ['string', 'null'] },
    count: { type: 'integer' },
    weight: { type: 'number' },
    note: { type: ['string', 'null'] },
    state: string,
    key: string,
    version: { type: 'integer' },
    tags: { type: 'array', items: string },
    ssn: string,
  },
}
const ID = { name: 'id', in: 'path', required: true, schema: string }
const answered = { 200: { description: 'done', content: json(ITEM) }, 202: { description: 'later', content: json(ITEM) } }

const probeDocument = (): any => ({
  openapi: '3.1.0',
  info: { title: 'Probe', version: '1' },
  servers: [{ url: 'https://elsewhere.example' }],
  paths: {
    '/items/{id}': {
      parameters: [ID],
      get: {
        operationId: 'getItem', parameters: [{ name: 'part', in: 'query', schema: string }],
        responses: { 200: { description: 'it', content: json(ITEM) } },
      },
      put: {
        operationId: 'putItem',
        parameters: [{ name: 'If-Match', in: 'header', schema: string }],
        requestBody: { required: true, content: json(ITEM_CHANGE) },
        responses: answered,
      },
    },
    '/items': { post: { operationId: 'createItem', requestBody: { required: true, content: json(ITEM_CHANGE) }, responses: answered } },
    '/created': {
      get: {
        operationId: 'findCreated',
        parameters: [{ name: 'key', in: 'query', schema: string }],
        responses: {
          200: { description: 'them', content: json({ type: 'object', required: ['items'], properties: { items: { type: 'array', items: ITEM } } }) },
        },
      },
    },
  },
  components: { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Probe-Key' } } },
})

const ITEM_CHANGE = {
  type: 'object',
  properties: {
    name: { type: ['string', 'null'] }, count: { type: 'integer' }, weight: { type: 'number' }, note: { type: ['string', 'null'] },
    tags: { type: 'array', items: string },
  },
}

const SHOWN = closed(['id'], {
  id: string,
  name: { type: ['string', 'null'] },
  count: { type: 'integer' },
  tags: { type: 'array', items: string },
})

const getItem = (): any => ({
  action: 'get_item',
  version: 1,
  upstream: 'probe',
  operation: 'getItem',
  title: 'Read an item',
  description: 'Reads one item.',
  effect: 'observation',
  consent: 'none',
  retry: 'never',
  input: closed(['id'], { id: text(200) }),
  request: { path: { id: '${args.id}' } },
  result: { schema: SHOWN, max_items: 3, max_bytes: '2KiB' },
  limits: { timeout: '1s' },
})

/** Everything that an argument can be: a number, a list, a nullable text, alternatives. */
const createItem = (): any => ({
  action: 'create_item',
  version: 1,
  upstream: 'probe',
  operation: 'createItem',
  title: 'Create an item',
  description: 'Creates one item.',
  effect: 'reversible_change',
  consent: 'none',
  retry: 'same_key',
  input: closed(['name'], {
    name: text(), count: { type: 'integer' }, weight: { type: 'number' }, note: { type: ['string', 'null'], maxLength: 100 },
    tags: { type: 'array', items: text(20), maxItems: 5 },
  }),
  request: {
    body: { name: '${args.name}', count: '${args.?count}', weight: '${args.?weight}', note: '${args.?note}', tags: '${args.?tags}' },
  },
  idempotency: { header: 'Idempotency-Key', retention: '24h' },
  result: { schema: SHOWN, max_items: 3, max_bytes: '2KiB' },
  lookup: {
    operation: 'findCreated',
    query: { key: '${attempt.key}' },
    find: { in: 'response.body.items', where: 'item.key == attempt.key' },
    outcomes: [{ when: 'found.hasValue()', outcome: 'completed', result: { id: '${found.value().id}' } }],
  },
  limits: { timeout: '1s' },
})

/** Reads before it writes, knows its target by version, and needs a claim; nothing can look it up. */
const changeItem = (): any => ({
  action: 'change_item',
  version: 1,
  upstream: 'probe',
  operation: 'putItem',
  title: 'Change an item',
  description: 'Changes the name of one item.',
  effect: 'reversible_change',
  consent: 'none',
  retry: 'never',
  input: closed(['id', 'name'], { id: text(200), name: text() }),
  scope: [{ require: 'args.id in caller.claims.items' }],
  reads: { item: { operation: 'getItem', path: { id: '${args.id}' } } },
  checks: [{ require: 'reads.item.body.?state.orValue("open") != "closed"', error: 'ITEM_CLOSED', message: 'The item has been closed.' }],
  target: { type: 'item', id: '${args.id}', version: '${reads.item.headers.etag}' },
  request: { path: { id: '${args.id}' }, headers: { 'If-Match': '${target.version}' }, body: { name: '${args.name}' } },
  result: { schema: SHOWN },
  lookup: 'none',
  limits: { timeout: '1s' },
})

export function probeFolder (origin: string): ProbeFolder {
  const sheets = { 'get_item.v1': getItem(), 'create_item.v1': createItem(), 'change_item.v1': changeItem() }
  return {
    document: probeDocument(),
    upstream: {
      upstream: 'probe',
      openapi: 'probe.json',
      server: origin,
      networks: ['loopback'],
      credential: { scheme: 'key', secret: 'env:PROBE_KEY' },
      timeouts: { connect: '1s', total: '2s' },
    },
    policy: { roles: { prober: Object.keys(sheets), reader: ['get_item.v1'] } },
    sheets,
  }
}
