// A short run of the rig, for itself: replicas in front of the yard, agents, and a few chosen faults, all by one seed. The rounds of the gate are longer
// and worse; this one proves by mutants that the rig sees what it must see.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, createWriteStream, globSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Environment } from '../../src/config.ts'
import { certificateFiles } from '../support/certificates.ts'
import { PROCESS_ENV } from '../support/process-env.ts'
import { freePort, startRedis, type RedisServer } from '../support/redis.ts'
import { startAgents } from './agents.ts'
import { startFaultProxy } from './fault-proxy.ts'
import { draw, type RunFacts } from './folder.ts'
import { CLOCK_AHEAD } from './invariants/sends.ts'
import { openDesk, startPeople } from './people.ts'
import { credentialOf, makeSite, tenantNames } from './site.ts'
import { keptInRedis, keptInSqlite, writeStore } from './store-dump.ts'
import { startUpstream, type StatusOrder } from './upstream.ts'

export interface ShortRunOptions {
  readonly folder: string
  readonly seed: string
  readonly seconds: number
  readonly store: 'redis' | 'sqlite'
  readonly replicas?: number
  readonly atOnce?: number
  /** Between two kills of a replica; none by default. */
  readonly killEveryMs?: number
  /** Between two stops of a replica, from which it wakes after 1.2 to 3 s; none by default. */
  readonly stopEveryMs?: number
  /** Between two kills of Redis, which is away for `redisDownMs` then; none by default. */
  readonly killRedisEveryMs?: number
  /** Default 300. */
  readonly redisDownMs?: number
  /** One of so many replies of Redis is lost, and its connection with it; none by default. */
  readonly loseReplyOf?: number
  /** The wall clock of the last replica is ahead by so much. */
  readonly skewSeconds?: number
  readonly faultShare?: number
  readonly only?: readonly string[]
  readonly status?: StatusOrder
  /** Names of what look-ups meet while the status is not honest. */
  readonly statusOnly?: readonly string[]
  readonly http2?: boolean
  /** How the brokers name the yard; default `http://127.0.0.1`. */
  readonly origin?: string
  readonly stories?: readonly string[]
  readonly actions?: readonly string[]
  readonly lagMs?: number
  /** After healing, until everything that can settle has; default 12 s. */
  readonly drainMs?: number
  /** There are people, and what needs their yes is asked for. */
  readonly people?: boolean
  readonly env?: Environment
}

const ROOT = join(import.meta.dirname, '..', '..')

interface Replica {
  readonly child: ChildProcess
  readonly url: string
}

