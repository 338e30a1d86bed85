import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { JsonSchema } from '../../../src/catalog/openapi/operation.ts'
import { documentOf, faultOf, operationOf, schemaOf, withSchemas } from './folder.ts'

const S = '#/components/schemas/'

/** A strict compiler: whatever is closed must compile in it, and nothing in it is unknown. */
const accepts = (schema: JsonSchema, value: unknown): boolean =>
  new Ajv2020(
    { strictSchema: true, strictTypes: false, strictTuples: false, strictRequired: false, ownProperties: true, validateFormats: false },
  ).compile(schema)(value)

test('every spelling of 2.0, 3.0 and 3.1 is rewritten to the same 2020-12', async t => {
  const rows: ReadonlyArray<readonly [object | boolean, unknown]> = [
    [{ type: 'string', nullable: true }, { type: ['string', 'null'] }],
    [{ type: 'string', 'x-nullable': true }, { type: ['string', 'null'] }],
    [{ type: ['string', 'null'] }, { type: ['string', 'null'] }],
    [{ type: ['string', 'null'], nullable: true }, { type: ['string', 'null'] }],
    [{ type: 'string', nullable: false }, { type: 'string' }],
    [{ nullable: true }, {}],
    [{ type: 'string', nullable: true, enum: ['a', null] }, { type: ['string', 'null'], enum: ['a', null] }],
    [{ type: 'string', nullable: true, enum: ['a'] }, { type: ['string', 'null'], enum: ['a'] }],
    [{ enum: ['a', null] }, { enum: ['a', null] }],
    [{ nullable: true, allOf: [{ type: 'object' }] }, { anyOf: [{ allOf: [{ type: 'object' }] }, { type: 'null' }] }],
    [{ type: 'object', nullable: true, oneOf: [{ type: 'object' }] }, { anyOf: [{ type: 'object', oneOf: [{ type: 'object' }] }, { type: 'null' }] }],
    [{ minimum: 1, exclusiveMinimum: true }, { exclusiveMinimum: 1 }],
    [{ maximum: 1, exclusiveMaximum: true, minimum: 0, exclusiveMinimum: false }, { minimum: 0, exclusiveMaximum: 1 }],
    [{ exclusiveMinimum: true }, {}],
    [{ exclusiveMinimum: 2, minimum: 1 }, { minimum: 1, exclusiveMinimum: 2 }],
    [{ type: 'file' }, {}],
    [{ type: 'any', description: 'd' }, { description: 'd' }],
    [{ type: ['string', 'date'] }, { type: 'string' }],
    [{ enum: [] }, {}],
    [{ required: true }, {}],
    [{ required: ['a', 'a', 1] }, { required: ['a'] }],
    [{ required: [] }, {}],
    [
      { items: [{ type: 'string' }, { type: 'integer' }], additionalItems: false },
      { prefixItems: [{ type: 'string' }, { type: 'integer' }], items: false },
    ],
    [{ type: 'array' }, { type: 'array' }],
    [{ type: 'array', items: {} }, { type: 'array', items: {} }],
    [{ additionalProperties: 'no' }, {}],
    [{ additionalProperties: false }, { additionalProperties: false }],
    [{ multipleOf: 0, minLength: -1, maxItems: 1.5, uniqueItems: 'yes', format: 5, maximum: '9' }, {}],
    [
      {
        title: 't',
        xml: { name: 'x' },
        externalDocs: {},
        example: 1,
        'x-y': 1,
        discriminator: { propertyName: 'a' },
        default: 1,
        $comment: 'c',
        $schema: 's',
      },
      { title: 't' },
    ],
    [
      { if: { const: 1 }, then: false, else: true, not: {}, dependentRequired: { a: ['b'] } },
      { dependentRequired: { a: ['b'] }, not: {}, if: { const: 1 }, then: false, else: true },
    ],
    [true, true], [false, false],
  ]
  for (const version of ['2.0', '3.0.3', '3.1.0', '3.2.0']) {
    for (const [schema, expected] of rows) {
      const closed = await schemaOf(t, { A: schema }, 'A', version)
      assert.deepEqual(closed, expected, `${version} ${JSON.stringify(schema)}`)
      accepts(closed, null)
    }
  }
})

