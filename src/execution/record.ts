// The one record of a call: what each step learned. From it the answer is made, and in `close`, whatever happened above, the single audit line, metric
// set and log line.
import type { AttemptRecord } from '../attempts/attempt.ts'
import type { ProposalRecord } from '../consent/proposal.ts'
import type { Action, Target } from '../catalog/catalog.ts'
import { rejectedAs } from '../catalog/verdict.ts'
import { Refusal, type Step } from '../errors.ts'
import { passFailpoint } from '../failpoints.ts'
import type { Actor, CallEvent, IntentEvent } from '../telemetry/telemetry.ts'
import type { Reply } from '../upstream/wire.ts'
import { actorOf } from './actor.ts'
import { attemptAnswer, observationAnswer, refusalAnswer, unknownAnswer, withoutResult } from './answer.ts'
import type { Arrival, Call, Caller, Valid } from './call.ts'
import type { Answer } from './envelope.ts'
import type { AlreadySo } from './facts.ts'
import { proposalAnswer } from './proposal-answer.ts'
import type { Proposed } from './recall-proposal.ts'
import type { Duplicate } from './repeat.ts'
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
  #proposal: ProposalRecord | null = null
  #giveBack: (() => void) | null = null

  constructor (arrival: Arrival, services: Services) {
    this.#arrival = arrival
    this.#services = services
  }

  identified (caller: Caller): void { this.#caller = caller }
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
    this.#whenMarked?.(this.#services.clock.nowMs() - this.#arrival.arrivedAtMs)
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
      approval: this.#proposal === null ? null : { id: this.#proposal.id, digest: this.#proposal.digest },
      argumentsMark: identity.mark('arguments', attempt.args),
      targetMark: attempt.target === null ? null : identity.mark('target', attempt.target.type, attempt.target.id),
      requestMark: this.#requestMark ?? '',
    }
  }

  /** A mark of the exact request, for the audit. */
  willSend (requestMark: string): void { this.#requestMark = requestMark }

  duplicate (duplicate: Duplicate): Answer {
    this.#requireUnlocked()
    this.#attempt = duplicate.record
    return this.#answer = attemptAnswer(duplicate.record, this.#arrival.correlationId, { duplicate: true })
  }

  /** Nothing is sent: a person is asked first. */
  proposed ({ held, duplicate }: Proposed): Answer {
    this.#requireUnlocked()
    this.#proposal = held.record
    return this.#answer = proposalAnswer(held, this.#arrival.correlationId, { duplicate }, this.#services)
  }

  /** What this call carries out. */
  committing (proposal: ProposalRecord): void { this.#proposal = proposal }

  /** A use of a grant; it is given back where the answer proves that nothing left for it. */
  spending (grant: ProposalRecord, giveBack: () => void): void {
    this.#proposal = grant
    this.#giveBack = giveBack
  }

  alreadySo (known: AlreadySo): Answer {
    this.#requireUnlocked()
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

  /** @param locked meanwhile: what became of the call is told, and nothing of what the upstream said */
  settled (settled: Settled, locked: boolean): Answer {
    const { correlationId, actionId } = this.#arrival
    const { projected, attempt } = settled
    this.#ended = settled.ended
    this.#internal = projected.unusable ?? projected.verdict.missing
    if (attempt !== null) {
      passFailpoint('before_answer')
      this.#attempt = attempt
      const answer = attemptAnswer(attempt, correlationId, { duplicate: false, recorded: settled.recorded, lookedUp: this.#isLookedUp() })
      return this.#answer = locked ? withoutResult(answer) : answer
    }
    return this.#answer = observationAnswer({
      correlationId,
      action: actionId,
      verdict: locked ? rejectedAs('VAULT_LOCKED') : projected.verdict,
      result: locked ? null : projected.result,
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
      return this.#answer = unknownAnswer(attempt, correlationId, this.#isLookedUp())
    }
    const refusal = this.#unlessLocked(error instanceof Refusal ? error : Refusal.of('INTERNAL', { internal: messageOf(error) }))
    this.#refusal = refusal
    this.#internal = refusal.details.internal ?? null
    const named = this.#action !== null && refusal.code !== 'VAULT_LOCKED'
    return this.#answer = refusalAnswer(refusal, correlationId, named ? this.#arrival.actionId : null)
  }

  #isLookedUp (): boolean { return this.#action === null || this.#action.lookup !== null }

  #requireUnlocked (): void {
    if (this.#services.lock.isLocked()) throw Refusal.of('VAULT_LOCKED')
  }

  /** Whoever is refused after the vault was locked is not told more than everyone else is. */
  #unlessLocked (refusal: Refusal): Refusal {
    if (!this.#services.lock.isLocked() || refusal.code === 'VAULT_LOCKED' || refusal.step === 'authenticate') return refusal
    return Refusal.of('VAULT_LOCKED', { internal: `it would have been ${refusal.code}; ${refusal.details.internal ?? ''}` }, refusal.step)
  }

  close (): void {
    for (const closer of this.#closers) closer()
    if (this.#answer !== null && (this.#answer.status >= 300 || this.#answer.envelope.duplicate === true)) this.#giveBack?.()
    const caller = this.#caller
    const action = this.#action
    if (caller !== null && action !== null && action.limits.refusalsPerRun !== null && isOfTheAgent(this.#refusal)) {
      this.#services.background(this.#services.runs.refused(caller.tag, caller.runKey, action.id).catch(() => undefined))
    }
    const durationMs = this.#services.clock.nowMs() - this.#arrival.arrivedAtMs
    if (this.#attempt !== null) passFailpoint('before_audit_line')
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
      traceId: traceIdOf(arrival.traceparent),
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
      proposalId: this.#proposal?.id ?? null,
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

/** W3C Trace Context §3.2: 32 hexadecimal digits that are not all 0; of another form it is none. */
const traceIdOf = (traceparent: string | undefined): string | null =>
  /^[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}/.exec(traceparent?.slice(0, 64) ?? '')?.[1] ?? null

/** What the network did: `unsent address_refused`. */
const whyLost = (reply: Reply | null): string | null => reply === null || reply.kind === 'answer' ? null : `${reply.kind} ${reply.cause}`

const NOBODY: Actor = Object.freeze({ kind: 'agent', iss: null, subMark: null, runMark: null, tenant: null })
