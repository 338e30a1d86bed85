// What execution and the resolver tell about a call: typed events, from which the audit line, the metrics and the log line are made. No event carries
// an argument, a body, a header, a URL or an error object, so none of the three can leak one.
import type { Outcome } from '../catalog/catalog.ts'
import type { Step } from '../errors.ts'
import type { AttemptState } from '../attempts/attempt.ts'
import type { ConsentEvent } from '../consent/events.ts'
import type { LostCause } from '../upstream/wire.ts'

/** Who acted, as HMACs. */
export interface Actor {
  readonly kind: 'agent' | 'person' | 'system'
  readonly iss: string | null
  readonly subMark: string | null
  readonly runMark: string | null
  readonly tenant: string | null
}

/** One call of an agent, told once, whatever happened. */
export interface CallEvent {
  readonly correlationId: string
  readonly surface: 'http' | 'mcp'
  /** Of the runtime's own tracing. */
  readonly traceId?: string | null
  readonly actor: Actor
  readonly source: string | null
  /** The name that the agent asked for; `actionId` is set only where the catalog has it, and only that one may become a label. */
  readonly asked: string
  readonly actionId: string | null
  readonly definition: string | null
  readonly effect: string | null
  /** The step that refused, or `record` where the call went the whole way. */
  readonly step: Step
  readonly outcome: Outcome
  readonly code: string | null
  readonly field: string | null
  readonly rule: string | null
  readonly receivedMark: string | null
  readonly argumentsMark: string | null
  /** Of the words that the agent gave as its reason. */
  readonly reasonMark: string | null
  readonly targetMark: string | null
  readonly versionMark: string | null
  /** What it proposed, or carried out, or spent. */
  readonly proposalId: string | null
  readonly attemptId: string | null
  readonly attemptState: AttemptState | null
  /** This call wrote the end of its attempt down. An end is told by whoever wrote it, so that it is told once. */
  readonly ended: boolean
  readonly duplicate: boolean
  readonly sent: boolean
  readonly truncated: boolean
  readonly withheld: string | null
  readonly upstream: {
    readonly name: string
    readonly method: string
    readonly status: number | null
    readonly durationMs: number
    readonly requestMark: string
  } | null
  readonly durationMs: number
  /** For the log under the correlation id: our own words about a fault, scrubbed again before they are written. */
  readonly internal: string | null
}

/** A question that is no call: a list, a contract, an attempt. */
export interface RefusedQuestion {
  readonly correlationId: string
  readonly code: string
  /** As `CallEvent.internal`. */
  readonly internal: string | null
}

/** A write is about to leave. */
export interface IntentEvent {
  readonly correlationId: string
  readonly actor: Actor
  readonly actionId: string
  readonly definition: string
  readonly attemptId: string
  /** What a person approved, call or grant; null: nobody had to be asked. */
  readonly approval: { readonly id: string, readonly digest: string } | null
  readonly argumentsMark: string
  readonly targetMark: string | null
  readonly requestMark: string
}

/** An attempt changed outside a call: by a look-up, by the sweeper, at the wish of its agent, by a person, by a late answer. */
export interface AttemptEventTold {
  readonly attemptId: string
  readonly actionId: string
  readonly definition: string
  readonly correlationId: string
  readonly by: 'lookup' | 'sweeper' | 'agent' | 'person' | 'late_answer'
  readonly state: AttemptState
  readonly outcome: Outcome | null
  readonly code: string | null
  readonly sent: boolean | null
  readonly personMark: string | null
}

/** What a person did with a proposal, and what they had seen of it. */
export interface PersonEvent {
  readonly actor: Actor
  readonly what: 'viewed' | 'approved' | 'denied' | 'extended' | 'revoked'
  readonly proposal: { readonly id: string, readonly digest: string, readonly state: string }
  readonly actionId: string
  /** Of the call that asked for it. */
  readonly correlationId: string
  readonly surface: string | null
  /** By which version of the texts it was shown. */
  readonly renderer: string | null
  readonly msOnPage: number | null
  readonly reasonCode: string | null
}

/** Somebody at the door of people, or at the wrong one. */
export interface DoorEvent {
  readonly what: 'signed_in' | 'signed_out' | 'sign_in_refused' | 'plane_violation'
  readonly actor: Actor
  /** Where it was. */
  readonly plane: 'agents' | 'people' | 'operations'
  readonly correlationId: string
  /** HMAC of the address. */
  readonly source: string | null
  /** Our own words. */
  readonly reason: string | null
}

/** One send to an upstream. */
export interface UpstreamEvent {
  readonly upstream: string
  readonly kind: 'read' | 'write'
  readonly result: 'answer' | 'cut' | 'lost' | 'unsent'
  readonly cause: LostCause | null
  readonly status: number | null
  readonly durationMs: number
}

export interface Telemetry {
  /** Durable (fsync) when it resolves. @throws StateUnavailable where it cannot be kept: then nothing may be sent */
  intent (event: IntentEvent): Promise<void>
  /** One audit line, one metric set, one log line. @throws nothing */
  call (event: CallEvent): void
  /**
   * The same a moment later and for many calls at once: what is told of a call is half of what a read costs, and less where the processor's caches still
   * hold how. Whatever else is told comes after it. @throws nothing
   */
  callSoon (event: () => CallEvent): void
  /** A question of an agent that is no call was refused, for the log and the metrics alone. @throws nothing */
  refused (event: RefusedQuestion): void
  /** Room for another refusal or read in the audit buffer; false: the call must be refused. */
  hasRoom (): boolean
  attempt (event: AttemptEventTold): void
  person (event: PersonEvent): void
  door (event: DoorEvent): void
  /** What became of a proposal, by whatever means. */
  consent (event: ConsentEvent): void
  /** No later write of this run is begun. */
  /** `note`: why, in the words of an operator; null where its own agent stopped it. */
  runStopped (event: { readonly actor: Actor, readonly note: string | null, readonly correlationId: string }): void
  /** Somebody asked while the vault was locked. */
  lockedOut (event: { readonly actor: Actor, readonly correlationId: string }): void
  lookup (event: { readonly actionId: string, readonly finding: string, readonly durationMs: number }): void
  upstream (event: UpstreamEvent): void
  /** A safe read or a provably unsent write was tried again. */
  retried (event: { readonly actionId: string, readonly retry: 'safe' | 'unsent' }): void
  store (event: { readonly verb: string, readonly ok: boolean, readonly durationMs: number }): void
  /** Evidence contradicts what is settled, one attempt was seen to be sent twice, or a stored proposal is not what it was (its id stands for the attempt's). */
  integrity (event: { readonly attemptId: string, readonly what: 'contradicting_evidence' | 'second_send' | 'foreign_record' | 'altered_proposal' }): void
  /** A field of an upstream answer that the view does not show, or a secret found in one. */
  withheld (event: { readonly actionId: string, readonly code: string }): void
}
