// The connection to Redis. Its options were measured: a command settles within its timeout and is sent at most once. One that was rejected may have
// run all the same, so it is asked again here; every script answers a second asking as it answered the first.
import { setTimeout as sleep } from 'node:timers/promises'
import { Cluster, Redis, type ClusterOptions, type RedisOptions } from 'ioredis'
import type { Script } from './redis-scripts.ts'
import type { RedisAddress } from './redis-url.ts'
import { StateRefused, StateUnavailable } from './store.ts'

/** Tries of one step, and how long they may take together; a try that has begun is not cut short. */
const TRIES_MAX = 3
const TRYING_MS = 2_000
const CLOSE_MS = 1_000

export interface RedisConnection {
  /** Runs a script until its reply is heard. @throws StateUnavailable: it may have run */
  run (script: Script, keys: readonly string[], args: ReadonlyArray<string | number>): Promise<unknown>
  /** The same for a command that may be repeated. @throws StateUnavailable */
  command (name: string, ...args: ReadonlyArray<string | number>): Promise<unknown>
  close (): Promise<void>
}

const reconnectAfterMs = (times: number): number => Math.min(50 * 2 ** times, 2_000)

export function redisOptions (address: RedisAddress): RedisOptions {
  return {
    autoResendUnfulfilledCommands: false,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: 1_000,
    socketTimeout: 3_000,
    connectTimeout: 2_000,
    enableAutoPipelining: false,
    // Never 2: that would send the command again.
    reconnectOnError: error => error.message.startsWith('READONLY') ? 1 : false,
    protocol: 2,
    retryStrategy: reconnectAfterMs,
    lazyConnect: true,
    db: address.db,
    ...(address.username === null ? {} : { username: address.username }),
    ...(address.password === null ? {} : { password: address.password }),
    ...(address.tls ? { tls: {} } : {}),
  }
}

function clusterOptions (address: RedisAddress): ClusterOptions {
  const { retryStrategy: _retry, enableOfflineQueue: _queue, lazyConnect: _lazy, db: _db, ...each } = redisOptions(address)
  return {
    // Without this one a cluster client sends again what it was told not to.
    retryDelayOnFailover: 0,
    slotsRefreshTimeout: 1_000,
    enableOfflineQueue: false,
    enableAutoPipelining: false,
    lazyConnect: true,
    clusterRetryStrategy: reconnectAfterMs,
    redisOptions: each,
    // A certificate names the host that was asked for, not the address that it has.
    ...(address.tls ? { dnsLookup: (host, done) => { done(null, host) } } : {}),
  }
}

function createClient (address: RedisAddress): Redis | Cluster {
  const nodes = address.nodes.map(node => ({ ...node }))
  if (address.topology === 'cluster') return new Cluster(nodes, clusterOptions(address))
  if (address.topology === 'single') return new Redis({ ...redisOptions(address), ...nodes[0] })
  return new Redis({
    ...redisOptions(address),
    sentinels: nodes,
    name: address.master!,
    enableTLSForSentinelMode: address.tls,
    sentinelRetryStrategy: reconnectAfterMs,
    ...(address.tls ? { sentinelTLS: {} } : {}),
  })
}

/** @throws StateUnavailable where it cannot be reached within `startMs`, StateRefused where it may forget */
export async function connectRedis (address: RedisAddress, startMs: number): Promise<RedisConnection> {
  const client = createClient(address)
  let fault = 'no answer'
  // Without a listener an error would end the process. What it means for a call is told by the command that fails.
  client.on('error', (error: unknown) => { fault = messageOf(error) })
  try {
    client.connect().catch((error: unknown) => { fault = messageOf(error) })
    if (!await ready(client, performance.now() + startMs)) throw new StateUnavailable(`Redis cannot be reached: ${fault}`)
    if (!address.volatile) await requireDurable(client)
  } catch (error) {
    client.disconnect()
    throw error
  }
  return asConnection(client)
}

