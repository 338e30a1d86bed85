import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from '../../src/catalog/catalog.ts'
import type { CredentialDeclaration } from '../../src/catalog/catalog.ts'
import type { Parameter } from '../../src/catalog/openapi/operation.ts'
import { build, caseOf, cookieOf, headerOf, operationWith, parameterOf, pathOf, queryOf, ruleOf, upstreamOf } from './placing.ts'

const LIST = ['blue', 'black', 'brown']
const OBJECT = { R: 100, G: 200, B: 150 }

// The tables of OpenAPI 3.0.4, 3.1.1 and 3.2.0, "Style Examples"; null: not defined there, and refused.
test('every style with every explode writes what the tables of OpenAPI say', () => {
  const query: ReadonlyArray<readonly [Partial<Parameter>, string | null, string | null, string | null]> = [
    [{ style: 'form', explode: false }, 'c=blue', 'c=blue,black,brown', 'c=R,100,G,200,B,150'],
    [{ style: 'form', explode: true }, 'c=blue', 'c=blue&c=black&c=brown', 'R=100&G=200&B=150'],
    [{ style: 'spaceDelimited', explode: false }, 'c=blue', 'c=blue%20black%20brown', 'c=R%20100%20G%20200%20B%20150'],
    [{ style: 'spaceDelimited', explode: true }, 'c=blue', 'c=blue&c=black&c=brown', 'R=100&G=200&B=150'],
    [{ style: 'pipeDelimited', explode: false }, 'c=blue', 'c=blue%7Cblack%7Cbrown', 'c=R%7C100%7CG%7C200%7CB%7C150'],
    [{ style: 'tabDelimited', explode: false }, 'c=blue', 'c=blue%09black%09brown', 'c=R%09100%09G%09200%09B%09150'],
    [{ style: 'deepObject', explode: true }, null, null, 'c%5BR%5D=100&c%5BG%5D=200&c%5BB%5D=150'],
    [{ style: 'brackets', explode: true }, null, 'c%5B%5D=blue&c%5B%5D=black&c%5B%5D=brown', 'c%5BR%5D=100&c%5BG%5D=200&c%5BB%5D=150'],
  ]
  const path: typeof query = [
    [{ style: 'simple', explode: false }, 'blue', 'blue,black,brown', 'R,100,G,200,B,150'],
    [{ style: 'simple', explode: true }, 'blue', 'blue,black,brown', 'R=100,G=200,B=150'],
    [{ style: 'label', explode: false }, '.blue', '.blue,black,brown', '.R,100,G,200,B,150'],
    [{ style: 'label', explode: true }, '.blue', '.blue.black.brown', '.R=100.G=200.B=150'],
    [{ style: 'matrix', explode: false }, ';c=blue', ';c=blue,black,brown', ';c=R,100,G,200,B,150'],
    [{ style: 'matrix', explode: true }, ';c=blue', ';c=blue;c=black;c=brown', ';R=100;G=200;B=150'],
  ]
  const header: typeof query = [
    [{ explode: false }, 'blue', 'blue,black,brown', 'R,100,G,200,B,150'],
    [{ explode: true }, 'blue', 'blue,black,brown', 'R=100,G=200,B=150'],
  ]
  const cookie: typeof query = [
    [{ style: 'form', explode: false }, 'c=blue', 'c=blue,black,brown', 'c=R,100,G,200,B,150'],
    [{ style: 'form', explode: true }, 'c=blue', 'c=blue; c=black; c=brown', 'R=100; G=200; B=150'],
    [{ style: 'cookie', explode: true }, 'c=blue', 'c=blue; c=black; c=brown', 'R=100; G=200; B=150'],
  ]
  for (const [rows, write] of [[query, queryOf], [path, pathOf], [header, headerOf], [cookie, cookieOf]] as const) {
    for (const [parameter, ...expected] of rows) {
      for (const [index, value] of (['blue', LIST, OBJECT] as const).entries()) {
        const wanted = expected[index] ?? null
        const act = (): unknown => write(parameter, value as Json)
        if (wanted === null) assert.equal(ruleOf(act), 'type')
        else assert.equal(act(), wanted, JSON.stringify(parameter))
      }
    }
  }
})

