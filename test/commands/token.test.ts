import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { decodeJwt, exportJWK, generateKeyPair } from 'jose'
import { Identity } from '../../src/attempts/identity.ts'
import {
  makeDemoKey, makeSigningKey, mintToken, readSigningKey, SigningKeyFault, TokenFault, writeSigningKey, type TokenRequest,
} from '../../src/commands/token.ts'
import { createTokenVerifier, type TokenVerifier } from '../../src/execution/access-token.ts'
import { Secret } from '../../src/secret.ts'

const ISSUER = 'https://issuer.example'
const AUDIENCE = 'https://aval.example'
const key = await makeSigningKey()
const request: TokenRequest = { key, issuer: ISSUER, audience: AUDIENCE, sub: 'agent-1', roles: ['support_agent'] }

function verifierFor (jwks: unknown, demo = false): TokenVerifier {
  const identity = new Identity(new Secret('test', Buffer.alloc(32, 1)))
  return createTokenVerifier(
    { issuer: ISSUER, audience: AUDIENCE, jwks: { kind: 'url', url: 'https://issuer.example/jwks' }, identity, fetchJwks: async () => jwks, demo },
  )
}

async function folderFor (t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'aval-token-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

describe('a minted token', () => {
  test('is believed by a broker that has the public half of the key', async () => {
    const token = await mintToken({ ...request, tenant: 'acme', run: 'run-1', claims: { customers: ['C-1'] } })
    const caller = await verifierFor(key.jwks).verify(`Bearer ${token}`)
    assert.deepEqual(
      [caller.sub, caller.tenant, caller.run, caller.roles, caller.claims['customers']], ['agent-1', 'acme', 'run-1', ['support_agent'], ['C-1']],
    )
  })

  test('lives an hour, or as long as was asked', async () => {
    const lifeOf = (token: string): number => decodeJwt(token).exp! - decodeJwt(token).iat!
    assert.equal(lifeOf(await mintToken(request)), 3_600)
    assert.equal(lifeOf(await mintToken({ ...request, ttlSeconds: 86_400 })), 86_400)
  })

  test('has an id of its own each time, and no run unless one is named', async () => {
    const [one, two] = [decodeJwt(await mintToken(request)), decodeJwt(await mintToken(request))]
    assert.notEqual(one.jti, two.jti)
    assert.equal(one['run_id'], undefined)
  })

  const refused: ReadonlyArray<[string, Partial<TokenRequest>]> = [
    ['without a subject', { sub: '' }],
    ['for a tenant that is a path', { tenant: '../x' }],
    ['for an empty run', { run: '' }],
    ['that lives longer than a day', { ttlSeconds: 86_401 }],
    ['that is dead already', { ttlSeconds: 0 }],
    ['that lives half a second', { ttlSeconds: 0.5 }],
    ...['iss', 'aud', 'sub', 'exp', 'jti', 'roles', 'tenant', 'run_id'].map(
      (name): [string, Partial<TokenRequest>] => [`with ${name} set by hand`, { claims: { [name]: 'x' } }],
    ),
  ]
  for (const [what, parts] of refused) {
    test(`is not made ${what}`, async () => {
      await assert.rejects(mintToken({ ...request, ...parts }), TokenFault)
    })
  }
})

describe('a signing key', () => {
  test('is written for its owner alone, and its public half beside it', async t => {
    const path = join(await folderFor(t), 'dev.key')
    const { jwksPath } = await writeSigningKey(key, path)
    assert.equal((await stat(path)).mode & 0o777, 0o600)
    const jwks = JSON.parse(await readFile(jwksPath, 'utf8')) as { keys: Array<Record<string, unknown>> }
    assert.deepEqual(jwks, key.jwks)
    assert.equal(jwks.keys[0]!['d'], undefined)
    const read = await readSigningKey(path)
    assert.equal((await verifierFor(jwks).verify(`Bearer ${await mintToken({ ...request, key: read })}`)).sub, 'agent-1')
  })

  test('never overwrites another', async t => {
    const path = join(await folderFor(t), 'dev.key')
    await writeFile(path, 'precious')
    await assert.rejects(writeSigningKey(key, path), SigningKeyFault)
    assert.equal(await readFile(path, 'utf8'), 'precious')
  })

  test('that cannot be used is refused, and never quoted', async t => {
    const path = join(await folderFor(t), 'dev.key')
    const rsa = await exportJWK((await generateKeyPair('RSA-OAEP', { extractable: true })).privateKey)
    const damaged = [
      '', '{', '[]', 'null', '{}', JSON.stringify({ ...key.jwk, kid: undefined }), JSON.stringify(key.jwks.keys[0]),
      JSON.stringify({ ...rsa, kid: 'a', alg: 'RSA-OAEP' }), '{"kty":"oct","kid":"a","alg":"HS256","d":"x"}',
    ]
    for (const text of damaged) {
      await writeFile(path, text)
      const fault = await readSigningKey(path).then(() => assert.fail(text), (error: unknown) => error)
      assert.ok(fault instanceof SigningKeyFault)
      assert.ok(!fault.message.includes(key.jwk.d!))
    }
    await assert.rejects(readSigningKey(join(path, 'none')), SigningKeyFault)
  })

  test('of the guided tour is believed by the tour alone', async () => {
    const demo = await makeDemoKey()
    assert.match(demo.kid, /^aval-demo-/)
    const token = await mintToken({ ...request, key: demo })
    assert.equal((await verifierFor(demo.jwks, true).verify(`Bearer ${token}`)).sub, 'agent-1')
    await assert.rejects(verifierFor(demo.jwks).verify(`Bearer ${token}`), { code: 'UNAUTHENTICATED' })
  })
})
