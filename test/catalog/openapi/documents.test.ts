import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openDocuments } from '../../../src/catalog/openapi/documents.ts'
import { documentOf, documentsOf, faultOf, folderOf, operationOf, withSchemas } from './folder.ts'

const INFO = { title: 't', version: '1' }
const DONE = { responses: { 204: { description: 'done' } } }

test('a folder lists its documents in order and reads none before it is opened', async t => {
  const documents = await documentsOf(t, {
    'z.json': '{not json', 'b/a.yml': 'openapi: 3.1.0', 'a.yaml': 'x', 'notes.txt': 'x', '.hidden/c.json': '{}', 'b/B.JSON': '{}',
  })
  assert.deepEqual(documents.names, ['a.yaml', 'b/B.JSON', 'b/a.yml', 'z.json'])
  assert.equal(documents.open('b/a.yml').version, '3.1.0')
})

test('a folder that is not there is an error', async t => {
  const folder = folderOf(t, {})
  await assert.rejects(openDocuments(join(folder, 'none')), { code: 'ENOENT' })
})

test('a document is prepared in many short steps, and then opened without being read again', async t => {
  const schemas = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`S${index}`, { type: 'string' }]))
  const folder = folderOf(t, { 'a.json': withSchemas(schemas) })
  const documents = await openDocuments(folder)
  let steps = 0
  await documents.prepare('a.json', async () => { steps += 1 })
  assert.ok(steps > 200, `${steps} steps`)
  writeFileSync(join(folder, 'a.json'), 'gone')
  assert.deepEqual(documents.open('a.json').schema('/components/schemas/S7', 'response'), { type: 'string' })
})

test('a large YAML document is prepared beside the thread that answers calls', async t => {
  const schemas = Array.from(
    { length: 6_000 },
    (_, index) => `    S${index}: {type: string, description: "the ${index}th of them", __proto__: {x: 1}}`
  )
  const lines = [
    'openapi: 3.1.0', 'info: {title: t, version: "1"}', 'paths: {}', 'components:', '  schemas:',
    '    Shared: &shared {type: integer}', '    Same: *shared',
  ]
  const text = `${[...lines, ...schemas].join('\n')}\n`
  const files = { 'large.yaml': text, 'twice.yaml': `${text}    S7: {}\n` }
  const [prepared, plain] = [await documentsOf(t, files), await documentsOf(t, files)]
  const cpuMs = (): number => process.threadCpuUsage().user / 1_000
  const fromMs = cpuMs()
  await prepared.prepare('large.yaml', async () => {})
  const preparedMs = cpuMs() - fromMs
  const document = prepared.open('large.yaml')
  assert.deepEqual(document.schema('/components/schemas/Same', 'response'), { type: 'integer' })
  const hereMs = cpuMs()
  const same = plain.open('large.yaml')
  const openedMs = cpuMs() - hereMs
  for (const name of ['S0', 'S5999', 'Shared']) {
    assert.deepEqual(document.schema(`/components/schemas/${name}`, 'response'), same.schema(`/components/schemas/${name}`, 'response'))
  }
  // Most of it is the parser, which did not run here.
  assert.ok(preparedMs < openedMs / 2, `${preparedMs} ms of CPU where reading it here takes ${openedMs}`)
  await prepared.prepare('twice.yaml', async () => {})
  assert.equal(faultOf(() => prepared.open('twice.yaml')).code, 'duplicate-key')
  assert.deepEqual({ ...faultOf(() => prepared.open('twice.yaml')) }, { ...faultOf(() => plain.open('twice.yaml')) })
})

test('what is wrong with a document that was prepared is told when it is opened, as if it had not been', async t => {
  const files = {
    'twice.json': '{"openapi": "3.1.0",\n "paths": {"/a": {"get": {"x": 1, "x": 2}}}}', 'cut.json': '{"openapi": "3.1.0",\n "paths": {',
    'odd.yaml': 'a: [', 'nul.json': '{}\0',
  }
  const [prepared, plain] = [await documentsOf(t, files), await documentsOf(t, files)]
  for (const name of [...Object.keys(files), 'none.json']) {
    await prepared.prepare(name, async () => {})
    const { code, message, line, column } = faultOf(() => plain.open(name))
    assert.deepEqual(
      { ...faultOf(() => prepared.open(name)) },
      { ...faultOf(() => plain.open(name)) },
      `${name} ${code} ${message} ${line}:${column}`
    )
  }
})

