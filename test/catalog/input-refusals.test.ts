// What an input schema may not let an agent do, and the forms of schemas that come close and are fine.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rulesOf, type Shop } from './shop-folder.ts'

/** Adds one property that a value uses whole. */
function property (name: string, schema: unknown): (shop: Shop) => void {
  return shop => {
    shop.write.input.properties[name] = schema
    shop.write.input.required.push(name)
    shop.write.values[`use_of_it`] = { it: `\${args[${JSON.stringify(name)}]}` }
    delete shop.write.examples
  }
}

const string = { type: 'string', maxLength: 80 }
const closed = (properties: object, more: object = {}): object => ({ type: 'object', additionalProperties: false, properties, ...more })

const REFUSED: ReadonlyArray<readonly [rule: string, name: string, schema: unknown]> = [
  ...['url', 'callback_url', 'targetUrl', 'image_uri', 'href', 'webhook', 'endpoint'].map(name => ['input-chooses-url', name, string] as const),
  ['input-chooses-url', 'page', { type: 'string', format: 'uri', maxLength: 200 }],
  ['input-chooses-url', 'page', { type: 'string', format: 'uri-reference', maxLength: 200 }],
  ['input-chooses-url', 'pages', { type: 'array', items: { type: 'string', format: 'uri' } }],
  ...['host', 'hostname', 'smtpHost', 'proxy_host'].map(name => ['input-chooses-host', name, string] as const),
  ['input-chooses-host', 'machine', { type: 'string', format: 'hostname' }],
  ['input-chooses-host', 'machine', { type: 'string', format: 'ipv4' }],
  ...['headers', 'header', 'header_name', 'extraHeaders', 'cookie'].map(name => ['input-chooses-header', name, string] as const),
  ...['raw_body', 'request_body'].map(name => ['input-is-raw-body', name, string] as const),
  ...[
    'password', 'api_key', 'apiKey', 'access_token', 'token', 'client_secret', 'credentials', 'Authorization',
  ].map(name => ['input-chooses-credential', name, string] as const),
  ...['tenant', 'tenant_id', 'tenantId'].map(name => ['input-chooses-tenant', name, string] as const),
  ['input-chooses-tenant', 'tenant', { enum: ['a', 'b'] }],
  ...['permissions', 'scopes', 'role', 'on_behalf_of', 'acl'].map(name => ['input-chooses-permission', name, string] as const),
  ...[
    'approved', 'approval', 'confirm', 'user_confirmed', 'approved_by', 'consent',
  ].map(name => ['input-chooses-approval', name, { type: 'boolean' }] as const),
  ...['idempotency_key', 'idempotencyKey', 'Idempotency-Key'].map(name => ['input-chooses-idempotency-key', name, string] as const),
  ['input-chooses-url', 'nested', closed({ a: closed({ url: string }) })],
  ['input-chooses-tenant', 'list', { type: 'array', items: closed({ tenant: string }) }],
  ['input-chooses-credential', 'one', { oneOf: [closed({ password: string }), { type: 'null' }] }],

  ['input-open', 'thing', { type: 'object' }],
  ['input-open', 'thing', { type: 'object', properties: { a: string } }],
  ['input-open', 'thing', { properties: { a: string } }],
  ['input-open', 'thing', {}],
  ['input-open', 'thing', true],
  ['input-open', 'thing', { description: 'anything' }],
  ['input-open', 'thing', { type: ['object', 'null'] }],
  ['input-open', 'thing', { type: 'object', additionalProperties: string }],
  ['input-open', 'thing', { type: 'object', additionalProperties: true }],
  ['input-open', 'thing', { type: 'object', additionalProperties: false, patternProperties: { '^a': string } }],
  ['input-open', 'thing', { type: 'array' }],
  ['input-open', 'thing', { type: 'array', items: {} }],
  ['input-open', 'thing', { type: 'array', items: { type: 'object' } }],
  ['input-open', 'thing', { anyOf: [closed({ a: string }), { type: 'object' }] }],
  ['input-open', 'thing', { type: 'array', prefixItems: [string] }],

  ['pattern-without-max-length', 'thing', { type: 'string', pattern: '^a' }],
  ['pattern-without-max-length', 'thing', { type: 'array', items: { type: 'string', pattern: '^a' } }],
  ['pattern-invalid', 'thing', { type: 'string', maxLength: 9, pattern: '^(?=a)' }],
  ['pattern-invalid', 'thing', { type: 'string', maxLength: 9, pattern: '(?i)a' }],
  ['pattern-invalid', 'thing', { type: 'string', maxLength: 9, pattern: '\\Aa\\z' }],
  ['pattern-invalid', 'thing', { type: 'string', maxLength: 9, pattern: '^[a\\_]+$' }],
  ['pattern-invalid', 'thing', { type: 'string', maxLength: 9000, pattern: '^a{1,2048}$' }],
  ['pattern-invalid', 'thing', { type: 'string', maxLength: 9, pattern: '(a' }],
  ['format-unknown', 'thing', { type: 'string', format: 'iban' }],
  ['format-unknown', 'thing', { type: 'string', format: 'dat' }],
  ['schema-invalid', 'thing', { type: 'strin' }],
  ['schema-invalid', 'thing', { type: 'string', maxLength: -1 }],
  ['schema-invalid', 'thing', closed({ a: string }, { required: ['b'] })],
  ['schema-unsupported', 'thing', { type: 'string', maxLength: 3, discriminator: { propertyName: 'x' } }],
  ['schema-unsupported', 'thing', { type: 'string', $id: 'https://x.example/a' }],
  ['schema-unsupported', 'thing', { type: 'string', $data: '/a' }],
  ['schema-reference', 'thing', { $ref: 'https://x.example/schema' }],
  ['schema-reference', 'thing', { $ref: '#/$defs/nothing' }],
  ['unique-without-max-items', 'thing', { type: 'array', uniqueItems: true, items: closed({ a: string }) }],
  ['unique-without-max-items', 'thing', { type: 'array', uniqueItems: true, maxItems: 5_000, items: { enum: [1, 2] } }],
  ['schema-reference', 'thing', { $ref: '#/properties/customer_id' }],
]

