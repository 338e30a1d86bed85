// The connections to upstreams: one Pool an upstream and kind of use, with the option set of which it is known what it does (undici 8 left to its
// defaults sends a POST twice over HTTP/2).
import { Pool } from 'undici'
import type { Upstream } from '../catalog/catalog.ts'
import { parseNetworks } from './address.ts'
import { createDialler, type Resolve } from './dial.ts'

export type Kind = 'read' | 'write'

export interface PoolOptions {
  readonly resolve: Resolve
  readonly ca: string | undefined
  /** How long a connection may be used; then the name is resolved and checked again. */
  readonly connectionAgeMs: number
  readonly responseBytesMax: number
}

const HEADER_BYTES_MAX = 16_384

export interface Pools {
  /** @throws TypeError where the upstream's origin or networks cannot be used */
  of (upstream: Upstream, kind: Kind): Pool
  all (): readonly Pool[]
  /** The same, and none of them is given any more. */
  drop (): readonly Pool[]
}

export function createPools (options: PoolOptions): Pools {
  // By what a connection depends on, so that a reload which changes nothing of it keeps the connections.
  const byDescription = new Map<string, Pool>()
  const none = (): Record<Kind, WeakMap<Upstream, Pool>> => ({ read: new WeakMap(), write: new WeakMap() })
  let byUpstream = none()

  const find = (upstream: Upstream, kind: Kind): Pool => {
    const { name, origin, networks, limits, timeouts } = upstream
    const description = JSON.stringify([name, kind, origin, networks, limits.concurrency, timeouts.connectMs])
    let pool = byDescription.get(description)
    if (pool === undefined) {
      pool = open(upstream, options)
      byDescription.set(description, pool)
    }
    byUpstream[kind].set(upstream, pool)
    return pool
  }
  return {
    of: (upstream, kind) => byUpstream[kind].get(upstream) ?? find(upstream, kind),
    all: () => [...byDescription.values()],
    drop () {
      const dropped = [...byDescription.values()]
      byDescription.clear()
      byUpstream = none()
      return dropped
    },
  }
}

function open (upstream: Upstream, options: PoolOptions): Pool {
  const { origin, networks, limits, timeouts } = upstream
  const url = new URL(origin)
  // Userinfo, a path or a query here would be dropped without a word.
  if (url.origin === 'null' || url.href !== `${url.origin}/` || !/^https?:$/.test(url.protocol)) throw new TypeError(`not an origin: ${origin}`)
  return new Pool(url.origin, {
    allowH2: false,
    pipelining: 1,
    connections: limits.concurrency,
    clientTtl: options.connectionAgeMs,
    connect: createDialler({ networks: parseNetworks(networks), connectMs: timeouts.connectMs, resolve: options.resolve, ca: options.ca }),
    // Each exchange has a deadline of its own, for all of it; these would be set and called off again for each request.
    headersTimeout: 0,
    bodyTimeout: 0,
    maxResponseSize: options.responseBytesMax,
    maxHeaderSize: HEADER_BYTES_MAX,
  })
}
