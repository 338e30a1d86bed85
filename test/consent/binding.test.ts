// What a yes is bound to: everything that decides what is sent, and nothing that only an attempt has.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { bindingOf, bindingText, readBinding, STAND_IN, whyDiffers, type Bound } from '../../src/consent/binding.ts'
import { bindingDigest, canonicalDigest, isSame } from '../../src/consent/canonical.ts'
import { diffRows } from '../../src/consent/diff.ts'
import type { AttemptView, Json } from '../../src/catalog/catalog.ts'

const MADE = { shown_sha256: 's', created_at: '2026-11-30T10:00:00.000Z', nonce: 'n' }
const attempt = (digit: string): AttemptView => ({ id: `att_0${digit}${digit.repeat(32)}`, key: `${digit.repeat(8)}-0000-8000-8000-000000000000`, reference: null })

const action = {
  id: 'pay.v1', digest: 'd', rulesDigest: 'r', write: true, effect: 'external_commitment', involves: ['money'],
  upstream: { name: 'bank', origin: 'https://bank.example', credentials: { read: null, write: { secret: 'file:/run/secrets/{tenant}/bank' } } },
} as unknown as Bound['action']

function bound (over: Partial<Bound> = {}): Bound {
  const one = over.attempt ?? STAND_IN
  return {
    action, agent: { iss: 'i', sub: 's', tenant: 'acme', run: 'r' }, onBehalfOf: null, args: { amount: 5 }, attempt: one,
    target: { type: 'order', id: '7', version: 3 }, grant: null,
    requirement: { approve: 1, roles: ['lead'], separation: 'requester', signInMaxAgeS: null, confirm: 'checkbox' },
    request: {
      method: 'POST', path: `/pay/7?ref=${one.id}&x=%C3%A9`, headers: { 'idempotency-key': one.key, 'x-b': '2', 'x-a': '1' },
      body: Buffer.from(`{"key":"${one.key}","amount":5}`),
    },
    ...over,
  }
}

const textOf = (over: Partial<Bound> = {}): string => bindingText(bindingOf(bound(over), MADE))

describe('a binding', () => {
  test('is the same whichever attempt carries it out, wherever its id and key stand', () => {
    assert.equal(textOf({ attempt: attempt('1') }), textOf())
    assert.equal(textOf({ attempt: attempt('2') }), textOf())
  })

  test('of a request in parts is the same, though the mark between the parts is made of its bytes', () => {
    const inParts = (one: AttemptView, mark: string): Partial<Bound> => ({
      attempt: one,
      request: {
        method: 'POST', path: '/p', headers: { 'content-type': `multipart/form-data; boundary=aval-${mark.repeat(40)}` },
        body: Buffer.from(`--aval-${mark.repeat(40)}\r\n\r\n${one.key}\r\n--aval-${mark.repeat(40)}--\r\n`),
      },
    })
    assert.equal(textOf(inParts(attempt('1'), 'a')), textOf(inParts(attempt('2'), 'b')))
  })

  test('names the secret by its reference, for the tenant, and holds no credential', () => {
    const { upstream } = readBinding(textOf())
    assert.equal(upstream.account, 'file:/run/secrets/acme/bank')
    assert.deepEqual(upstream.query, [['ref', STAND_IN.id], ['x', '%C3%A9']])
    assert.deepEqual(upstream.headers.map(([name]) => name), ['idempotency-key', 'x-a', 'x-b'])
  })

  test('differs with everything that decides what is sent, and by whom it was asked for', () => {
    const request = bound().request
    const others: ReadonlyArray<Partial<Bound>> = [
      { action: { ...action, digest: 'other' } }, { action: { ...action, rulesDigest: 'other' } }, { agent: { iss: 'i', sub: 's', tenant: 'acme', run: 'r2' } },
      { agent: { iss: 'i', sub: 's', tenant: 'other', run: 'r' } }, { onBehalfOf: { iss: 'i', sub: 'p' } }, { args: { amount: 6 } },
      { target: { type: 'order', id: '8', version: 3 } }, { target: { type: 'order', id: '7', version: '3' } }, { target: null },
      { request: { ...request, method: 'PUT' } }, { request: { ...request, path: '/pay/8' } }, { request: { ...request, headers: { ...request.headers, 'x-a': '2' } } },
      { request: { ...request, body: Buffer.from('{}') } }, { request: { ...request, body: null } },
      { requirement: { ...bound().requirement, approve: 2 } },
    ]
    const digests = others.map(over => bindingDigest(textOf(over)))
    assert.equal(new Set([bindingDigest(textOf()), ...digests]).size, others.length + 1)
  })

  test('says why it is another one', () => {
    const was = bindingOf(bound(), MADE)
    const why = (over: Partial<Bound>): unknown => whyDiffers(was, bindingOf(bound(over), MADE))
    assert.equal(why({}), null)
    assert.equal(why({ action: { ...action, digest: 'other' }, target: null }), 'sheet_changed')
    assert.equal(why({ action: { ...action, rulesDigest: 'other' }, target: null }), 'policy_changed')
    assert.equal(why({ target: { type: 'order', id: '7', version: '3' } }), 'target_changed')
    assert.equal(why({ request: { ...bound().request, body: Buffer.from('{}') } }), 'request_changed')
  })

  test('is read back as it was written, whatever the arguments hold', () => {
    fc.assert(fc.property(fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue()), args => {
      if (!JSON.stringify(args).isWellFormed() || JSON.stringify(args).includes('__proto__')) return
      const text = textOf({ args: args as { [name: string]: Json } })
      assert.equal(bindingText(readBinding(text)), text)
    }))
  })
})

test('equal is equal in type too', () => {
  assert.deepEqual([isSame(1, '1'), isSame(null, ''), isSame({ a: 1, b: [1.0] }, { b: [1], a: 1 })], [false, false, true])
  assert.notEqual(canonicalDigest({ a: 'é' }), canonicalDigest({ a: 'é'.normalize('NFD') }), 'what will be sent is never normalised (A27)')
})

describe('a diff', () => {
  const rows = (was: Json, now: Json): unknown => diffRows(was, now)
  test('has a row for what differs, and tells what is absent from what is null or empty', () => {
    assert.deepEqual(rows({ a: 1, b: { c: 'x', d: null } }, { a: 1, b: { c: '', e: null } }), [
      { pointer: '/b/c', was: 'x', now: '' }, { pointer: '/b/d', was: null }, { pointer: '/b/e', now: null },
    ])
  })

  test('tells numbers from texts, takes a list for one value, and escapes names', () => {
    assert.deepEqual(rows({ n: 1, l: [1, 2], 'a/b~': 1 }, { n: '1', l: [1, 3], 'a/b~': 2 }), [
      { pointer: '/n', was: 1, now: '1' }, { pointer: '/l', was: [1, 2], now: [1, 3] }, { pointer: '/a~1b~0', was: 1, now: 2 },
    ])
    assert.deepEqual(rows({ a: { b: [1, { c: 2 }] } }, { a: { b: [1, { c: 2 }] } }), [])
  })

  test('of what nothing is known of before has everything', () => {
    assert.deepEqual(rows(null, { a: { b: 1 } }), [{ pointer: '/a', now: { b: 1 } }])
  })

  test('is empty exactly where nothing differs', () => {
    fc.assert(fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.dictionary(fc.string(), fc.jsonValue()), (was, now) => {
      assert.equal(diffRows(was as Json, now as Json).length === 0, isSame(was as Json, now as Json))
    }))
  })
})
