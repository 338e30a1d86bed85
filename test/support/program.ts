// A program started by a test: its output is kept, what it says can be waited for, and it is gone when the test is over.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { PROCESS_ENV } from './process-env.ts'

const START_MS = 60_000
const ROOT = join(import.meta.dirname, '..', '..')

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Program {
  readonly pid: number
  stdout (): string
  stderr (): string
  /** The first match in stdout and stderr together. @throws where it ends or takes a minute without one */
  says (pattern: RegExp): Promise<RegExpExecArray>
  signal (signal: NodeJS.Signals): void
  ended (): Promise<Ended>
}

export interface ProgramOptions {
  /** The whole environment but PATH and HOME. */
  readonly env?: { readonly [name: string]: string }
  readonly cwd?: string
}

export function startProgram (t: TestContext, command: string, args: readonly string[], options: ProgramOptions = {}): Program {
  const child = spawn(command, args, {
    cwd: options.cwd ?? ROOT,
    env: { ...PROCESS_ENV, HOME: process.env['HOME'], ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', chunk => { stdout += chunk })
  child.stderr.on('data', chunk => { stderr += chunk })
  const closed = once(child, 'close')
  closed.catch(() => {})
  t.after(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
    await closed.catch(() => {})
  })
  return {
    pid: child.pid ?? -1,
    stdout: () => stdout,
    stderr: () => stderr,
    async says (pattern) {
      const endsAtMs = performance.now() + START_MS
      for (;;) {
        const match = pattern.exec(`${stdout}\n${stderr}`)
        if (match !== null) return match
        if (child.exitCode !== null || child.signalCode !== null || performance.now() > endsAtMs) {
          throw new Error(`${command} ${args.join(' ')} never said ${pattern}:\n${stdout}\n${stderr}`)
        }
        await new Promise(resolve => setTimeout(resolve, 20))
      }
    },
    signal: signal => { child.kill(signal) },
    async ended () {
      await closed
      return { code: child.exitCode, stdout, stderr }
    },
  }
}

/** The `aval` command of this checkout, on the Node that runs the test. */
export function startAval (t: TestContext, args: readonly string[], options: ProgramOptions = {}): Program {
  return startProgram(t, process.execPath, [join(ROOT, 'src/cli.ts'), ...args], options)
}

export function aval (t: TestContext, args: readonly string[], options: ProgramOptions = {}): Promise<Ended> {
  return startAval(t, args, options).ended()
}
