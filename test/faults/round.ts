// One round: everything is started, hurt for a while with lulls in between, healed, given the time to settle, stopped, and asked what really happened.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startAgents, type AgentCounts, type Agents } from './agents.ts'
import { check, type Checked } from './check.ts'
import { Chronicle, type Fired } from './chronicle.ts'
import { startFaultProxy, type FaultProxy } from './fault-proxy.ts'
import type { RunFacts } from './folder.ts'
import { openDesk, startPeople, type Desk } from './people.ts'
import { partitionOne, redisFate, upstreamFate, type Weather } from './network-nemesis.ts'
import { Armoury, endOne, killOne, roll, stopOne } from './process-nemesis.ts'
import { Random } from './random.ts'
import { makeRedisForget, strikeRedis } from './redis-nemesis.ts'
import { RedisPair } from './redis-pair.ts'
import { Replicas } from './replicas.ts'
import { credentialOf, makeSite, tenantNames } from './site.ts'
import { keptInRedis, keptInSqlite, writeStore } from './store-dump.ts'
import { unresolvedBy, unsettledInRedis } from './unsettled.ts'
import { startUpstream, type StatusOrder, type Upstream } from './upstream.ts'

/** How long it is, on average, between two of a kind; null: that never happens. */
export interface Pace {
  /** kill -9 of a broker. null: failpoints are not armed either, and processes live. */
  readonly killMs: number | null
  /** Of the starts: those that no failpoint is armed for. Half of what is armed kills, most often soon. */
  readonly unarmed: number
  readonly stopMs: number | null
  readonly termMs: number | null
  readonly rollMs: number | null
  /** Blows to Redis. */
  readonly storeMs: number
  /** How long it is calmer between two storms: brokers that live longer do more. */
  readonly calmMs: number
}

export interface RoundOptions {
  readonly folder: string
  readonly seed: string
  readonly store: 'redis' | 'sqlite'
  readonly stormMs: number
  /** Asked now and then: what was to be done to this run is done. */
  readonly isEnough: (fired: Fired, errands: number) => boolean
  /** After healing: how long agents go on, and how long what is unsettled is waited for. */
  readonly afterMs: number
  readonly drainMs: number
  /** Stories under way at the same time. */
  readonly atOnce: number
  /** Stories begun in a second; default: as many as end. */
  readonly rate?: number
  /** The store is made to forget. */
  readonly stateLoss: boolean
  readonly pace: Pace
  /** Where the brokers' code is kept, in few files and compiled, from round to round. */
  readonly cacheFolder: string
  /** Looks at the brokers while it storms, until what it returns is called. */
  readonly watch?: (replicas: Replicas) => () => void
}

/** What a round left behind, not looked at yet. */
export interface RoundRun {
  readonly seed: string
  readonly store: 'redis' | 'sqlite'
  readonly folder: string
  readonly seconds: number
  readonly agents: AgentCounts
  readonly fired: Fired
  /** Everything that can settle had settled. */
  readonly drained: boolean
  /** From healing until an attempt was begun and completed; null: that never was. */
  readonly recoveredMs: number | null
}

export interface RoundReport extends RoundRun {
  readonly checked: Checked
}

/** What really happened: takes a while in which nothing else of this process goes on. */
export const judge = (run: RoundRun): RoundReport => ({ ...run, checked: check(run.folder) })

const TENANTS = 6
const REPLICAS = 3
const STORM_MS = 9_000
const LULL_MS = 2_500
const GAUGES_MS = 16_000
/** Of connections while nothing else is on. */
const UPSTREAM_SHARE = 0.6
const REDIS_SHARE = 0.8
/** Of the blows to Redis, where it is made to forget. */
const FORGETS = 0.23
/** Of the share of connections that meet a fate, while processes and stores are left alone. */
const LIGHT_SHARE = 0.5

interface Ground {
  readonly options: RoundOptions
  readonly chronicle: Chronicle
  readonly weather: Weather
  readonly upstream: Upstream
  readonly toUpstream: FaultProxy
  readonly pair: RedisPair | null
  readonly toRedis: readonly FaultProxy[]
  readonly armoury: Armoury
  readonly replicas: Replicas
  readonly desk: Desk
}

