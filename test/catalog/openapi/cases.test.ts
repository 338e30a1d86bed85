// The documents of test/cases/openapi: each is the smallest that made some other tool go wrong.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openDocuments } from '../../../src/catalog/openapi/documents.ts'
import type { Document } from '../../../src/catalog/openapi/documents.ts'
import type { JsonSchema } from '../../../src/catalog/openapi/operation.ts'
import { faultOf } from './folder.ts'

const documents = await openDocuments(fileURLToPath(new URL('../../cases/openapi', import.meta.url)))
const open = (name: string): Document => documents.open(`${name}.yaml`)
const schema = (name: string, component: string): JsonSchema => open(name).schema(`/components/schemas/${component}`, 'response')

test('every operation of every case can be listed and read', () => {
  const read = documents.names.filter(name => name !== 'common.yaml').flatMap(name => {
    const document = documents.open(name)
    return document.operations().map(({ method, path }) => document.operation(`${method} ${path}`).id)
  })
  assert.deepEqual(
    read.sort(), ['clash', 'createFolder', 'dropNote', 'file', 'formIt', 'getOrder', 'hdrs', 'me', 'multi', 'ping', 'raw', 'styles', 'upload'],
  )
})

test('F-1: a schema that holds itself is kept as one definition that refers to itself', () => {
  const folder = {
    type: 'object',
    required: ['label'],
    properties: {
      label: { type: 'string' },
      children: { type: 'array', items: { $ref: '#/$defs/Folder' } },
      aliases: { type: 'object', additionalProperties: { $ref: '#/$defs/Folder' } },
    },
  }
  const operation = open('F-1').operation('createFolder')
  assert.deepEqual(operation.bodies.get('application/json')?.schema, { $ref: '#/$defs/Folder', $defs: { Folder: folder } })
  assert.deepEqual(operation.responses[0]?.content.get('application/json'), { $ref: '#/$defs/Folder', $defs: { Folder: folder } })
})

test('F-3: pointers into properties, through escaped path keys and to names with spaces are followed', () => {
  const order = schema('F-3', 'Order') as { properties: { [name: string]: { $ref: string } }, $defs: { [name: string]: unknown } }
  const behind = (name: string): unknown => {
    let at = order.properties[name] as { $ref?: string }
    while (at.$ref !== undefined) at = order.$defs[at.$ref.slice('#/$defs/'.length)] as { $ref?: string }
    return at
  }
  for (const name of ['bill_to', 'mirror']) assert.deepEqual(behind(name), { type: 'object', properties: { zip: { type: 'string' } } }, name)
  assert.deepEqual(behind('odd'), { type: 'string' })
})

test('F-5: four references that leave the folder have four codes, the fifth stays inside', () => {
  const codes = ['A', 'B', 'C', 'D'].map(name => faultOf(() => schema('F-5', name)))
  assert.deepEqual(codes.map(fault => [fault.code, fault.pointer, fault.line]), [
    ['ref-insecure-url', '/components/schemas/A', 7], ['ref-file-url', '/components/schemas/B', 8],
    ['ref-escapes-folder', '/components/schemas/C', 9], ['ref-external-url', '/components/schemas/D', 10],
  ])
  const money = schema('F-5', 'E') as { $ref: string, $defs: { [name: string]: { required?: unknown } } }
  assert.deepEqual(money.$defs[money.$ref.slice('#/$defs/'.length)]?.required, ['minor', 'currency'])
})

test('F-6: explode is true by default for form and for nothing else', () => {
  const rows = open('F-6').operation('styles').parameters.map(one => [one.name, one.in, one.style, one.explode, one.allowReserved])
  assert.deepEqual(rows, [
    ['ids', 'path', 'label', true, false], ['q1', 'query', 'form', true, false], ['q2', 'query', 'form', false, false],
    ['q3', 'query', 'pipeDelimited', false, false], ['q4', 'query', 'spaceDelimited', false, false], ['q5', 'query', 'deepObject', true, false],
    ['X-Ids', 'header', 'simple', false, false], ['q6', 'query', 'form', true, true],
  ])
})

