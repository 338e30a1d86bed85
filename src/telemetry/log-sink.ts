// Where log lines go: gathered for a moment and written together, because a write of its own for every line costs more than the line does.
import { pino } from 'pino'

export interface LogSink {
  write (line: string): void
  /** Everything that was written is handed to the system when this returns. */
  flushSync (): void
}

/** A line is seen this much later at most. */
const GATHER_MS = 20
const GATHER_CHARACTERS = 64_000

let stderr: LogSink | null = null

/** Standard error: one for the process. A process that ends by itself, by an exception too, writes what is left. */
export function stderrSink (): LogSink {
  if (stderr !== null) return stderr
  stderr = openLogSink(2)
  process.once('exit', stderr.flushSync)
  return stderr
}

function openLogSink (fd: number): LogSink {
  const out = pino.destination({ dest: fd, sync: false })
  let gathered = ''
  let timer: NodeJS.Timeout | null = null

  const release = (): void => {
    if (timer !== null) clearTimeout(timer)
    timer = null
    const text = gathered
    gathered = ''
    if (text !== '') out.write(text)
  }
  const flushSync = (): void => {
    release()
    out.flushSync()
  }
  return {
    write (line) {
      gathered += line
      if (gathered.length >= GATHER_CHARACTERS) release()
      else timer ??= setTimeout(release, GATHER_MS).unref()
    },
    flushSync,
  }
}