export async function runRound (options: RoundOptions): Promise<RoundRun> {
  const startedAtMs = Date.now()
  mkdirSync(options.folder, { recursive: true })
  const ground = await prepare(options)
  const { folder, seed } = options
  const { atOnce, rate } = options
  const agents = await startAgents({
    folder, seed, tenants: tenantNames(TENANTS), replicas: ground.replicas.urls, atOnce, patienceMs: 20_000, people: true, ...(rate === undefined ? {} : { rate }),
  })
  const people = startPeople({ folder, seed, idp: ground.desk.idp, urls: () => ground.replicas.peopleUrls })
  const watched = options.watch?.(ground.replicas)
  await storm(ground, agents)
  watched?.()
  const healedAtMs = await heal(ground)
  await sleep(options.afterMs)
  const counts = await agents.stop()
  await people.stop()
  const drained = await drain(ground)
  await ground.replicas.stop()
  const kept = ground.pair === null ? keptInSqlite(join(ground.replicas.dataFolder(0), 'aval.db')) : await keptInRedis(ground.pair.primary.port)
  writeStore(folder, kept)
  for (const [says, times] of Object.entries(people.counts())) ground.chronicle.count(`people:${says}`, times)
  const fired = ground.chronicle.close(await ground.upstream.fired())
  await ground.desk.stop()
  await ground.upstream.stop()
  await ground.toUpstream.stop()
  await Promise.all(ground.toRedis.map(one => one.stop()))
  await ground.pair?.stop()
  const facts: RunFacts = { seed, store: options.store, startedAtMs, healedAtMs, endedAtMs: Date.now(), drained }
  writeFileSync(join(folder, 'run.json'), JSON.stringify(facts))
  const firstEndMs = Math.min(...kept.attempts.flatMap(({ preparedAtMs, settledAtMs, settlement }) =>
    preparedAtMs > healedAtMs && settlement?.outcome === 'completed' && settledAtMs !== null ? [settledAtMs] : []))
  const recoveredMs = Number.isFinite(firstEndMs) ? firstEndMs - healedAtMs : null
  return { seed, store: options.store, folder, seconds: (Date.now() - startedAtMs) / 1_000, agents: counts, fired, drained, recoveredMs }
}

async function prepare (options: RoundOptions): Promise<Ground> {
  const { folder, seed, store } = options
  const chronicle = new Chronicle(folder)
  const weather: Weather = { share: 0 }
  const tenants = tenantNames(TENANTS)
  const upstream = await startUpstream({ folder, seed, credentials: Object.fromEntries(tenants.map(tenant => [tenant, credentialOf(seed, tenant)])) })
  const ways = new Random(seed, 'ways')
  const random = (): number => ways.next()
  const toUpstream = await startFaultProxy({
    port: upstream.port, random,
    fate: () => upstreamFate(ways, { share: weather.share * UPSTREAM_SHARE }),
    fired: name => { chronicle.count(`network:upstream:${name}`) },
  })
  const pair = store === 'redis' ? await RedisPair.start(options.stateLoss) : null
  const toRedis = pair === null ? [] : await Promise.all(Array.from({ length: REPLICAS }, () => startFaultProxy({
    port: pair.primary.port, random,
    fate: () => redisFate(ways, { share: weather.share * REDIS_SHARE }),
    fired: name => { chronicle.count(`network:redis:${name}`) },
  })))
  const armoury = new Armoury(store, options.pace.unarmed, chronicle, new Random(seed, 'armoury'))
  const site = await makeSite({ folder, port: toUpstream.port, tenants, seed })
  const desk = await openDesk()
  const replicas = await Replicas.start({
    folder, chronicle,
    count: pair === null ? 1 : REPLICAS,
    env: { ...site.env, ...desk.env },
    editions: site.editions,
    state: at => pair === null ? `sqlite:${join(folder, `replica-${at}`, 'aval.db')}` : `redis://127.0.0.1:${toRedis[at]!.port}`,
    failpoints: () => options.pace.killMs === null ? null : armoury.next(),
    spares: pair === null ? 1 : 2,
    cacheFolder: options.cacheFolder,
  })
  return { options, chronicle, weather, upstream, toUpstream, pair, toRedis, armoury, replicas, desk }
}

