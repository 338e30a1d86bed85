// The log: one JSON object a line, made of typed events and of fields that are named here. No function takes a request, headers, a body or an error's
// cause, so none can be written by accident; the last filter before the descriptor takes live secrets out of whatever is left.
import { pino, type Logger as Pino } from 'pino'
import { isoTime } from './iso-time.ts'
import { stderrSink } from './log-sink.ts'
import type { AttemptEventTold, CallEvent, Telemetry } from './telemetry.ts'
import { escapeLine } from './visible.ts'

export type LogLevel = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent'

/** All that may stand beside the message of a note. */
const NOTE_FIELDS = [
  'action', 'address', 'attempt_id', 'code', 'correlation_id', 'count', 'definition', 'digest', 'duration_ms', 'file', 'proposal_id', 'reason',
  'signal', 'upstream', 'writer',
] as const
export type NoteFields = { readonly [Name in (typeof NOTE_FIELDS)[number]]?: string | number | boolean | null }

export interface Logger {
  /** One line a call; `field` is the bounded one (fields.ts). */
  call (event: CallEvent): void
  attempt (event: AttemptEventTold): void
  integrity (event: Parameters<Telemetry['integrity']>[0]): void
  withheld (event: Parameters<Telemetry['withheld']>[0]): void
  /** What the process itself has to say: it listens, it reloaded, it stops. */
  note (level: Exclude<LogLevel, 'silent'>, message: string, fields?: NoteFields): void
  /** A fault: its name, code and message, and the stack of our own files, never its cause or its other properties. */
  fault (message: string, error: unknown, fields?: NoteFields): void
  /** Writes what is still held back, at once: for the last moment of a process. */
  flush (): void
}

export interface LoggerOptions {
  readonly level: LogLevel
  /** Takes the secrets that are alive now out of a text. */
  readonly scrub: (text: string) => string
  /** Default: standard error. */
  readonly destination?: { write (line: string): void, flushSync? (): void }
}

const TEXT_MAX = 2_000

export function createLogger (options: LoggerOptions): Logger {
  const destination = options.destination ?? stderrSink()
  const last = { write: (line: string): void => { destination.write(`${escapeLine(scrubLine(options.scrub, line))}\n`) } }
  const timestamp = (): string => `,"time":"${isoTime(Date.now())}"`
  const log = pino({ level: options.level, base: null, timestamp, formatters: { level: label => ({ level: label }) } }, last)
  return {
    call (event) {
      // As pino would write it: JSON.stringify writes so many plain fields in half the time, and every call has such a line.
      const level = callLevel(event)
      if (log.isLevelEnabled(level)) last.write(JSON.stringify(callFields(event, level)))
    },
    attempt: event => log.info(attemptFields(event), 'attempt changed'),
    integrity: event => log.error({ attempt_id: event.attemptId, what: event.what }, 'integrity alarm'),
    withheld: event => log.warn({ action: event.actionId, code: event.code }, 'result withheld'),
    note: (level, message, fields = {}) => log[level](named(fields), message),
    fault: (message, error, fields = {}) => faultLine(log, message, error, fields),
    flush: () => { destination.flushSync?.() },
  }
}

/** A scrubber that fails must not let the line through, nor hide that there was one. */
function scrubLine (scrub: (text: string) => string, line: string): string {
  try {
    return scrub(line.trimEnd())
  } catch {
    return '{"level":"error","msg":"a line could not be scrubbed and was left out"}'
  }
}

function callLevel (event: CallEvent): 'error' | 'warn' | 'info' {
  if (event.code === 'INTERNAL') return 'error'
  return event.outcome === 'unknown' || event.withheld !== null ? 'warn' : 'info'
}

function callFields (event: CallEvent, level: LogLevel): Record<string, unknown> {
  const { actor, upstream } = event
  return {
    level,
    time: isoTime(Date.now()),
    correlation_id: event.correlationId,
    surface: event.surface,
    trace_id: event.traceId ?? undefined,
    tenant: actor.tenant ?? undefined,
    sub: actor.subMark ?? undefined,
    run: actor.runMark ?? undefined,
    source: event.source ?? undefined,
    action: event.actionId ?? undefined,
    // The agent's own text, where it named nothing that is known.
    asked: event.actionId === null ? cut(event.asked, 100) : undefined,
    outcome: event.outcome,
    code: event.code ?? undefined,
    step: event.step,
    field: event.field ?? undefined,
    rule: event.rule ?? undefined,
    attempt_id: event.attemptId ?? undefined,
    attempt_state: event.attemptState ?? undefined,
    duplicate: event.duplicate || undefined,
    sent: event.sent,
    truncated: event.truncated || undefined,
    withheld: event.withheld ?? undefined,
    upstream: upstream === null
      ? undefined
      : { name: upstream.name, method: upstream.method, status: upstream.status, duration_ms: rounded(upstream.durationMs) },
    duration_ms: rounded(event.durationMs),
    internal: event.internal === null ? undefined : cut(event.internal, TEXT_MAX),
    msg: 'call',
  }
}

function attemptFields (event: AttemptEventTold): Record<string, unknown> {
  return {
    correlation_id: event.correlationId,
    attempt_id: event.attemptId,
    action: event.actionId,
    by: event.by,
    state: event.state,
    outcome: event.outcome ?? undefined,
    code: event.code ?? undefined,
    sent: event.sent ?? undefined,
    person: event.personMark ?? undefined,
  }
}

function faultLine (log: Pino, message: string, error: unknown, fields: NoteFields): void {
  const known = error instanceof Error ? error : null
  const code = (error as { readonly code?: unknown } | null)?.code
  log.error({
    ...named(fields),
    error: {
      name: cut(known?.name ?? typeof error, 100),
      code: typeof code === 'string' || typeof code === 'number' ? code : undefined,
      message: cut(known?.message ?? (typeof error === 'object' ? 'something that is no error was thrown' : String(error)), TEXT_MAX),
      at: known?.stack === undefined ? undefined : frames(known.stack),
    },
  }, message)
}

/** Where it happened, without the first line, which repeats the message. */
function frames (stack: string): readonly string[] {
  return stack.split('\n').filter(line => /^\s+at /.test(line)).slice(0, 12).map(line => cut(line.trim(), 300))
}

function named (fields: NoteFields): Record<string, unknown> {
  const kept: Record<string, unknown> = {}
  for (const name of NOTE_FIELDS) {
    const value = fields[name]
    if (value === undefined || value === null) continue
    kept[name] = typeof value === 'string' ? cut(value, TEXT_MAX) : value
  }
  return kept
}

const cut = (text: string, lengthMax: number): string => text.length > lengthMax ? `${text.slice(0, lengthMax)}…` : text
const rounded = (ms: number): number => Math.round(ms * 1000) / 1000
