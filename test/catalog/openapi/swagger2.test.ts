import assert from 'node:assert/strict'
import { test } from 'node:test'
import { documentOf, faultOf, operationOf } from './folder.ts'

const read = (t: Parameters<typeof operationOf>[0], operation: object, more: object = {}) => operationOf(t, operation, { version: '2.0', more })

test('a shared body parameter is the body, of every media type that is consumed', async t => {
  const more = {
    parameters: { Body: { name: 'b', in: 'body', required: true, schema: { $ref: '#/definitions/A' } } }, definitions: { A: { type: 'object' } },
  }
  const operation = await read(
    t, { consumes: ['application/json; charset=utf-8', 'application/xml'], parameters: [{ $ref: '#/parameters/Body' }] }, more,
  )
  assert.deepEqual([...operation.bodies.keys()], ['application/json', 'application/xml'])
  assert.equal(operation.bodyRequired, true)
  assert.deepEqual(operation.bodies.get('application/json')?.schema, { $ref: '#/$defs/A', $defs: { A: { type: 'object' } } })
})

test('a body is JSON where nothing says what it is, and an own empty list counts as nothing', async t => {
  const body = { parameters: [{ name: 'b', in: 'body', schema: {} }] }
  assert.deepEqual([...(await read(t, body)).bodies.keys()], ['application/json'])
  assert.deepEqual([...(await read(t, { ...body, consumes: [] }, { consumes: ['text/plain'] })).bodies.keys()], ['application/json'])
  assert.deepEqual([...(await read(t, body, { consumes: ['text/plain'] })).bodies.keys()], ['text/plain'])
  assert.deepEqual([...(await read(t, { ...body, consumes: ['*/*'] })).bodies.keys()], ['application/json'])
})

test('form fields are a form, and with a file among them a multipart form', async t => {
  const fields = [
    { name: 'a', in: 'formData', type: 'string', required: true },
    { name: 'list', in: 'formData', type: 'array', items: { type: 'integer' }, collectionFormat: 'multi' },
  ]
  const file = { name: 'f', in: 'formData', type: 'file' }
  const form = await read(t, { parameters: fields })
  assert.deepEqual([...form.bodies.keys()], ['application/x-www-form-urlencoded'])
  assert.deepEqual(form.bodies.get('application/x-www-form-urlencoded')?.schema, {
    type: 'object', required: ['a'], additionalProperties: false, properties: {
      a: { type: 'string' }, list: { type: 'array', items: { type: 'integer' } },
    },
  })
  assert.deepEqual(
    form.bodies.get('application/x-www-form-urlencoded')?.encoding.get('list'),
    { contentType: null, style: 'form', explode: true, allowReserved: false },
  )
  const upload = await read(t, { parameters: [...fields, file] })
  assert.deepEqual([...upload.bodies.keys()], ['multipart/form-data'])
  const both = await read(t, { consumes: ['multipart/form-data', 'application/x-www-form-urlencoded', 'application/json'], parameters: fields })
  assert.deepEqual([...both.bodies.keys()], ['multipart/form-data', 'application/x-www-form-urlencoded'])
  const wrong = await read(t, { consumes: ['application/x-www-form-urlencoded'], parameters: [file] })
  assert.deepEqual([...wrong.bodies.keys()], ['multipart/form-data'])
})

test('a body beside form fields is refused', async t => {
  const parameters = [{ name: 'b', in: 'body', schema: {} }, { name: 'f', in: 'formData', type: 'string' }]
  const document = await documentOf(
    t, { swagger: '2.0', info: { title: 't', version: '1' }, paths: { '/x': { post: { parameters, responses: {} } } } },
  )
  assert.equal(faultOf(() => document.operation('POST /x')).code, 'body-conflict')
})

