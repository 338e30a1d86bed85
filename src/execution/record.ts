// The one record of a call: what each step learned. From it the answer is made, and in `close`, whatever happened above, the single audit line, metric
// set and log line.
import type { AttemptRecord } from '../attempts/attempt.ts'
import type { Action, Target } from '../catalog/catalog.ts'
import { Refusal, type Step } from '../errors.ts'
import type { Actor, CallEvent, IntentEvent } from '../telemetry/telemetry.ts'
import type { Reply } from '../upstream/wire.ts'
import { attemptAnswer, observationAnswer, refusalAnswer, unknownAnswer } from './answer.ts'
import type { Arrival, Call, Caller, Valid } from './call.ts'
import type { Answer } from './envelope.ts'
import type { AlreadySo } from './facts.ts'
import type { Duplicate } from './recall.ts'
import type { Services } from './services.ts'
import type { Settled } from './settle.ts'
import { messageOf } from './state.ts'
import { writeDown } from './write-down.ts'

const REFUSALS_COUNTED: ReadonlySet<Step> = new Set(['arguments', 'scope', 'facts'])

/** What a guessing loop brings about. That something could not be read or written is nobody's guess. */
const isOfTheAgent = (refusal: Refusal | null): boolean =>
  refusal !== null && REFUSALS_COUNTED.has(refusal.step) && refusal.code !== 'CHECK_UNAVAILABLE'

export class CallRecord {
  readonly #arrival: Arrival
  readonly #services: Services
  readonly #closers: Array<() => void> = []
  #caller: Caller | null = null
  #call: Call | null = null
  #action: Action | null = null
  #valid: Valid | null = null
  #target: Target | null = null
  #attempt: AttemptRecord | null = null
  #markTried = false
  #durableMark = false
  #whenMarked: ((elapsedMs: number) => void) | null = null
  #requestMark: string | null = null
  #reply: Reply | null = null
  #answer: Answer | null = null
  #refusal: Refusal | null = null
  #internal: string | null = null
  #ended = false

  constructor (arrival: Arrival, services: Services) {
    this.#arrival = arrival
    this.#services = services
  }

