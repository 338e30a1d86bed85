// Bytes to an answer: what is believed of an upstream, and what is not.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { readAnswer, type InvalidAnswer, type RawReply } from '../../src/catalog/answer.ts'
import type { Json } from '../../src/catalog/catalog.ts'
import type { Operation } from '../../src/catalog/openapi/operation.ts'

const content = (...types: readonly string[]): ReadonlyMap<string, true> => new Map(types.map(type => [type, true] as const))
const operation = (method = 'GET'): Operation => ({
  id: 'x',
  method,
  path: '/x',
  parameters: [],
  bodies: new Map(),
  bodyRequired: false,
  declaredHeaders: new Set(),
  servers: [],
  digest: '',
  warnings: [],
  responses: [
    { status: '200', content: content('application/json') },
    { status: '201', content: content('application/hal+json', 'application/pdf') },
    { status: '202', content: content() },
    { status: '203', content: content('*/*') },
    { status: '4XX', content: content('application/problem+json') },
  ],
})
const reply = (status: number, type: string | null, body: string | Buffer, headers: object = {}): RawReply =>
  ({ status, headers: { ...(type === null ? {} : { 'content-type': type }), ...headers }, body: Buffer.from(body as string) })
const opaque = (type: string, body: string): Json =>
  ({ type, size: Buffer.byteLength(body), sha256: createHash('sha256').update(body).digest('hex') })

