// Fetches a JWK Set from the issuer of access tokens. The URL is the operator's, typed into the configuration; what it answers is bounded in time and
// size, and no redirect is followed.
import { isIPv4 } from 'node:net'
import { Agent, request } from 'undici'

const TOTAL_MS = 5_000
const BYTES_MAX = 256 * 1024

/** Why the set could not be had. The message holds neither the URL nor anything that was answered. */
export class JwksUnavailable extends Error {
  override readonly name = 'JwksUnavailable'
}

export interface JwksFetcher {
  /** @param url https, or http on loopback. @throws JwksUnavailable */
  fetch (url: string): Promise<unknown>
  close (): Promise<void>
}

/** @param totalMs from the call until the last byte */
export function createJwksFetcher (totalMs = TOTAL_MS): JwksFetcher {
  const agent = new Agent({
    allowH2: false,
    connections: 1,
    connect: { timeout: Math.min(totalMs, 3_000) },
    headersTimeout: totalMs,
    bodyTimeout: totalMs,
    maxResponseSize: BYTES_MAX,
    maxHeaderSize: 16_384,
  })
  return {
    fetch: url => fetchJwks(agent, url, totalMs),
    close: () => agent.destroy(),
  }
}

async function fetchJwks (agent: Agent, url: string, totalMs: number): Promise<unknown> {
  if (!isIssuerUrl(url)) throw new JwksUnavailable('the key set is fetched over https, or over http on loopback')
  try {
    const reply = await request(url, {
      dispatcher: agent,
      signal: AbortSignal.timeout(totalMs),
      headers: { accept: 'application/jwk-set+json, application/json', 'accept-encoding': 'identity', 'user-agent': 'aval' },
    })
    if (reply.statusCode !== 200) {
      // Ended by us, and that is no fault to tell anybody.
      reply.body.on('error', () => {}).destroy()
      throw new JwksUnavailable(`the issuer answered ${reply.statusCode}`)
    }
    const bytes = Buffer.from(await reply.body.arrayBuffer())
    return parse(bytes)
  } catch (error) {
    if (error instanceof JwksUnavailable) throw error
    throw new JwksUnavailable(reasonOf(error))
  }
}

function parse (bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw new JwksUnavailable('the issuer answered no JSON')
  }
}

/** https, or http on loopback; nothing of a user in it. */
export function isIssuerUrl (text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname, username, password } = new URL(text)
  if (username !== '' || password !== '') return false
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))
}

function isLoopback (hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || (isIPv4(hostname) && hostname.startsWith('127.'))
}

function reasonOf (error: unknown): string {
  const { code, name } = error as NodeJS.ErrnoException
  return name === 'TimeoutError' ? 'the issuer did not answer in time' : `the issuer cannot be reached: ${code ?? name ?? 'unknown'}`
}
