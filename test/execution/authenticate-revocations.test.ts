import assert from 'node:assert/strict'
import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { Identity } from '../../src/attempts/identity.ts'
import { createTokenVerifier } from '../../src/execution/access-token.ts'
import { identify } from '../../src/execution/authenticate.ts'
import { createRevocations } from '../../src/execution/revocations.ts'
import { Secret } from '../../src/secret.ts'
import { AUDIENCE, ISSUER, issuerKey, signToken } from '../support/issuer.ts'

const key = await issuerKey('key', 'ES256')

async function setting (t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'aval-revoked-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const path = join(folder, 'revoked.jsonl')
  let movedMs = 0
  const clock = { epochMs: () => Date.now(), monotonicMs: () => performance.now() + movedMs }
  const faults: Array<string | null> = []
  const revocations = createRevocations({ path, clock, onRead: ({ fault }) => { faults.push(fault) } })
  const verifier = createTokenVerifier({
    issuer: ISSUER, audience: AUDIENCE, jwks: { kind: 'url', url: 'https://issuer.example/jwks' },
    identity: new Identity(new Secret('test', Buffer.alloc(32, 7))),
    fetchJwks: async () => ({ keys: [key.jwk] }), demo: false, clock, isRevoked: revocations.isRevoked,
  })
  const isBelieved = (token: string): Promise<boolean> => identify(
    { authorization: `Bearer ${token}` }, { verifier },
  ).then(() => true, () => false)
  return { path, faults, isBelieved, second: () => { movedMs += 1_000 } }
}

describe('the list of revocations', () => {
  test('need not be there', async t => {
    const { isBelieved, faults } = await setting(t)
    assert.equal(await isBelieved(await signToken(key)), true)
    assert.deepEqual(faults, [])
  })

  test('stops one token within a second, and no other of the same agent', async t => {
    const { path, isBelieved, second } = await setting(t)
    const [one, two] = [await signToken(key, { jti: 'one' }), await signToken(key, { jti: 'two' })]
    assert.equal(await isBelieved(one), true)
    await writeFile(path, `${JSON.stringify({ iss: ISSUER, jti: 'one' })}\n`)
    second()
    assert.deepEqual([await isBelieved(one), await isBelieved(two)], [false, true])
  })

  test('stops an agent, whatever token it has', async t => {
    const { path, isBelieved, second } = await setting(t)
    const other = await signToken(key, { sub: 'agent-8' })
    await writeFile(path, `${JSON.stringify({ iss: ISSUER, sub: 'agent-7' })}\n`)
    second()
    assert.deepEqual([await isBelieved(await signToken(key)), await isBelieved(await signToken(key)), await isBelieved(other)], [false, false, true])
  })

  test('of another issuer says nothing about ours', async t => {
    const { path, isBelieved, second } = await setting(t)
    await writeFile(path, `${JSON.stringify({ iss: 'https://other.example', sub: 'agent-7' })}\n`)
    second()
    assert.equal(await isBelieved(await signToken(key)), true)
  })

  test('takes what it no longer names back', async t => {
    const { path, isBelieved, second } = await setting(t)
    const token = await signToken(key)
    await writeFile(path, JSON.stringify({ iss: ISSUER, sub: 'agent-7' }))
    assert.equal(await isBelieved(token), false)
    await rm(path)
    second()
    assert.equal(await isBelieved(token), true)
  })

  const malformed = [
    '{', '[]', 'null', '"agent-7"', '{"sub": "agent-7"}', `{"iss": "${ISSUER}"}`, `{"iss": "${ISSUER}", "sub": 7}`,
    `{"iss": "${ISSUER}", "sub": "a", "jti": "b"}`,
  ]
  for (const line of malformed) {
    test(`revokes everything while it holds ${line}`, async t => {
      const { path, faults, isBelieved, second } = await setting(t)
      const token = await signToken(key)
      await writeFile(path, `\n${line}\n`)
      second()
      assert.equal(await isBelieved(token), false)
      assert.match(faults.at(-1) ?? '', /^line 2 is neither/)
      await writeFile(path, '\n')
      await appendFile(path, `${JSON.stringify({ iss: ISSUER, sub: 'agent-8' })}\n`)
      second()
      assert.equal(await isBelieved(token), true)
    })
  }
})
