// What an agent may know of an action before it calls it: a line in a list, and the whole contract. Pure data of the catalog, nothing of a call.
import type { Action, Catalog, Check, Effect, JsonObject } from '../catalog/catalog.ts'
import { ACTION_ID_PATTERN } from '../catalog/sheet.ts'
import { ERRORS, isErrorCode, Refusal, type ErrorCode, type Step } from '../errors.ts'

export interface ListedAction {
  /** `change_address.v2`: the name to call it by. */
  readonly action: string
  readonly name: string
  readonly version: number
  readonly title: string
  readonly description: string
  readonly effect: Effect
  readonly consent: Action['consent']
  readonly retry: Action['retry']
}

export interface ListQuery {
  /** Words that must all stand in the name, title or description, whatever their case. */
  readonly query: string | null
  readonly effect: Effect | null
  readonly limit: number
  readonly cursor: string | null
}

export interface ListPage {
  readonly actions: readonly ListedAction[]
  readonly nextCursor: string | null
}

export interface ActionPage {
  readonly actions: readonly Action[]
  /** null: nothing is left. */
  readonly nextCursor: string | null
}

/**
 * A page of what is granted, in the catalog's order.
 * @throws Refusal MALFORMED_REQUEST where the cursor is none of ours or of another catalog
 */
export function pageOf (catalog: Catalog, granted: readonly Action[], ask: ListQuery): ActionPage {
  const words = (ask.query ?? '').toLowerCase().split(/\s+/).filter(word => word !== '')
  const rest = granted.slice(placeAfter(catalog, granted, ask.cursor))
    .filter(action => (ask.effect === null || action.effect === ask.effect) && mentions(action, words))
  const page = rest.slice(0, ask.limit)
  return { actions: page, nextCursor: rest.length > page.length ? cursorAfter(catalog, page.at(-1)!) : null }
}

/** The same as lines. @throws Refusal as `pageOf` */
export function listedActions (catalog: Catalog, granted: readonly Action[], ask: ListQuery): ListPage {
  const { actions, nextCursor } = pageOf(catalog, granted, ask)
  return { actions: actions.map(lineOf), nextCursor }
}

function mentions (action: Action, words: readonly string[]): boolean {
  if (words.length === 0) return true
  const text = `${action.id} ${action.title} ${action.description}`.toLowerCase()
  return words.every(word => text.includes(word))
}

const lineOf = (action: Action): ListedAction => ({
  action: action.id,
  name: action.name,
  version: action.version,
  title: action.title,
  description: action.description,
  effect: action.effect,
  consent: action.consent,
  retry: action.retry,
})

const ACTION_ID = new RegExp(ACTION_ID_PATTERN)

const cursorAfter = (catalog: Catalog, last: Action): string => Buffer.from(`${catalog.digest}\n${last.id}`).toString('base64url')

/**
 * Index of the first granted action behind the cursor. Actions are in the order of their ids, so the place holds whatever was taken from this caller
 * since; and whoever writes a cursor by hand does not learn whether there is an action of that name.
 */
function placeAfter (catalog: Catalog, granted: readonly Action[], cursor: string | null): number {
  if (cursor === null) return 0
  const [digest, id] = Buffer.from(cursor, 'base64url').toString('utf8').split('\n')
  if (digest !== catalog.digest || id === undefined || !ACTION_ID.test(id)) {
    throw Refusal.of('MALFORMED_REQUEST', { rule: 'cursor', hint: 'The cursor does not belong to the catalog in force; begin again without one.' })
  }
  return granted.filter(action => action.id <= id).length
}

export interface ContractError {
  readonly code: string
  readonly message: string
  readonly retryable: boolean
  /** null: it stands in a 200 or 202 answer. */
  readonly status: number | null
  /** The step that refuses; null for a code of the sheet that a rule about the answer of the upstream gives. */
  readonly step: Step | null
}

/** The whole contract, as it is answered. */
export function contractOf (action: Action): JsonObject & { readonly errors: readonly (JsonObject & ContractError)[] } {
  const { limits } = action
  return {
    ...lineOf(action),
    involves: action.involves,
    sensitivity: action.sensitivity,
    repeatable: action.repeatable,
    input_schema: action.inputSchema as JsonObject,
    result_schema: (action.view?.schema ?? null) as JsonObject | null,
    result_max_bytes: action.view?.maxBytes ?? null,
    scope: action.scope.map(rule => ({ require: rule.text })),
    checks: action.checks.map(checkInWords),
    target: action.target !== null,
    limits: {
      timeout_ms: limits.timeoutMs,
      calls_per_run: limits.callsPerRun,
      refusals_per_run: limits.refusalsPerRun,
      concurrency_per_tenant: limits.concurrencyPerTenant,
      serialized: limits.serialize !== null,
    },
    errors: [...tableErrors(action), ...sheetErrors(action)].map(error => ({ ...error })),
    examples: action.examples,
    compensate_with: action.compensateWith,
    sunset: action.sunset,
  }
}