const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`

const GOOD: ReadonlyArray<readonly [what: string, reply: RawReply, body: Json]> = [
  ['JSON', reply(200, 'application/json', '{"a":1}'), { a: 1 }],
  ['JSON with a charset', reply(200, 'Application/JSON; charset="UTF-8"', '[]'), []],
  ['JSON of another dialect that is declared', reply(201, 'application/hal+json', '1'), 1],
  ['a declared type that is not JSON, by type, size and digest', reply(201, 'application/pdf', '%PDF'), opaque('application/pdf', '%PDF')],
  ['any type where any is declared', reply(203, 'text/csv', 'a,b'), opaque('text/csv', 'a,b')],
  ['nothing where nothing is declared', reply(202, null, ''), null],
  ['JSON where nothing is declared', reply(202, 'application/json', '{"job":1}'), { job: 1 }],
  ['JSON of a success that is not declared', reply(206, 'application/json', '{}'), {}],
  ['nothing, 204', reply(204, null, ''), null],
  ['identity, named', reply(200, 'application/json', '{}', { 'content-encoding': 'identity' }), {}],
  ['the problem of a refusal', reply(404, 'application/problem+json', '{"title":"x"}'), { title: 'x' }],
  ['a refusal in HTML', reply(404, 'text/html', '<p>'), opaque('text/html', '<p>')],
  ['a refusal without a type', reply(500, null, 'oops'), opaque('', 'oops')],
  ['a refusal whose JSON is cut', reply(409, 'application/json', '{"a":'), opaque('application/json', '{"a":')],
  ['an empty refusal', reply(409, 'application/json', ''), null],
  ['a redirect', reply(302, 'text/html', 'moved'), opaque('text/html', 'moved')],
  ['sixty-four levels', reply(200, 'application/json', nested(64)), JSON.parse(nested(64)) as Json],
  ['brackets in a text', reply(200, 'application/json', JSON.stringify(`\\"${'['.repeat(200)}`)), `\\"${'['.repeat(200)}`],
  ['a surrogate pair in escapes', reply(200, 'application/json', '"\\ud83d\\ude00"'), '\u{1F600}'],
  ['an object that closes, then the connection ended', { ...reply(200, 'application/json', ' {"a":[1]}\n'), delimited: false }, { a: [1] }],
  ['a byte order mark before the JSON', reply(200, 'application/json', '\uFEFF{}'), {}],
  ['a hundred headers', reply(200, 'application/json', '{}', Object.fromEntries(Array.from({ length: 99 }, (_, n) => [`x-${n}`, '1']))), {}],
]

for (const [what, raw, body] of GOOD) {
  test(`an answer is read: ${what}`, () => {
    assert.deepEqual(readAnswer(operation(), raw), { kind: 'ok', answer: { status: raw.status, headers: raw.headers, body } })
  })
}

const BAD: ReadonlyArray<readonly [why: InvalidAnswer, what: string, reply: RawReply]> = [
  ['status', '999', reply(999, 'application/json', '{}')],
  ['status', '99', reply(99, null, '')],
  ['status', 'none', reply(NaN, null, '')],
  ['status', 'a body beside 204', reply(204, 'application/json', '{}')],
  ['status', 'a body beside 205', reply(205, null, 'x')],
  [
    'headers',
    'a hundred and one headers',
    reply(200, 'application/json', '{}', Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`x-${n}`, '1']))),
  ],
  ['encoded', 'gzip', reply(200, 'application/json', '{}', { 'content-encoding': 'gzip' })],
  ['encoded', 'gzip on gzip', reply(200, 'application/json', '{}', { 'content-encoding': 'gzip, gzip' })],
  ['encoded', 'gzip on a refusal', reply(404, 'application/json', '{}', { 'content-encoding': 'br' })],
  ['media_type', 'HTML with JSON inside', reply(200, 'text/html', '{}')],
  ['media_type', 'JSON with a type that is not declared', reply(200, 'application/hal+json', '{}')],
  ['media_type', 'no type', reply(200, null, '{}')],
  ['media_type', 'a type that is none', reply(200, 'json', '{}')],
  ['media_type', 'two types', reply(200, 'application/json, text/html', '{}')],
  ['media_type', 'a sign-in page where nothing is declared', reply(202, 'text/html', '<form>')],
  ['media_type', 'text for a success that is not declared', reply(206, 'text/plain', 'OK')],
  ['undelimited', 'a number that the end of the connection ended', { ...reply(200, 'application/json', '12'), delimited: false }],
  ['undelimited', 'an object that does not close', { ...reply(200, 'application/json', '{"a":1'), delimited: false }],
  ['undelimited', 'text that the end of the connection ended', { ...reply(206, 'text/plain', 'OK'), delimited: false }],
  ['undelimited', 'nothing, and the connection ended', { ...reply(202, null, ''), delimited: false }],
  ['empty', 'nothing where something is declared', reply(200, 'application/json', '')],
  ['empty', 'nothing at all', reply(201, null, '')],
  ['unparsable', 'JSON that is cut', reply(200, 'application/json', '{"a":1')],
  ['unparsable', 'two values', reply(200, 'application/json', '{}{}')],
  ['unparsable', 'blanks', reply(200, 'application/json', '   ')],
  ['unparsable', 'Latin-1', reply(200, 'application/json', Buffer.from('"\xe9"', 'latin1'))],
  ['unparsable', 'UTF-16 that says so', reply(200, 'application/json; charset=utf-16', Buffer.from('{}', 'utf16le'))],
  ['unparsable', 'half a surrogate pair', reply(200, 'application/json', '{"a":["\\uD800"]}')],
  ['unparsable', 'half a surrogate pair in a name', reply(200, 'application/json', '{"\\udc00":1}')],
  ['unparsable', 'sixty-five levels', reply(200, 'application/json', nested(65))],
  ['unparsable', 'a hundred thousand levels', reply(200, 'application/json', nested(100_000))],
  ['unparsable', 'a hundred thousand levels that do not end', reply(200, 'application/json', '{"a":'.repeat(100_000))],
]

for (const [why, what, raw] of BAD) {
  test(`an answer is refused with ${why}: ${what}`, () => {
    assert.deepEqual(readAnswer(operation(), raw), { kind: 'invalid', why })
  })
}

test('the answer to HEAD has no body whatever is declared', () => {
  assert.equal(readAnswer(operation('HEAD'), reply(200, 'application/json', '')).kind, 'ok')
})

test('whatever the bytes are, reading them ends in an answer or a reason', () => {
  const types = fc.constantFrom('application/json', 'text/html', 'application/problem+json', ';;', 'application/json; charset=x')
  fc.assert(fc.property(fc.integer({ min: 90, max: 620 }), types, fc.uint8Array({ maxLength: 200 }), (status, type, bytes) => {
    const read = readAnswer(operation(), reply(status, type, Buffer.from(bytes)))
    assert.ok(read.kind === 'ok' || read.kind === 'invalid')
  }))
  fc.assert(fc.property(fc.json(), text => {
    const read = readAnswer(operation(), reply(200, 'application/json', text))
    assert.ok(read.kind === 'ok')
    assert.deepEqual(read.answer.body, JSON.parse(text))
  }))
})