for (const [rule, name, schema] of REFUSED) {
  test(`an input is refused with ${rule} for ${name}: ${JSON.stringify(schema)}`, async t => {
    assert.deepEqual(await rulesOf(t, property(name, schema)), [rule])
  })
}

const ACCEPTED: ReadonlyArray<readonly [name: string, schema: unknown]> = [
  ['size', string],
  ['url', { enum: ['https://a.example/', 'https://b.example/'] }],
  ['host', { const: 'a' }],
  ['role', { enum: ['viewer', 'editor'] }],
  ['photo_url_id', string],
  ['ghost', string],
  ['tokens', { type: 'integer' }],
  ['page_token', string],
  ['body', { type: 'string', maxLength: 4000 }],
  ['thing', { oneOf: [closed({ kind: { const: 'a' }, x: { type: 'integer' } }), closed({ kind: { const: 'b' } })] }],
  ['thing', { type: 'object', unevaluatedProperties: false, allOf: [{ properties: { a: string } }], properties: { b: string } }],
  ['thing', { type: ['string', 'null'], maxLength: 3 }],
  ['thing', { type: 'array', items: { type: 'string', format: 'date' }, maxItems: 3 }],
  ['thing', { type: 'array', uniqueItems: true, items: string }],
  ['thing', { type: 'array', uniqueItems: true, maxItems: 500, items: closed({ a: string }) }],
  ['thing', { type: 'array', prefixItems: [string, { type: 'integer' }], items: false }],
  ['thing', { type: 'string', maxLength: 9, pattern: '^(a+)+$' }],
  ['thing', { type: 'number', multipleOf: 0.01 }],
]

for (const [name, schema] of ACCEPTED) {
  test(`an input is accepted with ${name}: ${JSON.stringify(schema)}`, async t => {
    assert.deepEqual(await rulesOf(t, property(name, schema)), [])
  })
}

test('an input that is not an object is refused', async t => {
  assert.deepEqual(await rulesOf(t, shop => { shop.write.input = { type: 'array', items: string } }), ['input-not-object', 'unknown-field'])
  assert.ok((await rulesOf(t, shop => { delete shop.write.input.type })).includes('input-not-object'))
})