test('patterns are kept where a linear-time engine takes them, and left out with a warning where none does', async t => {
  const rows: ReadonlyArray<readonly [string, string | undefined]> = [
    ['^[a\\_]+$', '^[a\\_]+$'], ['(?i)abc', '(?i)abc'], ['(?P<n>a)', '(?P<n>a)'], ['^(a+)+$', '^(a+)+$'], [
      '^([\\/\\w \\.-]*)*\\/?$', '^([\\/\\w \\.-]*)*\\/?$',
    ],
    ['\\A..\\z', '\\A..\\z'], ['/^[a-z]+$/', '^[a-z]+$'], ['/v1/', '/v1/'],
    ['(?=a)b', undefined], ['a{1,2048}', undefined], ['(a)\\1', undefined], ['[', undefined],
  ]
  for (const [pattern, expected] of rows) {
    const operation = await operationOf(t, { requestBody: { content: { 'application/json': { schema: { type: 'string', pattern } } } } })
    const schema = operation.bodies.get('application/json')?.schema as { pattern?: string }
    assert.equal(schema.pattern, expected, pattern)
    assert.equal(operation.warnings.length, expected === pattern ? 0 : 1, pattern)
  }
  const closed = await schemaOf(
    t, { A: { patternProperties: { '(?=a)': {} }, additionalProperties: false }, B: { patternProperties: { '^x-': { type: 'string' } } } }, 'A',
  )
  assert.deepEqual(closed, {})
  assert.deepEqual(
    await schemaOf(t, { B: { patternProperties: { '^x-': { type: 'string' } } } }, 'B'), { patternProperties: { '^x-': { type: 'string' } } },
  )
})

test('what is no schema at all is a fault, an empty one admits everything', async t => {
  for (const odd of [[], 'string', 5]) {
    const document = await documentOf(t, withSchemas({ A: { properties: { b: { items: odd, allOf: [odd] } } } }))
    const fault = faultOf(() => document.schema('/components/schemas/A', 'response'))
    assert.deepEqual([fault.code, fault.pointer], ['schema-malformed', '/components/schemas/A/properties/b/allOf/0'])
  }
  assert.deepEqual(await schemaOf(t, { A: { properties: { b: null } } }, 'A'), { properties: { b: true } })
})

test('a request never carries what is readOnly, and never must', async t => {
  const schemas = {
    Pet: { type: 'object', required: ['id', 'name', 'ref', 'all', 'owner'], properties: {
      id: { type: 'string', readOnly: true }, name: { type: 'string' }, secret: { type: 'string', writeOnly: true },
      ref: { $ref: `${S}Stamp` }, all: { allOf: [{ $ref: `${S}Stamp` }] }, owner: { $ref: `${S}Owner` },
    } },
    Stamp: { type: 'string', readOnly: true },
    Owner: { type: 'object', required: ['id'], properties: { id: { readOnly: true } } },
  }
  for (const version of ['2.0', '3.0.3', '3.1.0']) {
    const text = JSON.stringify(schemas).replaceAll(S, version === '2.0' ? '#/definitions/' : S)
    const request = await schemaOf(t, JSON.parse(text), 'Pet', version, 'request')
    assert.equal(accepts(request, { name: 'a', owner: {}, secret: 's' }), true, version)
    for (const name of ['id', 'ref', 'all']) assert.equal(accepts(request, { name: 'a', owner: {}, [name]: 'x' }), false, name)
    assert.equal(accepts(request, { name: 'a', owner: { id: 1 } }), false)
    assert.equal(accepts(request, { owner: {} }), false)
    const response = await schemaOf(t, JSON.parse(text), 'Pet', version, 'response')
    assert.equal(accepts(response, { id: '1', name: 'a', ref: 'r', all: 'a', owner: { id: 1 } }), true)
    assert.equal(accepts(response, { id: '1', name: 'a', ref: 'r', all: 'a', owner: { id: 1 }, secret: 's' }), false)
    assert.equal(accepts(response, { name: 'a', owner: { id: 1 } }), false)
  }
})