test('the list formats of 2.0 are written without a name in a path and without escapes in a header', () => {
  const list = ['a', 'b']
  assert.equal(pathOf({ style: 'pipeDelimited', explode: false }, list), 'a%7Cb')
  assert.equal(pathOf({ style: 'spaceDelimited', explode: false }, list), 'a%20b')
  assert.equal(pathOf({ style: 'tabDelimited', explode: false }, list), 'a%09b')
  assert.equal(headerOf({ style: 'pipeDelimited', explode: false }, list), 'a|b')
  assert.equal(headerOf({ style: 'spaceDelimited', explode: false }, list), 'a b')
  assert.equal(ruleOf(() => headerOf({ style: 'tabDelimited', explode: false }, list)), 'header')
  assert.equal(ruleOf(() => headerOf({ style: 'pipeDelimited', explode: false }, ['a|b'])), 'separator')
})

test('F-6: all styles of one operation stand in one request', () => {
  const request = build(caseOf('F-6', 'styles'), {
    path: { ids: [1, 2, 3] },
    query: { q1: ['a', 'b&c'], q2: ['a', 'b,c'], q3: ['a', 'b'], q4: ['a', 'b'], q5: { from: '2026-01-01', to: 'x' }, q6: 'a/b?c&d=e#f+g' },
    headers: { 'x-ids': [1, 2] },
  })
  assert.equal(request.path, '/v1/s/.1.2.3?q1=a&q1=b%26c&q2=a,b%2Cc&q3=a%7Cb&q4=a%20b&q5%5Bfrom%5D=2026-01-01&q5%5Bto%5D=x&q6=a/b?c%26d%3De%23f%2Bg')
  assert.equal(request.headers['x-ids'], '1,2')
  assert.equal(request.method, 'GET')
})

test('a value that holds the separator of its place is refused, not merged with its neighbours', () => {
  const rows: ReadonlyArray<readonly [() => unknown, string]> = [
    [() => queryOf({ style: 'spaceDelimited', explode: false }, ['a b', 'c']), 'separator'],
    [() => queryOf({ style: 'pipeDelimited', explode: false }, ['a|b', 'c']), 'separator'],
    [() => queryOf({ style: 'pipeDelimited', explode: false }, { 'a|b': 'c' }), 'separator'],
    [() => queryOf({ style: 'tabDelimited', explode: false }, ['a\tb']), 'separator'],
    [() => pathOf({ style: 'label', explode: true }, ['a.b', 'c']), 'separator'],
    [() => pathOf({ style: 'label', explode: false }, ['a,b', 'c']), 'separator'],
    [() => pathOf({ style: 'label', explode: false }, '1.5'), 'separator'],
    [() => pathOf({ style: 'matrix', explode: true }, ['a,b']), 'separator'],
    [() => pathOf({ style: 'matrix', explode: false }, 'a=b'), 'separator'],
    [() => pathOf({ style: 'matrix', explode: true }, { 'a=b': 'c' }), 'separator'],
    [() => headerOf({}, ['a,b', 'c']), 'separator'],
    [() => headerOf({ explode: true }, { a: 'b=c' }), 'separator'],
    [() => cookieOf({ style: 'cookie' }, ['a,b']), 'separator'],
  ]
  for (const [act, rule] of rows) assert.equal(ruleOf(act), rule, String(act))
  assert.equal(queryOf({ explode: false }, ['a,b', 'c']), 'c=a%2Cb,c')
  assert.equal(pathOf({}, ['a,b', 'c']), 'a%2Cb,c')
  assert.equal(headerOf({}, 'a,b=c'), 'a,b=c')
})

