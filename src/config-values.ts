// How each kind of configuration value is read from its text. A value that cannot be read throws Malformed, whose message completes the sentence
// "AVAL_X …"; it never repeats the value, which may be a secret that was put under the wrong name.
import { statSync } from 'node:fs'
import { isIP } from 'node:net'
import { isAbsolute, resolve } from 'node:path'
import ipaddr from 'ipaddr.js'
import { FAILPOINTS, isFailpoint, type ArmedFailpoint, type FailpointName, type FailpointPlan } from './failpoints.ts'

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

/** The encrypted file, and what opens it without a person. */
export interface VaultPlace {
  readonly path: string
  readonly key: { readonly kind: 'identity' | 'passphrase', readonly path: string } | null
}

/** `file:PATH`, `file:PATH,identity=file:PATH` or `file:PATH,passphrase=file:PATH`; whether the files are there is found out by who opens them. */
export function parseVault (text: string): VaultPlace {
  const match = /^file:(.+?)(?:,(identity|passphrase)=file:(.+))?$/.exec(text)
  if (match === null || /,(identity|passphrase)=/.test(match[1]!)) {
    throw new Malformed('must be file:PATH, and may end in ,identity=file:PATH or ,passphrase=file:PATH')
  }
  const kind = match[2] as 'identity' | 'passphrase' | undefined
  return Object.freeze({ path: resolve(match[1]!), key: kind === undefined ? null : Object.freeze({ kind, path: resolve(match[3]!) }) })
}

/** Where the keys that sign access tokens are found. */
export type JwksSource =
  | { readonly kind: 'file', readonly path: string }
  | { readonly kind: 'url', readonly url: string }

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

export const LOCKS = ['off', 'strict'] as const
export type LockCheck = (typeof LOCKS)[number]

export function parseLock (text: string): LockCheck {
  const found = LOCKS.find(known => known === text)
  if (found === undefined) throw new Malformed(`must be one of ${LOCKS.join(', ')}`)
  return found
}

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
  if (url === null || !isEncrypted(url) || url.username !== '' || url.password !== '' || url.hash !== '') {
    throw new Malformed('must be an https URL (http on loopback only) or file:PATH of a JWK Set')
  }
  return { kind: 'url', url: url.href }
}

const isEncrypted = ({ protocol, hostname }: URL): boolean =>
  protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname.replace(/^\[|\]$/g, '')))

/** An OpenID Connect issuer, as its tokens write it. */
export function parseIssuer (text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || !isEncrypted(url) || url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new Malformed('must be an https URL without query (http on loopback only)')
  }
  return text
}

/** `https://approvals.example`, as a browser writes it: no path, no default port. */
export function parseOrigin (text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || !isEncrypted(url) || url.origin !== text) throw new Malformed('must be an origin as a browser writes it: https (http on loopback only), host, port')
  return text
}

/** Where a secret is found; never the secret itself. */
export function parseSecretReference (text: string): string {
  if (text.startsWith('file:') && text.length > 'file:'.length) return `file:${resolve(text.slice('file:'.length))}`
  if (!/^(?:env:(?!AVAL_)[A-Za-z_][A-Za-z0-9_]*|vault:[A-Za-z0-9._-]+)$/.test(text)) throw new Malformed('must be file:PATH, env:NAME or vault:NAME')
  return text
}

/** Which values of which claim are which roles. */
export interface PeopleRoles {
  /** A claim of the ID token, its name or a JSON Pointer to what stands inside one. */
  readonly claim: string
  readonly roles: ReadonlyMap<string, readonly string[]>
}

/** `claim=groups,team-leads=support_lead,ops=operator`; a value may have several roles, and `,`, `=` and `%` in it are percent-encoded. */
export function parsePeopleRoles (text: string): PeopleRoles {
  const malformed = (): Malformed => new Malformed('must be like claim=groups,team-leads=support_lead,ops=operator')
  const pairs = text.split(',').map(pair => {
    const [name, value, ...more] = pair.split('=').map(part => decoded(part.trim(), malformed))
    if (name === undefined || name === '' || value === undefined || value === '' || more.length > 0) throw malformed()
    return [name, value] as const
  })
  const [[first, claim], ...mapped] = pairs as [readonly [string, string], ...Array<readonly [string, string]>]
  if (first !== 'claim' || mapped.length === 0) throw malformed()
  const roles = new Map<string, string[]>()
  for (const [value, role] of mapped) {
    if (!/^[A-Za-z][A-Za-z0-9_.:-]{0,63}$/.test(role)) throw new Malformed('maps a value to something that is no name of a role')
    roles.set(value, [...roles.get(value) ?? [], role])
  }
  return { claim, roles }
}

function decoded (text: string, malformed: () => Malformed): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw malformed()
  }
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

/** `after_mark:kill@0.01,before_settle:sleep(5000)`: each place at most once. */
export function parseFailpoints (text: string): FailpointPlan {
  const plan = new Map<FailpointName, ArmedFailpoint>()
  list(text, part => {
    const match = /^([a-z_]+):(?:(kill|error)|(sleep|stall)\(([0-9]{1,6})\))(?:@(0(?:\.[0-9]{1,9})?|1(?:\.0{1,9})?))?$/.exec(part)
    const name = match?.[1] ?? ''
    if (match === null) throw new Malformed('must be like after_mark:kill@0.01,before_settle:sleep(5000); actions are kill, error, sleep(MS), stall(MS)')
    if (!isFailpoint(name)) throw new Malformed(`names a place that is none of ${Object.keys(FAILPOINTS).join(', ')}`)
    if (plan.has(name)) throw new Malformed('names a place twice')
    const action = (match[2] ?? match[3]) as ArmedFailpoint['action']
    if (action === 'sleep' && FAILPOINTS[name] === 'passes') throw new Malformed(`has a sleep at a place where nothing waits; use stall: ${name}`)
    plan.set(name, { action, ms: Number(match[4] ?? 0), share: Number(match[5] ?? 1) })
    return part
  })
  return plan
}

/** `file:PATH` */
export function parseNamedFile (text: string): string {
  if (!text.startsWith('file:') || text.length === 'file:'.length) throw new Malformed('must be file:PATH')
  return parseFile(text.slice('file:'.length))
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
