// A secret in an answer is found however it is written there; what is not found is written down here too.
import { describe, test } from 'node:test'
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { holdsAny, needlesOf } from '../../src/credentials/scan.ts'

const SECRET = `sk_live/51+H8<"&'>\\key%2 ü~`
const BYTES = Buffer.from(SECRET)
const NEEDLES = needlesOf(BYTES, null)

const percentAll = (text: string): string => Buffer.from(text).toString('hex').replace(/../g, '%$&')
const base64At = (offset: number, secret: Buffer = BYTES): string =>
  Buffer.concat([Buffer.alloc(offset, 'x'), secret, Buffer.from('tail')]).toString('base64')
const unicodeEscape = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
const unicodeEscapes = (text: string): string => text.split('').map(unicodeEscape).join('')
const named = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

const WRITTEN: { readonly [how: string]: string } = {
  'as it is': SECRET,
  'in a JSON string': JSON.stringify({ echo: SECRET }),
  'in a JSON string with escaped slashes': JSON.stringify({ echo: SECRET }).replaceAll('/', '\\/'),
  'in a JSON string in a JSON string': JSON.stringify({ echo: JSON.stringify({ echo: SECRET }) }),
  'in a JSON string, every letter escaped': `{"echo":"${unicodeEscapes(SECRET)}"}`,
  'in a JSON string, every letter escaped in capitals': `{"echo":"${unicodeEscapes(SECRET).toUpperCase().replaceAll('\\U', '\\u')}"}`,
  'in a JSON string, one letter escaped': `{"echo":"${JSON.stringify(SECRET).slice(1, -1).replace('s', '\\u0073')}"}`,
  'URL-encoded': encodeURIComponent(SECRET),
  'URL-encoded in small letters': encodeURIComponent(SECRET).replace(/%[0-9A-F]{2}/g, escape => escape.toLowerCase()),
  'URL-encoded, every letter': percentAll(SECRET).toUpperCase(),
  'URL-encoded, every letter in small letters': percentAll(SECRET),
  'form-encoded': new URLSearchParams({ echo: SECRET }).toString(),
  'HTML-escaped by name': `${named(SECRET).replaceAll("'", '&apos;')}`,
  'HTML-escaped by number': `<p>${named(SECRET).replaceAll("'", '&#39;')}</p>`,
  'HTML-escaped by hexadecimal number': `${named(SECRET).replaceAll("'", '&#x27;')}`,
  'HTML-escaped, every letter': [...SECRET].map(letter => `&#${letter.codePointAt(0)};`).join(''),
  'HTML-escaped in a JSON string': JSON.stringify({ html: named(SECRET).replaceAll("'", '&#39;') }),
  'in hex': BYTES.toString('hex'),
  'in hex in capitals': BYTES.toString('hex').toUpperCase(),
  'in base64 at the first place of three': base64At(0),
  'in base64 at the second place of three': base64At(1),
  'in base64 at the third place of three': base64At(2),
  'in base64url at the first place of three': base64At(0).replaceAll('+', '-').replaceAll('/', '_'),
  'in base64url at the second place of three': base64At(1).replaceAll('+', '-').replaceAll('/', '_'),
  'in base64url at the third place of three': base64At(2).replaceAll('+', '-').replaceAll('/', '_'),
  'in base64 in a query': encodeURIComponent(base64At(1)),
  'in base64 in JSON with escaped slashes': `"${base64At(2).replaceAll('/', '\\/')}"`,
}

