// Values written into a request, then read back by small parsers of their own: what is not refused arrives as it was, and the path has the segments
// of its template.
import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Json } from '../../src/catalog/catalog.ts'
import type { ParameterStyle } from '../../src/catalog/openapi/operation.ts'
import { Refusal } from '../../src/errors.ts'
import { bodiesOf, build, operationWith, parameterOf, queryOf } from '../upstream/placing.ts'
import type { Count, Target } from './target.ts'

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

const queryStyles = fc.constantFrom<ParameterStyle>('form', 'spaceDelimited', 'pipeDelimited', 'tabDelimited', 'deepObject')
const pathStyles = fc.constantFrom<ParameterStyle>('simple', 'label', 'matrix')

export const query: Target = {
  name: 'query',
  holds: 'a query is read back to the value it was written from',
  property: (count: Count) => fc.property(queryStyles, fc.boolean(), value, (style, explode, given) => {
    const written = unlessRefused(() => queryOf({ style, explode }, given))
    if (written === undefined) return
    count('written')
    assert.deepEqual(readQuery(written, style, explode, given), given)
  }),
  shortRuns: 2_000,
  least: { written: 0.25 },
}

export const path: Target = {
  name: 'path',
  holds: 'a path is read back segment by segment, and never has more or fewer segments than its template',
  property: (count: Count) => fc.property(pathStyles, fc.boolean(), value, (style, explode, given) => {
    const operation = operationWith({ path: '/a/{c}/z', parameters: [parameterOf({ name: 'c', in: 'path', style, explode })] })
    const request = unlessRefused(() => build(operation, { path: { c: given } }))
    if (request === undefined) return
    count('written')
    const url = new URL(request.path, 'https://api.example.test')
    assert.deepEqual([url.origin, url.pathname, url.search, url.hash], ['https://api.example.test', request.path, '', ''])
    const segments = request.path.split('/')
    assert.deepEqual([segments.length, segments.slice(0, 3), segments[4]], [5, ['', 'v1', 'a'], 'z'])
    assert.deepEqual(readSegment(segments[3] ?? '', style, explode, given), given)
  }),
  shortRuns: 2_000,
  least: { written: 0.1 },
}

export const address: Target = {
  name: 'address',
  holds: 'whatever the values, the address is the one of the template',
  property: (count: Count) => fc.property(text, text, fc.dictionary(text, value, { noNullPrototype: true }), (a, b, values) => {
    const operation = operationWith(
      { path: '/a/{x}/b/{y}.{x}', parameters: [parameterOf({ name: 'x', in: 'path' }), parameterOf({ name: 'y', in: 'path' })] },
    )
    const request = unlessRefused(() => build(operation, { path: { x: a, y: b }, query: values }))
    if (request === undefined) return
    count('written')
    assert.match(request.path, /^\/v1\/a\/[^/?#]+\/b\/[^/?#]+(?:\?[^#]*)?$/)
    assert.match(request.path, /^[\x21-\x7e]+$/)
  }),
  shortRuns: 1_000,
  least: { written: 0.01 },
}

const formOperation = bodiesOf({ mediaType: 'application/x-www-form-urlencoded' })

export const form: Target = {
  name: 'form',
  holds: 'a form is read back to the fields it was written from',
  property: (count: Count) => fc.property(fc.dictionary(text, fc.oneof(text, list), { minKeys: 1, noNullPrototype: true }), fields => {
    const body = unlessRefused(() => String(build(formOperation, { body: fields }).body))
    if (body === undefined) return
    count('written')
    const expected = Object.entries(fields).flatMap(([name, item]) => (Array.isArray(item) ? item : [item]).map(one => [name, one]))
    assert.deepEqual([...new URLSearchParams(body)], expected)
  }),
  shortRuns: 1_000,
  least: { written: 0.25 },
}

const jsonOperation = bodiesOf({ mediaType: 'application/json' })
const doubles = fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.double({ min: -1e-5, max: 1e-5, noNaN: true }))

export const jsonBody: Target = {
  name: 'json-body',
  holds: 'a JSON body is read back to the value it was written from, digit by digit',
  property: (count: Count) => fc.property(fc.oneof(fc.jsonValue({ maxDepth: 4 }), doubles), given => {
    const body = unlessRefused(() => String(build(jsonOperation, { body: given as Json }).body))
    if (body === undefined) return
    count('written')
    assert.deepEqual(JSON.parse(body), JSON.parse(JSON.stringify(given)))
    assert.doesNotMatch(body.replace(/"(?:[^"\\]|\\.)*"/g, ''), /[eE]\d|[eE][+-]/)
  }),
  shortRuns: 1_000,
  least: { written: 0.25 },
}

const multipartOperation = bodiesOf({ mediaType: 'multipart/form-data', schema: { properties: { file: { format: 'binary' } } } })

export const multipart: Target = {
  name: 'multipart',
  holds: 'a multipart form gives back every byte of every part',
  property: () => fc.property(fc.uint8Array(), fc.string({ unit: 'grapheme' }), (bytes, note) => {
    const request = build(multipartOperation, { body: { file: Buffer.from(bytes).toString('base64'), note } })
    const boundary = `--${(request.headers['content-type'] ?? '').split('boundary=')[1]}`
    const whole = request.body?.toString('latin1') ?? ''
    const parts = whole.split(`\r\n${boundary}`).map((part, index) => index === 0 ? part.slice(boundary.length) : part)
    const contents = parts.slice(0, 2).map(part => Buffer.from(part.slice(part.indexOf('\r\n\r\n') + 4), 'latin1'))
    assert.deepEqual(contents, [Buffer.from(bytes), Buffer.from(note)])
    assert.equal(parts[2], '--\r\n')
  }),
  shortRuns: 300,
  least: {},
}
