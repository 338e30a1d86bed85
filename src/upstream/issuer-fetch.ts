// What the sign-in of people asks of their identity provider: its metadata, its keys, and the exchange of a code. The issuer is the operator's, typed
// into the configuration, and its metadata names the rest; every answer is bounded in time and size, and no redirect is followed.
import { Agent, request, type Dispatcher } from 'undici'
import { isIssuerUrl } from './jwks.ts'

const TOTAL_MS = 5_000
const BYTES_MAX = 256 * 1024

export interface IssuerAsk {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

export interface IssuerFetch {
  /** Rejects where the answer cannot be had whole and in time. */
  fetch (url: string, ask: IssuerAsk): Promise<Response>
  close (): Promise<void>
}

/** @param totalMs from the call until the last byte */
export function createIssuerFetch (totalMs = TOTAL_MS): IssuerFetch {
  const agent = new Agent({
    allowH2: false,
    connections: 4,
    connect: { timeout: Math.min(totalMs, 3_000) },
    headersTimeout: totalMs,
    bodyTimeout: totalMs,
    maxResponseSize: BYTES_MAX,
    maxHeaderSize: 16_384,
  })
  return {
    fetch: (url, ask) => fetchOnce(agent, url, ask, totalMs),
    close: () => agent.destroy(),
  }
}

async function fetchOnce (dispatcher: Dispatcher, url: string, ask: IssuerAsk, totalMs: number): Promise<Response> {
  if (!isIssuerUrl(url)) throw new Error('the identity provider is asked over https, or over http on loopback')
  const body = ask.body === undefined || ask.body === null ? null : String(ask.body)
  const reply = await request(url, {
    dispatcher,
    method: ask.method as Dispatcher.HttpMethod,
    signal: AbortSignal.timeout(totalMs),
    headers: { ...ask.headers, 'accept-encoding': 'identity', 'user-agent': 'aval' },
    body,
  })
  const bytes = await reply.body.arrayBuffer()
  const headers = new Headers()
  for (const [name, value] of Object.entries(reply.headers)) for (const one of [value ?? []].flat()) headers.append(name, one)
  const bodiless = reply.statusCode === 204 || reply.statusCode === 304
  return new Response(bodiless ? null : bytes, { status: reply.statusCode, headers })
}
