// The processes of a run and the site of the broker in it: started once, asked in turn, all gone afterwards.
import { fork, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Usage } from './child.ts'
import type { Load, Loaded } from './load.ts'
import { makeSite, type Site } from '../test/support/broker.ts'
import { startRedis, type RedisServer } from '../test/support/redis.ts'
import { siteFiles } from './site.ts'

export interface Process {
  readonly pid: number
  readonly port: number
  usage (): Promise<Usage>
  stop (): Promise<void>
}

export interface LoadProcess extends Process {
  run (load: Load): Promise<Loaded>
}

export interface Rig {
  readonly upstream: Process
  readonly bare: Process
  readonly proxy: Process
  /** A broker on SQLite for reads alone, one for writes: nothing but its own subject has passed through a process. */
  readonly reading: Process
  readonly sqlite: Process
  readonly redis: Process
  readonly loads: readonly LoadProcess[]
  /** One an agent and run. */
  readonly tokens: readonly string[]
  stop (): Promise<void>
}

export interface RigOptions {
  readonly connections: number
  /** A folder for CPU profiles of the servers; null: none. */
  readonly profiles: string | null
  /** More arguments of Node for the brokers. */
  readonly nodeArguments?: readonly string[]
  /** Load generators; one by default. */
  readonly loads?: number
}

/** The arguments of Node that `npm run serve` gives. */
export const SERVE = /^node (.*) ?src\/cli\.ts serve$/.exec(packageScripts().serve!)![1]!.split(' ').filter(Boolean)

function packageScripts (): { readonly serve?: string } {
  return (JSON.parse(readFileSync(join(import.meta.dirname, '..', 'package.json'), 'utf8')) as { readonly scripts: { readonly serve?: string } }).scripts
}

export async function startRig (options: RigOptions): Promise<Rig> {
  const stops: Array<() => unknown> = []
  const stop = async (): Promise<void> => {
    for (const one of stops.splice(0).reverse()) await one()
  }
  const add = <T extends { stop (): unknown }> (thing: T): T => {
    stops.push(() => thing.stop())
    return thing
  }
  try {
    const upstream = add(await start('upstream.ts', [], {}))
    const forwarders = { args: [String(upstream.port)], node: profiling(options.profiles, 'forwarder') }
    const bare = add(await start('serve-bare.ts', forwarders.args, { node: forwarders.node }))
    const proxy = add(await start('serve-proxy.ts', forwarders.args, { node: forwarders.node }))
    const state = add<RedisServer>(await startRedis({ appendfsync: 'everysec' }))
    const broker = async (env: Record<string, string>): Promise<{ process: Process, site: Site }> => {
      const site = await makeSite({ files: siteFiles(upstream.port), env: { AVAL_LOG: 'info', BENCH_KEY: randomBytes(24).toString('base64url'), ...env } })
      stops.push(() => site.remove())
      const log = join(site.folder, 'log.jsonl')
      const node = [...profiling(options.profiles, 'aval'), ...SERVE, ...options.nodeArguments ?? []]
      return { site, process: add(await start('serve-aval.ts', [], { env: site.env as NodeJS.ProcessEnv, log, node })) }
    }
    const reading = await broker({})
    const issuer = { AVAL_JWKS: reading.site.env['AVAL_JWKS']! }
    const sqlite = await broker(issuer)
    const redis = await broker({ ...issuer, AVAL_STATE: state.url })
    const loads = await Promise.all(Array.from({ length: options.loads ?? 1 }, async () => add(loadProcess(await launch('load.ts', [], {})))))
    const tokens = await Promise.all(Array.from({ length: options.connections }, (_, index) => reading.site.token({ sub: `agent-${index}`, roles: ['clerk'], claims: { groups: ['staff'] } })))
    return { upstream, bare, proxy, reading: reading.process, sqlite: sqlite.process, redis: redis.process, loads, tokens, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

const profiling = (folder: string | null, name: string): readonly string[] =>
  folder === null ? [] : ['--cpu-prof', `--cpu-prof-dir=${join(folder, name)}`]

interface How {
  readonly env?: NodeJS.ProcessEnv
  /** A file for standard error. */
  readonly log?: string
  readonly node?: readonly string[]
}

interface Forked {
  readonly pid: number
  readonly port: number
  ask (message: unknown): Promise<unknown>
  stop (): Promise<void>
}

export async function start (file: string, args: readonly string[], how: How): Promise<Process> {
  const forked = await launch(file, args, how)
  return { pid: forked.pid, port: forked.port, usage: () => forked.ask('usage') as Promise<Usage>, stop: () => forked.stop() }
}

export const loadProcess = (forked: Forked): LoadProcess =>
  ({ ...forked, usage: () => forked.ask('usage') as Promise<Usage>, run: load => forked.ask(load) as Promise<Loaded> })

export async function launch (file: string, args: readonly string[], how: How): Promise<Forked> {
  const child = fork(join(import.meta.dirname, file), args, {
    env: { PATH: process.env['PATH'], ...how.env },
    execArgv: [...how.node ?? []],
    stdio: ['ignore', 'inherit', how.log === undefined ? 'inherit' : openSync(how.log, 'w'), 'ipc'],
  })
  const ended = new Promise<void>(resolve => child.once('exit', () => resolve()))
  // Of a process that has ended: whoever waits for its message hears so.
  child.on('error', () => {})
  const answer = (): Promise<unknown> => nextMessage(child, () => `${file} ended${how.log === undefined ? '' : `; it said: ${tail(how.log)}`}`)
  const { port } = await answer() as { readonly port: number }
  return {
    pid: child.pid!,
    port,
    ask (message) {
      child.send(message as object)
      return answer()
    },
    async stop () {
      if (child.connected) child.send('stop')
      await ended
    },
  }
}

const tail = (path: string): string => readFileSync(path, 'utf8').slice(-2_000)

function nextMessage (child: ChildProcess, whyEnded: () => string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const onExit = (): void => { reject(new Error(whyEnded())) }
    child.once('exit', onExit)
    child.once('message', message => {
      child.off('exit', onExit)
      resolve(message)
    })
  })
}
