// The compiled catalog: what load time makes and run time uses. Everything here is frozen data and pure functions of plain data; nothing here
// reads a file, a clock or a socket.
import type { JsonSchema, Operation, SecurityScheme } from './openapi/operation.ts'

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
export type JsonObject = { readonly [key: string]: Json }

export const isObject = (value: Json | undefined): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value)

export type Effect = 'observation' | 'reversible_change' | 'external_commitment' | 'irreversible_change'
export type Involvement = 'money' | 'access' | 'personal_data' | 'bulk' | 'public'
export type Sensitivity = 'public' | 'internal' | 'personal' | 'secret'
export type Consent = 'none' | 'session' | 'call'
export type Retry = 'never' | 'safe' | 'same_key' | 'natural'
export type Outcome = 'completed' | 'pending' | 'already_in_desired_state' | 'rejected' | 'unknown'

/** Who calls, as expressions see it. */
export interface CallerView {
  readonly sub: string
  readonly tenant: string
  readonly run: string | null
  readonly claims: JsonObject
}

export interface Target {
  readonly type: string
  readonly id: string
  /** What was read as the object's version; null where the sheet names none. */
  readonly version: Json
}

export interface AttemptView {
  readonly id: string
  /** The upstream idempotency key, a UUID. */
  readonly key: string
  /** What an earlier answer said a later look-up needs; null before. */
  readonly reference: Json
}

/** A complete upstream answer, parsed as far as its media type allows. */
export interface Answer {
  readonly status: number
  /** Lower-case names; a header that came more than once is joined with `, `. */
  readonly headers: { readonly [name: string]: string }
  /** JSON, or `{type, size, sha256}` of a body of another media type, or null without a body. */
  readonly body: Json
}

/** The variables of expressions, in plain data. Conversion to and from CEL's types happens inside the compiled functions. */
export interface Bindings {
  readonly args: JsonObject
  readonly caller: CallerView
  readonly reads: { readonly [name: string]: Answer }
  readonly values: JsonObject
  readonly target: Target | null
  readonly attempt: AttemptView | null
  readonly response: Answer | null
  /** ISO 8601 instant in UTC. */
  readonly now: string
}

/** Values placed by name, not yet written as text: the client serialises them by the operation's parameters. */
export interface PlacedRequest {
  readonly operation: Operation
  readonly path: JsonObject
  readonly query: JsonObject
  readonly headers: JsonObject
  readonly cookies: JsonObject
  /** undefined: no body. null is a JSON body of `null`. */
  readonly body: Json | undefined
  /** null: the operation's only or first JSON media type. */
  readonly mediaType: string | null
}

export interface RequestTemplate {
  readonly operation: Operation
  /** Throws ExpressionFault. */
  place (bindings: Bindings): PlacedRequest
}

/** An expression failed while it was evaluated; `source` is its text in the sheet. For operators only. */
export class ExpressionFault extends Error {
  override readonly name = 'ExpressionFault'
}

/** A view could not be made of an answer. */
export class ProjectionFault extends Error {
  override readonly name = 'ProjectionFault'
  readonly code: 'RESULT_INVALID' | 'RESULT_TOO_LARGE'
  constructor (code: 'RESULT_INVALID' | 'RESULT_TOO_LARGE', message: string) {
    super(message)
    this.code = code
  }
}

export interface ArgumentFault {
  /** JSON Pointer within the arguments; '' is the arguments themselves. */
  readonly pointer: string
  readonly rule: string
  readonly message: string
}

export interface ScopeRule {
  readonly text: string
  /** An error while evaluating is false. */
  holds (bindings: Bindings): boolean
}

export interface Read {
  readonly name: string
  readonly request: RequestTemplate
  /** Statuses beside 2xx that do not refuse. */
  readonly allow: ReadonlySet<number>
}

export interface Check {
  readonly text: string
  /** Throws ExpressionFault. */
  holds (bindings: Bindings): boolean
  /** What the answer is where it does not hold. */
  readonly otherwise:
    | { readonly kind: 'refuse', readonly code: string, readonly message: string, readonly retryable: boolean }
    | { readonly kind: 'settle', readonly outcome: 'already_in_desired_state' }
}

