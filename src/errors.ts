// The error table: every code that Aval itself can answer, once. README, the broker's OpenAPI and the metrics labels are held to it by
// test/errors.test.ts. A code is never renamed and never used again for something else.

/** The steps of a call, in order. Metric labels, audit lines and the README use these very words. */
export const STEPS = [
  'authenticate', 'decode', 'capability', 'arguments', 'scope', 'recall', 'admit', 'facts', 'consent', 'reserve', 'credential',
  'dispatch', 'outcome', 'project', 'record',
] as const
export type Step = (typeof STEPS)[number]

interface Row {
  readonly step: Step
  /** The status before dispatch; null where the code only ever stands in a 200 or 202 answer. */
  readonly status: number | null
  readonly retryable: boolean
  /** The public message: no upstream text, no address, no name that the agent did not send. */
  readonly message: string
}

const row = (step: Step, status: number | null, message: string, retryable = false): Row => Object.freeze({ step, status, retryable, message })

export const ERRORS = Object.freeze({
  UNAUTHENTICATED: row('authenticate', 401, 'A valid access token is required.'),
  VAULT_LOCKED: row('authenticate', 423, 'The broker is locked by an operator.'),
  ROLE_CONFLICT: row('authenticate', 403, 'This token mixes the roles of an agent and of a person.'),
  MISDIRECTED: row('authenticate', 421, 'This host name is not served here.'),
  METHOD_NOT_ALLOWED: row('authenticate', 405, 'This path does not answer this method.'),
  NOT_FOUND: row('authenticate', 404, 'There is nothing here for this caller.'),
  SHUTTING_DOWN: row('authenticate', 503, 'The broker is shutting down; ask again.', true),
  INTERNAL: row('authenticate', 500, 'The broker met a fault of its own. An operator can find it by the correlation id.'),

  MALFORMED_JSON: row('decode', 400, 'The body is not JSON.'),
  MALFORMED_REQUEST: row('decode', 400, 'The request does not have the expected form.'),
  DUPLICATE_KEY: row('decode', 400, 'An object in the body names a key twice.'),
  ILL_FORMED_TEXT: row('decode', 400, 'The body holds text that is not well-formed Unicode.'),
  UNSAFE_NUMBER: row('decode', 400, 'The body holds a number that cannot be kept exactly.'),
  TOO_DEEP: row('decode', 400, 'The body is nested too deeply or holds too many values.'),
  TOO_LARGE: row('decode', 413, 'The body is too large.'),
  UNSUPPORTED_MEDIA_TYPE: row('decode', 415, 'The body must be application/json in UTF-8, not encoded.'),

  UNKNOWN_ACTION: row('capability', 404, 'This caller has no action of this name.'),
  VERSION_RETIRED: row('capability', 410, 'This version of the action has been retired.'),
  RUN_REQUIRED: row('capability', 403, 'This action needs an access token that names a run.'),
  RUN_STOPPED: row('capability', 403, 'This run has been stopped.'),
  CONSENT_UNAVAILABLE: row('capability', 403, 'This action needs the consent of a person, and no person can be asked here.'),
  TOO_MANY_REFUSALS: row('capability', 429, 'Too many calls of this action were refused in this run.'),

  INVALID_ARGUMENTS: row('arguments', 422, 'The arguments do not match the input schema.'),
  OUT_OF_SCOPE: row('scope', 403, 'This caller may not act on this object.'),

  IDEMPOTENCY_KEY_REUSED: row('recall', 422, 'This idempotency key was used with other arguments.'),
  IDEMPOTENCY_KEY_REQUIRED: row('recall', 400, 'This action needs an Idempotency-Key header.'),
  CALL_IN_PROGRESS: row('recall', 409, 'The call that this one repeats is being prepared; ask again.', true),

  RATE_LIMITED: row('admit', 429, 'Too many calls at once; ask again later.', true),
  BUDGET_EXHAUSTED: row('admit', 429, 'This run has used up its calls of this action.'),
  UNRESOLVED_LIMIT: row('admit', 409, 'Too many earlier calls of this action have an outcome that is not known yet.'),

  CHECK_UNAVAILABLE: row('facts', 503, 'What this action must know first could not be read.', true),

  PROPOSAL_PENDING: row('consent', 409, 'The proposal waits for a decision.'),
  PROPOSAL_DENIED: row('consent', 409, 'The proposal was denied.'),
  PROPOSAL_EXPIRED: row('consent', 409, 'The proposal has expired.'),
  PROPOSAL_WITHDRAWN: row('consent', 409, 'The proposal was withdrawn.'),
  PROPOSAL_SUPERSEDED: row('consent', 409, 'The proposal was superseded by another.'),
  PROPOSAL_INVALIDATED: row('consent', 409, 'What the proposal rests on has changed.'),
  PROPOSAL_REVOKED: row('consent', 409, 'The approval was revoked.'),
  RECENTLY_DENIED: row('consent', 409, 'The same proposal was denied a short while ago.'),
  TOO_MANY_PENDING: row('consent', 429, 'Too many proposals wait for a decision.'),

  TARGET_BUSY: row('reserve', 409, 'Another write on the same object is not settled yet.', true),
  STATE_UNAVAILABLE: row('reserve', 503, 'The broker cannot keep a record now, so nothing was sent.', true),

  CREDENTIAL_UNAVAILABLE: row('credential', 503, 'The credential for the upstream cannot be had now.', true),

  UPSTREAM_UNREACHABLE: row('dispatch', 503, 'The upstream could not be reached; nothing was sent.', true),
  CANCELLED: row('dispatch', 409, 'The call was cancelled before anything was sent.'),

  OUTCOME_UNKNOWN: row('outcome', null, 'The call was sent and what became of it is not known yet. Ask for the attempt: it says what is learned.'),
  CREDENTIAL_REFUSED: row('outcome', null, 'The upstream did not accept the credential of the broker.'),
  UPSTREAM_NOT_FOUND: row('outcome', 404, 'The upstream has no such object.'),
  UPSTREAM_CONFLICT: row('outcome', null, 'The upstream refused the call because of the state of the object.'),
  UPSTREAM_REJECTED: row('outcome', null, 'The upstream refused the call.'),
  UPSTREAM_RATE_LIMITED: row('outcome', null, 'The upstream allows no more calls now.', true),
  UPSTREAM_ERROR: row('outcome', null, 'The upstream met a fault of its own.', true),
  NOT_APPLIED: row('outcome', null, 'A look-up proved that the call had no effect.'),
  VERSION_CONFLICT: row('outcome', 409, 'The object has changed since its version was read; read it again.'),

  RESULT_INVALID: row('project', null, 'The answer of the upstream does not have the declared form.'),
  RESULT_TOO_LARGE: row('project', null, 'The result is larger than the action allows.'),
  RESULT_WITHHELD: row('project', null, 'The answer of the upstream held something that must not be shown.'),
  RESULT_EXPIRED: row('project', null, 'The result of the earlier call is no longer kept.'),
})

