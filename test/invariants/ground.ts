// What the tests of the invariants stand on: a broker on either store, in front of the works of test/crash (an upstream that keeps no promise about
// repeats, so that a second send is a second effect) or in front of the bundled shop.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Environment } from '../../src/config.ts'
import { askControl, type ControlAnswer, type ControlCommand } from '../../src/http/control.ts'
import { makeWorksSite, startWorks, WORKER, type Works } from '../crash/works.ts'
import {
  makeShopSite, startBrokerProcess, startTestBroker, type BrokerProcess, type Client, type Reached, type ShopSite, type Site, type TestBroker,
  type TokenClaims,
} from '../support/broker.ts'
import { startRedis, type RedisServer } from '../support/redis.ts'
import { startRedisTap, type RedisTap } from './redis-tap.ts'

export type StoreKind = 'sqlite' | 'redis'
export const STORES: readonly StoreKind[] = ['sqlite', 'redis']

export type Keep = <T>(thing: T, close: (thing: T) => unknown) => T

/** Whatever a test starts ends with it, the last one first. */
export function keeping (t: TestContext): Keep {
  const closers: Array<() => unknown> = []
  t.after(async () => {
    for (const close of closers.reverse()) await close()
  })
  return (thing, close) => {
    closers.push(() => close(thing))
    return thing
  }
}

/** Where the attempts of a test live; `redis` and `tap` are null on the embedded store. */
export interface State {
  readonly env: Environment
  readonly redis: RedisServer | null
  /** Between the broker and Redis. */
  readonly tap: RedisTap | null
}

async function openState (keep: Keep, kind: StoreKind): Promise<State> {
  if (kind === 'sqlite') return { env: {}, redis: null, tap: null }
  const redis = keep(await startRedis(), server => server.stop())
  const tap = keep(await startRedisTap(redis.port), one => one.stop())
  return { env: { AVAL_STATE: `redis://127.0.0.1:${tap.port}` }, redis, tap }
}

export interface WorksGround {
  readonly works: Works
  readonly state: State
  readonly site: Site
  /** Of the one run of the test. */
  readonly token: string
  broker (env?: Environment): Promise<TestBroker>
  process (): Promise<BrokerProcess>
}

export async function worksGround (t: TestContext, kind: StoreKind, env: Environment = {}, edit?: (site: Site) => void): Promise<WorksGround> {
  const keep = keeping(t)
  const works = keep(await startWorks(), one => one.stop())
  const state = await openState(keep, kind)
  const site = keep(await makeWorksSite(works, { ...state.env, ...env }), one => one.remove())
  edit?.(site)
  return {
    works,
    state,
    site,
    token: await site.token({ ...WORKER, run: 'run-1' }),
    broker: async more => keep(await startTestBroker(site, more), broker => broker.close()),
    process: async () => keep(await startBrokerProcess(site), broker => broker.kill9()),
  }
}

export interface ShopGround {
  readonly shop: ShopSite['shop']
  readonly state: State
  readonly site: ShopSite
  readonly broker: TestBroker
  token (claims?: TokenClaims): Promise<string>
}

export async function shopGround (t: TestContext, kind: StoreKind, env: Environment = {}): Promise<ShopGround> {
  const keep = keeping(t)
  const state = await openState(keep, kind)
  const site = keep(await makeShopSite({ env: { ...state.env, ...env }, deployMs: 300 }), async one => {
    await one.shop.close()
    one.remove()
  })
  const broker = keep(await startTestBroker(site), one => one.close())
  return { shop: site.shop, state, site, broker, token: claims => site.token(claims) }
}

export type AuditRow = {
  readonly event: string
  readonly seq: number
  readonly correlation_id?: string
  readonly code?: string
  readonly outcome?: string
  readonly sent?: boolean
  readonly by?: string
  /** Of calls alone. */
  readonly step?: string
  readonly attempt?: { readonly id: string, readonly state?: string, readonly duplicate?: true }
}

export const auditFiles = (site: Site): readonly string[] => auditFilesIn(join(site.folder, 'data'))

function auditFilesIn (dataFolder: string): readonly string[] {
  const folder = join(dataFolder, 'audit')
  return readdirSync(folder).filter(name => name.endsWith('.jsonl')).sort().map(name => join(folder, name))
}

/** Every whole row that is in the audit folder now. */
export const auditRows = (site: Site): readonly AuditRow[] => auditRowsIn(join(site.folder, 'data'))

/** The same, of one replica of several. */
export function auditRowsIn (dataFolder: string): readonly AuditRow[] {
  const lines = auditFilesIn(dataFolder).flatMap(path => readFileSync(path, 'utf8').split('\n'))
  return lines.filter(line => line.endsWith('}')).map(line => JSON.parse(line) as AuditRow)
}

/** Changes a file of the site, and the change is one. */
export function edited (site: Site, path: string, change: (text: string) => string): void {
  const text = readFileSync(join(site.folder, path), 'utf8')
  const changed = change(text)
  if (changed === text) throw new Error(`nothing of ${path} was changed`)
  writeFileSync(join(site.folder, path), changed)
}

/** What the operators of this broker are answered. */
export function controlOf (site: Site, command: ControlCommand): Promise<ControlAnswer> {
  return askControl(join(site.folder, 'data', 'control.sock'), command)
}

/** Asks for an attempt until it is settled, or for half a minute. */
export async function ending (client: Client, token: string, answer: Reached): Promise<Reached> {
  return answer.status === 202 ? client.attempt(token, answer.body.attempt_id) : answer
}

/** All of them, a few at a time: a broker that is flooded refuses, and a time-out that the test's own load causes proves nothing. */
export async function inTurns<T> (all: readonly T[], work: (one: T) => Promise<void>, atOnce = 8): Promise<void> {
  const left = [...all]
  await Promise.all(Array.from({ length: atOnce }, async () => {
    for (let one = left.shift(); one !== undefined; one = left.shift()) await work(one)
  }))
}

export async function eventually (holds: () => boolean | Promise<boolean>, what: string, withinMs = 15_000): Promise<void> {
  const endsAtMs = performance.now() + withinMs
  while (!await holds()) {
    if (performance.now() > endsAtMs) throw new Error(`this never came true: ${what}`)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}
