// Where log lines go: gathered for a moment and written together, because a write of its own for every line costs more than the line does.
import { writeSync } from 'node:fs'
import { pino } from 'pino'

export interface LogSink {
  write (line: string): void
  /** For the last moment of a process: everything is handed to the system when this returns, as far as it takes it. */
  flushSync (): void
}

/** A line is seen this much later at most. */
const GATHER_MS = 20
const GATHER_CHARACTERS = 64_000
const LAST_WRITE_MS = 1_000

let stderr: LogSink | null = null

/** Standard error: one for the process. A process that ends by itself, by an exception too, writes what is left. */
export function stderrSink (): LogSink {
  if (stderr !== null) return stderr
  stderr = openLogSink(2)
  process.once('exit', stderr.flushSync)
  return stderr
}

/** @param fd an open descriptor */
export function openLogSink (fd: number): LogSink {
  // Of a text instead of a buffer, it would count the bytes three times over.
  const out = pino.destination({ dest: fd, sync: false, contentMode: 'buffer' })
  let gathered = ''
  let timer: NodeJS.Timeout | null = null

  const take = (): string => {
    if (timer !== null) clearTimeout(timer)
    timer = null
    const text = gathered
    gathered = ''
    return text
  }
  const release = (): void => {
    const text = take()
    if (text !== '') out.write(Buffer.from(text) as unknown as string)
  }
  return {
    write (line) {
      gathered += line
      if (gathered.length >= GATHER_CHARACTERS) release()
      else timer ??= setTimeout(release, GATHER_MS).unref()
    },
    flushSync () {
      const text = take()
      try {
        out.flushSync()
        // Not through `out`, whose last write could still be under way when the process ends.
        writeAll(fd, Buffer.from(text))
      } catch {
        // Nobody reads the other end any more.
      }
    },
  }
}

/** A reader that does not keep up is waited for, but not for ever. @throws the error of the descriptor */
function writeAll (fd: number, bytes: Buffer): void {
  const endsAtMs = performance.now() + LAST_WRITE_MS
  for (let written = 0; written < bytes.length;) {
    try {
      written += writeSync(fd, bytes, written)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || performance.now() > endsAtMs) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)
    }
  }
}
