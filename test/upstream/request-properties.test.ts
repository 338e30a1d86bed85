// Written, then read back by small parsers of their own: what is not refused arrives as it was, and the path has the segments of its template.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Json } from '../../src/catalog/catalog.ts'
import type { ParameterStyle } from '../../src/catalog/openapi/operation.ts'
import { Refusal } from '../../src/errors.ts'
import { bodiesOf, build, operationWith, parameterOf, queryOf } from './placing.ts'

const text = fc.oneof(
  fc.string({ unit: 'grapheme' }), fc.string({ unit: 'binary' }), fc.constantFrom('..', '.', 'a,b', 'a;b=c', 'a|b', 'a b', 'a%2Fb', '#', '&x=y'),
)
const list = fc.array(text, { minLength: 1, maxLength: 4 })
const object = fc.dictionary(fc.string({ minLength: 1, unit: 'grapheme' }), text, { minKeys: 1, maxKeys: 4, noNullPrototype: true })
const value: fc.Arbitrary<Json> = fc.oneof(text, list, object)

/** undefined where it was refused; every other error fails the property. */
function unlessRefused<T> (act: () => T): T | undefined {
  try {
    return act()
  } catch (error) {
    if (error instanceof Refusal && error.code === 'INVALID_ARGUMENTS') return undefined
    throw error
  }
}

const decode = decodeURIComponent
const split = (raw: string, separator: string): string[] => raw.split(separator).map(decode)
const paired = (flat: readonly string[]): Json => Object.fromEntries(
  flat.flatMap((item, index) => index % 2 === 0 ? [[item, flat[index + 1] ?? '']] : []),
)
const entries = (raw: string, separator: string): Json => Object.fromEntries(
  raw.split(separator).map(pair => pair.split('=').map(decode) as [string, string]),
)

/** Reads a query of one parameter `c` as a server does that knows style, explode and the kind of the value. */
function readQuery (query: string, style: ParameterStyle, explode: boolean, like: Json): Json {
  const pairs = query.split('&').map(pair => pair.split('=') as [string, string])
  const separator = ({ form: ',', spaceDelimited: '%20', pipeDelimited: '%7C', tabDelimited: '%09' } as { [style: string]: string })[style] ?? ''
  const first = pairs[0]?.[1] ?? ''
  if (style === 'deepObject') return Object.fromEntries(pairs.map(([name, item]) => [/^c\[([^]*)\]$/.exec(decode(name))?.[1] ?? '', decode(item)]))
  if (Array.isArray(like)) return explode ? pairs.map(pair => decode(pair[1])) : split(first, separator)
  if (typeof like === 'object') return explode ? entries(query, '&') : paired(split(first, separator))
  return decode(first)
}

/** Reads one path segment likewise. */
function readSegment (segment: string, style: ParameterStyle, explode: boolean, like: Json): Json {
  const bare = style === 'simple' ? segment : style === 'label' ? segment.slice(1) : segment.slice(1).replace(
    explode && typeof like === 'object' ? '' : /^c=?/, '',
  )
  const between = style === 'label' && explode ? '.' : style === 'matrix' && explode ? ';' : ','
  if (Array.isArray(like)) return style === 'matrix' && explode ? bare.split(';').map(pair => decode(pair.replace(/^c=?/, ''))) : split(bare, between)
  if (typeof like === 'object') return explode ? entries(bare, between) : paired(split(bare, ','))
  return decode(bare)
}

test('a query is read back to the value it was written from', () => {
  const styles = fc.constantFrom<ParameterStyle>('form', 'spaceDelimited', 'pipeDelimited', 'tabDelimited', 'deepObject')
  let written = 0
  fc.assert(fc.property(styles, fc.boolean(), value, (style, explode, given) => {
    const query = unlessRefused(() => queryOf({ style, explode }, given))
    if (query === undefined) return
    written++
    assert.deepEqual(readQuery(query, style, explode, given), given)
  }), { numRuns: 2000 })
  assert.ok(written > 500)
})

