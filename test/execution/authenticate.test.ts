import assert from 'node:assert/strict'
import { createHmac, createPublicKey, randomBytes } from 'node:crypto'
import { describe, test, type TestContext } from 'node:test'
import { base64url, CompactSign, importJWK, type JWK } from 'jose'
import { Identity } from '../../src/attempts/identity.ts'
import { Refusal } from '../../src/errors.ts'
import { createTokenVerifier, type TokenVerifier, type TokenVerifierOptions } from '../../src/execution/access-token.ts'
import { identify } from '../../src/execution/authenticate.ts'
import type { Caller } from '../../src/execution/call.ts'
import { Secret } from '../../src/secret.ts'
import { createJwksFetcher } from '../../src/upstream/jwks.ts'
import {
  AUDIENCE, goodClaims, ISSUER, issuerKey, signToken, startJwksServer, type Claims, type IssuerKey, type JwksServer,
} from '../support/issuer.ts'

const identity = new Identity(new Secret('test', Buffer.alloc(32, 7)))
const rsa = await issuerKey('rsa-1')
const DAY_S = 24 * 60 * 60
const nowS = (): number => Math.floor(Date.now() / 1000)

interface Setting {
  readonly verifier: TokenVerifier
  readonly jwks: JwksServer
  readonly call: (token: string) => Promise<Caller>
}

async function setting (t: TestContext, options: Partial<TokenVerifierOptions> = {}, keys: readonly unknown[] = [rsa.jwk]): Promise<Setting> {
  const jwks = await startJwksServer(t, keys)
  const fetcher = createJwksFetcher()
  t.after(() => fetcher.close())
  const verifier = createTokenVerifier({
    issuer: ISSUER, audience: AUDIENCE, jwks: { kind: 'url', url: jwks.url }, identity, fetchJwks: fetcher.fetch, demo: false, ...options,
  })
  return { verifier, jwks, call: token => identify({ authorization: `Bearer ${token}` }, { verifier }) }
}

/** The refusal that an agent would hear, told apart from a crash. */
async function refusalOf (work: Promise<unknown>): Promise<Refusal> {
  const refusal = await work.then(() => assert.fail('the token was believed'), (error: unknown) => error)
  assert.ok(refusal instanceof Refusal, String(refusal))
  return refusal
}

/** All refusals of tokens look the same from outside. */
async function assertRefused (call: Promise<unknown>, reason: RegExp): Promise<void> {
  const refusal = await refusalOf(call)
  const { code, step, status, retryable, message } = refusal
  assert.deepEqual({ code, step, status, retryable, message }, {
    code: 'UNAUTHENTICATED', step: 'authenticate', status: 401, retryable: false, message: 'A valid access token is required.',
  })
  assert.match(refusal.details.internal ?? '', reason)
  const { internal, ...shown } = refusal.details
  assert.deepEqual(shown, {})
}

