// Verifies access tokens: RFC 9068 JWTs in an `Authorization: Bearer` header. Whatever is wrong, the agent hears the same
// UNAUTHENTICATED; the reason is for the log alone.
import { decodeProtectedHeader, errors, jwtVerify, type CryptoKey, type JWTHeaderParameters } from 'jose'
import type { Identity } from '../attempts/identity.ts'
import { Refusal } from '../errors.ts'
import type { Caller } from './call.ts'
import { readClaims, type BelievedToken } from './claims.ts'
import { ALGORITHMS, createKeySet, DEMO_KID_PREFIX, NotBelieved, SYSTEM_CLOCK, type KeySet, type KeySetOptions } from './key-set.ts'

/** Before anything of it is parsed. */
const TOKEN_BYTES_MAX = 8 * 1024
/** Clocks of issuer and broker may differ by so much where a token is young; its end is exact. */
const CLOCK_TOLERANCE_S = 5
const AGE_MAX_S = 24 * 60 * 60
/** How long a verified token is believed without looking at its signature again. */
const REMEMBERED_MS = 60_000
const REMEMBERED_MAX = 10_000

/** One credential of one scheme (RFC 6750 §2.1; the scheme in any case: RFC 9110 §11.1), a signed JWS in compact form (RFC 7515 §7.1). */
const BEARER = /^bearer +([A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+)$/i

/** Header parameters that bring a key along or change what the signature means: a token that carries one is an attack or a mistake. */
const REFUSED_PARAMETERS = ['crit', 'b64', 'jku', 'jwk', 'x5u', 'x5c', 'zip'] as const

export interface TokenVerifier {
  /** The caller of a token that was verified a moment ago under the keys in force, or null. About a microsecond. */
  remembered (authorization: string | undefined): Caller | null
  /** @throws Refusal UNAUTHENTICATED or ROLE_CONFLICT */
  verify (authorization: string | undefined): Promise<Caller>
  /** Fetches the keys before the first call needs them. Throws where they cannot be had: calls are refused until they can. */
  warm (): Promise<void>
  /** Whether the keys can be had, for readiness. */
  isReady (): boolean
}

export interface TokenVerifierOptions extends Omit<KeySetOptions, 'source'> {
  readonly issuer: string
  readonly audience: string
  readonly jwks: KeySetOptions['source']
  readonly identity: Identity
  /** Keys of the guided tour are believed too. */
  readonly demo: boolean
  /** Asked at every call, remembered tokens included. */
  readonly isRevoked?: (token: { readonly iss: string, readonly sub: string, readonly jti: string }) => boolean
}

export function createTokenVerifier (options: TokenVerifierOptions): TokenVerifier {
  // jose believes any issuer and any audience where it is told none.
  if (options.issuer === '' || options.audience === '') throw new TypeError('a token verifier needs an issuer and an audience')
  const keys = createKeySet({ ...options, source: options.jwks })
  const clock = options.clock ?? SYSTEM_CLOCK
  const memory = new TokenMemory(REMEMBERED_MAX)
  const refuseRevoked = ({ caller: { iss, sub }, jti }: BelievedToken): void => {
    if (options.isRevoked?.({ iss, sub, jti }) === true) throw unauthenticated('the token or its subject has been revoked')
  }

  return {
    remembered (authorization) {
      if (authorization === undefined) return null
      const entry = memory.find(authorization)
      if (entry === undefined) return null
      const usable = keys.isUsable() && entry.generation === keys.generation()
      if (!usable || clock.monotonicMs() >= entry.staleAtMs || clock.epochMs() >= entry.token.caller.expiresAt * 1000) {
        memory.forget(authorization)
        return null
      }
      refuseRevoked(entry.token)
      return entry.token.caller
    },
    async verify (authorization) {
      const text = bearerToken(authorization)
      const nowMs = clock.epochMs()
      const { token, generation } = await believe(text, keys, options, nowMs)
      refuseRevoked(token)
      memory.keep(authorization!, { token, generation, staleAtMs: clock.monotonicMs() + REMEMBERED_MS })
      return token.caller
    },
    warm: () => keys.warm(),
    isReady: () => keys.isUsable(),
  }
}

function bearerToken (authorization: string | undefined): string {
  if (authorization === undefined) throw unauthenticated('no Authorization header')
  if (authorization.length > TOKEN_BYTES_MAX + 'Bearer '.length) throw unauthenticated('the token is longer than 8 kB')
  const token = BEARER.exec(authorization)?.[1]
  if (token === undefined) throw unauthenticated('the Authorization header is not one Bearer JWT')
  return token
}

async function believe (
  text: string, keys: KeySet, options: TokenVerifierOptions, nowMs: number,
): Promise<{ readonly token: BelievedToken, readonly generation: number }> {
  try {
    // That of the set in which the key stood: when the key goes away while its signature is checked, the token must not be remembered.
    let generation = -1
    const keyOf = async (header: JWTHeaderParameters): Promise<CryptoKey> => {
      const found = await keys.find(header)
      generation = found.generation
      return found.key
    }
    checkHeader(text, options.demo)
    const { payload } = await jwtVerify(text, keyOf, {
      issuer: options.issuer,
      audience: options.audience,
      typ: 'at+jwt', // RFC 9068 §4: an ID token is none
      algorithms: [...ALGORITHMS],
      requiredClaims: ['iss', 'aud', 'sub', 'exp', 'iat', 'jti'],
      maxTokenAge: AGE_MAX_S, // without it jose takes a token of the future
      clockTolerance: CLOCK_TOLERANCE_S,
      currentDate: new Date(nowMs),
    })
    return { token: readClaims(payload, options.identity, nowMs), generation }
  } catch (error) {
    if (error instanceof Refusal) throw error
    throw unauthenticated(reasonOf(error))
  }
}

function checkHeader (text: string, demo: boolean): void {
  const header = decodeProtectedHeader(text)
  for (const name of REFUSED_PARAMETERS) {
    if (Object.hasOwn(header, name)) throw new NotBelieved(`the header carries ${name}`)
  }
  if (typeof header.alg !== 'string' || !ALGORITHMS.includes(header.alg)) throw new NotBelieved('the algorithm is not allowed')
  if (typeof header.kid !== 'string' || header.kid === '') throw new NotBelieved('the token names no key')
  if (!demo && header.kid.startsWith(DEMO_KID_PREFIX)) throw new NotBelieved('the key is one of the guided tour')
}

/** jose's messages are fixed texts with names of claims and options, but its `cause` can hold the payload. */
function reasonOf (error: unknown): string {
  if (error instanceof NotBelieved) return error.message
  if (error instanceof errors.JWTClaimValidationFailed || error instanceof errors.JWTExpired) return `${error.code}: ${error.claim} ${error.reason}`
  if (error instanceof errors.JOSEError) return error.code
  return 'the token or its key cannot be used'
}

const unauthenticated = (internal: string): Refusal => Refusal.of('UNAUTHENTICATED', { internal })

interface Remembered {
  readonly token: BelievedToken
  readonly generation: number
  /** Monotonic. */
  readonly staleAtMs: number
}

/** The latest used ones, about: two halves, of which the older is dropped whole when the younger is full. */
class TokenMemory {
  readonly #halfMax: number
  #young = new Map<string, Remembered>()
  #old = new Map<string, Remembered>()

  constructor (max: number) {
    this.#halfMax = Math.ceil(max / 2)
  }

  find (key: string): Remembered | undefined {
    const young = this.#young.get(key)
    if (young !== undefined) return young
    const old = this.#old.get(key)
    if (old !== undefined) this.keep(key, old)
    return old
  }

  keep (key: string, entry: Remembered): void {
    if (this.#young.size >= this.#halfMax) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(key, entry)
  }

  forget (key: string): void {
    this.#young.delete(key)
    this.#old.delete(key)
  }
}
