// The brokers of a run: so many `aval serve` on one store, each with a data folder, a way to the store and a port that it keeps. One that ends by itself
// (a failpoint killed it) is started again.
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Environment } from '../../src/config.ts'
import { freePort } from '../support/redis.ts'
import type { Chronicle } from './chronicle.ts'
import { Spares } from './spares.ts'

export interface ReplicasOptions {
  readonly folder: string
  readonly count: number
  /** What all have in common. */
  readonly env: Environment
  /** Folders of sheets, of which one is in force at a time for whichever replica starts; absent: that of `env`. */
  readonly editions?: readonly string[]
  /** AVAL_STATE of each. */
  readonly state: (at: number) => string
  /** AVAL_FAILPOINTS of the next start of a replica; null: none. */
  readonly failpoints: () => string | null
  readonly chronicle: Chronicle
  /** Processes that are kept ready to become a broker. */
  readonly spares: number
  /** Where the brokers' code is kept, in few files and compiled, from round to round. */
  readonly cacheFolder: string
}

const END_MS = 45_000

interface Running {
  readonly child: ChildProcess
  readonly operationsUrl: string
}

export class Replicas {
  readonly urls: readonly string[]
  /** Where people reach each. */
  readonly peopleUrls: readonly string[]
  readonly #options: ReplicasOptions
  readonly #ports: readonly number[]
  readonly #peoplePorts: readonly number[]
  readonly #running: Array<Running | null>
  /** By replica: the lines of its failpoints.log that are counted already. */
  readonly #counted: number[]
  readonly #busy: boolean[]
  readonly #spares: Spares
  #closing = false
  #edition = 0
  /** Of starts that were tried: those that failed, for the store could not be reached. */
  startsFailed = 0

  private constructor (options: ReplicasOptions, spares: Spares, ports: readonly number[], peoplePorts: readonly number[]) {
    this.#options = options
    this.#spares = spares
    this.#ports = ports
    this.#peoplePorts = peoplePorts
    this.urls = ports.map(port => `http://127.0.0.1:${port}`)
    this.peopleUrls = peoplePorts.map(port => `http://127.0.0.1:${port}`)
    this.#running = ports.map(() => null)
    this.#counted = ports.map(() => 0)
    this.#busy = ports.map(() => false)
  }

  static async start (options: ReplicasOptions): Promise<Replicas> {
    const ports: number[] = []
    for (let at = 0; at < options.count * 2; at++) ports.push(await freePort())
    const peoplePorts = ports.splice(options.count)
    const replicas = new Replicas(options, await Spares.open(options.spares, options.cacheFolder), ports, peoplePorts)
    await Promise.all(ports.map((_, at) => replicas.#start(at)))
    return replicas
  }

  get count (): number { return this.#ports.length }

  /** null: it is not running, or somebody else is at it. */
  pid (at: number): number | null {
    return this.#busy[at] === true ? null : this.#running[at]?.child.pid ?? null
  }

  operationsUrl (at: number): string | null { return this.#running[at]?.operationsUrl ?? null }

  get running (): number { return this.#running.filter(one => one !== null).length }

  /** Who starts from now on does so with the next edition of the sheets. */
  renew (): void { this.#edition += 1 }

  /** Ends it and starts it again. false: it is not running, or somebody else is at it. */
  async replace (at: number, signal: 'SIGKILL' | 'SIGTERM'): Promise<boolean> {
    const running = this.#running[at]
    if (running == null || this.#busy[at] === true) return false
    this.#busy[at] = true
    try {
      await this.#end(at, running, signal)
      await this.#start(at)
    } finally {
      this.#busy[at] = false
    }
    return true
  }

  /** Ends and begins each of them, so that none is armed any more. */
  async stop (): Promise<void> {
    this.#closing = true
    await Promise.all(this.#running.map((running, at) => running === null ? null : this.#end(at, running, 'SIGTERM')))
    this.#ports.forEach((_, at) => { this.countFailpoints(at) })
    await this.#spares.stop()
  }

  dataFolder (at: number): string { return join(this.#options.folder, `replica-${at}`) }

  /** Failpoints say in a file of the data folder that they fire, before they do. */
  countFailpoints (at: number): void {
    const lines = readIfThere(join(this.dataFolder(at), 'failpoints.log')).split('\n').slice(0, -1)
    for (const line of lines.slice(this.#counted[at])) {
      const [name, action] = line.split(' ')
      this.#options.chronicle.count(`failpoint:${name}`)
      if (action === 'kill') this.#options.chronicle.count('kill')
      if (action === 'kill') this.#options.chronicle.tell('kill')
    }
    this.#counted[at] = lines.length
  }

  async #start (at: number): Promise<void> {
    while (!this.#closing) {
      if (await this.#tryToStart(at)) return
      this.startsFailed += 1
      await new Promise(resolve => setTimeout(resolve, 200))
    }
  }

  async #tryToStart (at: number): Promise<boolean> {
    const { folder, env, state, editions = [] } = this.#options
    const edition = editions[this.#edition % editions.length]
    const data = this.dataFolder(at)
    mkdirSync(data, { recursive: true, mode: 0o700 })
    const failpoints = this.#options.failpoints()
    const log = createWriteStream(join(folder, `replica-${at}.log`), { flags: 'a' })
    const { child, line, late } = await this.#spares.start({
      ...env,
      ...(edition === undefined ? {} : { AVAL_ACTIONS: edition }),
      AVAL_AGENTS: `127.0.0.1:${this.#ports[at]}`,
      AVAL_PEOPLE: `127.0.0.1:${this.#peoplePorts[at]}`,
      AVAL_OPERATIONS: '127.0.0.1:0',
      AVAL_STATE: state(at),
      AVAL_DATA: data,
      ...(failpoints === null ? {} : { AVAL_FAILPOINTS: failpoints }),
    }, log)
    const ended = child.exitCode !== null || child.signalCode !== null ? Promise.resolve() : once(child, 'exit')
    void ended.then(() => log.end())
    // Nobody would end it any more.
    if (this.#closing) {
      child.kill('SIGKILL')
      return false
    }
    if (line === null) {
      if (late) this.#options.chronicle.count('process:neither served nor ended')
      this.countFailpoints(at)
      return false
    }
    const running: Running = { child, operationsUrl: (JSON.parse(line) as { operations: string }).operations }
    this.#running[at] = running
    void ended.then(() => this.#ended(at, running))
    return true
  }

  /** Nobody here ended it. */
  async #ended (at: number, running: Running): Promise<void> {
    if (this.#running[at] !== running) return
    this.#running[at] = null
    this.countFailpoints(at)
    const { signalCode, exitCode } = running.child
    // SIGKILL is a failpoint's; anything else is a fault of the broker, or of the rig.
    if (signalCode !== 'SIGKILL') this.#options.chronicle.count(`process:ended by itself (${signalCode ?? exitCode})`)
    if (!this.#closing) await this.#start(at)
  }

  async #end (at: number, running: Running, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const { child } = running
    if (child.exitCode === null && child.signalCode === null) {
      this.#running[at] = null
      const exited = once(child, 'exit')
      child.kill(signal)
      const late = setTimeout(() => {
        this.#options.chronicle.count('process:did not end when told')
        child.kill('SIGKILL')
      }, END_MS)
      await exited
      clearTimeout(late)
    }
    this.countFailpoints(at)
  }
}

function readIfThere (path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