test('a composed schema does not require what another part of it marks readOnly', async t => {
  const schemas = {
    Base: { type: 'object', properties: { id: { readOnly: true }, tag: { type: 'string' } } },
    Needs: { required: ['id', 'tag'] },
    Both: { allOf: [{ $ref: `${S}Base` }, { $ref: `${S}Needs` }, { anyOf: [{ required: ['id'] }, { required: ['tag'] }] }], required: ['id'] },
  }
  const both = await schemaOf(t, schemas, 'Both', '3.0.3', 'request')
  assert.equal(accepts(both, { tag: 'a' }), true)
  assert.equal(accepts(both, { tag: 'a', id: 1 }), false)
  assert.equal(accepts(both, {}), false)
  // Alone it goes on to require both.
  assert.equal(accepts(await schemaOf(t, schemas, 'Needs', '3.0.3', 'request'), { tag: 'a' }), false)
  assert.equal(accepts(await schemaOf(t, schemas, 'Both', '3.0.3', 'response'), { tag: 'a' }), false)
})

test('a schema that holds itself stays a reference, one composed of itself is refused', async t => {
  const schemas = {
    Tree: { type: 'object', properties: { children: { type: 'array', items: { $ref: `${S}Tree` } } } },
    A: { properties: { b: { $ref: `${S}B` } } }, B: { properties: { c: { $ref: `${S}C` } } }, C: { anyOf: [{ $ref: `${S}A` }, { type: 'null' }] },
    Endless: { allOf: [{ $ref: `${S}Endless` }] }, Holder: { items: { $ref: `${S}Endless` } },
    Left: { oneOf: [{ $ref: `${S}Right` }] }, Right: { not: { $ref: `${S}Left` } },
  }
  const tree = await schemaOf(t, schemas, 'Tree')
  assert.equal(accepts(tree, { children: [{ children: [{ children: [] }] }] }), true)
  assert.equal(accepts(tree, { children: [{ children: [{ children: 5 }] }] }), false)
  assert.equal(accepts(await schemaOf(t, schemas, 'A'), { b: { c: { b: { c: null } } } }), true)
  const document = await documentOf(t, withSchemas(schemas))
  for (const name of ['Endless', 'Holder', 'Left']) assert.equal(
    faultOf(() => document.schema(`/components/schemas/${name}`, 'response')).code, 'schema-endless', name,
  )
})

test('twenty-four schemas that each refer twice to the next stay twenty-four', async t => {
  const schemas = Object.fromEntries(
    Array.from({ length: 24 }, (_, i) => [`N${i}`, { properties: { a: { $ref: `${S}N${i + 1}` }, b: { $ref: `${S}N${i + 1}` } } }]),
  )
  const closed = await schemaOf(t, { ...schemas, N24: { type: 'integer' } }, 'N0') as { properties: object, $defs: object }
  assert.equal(Object.keys(closed.$defs).length, 24)
  assert.ok(JSON.stringify(closed).length < 4000)
})

test('a circle of sixty-five schemas is closed in an instant', async t => {
  const names = Array.from({ length: 65 }, (_, i) => `N${i}`)
  const properties = Object.fromEntries(names.map(name => [name, { anyOf: [{ $ref: S + name }, { type: 'string', nullable: true }] }]))
  const document = await documentOf(t, withSchemas(Object.fromEntries(names.map(name => [name, { type: 'object', properties }]))))
  const started = process.cpuUsage()
  const closed = document.schema('/components/schemas/N0', 'response') as { $defs: object }
  assert.equal(Object.keys(closed.$defs).length, 65)
  assert.ok(process.cpuUsage(started).user < 1_000_000)
})

test('the bounds of depth and size are faults', async t => {
  let deep: object = { type: 'string' }
  for (let i = 0; i < 150; i++) deep = { items: deep }
  const document = await documentOf(
    t, withSchemas({ Deep: deep, Wide: { properties: Object.fromEntries(Array.from({ length: 100_001 }, (_, i) => [`p${i}`, {}])) } }),
  )
  assert.equal(faultOf(() => document.schema('/components/schemas/Deep', 'response')).code, 'schema-too-deep')
  assert.equal(faultOf(() => document.schema('/components/schemas/Wide', 'response')).code, 'schema-too-large')
})

