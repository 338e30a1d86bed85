// Puts a secret on a request, at the place that the upstream's declaration names. The text of it exists only here and in what goes to the client.
import { inspect } from 'node:util'
import type { CredentialDeclaration } from '../catalog/catalog.ts'
import type { Secret } from '../secret.ts'
import type { WireRequest } from '../upstream/wire.ts'
import { SecretUnavailable } from './secret-source.ts'

const REDACTED = '[request with a credential]'

/** A request with a secret in it prints and serialises as nothing. */
class AuthorizedRequest implements WireRequest {
  readonly method: string
  readonly path: string
  readonly headers: { readonly [name: string]: string }
  readonly body: Buffer | null

  constructor (request: WireRequest, path: string, headers: { readonly [name: string]: string }) {
    this.method = request.method
    this.path = path
    this.headers = headers
    this.body = request.body
  }

  toJSON (): string { return REDACTED }
  [inspect.custom] (): string { return REDACTED }
}

/** Scheme names are written in any case (RFC 9110 §11.1). */
const isScheme = (scheme: CredentialDeclaration['scheme'], name: string): boolean => scheme.kind === 'http' && scheme.scheme.toLowerCase() === name

/** The secret is sent as the password of a declared user. */
export const isPaired = ({ scheme, username }: CredentialDeclaration): boolean => username !== null && isScheme(scheme, 'basic')

/** What is wrong with the declaration itself; null if nothing is. */
export function faultOfScheme ({ scheme }: CredentialDeclaration): string | null {
  if (scheme.kind === 'apiKey' || isScheme(scheme, 'bearer') || isScheme(scheme, 'basic')) return null
  const instead = '{in: header, name: Authorization, prefix: "Word "}'
  return `the HTTP scheme ${scheme.scheme} cannot be sent; for one that only needs a word before the secret, write ${instead}`
}

/** @throws SecretUnavailable where these bytes cannot stand at that place */
export function place (request: WireRequest, declaration: CredentialDeclaration, secret: Secret): WireRequest {
  const { scheme, prefix } = declaration
  if (scheme.kind === 'http') return withHeader(request, 'authorization', authorization(declaration, secret))
  switch (scheme.in) {
    case 'header': return withHeader(request, scheme.name.toLowerCase(), prefix + headerText(secret))
    case 'cookie': return withCookie(request, scheme.name, prefix + cookieText(secret))
    case 'query': return withQuery(request, scheme.name, Buffer.concat([Buffer.from(prefix), secret.reveal()]))
  }
}

function authorization (declaration: CredentialDeclaration, secret: Secret): string {
  const fault = faultOfScheme(declaration)
  if (fault !== null) throw new SecretUnavailable(fault)
  if (isScheme(declaration.scheme, 'bearer')) return `Bearer ${declaration.prefix}${headerText(secret)}`
  return `Basic ${basicPair(declaration, secret).toString('base64')}`
}

/**
 * RFC 7617 §2: user-id, colon, password. Without a declared username the secret is the whole pair.
 * @throws SecretUnavailable
 */
export function basicPair (declaration: CredentialDeclaration, secret: Secret): Buffer {
  if (declaration.username !== null) return Buffer.concat([Buffer.from(`${declaration.username}:`), secret.reveal()])
  if (!secret.reveal().includes(':')) throw new SecretUnavailable(`${secret.reference} must hold user:password, since the credential has no username`)
  return secret.reveal()
}

/** RFC 9110 §5.5: visible characters, blanks only inside. Bytes beyond ASCII are refused: how the other side would read them is anyone's guess. */
const FIELD_VALUE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/
/** RFC 6265 §4.1.1, cookie-octet. */
const COOKIE_VALUE = /^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]+$/

function textFor (secret: Secret, allowed: RegExp, place: 'header' | 'cookie'): string {
  const text = secret.reveal().toString('latin1')
  if (!allowed.test(text)) throw new SecretUnavailable(`${secret.reference} holds a byte that cannot stand in a ${place}`)
  return text
}

const headerText = (secret: Secret): string => textFor(secret, FIELD_VALUE, 'header')
const cookieText = (secret: Secret): string => textFor(secret, COOKIE_VALUE, 'cookie')

/** The secret's header stands once, whatever the request brought under any spelling of its name. */
function withHeader (request: WireRequest, name: string, value: string): WireRequest {
  const headers: { [name: string]: string } = {}
  for (const other in request.headers) {
    if (other.toLowerCase() !== name) headers[other] = request.headers[other]!
  }
  headers[name] = value
  return new AuthorizedRequest(request, request.path, headers)
}

function withCookie (request: WireRequest, name: string, value: string): WireRequest {
  const pairs = (request.headers['cookie'] ?? '').split(';').map(pair => pair.trim())
  const others = pairs.filter(pair => pair !== '' && pair.split('=')[0]!.trim() !== name)
  return withHeader(request, 'cookie', [...others, `${name}=${value}`].join('; '))
}

function withQuery (request: WireRequest, name: string, value: Buffer): WireRequest {
  const at = request.path.indexOf('?')
  const path = at === -1 ? request.path : request.path.slice(0, at)
  const others = at === -1 ? [] : request.path.slice(at + 1).split('&').filter(pair => pair !== '' && nameOfPair(pair) !== name)
  return new AuthorizedRequest(request, `${path}?${[...others, `${percent(Buffer.from(name))}=${percent(value)}`].join('&')}`, request.headers)
}

function nameOfPair (pair: string): string {
  const name = pair.split('=')[0]!.replaceAll('+', ' ')
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}

/** RFC 3986 §2.3: all but unreserved characters is escaped. */
function percent (bytes: Buffer): string {
  let text = ''
  for (const byte of bytes) {
    const char = String.fromCharCode(byte)
    text += /[A-Za-z0-9._~-]/.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }
  return text
}