/** What an answer of the upstream means. */
export interface Verdict {
  readonly outcome: Outcome
  /** Present where the outcome is `rejected` or `unknown`. */
  readonly code: string | null
  readonly message: string | null
  readonly retryable: boolean
  readonly retryAfterSeconds: number | null
  readonly reference: Json
  /** The result that the rule itself gave; undefined: the view decides. */
  readonly result: Json | undefined
  /** An own id must be looked up before this rejection may be believed (409, 412, 404, 410 of a write). */
  readonly lookFirst: boolean
  /** For `unknown`: which evidence is missing, in words for operators; also for an answer that cannot be read. */
  readonly missing: string | null
}

export interface View {
  readonly schema: JsonSchema
  readonly maxBytes: number
  /** `truncated` where a list was cut; `text` is the result as JSON. Throws ProjectionFault. */
  project (bindings: Bindings): { readonly result: Json, readonly truncated: boolean, readonly text: string }
}

export interface Absence {
  /** An error while evaluating is false. */
  holds (bindings: Bindings): boolean
  readonly settlesAfterMs: number
}

export interface Lookup {
  readonly request: RequestTemplate
  /** The look-up is correlated by an id that only this attempt has (attempt.id, attempt.key or attempt.reference). */
  readonly ownId: boolean
  /** null: no rule matched, no evidence. Rules that fail to evaluate do not match. */
  judge (bindings: Bindings): Verdict | null
  readonly absent: Absence | null
}

export interface IdempotencyDeclaration {
  readonly place: 'header' | 'query' | 'body'
  /** Header or query name, or JSON Pointer. */
  readonly name: string
  readonly retentionMs: number
}

export interface Limits {
  readonly timeoutMs: number
  readonly callsPerRun: number | null
  readonly refusalsPerRun: number | null
  readonly concurrencyPerTenant: number | null
  /** A second key that serialises writes, `serialize:`. Throws ExpressionFault. */
  readonly serialize: ((bindings: Bindings) => string) | null
}

/** Whose yes is needed. Computed from sheet and policy, kept with what is proposed, and compared again when it is committed. */
export interface Requirement {
  /** So many different people have to say yes; one no is final. */
  readonly approve: number
  /** Roles of people that may decide: any of them. Empty: nobody may. */
  readonly roles: readonly string[]
  /** `requester`: who asked for it (the token's `on_behalf_of`) may not decide. The agent itself never may. */
  readonly separation: 'agent' | 'requester'
  /** The sign-in of the person may not be older, in seconds; null: any session will do. */
  readonly signInMaxAgeS: number | null
  /** What the page asks for before it takes a yes. */
  readonly confirm: 'none' | 'checkbox' | 'type_value'
}

/** A part of the effect sentence: fixed text of the sheet, or a value put into it. `of` is what it was made of, as the sheet writes it: `args.order_id`. */
export type EffectPart = { readonly kind: 'text', readonly text: string } | { readonly kind: 'slot', readonly of: string, readonly value: Json }

export interface ProposalTemplate {
  /** The sentence in its parts: text of the sheet, and the values put into it. Throws ExpressionFault. */
  effect (bindings: Bindings): readonly EffectPart[]
  before (bindings: Bindings): Json
  after (bindings: Bindings): Json
  facts (bindings: Bindings): Json
  /** JSON Pointers into before and after: what people may not read. */
  readonly redact: readonly string[]
}

