// Rates of requests, counted in this process: per access token for callers whose token was accepted before, per address for everyone else. So forged
// tokens spend the allowance of the address that sends them, and do not lock out callers behind the same address whose tokens are good.
import { hash } from 'node:crypto'
import ipaddr from 'ipaddr.js'
import { Refusal } from '../errors.ts'
import { Allowance } from './allowance.ts'

export interface Rates {
  readonly tokenPerSecond: number
  readonly addressPerSecond: number
  /** Allowances are counted over this long, so that a short burst passes. */
  readonly burstSeconds: number
}

export interface RateGate {
  /**
   * @returns the token's key, for `learn`; null without a token
   * @throws Refusal RATE_LIMITED with the seconds to wait
   */
  admit (address: string, authorization: string | undefined): string | null
  /** Tells how a route that verifies the token was answered. */
  learn (token: string, status: number, authorization: string | undefined): void
}

const ACCEPTED_TOKENS_MAX = 10_000
const HEADERS_MAX = 1_000

export function openRateGate (rates: Rates): RateGate {
  const allowance = (perSecond: number): Allowance => new Allowance(Math.ceil(perSecond * rates.burstSeconds), rates.burstSeconds * 1_000)
  const perToken = allowance(rates.tokenPerSecond)
  const perAddress = allowance(rates.addressPerSecond)
  // Digests of tokens that a call was admitted with, the latest last, with that of what was signed: a token that is written in another way (the
  // scheme in another case, blanks, a signature of the same bytes or of the same meaning) has the one allowance.
  const accepted = new Map<string, string>()
  // Digests of the headers that came with them, as they were written: a token that is used again and again is digested once.
  const tokenOf = new Map<string, string>()

  return {
    admit (address, authorization) {
      const token = authorization === undefined ? null : tokenOf.get(authorization) ?? digest(tokenIn(authorization))
      const signed = token === null ? undefined : accepted.get(token)
      if (signed === undefined) spend(perAddress, network(address))
      if (token !== null) spend(perToken, signed ?? token)
      return token
    },
    learn (token, status, authorization) {
      if (status === 401) accepted.delete(token)
      if (status < 200 || status > 299 || authorization === undefined) return
      if (!tokenOf.has(authorization)) {
        if (tokenOf.size >= HEADERS_MAX) tokenOf.clear()
        tokenOf.set(authorization, token)
      }
      if (accepted.has(token)) return
      const text = tokenIn(authorization)
      const signed = digest(text.slice(0, Math.max(0, text.lastIndexOf('.'))))
      accepted.set(token, signed)
      // This request was counted under a name that is not asked for again.
      perToken.spend(signed)
      if (accepted.size > ACCEPTED_TOKENS_MAX) accepted.delete(accepted.keys().next().value!)
    },
  }
}

/** Long tokens take no more room than short ones. */
const digest = (text: string): string => hash('sha256', text, 'base64')

/** What stands behind the scheme and its blanks. */
const tokenIn = (authorization: string): string => authorization.slice(authorization.lastIndexOf(' ') + 1)

/** One subscriber of IPv6 has a /64 (RFC 6177), so a single address would count nobody. */
function network (address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  return parsed instanceof ipaddr.IPv6 ? parsed.parts.slice(0, 4).join(':') : parsed.toString()
}

function spend (allowance: Allowance, key: string): void {
  const waitMs = allowance.spend(key)
  if (waitMs > 0) throw Refusal.of('RATE_LIMITED', { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)) })
}
