// Which addresses may be dialled for an upstream. Pure: text in, verdict out; dial.ts asks before every new connection.
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

type Address = ipaddr.IPv4 | ipaddr.IPv6

/** The `networks:` of an upstream, parsed. */
export interface Networks {
  readonly public: boolean
  readonly loopback: boolean
  readonly cidrs: ReadonlyArray<readonly [Address, number]>
}

/**
 * Never `public`, whatever a registry of address ranges says: the metadata and control services of cloud providers. Azure's wire server stands in
 * ordinary unicast space; the others are listed so that a change of ipaddr.js's tables does not open them.
 */
const NEVER_PUBLIC = ['168.63.129.16/32', '169.254.0.0/16', 'fd00:ec2::254/128', '100.100.100.200/32', '192.0.0.192/32']
  .map(cidr => ipaddr.parseCIDR(cidr))

/** @throws TypeError for a word that is neither `public`, `loopback` nor a CIDR */
export function parseNetworks (words: readonly string[]): Networks {
  const cidrs: Array<[Address, number]> = []
  for (const word of words) {
    if (word === 'public' || word === 'loopback') continue
    if (!ipaddr.isValidCIDR(word)) throw new TypeError(`not a network: ${word}`)
    cidrs.push(ipaddr.parseCIDR(word))
  }
  return { public: words.includes('public'), loopback: words.includes('loopback'), cidrs }
}

/**
 * Why this address may not be dialled, in words for operators; null where it may. An address inside an IPv4-mapped IPv6 address counts as the IPv4
 * address that it is; translated ones (NAT64, 6to4, Teredo) are not public, since where they lead is decided elsewhere.
 * @param text as a resolver or a URL gives it; anything but an IP address in its usual form is refused
 * @param plain the connection has no TLS: then the open internet is no network to send a credential over
 */
export function refuseAddress (text: string, networks: Networks, plain: boolean): string | null {
  // ipaddr.js alone would also read 0x7f.1, 017700000001 and 2130706433, which others read differently.
  if (isIP(text) === 0) return 'not an IP address'
  const address = ipaddr.process(text)
  if (networks.cidrs.some(([network, bits]) => address.kind() === network.kind() && address.match(network, bits))) return null
  const range = address.range()
  if (range === 'loopback') return networks.loopback ? null : 'a loopback address'
  if (range !== 'unicast') return `an address of the range ${range}`
  if (NEVER_PUBLIC.some(([network, bits]) => address.kind() === network.kind() && address.match(network, bits))) return 'a cloud metadata address'
  if (!networks.public) return 'a public address, and public is not among the networks'
  return plain ? 'a public address without TLS' : null
}

/** Whether two texts name the same address, however each is written. */
export function sameAddress (one: string, other: string): boolean {
  return isIP(one) !== 0 && isIP(other) !== 0 && ipaddr.process(one).toString() === ipaddr.process(other).toString()
}
