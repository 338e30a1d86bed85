// Sign-in at the people's identity provider: OpenID Connect, code flow with PKCE. openid-client makes every check of the protocol; this file says which
// ones are asked for, and keeps of the answer who the person is, and nothing else: no token outlives the sign-in.
import * as oidc from 'openid-client'
import { isObject, type Json, type JsonObject } from '../../catalog/catalog.ts'
import type { Secret } from '../../secret.ts'
import { createLogoutVerifier, LogoutRefused, type SignedOut } from './logout-token.ts'
import type { IssuerFetch } from '../../upstream/issuer-fetch.ts'

export interface ProviderTrust {
  readonly issuer: string
  readonly client: string
  /** Asked for once in a while, so that it can change; null: a public client, which PKCE alone protects. */
  readonly secret: (() => Promise<Secret>) | null
  /** Where people reach us; the provider sends them back to a path of it. */
  readonly origin: string
  /** Claim of the ID token that carries the roles, its name or a JSON Pointer; null: nobody has any. */
  readonly roleClaim: string | null
}

/** Who signed in, as the provider says. */
export interface SignedIn {
  readonly iss: string
  readonly sub: string
  /** Untrusted. */
  readonly display: string
  /** Values of the claim that carries roles, not yet mapped. */
  readonly roleValues: readonly string[]
  readonly authTimeS: number
  readonly acr: string | null
  /** Of the session there, where it has a name; null: none. */
  readonly sid: string | null
}

/** What has to be remembered until the person comes back. */
export interface Transaction {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  /** How long ago the person may have proved who they are. */
  readonly maxAgeS: number
}

export interface IdentityProvider {
  /** @throws ProviderUnavailable */
  begin (ask: { readonly maxAgeS: number, readonly fresh: boolean }): Promise<{ readonly url: string, readonly transaction: Transaction }>
  /** @param query of the callback, as it came. @throws ProviderUnavailable, SignInRefused */
  finish (query: string, transaction: Transaction): Promise<SignedIn>
  /** @throws ProviderUnavailable, SignInRefused also where the provider offers no such grant */
  beginDevice (ask: { readonly maxAgeS: number, readonly fresh: boolean }): Promise<DeviceBegun>
  /** Asks once. @throws ProviderUnavailable, SignInRefused */
  pollDevice (deviceCode: string, maxAgeS: number): Promise<SignedIn | 'waiting' | 'slow_down'>
  /** @param token by which the provider says that somebody signed out. @throws ProviderUnavailable, LogoutRefused */
  signedOut (token: string): Promise<SignedOut>
}

/** A sign-in that a terminal has begun (RFC 8628). */
export interface DeviceBegun {
  readonly deviceCode: string
  /** What the person enters at `verificationUri`. */
  readonly userCode: string
  readonly verificationUri: string
  readonly intervalS: number
  readonly expiresInS: number
}

export class ProviderUnavailable extends Error {
  override readonly name = 'ProviderUnavailable'
}

/** The answer is not one to this sign-in, or not a good one. The message is for the log: it holds nothing of the answer. */
export class SignInRefused extends Error {
  override readonly name = 'SignInRefused'
}

export const CALLBACK_PATH = '/sign-in/callback'

/** Keys are fetched anew when an unknown one signs; the rest of the metadata hardly ever changes. */
const METADATA_LIFE_MS = 3_600_000
const DISPLAY_MAX = 200
const ROLE_VALUES_MAX = 500

