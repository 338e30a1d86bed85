import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { documentOf, documentsOf, faultOf, operationOf, schemaOf, withSchemas } from './folder.ts'

const S = '#/components/schemas/'

test('any pointer inside the document is followed, escapes and references on its way included', async t => {
  const schemas = {
    Order: {
      type: 'object',
      properties: {
        ship: { type: 'object', properties: { zip: { type: 'string' } } }, bill: { $ref: `${S}Order/properties/ship` },
        deep: {
          $ref: `${S}Order/properties/bill/properties/zip`,
        }, 'a/b~c %': { type: 'integer' }, list: { oneOf: [{ type: 'null' }, { type: 'boolean' }] },
      },
    },
    Odd: { $ref: `${S}Order/properties/a~1b~0c%20%25` },
    Item: { $ref: `${S}Order/properties/list/oneOf/1` },
    Through: { $ref: `${S}Alias/properties/deep` },
    Alias: { $ref: `${S}Order` },
    Path: { $ref: '#/paths/~1x~1%7Bid%7D/get/responses/200/content/application~1json/schema' },
  }
  const response = { description: '', content: { 'application/json': { schema: { const: 7 } } } }
  const document = await documentOf(t, withSchemas(schemas, '3.1.0', { paths: { '/x/{id}': { get: { responses: { 200: response } } } } }))
  const close = (name: string): unknown => {
    const schema = document.schema(`/components/schemas/${name}`, 'response') as { $ref: string, $defs: { [name: string]: { $ref?: string } } }
    let at: { $ref?: string } = schema
    while (at.$ref !== undefined) at = schema.$defs[at.$ref.slice('#/$defs/'.length)] as { $ref?: string }
    return at
  }
  assert.deepEqual(close('Odd'), { type: 'integer' })
  assert.deepEqual(close('Item'), { type: 'boolean' })
  assert.deepEqual(close('Through'), { type: 'string' })
  assert.deepEqual(close('Path'), { const: 7 })
})

test('what leads to nothing, or to what only every object has, is unresolved', async t => {
  for (const reference of [
    `${S}None`, `${S}toString`, '#/constructor/prototype', `${S}A/__proto__`, `${S}A/enum/01`, `${S}A/enum/-`, `${S}A/enum/9`, `${S}A/enum/length`,
    '#/components/schemas/', 'none.json', 'none.json#/A',
  ]) {
    const document = await documentOf(t, withSchemas({ A: { enum: [1, 2] }, B: { $ref: reference } }))
    const fault = faultOf(() => document.schema('/components/schemas/B', 'response'))
    assert.deepEqual([fault.code, fault.pointer], ['ref-unresolved', '/components/schemas/B'], reference)
  }
})