test('only a name that the folder lists can be opened', async t => {
  const documents = await documentsOf(t, { 'a.json': withSchemas({}) })
  for (const name of ['b.json', './a.json', '../a.json', 'x/../a.json', '/etc/passwd', 'toString', '']) {
    assert.equal(faultOf(() => documents.open(name)).code, 'document-unknown', name)
  }
})

test('a link that stays in the folder is read, one that leaves it is refused', async t => {
  const folder = folderOf(t, { '..data/real.json': withSchemas({}) })
  const outside = folderOf(t, { 'secret.json': withSchemas({}) })
  symlinkSync(join(folder, '..data/real.json'), join(folder, 'inside.json'))
  symlinkSync(join(outside, 'secret.json'), join(folder, 'outside.json'))
  symlinkSync(join(folder, 'nothing'), join(folder, 'broken.json'))
  mkdirSync(join(outside, 'deep'))
  writeFileSync(join(outside, 'deep/a.json'), '{}')
  symlinkSync(join(outside, 'deep'), join(folder, 'linked'))
  const documents = await openDocuments(folder)
  assert.deepEqual(documents.names, ['broken.json', 'inside.json', 'outside.json'])
  assert.equal(documents.open('inside.json').version, '3.1.0')
  assert.equal(faultOf(() => documents.open('outside.json')).code, 'document-escapes-folder')
  assert.equal(faultOf(() => documents.open('broken.json')).code, 'document-unreadable')
})

test('versions 2.0 to 3.2 are told apart, and nothing else is taken for one', async t => {
  const versions: ReadonlyArray<readonly [string, string]> = [
    ['{"swagger":"2.0"}', '2.0'], ['{"openapi":"3.0.4"}', '3.0.4'], ['{"openapi":"3.1.1"}', '3.1.1'], ['{"openapi":"3.2.0"}', '3.2.0'],
    ['openapi: 3.1', '3.1'], ['openapi: 3.0', '3.0'], ['swagger: 2.0', '2.0'], ['\ufeff{"openapi":"3.1.0"}', '3.1.0'],
  ]
  for (const [text, version] of versions) assert.equal((await documentOf(t, text, 'a.yaml')).version, version)
  const others = [
    '{}', '[]', 'null', '"3.1.0"', '', '{"openapi":"4.0.0"}', '{"openapi":"3.10.0"}', '{"swagger":"1.2"}', '{"openapi":{}}',
    '{"__proto__":{"openapi":"3.1.0"}}',
  ]
  for (const text of others) {
    const documents = await documentsOf(t, { 'a.yaml': text })
    assert.equal(faultOf(() => documents.open('a.yaml')).code, 'version-unsupported', text)
  }
})

test('what is no JSON, no YAML or no UTF-8 is refused where it is wrong', async t => {
  const rows: ReadonlyArray<readonly [string, string | Buffer, string, number, number]> = [
    ['a.json', '{"openapi": "3.1.0",\n  x}', 'json-invalid', 2, 3],
    ['a.json', '{"a": 1', 'json-invalid', 1, 8],
    ['a.json', '{"a": {"b": 1,\n "\\u0062": 2}}', 'duplicate-key', 2, 2],
    ['a.json', '{"a": 1, "b": "x:{", "a": 1}', 'duplicate-key', 1, 22],
    ['a.yaml', 'a: 1\nb: 2\na: 3\n', 'duplicate-key', 3, 1],
    ['a.yaml', 'responses:\n  200: 1\n  0200: 2\n', 'duplicate-key', 3, 3],
    ['a.yaml', 'a: [1, 2\nb: 3\n', 'yaml-invalid', 2, 1],
    ['a.yaml', 'a: 1\n---\nb: 2\n', 'yaml-invalid', 2, 1],
    ['a.yaml', 'a:\n  ? {b: 1}\n  : 2\n', 'yaml-invalid', 2, 5],
    ['a.yaml', 'a: *b\n', 'yaml-invalid', 1, 4],
    ['a.yaml', 'a: 1\nb: !!js/function "x"\n', 'yaml-tag', 2, 18],
    ['a.yaml', 'b: !!binary "aGk="\n', 'yaml-tag', 1, 13],
    ['a.yaml', 'b: !!str 5\n', 'yaml-tag', 1, 10],
    ['a.yaml', 'a: &a {b: 1}\nc:\n  <<: *a\n', 'yaml-merge-key', 3, 3],
    ['a.yaml', 'a: &a [*a]\n', 'yaml-aliases', 1, 8],
    ['a.yaml', `a: &a x\nb: [${'*a, '.repeat(101)}]\n`, 'yaml-aliases', 2, 405],
    ['a.json', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 'encoding-invalid', 1, 1],
    ['a.yaml', Buffer.from('openapi: 3.1.0', 'utf16le'), 'encoding-invalid', 1, 1],
  ]
  for (const [name, text, code, line, column] of rows) {
    const documents = await documentsOf(t, { [name]: text })
    const fault = faultOf(() => documents.open(name))
    assert.deepEqual([fault.code, fault.file, fault.line, fault.column], [code, name, line, column], String(text).slice(0, 60))
  }
})

