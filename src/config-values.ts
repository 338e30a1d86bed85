// How each kind of configuration value is read from its text. A value that cannot be read throws Malformed, whose message completes the sentence
// "AVAL_X …"; it never repeats the value, which may be a secret that was put under the wrong name.
import { statSync } from 'node:fs'
import { isIP } from 'node:net'
import { isAbsolute, resolve } from 'node:path'
import ipaddr from 'ipaddr.js'

export class Malformed extends Error {
  override readonly name = 'Malformed'
}

/** Where a listener binds; port 0 picks a free one. */
export interface ListenAddress {
  readonly host: string
  readonly port: number
  readonly loopback: boolean
}

/** Requests admitted before anything else is looked at. */
export interface RequestRates {
  readonly tokenPerSecond: number
  readonly addressPerSecond: number
  /** How many seconds' worth may come at once. */
  readonly burstSeconds: number
}

export type KeySource =
  | { readonly kind: 'file', readonly path: string }
  | { readonly kind: 'env', readonly name: string }

/** Where the keys that sign access tokens are found. */
export type JwksSource =
  | { readonly kind: 'file', readonly path: string }
  | { readonly kind: 'url', readonly url: string }

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

export function parseFolder (text: string): string {
  if (text.includes('\0')) throw new Malformed('must name a folder')
  return resolve(text)
}

/** `HOST:PORT`, `[IPV6]:PORT`, or `:PORT` for loopback. */
export function parseListenAddress (text: string): ListenAddress {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9.-]*)):([0-9]{1,5})$/.exec(text)
  const port = Number(match?.[3])
  if (match === null || port > 65_535) throw new Malformed('must be HOST:PORT, [IPV6]:PORT, or :PORT for 127.0.0.1')
  if (match[1] !== undefined && isIP(match[1]) !== 6) throw new Malformed('has something in brackets that is no IPv6 address')
  const host = match[1] ?? (match[2] === '' ? '127.0.0.1' : match[2]!)
  return { host, port, loopback: isLoopback(host) }
}

export function isLoopback (host: string): boolean {
  if (host === 'localhost') return true
  return isIP(host) !== 0 && ipaddr.process(host).range() === 'loopback'
}

/** Names that the Host header may carry, in lower case and without a port. */
export function parseHosts (text: string): readonly string[] {
  return list(text, name => {
    const lower = name.toLowerCase()
    const bare = lower.startsWith('[') && lower.endsWith(']') && isIP(lower.slice(1, -1)) === 6
    if (!bare && !/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/.test(lower)) throw new Malformed('must be host names without a port, separated by commas')
    return lower
  })
}

/** Addresses or CIDR ranges of proxies whose X-Forwarded-For is believed. */
export function parseProxies (text: string): readonly string[] {
  return list(text, range => {
    if (isIP(range) === 0 && !ipaddr.isValidCIDR(range)) throw new Malformed('must be addresses or CIDR ranges, separated by commas')
    // RFC 4632 §3.1: a range of no bits is every address there is, so it would let every client name its own.
    if (range.endsWith('/0')) throw new Malformed('must not cover every address')
    return range
  })
}

/** `token=100/s,address=200/s,burst=5s`: each part is optional and stands once. */
export function parseRates (text: string): RequestRates {
  const rates = { token: 100, address: 200, burst: 5 }
  const seen = new Set<string>()
  list(text, part => {
    const match = /^(token|address)=([1-9][0-9]{0,5})\/s$/.exec(part) ?? /^(burst)=([1-9][0-9]?)s$/.exec(part)
    const name = match?.[1] as keyof typeof rates | undefined
    if (name === undefined || seen.has(name)) throw new Malformed('must be like token=100/s,address=200/s,burst=5s, each part at most once')
    seen.add(name)
    rates[name] = Number(match![2])
    return part
  })
  return { tokenPerSecond: rates.token, addressPerSecond: rates.address, burstSeconds: rates.burst }
}

/** The schemes that the store drivers know; the rest of the URL is theirs to judge. */
export function parseState (text: string): string {
  if (/^sqlite:[^?#]/.test(text)) return `sqlite:${resolve(text.slice('sqlite:'.length))}`
  if (/^(redis|rediss|redis\+sentinel|redis\+cluster):\/\/[^/]/.test(text)) return text
  throw new Malformed('must be sqlite:PATH, redis://, rediss://, redis+sentinel:// or redis+cluster://')
}

export function parseKeySource (text: string): KeySource {
  if (text.startsWith('file:') && text.length > 'file:'.length) return { kind: 'file', path: resolve(text.slice('file:'.length)) }
  if (/^env:[A-Za-z_][A-Za-z0-9_]*$/.test(text)) {
    const name = text.slice('env:'.length)
    if (name.startsWith('AVAL_')) throw new Malformed('must name a variable that does not start with AVAL_: those are all settings')
    return { kind: 'env', name }
  }
  throw new Malformed('must be file:PATH or env:NAME')
}

export function parseJwks (text: string): JwksSource {
  if (text.startsWith('file:') && text.length > 'file:'.length) {
    const path = resolve(text.slice('file:'.length))
    requireFile(path)
    return { kind: 'file', path }
  }
  const url = URL.canParse(text) ? new URL(text) : null
  const host = url?.hostname.replace(/^\[|\]$/g, '') ?? ''
  const encrypted = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(host))
  if (url === null || !encrypted || url.username !== '' || url.password !== '' || url.hash !== '') {
    throw new Malformed('must be an https URL (http on loopback only) or file:PATH of a JWK Set')
  }
  return { kind: 'url', url: url.href }
}

/** An issuer or an audience: compared byte for byte, so what cannot be seen is refused. */
export function parseIdentifier (text: string): string {
  if (!/^[\x21-\x7e]{1,512}$/.test(text)) throw new Malformed('must be visible ASCII without spaces')
  return text
}

export function parseAudit (text: string): string {
  if (!text.startsWith('file:') || text.length === 'file:'.length) throw new Malformed('must be file:FOLDER')
  return resolve(text.slice('file:'.length))
}

export function parseLogLevel (text: string): LogLevel {
  const level = LOG_LEVELS.find(known => known === text)
  if (level === undefined) throw new Malformed(`must be one of ${LOG_LEVELS.join(', ')}`)
  return level
}

export function parseFile (text: string): string {
  const path = isAbsolute(text) ? text : resolve(text)
  requireFile(path)
  return path
}

function requireFile (path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) throw new Malformed('names a file that is not there')
}

function list<Item> (text: string, parse: (item: string) => Item): readonly Item[] {
  return Object.freeze(text.split(',').map(item => parse(item.trim())))
}