describe('a good token', () => {
  test('becomes the caller that it names', async t => {
    const { call } = await setting(t)
    const caller = await call(await signToken(rsa, { customers: ['C-1'], limits: { amount: 12.5 } }))
    assert.equal(caller.iss, ISSUER)
    assert.equal(caller.sub, 'agent-7')
    assert.equal(caller.tenant, 'acme')
    assert.equal(caller.run, 'run-1')
    assert.deepEqual(caller.roles, ['support_agent'])
    assert.equal(caller.claimedActions, null)
    assert.deepEqual(caller.view, { sub: 'agent-7', tenant: 'acme', run: 'run-1', claims: caller.claims })
    assert.deepEqual(caller.claims['customers'], ['C-1'])
    assert.equal(caller.runKey, identity.runKey({ iss: ISSUER, sub: 'agent-7', tenant: 'acme', run: 'run-1' }))
    assert.equal(caller.tag, identity.tag('acme'))
    assert.equal(caller.expiresAt, caller.claims['exp'])
  })

  test('cannot be changed by whoever holds its claims', async t => {
    const { call } = await setting(t)
    const caller = await call(await signToken(rsa, { limits: { amount: 1 } }))
    assert.throws(() => { (caller.claims['limits'] as { amount: number }).amount = 2 }, TypeError)
    assert.throws(() => { (caller.roles as string[]).push('admin') }, TypeError)
  })

  for (const alg of ['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA', 'Ed25519']) {
    test(`is believed when it is signed with ${alg}`, async t => {
      const key = await issuerKey(`key-${alg}`, alg)
      const { call } = await setting(t, {}, [key.jwk])
      assert.equal((await call(await signToken(key))).sub, 'agent-7')
    })
  }

  const accepted: ReadonlyArray<[string, Claims, Claims]> = [
    ['a media type with its prefix', {}, { typ: 'application/at+jwt' }],
    ['an audience in an array of one', { aud: [AUDIENCE] }, {}],
    ['a clock a little ahead of ours', { iat: nowS() + 2, nbf: nowS() + 2 }, {}],
    ['a lifetime of exactly 24 h', { iat: nowS() - 10, exp: nowS() - 10 + DAY_S }, {}],
    ['no roles, which grants nothing', { roles: undefined }, {}],
  ]
  for (const [what, claims, header] of accepted) {
    test(`may have ${what}`, async t => {
      const { call } = await setting(t)
      assert.equal((await call(await signToken(rsa, claims, header))).sub, 'agent-7')
    })
  }

  test('has the default tenant, and its session as run where it names no run', async t => {
    const { call } = await setting(t)
    const caller = await call(await signToken(rsa, { tenant: undefined, run_id: undefined, sid: 'session-9' }))
    assert.equal(caller.tenant, 'default')
    assert.equal(caller.run, 'session-9')
  })

  test('has no run where it names neither run nor session: its own id is none', async t => {
    const { call } = await setting(t)
    assert.equal((await call(await signToken(rsa, { run_id: undefined }))).run, null)
  })

  test('prefers run_id to sid', async t => {
    const { call } = await setting(t)
    assert.equal((await call(await signToken(rsa, { sid: 'session-9' }))).run, 'run-1')
  })

  test('narrows its roles by its own actions', async t => {
    const { call } = await setting(t)
    assert.deepEqual((await call(await signToken(rsa, { actions: ['get_customer.v1'] }))).claimedActions, ['get_customer.v1'])
    assert.deepEqual((await call(await signToken(rsa, { actions: [] }))).claimedActions, [])
  })

  test('may be sent with the scheme in any case', async t => {
    const { verifier } = await setting(t)
    const token = await signToken(rsa)
    assert.equal((await identify({ authorization: `bearer ${token}` }, { verifier })).sub, 'agent-7')
  })
})

