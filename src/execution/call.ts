// The values that flow from step to step. Each step takes what the step before returned, so that leaving one out does not compile.
// The values after which something irreversible is allowed are classes with a private field: nothing but their own step can make one.
import type { Action, Answer as UpstreamAnswer, Bindings, CallerView, Catalog, Json, JsonObject, Target } from '../catalog/catalog.ts'

/** What a surface hands over: nothing of it has been believed or read yet. */
export interface Arrival {
  readonly surface: 'http' | 'mcp'
  readonly correlationId: string
  readonly actionId: string
  /** The Authorization header as it came. */
  readonly authorization: string | undefined
  readonly idempotencyKey: string | undefined
  /** The arguments were filled in by a model that must fill in all of them: null stands for the absence of what is optional and cannot be null. */
  readonly nullIsAbsent: boolean
  /** HMAC of the address, for the audit. */
  readonly source: string | null
  /** Of the runtime's own tracing, as it came (W3C Trace Context); only its trace id is kept, for the log. */
  readonly traceparent?: string | undefined
  /** Reads and strictly decodes the body; not called before the token is verified. @throws Refusal of step decode */
  body (): Promise<Json>
  /** When it arrived, by the monotonic clock. */
  readonly arrivedAtMs: number
}

/** 1 authenticate */
export interface Caller {
  readonly iss: string
  readonly sub: string
  readonly tenant: string
  /** null: no run; only observations are callable. */
  readonly run: string | null
  readonly roles: readonly string[]
  /** The token's own narrowing of its roles. */
  readonly claimedActions: readonly string[] | null
  readonly claims: JsonObject
  /** Seconds since the epoch. */
  readonly expiresAt: number
  readonly view: CallerView
  /** Hashed (iss, sub, tenant, run) and hashed tenant, computed once a token. */
  readonly runKey: string
  readonly tag: string
}

/** 2 decode */
export interface Call {
  readonly arrival: Arrival
  readonly caller: Caller
  readonly arguments: Json
  readonly reason: string | null
  readonly idempotencyKey: string | null
}

/** 3 capability: this caller may call this action */
export interface Capable {
  readonly call: Call
  readonly action: Action
  /** Taken once a call: listing and calling see the same snapshot. */
  readonly catalog: Catalog
}

/** 4 arguments: they match the input schema */
export interface Valid {
  readonly capable: Capable
  readonly args: JsonObject
}

/** 5 scope */
export class Scoped {
  readonly valid: Valid
  readonly bindings: Bindings
  #passed = true
  constructor (valid: Valid, bindings: Bindings) {
    this.valid = valid
    this.bindings = bindings
  }

  get passed (): boolean { return this.#passed }
}

/** 8 facts: everything that is known before deciding */
export interface Facts {
  readonly scoped: Scoped
  readonly reads: { readonly [name: string]: UpstreamAnswer }
  readonly values: JsonObject
  readonly target: Target | null
  readonly bindings: Bindings
}
