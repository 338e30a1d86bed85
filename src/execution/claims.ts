// The claims of a verified access token → Caller (RFC 9068 §2.2). That the issuer signed them does not make them well formed:
// they become arguments of expressions, names in the store and parts of file paths.
import type { Identity } from '../attempts/identity.ts'
import type { Json, JsonObject } from '../catalog/catalog.ts'
import { Refusal } from '../errors.ts'
import type { Caller } from './call.ts'
import { NotBelieved } from './key-set.ts'

/** Roles of people. Whoever acts for an agent must not be able to decide or to operate. */
export const PERSON_ROLES: readonly string[] = Object.freeze(['approver', 'operator'])

/** A tenant stands in paths of secret files. */
export const TENANT = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/

const DEFAULT_TENANT = 'default'
const LIFETIME_MAX_S = 24 * 60 * 60
const IDENTIFIER_LENGTH_MAX = 256
const DEPTH_MAX = 16

export interface BelievedToken {
  readonly caller: Caller
  readonly jti: string
}

/**
 * @param nowMs milliseconds since the epoch
 * @throws NotBelieved
 * @throws Refusal ROLE_CONFLICT
 */
export function readClaims (payload: object, identity: Identity, nowMs: number): BelievedToken {
  const claims = checkedClaims(payload)
  const iss = identifier(claims, 'iss')
  const sub = identifier(claims, 'sub')
  const jti = identifier(claims, 'jti')
  const expiresAt = lifetimeEnd(claims, nowMs)
  soleAudience(claims['aud'])
  // A sender-constrained token proves nothing about whoever merely carries it (RFC 7800); no proof of possession is checked here.
  if (claims['cnf'] !== undefined) throw new NotBelieved('the token is bound to a key of its bearer (cnf), which is not supported')
  const tenant = claims['tenant'] ?? DEFAULT_TENANT
  if (typeof tenant !== 'string' || !TENANT.test(tenant)) throw new NotBelieved('the claim tenant is malformed')
  const run = claims['run_id'] !== undefined ? identifier(claims, 'run_id') : claims['sid'] !== undefined ? identifier(claims, 'sid') : null
  const roles = texts(claims, 'roles') ?? []
  const owner = { iss, sub, tenant, run }
  refuseMixedRoles(roles, identity.mark('sub', iss, sub))
  const caller: Caller = Object.freeze({
    ...owner,
    roles,
    claimedActions: texts(claims, 'actions'),
    claims,
    expiresAt,
    view: Object.freeze({ sub, tenant, run, claims }),
    runKey: identity.runKey(owner),
    tag: identity.tag(tenant),
  })
  return Object.freeze({ caller, jti })
}

/** A role of a person beside one of an agent makes the token be refused whole. Roles of people alone are none of an agent and grant nothing. */
function refuseMixedRoles (roles: readonly string[], subMark: string): void {
  const persons = roles.filter(role => PERSON_ROLES.includes(role))
  if (persons.length > 0 && persons.length < roles.length) {
    throw Refusal.of('ROLE_CONFLICT', { internal: `${subMark} carries ${persons.join(' and ')} beside roles of an agent` })
  }
}

function lifetimeEnd (claims: JsonObject, nowMs: number): number {
  const { exp, iat } = claims
  if (typeof exp !== 'number' || typeof iat !== 'number') throw new NotBelieved('exp or iat is no number')
  // jose grants its clock tolerance to exp as well; the end of a token is exact here.
  if (exp * 1000 <= nowMs) throw new NotBelieved('the token has expired')
  if (exp - iat > LIFETIME_MAX_S) throw new NotBelieved('the token lives longer than 24 h')
  return exp
}

/** A token that is also for somebody else can be used here by that somebody. */
function soleAudience (aud: Json | undefined): void {
  if (typeof aud !== 'string' && !(Array.isArray(aud) && aud.length === 1)) throw new NotBelieved('the token has other audiences too')
}

function identifier (claims: JsonObject, name: string): string {
  const value = claims[name]
  if (typeof value !== 'string' || value === '' || value.length > IDENTIFIER_LENGTH_MAX) throw new NotBelieved(`the claim ${name} is malformed`)
  return value
}

function texts (claims: JsonObject, name: string): readonly string[] | null {
  const value = claims[name]
  if (value === undefined) return null
  if (!Array.isArray(value) || !value.every(item => typeof item === 'string')) throw new NotBelieved(`the claim ${name} is no array of strings`)
  return value as readonly string[]
}

/** The claims as frozen plain JSON that canonical JSON and expressions can take exactly. */
function checkedClaims (payload: object): JsonObject {
  check(payload as Json, 0)
  return payload as JsonObject
}

function check (value: Json, depth: number): void {
  if (typeof value === 'number' && !isExact(value)) throw new NotBelieved('a claim holds a number that is not exact')
  if (typeof value === 'string' && !value.isWellFormed()) throw new NotBelieved('a claim holds text that is not well-formed')
  if (value === null || typeof value !== 'object') return
  if (depth >= DEPTH_MAX) throw new NotBelieved('the claims are nested too deeply')
  for (const [name, item] of Object.entries(value)) {
    if (name === '__proto__' || !name.isWellFormed()) throw new NotBelieved('a claim has a name that is not allowed')
    check(item as Json, depth + 1)
  }
  Object.freeze(value)
}

const isExact = (value: number): boolean => Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value))