describe('a forged token', () => {
  const segment = (value: unknown): string => base64url.encode(JSON.stringify(value))

  for (const alg of ['none', 'None', 'NONE', 'NoNe', 'nOnE']) {
    test(`of algorithm ${alg} is refused, with and without a signature`, async t => {
      const { call } = await setting(t)
      const head = `${segment({ alg, typ: 'at+jwt', kid: 'rsa-1' })}.${segment(goodClaims())}`
      await assertRefused(call(`${head}.`), /not one Bearer JWT/)
      await assertRefused(call(head), /not one Bearer JWT/)
      await assertRefused(call(`${head}.${(await signToken(rsa)).split('.')[2]}`), /algorithm is not allowed/)
    })
  }

  test('signed with HS256 and the public key as the secret is refused, in every encoding of that key', async t => {
    const { call } = await setting(t)
    const key = createPublicKey({ key: rsa.jwk as never, format: 'jwk' })
    const secrets = [
      key.export({ type: 'spki', format: 'pem' }), key.export({ type: 'spki', format: 'der' }), key.export({ type: 'pkcs1', format: 'pem' }),
      JSON.stringify(rsa.jwk), rsa.jwk.n!, '',
    ]
    for (const secret of secrets) {
      const head = `${segment({ alg: 'HS256', typ: 'at+jwt', kid: 'rsa-1' })}.${segment(goodClaims())}`
      const signature = createHmac('sha256', secret).update(head).digest('base64url')
      await assertRefused(call(`${head}.${signature}`), /algorithm is not allowed/)
    }
  })

  test('is refused although the key set publishes an HMAC key of that kid', async t => {
    const secret = randomBytes(32)
    const { call } = await setting(t, {}, [{ kty: 'oct', kid: 'shared', alg: 'HS256', k: secret.toString('base64url') }])
    const head = `${segment({ alg: 'HS256', typ: 'at+jwt', kid: 'shared' })}.${segment(goodClaims())}`
    await assertRefused(call(`${head}.${createHmac('sha256', secret).update(head).digest('base64url')}`), /algorithm is not allowed/)
  })

  test('signed by another key under the known kid is refused', async t => {
    const { call } = await setting(t)
    await assertRefused(call(await signToken(await issuerKey('rsa-1'))), /SIGNATURE_VERIFICATION/)
  })

  test('with another algorithm than its key has is refused', async t => {
    const { call } = await setting(t)
    const other = await issuerKey('rsa-1', 'ES256')
    await assertRefused(call(await signToken(other)), /JWKS_NO_MATCHING_KEY/)
  })

  test('of a key with 1024 bits is refused', async t => {
    const { subtle } = globalThis.crypto
    const pair = await subtle.generateKey(
      { name: 'RSASSA-PKCS1-v1_5', modulusLength: 1024, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' }, true, ['sign', 'verify'],
    )
    const weak = { ...await subtle.exportKey('jwk', pair.publicKey), kid: 'weak', alg: 'RS256', key_ops: undefined } as JWK
    const { call } = await setting(t, {}, [weak])
    const head = `${segment({ alg: 'RS256', typ: 'at+jwt', kid: 'weak' })}.${segment(goodClaims())}`
    const signature = Buffer.from(await subtle.sign('RSASSA-PKCS1-v1_5', pair.privateKey, Buffer.from(head))).toString('base64url')
    await assertRefused(call(`${head}.${signature}`), /cannot be used/)
  })

  test('with one changed character is refused, wherever it is', async t => {
    const { call } = await setting(t)
    const token = await signToken(rsa)
    const [head, body, signature] = token.split('.') as [string, string, string]
    const changed = (text: string): string => `${text[0] === 'A' ? 'B' : 'A'}${text.slice(1)}`
    const forgeries = [`${changed(head)}.${body}.${signature}`, `${head}.${changed(body)}.${signature}`, `${head}.${body}.${changed(signature)}`]
    for (const forged of forgeries) {
      assert.equal((await refusalOf(call(forged))).code, 'UNAUTHENTICATED')
    }
  })

  test('whose payload is no object is refused', async t => {
    const { call } = await setting(t)
    for (const payload of ['null', '[]', '"text"', '1', '', '{']) {
      const token = await new CompactSign(Buffer.from(payload)).setProtectedHeader({ alg: 'RS256', kid: 'rsa-1', typ: 'at+jwt' }).sign(rsa.privateKey)
      assert.equal((await refusalOf(call(token))).code, 'UNAUTHENTICATED')
    }
  })
})

describe('a token is refused', () => {
  const hour = 3_600
  const cases: ReadonlyArray<[string, RegExp, Claims, Claims?]> = [
    ['without exp', /exp missing/, { exp: undefined }],
    ['without iat', /iat missing/, { iat: undefined }],
    ['without sub', /sub missing/, { sub: undefined }],
    ['without jti', /jti missing/, { jti: undefined }],
    ['without iss', /iss missing/, { iss: undefined }],
    ['without aud', /aud missing/, { aud: undefined }],
    ['when it ends in ten years', /longer than 24 h/, { exp: nowS() + 10 * 365 * DAY_S }],
    ['when it lives a second longer than 24 h', /longer than 24 h/, { iat: nowS() - 10, exp: nowS() - 9 + DAY_S }],
    ['when it has expired', /expired|ERR_JWT_EXPIRED/, { iat: nowS() - hour, exp: nowS() - 1 }],
    ['when it was issued more than 24 h ago', /iat/, { iat: nowS() - DAY_S - 60, exp: nowS() + 60 }],
    ['when it was issued in the future', /iat/, { iat: nowS() + 60 }],
    ['when it is not valid yet', /nbf/, { nbf: nowS() + 60 }],
    ['when exp is text', /exp/, { exp: String(nowS() + 600) }],
    ['when it comes from another issuer', /iss/, { iss: 'https://evil.example' }],
    ['when its issuer differs by a slash', /iss/, { iss: `${ISSUER}/` }],
    ['when it is for another audience', /aud/, { aud: 'https://other.example' }],
    ['when it is for others too', /other audiences/, { aud: [AUDIENCE, 'https://other.example'] }],
    ['when it is for nobody', /aud/, { aud: [] }],
    ['when it is an ID token', /typ/, {}, { typ: 'JWT' }],
    ['when it has no type', /typ/, {}, { typ: undefined }],
    ['when it names no key', /names no key/, {}, { kid: undefined }],
    ['when its kid is empty', /names no key/, {}, { kid: '' }],
    ['when its kid is unknown', /no key of this kid/, {}, { kid: 'other' }],
    ['when it names a critical extension', /carries crit/, {}, { crit: ['exp2'], exp2: 1 }],
    ['when it names a critical extension that is known', /carries crit/, {}, { crit: ['b64'], b64: true }],
    ['when it carries x5c', /carries x5c/, {}, { x5c: ['MIIB'] }],
    ['when it is bound to a key that is not proved', /cnf/, { cnf: { jkt: 'x' } }],
    ['when its tenant is a path', /tenant/, { tenant: '../other' }],
    ['when its tenant is empty', /tenant/, { tenant: '' }],
    ['when its tenant is too long', /tenant/, { tenant: 'a'.repeat(65) }],
    ['when its tenant is no text', /tenant/, { tenant: 7 }],
    ['when its run is no text', /run_id/, { run_id: 7 }],
    ['when its run is null', /run_id/, { run_id: null }],
    ['when its run is empty', /run_id/, { run_id: '' }],
    ['when its run is too long', /run_id/, { run_id: 'r'.repeat(257) }],
    ['when its session is no text', /sid/, { run_id: undefined, sid: {} }],
    ['when its subject is empty', /sub/, { sub: '' }],
    ['when its roles are text', /roles/, { roles: 'support_agent' }],
    ['when a role is no text', /roles/, { roles: ['support_agent', 7] }],
    ['when its actions are text', /actions/, { actions: 'get_customer.v1' }],
    ['when a claim holds an integer that is not safe', /not exact/, { account: 9_007_199_254_740_993 }],
    ['when a claim holds half a character', /well-formed/, { note: '\ud800' }],
    ['when its claims are nested deeply', /deeply/, { deep: JSON.parse(`${'['.repeat(20)}${']'.repeat(20)}`) }],
    ['when a claim is named __proto__', /name/, { nested: JSON.parse('{"__proto__": {"admin": true}}') }],
  ]
  for (const [what, reason, claims, header] of cases) {
    test(what, async t => {
      const { call } = await setting(t)
      await assertRefused(call(await signToken(rsa, claims, header)), reason)
    })
  }

  test('when its payload is not encoded (b64: false)', async t => {
    const { call } = await setting(t)
    const head = base64url.encode(JSON.stringify({ alg: 'RS256', kid: 'rsa-1', typ: 'at+jwt', b64: false, crit: ['b64'] }))
    const payload = base64url.encode(JSON.stringify(goodClaims()))
    await assertRefused(call(`${head}.${payload}.c2ln`), /carries crit/)
    const uncritical = base64url.encode(JSON.stringify({ alg: 'RS256', kid: 'rsa-1', typ: 'at+jwt', b64: false }))
    await assertRefused(call(`${uncritical}.${payload}.c2ln`), /carries b64/)
  })

  test('when it is longer than 8 kB, before anything of it is parsed', async t => {
    const { call, jwks } = await setting(t)
    await assertRefused(call(await signToken(rsa, { padding: 'x'.repeat(9 * 1024) })), /longer than 8 kB/)
    assert.deepEqual(jwks.ledger, [])
  })

  test('when it is signed by the key of the guided tour, unless this is the tour', async t => {
    const demo = await issuerKey('aval-demo-1', 'ES256')
    const serving = await setting(t, {}, [demo.jwk])
    await assertRefused(serving.call(await signToken(demo)), /guided tour/)
    const touring = await setting(t, { demo: true }, [demo.jwk])
    assert.equal((await touring.call(await signToken(demo))).sub, 'agent-7')
  })

  for (const [what, headerOf] of Object.entries({
    nothing: () => undefined,
    'an empty header': () => '',
    'a scheme without a credential': () => 'Bearer ',
    'another scheme': (token: string) => `DPoP ${token}`,
    'a name and password': () => 'Basic YWdlbnQ6c2VjcmV0',
    'the token without a scheme': (token: string) => token,
    'two schemes': (token: string) => `Bearer ${token}, Basic YWdlbnQ6c2VjcmV0`,
    'two tokens': (token: string) => `Bearer ${token}, Bearer ${token}`,
    'two tokens without a comma': (token: string) => `Bearer ${token} ${token}`,
    'a tab': (token: string) => `Bearer\t${token}`,
    'an encrypted token of five parts': (token: string) => `Bearer ${token}.a.b`,
  } satisfies Record<string, (token: string) => string | undefined>)) {
    test(`when the Authorization header holds ${what}`, async t => {
      const { verifier, jwks } = await setting(t)
      await assertRefused(identify({ authorization: headerOf(await signToken(rsa)) }, { verifier }), /Authorization header/)
      assert.deepEqual(jwks.ledger, [])
    })
  }

  test('when it or its agent has been revoked, remembered or not', async t => {
    const revoked = new Set<string>()
    const { call } = await setting(t, { isRevoked: ({ sub, jti }) => revoked.has(jti) || revoked.has(sub) })
    const one = await signToken(rsa, { jti: 'one' })
    const two = await signToken(rsa, { jti: 'two' })
    await call(one)
    await call(two)
    revoked.add('one')
    await assertRefused(call(one), /revoked/)
    assert.equal((await call(two)).sub, 'agent-7')
    revoked.add('agent-7')
    await assertRefused(call(two), /revoked/)
    await assertRefused(call(await signToken(rsa, { jti: 'three' })), /revoked/)
  })
})

describe('a key that comes with the token', () => {
  test('is never used, and nothing is fetched from where it points', async t => {
    const attacker = await issuerKey('rsa-1')
    const evil = await startJwksServer(t, [attacker.jwk])
    const { call, jwks } = await setting(t)
    await call(await signToken(rsa))
    const fetched = jwks.ledger.length
    for (const header of [{ jku: evil.url }, { x5u: evil.url }, { jwk: attacker.jwk }, { jku: evil.url, kid: 'other' }] as Claims[]) {
      await assertRefused(call(await signToken(attacker, {}, header)), /carries (jku|x5u|jwk)/)
    }
    assert.deepEqual(evil.ledger, [])
    assert.equal(jwks.ledger.length, fetched)
  })

  test('is not used either when the token itself was signed by a good key', async t => {
    const evil = await startJwksServer(t, [])
    const { call } = await setting(t)
    await assertRefused(call(await signToken(rsa, {}, { jku: evil.url })), /carries jku/)
    assert.deepEqual(evil.ledger, [])
  })
})

describe('roles of a person', () => {
  for (const person of ['approver', 'operator']) {
    test(`beside the role of an agent are refused whole: ${person}`, async t => {
      const { call } = await setting(t)
      const refusal = await refusalOf(call(await signToken(rsa, { roles: ['support_agent', person] })))
      assert.equal(refusal.code, 'ROLE_CONFLICT')
      assert.equal(refusal.status, 403)
      assert.doesNotMatch(refusal.message, /agent-7/)
    })

    test(`alone are no role of an agent: ${person}`, async t => {
      const { call } = await setting(t)
      assert.deepEqual((await call(await signToken(rsa, { roles: [person] }))).roles, [person])
    })
  }
})

test('a verifier without an issuer or an audience cannot be made', () => {
  const options = {
    issuer: ISSUER, audience: AUDIENCE, jwks: { kind: 'url', url: 'https://issuer.example/jwks' } as const, identity,
    fetchJwks: async () => ({ keys: [] }), demo: false,
  }
  assert.throws(() => createTokenVerifier({ ...options, issuer: '' }), TypeError)
  assert.throws(() => createTokenVerifier({ ...options, audience: '' }), TypeError)
})

// A key whose private part is imported only to show that publishing it is enough to be left out.
test('a private key that was published is not believed', async t => {
  const leaked: IssuerKey = await issuerKey('leaked', 'ES256')
  const { exportJWK } = await import('jose')
  const { call } = await setting(t, {}, [{ ...await exportJWK(leaked.privateKey), kid: 'leaked', alg: 'ES256' }])
  assert.ok(await importJWK(leaked.jwk))
  await assertRefused(call(await signToken(leaked)), /no key of this kid/)
})