test('what a definition hides is found where it is used', async t => {
  const through = (definition: unknown) => (shop: Shop): void => {
    property('thing', { $ref: '#/$defs/thing' })(shop)
    shop.write.input.$defs = { thing: definition }
  }
  assert.deepEqual(await rulesOf(t, through(closed({ token: string }))), ['input-chooses-credential'])
  assert.deepEqual(await rulesOf(t, through({ type: 'object' })), ['input-open'])
  assert.deepEqual(await rulesOf(t, through(closed({ again: { $ref: '#/$defs/thing' }, a: string }))), [])
})

const again = { $ref: '#/$defs/thing' }
const RECURSIVE: ReadonlyArray<readonly [rules: readonly string[], what: string, definition: unknown]> = [
  [[], 'a tree', closed({ name: string, children: { type: 'array', items: again } })],
  [[], 'a child that may be null', closed({ name: string, child: { oneOf: [again, { type: 'null' }] } })],
  [[], 'a union in which one branch is deep', { oneOf: [closed({ kind: { const: 'leaf' } }), closed({ kind: { const: 'list' }, items: { type: 'array', items: again } })] }],
  [['schema-recursion'], 'a union of two deep branches', { oneOf: [closed({ default: again }), closed({ or: again })] }],
  [['schema-recursion'], 'the same with lists', { anyOf: [closed({ and: { type: 'array', items: again } }), closed({ or: { type: 'array', items: again } })] }],
  [['schema-recursion'], 'a condition that is deep beside what is deep', closed({ child: again }, { if: { properties: { child: again } } })],
]

for (const [rules, what, definition] of RECURSIVE) {
  test(`an input that refers to itself is ${rules.length === 0 ? 'accepted' : 'refused'}: ${what}`, async t => {
    assert.deepEqual(await rulesOf(t, shop => {
      property('thing', again)(shop)
      shop.write.input.$defs = { thing: definition }
    }), rules)
  })
}

test('an argument that nothing uses is refused, at any depth', async t => {
  assert.deepEqual(await rulesOf(t, shop => { shop.write.input.properties.extra = string }), ['argument-unused'])
  assert.deepEqual(await rulesOf(t, shop => {
    shop.write.values.place = '${args.destination.city}'
    shop.write.checks.pop()
    shop.write.proposal.after = {}
    shop.write.request.body = { shipping_address: { city: '${args.destination.city}' } }
  }), ['argument-unused'])
  assert.deepEqual(await rulesOf(t, shop => {
    shop.write.input.properties.lines = { type: 'array', items: closed({ sku: string, colour: string }, { required: ['sku', 'colour'] }) }
    shop.write.scope.push({ require: '!has(args.lines) || args.lines.all(l, l.sku != "")' })
  }), ['argument-unused'])
})

test('a whole body that an agent writes is refused, a list of checked things is not', async t => {
  const body = (schema: unknown) => (shop: Shop): void => {
    shop.write.operation = 'upload'
    shop.write.input.properties.content = schema
    shop.write.input.required.push('content')
    shop.write.request = { body: '${args.content}', media_type: 'text/plain' }
    shop.write.idempotency = { header: 'Idempotency-Key', retention: '24h' }
    shop.write.outcomes = []
    delete shop.write.result
    delete shop.write.examples
    delete shop.write.lookup.outcomes[0].result
  }
  assert.deepEqual(await rulesOf(t, body(string)), ['input-is-raw-body'])
  assert.deepEqual(await rulesOf(t, body({ type: 'array', items: string })), [])
})

test('a result has to be closed too, and may name values of one kind', async t => {
  const result = (schema: unknown) => (shop: Shop): void => {
    shop.write.result.schema.properties.more = schema
  }
  for (const open of [
    {}, true, { type: 'object' }, { type: 'array' }, { type: 'object', properties: { a: string } },
    { type: 'object', patternProperties: { '^a': string } },
  ]) {
    assert.deepEqual(await rulesOf(t, result(open)), ['result-open'], JSON.stringify(open))
  }
  assert.deepEqual(await rulesOf(t, result({ type: 'object', additionalProperties: string })), [])
  assert.deepEqual(await rulesOf(t, result({ type: 'string', format: 'uri', pattern: '^https:' })), [])
})