test('ten levels of aliases of aliases are refused at once', async t => {
  const text = `a0: &a0 [x, x]\n${Array.from({ length: 10 }, (_, i) => `a${i + 1}: &a${i + 1} [*a${i}, *a${i}, *a${i}]`).join('\n')}\n`
  const documents = await documentsOf(t, { 'bomb.yaml': text })
  assert.equal(faultOf(() => documents.open('bomb.yaml')).code, 'yaml-aliases')
})

test('a document nested a hundred thousand levels deep is refused, or read without overflow', async t => {
  const deep = '['.repeat(100_000)
  const value = `${deep}${']'.repeat(100_000)}`
  const documents = await documentsOf(t, {
    'flow.yaml': `a: ${deep}`, 'block.yaml': Array.from({ length: 2000 }, (_, i) => `${' '.repeat(i)}a:`).join('\n'),
    'deep.json': `{"openapi": "3.1.0", "x-deep": ${value}, "components": {"schemas": {"A": {"const": ${value}}}}}`,
  })
  assert.equal(faultOf(() => documents.open('flow.yaml')).code, 'yaml-invalid')
  assert.ok(['yaml-invalid', 'version-unsupported'].includes(faultOf(() => documents.open('block.yaml')).code))
  assert.deepEqual(documents.open('deep.json').schema('/components/schemas/A', 'response'), {})
})

test('a document beyond the bounds of size is refused before it is parsed', async t => {
  const documents = await documentsOf(t, { 'a.yaml': `a: "${'x'.repeat(8 * 1024 * 1024)}"`, 'b.json': Buffer.alloc(64 * 1024 * 1024 + 1, 0x20) })
  assert.equal(faultOf(() => documents.open('a.yaml')).code, 'document-too-large')
  assert.equal(faultOf(() => documents.open('b.json')).code, 'document-too-large')
})

test('YAML is read by the core schema of 1.2, flow style with braces at the parent indent included', async t => {
  const document = await documentOf(t, [
    'openapi: 3.1.0', 'info: {title: t, version: 1.10}', 'paths: {}', 'components:', '  schemas:',
    '    A: {', '      "enum": [on, no, 012, 1_000, 2020-01-01, "<<"]', '    }', '',
  ].join('\n'), 'a.yaml')
  assert.deepEqual(document.schema('/components/schemas/A', 'response'), { enum: ['on', 'no', 12, '1_000', '2020-01-01', '<<'] })
})

test('an operation is found by its id, or by method and exact path', async t => {
  const document = await documentOf(t, {
    openapi: '3.0.3',
    info: INFO,
    paths: {
      '/field/{fieldId}': { get: { operationId: 'getField', ...DONE } },
      '/field/{id}': { get: DONE, delete: { operationId: 'drop/field', ...DONE } },
      '/a': { get: { operationId: 'Twice', ...DONE }, post: { operationId: 'twice', ...DONE } },
      '/b': { get: { operationId: 'same', ...DONE }, post: { operationId: 'same', ...DONE } },
      'x-paths': { get: DONE },
    },
  })
  assert.deepEqual(document.operations(), [
    { id: 'getField', method: 'GET', path: '/field/{fieldId}' }, { id: null, method: 'GET', path: '/field/{id}' },
    {
      id: 'drop/field', method: 'DELETE', path: '/field/{id}',
    }, { id: 'Twice', method: 'GET', path: '/a' }, { id: 'twice', method: 'POST', path: '/a' },
    { id: 'same', method: 'GET', path: '/b' }, { id: 'same', method: 'POST', path: '/b' },
  ])
  assert.equal(document.operation('getField').path, '/field/{fieldId}')
  assert.equal(document.operation('GET /field/{id}').id, 'GET /field/{id}')
  assert.equal(document.operation('drop/field').method, 'DELETE')
  assert.deepEqual([document.operation('Twice').method, document.operation('twice').method], ['GET', 'POST'])
  assert.equal(document.operation('POST /b').id, 'same')
  const ambiguous = faultOf(() => document.operation('same'))
  assert.equal(ambiguous.code, 'operation-ambiguous')
  assert.match(ambiguous.message, /GET \/b, POST \/b/)
  for (const selector of ['getfield', 'GET /field/{x}', 'PUT /a', 'get /a', 'toString', '', 'GET  /a']) {
    assert.equal(faultOf(() => document.operation(selector)).code, 'operation-unknown', selector)
  }
})