describe('a secret', () => {
  for (const [how, text] of Object.entries(WRITTEN)) {
    test(`written ${how} is found, in bytes and in text`, () => {
      assert.equal(holdsAny([text], NEEDLES), true)
      assert.equal(holdsAny([Buffer.from(`{"before":1} ${text} after`)], NEEDLES), true)
    })
  }

  test('sent as the password of a user is found in the pair, whatever stands before it', () => {
    const needles = needlesOf(Buffer.from('pass-word'), Buffer.from('someone:pass-word'))
    for (const before of ['', 'a', 'ab', 'abc']) assert.equal(holdsAny([Buffer.from(`${before}someone:pass-word`).toString('base64')], needles), true)
  })

  test('that is a token is found by its payload or its signature alone, and not by its header', () => {
    const segment = (part: string | Buffer): string => Buffer.from(part).toString('base64url')
    const [header, payload, signature] = [segment('{"alg":"RS256","typ":"JWT"}'), segment('{"sub":"broker"}'), segment(Buffer.alloc(32, 7))]
    const needles = needlesOf(Buffer.from(`${header}.${payload}.${signature}`), null)
    assert.equal(holdsAny([`{"t":"${payload}"}`], needles), true)
    assert.equal(holdsAny([`{"t":"${signature}"}`], needles), true)
    assert.equal(holdsAny([`{"t":"${header}.eyJzdWIiOiJzb21lb25lIGVsc2UifQ.abcdefgh"}`], needles), false)
  })

  test('with dots that is no token is found only whole', () => {
    const needles = needlesOf(Buffer.from('first-part.second-part.third-part'), null)
    assert.equal(holdsAny(['second-part'], needles), false)
    assert.equal(holdsAny(['xx first-part.second-part.third-part xx'], needles), true)
  })

  test('of bytes that are no text is found as they are, in hex and in base64', () => {
    const secret = Buffer.from([0xff, 0xfe, 0x00, 0x80, 0x9c, 0xc3, 0x28, 0xa0, 0xa1])
    const needles = needlesOf(secret, null)
    assert.equal(holdsAny([Buffer.concat([Buffer.from('{"x":"'), secret, Buffer.from('"}')])], needles), true)
    assert.equal(holdsAny([secret.toString('hex')], needles), true)
    assert.equal(holdsAny([base64At(1, secret)], needles), true)
  })

  test('split over two fields, reversed or in base64 broken into lines is not found: that is the limit, and it is documented', () => {
    const secret = 'abcdefgh-ijklmnop'
    const needles = needlesOf(Buffer.from(secret), null)
    assert.equal(holdsAny([JSON.stringify({ first: secret.slice(0, 8), second: secret.slice(8) })], needles), false)
    assert.equal(holdsAny([[...secret].reverse().join('')], needles), false)
    assert.equal(holdsAny([Buffer.from(secret).toString('base64').replace(/.{6}/g, '$&\n')], needles), false)
  })

  test('is not found in ordinary JSON that does not hold it', () => {
    const keys = fc.uint8Array({ minLength: 16, maxLength: 32 }).map(bytes => Buffer.from(bytes).toString('base64url'))
    fc.assert(fc.property(keys, fc.json({ maxDepth: 4 }), (secret, json) => {
      fc.pre(!json.includes(secret.slice(0, 8)))
      assert.equal(holdsAny([json], needlesOf(Buffer.from(secret), null)), false)
    }), { numRuns: 2_000 })
  })
})

describe('the search', () => {
  test('answers no where nothing is looked for', () => {
    assert.equal(holdsAny(['anything'], []), false)
  })

  test('looks into every part, and not across two of them', () => {
    const needles = needlesOf(Buffer.from('a-secret-of-ours'), null)
    assert.equal(holdsAny(['one', Buffer.from('two'), 'x a-secret-of-ours x'], needles), true)
    assert.equal(holdsAny([Buffer.from('x a-secret-of-ours x'), 'two', 'three'], needles), true)
    assert.equal(holdsAny(['one', '{"x":"a\\u002dsecret-of-ours"}'], needles), true)
    assert.equal(holdsAny(['x a-secret', '-of-ours x'], needles), false)
    assert.equal(holdsAny(['x a\\', 'u002dsecret-of-ours x'], needles), false)
  })

  const MIB = 1 << 20
  const filled = (unit: string): string => unit.repeat(Math.ceil(MIB / unit.length)).slice(0, MIB)
  for (const [what, text] of [
    ['plain text', filled('{"id":12345,"name":"Somebody","city":"Reims"},')],
    ['nothing but backslashes', filled('\\')],
    ['nothing but JSON escapes', filled('\\u0041')],
    ['escapes of escapes', filled('\\\\u005c\\u005c')],
    ['percent escapes of percent signs', filled('%25')],
    ['nothing but ampersands', filled('&')],
    ['references to ampersands', filled('&amp;')],
    ['almost the secret, over and over', filled(SECRET.slice(0, -2))],
  ] as const) {
    test(`takes time in proportion to the length, in ${what}`, () => {
      const time = (length: number): number => {
        const part = Buffer.from(text.slice(0, length))
        let best = Infinity
        for (let tries = 0; tries < 3; tries += 1) {
          const startedAt = process.cpuUsage()
          assert.equal(holdsAny([part], NEEDLES), false)
          const used = process.cpuUsage(startedAt)
          best = Math.min(best, used.user + used.system)
        }
        return best
      }
      time(MIB / 8)
      const small = Math.max(500, time(MIB / 8))
      // Eight times the length: a square would be 64 times the time.
      assert.ok(time(MIB) < small * 30)
    })
  }
})