test('references that leave the folder are refused, each kind with its code, and nothing is read or fetched', async t => {
  const seen: string[] = []
  const server = createServer((request, response) => {
    seen.push(request.url ?? '')
    response.end('{"type": "string"}')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const rows: ReadonlyArray<readonly [string, string]> = [
    [`http://127.0.0.1:${port}/a`, 'ref-insecure-url'], [`HTTP://localhost:${port}/a`, 'ref-insecure-url'], [
      `http://2130706433:${port}/a`, 'ref-insecure-url',
    ],
    ['https://specs.example.test/x.yaml#/X', 'ref-external-url'], [`//127.0.0.1:${port}/a`, 'ref-external-url'], ['ftp://h/x', 'ref-external-url'],
    ['urn:x:y', 'ref-external-url'], ['data:application/json,{}', 'ref-external-url'],
    ['file:///etc/passwd', 'ref-file-url'], ['FILE:/etc/passwd', 'ref-file-url'], ['file:api.json', 'ref-file-url'],
    [
      '/etc/passwd', 'ref-absolute-file',
    ], ['C:\\x.json', 'ref-absolute-file'], ['c:/x.json', 'ref-absolute-file'], ['\\\\host\\x', 'ref-absolute-file'],
    ['%2Fetc/passwd', 'ref-absolute-file'],
    ['../outside.json#/X', 'ref-escapes-folder'], ['../../x.yaml', 'ref-escapes-folder'], ['a/../../x.yaml', 'ref-escapes-folder'],
    ['%2e%2e/x.yaml', 'ref-escapes-folder'], ['..', 'ref-escapes-folder'], ['a/..%2f..%2Fx.yaml', 'ref-escapes-folder'],
    [
      '..\\x.json', 'ref-malformed',
    ], ['x.json?y', 'ref-malformed'], ['x%00.json', 'ref-malformed'], ['%zz.json', 'ref-malformed'], ['#/%E0%A4%A', 'ref-malformed'],
    ['#/a~2b', 'ref-malformed'], ['#anchor', 'ref-anchor'], ['other.json#anchor', 'ref-anchor'],
  ]
  for (const [reference, code] of rows) {
    const documents = await documentsOf(t, { 'api.json': withSchemas({ A: { $ref: reference } }), 'other.json': {} })
    const fault = faultOf(() => documents.open('api.json').schema('/components/schemas/A', 'response'))
    assert.equal(fault.code, code, reference)
    assert.ok(!fault.message.includes('passwd'))
  }
  assert.deepEqual(seen, [])
})

test('files of the folder refer to one another, relative to where they stand', async t => {
  const documents = await documentsOf(t, {
    'shop/api.json': withSchemas(
      { A: { $ref: '../common/money.yaml#/Money' }, Whole: { $ref: './whole.json' }, Back: { $ref: '../common/back.json' } },
    ),
    'shop/whole.json': { type: 'object', properties: { self: { $ref: '#' }, money: { $ref: '../common/money.yaml#/Money' } } },
    'common/money.yaml': 'Money: {type: object, properties: {currency: {$ref: "#/Currency"}}}\nCurrency: {type: string, nullable: true}\n',
    'common/back.json': { items: { $ref: '../shop/api.json#/components/schemas/A' } },
  })
  const document = documents.open('shop/api.json')
  const closed = document.schema('/components/schemas/Whole', 'response') as { $ref: string, $defs: { [name: string]: { properties?: object } } }
  const names = Object.keys(closed.$defs)
  assert.equal(names.length, 3)
  assert.ok(names.every(name => /^[A-Za-z_.-]*:[0-9a-f]{12}$/.test(name)))
  assert.deepEqual(Object.values(closed.$defs).find(schema => 'type' in schema && schema.type instanceof Array), { type: ['string', 'null'] })
  assert.doesNotThrow(() => document.schema('/components/schemas/Back', 'response'))
})

test('a circle of aliases is refused wherever it is entered', async t => {
  const schemas = {
    A: { $ref: `${S}B` },
    B: { $ref: `${S}A` },
    C: { properties: { a: { $ref: `${S}A` } } },
    Own: { $ref: `${S}Own` },
    Through: { $ref: `${S}Through/properties/x` },
  }
  const document = await documentOf(t, withSchemas(schemas))
  for (const name of ['A', 'C', 'Own', 'Through']) assert.equal(
    faultOf(() => document.schema(`/components/schemas/${name}`, 'response')).code, 'ref-cycle', name,
  )
})

test('pointers that lead through references that lead through references are cut off, not followed for ever', async t => {
  // Each level is resolved twice by the level above it.
  const levels = Array.from({ length: 40 }, (_, i) => i)
  const schemas = {
    ...Object.fromEntries(levels.flatMap(i => [[`R${i}`, { $ref: `${S}L${i}/b${i}` }], [`L${i}`, { $ref: `${S}R${i + 1}` }]])),
    R40: Object.fromEntries(levels.map(i => [`b${i}`, { $ref: `${S}R${i + 1}` }])),
  }
  const document = await documentOf(t, withSchemas(schemas))
  const started = process.cpuUsage()
  assert.equal(faultOf(() => document.schema('/components/schemas/R0', 'response')).code, 'ref-cycle')
  assert.doesNotThrow(() => document.schema('/components/schemas/R35', 'response'))
  assert.ok(process.cpuUsage(started).user < 2_000_000)
})

test('a property that is named $ref is a property', async t => {
  const schema = await schemaOf(
    t, { A: { type: 'object', properties: { $ref: { type: 'string' }, $id: { type: 'integer' } }, required: ['$ref'] } }, 'A',
  )
  assert.deepEqual(schema, { type: 'object', properties: { $ref: { type: 'string' }, $id: { type: 'integer' } }, required: ['$ref'] })
})

test('references and ids inside examples, defaults and values are data', async t => {
  const schema = await schemaOf(t, {
    A: {
      type: 'object', example: { $ref: '#/nope' }, examples: [{ $id: 'abc' }], default: { $ref: 'http://169.254.169.254/' },
      properties: { b: { example: { $id: 'abc' }, enum: [{ $ref: '#/nope' }, { $id: 'abc' }] }, c: { const: { $ref: 'file:///x' } } },
    },
  }, 'A')
  assert.deepEqual(schema, { type: 'object', properties: { b: { enum: [{ $ref: '#/nope' }, { $id: 'abc' }] }, c: { const: { $ref: 'file:///x' } } } })
})

test('what stands beside a reference is ignored in 3.0 with a warning, and kept in 3.1', async t => {
  const schemas = { A: { properties: { b: { $ref: `${S}B`, nullable: true, maxLength: 3 } } }, B: { type: 'string' } }
  const B = { B: { type: 'string' } }
  assert.deepEqual(await schemaOf(t, schemas, 'A', '3.0.3'), { properties: { b: { $ref: '#/$defs/B' } }, $defs: B })
  const newer = { A: { properties: { b: { $ref: `${S}B`, maxLength: 3 } } }, B: { type: 'string' } }
  assert.deepEqual(await schemaOf(t, newer, 'A'), { properties: { b: { maxLength: 3, $ref: '#/$defs/B' } }, $defs: B })
  const media = { 'application/json': { schema: schemas.A } }
  const operation = await operationOf(t, { requestBody: { content: media } }, { version: '3.0.3', more: { components: { schemas } } })
  assert.deepEqual(
    operation.warnings, ['api.json#/paths/~1x/post/requestBody/content/application~1json/schema/properties/b: what stands beside $ref is ignored'],
  )
})

test('under an $id a reference is read within that schema first, then within the file', async t => {
  const schemas = {
    A: { $id: 'https://example.test/root', $defs: { B: { const: 'inner' } }, properties: { b: { $ref: '#/$defs/B' }, c: { $ref: `${S}C` } } },
    C: { const: 'outer' },
  }
  const closed = await schemaOf(t, schemas, 'A') as { properties: { b: { $ref: string }, c: { $ref: string } }, $defs: { [name: string]: unknown } }
  assert.deepEqual(closed.$defs[closed.properties.b.$ref.slice(8)], { const: 'inner' })
  assert.deepEqual(closed.$defs[closed.properties.c.$ref.slice(8)], { const: 'outer' })
  assert.ok(!('$id' in closed))
})

test('anchors and dynamic references are refused by name, never resolved to something else', async t => {
  const document = await documentOf(
    t, withSchemas({ A: { $ref: '#node' }, B: { $anchor: 'node', type: 'string' }, C: { items: { $dynamicRef: '#node' } } }),
  )
  assert.equal(faultOf(() => document.schema('/components/schemas/A', 'response')).code, 'ref-anchor')
  assert.equal(faultOf(() => document.schema('/components/schemas/C', 'response')).code, 'ref-dynamic')
  assert.deepEqual(document.schema('/components/schemas/B', 'response'), { type: 'string' })
})

test('a property named __proto__ is kept as an own property', async t => {
  const document = await documentOf(
    t,
    '{"openapi":"3.1.0","components":{"schemas":{"A":{"properties":{"__proto__":{"type":"string"},' +
      '"x":{"$ref":"#/components/schemas/__proto__"}}},"__proto__":{"type":"null"}}}}',
  )
  const closed = document.schema('/components/schemas/A', 'response') as { properties: object, $defs: object }
  assert.deepEqual(Object.keys(closed.properties), ['__proto__', 'x'])
  assert.deepEqual(Object.getOwnPropertyDescriptor(closed.$defs, '__proto__')?.value, { type: 'null' })
  assert.equal(Object.getPrototypeOf(closed.properties), Object.prototype)
})
