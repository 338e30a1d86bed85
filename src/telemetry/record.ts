// The telemetry port, made of the audit, the metrics and the log: each event is told once and becomes one line, one set of metrics, one row.
import type { ConsentEvent } from '../consent/events.ts'
import type { Loss } from '../store/loss.ts'
import type { Audit } from './audit.ts'
import type { Logger } from './logger.ts'
import type { Metrics } from './metrics.ts'
import type { CallEvent, DoorEvent, Telemetry } from './telemetry.ts'

/** The port, and what the process itself has to tell. */
export interface BrokerTelemetry extends Telemetry {
  /** `digest`: of the set that is in force from now on, or null where a set was refused. */
  reloaded (event: { readonly result: 'taken' | 'refused', readonly digest: string | null, readonly faults: number }): void
  /** The state was found to have lost something, or that is over. */
  stateLoss (event: { readonly what: 'lost' | 'restored' | 'accepted', readonly loss: Loss }): void
  /** A person locked or unlocked the vault. `note`: why, in their words, for the log alone. */
  vault (event: VaultTurned): void
  /** What was to be told soon is told now. */
  flush (): void
}

export interface VaultTurned {
  readonly what: 'locked' | 'unlocked'
  readonly epoch: number
  readonly personMark: string
  readonly correlationId: string
  readonly note: string
  /** Replicas that did not say that they go by it. */
  readonly waitingFor: readonly string[]
}

/** Calls are told this much later at most, and so many of them together. */
const SOON_MS = 20
const TOGETHER_MAX = 64

export interface TelemetryParts {
  readonly audit: Audit
  readonly metrics: Metrics
  readonly logger: Logger
}

export function createTelemetry ({ audit, metrics, logger }: TelemetryParts): BrokerTelemetry {
  /** What is counted may be wrong; what is answered must not be: no fault of telemetry reaches a call. */
  function quietly (tell: () => void): void {
    try {
      tell()
    } catch (error) {
      logger.fault('an event could not be recorded', error)
    }
  }

  function call (event: CallEvent): void {
    const told = bounded(event, metrics)
    quietly(() => metrics.call(event))
    quietly(() => audit.call(told))
    quietly(() => logger.call(told))
  }

  const soon = gather<() => CallEvent>(event => quietly(() => call(event())))
  const { flush } = soon

  return {
    flush,
    intent (event) {
      flush()
      return audit.intent(event)
    },
    hasRoom: () => audit.hasRoom(),
    call (event) {
      flush()
      call(event)
    },
    callSoon: event => soon.add(event),
    refused ({ correlationId, code, internal }) {
      quietly(() => metrics.httpRefused(code))
      const level = code === 'INTERNAL' ? 'error' : 'info'
      quietly(() => logger.note(level, 'a question was refused', { correlation_id: correlationId, code, reason: internal }))
    },
    attempt (event) {
      flush()
      quietly(() => metrics.attempt(event))
      quietly(() => audit.attempt(event))
      quietly(() => logger.attempt(event))
    },
    ...counted(metrics, quietly),
    ...rare({ audit, metrics, logger }, quietly, flush),
    integrity (event) {
      flush()
      quietly(() => metrics.integrity(event))
      quietly(() => audit.integrity(event))
      quietly(() => logger.integrity(event))
    },
    withheld (event) {
      flush()
      quietly(() => metrics.withheld(event))
      quietly(() => audit.withheld(event))
      quietly(() => logger.withheld(event))
    },
  }
}

