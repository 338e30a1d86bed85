import assert from 'node:assert/strict'
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { Identity } from '../../src/attempts/identity.ts'
import { Refusal } from '../../src/errors.ts'
import { createTokenVerifier, type TokenVerifier, type TokenVerifierOptions } from '../../src/execution/access-token.ts'
import { identify } from '../../src/execution/authenticate.ts'
import type { Caller } from '../../src/execution/call.ts'
import { Secret } from '../../src/secret.ts'
import { createJwksFetcher, JwksUnavailable } from '../../src/upstream/jwks.ts'
import { AUDIENCE, ISSUER, issuerKey, signToken, startJwksServer, type JwksServer } from '../support/issuer.ts'

const identity = new Identity(new Secret('test', Buffer.alloc(32, 7)))
const first = await issuerKey('first', 'ES256')
const second = await issuerKey('second', 'ES256')

/** Both clocks of a verifier, moved by hand from the real time on. */
function movableClock (): { readonly clock: NonNullable<TokenVerifierOptions['clock']>, move (ms: number): void } {
  let movedMs = 0
  return {
    clock: { epochMs: () => Date.now() + movedMs, monotonicMs: () => performance.now() + movedMs },
    move: ms => { movedMs += ms },
  }
}

interface Setting {
  readonly verifier: TokenVerifier
  readonly jwks: JwksServer
  readonly move: (ms: number) => void
  readonly call: (token: string) => Promise<Caller>
  /** The code of the refusal, or null where the token was believed. */
  readonly codeOf: (token: string) => Promise<string | null>
}

async function setting (t: TestContext, keys: readonly unknown[] = [first.jwk]): Promise<Setting> {
  const jwks = await startJwksServer(t, keys)
  const fetcher = createJwksFetcher()
  t.after(() => fetcher.close())
  const { clock, move } = movableClock()
  const verifier = createTokenVerifier({
    issuer: ISSUER, audience: AUDIENCE, jwks: { kind: 'url', url: jwks.url }, identity, fetchJwks: fetcher.fetch, demo: false, clock,
  })
  return { verifier, jwks, move, ...callers(verifier) }
}

function callers (verifier: TokenVerifier): Pick<Setting, 'call' | 'codeOf'> {
  const call = (token: string): Promise<Caller> => identify({ authorization: `Bearer ${token}` }, { verifier })
  return { call, codeOf: token => call(token).then(() => null, (error: unknown) => error instanceof Refusal ? error.code : Promise.reject(error)) }
}

const MINUTE_MS = 60_000
const longLived = { iat: Math.floor(Date.now() / 1000), exp: Math.floor(Date.now() / 1000) + 12 * 3_600 }