export function createIdentityProvider (trust: ProviderTrust, ports: { readonly fetch: IssuerFetch, nowMs (): number }): IdentityProvider {
  let known: { readonly configuration: oidc.Configuration, readonly atMs: number } | null = null
  let asking: Promise<oidc.Configuration> | null = null
  const configuration = async (): Promise<oidc.Configuration> => {
    if (known !== null && ports.nowMs() - known.atMs < METADATA_LIFE_MS) return known.configuration
    asking ??= discover(trust, ports.fetch).finally(() => { asking = null })
    known = { configuration: await asking, atMs: ports.nowMs() }
    return known.configuration
  }
  const verifyLogout = createLogoutVerifier(ports.fetch)
  return {
    async begin ({ maxAgeS, fresh }) {
      const transaction = { state: oidc.randomState(), nonce: oidc.randomNonce(), verifier: oidc.randomPKCECodeVerifier(), maxAgeS }
      const url = oidc.buildAuthorizationUrl(await configuration(), {
        redirect_uri: `${trust.origin}${CALLBACK_PATH}`,
        scope: 'openid profile email',
        response_type: 'code',
        state: transaction.state,
        nonce: transaction.nonce,
        code_challenge: await oidc.calculatePKCECodeChallenge(transaction.verifier),
        code_challenge_method: 'S256',
        max_age: String(maxAgeS),
        ...(fresh ? { prompt: 'login' } : {}),
      })
      return { url: url.href, transaction }
    },
    async finish (query, { state, nonce, verifier, maxAgeS }) {
      const asked = await configuration()
      const url = new URL(`${trust.origin}${CALLBACK_PATH}?${query}`)
      const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, maxAge: maxAgeS, idTokenExpected: true }
      const tokens = await oidc.authorizationCodeGrant(asked, url, checks).catch(error => { throw refusalOf(error) })
      return signedIn(tokens.claims() as unknown as JsonObject, trust)
    },
    beginDevice: async ask => beginDevice(await configuration(), ask),
    async pollDevice (deviceCode, maxAgeS) {
      const answer = await pollDevice(await configuration(), deviceCode)
      if (typeof answer === 'string') return answer
      const person = signedIn(answer, trust)
      // The library checks the age in the code flow alone.
      if (ports.nowMs() / 1_000 - person.authTimeS > maxAgeS + CLOCK_TOLERANCE_S) throw new SignInRefused('AUTH_TIME')
      return person
    },
    async signedOut (token) {
      const { issuer, jwks_uri: jwksUri, id_token_signing_alg_values_supported: algorithms = [] } = (await configuration()).serverMetadata()
      if (jwksUri === undefined) throw new ProviderUnavailable('the identity provider names no keys')
      return verifyLogout(token, { issuer, client: trust.client, jwksUri, algorithms }).catch((error: unknown) => {
        throw error instanceof LogoutRefused ? error : new ProviderUnavailable(`the identity provider cannot be reached: ${codeOf(error)}`)
      })
    },
  }
}

/** Our clock and the provider's need not agree to the second. */
const CLOCK_TOLERANCE_S = 30
/** Nobody entered the code in its time. */
export const CODE_OVER = 'CODE_OVER'
const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'
const INTERVAL_S = 5
const DEVICE_LIFE_MAX_S = 900

async function beginDevice (asked: oidc.Configuration, { maxAgeS, fresh }: { readonly maxAgeS: number, readonly fresh: boolean }): Promise<DeviceBegun> {
  if (asked.serverMetadata().device_authorization_endpoint === undefined) throw new SignInRefused('NO_DEVICE_GRANT')
  const begun = await oidc.initiateDeviceAuthorization(asked, {
    scope: 'openid profile email', max_age: String(maxAgeS), ...(fresh ? { prompt: 'login' } : {}),
  }).catch(error => { throw refusalOf(error) })
  return {
    deviceCode: begun.device_code, userCode: begun.user_code, verificationUri: begun.verification_uri,
    intervalS: Math.min(Math.max(begun.interval ?? INTERVAL_S, 1), 60), expiresInS: Math.min(begun.expires_in, DEVICE_LIFE_MAX_S),
  }
}

async function pollDevice (asked: oidc.Configuration, deviceCode: string): Promise<JsonObject | 'waiting' | 'slow_down'> {
  try {
    const tokens = await oidc.genericGrantRequest(asked, DEVICE_GRANT, { device_code: deviceCode })
    const claims = tokens.claims()
    if (claims === undefined) throw new SignInRefused('NO_ID_TOKEN')
    return claims as unknown as JsonObject
  } catch (error) {
    const told = error instanceof oidc.ResponseBodyError ? error.error : null
    if (told === 'authorization_pending') return 'waiting'
    if (told === 'slow_down') return 'slow_down'
    if (told === 'expired_token') throw new SignInRefused(CODE_OVER)
    throw error instanceof SignInRefused ? error : refusalOf(error)
  }
}