export interface Action {
  /** `change_address.v2` */
  readonly id: string
  readonly name: string
  readonly version: number
  /** SHA-256 over the sheet, its upstream.yaml and the operations it rests on, in canonical JSON. */
  readonly digest: string
  readonly upstream: Upstream
  readonly title: string
  readonly description: string
  readonly effect: Effect
  /** effect is not `observation` */
  readonly write: boolean
  readonly involves: readonly Involvement[]
  readonly sensitivity: Sensitivity
  /** The effective one: the strictest of the sheet and the policy table. */
  readonly consent: Consent
  /** What consent asks for where it is needed. */
  readonly requirement: Requirement
  /** SHA-256 of what the policy makes of this action: its consent and its requirement. */
  readonly rulesDigest: string
  readonly retry: Retry
  readonly repeatable: boolean
  /** Its mark must be on the disk of the store, and not only acknowledged, before it is sent. */
  readonly strict: boolean
  readonly inputSchema: JsonSchema
  readonly examples: ReadonlyArray<{ readonly arguments: JsonObject, readonly result?: Json }>
  /** Codes that this sheet may answer beside the table, with their messages. */
  readonly errors: ReadonlyArray<{ readonly code: string, readonly message: string, readonly retryable: boolean }>
  /** The first fault, or null. No coercion, no defaults. */
  checkArguments (value: Json): ArgumentFault | null
  readonly scope: readonly ScopeRule[]
  readonly reads: readonly Read[]
  readonly values: ReadonlyArray<{ readonly name: string, /** Throws ExpressionFault. */ evaluate (bindings: Bindings): Json }>
  readonly checks: readonly Check[]
  /** Throws ExpressionFault. */
  readonly target: ((bindings: Bindings) => Target) | null
  /** The request carries `target.version`, so the upstream itself refuses a stale write. */
  readonly versionGuarded: boolean
  readonly proposal: ProposalTemplate | null
  readonly request: RequestTemplate
  readonly idempotency: IdempotencyDeclaration | null
  /** The sheet's rules, then the default table that README gives. Never throws. */
  judge (bindings: Bindings): Verdict
  readonly view: View | null
  /** null: a person decides (`lookup: none`), or an observation. */
  readonly lookup: Lookup | null
  readonly limits: Limits
  readonly compensateWith: string | null
  readonly sunset: { readonly after: string, readonly use: string | null } | null
}

export interface CredentialDeclaration {
  readonly scheme: SecurityScheme & { readonly kind: 'apiKey' | 'http' }
  /** `env:NAME`, `file:PATH` or `vault:NAME`; `{tenant}` is replaced at run time. */
  readonly secret: string
  /** For `basic`. */
  readonly username: string | null
  /** Written before the secret with nothing between, `Token `. */
  readonly prefix: string
}

export interface Upstream {
  readonly name: string
  /** `https://api.shop.example`: the only origin ever dialled for it. */
  readonly origin: string
  /** `/v1` or ''. */
  readonly basePath: string
  /** `public`, `loopback` or CIDRs. */
  readonly networks: readonly string[]
  /** Lower-case names; on every request. */
  readonly headers: { readonly [name: string]: string }
  /** null: the upstream takes none. */
  readonly credentials: { readonly read: CredentialDeclaration | null, readonly write: CredentialDeclaration | null }
  readonly timeouts: { readonly connectMs: number, readonly totalMs: number }
  readonly limits: { readonly concurrency: number, readonly perSecond: number | null, readonly tenantShare: number }
}

export interface Role {
  readonly name: string
  readonly actions: ReadonlySet<string>
  /** Those that are listed as tools where a caller has too many to list. */
  readonly core: ReadonlySet<string>
}

export interface Catalog {
  /** SHA-256 over all actions and the policy. */
  readonly digest: string
  /** By id, in order of id. */
  readonly actions: ReadonlyMap<string, Action>
  readonly upstreams: ReadonlyMap<string, Upstream>
  readonly roles: ReadonlyMap<string, Role>
  /** By the digest of an action: its definition as text, for the store. */
  readonly definitions: ReadonlyMap<string, () => string>
}

/** One fault of a load, as `file:line:column rule-id message`. `file` is relative to the folder that was loaded. */
export interface Fault {
  readonly file: string
  readonly line: number
  readonly column: number
  readonly rule: string
  readonly message: string
}

/** A load was refused as a whole; the catalog in force stays. */
export class CatalogFaults extends Error {
  override readonly name = 'CatalogFaults'
  readonly faults: readonly Fault[]
  constructor (faults: readonly Fault[]) {
    super(faults.map(fault => `${fault.file}:${fault.line}:${fault.column} ${fault.rule} ${fault.message}`).join('\n'))
    this.faults = faults
  }
}

/** What these roles grant, narrowed by the token's own `actions` claim where it has one; in order of id. */
export function grantedActions (catalog: Catalog, roles: readonly string[], claimed: readonly string[] | null): readonly Action[] {
  const granted: Action[] = []
  for (const action of catalog.actions.values()) {
    if (roles.some(role => catalog.roles.get(role)?.actions.has(action.id) === true) && (claimed === null || claimed.includes(action.id))) {
      granted.push(action)
    }
  }
  return granted
}

/** The sentence as one text, for whoever trusts the values in it. */
export const effectText = (parts: readonly EffectPart[]): string => parts.map(part => part.kind === 'text' ? part.text : String(part.value)).join('')