test('one odd operation never sinks the document: only who names it gets the fault', async t => {
  const document = await documentOf(t, {
    openapi: '3.1.0',
    info: 5,
    servers: 'nowhere',
    tags: {},
    paths: {
      '/ok': { get: { operationId: 'ok', ...DONE } },
      '/odd': {
        get: { operationId: 'badParameter', parameters: [{ name: 'a', in: 'body' }], ...DONE },
        put: { operationId: 'badRef', requestBody: { $ref: '#/components/requestBodies/None' }, ...DONE },
        post: 'nothing', patch: { operationId: 5, ...DONE }, delete: { operationId: 'badServers', servers: [{}], ...DONE },
      },
      '/list': [], '/none': null, '/lost': { $ref: 'https://example.test/x.json' },
      '/#Action=Describe': { get: { operationId: 'hash', ...DONE } }, '/q?x=1': { get: { operationId: 'query', ...DONE } },
      '/a/../b': { get: { operationId: 'dots', ...DONE } }, '//evil/x': { get: { operationId: 'host', ...DONE } },
      '/open{': { get: { operationId: 'brace', ...DONE } }, 'relative/x': { get: { operationId: 'relative', ...DONE } },
      '/a b': { get: { operationId: 'space', ...DONE } },
    },
    components: { schemas: [] },
  })
  assert.equal(document.operation('ok').path, '/ok')
  const rows: ReadonlyArray<readonly [string, string]> = [
    ['badParameter', 'structure'], ['badRef', 'ref-unresolved'], ['PATCH /odd', 'structure'], ['badServers', 'structure'],
    ['POST /odd', 'operation-unknown'], ['GET /list', 'operation-unknown'], ['GET /none', 'operation-unknown'], ['GET /lost', 'ref-external-url'],
    ['hash', 'path-has-query'], ['query', 'path-has-query'], ['dots', 'path-malformed'], ['host', 'path-malformed'], ['brace', 'path-malformed'],
    ['relative', 'path-malformed'], ['space', 'path-malformed'],
  ]
  for (const [selector, code] of rows) assert.equal(faultOf(() => document.operation(selector)).code, code, selector)
})

test('a fault says where it lies, in JSON and in YAML', async t => {
  const json = await documentOf(t, '{\n  "openapi": "3.0.0", "paths": {"/a": {"get": {\n' +
    '    "parameters": [{"name": "a\\"]", "in": "query", "schema": {}},\n' +
    '      {"name": "b", "in": "nowhere", "schema": {}}], "responses": {}}}}}')
  const first = faultOf(() => json.operation('GET /a'))
  assert.deepEqual([first.code, first.pointer, first.line, first.column], ['structure', '/paths/~1a/get/parameters/1/in', 4, 21])
  const yaml = await documentOf(t, [
    'openapi: 3.1.0', 'paths:', '  /a:', '    get:', '      parameters:', '        - $ref: "#/components/parameters/P"',
    'components:', '  parameters:',
    '    P: {name: p, in: query,', '        style: matrix, schema: {}}', '',
  ].join('\n'), 'a.yaml')
  const second = faultOf(() => yaml.operation('GET /a'))
  assert.deepEqual(
    [second.code, second.file, second.pointer, second.line, second.column], ['structure', 'a.yaml', '/components/parameters/P/style', 10, 9],
  )
})

test('the digest follows what an operation rests on, and nothing else', async t => {
  const make = async (limit: number, other: number, order: boolean): Promise<string> => {
    const schemas = { A: { type: 'object', properties: { b: { $ref: '#/components/schemas/B' } } }, B: { maximum: limit }, Other: { maximum: other } }
    const operation = {
      operationId: 'a', responses: { 200: { description: '', content: { 'application/json': { schema: { $ref: '#/components/schemas/A' } } } } },
    }
    const first = {
      operationId: 'first',
      responses: { 200: { description: '', content: { 'application/json': { schema: { $ref: '#/components/schemas/Other' } } } } },
    }
    const document = await documentOf(t, withSchemas(schemas, '3.1.0', { paths: { '/a': { get: operation }, '/b': { get: first } } }))
    if (order) document.operation('first')
    return document.operation('a').digest
  }
  const digest = await make(1, 1, false)
  assert.match(digest, /^[0-9a-f]{64}$/)
  assert.equal(await make(1, 2, false), digest)
  assert.equal(await make(1, 1, true), digest)
  assert.notEqual(await make(2, 1, false), digest)
})