test('F-8: cookie parameters of the path item and of the operation are both there', () => {
  assert.deepEqual(open('F-8').operation('me').parameters.map(one => [one.in, one.name]), [['cookie', 'region'], ['cookie', 'variant']])
})

test('F-9: every body keeps its media types in order, and its encodings', () => {
  const document = open('F-9')
  assert.deepEqual([...document.operation('multi').bodies.keys()], ['text/plain', 'application/json', 'application/xml'])
  assert.deepEqual([...document.operation('formIt').bodies.get('application/x-www-form-urlencoded')?.encoding ?? []], [
    ['tags', { contentType: null, style: 'spaceDelimited', explode: false, allowReserved: false }],
    ['meta', { contentType: null, style: 'deepObject', explode: true, allowReserved: false }],
  ])
  assert.equal(document.operation('upload').bodies.get('multipart/form-data')?.encoding.get('meta')?.contentType, 'application/json')
  assert.deepEqual([...document.operation('raw').bodies.keys()], ['application/octet-stream'])
})

test('F-11: one name in four places is four parameters, and the names of generators are names like any other', () => {
  const operation = open('F-11').operation('clash')
  assert.deepEqual(
    operation.parameters.map(one => `${one.in} ${one.name}`), ['path id', 'query id', 'header id', 'query body', 'query server', 'query contentType'],
  )
  assert.deepEqual(
    operation.bodies.get('application/json')?.schema, { type: 'object', properties: { id: { type: 'boolean' }, body: { type: 'string' } } },
  )
})

test('F-13: only the servers nearest to the operation are told', () => {
  assert.deepEqual(open('F-13').operation('ping').servers, ['https://op.example.test/x'])
})

test('F-14: null is admitted alike however it is spelt', () => {
  assert.deepEqual(schema('F-14', 'N30a'), { type: ['string', 'null'] })
  assert.deepEqual(schema('F-14', 'N31a'), { type: ['string', 'null'] })
  assert.deepEqual(schema('F-14', 'N30b'), { type: ['string', 'null'], enum: ['open', 'closed'] })
  assert.deepEqual(schema('F-14', 'N31c'), { enum: ['a', null] })
  const N31b = { type: 'object', properties: { x: { anyOf: [{ type: 'integer' }, { type: 'null' }] } } }
  assert.deepEqual(schema('F-14', 'N31b'), N31b)
  assert.deepEqual(schema('F-14', 'N30c'), { anyOf: [{ allOf: [{ $ref: '#/$defs/N31b' }] }, { type: 'null' }], $defs: { N31b } })
})

test('F-16: variants, their own fields and alternatives of required names are kept', () => {
  const any = schema('F-16', 'AnyPay') as { oneOf: unknown, $defs: { [name: string]: unknown } }
  assert.deepEqual(any.oneOf, [{ $ref: '#/$defs/CardPay' }, { $ref: '#/$defs/IbanPay' }])
  assert.deepEqual(Object.keys(any.$defs), ['CardPay', 'IbanPay', 'Pay'])
  assert.deepEqual(
    any.$defs['CardPay'], { allOf: [{ $ref: '#/$defs/Pay' }, { type: 'object', required: ['pan'], properties: { pan: { type: 'string' } } }] },
  )
  const one = schema('F-16', 'NeedsOne') as { anyOf: unknown }
  assert.deepEqual(one.anyOf, [{ required: ['email'] }, { required: ['phone'] }])
})

test('F-19: two parameters may stand in one segment', () => {
  assert.deepEqual(open('F-19').operation('file').parameters.map(one => one.name), ['name', 'ext'])
})

test('F-20: a header that the specification says to ignore is no parameter, and is known to be declared', () => {
  const operation = open('F-20').operation('hdrs')
  assert.deepEqual(operation.parameters.map(one => one.name), ['X-Api-Key', 'X-Page', 'X-Note'])
  assert.ok(operation.declaredHeaders.has('authorization'))
  assert.deepEqual(open('F-20').securityScheme('k'), { kind: 'apiKey', in: 'header', name: 'X-Api-Key' })
})
