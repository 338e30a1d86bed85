// Brokers in front of the works, on either store, gone when the test is over.
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Environment } from '../../src/config.ts'
import { startBrokerProcess, startTestBroker, type BrokerProcess, type Site, type TestBroker } from '../support/broker.ts'
import { startRedis, type RedisServer } from '../support/redis.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { makeWorksSite, startWorks, WORKER, type Works } from './works.ts'

export interface Rig {
  readonly works: Works
  readonly site: Site
  /** An access token of one run that all calls of the test share. */
  readonly token: string
}

export interface RedisRig extends Rig {
  readonly redis: RedisServer
  /** One replica, with a data folder and a way to Redis of its own. */
  replica (env?: Environment): Promise<Replica>
}

export interface Replica {
  readonly broker: BrokerProcess
  readonly dataFolder: string
  /** Between this replica and Redis. */
  readonly way: TcpProxy
}

/** What a test started ends in the opposite order: a broker before what it talks to. */
const closers = new WeakMap<TestContext, Array<() => unknown>>()

function atEnd (t: TestContext, close: () => unknown): void {
  let ours = closers.get(t)
  if (ours === undefined) {
    const list: Array<() => unknown> = ours = []
    closers.set(t, list)
    t.after(async () => {
      for (const one of list.reverse()) await one()
    })
  }
  ours.push(close)
}

export async function makeRig (t: TestContext): Promise<Rig> {
  const works = await startWorks()
  atEnd(t, () => works.stop())
  const site = await makeWorksSite(works)
  atEnd(t, () => site.remove())
  return { works, site, token: await site.token({ ...WORKER, run: 'run-1' }) }
}

/** `aval serve` on the embedded store. */
export async function serve (t: TestContext, rig: Rig, env: Environment = {}): Promise<BrokerProcess> {
  const broker = await startBrokerProcess(rig.site, env)
  atEnd(t, () => broker.kill9())
  return broker
}

/** A broker in the process of the test, on the embedded store. */
export async function serveHere (t: TestContext, rig: Rig, env: Environment = {}): Promise<TestBroker> {
  const broker = await startTestBroker(rig.site, env)
  atEnd(t, () => broker.close())
  return broker
}

export async function makeRedisRig (t: TestContext, settings: readonly string[] = []): Promise<RedisRig> {
  const redis = await startRedis({ settings })
  atEnd(t, () => redis.stop())
  const rig = await makeRig(t)
  let replicas = 0
  return {
    ...rig,
    redis,
    async replica (env = {}) {
      const way = await startTcpProxy({ port: redis.port })
      atEnd(t, () => way.stop())
      const dataFolder = join(rig.site.folder, `replica-${replicas++}`)
      const broker = await serve(t, rig, { AVAL_STATE: `redis://127.0.0.1:${way.port}`, AVAL_DATA: dataFolder, ...env })
      return { broker, dataFolder, way }
    },
  }
}

/** Asks again and again until it holds. @throws where it never does */
export async function until (what: string, holds: () => boolean | Promise<boolean>, withinMs = 30_000): Promise<void> {
  const endsAtMs = performance.now() + withinMs
  while (!await holds()) {
    if (performance.now() > endsAtMs) throw new Error(`it never came to pass that ${what}`)
    await sleep(10)
  }
}

/** The state of the only attempt in Redis, read past the brokers; null: there is none yet. */
export async function stateInRedis (redis: RedisServer): Promise<string | null> {
  const [key] = /aval:\{t[0-9a-f]{2}\}:attempt:att_[0-9a-f]+/.exec(await redis.command('KEYS', 'aval:*:attempt:*')) ?? []
  if (key === undefined) return null
  return /\r\n([a-z]+)\r\n/.exec(await redis.command('HGET', key, 'state'))?.[1] ?? null
}