async function startReplica (folder: string, at: number, env: Environment): Promise<Replica> {
  const data = join(folder, `replica-${at}`)
  mkdirSync(data, { recursive: true, mode: 0o700 })
  const child = spawn(process.execPath, ['src/cli.ts', 'serve', '--json'], {
    cwd: ROOT,
    env: { ...PROCESS_ENV, AVAL_AGENTS: '127.0.0.1:0', AVAL_OPERATIONS: '127.0.0.1:0', ...env, AVAL_DATA: data },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const log = createWriteStream(join(folder, `replica-${at}.log`), { flags: 'a' })
  child.stderr.pipe(log)
  const ended = once(child, 'exit').then(() => null)
  const line = await Promise.race([new Promise<string>(resolve => createInterface({ input: child.stdout! }).once('line', resolve)), ended])
  if (line === null) throw new Error(`replica ${at} did not start; see ${folder}/replica-${at}.log`)
  return { child, url: (JSON.parse(line) as { agents: string }).agents }
}

async function end (child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill(signal)
  await exited
}

export async function shortRun (options: ShortRunOptions): Promise<void> {
  const { folder, seed, store } = options
  mkdirSync(folder, { recursive: true })
  const startedAtMs = Date.now()
  const tenants = tenantNames(6)
  const credentials = Object.fromEntries(tenants.map(tenant => [tenant, credentialOf(seed, tenant)]))
  const redis = store === 'redis' ? await startRedis({ appendfsync: 'always' }) : null
  const upstream = await startUpstream({
    folder, seed, credentials,
    ...(options.faultShare === undefined ? {} : { faultShare: options.faultShare }),
    ...(options.only === undefined ? {} : { only: options.only }),
    ...(options.lagMs === undefined ? {} : { lagMs: options.lagMs }),
    ...(options.statusOnly === undefined ? {} : { statusOnly: options.statusOnly }),
    ...(options.http2 === undefined ? {} : { http2: options.http2 }),
  })
  upstream.status(options.status ?? 'mixed')
  const site = await makeSite({ folder, port: upstream.port, tenants, seed, ...(options.origin === undefined ? {} : { origin: options.origin }) })
  const fired: Record<string, number> = {}
  if (options.skewSeconds !== undefined) fired[CLOCK_AHEAD] = 1
  const count = redis === null ? 1 : options.replicas ?? 2
  const way = redis === null ? null : await wayTo(redis, options, fired)
  const desk = options.people === true ? await openDesk() : null
  const peoplePorts: number[] = []
  for (let at = 0; desk !== null && at < count; at++) peoplePorts.push(await freePort())
  const envOf = (at: number): Environment => ({
    ...site.env, ...(desk === null ? {} : { ...desk.env, AVAL_PEOPLE: `127.0.0.1:${peoplePorts[at]}` }), ...options.env, ...(options.http2 === true ? { NODE_EXTRA_CA_CERTS: certificateFiles('valid').authority } : {}),
    ...(way === null ? {} : { AVAL_STATE: `redis://127.0.0.1:${way.port}` }),
    ...(options.skewSeconds !== undefined && at === count - 1 ? clockAhead(options.skewSeconds) : {}),
  })
  const replicas = await Promise.all(Array.from({ length: count }, (_, at) => startReplica(folder, at, envOf(at))))
  const urls = (): string[] => replicas.map(({ url }) => url)
  const agents = await startAgents({
    folder, seed, tenants, replicas: urls(), atOnce: options.atOnce ?? 48,
    ...(options.stories === undefined ? {} : { stories: options.stories }),
    ...(options.actions === undefined ? {} : { actions: options.actions }),
    patienceMs: 25_000, people: desk !== null,
  })
  const people = desk === null ? null : startPeople({ folder, seed, idp: desk.idp, urls: () => peoplePorts.map(port => `http://127.0.0.1:${port}`) })
  const tell = (what: string, state?: string): void => {
    appendFileSync(join(folder, 'nemesis.jsonl'), `${JSON.stringify({ t: Date.now(), what, ...(state === undefined ? {} : { state }) })}\n`)
    if (state !== 'up') fired[what] = (fired[what] ?? 0) + 1
  }
  const endsAtMs = performance.now() + options.seconds * 1_000
  await Promise.all([
    sleep(options.seconds * 1_000),
    every(options.killEveryMs, endsAtMs, async turn => {
      const at = Math.floor(draw(seed, 'victim', turn) * count)
      tell('kill')
      await end(replicas[at]!.child, 'SIGKILL')
      replicas[at] = await startReplica(folder, at, envOf(at))
      agents.replicas(urls())
    }),
    every(options.stopEveryMs, endsAtMs, async turn => {
      const { child } = replicas[Math.floor(draw(seed, 'stopped', turn) * count)]!
      tell('stop')
      child.kill('SIGSTOP')
      await sleep(1_200 + draw(seed, 'stopped for', turn) * 1_800)
      child.kill('SIGCONT')
    }),
    redis === null ? null : every(options.killRedisEveryMs, endsAtMs, () => killRedis(redis, options.redisDownMs ?? 300, tell)),
  ])
  upstream.calm(true)
  way?.heal()
  const healedAtMs = Date.now()
  const [counts] = await Promise.all([agents.stop(), sleep(options.drainMs ?? 12_000)])
  await people?.stop()
  const all = { ...fired, ...await upstream.fired(), ...Object.fromEntries(Object.entries(people?.counts() ?? {}).map(([says, times]) => [`people:${says}`, times])) }
  for (const { child } of replicas) await end(child, 'SIGTERM')
  writeStore(folder, redis === null ? keptInSqlite(join(folder, 'replica-0', 'aval.db')) : await keptInRedis(redis.port))
  await upstream.stop()
  await desk?.stop()
  await way?.stop()
  await redis?.stop()
  const facts: RunFacts = { seed, store, startedAtMs, healedAtMs, endedAtMs: Date.now(), drained: true }
  writeFileSync(join(folder, 'run.json'), JSON.stringify(facts))
  writeFileSync(join(folder, 'fired.json'), JSON.stringify(all))
  console.error(JSON.stringify({ ...counts, seconds: (Date.now() - startedAtMs) / 1_000 }))
}

interface Way {
  readonly port: number
  heal (): void
  stop (): Promise<void>
}

/** Between the brokers and Redis. */
async function wayTo (redis: RedisServer, { loseReplyOf, seed }: ShortRunOptions, fired: Record<string, number>): Promise<Way> {
  let connections = 0
  let calm = loseReplyOf === undefined
  const proxy = await startFaultProxy({
    port: redis.port,
    fate: () => calm ? null : { kind: 'drop reply', nth: Math.ceil(draw(seed, 'reply', connections++) * 2 * loseReplyOf!) },
    fired: name => { fired[`network:redis:${name}`] = (fired[`network:redis:${name}`] ?? 0) + 1 },
    random: () => draw(seed, 'way', connections),
  })
  return {
    port: proxy.port,
    heal () {
      calm = true
      proxy.reset()
    },
    stop: () => proxy.stop(),
  }
}

/** Debian's libfaketime: the time of day alone is ahead, what is monotonic stays as it is. @throws where it is not installed */
function clockAhead (seconds: number): Environment {
  const [library] = globSync('/usr/lib/*/faketime/libfaketime.so.1')
  if (library === undefined) throw new Error('libfaketime is not installed; on Debian: apt-get install -y faketime')
  return { LD_PRELOAD: library, FAKETIME: `+${seconds}s`, FAKETIME_DONT_FAKE_MONOTONIC: '1', DONT_FAKE_MONOTONIC: '1' }
}

async function killRedis (redis: RedisServer, downMs: number, tell: (what: string, state?: string) => void): Promise<void> {
  tell('redis', 'down')
  await redis.kill9()
  await sleep(downMs)
  await redis.restart()
  tell('redis', 'up')
}

async function every (ms: number | undefined, endsAtMs: number, work: (turn: number) => Promise<void>): Promise<void> {
  if (ms === undefined) return
  for (let turn = 0; performance.now() + ms < endsAtMs; turn++) {
    await sleep(ms)
    await work(turn)
  }
}
