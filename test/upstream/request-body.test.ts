import assert from 'node:assert/strict'
import { test } from 'node:test'
import { supportsMediaType } from '../../src/catalog/openapi/media-type.ts'
import type { Encoding } from '../../src/catalog/openapi/operation.ts'
import { bodiesOf, build, caseOf, operationWith, ruleOf } from './placing.ts'
import type { Json } from './placing.ts'

const BYTES = Buffer.from([0, 1, 13, 10, 45, 45, 255])
const BASE64 = BYTES.toString('base64')

const styled = (style: Encoding['style'], explode: boolean): Encoding => ({ contentType: null, style, explode, allowReserved: false })

const formOf = (value: Json, encoding: ReadonlyMap<string, Encoding> = new Map()): string =>
  String(build(bodiesOf({ mediaType: 'application/x-www-form-urlencoded', encoding }), { body: value }).body)

/** The parts of a multipart body, by an own reading of its bytes. */
function partsOf (
  request: { readonly headers: { readonly [name: string]: string }, readonly body: Buffer | null },
): ReadonlyArray<{ readonly head: string, readonly bytes: Buffer }> {
  const boundary = /^multipart\/form-data; boundary=([0-9a-z-]{1,70})$/.exec(request.headers['content-type'] ?? '')?.[1]
  assert.ok(boundary !== undefined && request.body !== null)
  const text = request.body.toString('latin1')
  assert.ok(text.startsWith(`--${boundary}\r\n`) && text.endsWith(`\r\n--${boundary}--\r\n`))
  return text.slice(`--${boundary}\r\n`.length, -`\r\n--${boundary}--\r\n`.length).split(`\r\n--${boundary}\r\n`).map(part => {
    const end = part.indexOf('\r\n\r\n')
    return { head: part.slice(0, end), bytes: Buffer.from(part.slice(end + 4), 'latin1') }
  })
}

test('JSON keeps null apart from nothing at all', () => {
  const operation = bodiesOf({ mediaType: 'application/json' })
  assert.equal(String(build(operation, { body: null }).body), 'null')
  assert.equal(String(build(operation, { body: { a: null, b: [null] } }).body), '{"a":null,"b":[null]}')
  const none = build(operation, {})
  assert.equal(none.body, null)
  assert.ok(!('content-type' in none.headers))
  assert.equal(ruleOf(() => build({ ...operation, bodyRequired: true }, {})), 'body')
  assert.equal(String(build({ ...operation, bodyRequired: true }, { body: null }).body), 'null')
})

test('lists, texts and numbers are bodies like any other', () => {
  const operation = bodiesOf({ mediaType: 'application/json' })
  for (const body of [[1, 'a'], 'text', 5, true, [], {}] as const) assert.equal(String(build(operation, { body }).body), JSON.stringify(body))
  assert.equal(build(operation, { body: [] }).headers['content-type'], 'application/json')
})

test('numbers in JSON are exact and without an exponent, text is Unicode', () => {
  const operation = bodiesOf({ mediaType: 'application/vnd.shop+json' })
  const request = build(operation, { body: { a: 1e-7, b: [-2.5e-8, 19.99], c: -0, d: '1e-7', e: 9007199254740991 } })
  assert.equal(String(request.body), '{"a":0.0000001,"b":[-0.000000025,19.99],"c":0,"d":"1e-7","e":9007199254740991}')
  assert.equal(request.headers['content-type'], 'application/vnd.shop+json')
  for (const body of [NaN, { a: [Infinity] }, 9007199254740993, 1e300]) assert.equal(ruleOf(() => build(operation, { body })), 'number')
  for (const body of ['\ud800', ['a\udc00'], { '\ud800': 1 }]) assert.equal(ruleOf(() => build(operation, { body })), 'text')
  assert.equal(String(build(operation, { body: JSON.parse('{"__proto__": {"x": 1}}') as Json }).body), '{"__proto__":{"x":1}}')
})

test('a form is written field by field: texts as they are, objects as JSON, lists as repeated fields', () => {
  assert.equal(formOf({ a: 'x y&z=ü+', b: 5, c: true, 'd&e': '' }), 'a=x%20y%26z%3D%C3%BC%2B&b=5&c=true&d%26e=')
  assert.equal(formOf({ list: ['a', 1], object: { street: 'x', n: [1] } }), `list=a&list=1&object=${encodeURIComponent('{"street":"x","n":[1]}')}`)
  assert.equal(formOf({}), '')
})

