// A secret in what an upstream answered is found in every writing that is declared to be seen through, in any mixture and nesting of up to three.
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { holdsAny, needlesOf } from '../../src/credentials/scan.ts'
import type { Count, Target } from './target.ts'

const JWT_HEADER = Buffer.from('{"alg":"ES256","typ":"JWT"}').toString('base64url')
const jwtSegment = fc.uint8Array({ minLength: 6, maxLength: 60 }).map(value => Buffer.from(value).toString('base64url'))

const secrets: fc.Arbitrary<string> = fc.oneof(
  fc.tuple(jwtSegment, jwtSegment).map(segments => [JWT_HEADER, ...segments].join('.')),
  fc.string({ minLength: 8, maxLength: 60 }),
  fc.string({ minLength: 8, maxLength: 60, unit: 'grapheme' }),
  fc.uint8Array({ minLength: 24, maxLength: 24 }).map(bytes => Buffer.from(bytes).toString('base64')),
  fc.constantFrom(`sk_live/51+H8<"&'>\\key%2 ü~`, 'a b c d e f g', 'pass%20word%25-of-the-shop',
    '&amp;amp;&lt;x-and-what-follows', '\\u0041\\\\x41-and-what-follows', 'tab\there-now'),
)

const hex4 = (unit: number): string => unit.toString(16).padStart(4, '0')
const named = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

/**
 * Reading one writing also reads what looks like another one in the secret itself. Such a secret is found as long as enough of it is left (scan.ts),
 * and in writings within writings not always.
 */
const LIKE_ESCAPES = /[%&\\]/
const SURELY_ENOUGH = 24

/** Ways to write single letters differently: they can be put into one another. */
const LETTERS: { readonly [how: string]: (text: string) => string } = {
  json: text => JSON.stringify({ echo: text }),
  'json, slashes escaped': text => JSON.stringify([text]).replaceAll('/', '\\/'),
  'json, all escaped': text => `{"a":"${text.split('').map(unit => `\\u${hex4(unit.charCodeAt(0))}`).join('')}"}`,
  'json, some escaped': text => JSON.stringify(text).replaceAll(/[aeiou]/g, letter => `\\u${hex4(letter.charCodeAt(0)).toUpperCase()}`),
  url: text => `https://x.example/?q=${encodeURIComponent(text)}`,
  'url, small': text => encodeURIComponent(text).replaceAll(/%[0-9A-F]{2}/g, escape => escape.toLowerCase()),
  'url, all': text => Buffer.from(text).toString('hex').replaceAll(/../g, '%$&'),
  'html by name': text => `<p>${named(text).replaceAll("'", '&apos;')}</p>`,
  'html by number': text => named(text).replaceAll("'", '&#39;'),
  'html, all': text => [...text].map(letter => `&#${letter.codePointAt(0)};`).join(''),
  'html, all in hex': text => [...text].map(letter => `&#x${letter.codePointAt(0)!.toString(16)};`).join(''),
}

const pairOf = (secret: Buffer): Buffer => Buffer.concat([Buffer.from('the user:'), secret])

/** What is no JWT is written as it is. */
const segmentOf = (at: number) => (secret: Buffer, before: Buffer): Buffer => {
  const segments = secret.toString('latin1').split('.')
  return Buffer.concat([before, segments[0] === JWT_HEADER ? Buffer.from(segments[at]!) : secret, before])
}

/** Ways that turn it into other letters: the innermost one. */
const WHOLE: { readonly [how: string]: (secret: Buffer, before: Buffer) => Buffer } = {
  'as it is': (secret, before) => Buffer.concat([before, secret, before]),
  hex: (secret, before) => Buffer.from(before.toString('hex') + secret.toString('hex')),
  'hex in capitals': secret => Buffer.from(secret.toString('hex').toUpperCase()),
  base64: (secret, before) => Buffer.from(Buffer.concat([before, secret, before]).toString('base64')),
  base64url: (secret, before) => Buffer.from(Buffer.concat([before, secret, before]).toString('base64url')),
  form: secret => Buffer.from(new URLSearchParams({ echo: secret.toString() }).toString()),
  'form, small': secret => Buffer.from(new URLSearchParams({ echo: secret.toString() }).toString().replaceAll(/%[0-9A-F]{2}/g, escape => escape.toLowerCase())),
  'a pair in base64': (secret, before) => Buffer.from(Buffer.concat([before, pairOf(secret), before]).toString('base64')),
  'a pair in base64url': (secret, before) => Buffer.from(Buffer.concat([before, pairOf(secret), before]).toString('base64url')),
  'payload of a JWT': segmentOf(1),
  'signature of a JWT': segmentOf(2),
}

export const secretScan: Target = {
  name: 'secrets',
  holds: 'a secret is found in every writing, and in writings within writings where it does not look like one itself, whatever stands around it',
  property: (count: Count) => fc.property(
    secrets, fc.uint8Array({ maxLength: 7 }), fc.constantFrom(...Object.keys(WHOLE)),
    fc.array(fc.constantFrom(...Object.keys(LETTERS)), { maxLength: 2 }), fc.boolean(),
    (secret, before, whole, letters, asBytes) => {
      const bytes = Buffer.from(secret)
      fc.pre(bytes.length >= 8 && (!LIKE_ESCAPES.test(secret) || (bytes.length >= SURELY_ENOUGH && letters.length < 2)))
      // What is no text is found as bytes; only text can be written differently, letter by letter.
      const ascii = Buffer.from(before.map(byte => 0x61 + byte % 26))
      const innermost = WHOLE[whole]!(bytes, letters.length === 0 ? Buffer.from(before) : ascii)
      const written = letters.reduce((text, how) => LETTERS[how]!(text), innermost.toString(letters.length === 0 ? 'latin1' : 'utf8'))
      const answer = letters.length === 0 ? innermost : Buffer.from(written)
      count(letters.length > 1 ? 'nested' : 'plain')
      const found = holdsAny([asBytes || letters.length === 0 ? answer : written], needlesOf(bytes, pairOf(bytes)))
      assert.ok(found, JSON.stringify({ secret, whole, letters, written }))
    }),
  shortRuns: 4_000,
  least: { nested: 0.2, plain: 0.2 },
}