const TWICE = ', and what is forgotten could be sent twice'

/** Refuses a Redis that forgets what it acknowledged: what it forgets would be sent twice. */
async function requireDurable (client: Redis | Cluster): Promise<void> {
  const nodes = client instanceof Cluster ? client.nodes('master') : [client]
  for (const node of nodes) {
    let info: string
    try {
      info = await node.info()
    } catch (error) {
      const message = messageOf(error)
      if (!message.startsWith('NOPERM')) throw new StateUnavailable(`Redis cannot be asked for its settings: ${message}`, { cause: error })
      throw new StateRefused('Redis does not let this user read INFO, which says whether it keeps what it is told: grant +info, or say ?volatile=yes')
    }
    if (!/^aof_enabled:1\r?$/m.test(info)) {
      throw new StateRefused(`Redis has no append-only file, so a restart forgets attempts${TWICE}: set appendonly yes, or say ?volatile=yes`)
    }
    const policy = /^maxmemory_policy:(.*?)\r?$/m.exec(info)?.[1] ?? 'unknown'
    if (policy !== 'noeviction') {
      throw new StateRefused(`Redis may evict attempts (maxmemory-policy ${policy})${TWICE}: set noeviction, or say ?volatile=yes`)
    }
  }
}

function asConnection (client: Redis | Cluster): RedisConnection {
  let closed = false
  let downSinceMs: number | null = null
  client.on('ready', () => { downSinceMs = null })
  client.on('close', () => { downSinceMs ??= performance.now() })

  async function persist (ask: () => Promise<unknown>): Promise<unknown> {
    // Who comes while Redis is down hears so at once; only the first ones wait for it to come back.
    const endsAtMs = (downSinceMs ?? performance.now()) + TRYING_MS
    for (let tries = 1; ; tries++) {
      if (closed) throw new StateUnavailable('the store is closed')
      try {
        return await ask()
      } catch (error) {
        const message = messageOf(error)
        const again = isOfTheMoment(message) && tries < TRIES_MAX && await ready(client, endsAtMs)
        if (!again) throw new StateUnavailable(`Redis: ${message}`, { cause: error })
        await sleep(20 * tries)
      }
    }
  }

  return {
    run: (script, keys, args) => persist(() => evaluate(client, script, keys, args)),
    command: (name, ...args) => persist(() => client.call(name, ...args)),
    async close () {
      if (closed) return
      closed = true
      await Promise.race([client.quit().catch(() => undefined), sleep(CLOSE_MS, undefined, { ref: false })])
      client.disconnect()
    },
  }
}

/** A server that does not know the script has not run it, so it may be told the whole text. */
async function evaluate (client: Redis | Cluster, script: Script, keys: readonly string[], args: ReadonlyArray<string | number>): Promise<unknown> {
  try {
    return await client.evalsha(script.sha1, keys.length, ...keys, ...args)
  } catch (error) {
    if (!messageOf(error).startsWith('NOSCRIPT')) throw error
    return client.eval(script.text, keys.length, ...keys, ...args)
  }
}

/** True once it can be asked, false where that is not so by `untilMs` (performance.now()). */
async function ready (client: Redis | Cluster, untilMs: number): Promise<boolean> {
  while (performance.now() < untilMs) {
    if (client.status === 'ready') return true
    if (client.status === 'end') return false
    await sleep(Math.min(20, Math.max(1, untilMs - performance.now())))
  }
  return false
}

/** Replies that do not change by asking again soon; everything else may: a lost connection, a timeout, a failover, a server that still loads. */
const LASTING = /^(OOM|MISCONF|NOAUTH|NOPERM|WRONGPASS|WRONGTYPE|ERR|NOREPLICAS)\b/

const isOfTheMoment = (message: string): boolean => !LASTING.test(message)

const messageOf = (error: unknown): string => error instanceof Error ? error.message : String(error)
