// The sheets and the document of the benchmark: one observation and one write in front of the same upstream. The observation is a POST like everything
// else here, so that all servers of a run take in and send out the same method and about the same bytes.

const UPSTREAM = (port: number): string => `
upstream: bench
openapi: bench.yaml
server: http://127.0.0.1:${port}/v1
networks: [loopback]
credential: {scheme: benchKey, secret: "env:BENCH_KEY"}
timeouts: {connect: 2s, total: 10s}
limits: {concurrency: 64, tenant_share: 1}
`

const FIND = `
action: find_item
version: 1
upstream: bench
operation: findItem
title: Read an item
description: Reads one item by its id. The note of the staff is never shown.
effect: observation
consent: none
retry: safe
input:
  type: object
  additionalProperties: false
  required: [id]
  properties:
    id: {type: string, pattern: "^itm_[0-9]{7,12}$", maxLength: 16}
scope:
  - require: "'staff' in caller.claims.groups"
request:
  body: {id: "\${args.id}"}
result:
  schema:
    type: object
    additionalProperties: false
    required: [id, name, state, version, price, stock]
    properties:
      id: {type: string}
      name: {type: string, maxLength: 200}
      state: {type: string, enum: [active, retired]}
      version: {type: integer}
      price:
        type: object
        additionalProperties: false
        required: [minor, currency]
        properties: {minor: {type: integer}, currency: {type: string}}
      stock:
        type: array
        items:
          type: object
          additionalProperties: false
          properties: {place: {type: string}, quantity: {type: integer}}
  view:
    id: \${response.body.id}
    name: \${response.body.name}
    state: \${response.body.state}
    version: \${response.body.version}
    price: \${response.body.price}
    stock: \${response.body.stock}
`

const ADD = `
action: add_item
version: 1
upstream: bench
operation: addItem
title: Add an item
description: Adds one item.
effect: reversible_change
consent: none
retry: same_key
input:
  type: object
  additionalProperties: false
  required: [id]
  properties:
    id: {type: string, pattern: "^itm_[0-9]{7,12}$", maxLength: 16}
scope:
  - require: "'staff' in caller.claims.groups"
request:
  body: {id: "\${args.id}"}
idempotency: {header: Idempotency-Key, retention: 24h}
outcomes:
  - {when: response.status == 201, outcome: completed}
result:
  schema: {type: object, additionalProperties: false, required: [id, version], properties: {id: {type: string}, version: {type: integer}}}
  view: {id: "\${response.body.id}", version: "\${response.body.version}"}
lookup:
  operation: listItems
  query: {key: "\${attempt.key}"}
  find: {in: response.body.items, where: item.key == attempt.key}
  outcomes:
    - {when: found.hasValue(), outcome: completed}
  absent: {when: response.status == 200 && !found.hasValue(), settles_after: 1s}
`

const DOCUMENT = `
openapi: 3.1.0
info: {title: Bench, version: "1"}
components:
  securitySchemes:
    benchKey: {type: apiKey, in: header, name: X-Bench-Key}
  schemas:
    Item:
      type: object
      properties:
        id: {type: string}
        key: {type: string}
        sku: {type: string}
        name: {type: string}
        state: {type: string}
        version: {type: integer}
        price: {type: object, properties: {minor: {type: integer}, currency: {type: string}}}
        stock: {type: array, items: {type: object, properties: {place: {type: string}, quantity: {type: integer}}}}
        internal_note: {type: string}
    Asked: {type: object, required: [id], properties: {id: {type: string}}}
paths:
  /items/find:
    post:
      operationId: findItem
      security: [{benchKey: []}]
      requestBody: {required: true, content: {application/json: {schema: {$ref: "#/components/schemas/Asked"}}}}
      responses:
        "200": {description: The item., content: {application/json: {schema: {$ref: "#/components/schemas/Item"}}}}
  /items/big:
    post:
      operationId: findBig
      security: [{benchKey: []}]
      requestBody: {required: true, content: {application/json: {schema: {$ref: "#/components/schemas/Asked"}}}}
      responses:
        "200": {description: The item and far too much beside it., content: {application/json: {schema: {$ref: "#/components/schemas/Item"}}}}
  /items:
    get:
      operationId: listItems
      security: [{benchKey: []}]
      parameters: [{name: key, in: query, schema: {type: string}}]
      responses:
        "200":
          description: Items.
          content:
            application/json:
              schema: {type: object, properties: {items: {type: array, items: {$ref: "#/components/schemas/Item"}}}}
    post:
      operationId: addItem
      security: [{benchKey: []}]
      parameters: [{name: Idempotency-Key, in: header, schema: {type: string}}]
      requestBody: {required: true, content: {application/json: {schema: {$ref: "#/components/schemas/Asked"}}}}
      responses:
        "201": {description: Added., content: {application/json: {schema: {$ref: "#/components/schemas/Item"}}}}
`

const POLICY = `
roles:
  clerk: [find_item.v1, find_big.v1, add_item.v1]
`

/** By path under the site's folder. @param port of the upstream */
export const siteFiles = (port: number): Readonly<Record<string, string>> => ({
  'actions/policy.yaml': POLICY,
  'actions/bench/upstream.yaml': UPSTREAM(port),
  'actions/bench/find_item.v1.yaml': FIND,
  'actions/bench/find_big.v1.yaml': FIND.replace('find_item', 'find_big').replace('findItem', 'findBig').replace('Read an item', 'Read a big item'),
  'actions/bench/add_item.v1.yaml': ADD,
  'openapi/bench.yaml': DOCUMENT,
})