export type ErrorCode = keyof typeof ERRORS

/** A request that goes on from here. */
export interface Next {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly after_seconds: number
}

/** What an answer may add to a row of the table; every part is safe to show to an agent. */
export interface ErrorDetails {
  readonly message?: string
  readonly retryable?: boolean
  /** JSON Pointer into the body that the agent sent. */
  readonly field?: string
  /** The keyword of the rule that refused, `pattern`, `required`, … */
  readonly rule?: string
  readonly cause?: string
  readonly hint?: string
  readonly retryAfterSeconds?: number
  /** The proposal that the error is about, as agents see it. */
  readonly proposal?: Readonly<Record<string, unknown>>
  /** What helps instead. */
  readonly next?: Next
  /** For operators only: goes to the log under the correlation id, never into an answer. */
  readonly internal?: string
}

/** A refusal: thrown by a step, answered by a surface. Nothing was dispatched by the request it answers. */
export class Refusal extends Error {
  /** A row of the table, or a code that a sheet declares. */
  readonly code: string
  readonly step: Step
  readonly status: number
  readonly retryable: boolean
  readonly details: ErrorDetails

  private constructor (code: string, step: Step, status: number, retryable: boolean, message: string, details: ErrorDetails) {
    super(message)
    this.name = 'Refusal'
    this.code = code
    this.step = step
    this.status = status
    this.retryable = retryable
    this.details = details
  }

  /** `step` only where a code is used by another step than its own, as OUT_OF_SCOPE by a check. */
  static of (code: ErrorCode, details: ErrorDetails = {}, step: Step = ERRORS[code].step): Refusal {
    const known: Row = ERRORS[code]
    return new Refusal(code, step, known.status ?? 500, details.retryable ?? known.retryable, details.message ?? known.message, details)
  }

  /** A business rule of a sheet refused: 422 with the sheet's own code. */
  static ofSheet (code: string, message: string, retryable: boolean): Refusal {
    return new Refusal(code, 'facts', 422, retryable, message, {})
  }

  /** An operator asked to resolve what is not open; no agent hears of it. */
  static ofResolving (code: 'ALREADY_SETTLED' | 'STILL_UNDER_WAY', message: string): Refusal {
    return new Refusal(code, 'outcome', 409, false, message, {})
  }
}

export const isErrorCode = (code: string): code is ErrorCode => Object.hasOwn(ERRORS, code)