test('servers of the operation, else of the path item, are told; those of the document are not', async t => {
  const document = await documentOf(t, {
    openapi: '3.1.0',
    info: INFO,
    servers: [{ url: 'https://root.example.test' }],
    paths: {
      '/a': {
        servers: [{ url: 'https://item.example.test' }], get: DONE, post: { servers: [{ url: '/x' }, { url: 'https://{t}.example.test' }], ...DONE },
      },
      '/b': { get: DONE },
    },
  })
  assert.deepEqual(document.operation('GET /a').servers, ['https://item.example.test'])
  assert.deepEqual(document.operation('POST /a').servers, ['/x', 'https://{t}.example.test'])
  assert.deepEqual(document.operation('GET /b').servers, [])
})

test('security schemes are told as the document has them', async t => {
  const flow = { clientCredentials: { tokenUrl: 'https://t.example.test', scopes: {} } }
  const document = await documentOf(t, {
    openapi: '3.1.0',
    info: INFO,
    paths: {},
    components: {
      securitySchemes: {
        key: { type: 'apiKey', in: 'header', name: 'X-Key' }, bearer: { type: 'http', scheme: 'Bearer', bearerFormat: 'JWT' },
        oauth: { type: 'oauth2', flows: flow }, oidc: {
          type: 'openIdConnect', openIdConnectUrl: 'https://o.example.test',
        }, tls: { type: 'mutualTLS' },
        alias: { $ref: '#/components/securitySchemes/key' }, odd: { type: 'apiKey', in: 'body', name: 'x' }, unknown: { type: 'magic' },
      },
    },
  })
  assert.deepEqual(document.securityScheme('key'), { kind: 'apiKey', in: 'header', name: 'X-Key' })
  assert.deepEqual(document.securityScheme('alias'), { kind: 'apiKey', in: 'header', name: 'X-Key' })
  assert.deepEqual(document.securityScheme('bearer'), { kind: 'http', scheme: 'bearer' })
  assert.deepEqual(['oauth', 'oidc', 'tls'].map(name => document.securityScheme(name)?.kind), ['oauth2', 'openIdConnect', 'mutualTLS'])
  assert.equal(document.securityScheme('none'), undefined)
  assert.equal(document.securityScheme('constructor'), undefined)
  for (const name of ['odd', 'unknown']) assert.equal(faultOf(() => document.securityScheme(name)).code, 'structure', name)
  const old = await documentOf(
    t, { swagger: '2.0', info: INFO, paths: {}, securityDefinitions: { b: { type: 'basic' }, k: { type: 'apiKey', in: 'query', name: 'k' } } },
  )
  assert.deepEqual(
    [old.securityScheme('b'), old.securityScheme('k')], [{ kind: 'http', scheme: 'basic' }, { kind: 'apiKey', in: 'query', name: 'k' }],
  )
})

test('parameters of the path item are taken over, those of the operation win, and two of one name and place are refused', async t => {
  const text = { name: 'a', in: 'query', schema: { type: 'string' } }
  const number = { name: 'a', in: 'query', schema: { type: 'integer' } }
  const item = {
    parameters: [text, { name: 'a', in: 'header', schema: {} }],
    get: { parameters: [number], ...DONE },
    post: { parameters: [text, number], ...DONE },
  }
  const document = await documentOf(t, { openapi: '3.1.0', info: INFO, paths: { '/a': item } })
  assert.deepEqual(document.operation('GET /a').parameters.map(one => [one.in, one.schema]), [['header', {}], ['query', { type: 'integer' }]])
  assert.equal(faultOf(() => document.operation('POST /a')).code, 'parameter-duplicate')
})

test('the path has exactly the parameters that its template names', async t => {
  const operation = await operationOf(
    t, { parameters: [{ name: 'other', in: 'path', schema: {} }, { name: 'b', in: 'path', schema: { type: 'integer' } }] }, { path: '/{a}/{b}.{a}' },
  )
  assert.deepEqual(
    operation.parameters.map(one => [one.name, one.required, one.schema]), [['b', true, { type: 'integer' }], ['a', true, { type: 'string' }]],
  )
  assert.equal(operation.warnings.length, 2)
})
