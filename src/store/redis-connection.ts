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
const START_PAUSE_MS = 100
/** Less than a command may take. */
const BARRIER_MS = 800

export interface RedisConnection {
  /** Runs a script until its reply is heard. @throws StateUnavailable: it may have run */
  run (script: Script, keys: readonly string[], args: ReadonlyArray<string | number>): Promise<unknown>
  /** The same for a command that may be repeated. @throws StateUnavailable */
  command (name: string, ...args: ReadonlyArray<string | number>): Promise<unknown>
  /** Runs a script on the connection that there is now, or not at all. @throws StateUnavailable: it may have run */
  runOnce (script: Script, keys: readonly string[], args: ReadonlyArray<string | number>): Promise<unknown>
  /** As `run`, and what was written is on the disk of the master when it answers. @throws StateUnavailable, with nothing run, where that cannot be had */
  runDurably (script: Script, keys: readonly string[], args: ReadonlyArray<string | number>): Promise<unknown>
  /** Every master answers only when what it was told is on its disk. @throws StateUnavailable */
  syncsAlways (): Promise<boolean>
  /** Which server this is, for as long as it runs; null where that cannot be said of one: in a cluster, or where INFO is not granted. @throws StateUnavailable */
  runId (): Promise<string | null>
  isReady (): boolean
  /** Several masters, which fail apart from each other. */
  readonly cluster: boolean
  /** `down` is told at once when the connection is lost, `ready` when commands go through again. */
  watch (listener: { down (): void, ready (): void }): void
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

/** @throws StateUnavailable where it cannot be reached, or does not answer, within `startMs`, StateRefused where it may forget */
export async function connectRedis (address: RedisAddress, startMs: number): Promise<RedisConnection> {
  const client = createClient(address)
  const untilMs = performance.now() + startMs
  let fault = 'no answer'
  // Without a listener an error would end the process. What it means for a call is told by the command that fails.
  client.on('error', (error: unknown) => { fault = messageOf(error) })
  try {
    client.connect().catch((error: unknown) => { fault = messageOf(error) })
    if (!await ready(client, untilMs)) throw new StateUnavailable(`Redis cannot be reached: ${fault}`)
    if (!address.volatile) await requireDurable(client, untilMs)
  } catch (error) {
    client.disconnect()
    throw error
  }
  return asConnection(client, address)
}

const TWICE = ', and what is forgotten could be sent twice'

/** Refuses a Redis that forgets what it acknowledged: what it forgets would be sent twice. */
async function requireDurable (client: Redis | Cluster, untilMs: number): Promise<void> {
  const nodes = client instanceof Cluster ? client.nodes('master') : [client]
  for (const node of nodes) {
    let info: string
    try {
      info = await patiently(() => node.info(), untilMs)
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

function asConnection (client: Redis | Cluster, address: RedisAddress): RedisConnection {
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

  const barrier = createBarrier(address)
  const runDurably: RedisConnection['runDurably'] = async (script, keys, args) => {
    if (await syncsAlways(client)) return persist(() => evaluate(client, script, keys, args))
    if (client instanceof Cluster || !/^redis_version:(7\.[2-9]|[89]|\d\d)/m.test(await asUnavailable(() => client.info('server')))) {
      throw new StateUnavailable('Redis: an action that is strict needs a server with appendfsync always, or one that knows WAITAOF (7.2), and CONFIG GET')
    }
    return persist(() => barrier.run(script, keys, args))
  }

  return {
    run: (script, keys, args) => persist(() => evaluate(client, script, keys, args)),
    runDurably,
    syncsAlways: () => asUnavailable(() => syncsAlways(client)),
    command: (name, ...args) => persist(() => client.call(name, ...args)),
    runOnce: (script, keys, args) => asUnavailable(() => evaluate(client, script, keys, args)),
    runId: async () => client instanceof Cluster ? null : runIdOf(await asUnavailable(() => client.info('server')).catch(orNotGranted)),
    isReady: () => !closed && client.status === 'ready',
    cluster: client instanceof Cluster,
    watch ({ down, ready }) {
      client.on('close', down)
      client.on('ready', ready)
    },
    async close () {
      if (closed) return
      closed = true
      barrier.close()
      await Promise.race([client.quit().catch(() => undefined), sleep(CLOSE_MS, undefined, { ref: false })])
      client.disconnect()
    },
  }
}

/** Where it cannot be asked it is not so. */
async function syncsAlways (client: Redis | Cluster): Promise<boolean> {
  const nodes = client instanceof Cluster ? client.nodes('master') : [client]
  const told = await Promise.all(nodes.map(async node => {
    try {
      return await node.config('GET', 'appendfsync') as readonly string[]
    } catch (error) {
      if (messageOf(error).startsWith('NOPERM')) return []
      throw error
    }
  }))
  return told.every(([, value]) => value === 'always')
}

interface Barrier {
  run (script: Script, keys: readonly string[], args: ReadonlyArray<string | number>): Promise<unknown>
  close (): void
}

/**
 * A connection of its own, because whoever waits for the disk holds up everything behind it. What is waited for is the last write of this connection, so
 * a script that answers what it did before, on another one, is followed by a write all the same.
 */
function createBarrier (address: RedisAddress): Barrier {
  let client: Redis | null = null
  const connected = async (): Promise<Redis> => {
    if (client === null) {
      client = createClient(address) as Redis
      client.on('error', () => {})
      client.connect().catch(() => undefined)
    }
    if (!await ready(client, performance.now() + TRYING_MS)) throw new Error('the connection for the barrier cannot be had')
    return client
  }
  return {
    async run (script, keys, args) {
      const one = await connected()
      const reply = await evaluate(one, script, keys, args)
      await one.call('SET', 'aval:barrier', '1', 'PX', 60_000)
      const [local] = await one.call('WAITAOF', 1, 0, BARRIER_MS) as readonly number[]
      if (local! < 1) throw new Error('the disk did not take it in time')
      return reply
    },
    close: () => client?.disconnect(),
  }
}

/** Asks again until `untilMs` (performance.now()) what fails for a reason of the moment. @throws the last error */
export async function patiently<T> (ask: () => Promise<T>, untilMs: number): Promise<T> {
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      const reason = error instanceof StateUnavailable ? error.cause ?? error : error
      if (!isOfTheMoment(messageOf(reason)) || performance.now() >= untilMs) throw error
    }
    await sleep(START_PAUSE_MS)
  }
}

async function asUnavailable<T> (ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    throw new StateUnavailable(`Redis: ${messageOf(error)}`, { cause: error })
  }
}

function orNotGranted (error: unknown): string {
  if (!messageOf(error).includes('NOPERM')) throw error
  return ''
}

/** A promoted replica is another server, and so is a server that was started again. */
const runIdOf = (info: string): string | null => /^run_id:([0-9a-f]+)\r?$/m.exec(info)?.[1] ?? null

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