test('what a place cannot carry is refused: null, nothing in a list, lists in lists, text that is no Unicode', () => {
  const writes = [
    (value: Json) => queryOf({}, value), (value: Json) => queryOf({ explode: false }, value), (value: Json) => pathOf({}, value),
    (value: Json) => headerOf({}, value), (value: Json) => cookieOf({}, value), (value: Json) => pathOf({ style: 'matrix' }, value),
  ]
  for (const write of writes) {
    assert.equal(ruleOf(() => write(null)), 'null')
    assert.equal(ruleOf(() => write(['a', null])), 'null')
    assert.equal(ruleOf(() => write({ a: null })), 'null')
    assert.equal(ruleOf(() => write([])), 'empty')
    assert.equal(ruleOf(() => write({})), 'empty')
    assert.equal(ruleOf(() => write([['a']])), 'type')
    assert.equal(ruleOf(() => write({ a: { b: 'c' } })), 'type')
    assert.equal(ruleOf(() => write('a\ud800b')), 'text')
  }
})

test('deepObject takes flat objects alone, brackets take any', () => {
  const deep = { style: 'deepObject', explode: true } as const
  for (const value of [{ a: { b: 'c' } }, { a: ['b'] }]) assert.equal(ruleOf(() => queryOf(deep, value)), 'type')
  for (const value of ['a', ['a'], 5, true]) assert.equal(ruleOf(() => queryOf(deep, value as Json)), 'type')
  assert.equal(ruleOf(() => queryOf(deep, null)), 'type')
  for (const key of ['', 'a]', '[b']) assert.equal(ruleOf(() => queryOf(deep, { [key]: 1 })), 'name')
  const brackets = { style: 'brackets', explode: true } as const
  const nested = { a: { b: 'c' }, list: ['x', 'y'], items: [{ p: 1 }, { p: 2 }] }
  assert.equal(decodeURIComponent(queryOf(brackets, nested)), 'c[a][b]=c&c[list][]=x&c[list][]=y&c[items][0][p]=1&c[items][1][p]=2')
})

test('allowReserved leaves readable what cannot end the value, and nothing else', () => {
  const reserved = ':/?#[]@!$&\'()*+,;='
  assert.equal(queryOf({ allowReserved: true }, reserved), 'c=:/?%23%5B%5D@!$%26%27()*%2B,;%3D')
  assert.equal(
    queryOf({}, reserved), `c=${encodeURIComponent(reserved).replace(/[!'()*]/g, char => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)}`,
  )
  assert.equal(queryOf({ allowReserved: true }, 'a&d=e#f'), 'c=a%26d%3De%23f')
  assert.equal(queryOf({ allowReserved: true }, '100%25 ü\n'), 'c=100%2525%20%C3%BC%0A')
  assert.equal(queryOf({ allowReserved: true, explode: false }, ['a,b', 'c']), 'c=a%2Cb,c')
})

test('numbers are written exactly and without an exponent, or refused', () => {
  const rows: ReadonlyArray<readonly [number, string]> = [
    [0, '0'], [-0, '0'], [1, '1'], [-17, '-17'], [19.99, '19.99'], [0.1, '0.1'], [1e-7, '0.0000001'],
    [-1.5e-9, '-0.0000000015'], [1.25e-10, '0.000000000125'],
    [9007199254740991, '9007199254740991'], [
      -9007199254740991, '-9007199254740991',
    ], [123456789.125, '123456789.125'], [5e-324, `0.${'0'.repeat(323)}5`],
  ]
  for (const [value, text] of rows) {
    assert.equal(queryOf({}, value), `c=${text}`)
    assert.equal(Number(text), value + 0)
  }
  for (const value of [9007199254740992, -9007199254740993, 1e21, Infinity, -Infinity, NaN]) {
    assert.equal(ruleOf(() => queryOf({}, value)), 'number')
    assert.equal(ruleOf(() => pathOf({}, [value])), 'number')
  }
  assert.equal(queryOf({}, [true, false]), 'c=true&c=false')
})

