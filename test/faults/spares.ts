// Processes that are ready to become a broker (spare.ts).
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import type { Environment } from '../../src/config.ts'
import { bundledBroker, type Bundle } from './bundle.ts'

/** With everything else that runs at the same time. */
const START_MS = 60_000
const ROOT = join(import.meta.dirname, '..', '..')

export interface Started {
  readonly child: ChildProcess
  /** What it says when it serves; null: it ended before. */
  readonly line: string | null
  /** It neither served nor ended in time, and was killed. */
  readonly late: boolean
}

interface Spare {
  readonly child: ChildProcess
  readonly lines: Interface
  readonly ready: Promise<unknown>
}

export class Spares {
  readonly #cacheFolder: string
  readonly #bundle: Bundle
  readonly #count: number
  readonly #spares: Spare[] = []
  #closed = false

  private constructor (count: number, cacheFolder: string, bundle: Bundle) {
    this.#count = count
    this.#cacheFolder = cacheFolder
    this.#bundle = bundle
    this.#refill()
  }

  /** @param cacheFolder where the broker's code is put in few files, and Node keeps it compiled */
  static async open (count: number, cacheFolder: string): Promise<Spares> {
    return new Spares(count, cacheFolder, await bundledBroker(join(cacheFolder, 'broker')))
  }

  /** Becomes a broker with this environment. */
  async start (env: Environment, stderr: NodeJS.WritableStream): Promise<Started> {
    const { child, lines, ready } = this.#spares.shift() ?? this.#make()
    this.#refill()
    child.stderr!.pipe(stderr, { end: false })
    const ended = once(child, 'exit').then(() => null)
    await Promise.race([ready, ended])
    if (child.exitCode !== null || child.signalCode !== null) return { child, line: null, late: false }
    const said = new Promise<string>(resolve => { lines.once('line', resolve) })
    child.stdin!.write(`${JSON.stringify(env)}\n`)
    let late = false
    const timer = setTimeout(() => {
      late = true
      keepTrace(child.pid!, join(this.#cacheFolder, '..', `late-${child.pid}.txt`))
      child.kill('SIGKILL')
    }, START_MS)
    const line = await Promise.race([said, ended])
    clearTimeout(timer)
    return { child, line, late }
  }

  async stop (): Promise<void> {
    this.#closed = true
    await Promise.all(this.#spares.splice(0).map(async ({ child }) => {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    }))
  }

  #refill (): void {
    while (!this.#closed && this.#spares.length < this.#count) this.#spares.push(this.#make())
  }

  #make (): Spare {
    const child = spawn(process.execPath, ['--max-semi-space-size=32', '--import', this.#bundle.spare, this.#bundle.cli, 'serve', '--json'], {
      cwd: ROOT,
      env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: this.#cacheFolder },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    // A spare that is killed while its environment is on the way.
    child.stdin.on('error', () => {})
    const lines = createInterface({ input: child.stdout })
    return { child, lines, ready: once(lines, 'line') }
  }
}

/** What a process that should have ended, or served, holds open and waits for. */
function keepTrace (pid: number, path: string): void {
  const proc = `/proc/${pid}`
  const open = readdirSync(`${proc}/fd`).map(fd => `${fd} ${readlinkSync(`${proc}/fd/${fd}`)}`)
  writeFileSync(path, [readFileSync(`${proc}/status`, 'utf8'), ...open, readFileSync(`${proc}/net/tcp`, 'utf8')].join('\n'))
}