describe('the key set of the issuer', () => {
  test('is fetched once for many tokens at once', async t => {
    const { call, jwks } = await setting(t)
    const tokens = await Promise.all(Array.from({ length: 20 }, () => signToken(first)))
    await Promise.all(tokens.map(call))
    assert.equal(jwks.ledger.length, 1)
  })

  test('is there before the first call where it was warmed', async t => {
    const { verifier, call, jwks } = await setting(t)
    assert.equal(verifier.isReady(), false)
    await verifier.warm()
    assert.equal(verifier.isReady(), true)
    await call(await signToken(first))
    assert.equal(jwks.ledger.length, 1)
  })

  test('says so where it cannot be warmed', async t => {
    const { verifier, jwks } = await setting(t)
    jwks.fault = 'error'
    await assert.rejects(verifier.warm(), /cannot be had/)
    assert.equal(verifier.isReady(), false)
  })

  for (const fault of ['none', 'error', 'hang_up', 'garbage'] as const) {
    for (const order of ['one after the other', 'at once'] as const) {
      test(`is asked for at most twice by 50 forged tokens of unknown keys ${order}, answering: ${fault}`, async t => {
        const { codeOf, jwks } = await setting(t)
        jwks.fault = fault
        const forged = await Promise.all(Array.from({ length: 50 }, (_, index) => signToken(second, {}, { kid: `forged-${index}` })))
        const codes: Array<string | null> = []
        if (order === 'at once') codes.push(...await Promise.all(forged.map(codeOf)))
        else for (const token of forged) codes.push(await codeOf(token))
        assert.deepEqual(new Set(codes), new Set(['UNAUTHENTICATED']))
        assert.ok(jwks.ledger.length >= 1 && jwks.ledger.length <= 2, `${jwks.ledger.length} fetches`)
      })
    }
  }

  test('that goes down does not stop known keys for a while, nor forged tokens from being refused', async t => {
    const { call, codeOf, jwks, move } = await setting(t)
    await call(await signToken(first))
    jwks.fault = 'hang_up'
    move(MINUTE_MS)
    assert.equal(await codeOf(await signToken(first)), null)
    assert.equal(await codeOf(await signToken(second)), 'UNAUTHENTICATED')
  })

  test('that stays down is not believed after ten minutes, by remembered tokens either', async t => {
    const { call, codeOf, jwks, move, verifier } = await setting(t)
    const token = await signToken(first, longLived)
    await call(token)
    jwks.fault = 'error'
    for (let minute = 0; minute < 9; minute += 1) {
      move(MINUTE_MS)
      assert.equal(await codeOf(token), null, `after ${minute + 1} minutes`)
    }
    move(MINUTE_MS + 1_000)
    assert.equal(verifier.remembered(`Bearer ${token}`), null)
    assert.equal(await codeOf(token), 'UNAUTHENTICATED')
    assert.equal(verifier.isReady(), false)
  })

  test('that comes back is used again', async t => {
    const { codeOf, jwks, move } = await setting(t)
    jwks.fault = 'error'
    const token = await signToken(first)
    assert.equal(await codeOf(token), 'UNAUTHENTICATED')
    jwks.fault = 'none'
    move(6_000)
    assert.equal(await codeOf(token), null)
  })

  test('is renewed behind the back of calls before it is too old', async t => {
    const { call, jwks, move } = await setting(t)
    const token = await signToken(first, longLived)
    for (let minute = 0; minute < 30; minute += 1) {
      await call(token)
      move(MINUTE_MS)
      // The renewal is not awaited by the call; let its answer arrive.
      await new Promise(resolve => setTimeout(resolve, 20))
    }
    assert.ok(jwks.ledger.length >= 4 && jwks.ledger.length <= 8, `${jwks.ledger.length} fetches in half an hour`)
  })

  test('that has rotated brings the new key in soon', async t => {
    const { codeOf, jwks, move } = await setting(t)
    await codeOf(await signToken(first))
    jwks.keys = [first.jwk, second.jwk]
    move(11_000)
    assert.equal(await codeOf(await signToken(second)), null)
  })

  test('that has lost a key takes the tokens of that key with it, remembered ones too', async t => {
    const { call, codeOf, verifier, jwks, move } = await setting(t)
    const token = await signToken(first, longLived)
    await call(token)
    assert.notEqual(verifier.remembered(`Bearer ${token}`), null)
    jwks.keys = [second.jwk]
    move(11_000)
    // Any token of the new key makes the set be fetched again.
    assert.equal(await codeOf(await signToken(second)), null)
    assert.equal(verifier.remembered(`Bearer ${token}`), null)
    assert.equal(await codeOf(token), 'UNAUTHENTICATED')
  })

  test('that replaces a key under the same kid does not believe the old one', async t => {
    const { call, codeOf, jwks, move } = await setting(t, [first.jwk, second.jwk])
    const token = await signToken(first, longLived)
    await call(token)
    jwks.keys = [{ ...second.jwk, kid: 'first' }, second.jwk]
    move(6 * MINUTE_MS)
    await codeOf(await signToken(second, longLived))
    await new Promise(resolve => setTimeout(resolve, 50))
    assert.equal(await codeOf(token), 'UNAUTHENTICATED')
  })

  test('that names one kid twice believes neither', async t => {
    const { codeOf } = await setting(t, [first.jwk, { ...second.jwk, kid: 'first' }])
    assert.equal(await codeOf(await signToken(first)), 'UNAUTHENTICATED')
  })
})

describe('a remembered token', () => {
  test('is the same caller, without a look at its signature', async t => {
    const { call, verifier } = await setting(t)
    const token = await signToken(first)
    const caller = await call(token)
    assert.equal(verifier.remembered(`Bearer ${token}`), caller)
    assert.equal(await call(token), caller)
  })

  test('is verified again after a minute', async t => {
    const { call, verifier, move } = await setting(t)
    const token = await signToken(first)
    await call(token)
    move(MINUTE_MS)
    assert.equal(verifier.remembered(`Bearer ${token}`), null)
    await call(token)
    assert.notEqual(verifier.remembered(`Bearer ${token}`), null)
  })

  test('is forgotten when it expires', async t => {
    const { call, codeOf, verifier, move } = await setting(t)
    const token = await signToken(first, { exp: Math.floor(Date.now() / 1000) + 10 })
    await call(token)
    move(10_000)
    assert.equal(verifier.remembered(`Bearer ${token}`), null)
    assert.equal(await codeOf(token), 'UNAUTHENTICATED')
  })

  test('was believed first: a refused one is never remembered', async t => {
    const { codeOf, verifier } = await setting(t)
    const token = await signToken(first, { aud: 'https://other.example' })
    assert.equal(await codeOf(token), 'UNAUTHENTICATED')
    assert.equal(verifier.remembered(`Bearer ${token}`), null)
  })
})