test('long chains of composed schemas are faults, not overflows', async t => {
  for (const keyword of ['allOf', 'anyOf', 'not', 'properties']) {
    const length = keyword === 'properties' ? 3000 : 15_000
    const schemas = Object.fromEntries(Array.from({ length }, (_, i) => {
      const next = { $ref: `${S}N${i + 1}` }
      return [`N${i}`, { [keyword]: keyword === 'not' ? next : keyword === 'properties' ? { a: next } : [next] }]
    }))
    const document = await documentOf(t, withSchemas({ ...schemas, [`N${length}`]: {} }))
    if (keyword === 'properties') assert.doesNotThrow(() => document.schema('/components/schemas/N0', 'request'))
    else assert.equal(faultOf(() => document.schema('/components/schemas/N0', 'request')).code, 'schema-too-deep', keyword)
  }
})

test('values that canonical JSON cannot hold are faults', async t => {
  for (const text of ['const: .nan', 'enum: [.inf]', 'enum: ["\\ud800"]']) {
    const document = await documentOf(t, `openapi: 3.1.0\ncomponents: {schemas: {A: {${text}}}}\n`, 'a.yaml')
    assert.equal(faultOf(() => document.schema('/components/schemas/A', 'response')).code, 'not-json', text)
  }
})

test('the subtypes of a schema with a discriminator are kept beside it', async t => {
  const parent = { type: 'object', required: ['kind'], properties: { kind: { type: 'string' } } }
  const child = (parentRef: string, name: string): object => ({
    allOf: [{ $ref: parentRef }, { type: 'object', properties: { [name]: { type: 'string' } } }],
  })
  const mapped = {
    Pay: { ...parent, discriminator: { propertyName: 'kind', mapping: { card: `${S}Card`, iban: 'Iban', lost: `${S}Lost` } } },
    Card: child(`${S}Pay`, 'pan'),
    Iban: child(`${S}Pay`, 'iban'),
  }
  const implicit = {
    Pay: { ...parent, discriminator: { propertyName: 'kind' } },
    Card: child(`${S}Pay`, 'pan'),
    Iban: child(`${S}Pay`, 'iban'),
    Odd: { allOf: [{ $ref: '#/nope' }] },
  }
  for (const schemas of [mapped, implicit]) {
    const closed = await schemaOf(
      t, { ...schemas, Holder: { properties: { pay: { $ref: `${S}Pay` } } } }, 'Holder',
    ) as { properties: { pay: { $ref: string } }, $defs: { [name: string]: unknown } }
    assert.deepEqual(closed.$defs[closed.properties.pay.$ref.slice(8)], { anyOf: ['Card', 'Iban', 'Pay'].map(name => ({ $ref: `#/$defs/${name}` })) })
    assert.deepEqual(closed.$defs['Card'], { allOf: [{ $ref: '#/$defs/Pay' }, { type: 'object', properties: { pan: { type: 'string' } } }] })
    assert.equal(accepts(closed as JsonSchema, { pay: { kind: 'card', pan: 'x' } }), true)
    assert.equal(accepts(closed as JsonSchema, { pay: {} }), false)
  }
  const old = { Pay: { ...parent, discriminator: 'kind' }, Card: child('#/definitions/Pay', 'pan'), Holder: { items: { $ref: '#/definitions/Pay' } } }
  assert.ok(JSON.stringify(await schemaOf(t, old, 'Holder', '2.0')).includes('"pan"'))
})

test('every reference in a closed schema leads to its own $defs', async t => {
  const schemas = {
    'Two Words': { type: 'string' }, 'a.b-c_d': { items: { $ref: `${S}Two%20Words` } }, 'ünï': { $ref: `${S}a.b-c_d/items` },
    All: { properties: { a: { $ref: `${S}a.b-c_d` }, u: { $ref: `${S}%C3%BCn%C3%AF` }, w: { $ref: `${S}Two Words` } } },
  }
  const closed = await schemaOf(t, schemas, 'All') as { $defs: { [name: string]: unknown } }
  const references = [...JSON.stringify(closed).matchAll(/"\$ref":"([^"]+)"/g)].map(match => match[1] as string)
  assert.ok(references.length >= 4)
  for (const reference of references) assert.ok(Object.hasOwn(closed.$defs, reference.replace('#/$defs/', '')), reference)
  assert.equal(accepts(closed as JsonSchema, { a: ['x'], u: 'x', w: 'x' }), true)
  assert.equal(accepts(closed as JsonSchema, { a: [5] }), false)
})