test('encodings of a form decide: by style, or by content type', () => {
  assert.equal(formOf({ a: ['x', 'y'] }, new Map([['a', styled('form', false)]])), 'a=x,y')
  assert.equal(formOf({ a: ['x', 'y'] }, new Map([['a', styled('pipeDelimited', false)]])), 'a=x%7Cy')
  assert.equal(formOf({ a: { x: 1, y: 2 } }, new Map([['a', styled('form', true)]])), 'x=1&y=2')
  assert.equal(formOf({ a: ['x', 'y'] }, new Map([['a', { ...styled('form', true), contentType: 'application/json' }]])), 'a=%22x%22&a=%22y%22')
  assert.equal(ruleOf(() => formOf({ x: 1, a: { x: 1 } }, new Map([['a', styled('form', true)]]))), 'name')
  assert.equal(ruleOf(() => formOf({ a: { b: 1 }, b: 2 }, new Map([['a', styled('form', true)]]))), 'name')
  assert.equal(ruleOf(() => formOf({ a: { b: 1 }, b: [2] }, new Map([['a', styled('form', true)], ['b', styled('form', true)]]))), 'name')
  assert.equal(ruleOf(() => formOf({ a: { b: 1 } }, new Map([['a', { ...styled('form', true), contentType: 'text/plain' }]]))), 'type')
})

test('what a form cannot carry is refused', () => {
  assert.equal(ruleOf(() => formOf({ a: null })), 'null')
  assert.equal(ruleOf(() => formOf({ a: [] })), 'empty')
  assert.equal(ruleOf(() => formOf({ a: NaN })), 'number')
  for (const body of [null, [], 'a=b', 5]) assert.equal(ruleOf(() => formOf(body as Json)), 'type')
})

test('F-9: a form with encodings', () => {
  const request = build(caseOf('F-9', 'formIt'), { body: { tags: ['a', 'b'], meta: { a: 'x y' } } })
  assert.equal(String(request.body), 'tags=a%20b&meta%5Ba%5D=x%20y')
  assert.equal(request.headers['content-type'], 'application/x-www-form-urlencoded')
})

test('F-9: a multipart form with a file of bytes and a part of JSON', () => {
  const operation = caseOf('F-9', 'upload')
  const request = build(operation, { body: { file: BASE64, meta: { title: 'ü' } } })
  const [file, meta, ...rest] = partsOf(request)
  assert.deepEqual(rest, [])
  assert.equal(file?.head, 'content-disposition: form-data; name="file"; filename="file"\r\ncontent-type: application/octet-stream')
  assert.deepEqual(file?.bytes, BYTES)
  assert.equal(meta?.head, 'content-disposition: form-data; name="meta"\r\ncontent-type: application/json')
  assert.equal(String(meta?.bytes), '{"title":"ü"}')
  for (const value of ['not base64!', 'YQ', 'YQ=', 'YR==', 'Y Q==', 'YQ==\n', '-_-_', 5]) assert.equal(
    ruleOf(() => build(operation, { body: { file: value } })), 'base64', String(value),
  )
})