async function discover (trust: ProviderTrust, fetcher: IssuerFetch): Promise<oidc.Configuration> {
  const issuer = new URL(trust.issuer)
  const execute = issuer.protocol === 'http:' ? [oidc.allowInsecureRequests] : []
  const customFetch: oidc.CustomFetch = (url, ask) => fetcher.fetch(url, ask)
  try {
    const found = await oidc.discovery(issuer, trust.client, {}, oidc.None(), { execute, [oidc.customFetch]: customFetch })
    const configuration = new oidc.Configuration(found.serverMetadata(), trust.client, {}, await clientAuth(trust, found.serverMetadata()))
    configuration[oidc.customFetch] = customFetch
    // The ID token came over TLS already; its signature is verified all the same.
    for (const one of [...execute, oidc.enableNonRepudiationChecks]) one(configuration)
    return configuration
  } catch (error) {
    throw new ProviderUnavailable(`the identity provider cannot be reached: ${codeOf(error)}`)
  }
}

/** OpenID Connect Discovery 1.0 §3: where the provider does not say, it is client_secret_basic. */
async function clientAuth ({ secret }: ProviderTrust, metadata: oidc.ServerMetadata): Promise<oidc.ClientAuth> {
  if (secret === null) return oidc.None()
  const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
  const text = (await secret()).reveal().toString('utf8')
  return methods.includes('client_secret_basic') ? oidc.ClientSecretBasic(text) : oidc.ClientSecretPost(text)
}

function refusalOf (error: unknown): Error {
  const { code } = error as { code?: string }
  const unreachable = code === 'OAUTH_TIMEOUT' || !(code?.startsWith('OAUTH_') === true || error instanceof oidc.ClientError ||
    error instanceof oidc.AuthorizationResponseError || error instanceof oidc.ResponseBodyError || error instanceof oidc.WWWAuthenticateChallengeError)
  return unreachable ? new ProviderUnavailable(`the identity provider cannot be reached: ${codeOf(error)}`) : new SignInRefused(codeOf(error))
}

/** A code of a library or of Node: words of others (an `error_description`) are left out. */
const codeOf = (error: unknown): string => {
  const { code, name } = error as { code?: unknown, name?: unknown }
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{0,63}$/.test(code) ? code : String(name ?? 'unknown').slice(0, 64)
}

function signedIn (claims: JsonObject, { roleClaim }: ProviderTrust): SignedIn {
  const { iss, sub, auth_time: authTimeS, acr, sid } = claims
  // A service account never typed a password: it has no time at which it did.
  if (typeof iss !== 'string' || typeof sub !== 'string' || typeof authTimeS !== 'number') throw new SignInRefused('CLAIMS')
  const named = [claims['name'], claims['preferred_username'], claims['email'], sub].find(one => typeof one === 'string' && one.trim() !== '') as string
  return {
    iss,
    sub,
    display: [...named.toWellFormed()].slice(0, DISPLAY_MAX).join(''),
    roleValues: roleClaim === null ? [] : textsAt(claims, roleClaim),
    authTimeS,
    acr: typeof acr === 'string' ? acr : null,
    sid: typeof sid === 'string' ? sid : null,
  }
}

/** @param place the name of a claim, or a JSON Pointer (RFC 6901) to what stands inside one */
function textsAt (claims: JsonObject, place: string): readonly string[] {
  const steps = place.startsWith('/') ? place.slice(1).split('/').map(step => step.replaceAll('~1', '/').replaceAll('~0', '~')) : [place]
  const found = steps.reduce<Json | undefined>((value, step) => isObject(value) && Object.hasOwn(value, step) ? value[step] : undefined, claims)
  return [found ?? []].flat().filter(one => typeof one === 'string').slice(0, ROLE_VALUES_MAX)
}
