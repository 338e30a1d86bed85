// Where a secret stands on a request, and that nothing the request brings can take its place or be shown with it.
import { describe, test } from 'node:test'
import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import fc from 'fast-check'
import type { CredentialDeclaration } from '../../src/catalog/catalog.ts'
import { Refusal } from '../../src/errors.ts'
import type { WireRequest } from '../../src/upstream/wire.ts'
import { createCredentials } from '../../src/credentials/credentials.ts'
import { apiKey, basic, bearer, shopWith } from './declarations.ts'

const SECRET = 'sk_live_51H8;x=y&z'

async function applied (declaration: CredentialDeclaration, change: Partial<WireRequest> = {}, secret = SECRET): Promise<WireRequest> {
  const credentials = createCredentials({ env: { SHOP_KEY: secret } })
  const credential = await credentials.obtain(shopWith(declaration), 'default', 'read')
  return credential.apply({ method: 'GET', path: '/orders?limit=5', headers: { accept: 'application/json' }, body: null, ...change })
}

describe('a secret', () => {
  test('stands in a header with its prefix', async () => {
    const request = await applied(apiKey('header', 'X-Api-Key', 'env:SHOP_KEY', 'Token '))
    assert.deepEqual(request.headers, { accept: 'application/json', 'x-api-key': `Token ${SECRET}` })
    assert.equal(request.path, '/orders?limit=5')
  })

  test('stands in Authorization as a bearer token, however the scheme is spelt', async () => {
    assert.equal((await applied(bearer('env:SHOP_KEY'))).headers['authorization'], `Bearer ${SECRET}`)
    const spelt = { ...bearer('env:SHOP_KEY'), scheme: { kind: 'http', scheme: 'BEARER' } } as const
    assert.equal((await applied(spelt)).headers['authorization'], `Bearer ${SECRET}`)
  })

  test('stands in Authorization as the password of a user, in any letters', async () => {
    const request = await applied(basic('env:SHOP_KEY', 'aval'), {}, 'pässwörd')
    assert.equal(Buffer.from(request.headers['authorization']!.slice('Basic '.length), 'base64').toString(), 'aval:pässwörd')
  })

  test('is user and password together where no username is declared', async () => {
    const request = await applied(basic('env:SHOP_KEY', null), {}, 'sk_live_1234:')
    assert.equal(request.headers['authorization'], `Basic ${Buffer.from('sk_live_1234:').toString('base64')}`)
    await assert.rejects(applied(basic('env:SHOP_KEY', null), {}, 'sk_live_1234'), isUnavailable(/user:password/))
  })

  test('stands in the query, escaped, beside what the request brings', async () => {
    assert.equal((await applied(apiKey('query', 'api key', 'env:SHOP_KEY'))).path, '/orders?limit=5&api%20key=sk_live_51H8%3Bx%3Dy%26z')
    assert.equal((await applied(apiKey('query', 'key', 'env:SHOP_KEY'), { path: '/orders' }, 'pässwörd')).path, '/orders?key=p%C3%A4ssw%C3%B6rd')
  })

  test('stands in a cookie beside others', async () => {
    const headers = { cookie: 'theme=dark; session=mine; lang=fr' }
    const request = await applied(apiKey('cookie', 'session', 'env:SHOP_KEY'), { headers }, 'abcdefgh12')
    assert.equal(request.headers['cookie'], 'theme=dark; lang=fr; session=abcdefgh12')
  })

  test('takes the place of whatever the request brings under its name, in any case and any escaping', async () => {
    const headers = { 'x-api-key': 'mine', 'X-API-KEY': 'mine too', accept: '*/*' }
    const byHeader = await applied(apiKey('header', 'X-Api-Key', 'env:SHOP_KEY'), { headers })
    assert.deepEqual(byHeader.headers, { accept: '*/*', 'x-api-key': SECRET })
    const byQuery = await applied(apiKey('query', 'api_key', 'env:SHOP_KEY'), { path: '/a?api_key=mine&x=1&%61pi_key=mine&api%5fkey&y=%zz' })
    assert.equal(byQuery.path, '/a?x=1&y=%zz&api_key=sk_live_51H8%3Bx%3Dy%26z')
    const byBearer = await applied(bearer('env:SHOP_KEY'), { headers: { authorization: 'Bearer of the agent', Authorization: 'x' } })
    assert.deepEqual(byBearer.headers, { authorization: `Bearer ${SECRET}` })
  })

  test('leaves the request that it was put on as it was', async () => {
    const headers = Object.freeze({ accept: 'application/json' })
    const request = Object.freeze({ method: 'POST', path: '/orders', headers, body: Buffer.from('{}') })
    const credentials = createCredentials({ env: { SHOP_KEY: SECRET } })
    const armed = (await credentials.obtain(shopWith(bearer('env:SHOP_KEY')), 'default', 'write')).apply(request)
    assert.deepEqual(headers, { accept: 'application/json' })
    assert.deepEqual([armed.method, armed.path, armed.body], ['POST', '/orders', request.body])
  })

  test('is not shown by printing or serialising the credential or the request', async () => {
    const credentials = createCredentials({ env: { SHOP_KEY: SECRET } })
    for (const declaration of [bearer('env:SHOP_KEY'), apiKey('query', 'k', 'env:SHOP_KEY'), apiKey('header', 'x-k', 'env:SHOP_KEY')]) {
      const credential = await credentials.obtain(shopWith(declaration), 'default', 'read')
      const request = credential.apply({ method: 'GET', path: '/', headers: {}, body: null })
      for (const shown of [credential, request, { request }, credentials]) {
        const text = `${inspect(shown, { depth: 10, showHidden: true })}${JSON.stringify(shown)}`
        assert.ok(!text.includes('sk_live'), text)
      }
    }
  })

  test('that cannot stand where it must is refused before anything is sent, and the message does not hold it', async () => {
    for (const [declaration, secret] of [
      [bearer('env:SHOP_KEY'), 'abcdefgh\r\nX-Evil: 1'],
      [bearer('env:SHOP_KEY'), 'abcdefgh\u0000'],
      [bearer('env:SHOP_KEY'), ' abcdefgh'],
      [bearer('env:SHOP_KEY'), 'pässwörd1'],
      [apiKey('cookie', 'session', 'env:SHOP_KEY'), 'abcd;efgh'],
      [apiKey('cookie', 'session', 'env:SHOP_KEY'), 'abcd efgh'],
    ] as const) {
      const credentials = createCredentials({ env: { SHOP_KEY: secret } })
      await assert.rejects(credentials.obtain(shopWith(declaration), 'default', 'read'), (error: unknown) => {
        assert.ok(error instanceof Refusal)
        assert.equal(error.code, 'CREDENTIAL_UNAVAILABLE')
        assert.ok(!`${inspect(error)}`.includes('abcd'))
        return true
      })
    }
  })

  test('of an HTTP scheme that is more than a word cannot be had', async () => {
    await assert.rejects(applied({ ...bearer('env:SHOP_KEY'), scheme: { kind: 'http', scheme: 'digest' } }), isUnavailable(/digest/))
  })

  test('comes back out of the query as the very bytes it is', () => {
    const secrets = fc.string({ minLength: 8, maxLength: 40, unit: 'binary' }).filter(text => !/[\r\n]$/.test(text))
    return fc.assert(fc.asyncProperty(secrets, async secret => {
      const request = await applied(apiKey('query', 'k', 'env:SHOP_KEY'), { path: '/a?x=1' }, secret)
      assert.match(request.path, /^[\x21-\x7e]+$/)
      assert.equal(new URL(request.path, 'https://a.test').searchParams.get('k'), secret)
    }))
  })
})

describe('an upstream without a credential', () => {
  test('gets the request as it is', async () => {
    const request: WireRequest = { method: 'GET', path: '/', headers: {}, body: null }
    const credential = await createCredentials({ env: {} }).obtain(shopWith(null), 'default', 'read')
    assert.equal(credential.apply(request), request)
  })
})

function isUnavailable (internal: RegExp): (error: unknown) => boolean {
  return error => {
    assert.ok(error instanceof Refusal)
    assert.equal(error.code, 'CREDENTIAL_UNAVAILABLE')
    assert.match(error.details.internal ?? '', internal)
    return true
  }
}