test('a parameter described by content is one text of that type', () => {
  const json = { mediaType: 'application/json', explode: false }
  assert.equal(queryOf(json, { a: [1, null, 'x&y'] }), `c=${encodeURIComponent('{"a":[1,null,"x&y"]}')}`)
  assert.equal(queryOf(json, null), 'c=null')
  assert.equal(headerOf(json, { a: 'ü€', b: 1e-7 }), '{"a":"\\u00fc\\u20ac","b":0.0000001}')
  assert.equal(cookieOf(json, ['a']), `c=${encodeURIComponent('["a"]')}`)
  assert.equal(pathOf(json, ['a', 1]), '%5B%22a%22%2C1%5D')
  assert.equal(ruleOf(() => pathOf(json, { a: 'b/c' })), 'path')
  assert.equal(queryOf({ mediaType: 'text/plain' }, 'a b'), 'c=a%20b')
  assert.equal(ruleOf(() => queryOf({ mediaType: 'text/plain' }, ['a'])), 'type')
})

test('F-8: cookies of the path item and of the operation are sent in one header, escaped', () => {
  const request = build(caseOf('F-8', 'me'), { cookies: { region: 'eu', variant: 'a;b=c d"' } })
  assert.equal(request.headers['cookie'], 'region=eu; variant=a%3Bb%3Dc%20d%22')
  assert.equal(cookieOf({ style: 'cookie' }, 'abc==/+%'), 'c=abc==/+%')
  for (const value of ['a;b', 'a b', 'a"', 'a\\b', 'ü', 'a\r\nb']) assert.equal(ruleOf(() => cookieOf({ style: 'cookie' }, value)), 'cookie')
})

test('F-11: one name in four places is written in four places', () => {
  const request = build(caseOf('F-11', 'clash'), {
    path: { id: 'p' }, query: { id: 1, body: 'b', server: 's', contentType: 't' }, headers: { id: 'h' }, body: { id: true, body: 'x' },
  })
  assert.equal(request.path, '/v1/t/p?id=1&body=b&server=s&contentType=t')
  assert.equal(request.headers['id'], 'h')
  assert.equal(String(request.body), '{"id":true,"body":"x"}')
})

test('an object that is spread over names reaches no name but its own', () => {
  const spread = parameterOf({ name: 'filter', in: 'query' })
  const operation = operationWith({ parameters: [spread, parameterOf({ name: 'admin', in: 'query' }), parameterOf({ name: 'other', in: 'query' })] })
  assert.equal(build(operation, { query: { filter: { a: 1, filter: 2 } } }).path, '/v1/x?a=1&filter=2')
  for (const key of ['admin', 'other']) assert.equal(ruleOf(() => build(operation, { query: { filter: { [key]: 'x' } } })), 'name')
  assert.equal(ruleOf(() => build(operation, { query: { filter: { key: 'x' }, undeclared: { key: 'y' } } })), 'name')
  const scheme = { kind: 'apiKey', in: 'query', name: 'Key' } as const
  const credential: CredentialDeclaration = { scheme, secret: 'env:X', username: null, prefix: '' }
  const upstream = upstreamOf({ credentials: { read: null, write: credential } })
  assert.equal(ruleOf(() => build(operation, { query: { filter: { key: 'x' } } }, upstream)), 'name')
  assert.equal(ruleOf(() => build(operation, { query: { key: 'x' } }, upstream)), 'name')
})