test('a path is read back segment by segment, and never has more or fewer segments than its template', () => {
  const styles = fc.constantFrom<ParameterStyle>('simple', 'label', 'matrix')
  let written = 0
  fc.assert(fc.property(styles, fc.boolean(), value, (style, explode, given) => {
    const operation = operationWith({ path: '/a/{c}/z', parameters: [parameterOf({ name: 'c', in: 'path', style, explode })] })
    const request = unlessRefused(() => build(operation, { path: { c: given } }))
    if (request === undefined) return
    written++
    const url = new URL(request.path, 'https://api.example.test')
    assert.deepEqual([url.origin, url.pathname, url.search, url.hash], ['https://api.example.test', request.path, '', ''])
    const segments = request.path.split('/')
    assert.deepEqual([segments.length, segments.slice(0, 3), segments[4]], [5, ['', 'v1', 'a'], 'z'])
    assert.deepEqual(readSegment(segments[3] ?? '', style, explode, given), given)
  }), { numRuns: 2000 })
  assert.ok(written > 200)
})

test('whatever the values, the address is the one of the template', () => {
  fc.assert(fc.property(text, text, fc.dictionary(text, value, { noNullPrototype: true }), (a, b, query) => {
    const operation = operationWith(
      { path: '/a/{x}/b/{y}.{x}', parameters: [parameterOf({ name: 'x', in: 'path' }), parameterOf({ name: 'y', in: 'path' })] },
    )
    const request = unlessRefused(() => build(operation, { path: { x: a, y: b }, query }))
    if (request === undefined) return
    assert.match(request.path, /^\/v1\/a\/[^/?#]+\/b\/[^/?#]+(?:\?[^#]*)?$/)
    assert.match(request.path, /^[\x21-\x7e]+$/)
  }), { numRuns: 1000 })
})

test('a form is read back to the fields it was written from', () => {
  const operation = bodiesOf({ mediaType: 'application/x-www-form-urlencoded' })
  fc.assert(fc.property(fc.dictionary(text, fc.oneof(text, list), { minKeys: 1, noNullPrototype: true }), fields => {
    const body = unlessRefused(() => String(build(operation, { body: fields }).body))
    if (body === undefined) return
    const expected = Object.entries(fields).flatMap(([name, item]) => (Array.isArray(item) ? item : [item]).map(one => [name, one]))
    assert.deepEqual([...new URLSearchParams(body)], expected)
  }), { numRuns: 1000 })
})

test('a JSON body is read back to the value it was written from, digit by digit', () => {
  const operation = bodiesOf({ mediaType: 'application/json' })
  const json = fc.jsonValue({ maxDepth: 4 })
  fc.assert(fc.property(fc.oneof(json, fc.double({
    noNaN: true, noDefaultInfinity: true,
  }), fc.double({ min: -1e-5, max: 1e-5, noNaN: true })), given => {
    const body = unlessRefused(() => String(build(operation, { body: given as Json }).body))
    if (body === undefined) return
    assert.deepEqual(JSON.parse(body), JSON.parse(JSON.stringify(given)))
    assert.doesNotMatch(body.replace(/"(?:[^"\\]|\\.)*"/g, ''), /[eE]\d|[eE][+-]/)
  }), { numRuns: 1000 })
})

test('a multipart form gives back every byte of every part', () => {
  const operation = bodiesOf({ mediaType: 'multipart/form-data', schema: { properties: { file: { format: 'binary' } } } })
  fc.assert(fc.property(fc.uint8Array(), fc.string({ unit: 'grapheme' }), (bytes, note) => {
    const request = build(operation, { body: { file: Buffer.from(bytes).toString('base64'), note } })
    const boundary = `--${(request.headers['content-type'] ?? '').split('boundary=')[1]}`
    const whole = request.body?.toString('latin1') ?? ''
    const parts = whole.split(`\r\n${boundary}`).map((part, index) => index === 0 ? part.slice(boundary.length) : part)
    const contents = parts.slice(0, 2).map(part => Buffer.from(part.slice(part.indexOf('\r\n\r\n') + 4), 'latin1'))
    assert.deepEqual(contents, [Buffer.from(bytes), Buffer.from(note)])
    assert.equal(parts[2], '--\r\n')
  }), { numRuns: 300 })
})