  authenticated (caller: Caller): Caller { return this.#caller = caller }
  decoded (call: Call): Call { return this.#call = call }
  /** The caller may know of it; whether it may be called now is not decided yet. */
  found (action: Action): void { this.#action = action }
  valid (valid: Valid): Valid { return this.#valid = valid }
  target (target: Target | null): void { this.#target = target }
  attempting (attempt: AttemptRecord): void { this.#attempt = attempt }
  notAttempting (): void { this.#attempt = null }
  /** The durable mark before dispatch is tried: from here on an unexpected fault means `unknown`. */
  marking (): void { this.#markTried = true }
  marked (): void {
    this.#durableMark = true
    this.#whenMarked?.(performance.now() - this.#arrival.arrivedAtMs)
  }

  /** @param listener told how long after the arrival that was */
  whenMarked (listener: (elapsedMs: number) => void): void { this.#whenMarked = listener }
  provedUnsent (): void { this.#markTried = false }
  upstreamAnswered (reply: Reply): void { this.#reply = reply }
  onClose (closer: () => void): void { this.#closers.push(closer) }

  /** The attempt is possibly under way: what can be said of it while it is. */
  underWay (): Answer | null {
    if (!this.#durableMark || this.#attempt === null) return null
    return attemptAnswer({ ...this.#attempt, state: 'dispatched' }, this.#arrival.correlationId, { duplicate: false })
  }

  intent (attempt: AttemptRecord): IntentEvent {
    const { identity } = this.#services
    return {
      correlationId: this.#arrival.correlationId,
      actor: this.#actor(),
      actionId: attempt.action,
      definition: attempt.definition,
      attemptId: attempt.id,
      argumentsMark: identity.mark('arguments', attempt.args),
      targetMark: attempt.target === null ? null : identity.mark('target', attempt.target.type, attempt.target.id),
      requestMark: this.#requestMark ?? '',
    }
  }

  /** A mark of the exact request, for the audit. */
  willSend (requestMark: string): void { this.#requestMark = requestMark }

  duplicate (duplicate: Duplicate): Answer {
    this.#attempt = duplicate.record
    return this.#answer = attemptAnswer(duplicate.record, this.#arrival.correlationId, { duplicate: true })
  }

  alreadySo (known: AlreadySo): Answer {
    return this.#answer = observationAnswer({
      correlationId: this.#arrival.correlationId,
      action: this.#arrival.actionId,
      verdict: { outcome: 'already_in_desired_state', code: null, message: null, retryable: false, retryAfterSeconds: null },
      result: null,
      truncated: false,
      sent: false,
      upstreamStatus: known.upstreamStatus,
      observedAt: this.#services.timestamp(),
    })
  }

  settled (settled: Settled): Answer {
    const { correlationId, actionId } = this.#arrival
    const { projected, attempt } = settled
    this.#ended = settled.ended
    this.#internal = projected.unusable ?? projected.verdict.missing
    if (attempt !== null) {
      this.#attempt = attempt
      return this.#answer = attemptAnswer(attempt, correlationId, { duplicate: false, recorded: settled.recorded })
    }
    return this.#answer = observationAnswer({
      correlationId,
      action: actionId,
      verdict: projected.verdict,
      result: projected.result,
      truncated: projected.truncated,
      sent: projected.judged.left,
      upstreamStatus: this.#upstreamStatus(),
      observedAt: this.#services.timestamp(),
    })
  }

  /** A refusal is the proof that nothing was sent; any other error after the durable mark proves nothing. */
  refused (error: unknown): Answer {
    const { correlationId } = this.#arrival
    if (!(error instanceof Refusal) && this.#markTried && this.#attempt !== null) {
      this.#internal = messageOf(error)
      const attempt = this.#attempt
      const missing = 'the broker met a fault of its own after the durable mark'
      this.#services.background(writeDown(attempt, { type: 'lose', token: attempt.token, missing, reference: null }, this.#services))
      return this.#answer = unknownAnswer(attempt, correlationId)
    }
    const refusal = error instanceof Refusal ? error : Refusal.of('INTERNAL', { internal: messageOf(error) })
    this.#refusal = refusal
    this.#internal = refusal.details.internal ?? null
    return this.#answer = refusalAnswer(refusal, correlationId, this.#action === null ? null : this.#arrival.actionId)
  }

  close (): void {
    for (const closer of this.#closers) closer()
    const caller = this.#caller
    const action = this.#action
    if (caller !== null && action !== null && action.limits.refusalsPerRun !== null && isOfTheAgent(this.#refusal)) {
      this.#services.background(this.#services.runs.refused(caller.tag, caller.runKey, action.id).catch(() => undefined))
    }
    const durationMs = performance.now() - this.#arrival.arrivedAtMs
    this.#services.telemetry.callSoon(() => this.#event(durationMs))
  }

  #event (durationMs: number): CallEvent {
    const { identity } = this.#services
    const arrival = this.#arrival
    const action = this.#action
    const envelope = this.#answer?.envelope
    const reply = this.#reply
    const target = this.#target
    return {
      correlationId: arrival.correlationId,
      surface: arrival.surface,
      actor: this.#actor(),
      source: arrival.source,
      asked: arrival.actionId,
      actionId: action?.id ?? null,
      definition: action?.digest ?? null,
      effect: action?.effect ?? null,
      step: this.#refusal?.step ?? 'record',
      outcome: envelope?.outcome ?? 'rejected',
      code: envelope?.error?.code ?? null,
      field: this.#refusal?.details.field ?? null,
      rule: this.#refusal?.details.rule ?? null,
      receivedMark: this.#valid === null && this.#call !== null ? identity.mark('received', this.#call.arguments) : null,
      argumentsMark: this.#valid === null ? null : identity.mark('arguments', this.#valid.args),
      reasonMark: this.#call === null || this.#call.reason === null ? null : identity.mark('reason', this.#call.reason),
      targetMark: target === null ? null : identity.mark('target', target.type, target.id),
      versionMark: target === null || target.version === null ? null : identity.mark('version', target.version),
      attemptId: this.#attempt?.id ?? null,
      attemptState: this.#attempt?.state ?? null,
      ended: this.#ended,
      duplicate: envelope?.duplicate ?? false,
      sent: envelope?.sent ?? false,
      truncated: envelope?.truncated ?? false,
      withheld: envelope?.withheld ?? null,
      upstream: action === null || reply === null ? null : {
        name: action.upstream.name,
        method: action.request.operation.method,
        status: this.#upstreamStatus(),
        durationMs: reply.durationMs,
        requestMark: this.#requestMark ?? '',
      },
      durationMs,
      internal: this.#internal ?? whyLost(reply),
    }
  }

  #upstreamStatus (): number | null {
    return this.#reply !== null && 'status' in this.#reply ? this.#reply.status : null
  }

  #actor (): Actor {
    return this.#caller === null ? NOBODY : actorOf(this.#caller, this.#services)
  }
}

/** What the network did: `unsent address_refused`. */
const whyLost = (reply: Reply | null): string | null => reply === null || reply.kind === 'answer' ? null : `${reply.kind} ${reply.cause}`

const NOBODY: Actor = Object.freeze({ kind: 'agent', iss: null, subMark: null, runMark: null, tenant: null })

/** A caller is made once a token, and so are its marks. */
const actors = new WeakMap<Caller, Actor>()

export function actorOf (caller: Caller, services: Pick<Services, 'identity'>): Actor {
  let actor = actors.get(caller)
  if (actor === undefined) {
    const { iss, sub, tenant, run } = caller
    const runMark = run === null ? null : services.identity.mark('run', iss, sub, tenant, run)
    actor = { kind: 'agent', iss, tenant, subMark: services.identity.mark('sub', iss, sub), runMark }
    actors.set(caller, actor)
  }
  return actor
}
