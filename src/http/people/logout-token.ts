// A logout token (OpenID Connect Back-Channel Logout 1.0 §2.6): the identity provider says that somebody is not signed in there any more.
import { createRemoteJWKSet, customFetch, errors, jwtVerify, type JWTVerifyGetKey } from 'jose'
import { isObject, type Json } from '../../catalog/catalog.ts'
import type { IssuerFetch } from '../../upstream/issuer-fetch.ts'

/** Who is signed out: one session there, or all of one person. One of the two is always said. */
export interface SignedOut {
  readonly iss: string
  readonly sub: string | null
  readonly sid: string | null
  /** By the provider's clock, as the times at which people signed in are. */
  readonly atS: number
}

export interface LogoutTrust {
  readonly issuer: string
  readonly client: string
  readonly jwksUri: string
  /** What the provider says that it signs with. */
  readonly algorithms: readonly string[]
}

/** It is none, or not for us. The message is for the log: it holds nothing of the token. */
export class LogoutRefused extends Error {
  override readonly name = 'LogoutRefused'
}

const EVENT = 'http://schemas.openid.net/event/backchannel-logout'
/** Nothing that a secret which others may know could have signed. */
const SIGNATURE = /^(?:[RPE]S(?:256|384|512)|EdDSA|Ed25519)$/
const TYPE = /^(?:application\/)?(?:logout\+)?jwt$/i
const DEFAULT_ALGORITHM = 'RS256'
const TOKEN_AGE_MAX_S = 600
const CLOCK_TOLERANCE_S = 30
const NAME_MAX = 1_000

export type LogoutVerifier = (token: string, trust: LogoutTrust) => Promise<SignedOut>

/** @returns rejects with LogoutRefused, or with whatever kept the keys from being had */
export function createLogoutVerifier (fetcher: IssuerFetch): LogoutVerifier {
  let keys: { readonly uri: string, readonly get: JWTVerifyGetKey } | null = null
  const keysAt = (uri: string): JWTVerifyGetKey => {
    if (keys?.uri === uri) return keys.get
    const get = createRemoteJWKSet(new URL(uri), {
      [customFetch]: (url, { method, headers }) => fetcher.fetch(url, { method, headers: Object.fromEntries(headers), body: null }),
    })
    keys = { uri, get }
    return get
  }
  return async (token, { issuer, client, jwksUri, algorithms }) => {
    const usable = algorithms.filter(name => SIGNATURE.test(name))
    const { payload, protectedHeader: { typ } } = await jwtVerify(token, keysAt(jwksUri), {
      issuer, audience: client, algorithms: usable.length === 0 ? [DEFAULT_ALGORITHM] : usable, requiredClaims: ['iat', 'exp', 'jti'],
      maxTokenAge: TOKEN_AGE_MAX_S, clockTolerance: CLOCK_TOLERANCE_S,
    }).catch(error => { throw error instanceof errors.JOSEError && !isFetching(error) ? new LogoutRefused(error.code) : error })
    // Tokens of other kinds by the same keys are told apart by it, where it is said.
    if (typ !== undefined && !TYPE.test(typ)) throw new LogoutRefused('TYP')
    return signedOut(payload as { readonly [name: string]: Json }, issuer)
  }
}

/** The keys could not be had; that says nothing of the token. */
const isFetching = ({ code }: errors.JOSEError): boolean => code === 'ERR_JWKS_TIMEOUT' || code === 'ERR_JOSE_GENERIC' || code === 'ERR_JWKS_INVALID'

function signedOut ({ sub, sid, nonce, events, iat }: { readonly [name: string]: Json }, iss: string): SignedOut {
  // With a nonce it would be an ID token that somebody found.
  if (nonce !== undefined) throw new LogoutRefused('NONCE')
  if (!isObject(events) || !isObject(events[EVENT])) throw new LogoutRefused('EVENTS')
  for (const one of [sub, sid]) if (one !== undefined && (typeof one !== 'string' || one === '' || one.length > NAME_MAX)) throw new LogoutRefused('CLAIMS')
  if (sub === undefined && sid === undefined) throw new LogoutRefused('NOBODY')
  return { iss, sub: sub as string | undefined ?? null, sid: sid as string | undefined ?? null, atS: iat as number }
}
