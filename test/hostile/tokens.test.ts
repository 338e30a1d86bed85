// Access tokens that must not be believed, against a whole broker: all are answered alike, nothing is sent, nobody is asked for a key.
// The ids in parentheses are those of the list of hostile inputs that this file works through.
import assert from 'node:assert/strict'
import { createHmac, createPublicKey, KeyObject, sign } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { base64url, CompactSign, SignJWT } from 'jose'
import { startTestBroker, type Reached, type TestBroker } from '../support/broker.ts'
import { AUDIENCE, goodClaims, ISSUER, issuerKey, signToken, type IssuerKey } from '../support/issuer.ts'
import { assertRefused, makeProbe, type Probe } from './probe.ts'

const closers: Array<() => unknown> = []
let probe: Probe
let broker: TestBroker
let key: IssuerKey
let stranger: IssuerKey
/** Where the tokens point to for their keys. */
let knocked = 0
let attackerUrl: string

before(async () => {
  const t = { after: (close: any) => { closers.push(close) } }
  key = await issuerKey('k1')
  stranger = await issuerKey('k1')
  const attacker = createServer(socket => {
    knocked++
    socket.destroy()
  })
  await new Promise<void>(resolve => attacker.listen(0, '127.0.0.1', resolve))
  t.after(() => attacker.close())
  attackerUrl = `http://127.0.0.1:${(attacker.address() as AddressInfo).port}/jwks.json`
  probe = await makeProbe(t, { env: { AVAL_ISSUER: ISSUER, AVAL_AUDIENCE: AUDIENCE } })
  writeFileSync(`${probe.site.folder}/jwks.json`, JSON.stringify({ keys: [key.jwk] }))
  broker = await startTestBroker(probe.site)
  t.after(() => broker.close())
})
after(async () => { for (const close of closers.reverse()) await close() })

const claims = { roles: ['prober'], tenant: 'default' }
const now = (): number => Math.floor(Date.now() / 1000)
const call = (token: string): Promise<Reached> => broker.call(token, 'get_item.v1', { id: 'one' })

function withHeader (header: object, signature = ''): string {
  const part = (value: object): string => base64url.encode(JSON.stringify(value))
  return `${part(header)}.${part({ ...goodClaims(), ...claims })}.${signature}`
}

function withHmac (secret: Buffer | string): string {
  const input = withHeader({ alg: 'HS256', typ: 'at+jwt', kid: 'k1' }).slice(0, -1)
  return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
}

/** RFC 7797: what is signed is the text of the claims itself. A compact token cannot have a dot in it, so those are escaped. */
function withPlainPayload (header: object): string {
  const head = base64url.encode(JSON.stringify({ alg: 'RS256', kid: 'k1', typ: 'at+jwt', b64: false, ...header }))
  const payload = JSON.stringify({ ...goodClaims(), ...claims }).replaceAll('.', '\\u002e')
  return `${head}.${payload}.${sign('sha256', Buffer.from(`${head}.${payload}`), KeyObject.from(key.privateKey as never)).toString('base64url')}`
}

test('a good token is believed', async () => {
  const { status, body } = await call(await signToken(key, claims))
  assert.deepEqual([status, body.outcome], [200, 'completed'])
})