function checkInWords (check: Check): JsonObject {
  const { otherwise } = check
  if (otherwise.kind === 'settle') return { require: check.text, outcome: otherwise.outcome }
  return { require: check.text, error: otherwise.code, message: otherwise.message, retryable: otherwise.retryable }
}

const always = (): boolean => true
const never = (): boolean => false
const write = (action: Action): boolean => action.write
const consenting = (action: Action): boolean => action.consent !== 'none'
const viewed = (action: Action): boolean => action.view !== null
/** Spends from a budget that the state keeps. */
const counted = (action: Action): boolean => action.write || action.limits.callsPerRun !== null || action.limits.concurrencyPerTenant !== null

/** When a code of the table can answer a call of an action. A new code does not compile until it has its line here. */
const ANSWERS: Readonly<Record<ErrorCode, (action: Action) => boolean>> = {
  UNAUTHENTICATED: always, VAULT_LOCKED: always, ROLE_CONFLICT: always, MISDIRECTED: always, SHUTTING_DOWN: always, INTERNAL: always,
  // Of paths and attempts, never of a call.
  METHOD_NOT_ALLOWED: never, NOT_FOUND: never,
  MALFORMED_JSON: always, MALFORMED_REQUEST: always, DUPLICATE_KEY: always, ILL_FORMED_TEXT: always, UNSAFE_NUMBER: always, TOO_DEEP: always,
  TOO_LARGE: always, UNSUPPORTED_MEDIA_TYPE: always,
  UNKNOWN_ACTION: always, RUN_STOPPED: always,
  VERSION_RETIRED: action => action.sunset !== null,
  RUN_REQUIRED: write,
  CONSENT_UNAVAILABLE: consenting,
  TOO_MANY_REFUSALS: action => action.limits.refusalsPerRun !== null,
  INVALID_ARGUMENTS: always,
  OUT_OF_SCOPE: action => action.scope.length > 0 || checkedCodes(action).has('OUT_OF_SCOPE'),
  IDEMPOTENCY_KEY_REUSED: write, CALL_IN_PROGRESS: write,
  IDEMPOTENCY_KEY_REQUIRED: action => action.repeatable,
  RATE_LIMITED: always,
  BUDGET_EXHAUSTED: action => action.limits.callsPerRun !== null,
  UNRESOLVED_LIMIT: write,
  CHECK_UNAVAILABLE: action => action.reads.length > 0 || action.checks.length > 0 || action.values.length > 0 || action.target !== null,
  PROPOSAL_PENDING: consenting, PROPOSAL_DENIED: consenting, PROPOSAL_EXPIRED: consenting, PROPOSAL_WITHDRAWN: consenting,
  PROPOSAL_SUPERSEDED: consenting, PROPOSAL_INVALIDATED: consenting, PROPOSAL_REVOKED: consenting, RECENTLY_DENIED: consenting,
  TOO_MANY_PENDING: consenting,
  TARGET_BUSY: write,
  STATE_UNAVAILABLE: counted,
  CREDENTIAL_UNAVAILABLE: action => action.upstream.credentials.read !== null || action.upstream.credentials.write !== null,
  UPSTREAM_UNREACHABLE: always,
  CANCELLED: write,
  OUTCOME_UNKNOWN: write,
  CREDENTIAL_REFUSED: always, UPSTREAM_NOT_FOUND: always, UPSTREAM_CONFLICT: always, UPSTREAM_REJECTED: always, UPSTREAM_RATE_LIMITED: always,
  UPSTREAM_ERROR: always,
  NOT_APPLIED: action => action.lookup !== null,
  VERSION_CONFLICT: write,
  RESULT_INVALID: viewed, RESULT_TOO_LARGE: viewed, RESULT_WITHHELD: viewed,
  RESULT_EXPIRED: write,
}

/** Upstream answers after which a repeat is harmless only where the upstream makes it so. */
const BY_RETRY: ReadonlySet<ErrorCode> = new Set(['NOT_APPLIED', 'UPSTREAM_RATE_LIMITED'])

function tableErrors (action: Action): readonly ContractError[] {
  const codes = (Object.keys(ERRORS) as ErrorCode[]).filter(code => ANSWERS[code](action))
  return codes.map(code => {
    const { message, retryable, status, step } = ERRORS[code]
    // A read that finds nothing refuses with a status; the write's own 404 stands in a settled answer.
    const refusing = code === 'UPSTREAM_NOT_FOUND' && action.reads.length === 0 ? null : status
    return { code, message, retryable: BY_RETRY.has(code) ? action.retry !== 'never' : retryable, status: refusing, step }
  })
}

/** Codes that a business rule of the sheet refuses with. */
function checkedCodes (action: Action): ReadonlySet<string> {
  return new Set(action.checks.flatMap(check => check.otherwise.kind === 'refuse' ? [check.otherwise.code] : []))
}

function sheetErrors (action: Action): readonly ContractError[] {
  const checked = checkedCodes(action)
  return action.errors.filter(error => !isErrorCode(error.code)).map(({ code, message, retryable }) => {
    const refuses = checked.has(code)
    return { code, message, retryable, status: refuses ? 422 : null, step: refuses ? 'facts' : null }
  })
}