test('every collectionFormat is a style', async t => {
  const list = (collectionFormat: string | undefined, where = 'query'): object => ({
    name: `${collectionFormat}${where}`, in: where, type: 'array', items: { type: 'string' }, collectionFormat,
  })
  const parameters = [
    ...[undefined, 'csv', 'ssv', 'tsv', 'pipes', 'multi'].map(format => list(format)), list('csv', 'header'), list('pipes', 'header'),
  ]
  const operation = await read(t, { parameters })
  assert.deepEqual(operation.parameters.map(one => [one.style, one.explode]), [
    ['form', false], ['form', false], ['spaceDelimited', false], ['tabDelimited', false], ['pipeDelimited', false], ['form', true],
    ['simple', false], ['pipeDelimited', false],
  ])
})

test('the keywords of a parameter are its schema, nullable by x-nullable included', async t => {
  const operation = await read(t, { parameters: [
    { name: 'a', in: 'query', type: 'integer', minimum: 1, exclusiveMinimum: true, 'x-nullable': true, description: 'd', required: true, default: 3 },
    { name: 'Accept', in: 'header', type: 'string' },
  ] })
  assert.deepEqual(operation.parameters, [{
    name: 'a', in: 'query', required: true, style: 'form', explode: false, allowReserved: false, mediaType: null, schema: {
      type: ['integer', 'null'], exclusiveMinimum: 1,
    },
  }])
  assert.ok(operation.declaredHeaders.has('accept'))
})

test('responses have the media types that are produced, and none without a schema', async t => {
  const responses = { 200: { schema: { type: 'string' } }, 204: {}, default: { $ref: '#/responses/File' } }
  const more = { produces: ['text/plain'], responses: { File: { description: '', schema: { type: 'file' } } } }
  const own = await read(t, { produces: ['application/json', 'application/xml;q=1'], responses }, more)
  assert.deepEqual(
    own.responses.map(one => [one.status, [...one.content.keys()]]),
    [['200', ['application/json', 'application/xml']], ['204', []], ['default', ['application/json', 'application/xml']]],
  )
  const inherited = await read(t, { responses }, more)
  assert.deepEqual(inherited.responses.map(one => [...one.content]), [[['text/plain', { type: 'string' }]], [], [['text/plain', true]]])
  const unsaid = await read(t, { responses: { 200: { schema: {} } } })
  assert.deepEqual([...unsaid.responses[0]?.content.keys() ?? []], ['application/json'])
})

test('host, basePath and schemes are nowhere in what is read', async t => {
  const more = { host: 'evil.example.test', basePath: '/base', schemes: ['http'] }
  const operation = await read(t, { schemes: ['http'] }, more)
  assert.equal(operation.path, '/x')
  assert.deepEqual(operation.servers, [])
  assert.ok(!JSON.stringify(operation).includes('evil'))
})

test('lists of types and lists of item schemas, which 2.0 forbids, are read as they are meant', async t => {
  const schema = {
    type: 'object', properties: { a: { type: ['string', 'null'] }, b: { type: 'array', items: [{ type: 'string' }, { type: 'integer' }] } },
  }
  const operation = await read(t, { produces: ['application/json'], responses: { 200: { description: '', schema } } })
  assert.deepEqual(operation.responses[0]?.content.get('application/json'), {
    type: 'object', properties: { a: { type: ['string', 'null'] }, b: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'integer' }] } },
  })
})

test('what 2.0 forbids in what a sheet rests on is a fault', async t => {
  const wrong = [
    { name: 'a', in: 'cookie', type: 'string' }, { name: 'a', in: 'query' }, { name: 'a', in: 'query', type: 'object' },
    { name: 'a', in: 'header', type: 'array', items: {}, collectionFormat: 'multi' },
  ]
  for (const parameter of wrong) {
    const document = await documentOf(
      t, { swagger: '2.0', info: { title: 't', version: '1' }, paths: { '/x': { get: { parameters: [parameter], responses: {} } } } },
    )
    assert.equal(faultOf(() => document.operation('GET /x')).code, 'structure', JSON.stringify(parameter))
  }
})