/** What becomes of the process as a whole, and of a run. */
function rare (
  { audit, metrics, logger }: TelemetryParts, quietly: (tell: () => void) => void, flush: () => void
): Pick<BrokerTelemetry, 'reloaded' | 'stateLoss' | 'runStopped' | 'vault' | 'lockedOut' | 'person' | 'door' | 'consent'> {
  return {
    person (event) {
      flush()
      quietly(() => audit.person(event))
      quietly(() => logger.note('info', `a person has ${event.what} a proposal`, { correlation_id: event.correlationId, proposal_id: event.proposal.id, action: event.actionId }))
    },
    door (event) {
      flush()
      quietly(() => audit.door(event))
      quietly(() => logger.note(event.what.startsWith('signed') ? 'info' : 'warn', DOOR_WORDS[event.what], { correlation_id: event.correlationId, reason: event.reason }))
    },
    consent (event) {
      flush()
      quietly(() => metrics.consent(event))
      quietly(() => audit.consent(event))
      if ('record' in event) quietly(() => noteConsent(event, logger))
    },
    reloaded ({ result, digest, faults }) {
      flush()
      quietly(() => metrics.reloaded(result))
      quietly(() => audit.reloaded({ result, digest }))
      quietly(() => logger.note(result === 'taken' ? 'info' : 'error', `a new catalog was ${result}`, { digest, count: faults }))
    },
    stateLoss (event) {
      flush()
      quietly(() => audit.stateLoss({ what: event.what, kind: event.loss.kind, replica: event.loss.by }))
      quietly(() => noteLoss(event, logger))
    },
    vault (event) {
      flush()
      quietly(() => audit.vault(event))
      const waiting = event.waitingFor.length === 0 ? '' : `; replicas that do not go by it yet: ${event.waitingFor.join(', ')}`
      quietly(() => logger.note('warn', `the vault was ${event.what} by a person${waiting}`, { correlation_id: event.correlationId, reason: event.note }))
    },
    lockedOut (event) {
      flush()
      quietly(() => audit.lockedOut(event))
    },
    runStopped (event) {
      flush()
      quietly(() => audit.runStopped(event))
      quietly(() => logger.note('info', 'a run was stopped', { correlation_id: event.correlationId, ...event.note !== null && { reason: event.note } }))
    },
  }
}

const DOOR_WORDS: Record<DoorEvent['what'], string> = {
  signed_in: 'a person signed in', signed_out: 'a person signed out', sign_in_refused: 'a sign-in of a person was refused',
  plane_violation: 'a credential came to a listener that is not for it',
}

function noteConsent ({ type, record }: Extract<ConsentEvent, { record: unknown }>, logger: Logger): void {
  logger.note('info', `a proposal is ${type}`, { correlation_id: record.correlationId, proposal_id: record.id, action: record.action, reason: record.cause })
}

function noteLoss ({ what, loss }: Parameters<BrokerTelemetry['stateLoss']>[0], logger: Logger): void {
  const waiting = loss.waitingFor.length === 0 ? '' : `; replicas that have not told it again what they know: ${loss.waitingFor.join(', ')}`
  const found = loss.kind === 'proved' ? 'the state has lost what it acknowledged' : 'the state may have lost what it acknowledged'
  if (what === 'lost') logger.note('error', `${found}; nothing is sent until it knows it again${waiting}`, { reason: loss.kind })
  else logger.note('warn', `the loss of the state is ${what}; writes go on${waiting}`, { reason: loss.kind })
}

/** What becomes metrics and nothing else. */
function counted (metrics: Metrics, quietly: (tell: () => void) => void): Pick<Telemetry, 'lookup' | 'upstream' | 'retried' | 'store'> {
  return {
    lookup: event => quietly(() => metrics.lookup(event)),
    upstream: event => quietly(() => metrics.upstream(event)),
    retried: event => quietly(() => metrics.retried(event)),
    store: event => quietly(() => metrics.store(event)),
  }
}

/** Keeps what is added for a moment, so that it is told together and in order. */
function gather<T> (tell: (one: T) => void): { readonly add: (one: T) => void, readonly flush: () => void } {
  let gathered: T[] = []
  let timer: NodeJS.Timeout | null = null
  const flush = (): void => {
    if (timer !== null) clearTimeout(timer)
    timer = null
    const all = gathered
    gathered = []
    all.forEach(tell)
  }
  return {
    add (one) {
      gathered.push(one)
      if (gathered.length >= TOGETHER_MAX) flush()
      else timer ??= setTimeout(flush, SOON_MS)
    },
    flush,
  }
}

/** A pointer may hold names that the agent made up; what the schema does not declare is `?` from here on. */
function bounded (event: CallEvent, metrics: Metrics): CallEvent {
  if (event.field === null && event.rule === null) return event
  const field = event.actionId === null || event.field === null ? null : metrics.field(event.actionId, event.field)
  return { ...event, field: field?.pointer ?? null, rule: event.rule === null ? null : metrics.rule(event.rule) }
}
