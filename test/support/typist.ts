// Somebody at a terminal: a command whose stdin is one, while what it prints can still be read apart. `script` is part of every Debian.
import { spawn, type ChildProcess } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'

export interface AtTerminal {
  readonly child: ChildProcess
  readonly keyboard: Writable
  readonly stdout: Readable
  readonly stderr: Readable
}

export function atTerminal (words: readonly string[]): AtTerminal {
  const command = [process.execPath, ...words].map(word => `'${word.replaceAll("'", "'\\''")}'`).join(' ')
  const child = spawn('script', ['--quiet', '--return', '--command', `exec ${command} >&3 2>&4`, '/dev/null'], {
    stdio: ['pipe', 'ignore', 'inherit', 'pipe', 'pipe'], env: { ...process.env, SHELL: '/bin/sh' },
  })
  const [keyboard, , , stdout, stderr] = child.stdio as unknown as readonly [Writable, null, null, Readable, Readable]
  return { child, keyboard, stdout, stderr }
}
