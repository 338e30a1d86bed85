import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contentFor, responseFor } from '../../../src/catalog/openapi/operation.ts'
import { documentOf, faultOf, operationOf, withSchemas } from './folder.ts'

const VERSIONS = ['3.0.4', '3.1.1', '3.2.0']
const JSON_BODY = { content: { 'application/json': { schema: { type: 'object' } } } }

test('media types lose their parameters, and keys that are none are left out', async t => {
  for (const version of VERSIONS) {
    const content = {
      'application/json; charset=utf-8': { schema: { const: 1 } }, 'APPLICATION/JSON': { schema: { const: 2 } }, 'text/csv': { schema: { const: 3 } },
      '': {}, examples: {}, 'x-media': {},
    }
    const operation = await operationOf(t, { requestBody: { content }, responses: { 200: { description: '', content } } }, { version })
    const closed = { 'application/json': { enum: undefined, const: 2 }, 'text/csv': { const: 3 } }
    assert.deepEqual([...operation.bodies.keys()], Object.keys(closed))
    assert.deepEqual(operation.bodies.get('application/json')?.schema, { const: 2 })
    assert.deepEqual([...operation.responses[0]?.content.keys() ?? []], Object.keys(closed))
  }
})

test('a response is found by its status, then by its range, then by default', async t => {
  const media = (value: number): object => ({ description: '', content: { 'application/json': { schema: { const: value } } } })
  const operation = await operationOf(
    t, { responses: { default: media(0), '2xx': media(1), 201: media(2), '4XX': media(3), 'x-note': 1, ok: media(4), 99: media(5) } },
  )
  assert.deepEqual(
    [200, 201, 299, 404, 500].map(status => responseFor(operation, status)?.content.get('application/json')),
    [{ const: 1 }, { const: 2 }, { const: 1 }, { const: 3 }, { const: 0 }],
  )
  assert.equal(operation.warnings.filter(warning => warning.includes('is no status')).length, 2)
})

test('the schema of a media type is found exactly, then by its range, then by any type', async t => {
  const of = async (content: object): Promise<unknown> => {
    const operation = await operationOf(t, { responses: { 200: { description: '', content } } })
    return contentFor(operation.responses[0] as never, 'application/json')
  }
  const all = { '*/*': { schema: { const: 1 } }, 'application/*': { schema: { const: 2 } }, 'application/json': { schema: { const: 3 } } }
  assert.deepEqual(await of(all), { const: 3 })
  assert.deepEqual(await of({ '*/*': all['*/*'], 'application/*': all['application/*'] }), { const: 2 })
  assert.deepEqual(await of({ '*/*': all['*/*'] }), { const: 1 })
  assert.equal(await of({ 'text/plain': {} }), undefined)
  assert.equal(await of({}), undefined)
})

test('a body of any type is sent as JSON, unless JSON is named beside it', async t => {
  const any = await operationOf(t, { requestBody: { required: true, content: { '*/*': { schema: { const: 1 } } } } })
  assert.deepEqual([...any.bodies.keys()], ['application/json'])
  assert.equal(any.bodyRequired, true)
  const both = await operationOf(
    t, { requestBody: { content: { 'application/*': { schema: { const: 1 } }, 'application/json': { schema: { const: 2 } } } } },
  )
  assert.deepEqual([...both.bodies.values()].map(body => body.schema), [{ const: 2 }])
})

test('components are followed wherever a Reference Object may stand', async t => {
  const components = {
    parameters: { P: { name: 'p', in: 'query', schema: { $ref: '#/components/schemas/A' } }, Q: { $ref: '#/components/parameters/P' } },
    requestBodies: { B: { required: true, ...JSON_BODY } },
    responses: { R: { description: '', content: { 'application/json': { schema: { $ref: '#/components/schemas/A' } } } } },
    schemas: { A: { type: 'integer' } },
  }
  const operation = {
    parameters: [{ $ref: '#/components/parameters/Q' }],
    requestBody: { $ref: '#/components/requestBodies/B' },
    responses: { 200: { $ref: '#/components/responses/R' } },
  }
  for (const version of VERSIONS) {
    const read = await operationOf(t, operation, { version, more: { components } })
    const A = { $ref: '#/$defs/A', $defs: { A: { type: 'integer' } } }
    assert.deepEqual(
      read.parameters, [{ name: 'p', in: 'query', required: false, style: 'form', explode: true, allowReserved: false, mediaType: null, schema: A }],
    )
    assert.equal(read.bodyRequired, true)
    assert.deepEqual(read.responses[0]?.content.get('application/json'), A)
  }
})

test('a path item behind a reference is read', async t => {
  const item = { get: { operationId: 'far', responses: { 204: { description: '' } } } }
  const document = await documentOf(
    t,
    {
      openapi: '3.1.0',
      info: { title: 't', version: '1' },
      paths: { '/a': { $ref: '#/components/pathItems/A' } },
      components: { pathItems: { A: item } },
    },
  )
  assert.equal(document.operation('far').path, '/a')
})

test('a parameter described by content keeps its media type, and one that cannot be written is refused', async t => {
  for (const version of VERSIONS) {
    const parameter = { name: 'filter', in: 'query', content: { 'application/json': { schema: { type: 'object' } } } }
    const operation = await operationOf(t, { parameters: [parameter] }, { version })
    assert.deepEqual([operation.parameters[0]?.mediaType, operation.parameters[0]?.schema], ['application/json', { type: 'object' }])
  }
  const document = await documentOf(
    t, withSchemas({}, '3.1.0', { paths: { '/x': { get: { parameters: [{ name: 'a', in: 'query', content: { 'application/xml': {} } }] } } } }),
  )
  assert.equal(faultOf(() => document.operation('GET /x')).code, 'parameter-media-type')
})