describe('a key set file', () => {
  async function fileSetting (t: TestContext, text: string): Promise<Omit<Setting, 'jwks'> & {
    readonly path: string, readonly write: (text: string) => Promise<void>,
  }> {
    const folder = await mkdtemp(join(tmpdir(), 'aval-keys-'))
    t.after(() => rm(folder, { recursive: true, force: true }))
    const path = join(folder, 'jwks.json')
    const write = async (content: string): Promise<void> => {
      await writeFile(`${path}.draft`, content)
      await rename(`${path}.draft`, path)
    }
    await write(text)
    const { clock, move } = movableClock()
    const verifier = createTokenVerifier({
      issuer: ISSUER, audience: AUDIENCE, jwks: { kind: 'file', path }, identity, fetchJwks: () => assert.fail('a file is not fetched'),
      demo: false, clock,
    })
    return { verifier, path, write, move, ...callers(verifier) }
  }
  const setOf = (...keys: readonly unknown[]): string => JSON.stringify({ keys })

  test('is believed, and read again when it changes', async t => {
    const { codeOf, write, move } = await fileSetting(t, setOf(first.jwk))
    const token = await signToken(first)
    assert.equal(await codeOf(token), null)
    await write(setOf(second.jwk))
    move(1_000)
    assert.equal(await codeOf(token), 'UNAUTHENTICATED')
    assert.equal(await codeOf(await signToken(second)), null)
  })

  const damages = [
    ['garbage', '{"keys": ['], ['another document', '[]'], ['nothing', ''], ['no object among its keys', '{"keys": [null]}'],
  ] as const
  for (const [what, text] of damages) {
    test(`that holds ${what} makes every token refused until it is right again`, async t => {
      const { codeOf, write, move } = await fileSetting(t, setOf(first.jwk))
      const token = await signToken(first)
      assert.equal(await codeOf(token), null)
      await write(text)
      move(1_000)
      assert.equal(await codeOf(token), 'UNAUTHENTICATED')
      await write(setOf(first.jwk))
      move(1_000)
      assert.equal(await codeOf(token), null)
    })
  }

  test('that is gone makes every token refused, and its return is noticed', async t => {
    const { codeOf, path, move } = await fileSetting(t, setOf(first.jwk))
    const token = await signToken(first)
    assert.equal(await codeOf(token), null)
    await rename(path, `${path}.away`)
    move(1_000)
    assert.equal(await codeOf(token), 'UNAUTHENTICATED')
    await rename(`${path}.away`, path)
    move(1_000)
    assert.equal(await codeOf(token), null)
  })
})

describe('the fetch of a key set', () => {
  async function fetcherFor (t: TestContext, totalMs?: number): Promise<{ jwks: JwksServer, fetch: (url: string) => Promise<unknown> }> {
    const jwks = await startJwksServer(t, [first.jwk])
    const fetcher = createJwksFetcher(totalMs)
    t.after(() => fetcher.close())
    return { jwks, fetch: fetcher.fetch }
  }

  test('gives the document', async t => {
    const { jwks, fetch } = await fetcherFor(t)
    assert.deepEqual(await fetch(jwks.url), { keys: [first.jwk] })
  })

  test('follows no redirect', async t => {
    const { jwks, fetch } = await fetcherFor(t)
    jwks.fault = 'redirect'
    await assert.rejects(fetch(jwks.url), JwksUnavailable)
    assert.deepEqual(jwks.ledger, ['/jwks'])
  })

  for (const fault of ['error', 'hang_up', 'huge', 'garbage', 'silent', 'drip'] as const) {
    test(`fails where the issuer answers: ${fault}`, async t => {
      const { jwks, fetch } = await fetcherFor(t, 300)
      jwks.fault = fault
      const failure = await fetch(jwks.url).then(() => assert.fail('no failure'), (error: unknown) => error)
      assert.ok(failure instanceof JwksUnavailable, String(failure))
      assert.doesNotMatch(failure.message, /127\.0\.0\.1|html/)
      // The next fetch is not hurt by it.
      jwks.fault = 'none'
      assert.deepEqual(await fetch(jwks.url), { keys: [first.jwk] })
    })
  }

  const forbidden = [
    'http://issuer.example/jwks', 'http://127.0.0.1.evil.example/', 'http://10.0.0.1/jwks', 'file:///etc/passwd', 'data:application/json,{}',
    'https://name:secret@issuer.example/', 'jwks', '',
  ]
  for (const url of forbidden) {
    test(`refuses to ask "${url}"`, async t => {
      const { fetch } = await fetcherFor(t)
      await assert.rejects(fetch(url), /over https/)
    })
  }
})
