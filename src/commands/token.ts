// `aval token`: an access token for development, signed with a key file of this machine (RFC 9068).
import { randomUUID } from 'node:crypto'
import { SignJWT } from 'jose'
import type { Json } from '../catalog/catalog.ts'
import { TENANT } from '../execution/claims.ts'
import type { SigningKey } from './signing-key.ts'

export { makeDemoKey, makeSigningKey, readSigningKey, writeSigningKey, SigningKeyFault, type SigningKey } from './signing-key.ts'

const TTL_MAX_S = 24 * 60 * 60

/** A token that no broker would believe is not minted. */
export class TokenFault extends Error {
  override readonly name = 'TokenFault'
}

export interface TokenRequest {
  readonly key: SigningKey
  readonly issuer: string
  readonly audience: string
  readonly sub: string
  readonly roles: readonly string[]
  readonly tenant?: string
  /** Without one only observations are callable. */
  readonly run?: string
  /** Default 1 h, at most 24 h. */
  readonly ttlSeconds?: number
  /** Further claims; none of those that stand above or that RFC 9068 fixes. */
  readonly claims?: { readonly [name: string]: Json }
}

const OWN_CLAIMS = ['iss', 'aud', 'sub', 'exp', 'iat', 'nbf', 'jti', 'roles', 'tenant', 'run_id', 'client_id', 'cnf'] as const

/** @throws TokenFault */
export async function mintToken (request: TokenRequest): Promise<string> {
  const ttlSeconds = request.ttlSeconds ?? 3_600
  if (request.sub === '') throw new TokenFault('a token needs a subject')
  if (request.run === '') throw new TokenFault('a run has a name that is not empty')
  if (request.tenant !== undefined && !TENANT.test(request.tenant)) {
    throw new TokenFault('a tenant has 1 to 64 letters, digits, _ or -, and starts with a letter or digit')
  }
  if (!Number.isSafeInteger(ttlSeconds) || ttlSeconds < 1 || ttlSeconds > TTL_MAX_S) {
    throw new TokenFault('a token lives between 1 second and 24 hours')
  }
  for (const name of Object.keys(request.claims ?? {})) {
    if ((OWN_CLAIMS as readonly string[]).includes(name)) throw new TokenFault(`the claim ${name} cannot be set by hand`)
  }
  const issuedAt = Math.floor(Date.now() / 1000)
  const claims = {
    ...request.claims,
    client_id: 'aval-token',
    roles: [...request.roles],
    ...(request.tenant === undefined ? {} : { tenant: request.tenant }),
    ...(request.run === undefined ? {} : { run_id: request.run }),
  }
  return new SignJWT(claims)
    .setProtectedHeader({ alg: request.key.alg, kid: request.key.kid, typ: 'at+jwt' })
    .setIssuer(request.issuer)
    .setAudience(request.audience)
    .setSubject(request.sub)
    .setJti(randomUUID())
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + ttlSeconds)
    .sign(request.key.jwk)
}