test('what the official schema forbids in what a sheet rests on is a fault where it lies', async t => {
  const rows: ReadonlyArray<readonly [object, string]> = [
    [{ parameters: [{ name: 'a', in: 'query', style: 'matrix', schema: {} }] }, '/parameters/0/style'],
    [{ parameters: [{ name: 'a', in: 'path', style: 'deepObject', schema: {} }] }, '/parameters/0/style'],
    [{ parameters: [{ name: 5, in: 'query', schema: {} }] }, '/parameters/0/name'],
    [{ parameters: [{ name: 'a', in: 'query', explode: 'yes', schema: {} }] }, '/parameters/0/explode'],
    [{ parameters: ['a'] }, '/parameters/0'],
    [{ parameters: { a: 1 } }, '/parameters'],
    [{ parameters: [{ name: 'a', in: 'query', schema: 'string' }] }, '/parameters/0/schema'],
    [{ requestBody: {} }, '/requestBody'],
    [{ requestBody: { content: [] } }, '/requestBody/content'],
    [
      { requestBody: { content: { 'application/json': { encoding: { a: { explode: 'x' } } } } } },
      '/requestBody/content/application~1json/encoding/a/explode',
    ],
    [{ responses: { 200: 'fine' } }, '/responses/200'],
    [{ responses: [] }, '/responses'],
  ]
  for (const version of VERSIONS) {
    for (const [operation, pointer] of rows) {
      const document = await documentOf(
        t,
        { openapi: version, info: { title: 't', version: '1' }, paths: { '/x': { get: { responses: { 204: { description: '' } }, ...operation } } } },
      )
      const fault = faultOf(() => document.operation('GET /x'))
      assert.deepEqual(
        [fault.code, fault.pointer], ['structure', `/paths/~1x/get${pointer}`], `${version} ${JSON.stringify(operation)}: ${fault.message}`,
      )
    }
  }
})

test('what only describes may be as odd as it likes', async t => {
  const odd = {
    tags: 5, summary: [], description: {}, externalDocs: 'x', callbacks: 'x', deprecated: true, 'x-note': 1,
    parameters: [{ name: 'a', in: 'query', description: 5, example: { $ref: '#/nope' }, examples: 'x', schema: {} }, { name: 'b', in: 'query' }],
    responses: {
      200: { content: { 'application/json': { example: { $id: 'a' }, examples: [], schema: { type: 'string' } } }, links: 5, headers: 'x' },
    },
  }
  for (const version of VERSIONS) {
    const operation = await operationOf(t, odd, { version })
    assert.deepEqual(operation.parameters.map(one => [one.name, one.schema]), [['a', {}], ['b', true]])
    assert.deepEqual(operation.responses[0]?.content.get('application/json'), { type: 'string' })
  }
})

test('3.2: the method query, additional operations and cookie style are read', async t => {
  const done = { responses: { 204: { description: '' } } }
  const cookie = { name: 'c', in: 'cookie', style: 'cookie', schema: { type: 'string' } }
  const document = await documentOf(t, {
    openapi: '3.2.0',
    info: { title: 't', version: '1' },
    paths: {
      '/x': {
        query: { operationId: 'ask', ...done },
        additionalOperations: { LINK: { operationId: 'link', parameters: [cookie], ...done }, POST: done, 'bad method': done },
        trace: done,
      },
    },
  })
  assert.deepEqual(document.operations().map(one => one.method).sort(), ['LINK', 'QUERY', 'TRACE'])
  assert.equal(document.operation('ask').method, 'QUERY')
  assert.deepEqual(document.operation('LINK /x').parameters.map(one => [one.style, one.explode]), [['cookie', true]])
})

test('3.2: what is not supported is refused by name or read as anything, and never crashes', async t => {
  const text = { 'text/event-stream': { itemSchema: { type: 'object' } } }
  const operation = await operationOf(t, { responses: { 200: { content: text } } }, { version: '3.2.0' })
  assert.equal(operation.responses[0]?.content.get('text/event-stream'), true)
  assert.match(operation.warnings.join(), /itemSchema/)
  const media = { $ref: '#/components/mediaTypes/M' }
  const more = { $self: 'https://example.test/api', components: { mediaTypes: { M: { schema: { const: 1 } } } } }
  const referred = await operationOf(t, { responses: { 200: { content: { 'application/json': media } } } }, { version: '3.2.0', more })
  assert.deepEqual(referred.responses[0]?.content.get('application/json'), { const: 1 })
  assert.match(referred.warnings.join(), /\$self/)
  const whole = { name: 'q', in: 'querystring', content: { 'application/x-www-form-urlencoded': { schema: {} } } }
  const document = await documentOf(t, { openapi: '3.2.0', info: { title: 't', version: '1' }, paths: { '/x': { get: { parameters: [whole] } } } })
  assert.equal(faultOf(() => document.operation('GET /x')).code, 'parameter-querystring')
})

test('an operation without responses, or with an empty content, has none', async t => {
  for (const version of VERSIONS) {
    const empty = await operationOf(
      t, { responses: { 200: { description: '', content: {} } }, requestBody: { content: { 'application/json': {} } } }, { version },
    )
    assert.equal(empty.responses[0]?.content.size, 0)
    assert.equal(empty.bodies.get('application/json')?.schema, true)
    const document = await documentOf(t, { openapi: version, paths: { '/x': { get: {} } } })
    assert.deepEqual(document.operation('GET /x').responses, [])
  }
})
