// Headers that every answer carries, and checks of those that a request must not carry twice.
import { Refusal } from '../errors.ts'

/** Nothing of an answer is a document, a script or worth keeping; no other origin may read it (there is no CORS header anywhere). */
export const SECURITY_HEADERS = Object.freeze({
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
})

/** Sent where the listener itself speaks TLS (RFC 6797). */
export const STRICT_TRANSPORT = 'max-age=31536000'

// Node keeps the first of some of these and joins others with a comma: either way one of two readers would believe something else.
const SINGLE = new Set([
  'authorization', 'content-encoding', 'content-length', 'content-type', 'expect', 'host', 'idempotency-key', 'transfer-encoding',
])

/** @param rawHeaders names and values in turn, as they arrived */
export function requireSingleHeaders (rawHeaders: readonly string[]): void {
  const seen = new Set<string>()
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!.toLowerCase()
    if (!SINGLE.has(name)) continue
    if (seen.has(name)) throw Refusal.of('MALFORMED_REQUEST', { rule: 'duplicate_header', hint: `The header ${name} stands twice.` })
    seen.add(name)
  }
}

// RFC 9110 §7.2 with the hosts that can be named here: a DNS name, an IPv4 address, an IPv6 address in brackets; any port.
const HOST = /^(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::\d{1,5})?$/i
const ABSOLUTE_FORM = /^https?:\/\/([^/?#]*)/i

/**
 * Refuses a request for a name that is not served here, which is how DNS rebinding and stray proxies show themselves.
 * @param hosts lower case, IPv6 addresses in brackets
 */
export function requireServedHost (host: string | undefined, target: string, hosts: ReadonlySet<string>): void {
  // RFC 9112 §3.2: a request without Host must be answered with 400.
  if (host === undefined) throw Refusal.of('MALFORMED_REQUEST', { rule: 'host' })
  if (!isServed(host, hosts)) throw misdirected()
  if (target.startsWith('/') || target === '*') return
  // RFC 9112 §3.2.2: in absolute-form the authority of the target is the host, so both must be ours.
  const authority = ABSOLUTE_FORM.exec(target)?.[1]
  if (authority === undefined) throw Refusal.of('MALFORMED_REQUEST', { rule: 'target' })
  if (!isServed(authority, hosts)) throw misdirected()
}

const misdirected = (): Refusal => Refusal.of('MISDIRECTED', { hint: 'The operator names the hosts that are served in AVAL_HOSTS.' })

function isServed (authority: string, hosts: ReadonlySet<string>): boolean {
  const name = HOST.exec(authority)?.[1]
  return name !== undefined && hosts.has(name.toLowerCase())
}