test('headers are visible ASCII on one line, under names that are free', () => {
  assert.equal(headerOf({}, 'a b; c="d"'), 'a b; c="d"')
  for (const value of ['a\r\nX-Evil: 1', 'a\nb', 'a\tb', '\u0000', 'ü', ' a', 'a ', '', '\u007f', 'a\u0085b']) {
    assert.equal(ruleOf(() => headerOf({}, value), value), 'header', JSON.stringify(value))
  }
  const operation = operationWith()
  for (const name of [
    'Host', 'Content-Length', 'transfer-encoding', 'Connection', 'Cookie', 'Authorization', 'Proxy-Authorization',
    'Content-Type', 'Accept-Encoding', 'TE', 'Upgrade',
    'Expect', '__proto__', 'a b', 'a:b', '', 'ü', 'a\r\n',
  ]) {
    assert.equal(ruleOf(() => build(operation, { headers: Object.fromEntries([[name, 'x']]) })), 'header', name)
  }
  assert.equal(ruleOf(() => build(operation, { headers: { 'If-Match': 'a', 'if-match': 'b' } })), 'header')
})

test('F-20: the header of the credential is never set by a value, and a line break never splits a header', () => {
  const scheme = { kind: 'apiKey', in: 'header', name: 'X-Api-Key' } as const
  const upstream = upstreamOf({ credentials: { read: { scheme, secret: 'env:X', username: null, prefix: '' }, write: null } })
  const operation = caseOf('F-20', 'hdrs')
  assert.equal(build(operation, { headers: { 'X-Page': 2, 'x-note': 'a, b' } }, upstream).headers['x-page'], '2')
  assert.equal(ruleOf(() => build(operation, { headers: { 'x-api-key': 'mine' } }, upstream)), 'header')
  assert.equal(ruleOf(() => build(operation, { headers: { Authorization: 'Bearer mine' } }, upstream)), 'header')
  assert.equal(ruleOf(() => build(operation, { headers: { 'X-Note': 'a\r\nX-Evil: 1' } }, upstream)), 'header')
})

test('every request accepts JSON unless something else is said, and is never encoded', () => {
  assert.deepEqual(build(operationWith(), {}).headers, { accept: 'application/json', 'accept-encoding': 'identity' })
  const upstream = upstreamOf({ headers: { accept: 'text/csv', 'user-agent': 'aval', 'x-version': '3' } })
  assert.deepEqual(
    build(operationWith(), {}, upstream).headers, { accept: 'text/csv', 'user-agent': 'aval', 'x-version': '3', 'accept-encoding': 'identity' },
  )
  assert.equal(build(operationWith(), { headers: { 'X-Version': 4 } }, upstream).headers['x-version'], '4')
})

test('what the document requires must be there, unless the credential or the upstream brings it', () => {
  const required = (place: 'query' | 'header' | 'cookie'): Parameter => parameterOf({ name: 'Need', in: place, required: true })
  for (const place of ['query', 'header', 'cookie'] as const) {
    const operation = operationWith({ parameters: [required(place)] })
    assert.equal(ruleOf(() => build(operation, {})), 'required')
    const scheme = { kind: 'apiKey', in: place, name: 'Need' } as const
    const upstream = upstreamOf({ credentials: { read: { scheme, secret: 'env:X', username: null, prefix: '' }, write: null } })
    assert.doesNotThrow(() => build(operation, {}, upstream))
  }
  assert.doesNotThrow(() => build(operationWith({ parameters: [required('header')] }), {}, upstreamOf({ headers: { need: '1' } })))
  assert.doesNotThrow(() => build(operationWith({ parameters: [required('query')] }), { query: { Need: '' } }))
})

test('values are looked up as own properties, whatever their names', () => {
  const operation = operationWith(
    {
      path: '/a/{toString}',
      parameters: [parameterOf({ name: 'toString', in: 'path' }), parameterOf({ name: 'constructor', in: 'query', required: true })],
    },
  )
  assert.equal(ruleOf(() => build(operation, { path: {}, query: { constructor: 'b' } })), 'path')
  assert.equal(ruleOf(() => build(operation, { path: { toString: 'a' }, query: {} })), 'required')
  assert.equal(build(operation, { path: { toString: 'a' }, query: { constructor: 'b' } }).path, '/v1/a/a?constructor=b')
})