const STATUSES: readonly StatusOrder[] = ['mixed', 'mixed', 'mixed', 'down', 'lying', 'honest']

async function storm (ground: Ground, agents: Agents): Promise<void> {
  const { options, chronicle, weather, upstream, toUpstream, pair, toRedis, replicas } = ground
  const { seed, pace } = options
  let endsAtMs = performance.now() + options.stormMs
  const isOver = (): boolean => performance.now() >= endsAtMs
  /** Does it again and again, at random and while it storms (or in light weather too), on average so often. */
  const keep = async (name: string, everyMs: number | null, work: (random: Random) => Promise<unknown>, from = 1): Promise<void> => {
    const random = new Random(seed, name)
    while (everyMs !== null && !isOver()) {
      await sleep(Math.min(everyMs * random.between(0.2, 1.8), Math.max(0, endsAtMs - performance.now())))
      if (weather.share >= from && !isOver()) await work(random)
    }
  }
  const watch = async (): Promise<void> => {
    while (!isOver()) {
      await sleep(1_000)
      const [ofUpstream, { ended }] = await Promise.all([upstream.fired(), agents.counts()])
      if (options.isEnough({ ...chronicle.fired, ...ofUpstream }, ended)) endsAtMs = performance.now()
    }
  }
  const sky = async (): Promise<void> => {
    while (!isOver()) {
      const pause = (ms: number): Promise<void> => sleep(Math.min(ms, Math.max(0, endsAtMs - performance.now())))
      weather.share = 1
      await pause(STORM_MS)
      weather.share = 0
      // What storms left behind would last as long as the calm does.
      upstream.status('mixed')
      await pause(LULL_MS)
      // Networks can be bad, and processes stand still, while nothing worse befalls them.
      weather.share = LIGHT_SHARE
      await pause(pace.calmMs)
    }
  }
  const ofProcesses = (random: Random) => ({ replicas, chronicle, random })
  const led = (port: number): void => { for (const way of toRedis) way.lead(port) }
  await Promise.all([
    sky(),
    watch(),
    keep('kill', pace.killMs, random => killOne(ofProcesses(random))),
    keep('stop', pace.stopMs, random => stopOne(ofProcesses(random)), LIGHT_SHARE),
    keep('term', pace.termMs, random => endOne(ofProcesses(random))),
    keep('roll', pace.rollMs, random => roll(ofProcesses(random))),
    keep('partition', 1_200, random => partitionOne({ chronicle, random, upstream: toUpstream, redis: toRedis }), LIGHT_SHARE),
    keep('status', 4_000, async random => { upstream.status(random.one(STATUSES)) }),
    pair === null ? null : keep('redis', pace.storeMs, random => {
      const blow = options.stateLoss && random.chance(FORGETS) ? makeRedisForget : strikeRedis
      return blow({ pair, chronicle, random, led })
    }),
  ])
}

/** From here on nothing is hurt. */
async function heal ({ weather, upstream, toUpstream, toRedis, armoury, replicas, pair }: Ground): Promise<number> {
  weather.share = 0
  armoury.calm()
  upstream.calm(true)
  upstream.status('honest')
  // What is armed, or has a fate, would go on hurting.
  await Promise.all(replicas.urls.map(async (_, at) => { while (!await replicas.replace(at, 'SIGTERM')) await sleep(50) }))
  toUpstream.reset()
  for (const way of toRedis) way.reset()
  if (pair !== null) await pair.primary.command('PING')
  return Date.now()
}

/** True once nothing is left that a look-up could still settle. */
async function drain ({ options, pair, replicas }: Ground): Promise<boolean> {
  const endsAtMs = performance.now() + options.drainMs
  // The gauges of the embedded store are a little old, and do not tell of what still waits for its deadline.
  if (pair === null) await sleep(GAUGES_MS)
  for (;;) {
    const left = pair === null ? await unresolvedBy(replicas.operationsUrl(0)!) : await unsettledInRedis(pair.primary.port)
    if (left === 0) return true
    if (performance.now() > endsAtMs) return false
    await sleep(500)
  }
}