describe('a token', () => {
  const ROWS: ReadonlyArray<readonly [id: string, what: string, make: () => Promise<string> | string]> = [
    ['B1', 'without a signature', () => withHeader({ alg: 'none', typ: 'at+jwt', kid: 'k1' })],
    ['B1', 'without a signature, spelt NoNe', () => withHeader({ alg: 'NoNe', typ: 'at+jwt', kid: 'k1' }, 'AAAA')],
    [
      'B2', 'signed with the public key as a secret (PEM)',
      () => withHmac(createPublicKey({ key: key.jwk as never, format: 'jwk' }).export({ type: 'spki', format: 'pem' }) as string),
    ],
    [
      'B2', 'signed with the public key as a secret (DER)',
      () => withHmac(createPublicKey({ key: key.jwk as never, format: 'jwk' }).export({ type: 'spki', format: 'der' }) as Buffer),
    ],
    ['B2', 'signed with the modulus as a secret', () => withHmac(key.jwk.n!)],
    ['B3', 'that never ends', () => signToken(key, { ...claims, exp: undefined })],
    ['B3', 'that ends in ten years', () => signToken(key, { ...claims, exp: now() + 10 * 365 * 86_400 })],
    ['B3', 'that ended a second ago', () => signToken(key, { ...claims, iat: now() - 60, exp: now() - 1 })],
    ['B3', 'of tomorrow', () => signToken(key, { ...claims, iat: now() + 86_400, exp: now() + 86_900 })],
    ['B3', 'not valid yet', () => signToken(key, { ...claims, nbf: now() + 600 })],
    ['B4', 'without an issuer', () => signToken(key, { ...claims, iss: undefined })],
    ['B4', 'of another issuer', () => signToken(key, { ...claims, iss: 'https://evil.example' })],
    ['B4', 'without an audience', () => signToken(key, { ...claims, aud: undefined })],
    ['B4', 'for another audience', () => signToken(key, { ...claims, aud: 'https://other.example' })],
    ['B4', 'for us and for others', () => signToken(key, { ...claims, aud: [AUDIENCE, 'https://other.example'] })],
    ['B5', 'that is an ID token', () => signToken(key, claims, { typ: 'JWT' })],
    ['B5', 'without a type', () => signToken(key, claims, { typ: undefined })],
    ['B7', 'that brings its key by jku', () => signToken(stranger, claims, { jku: attackerUrl })],
    ['B7', 'that brings its key by x5u', () => signToken(stranger, claims, { x5u: attackerUrl })],
    ['B7', 'that brings its key along', () => signToken(stranger, claims, { jwk: stranger.jwk } as never)],
    ['B7', 'of our key that also names a jku', () => signToken(key, claims, { jku: attackerUrl })],
    ['B7', 'of an issuer that is a URL of the attacker', () => signToken(stranger, { ...claims, iss: attackerUrl })],
    ['B8', 'with an extension that is critical', () => new CompactSign(new TextEncoder().encode(JSON.stringify({ ...goodClaims(), ...claims })))
      .setProtectedHeader({ alg: 'RS256', kid: 'k1', typ: 'at+jwt', crit: ['x'], x: 1 }).sign(key.privateKey, { crit: { x: true } })],
    [
      'B8', 'whose payload is not encoded',
      () => new SignJWT({ ...goodClaims(), ...claims }).setProtectedHeader({
        alg: 'RS256', kid: 'k1', typ: 'at+jwt', b64: true, crit: ['b64'],
      } as never).sign(key.privateKey),
    ],
    ['B8', 'whose payload is plain text', () => withPlainPayload({ crit: ['b64'] })],
    ['B8', 'whose payload is plain text, and which does not say that this is critical', () => withPlainPayload({})],
    ['B8', 'whose payload is encoded although it says that it is not', () => signToken(key, claims, { b64: false } as never)],
    ['B', 'of a stranger under the name of our key', () => signToken(stranger, claims)],
    ['B', 'of an unknown key', () => signToken(stranger, claims, { kid: 'other' })],
    ['B', 'without the name of a key', () => signToken(key, claims, { kid: undefined })],
    ['B', 'without a subject', () => signToken(key, { ...claims, sub: undefined })],
    ['B', 'without an id', () => signToken(key, { ...claims, jti: undefined })],
    ['B', 'of a tenant that is a path', () => signToken(key, { ...claims, tenant: '../acme' })],
    ['B', 'whose claims were changed afterwards', async () => {
      const [head, , signature] = (await signToken(key, { ...claims, roles: [] })).split('.')
      return `${head}.${base64url.encode(JSON.stringify({ ...goodClaims(), ...claims }))}.${signature}`
    }],
    ['B', 'that is none', () => 'garbage'],
  ]

  const answers: unknown[] = []
  for (const [id, what, make] of ROWS) {
    test(`${what} is refused (${id})`, async () => {
      probe.upstream.clear()
      const token = await make()
      const reached = await call(token)
      assertRefused(reached, 401, 'UNAUTHENTICATED')
      assert.equal(reached.headers.get('www-authenticate'), 'Bearer error="invalid_token"')
      answers.push({ ...reached.body, correlation_id: '' })
      assertRefused(await broker.get(token, '/v1/actions'), 401, 'UNAUTHENTICATED')
      assertRefused(await broker.get(token, '/v1/attempts/att_x'), 401, 'UNAUTHENTICATED')
      assert.equal(probe.upstream.bytes, 0)
      assert.equal(knocked, 0, 'nobody was asked for a key')
    })
  }

  test('that is revoked, or whose agent is, is refused within a second, and no other is (B11)', async () => {
    const list = `${probe.site.folder}/data/revoked.jsonl`
    const [one, other, ofAgent, ofOther] = await Promise.all([
      signToken(key, { ...claims, jti: 'one' }), signToken(key, { ...claims, jti: 'other' }), signToken(key, { ...claims, sub: 'agent-8' }),
      signToken(key, { ...claims, sub: 'agent-9' }),
    ])
    for (const token of [one, other, ofAgent, ofOther]) assert.equal((await call(token)).status, 200)
    probe.upstream.clear()
    writeFileSync(list, [{ iss: ISSUER, jti: 'one' }, { iss: ISSUER, sub: 'agent-8' }].map(line => `${JSON.stringify(line)}\n`).join(''))
    await new Promise(resolve => setTimeout(resolve, 1_100))
    for (const token of [one, ofAgent]) {
      assertRefused(await call(token), 401, 'UNAUTHENTICATED')
      assertRefused(await broker.get(token, '/v1/actions'), 401, 'UNAUTHENTICATED')
    }
    assert.equal(probe.upstream.bytes, 0)
    for (const token of [other, ofOther]) assert.equal((await call(token)).status, 200)
    rmSync(list)
  })

  test('hears the same words whatever was wrong with it', () => {
    assert.equal(answers.length, ROWS.length)
    for (const answer of answers) assert.deepEqual(answer, answers[0])
    assert.doesNotMatch(JSON.stringify(answers[0]), /iss|aud|exp|signature|alg/)
  })

  test('that was believed is refused from the moment that it ends, and not before', async () => {
    const ends = now() + 2
    const brief = await signToken(key, { ...claims, exp: ends })
    assert.equal((await call(brief)).status, 200)
    let last = await call(brief)
    while (last.status === 200) {
      await new Promise(resolve => setTimeout(resolve, 100))
      last = await call(brief)
    }
    assertRefused(last, 401, 'UNAUTHENTICATED')
    assert.ok(now() * 1000 >= ends * 1000, 'not before')
  })
})
