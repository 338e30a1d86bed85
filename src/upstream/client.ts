// The only way out to an upstream. One call of `send` is one request on one connection: never repeated, never redirected, never longer than its
// deadline, and the reply says what is known about it and no more.
import type { Pool } from 'undici'
import type { Upstream } from '../catalog/catalog.ts'
import type { Exit, Reply, SendOptions, UpstreamClient, WireRequest } from './wire.ts'
import { resolveBySystem, type Resolve } from './dial.ts'
import { ALWAYS_OPEN, Exchange, type Told } from './exchange.ts'
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
  /** Open where nobody says otherwise. */
  readonly exit?: Exit
}

/** So that a change of DNS takes effect, and is checked. */
const CONNECTION_AGE_MS = 60_000
const RESPONSE_BYTES_MAX = 1 << 20

export interface PooledClient extends UpstreamClient {
  /** Lets go of all connections, each once what is under way on it is finished; what is sent later dials anew. */
  rest (): void
}

export function createUpstreamClient (options: UpstreamClientOptions): PooledClient {
  watchSends()
  const pools = createPools({
    resolve: options.resolve ?? resolveBySystem,
    ca: options.ca,
    connectionAgeMs: options.connectionAgeMs ?? CONNECTION_AGE_MS,
    responseBytesMax: options.responseBytesMax ?? RESPONSE_BYTES_MAX,
  })
  const gate = createGate()
  const exit = options.exit ?? ALWAYS_OPEN
  let closing = false
  return {
    build: buildRequest,
    enter: (upstream, tenant) => gate.enter(upstream, tenant),
    send (upstream, request, sendOptions) {
      const send = (): Promise<Reply> => new Promise(resolve => {
        if (closing) resolve(unsent(upstream, sendOptions, 'shutting_down', options.telemetry))
        else start(pools, upstream, request, sendOptions, { telemetry: options.telemetry, exit }, resolve)
      })
      if (exit.isOpen(sendOptions.epoch)) return send()
      return exit.opens(sendOptions.epoch).then(open => open ? send() : unsent(upstream, sendOptions, 'locked', options.telemetry))
    },
    rest () {
      for (const pool of pools.drop()) pool.close().catch(() => undefined)
    },
    close (graceMs) {
      closing = true
      return closeAll(pools.all(), graceMs)
    },
  }
}

type Resolved = (reply: Reply) => void

interface Ports {
  readonly telemetry: Told
  readonly exit: Exit
}

function start (pools: Pools, upstream: Upstream, request: WireRequest, options: SendOptions, ports: Ports, resolve: Resolved): void {
  const { telemetry, exit } = ports
  let pool: Pool
  try {
    pool = pools.of(upstream, options.kind)
  } catch {
    resolve(unsent(upstream, options, 'address_refused', telemetry))
    return
  }
  const exchange = new Exchange(upstream.name, request, options, telemetry, resolve, exit)
  // Whatever undici refuses about these it tells the exchange, before anything is queued. No `idempotent`, no `blocking`: they allow it to send
  // twice.
  pool.dispatch({
    method: request.method,
    path: request.path,
    headers: request.headers,
    body: request.body,
  }, exchange)
}

function unsent (upstream: Upstream, options: SendOptions, cause: 'shutting_down' | 'address_refused' | 'locked', telemetry: Told): Reply {
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