test('parts of a multipart form are written by their schema and encoding', () => {
  const schema = {
    $ref: '#/$defs/Form',
    $defs: {
      Form: {
        allOf: [
          {
            properties: {
              pdf: { $ref: '#/$defs/Pdf' },
              photos: { type: 'array', items: { type: 'string', format: 'binary' } },
              coded: { type: 'string', format: 'byte' },
            },
          },
        ],
      },
      Pdf: { type: 'string', contentMediaType: 'application/pdf' },
    },
  }
  const encoding = new Map<string, Encoding>([
    [
      'photos', { ...styled('form', true), contentType: 'image/*, image/png' },
    ], ['note', { ...styled('form', true), contentType: 'text/markdown' }], ['csv', styled('form', false)],
  ])
  const operation = bodiesOf({ mediaType: 'multipart/form-data', schema, encoding })
  const parts = partsOf(build(operation, { body: {
    pdf: BASE64, photos: [BASE64, ''], coded: 'YQ==', note: '# a', csv: ['a', 'b'], list: [1, { b: 2 }], 'q"\r\n': 'x',
  } }))
  assert.deepEqual(parts.map(
    part => [part.head.replaceAll('\r\n', ' | ').replace('content-disposition: form-data; ', ''), part.bytes.toString('base64')],
  ), [
    ['name="pdf"; filename="pdf" | content-type: application/pdf', BASE64],
    ['name="photos"; filename="photos" | content-type: image/png', BASE64],
    ['name="photos"; filename="photos" | content-type: image/png', ''],
    ['name="coded"', Buffer.from('YQ==').toString('base64')],
    ['name="note" | content-type: text/markdown', Buffer.from('# a').toString('base64')],
    ['name="csv"', Buffer.from('a,b').toString('base64')],
    ['name="list"', Buffer.from('1').toString('base64')],
    ['name="list" | content-type: application/json', Buffer.from('{"b":2}').toString('base64')],
    ['name="q%22%0D%0A"', Buffer.from('x').toString('base64')],
  ])
  assert.equal(ruleOf(() => build(operation, { body: { csv: ['a,b'] } })), 'separator')
  assert.equal(ruleOf(() => build(operation, { body: { a: null } })), 'null')
  assert.equal(ruleOf(() => build(operation, { body: { a: [] } })), 'empty')
  assert.equal(ruleOf(() => build(operation, { body: 'a' })), 'type')
})

test('the boundary follows from the content and stands nowhere in it', () => {
  const operation = bodiesOf({ mediaType: 'multipart/form-data' })
  const first = build(operation, { body: { a: 'x' } })
  assert.deepEqual(build(operation, { body: { a: 'x' } }), first)
  const boundary = (first.headers['content-type'] ?? '').replace('multipart/form-data; boundary=', '')
  const second = build(operation, { body: { a: `x\r\n--${boundary}--\r\n` } })
  assert.notEqual(second.headers['content-type'], first.headers['content-type'])
  assert.equal(String(partsOf(second)[0]?.bytes), `x\r\n--${boundary}--\r\n`)
})

test('F-9: octets are given as base64 and sent as bytes', () => {
  const operation = caseOf('F-9', 'raw')
  const request = build(operation, { body: BASE64 })
  assert.deepEqual([request.headers['content-type'], request.body], ['application/octet-stream', BYTES])
  assert.deepEqual(build(operation, { body: '' }).body, Buffer.alloc(0))
  for (const body of ['%%%', { a: 1 }, null, 5]) assert.equal(ruleOf(() => build(operation, { body: body as Json })), 'base64')
  const coded = bodiesOf({ mediaType: 'image/png', schema: { type: 'string', contentEncoding: 'base64' } })
  assert.equal(String(build(coded, { body: BASE64 }).body), BASE64)
})

test('F-9: of several bodies JSON is sent unless another is named, and one that cannot be written never goes out empty', () => {
  const operation = caseOf('F-9', 'multi')
  assert.equal(build(operation, { body: { a: 1 } }).headers['content-type'], 'application/json')
  const text = build(operation, { body: 'a\nü', mediaType: 'text/plain' })
  assert.deepEqual([text.headers['content-type'], String(text.body)], ['text/plain; charset=utf-8', 'a\nü'])
  assert.equal(ruleOf(() => build(operation, { body: { a: 1 }, mediaType: 'text/plain' })), 'type')
  assert.equal(ruleOf(() => build(operation, { body: { a: 1 }, mediaType: 'application/xml' })), 'media_type')
  assert.equal(ruleOf(() => build(operation, { body: { a: 1 }, mediaType: 'application/yaml' })), 'media_type')
  assert.equal(ruleOf(() => build(operationWith(), { body: { a: 1 } })), 'media_type')
  assert.equal(ruleOf(() => build(bodiesOf({ mediaType: 'application/xml' }), { body: 'x' })), 'media_type')
})

test('the media types that can be sent are known before anything is sent', () => {
  const yes = [
    'application/json',
    'application/problem+json',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    'text/plain',
    'text/csv',
    'application/octet-stream',
    'image/png',
    'application/pdf',
  ]
  const no = ['application/xml', 'multipart/mixed', 'multipart/related', 'application/yaml', '*/*', 'text/*', 'image/*', 'application/*', '']
  for (const type of yes) assert.equal(supportsMediaType(type), true, type)
  for (const type of no) assert.equal(supportsMediaType(type), false, type)
})
