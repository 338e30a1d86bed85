// Keys for development: an ES256 pair in a file of its own, whose public half becomes the JWK Set that a broker is started with. In production the
// identity provider signs, and no private key is anywhere near the broker.
import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose'
import { ALGORITHMS, DEMO_KID_PREFIX } from '../execution/key-set.ts'

/** The key file cannot be used: the message says why, and never holds a part of the key. */
export class SigningKeyFault extends Error {
  override readonly name = 'SigningKeyFault'
}

export interface SigningKey {
  readonly kid: string
  readonly alg: string
  /** With its private part. */
  readonly jwk: JWK
  /** What a broker needs to verify what this key signs. */
  readonly jwks: { readonly keys: readonly JWK[] }
}

/** A key whose `kid` is its thumbprint (RFC 7638). */
export async function makeSigningKey (): Promise<SigningKey> {
  return make(thumbprint => thumbprint)
}

/** A key for the guided tour: `serve` believes none of this `kid`. */
export async function makeDemoKey (): Promise<SigningKey> {
  return make(() => `${DEMO_KID_PREFIX}${randomBytes(8).toString('hex')}`)
}

/** Two new files: the private JWK at `path` (0600) and its JWK Set at `path`.jwks.json. @throws SigningKeyFault where one is there already */
export async function writeSigningKey (key: SigningKey, path: string): Promise<{ readonly jwksPath: string }> {
  const jwksPath = `${path}.jwks.json`
  try {
    await writeFile(path, `${JSON.stringify(key.jwk, null, 2)}\n`, { flag: 'wx', mode: 0o600 })
    await writeFile(jwksPath, `${JSON.stringify(key.jwks, null, 2)}\n`, { flag: 'wx', mode: 0o644 })
  } catch (error) {
    const { code, path: taken } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') throw new SigningKeyFault(`there is already a file ${taken}, and a key is never overwritten`)
    throw new SigningKeyFault(`the key file cannot be made: ${code}`)
  }
  return { jwksPath }
}

/** @throws SigningKeyFault */
export async function readSigningKey (path: string): Promise<SigningKey> {
  let jwk: JWK
  try {
    jwk = JSON.parse(await readFile(path, 'utf8')) as JWK
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') throw new SigningKeyFault(`there is no key file ${path}; --new-key makes one`)
    throw new SigningKeyFault(`the key file cannot be read: ${code ?? 'it is no JSON'}`)
  }
  const { kid, alg, d } = jwk ?? {}
  if (typeof kid !== 'string' || kid === '' || typeof alg !== 'string' || typeof d !== 'string') {
    throw new SigningKeyFault('the key file must hold one private JWK with kid and alg')
  }
  if (!ALGORITHMS.includes(alg)) throw new SigningKeyFault(`the algorithm of the key file must be one of ${ALGORITHMS.join(', ')}`)
  return signingKey(jwk)
}

async function make (kidOf: (thumbprint: string) => string): Promise<SigningKey> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true })
  const jwk = await exportJWK(privateKey)
  return signingKey({ ...jwk, alg: 'ES256', use: 'sig', kid: kidOf(await calculateJwkThumbprint(jwk)) })
}

function signingKey (jwk: JWK): SigningKey {
  const { kty, kid, alg, crv, x, y, n, e } = jwk
  const publicJwk = JSON.parse(JSON.stringify({ kty, kid, alg, use: 'sig', crv, x, y, n, e })) as JWK
  return Object.freeze({ kid: kid!, alg: alg!, jwk, jwks: { keys: [publicJwk] } })
}
