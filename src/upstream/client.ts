// The only way out to an upstream. One call of `send` is one request on one connection: never repeated, never redirected, never longer than its
// deadline, and the reply says what is known about it and no more.
import type { Pool } from 'undici'
import type { Upstream } from '../catalog/catalog.ts'
import type { Reply, SendOptions, UpstreamClient, WireRequest } from './wire.ts'
import { resolveBySystem, type Resolve } from './dial.ts'
import { Exchange, type Told } from './exchange.ts'
import { createGate } from './gate.ts'
import { createPools, type Pools } from './pools.ts'
import { buildRequest } from './request.ts'
import { watchSends } from './sent.ts'

export interface UpstreamClientOptions {
  /** `upstream` is told of every send, `integrity` where undici was about to send one twice. */
  readonly telemetry: Told
  /** PEM certificates to trust instead of the built-in ones. */
  readonly ca?: string
  readonly resolve?: Resolve
  readonly connectionAgeMs?: number
  readonly responseBytesMax?: number
}

/** So that a change of DNS takes effect, and is checked. */
const CONNECTION_AGE_MS = 60_000
const RESPONSE_BYTES_MAX = 1 << 20

export function createUpstreamClient (options: UpstreamClientOptions): UpstreamClient {
  watchSends()
  const pools = createPools({
    resolve: options.resolve ?? resolveBySystem,
    ca: options.ca,
    connectionAgeMs: options.connectionAgeMs ?? CONNECTION_AGE_MS,
    responseBytesMax: options.responseBytesMax ?? RESPONSE_BYTES_MAX,
  })
  const gate = createGate()
  let closing = false
  return {
    build: buildRequest,
    enter: (upstream, tenant) => gate.enter(upstream, tenant),
    send: (upstream, request, sendOptions) => new Promise(resolve => {
      if (closing) resolve(unsent(upstream, sendOptions, 'shutting_down', options.telemetry))
      else start(pools, upstream, request, sendOptions, options.telemetry, resolve)
    }),
    close (graceMs) {
      closing = true
      return closeAll(pools.all(), graceMs)
    },
  }
}

type Resolved = (reply: Reply) => void

function start (pools: Pools, upstream: Upstream, request: WireRequest, options: SendOptions, telemetry: Told, resolve: Resolved): void {
  let pool: Pool
  try {
    pool = pools.of(upstream, options.kind)
  } catch {
    resolve(unsent(upstream, options, 'address_refused', telemetry))
    return
  }
  const exchange = new Exchange(upstream.name, request, options, telemetry, resolve)
  // Whatever undici refuses about these it tells the exchange, before anything is queued. No `idempotent`, no `blocking`: they allow it to send
  // twice.
  pool.dispatch({
    method: request.method,
    path: request.path,
    headers: request.headers,
    body: request.body,
    headersTimeout: options.timeoutMs + 1_000,
    bodyTimeout: options.timeoutMs + 1_000,
  }, exchange)
}

function unsent (upstream: Upstream, options: SendOptions, cause: 'shutting_down' | 'address_refused', telemetry: Told): Reply {
  telemetry.upstream({ upstream: upstream.name, kind: options.kind, result: 'unsent', cause, status: null, durationMs: 0 })
  return { kind: 'unsent', cause, durationMs: 0 }
}

async function closeAll (pools: readonly Pool[], graceMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>(resolve => { timer = setTimeout(resolve, graceMs) })
  await Promise.race([Promise.allSettled(pools.map(pool => pool.close())), late])
  clearTimeout(timer)
  await Promise.allSettled(pools.map(pool => pool.destroy()))
}
