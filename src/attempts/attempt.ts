// The life of one attempt, as a pure reducer: no clock, no I/O. `advance(record, event)` says what the record becomes; the store drivers only make
// that change atomic (compare-and-set on `revision`) and stamp the times with the store's own clock.
//
//   (none) ─begin─► prepared ─dispatch─► dispatched ─settle───────────────► settled
//                      │                     │ ├─pend─► pending ─lookup───────►│
//                      │                     │ └─lose / deadline─► unknown ─lookup►│
//                      └─cancel / deadline / settle (never sent) ──────────────────►│
//                                              unknown, pending ─escalate─► escalated ─resolve / late answer─►
//
// What must hold: settled is written once; a dispatched attempt is never dispatched again; only the token that prepared an
// attempt may dispatch it or report its answer; nothing but proof that no byte left closes a dispatched attempt as unsent.
import type { CallerView, Json, JsonObject, Outcome, Target } from '../catalog/catalog.ts'

export const RECORD_FORMAT = 1

export type AttemptState = 'prepared' | 'dispatched' | 'pending' | 'unknown' | 'escalated' | 'settled'

/** What an outcome rests on. */
export interface Evidence {
  readonly source: 'response' | 'lookup' | 'person' | 'none'
  readonly upstreamStatus: number | null
  /** For a person: who decided, as an HMAC. */
  readonly by: string | null
}

export interface Settlement {
  readonly outcome: Extract<Outcome, 'completed' | 'already_in_desired_state' | 'rejected'>
  /** false: it is proved that no byte left. */
  readonly sent: boolean
  readonly code: string | null
  readonly message: string | null
  readonly retryable: boolean
  readonly retryAfterSeconds: number | null
  readonly result: Json
  readonly truncated: boolean
  /** Why a completed attempt has no result: a code of the project step. */
  readonly withheld: string | null
  readonly evidence: Evidence
}

export interface AttemptRecord {
  readonly format: number
  readonly id: string
  /** `00`…`3f`: the hash tag that everything of its tenant shares. */
  readonly tag: string
  readonly recordKey: string
  readonly runKey: string
  /** The agent gave an Idempotency-Key. */
  readonly keyed: boolean
  readonly fingerprint: string
  /** The how-manieth attempt of this record key, from 0. */
  readonly n: number
  /** Generation of the upstream key. */
  readonly g: number
  /** Number of the first attempt under this generation: each from there to this one is known to have come to nothing. Absent: this one is the first. */
  readonly since?: number
  /** The upstream idempotency key. */
  readonly key: string
  /** What a person approved, and this attempt used up; the record key is its. Absent: nobody had to be asked. */
  readonly proposal?: string
  /** Record key of the call that the person was asked about, for a store that forgets the proposal. */
  readonly askedAs?: string
  readonly action: string
  /** Digest of the definition that it was begun with; look-ups go by that one. */
  readonly definition: string
  readonly upstream: string
  readonly owner: { readonly iss: string, readonly sub: string, readonly tenant: string, readonly run: string }
  readonly caller: CallerView
  readonly args: JsonObject
  readonly values: JsonObject
  readonly target: Target | null
  /** Hashed names of what it holds while unsettled. */
  readonly claims: { readonly target: string | null, readonly serialize: string | null, readonly equal: string }
  /** The upstream itself refuses a stale write, so an escalated attempt need not block this one's target. */
  readonly guarded: boolean
  readonly sensitive: boolean
  /** It is sent only once its mark is on the disk of the store. Absent: as soon as it is acknowledged. */
  readonly strict?: true
  /** Total timeout of the send. */
  readonly timeoutMs: number
  /** From dispatch until nothing of it can still be under way: send window + timeout + declared settling time. */
  readonly quiescenceMs: number
  readonly correlationId: string

  readonly state: AttemptState
  /** Rises by one with every change. */
  readonly revision: number
  /** Minted at begin; who holds it owns the send. */
  readonly token: string
  readonly reference: Json
  /** What the sheet's or the default rule said is missing, for operators. */
  readonly missing: string | null
  readonly cancelRequested: boolean
  readonly lookups: number
  /** Store time of the first absent answer since it was last seen otherwise. */
  readonly firstAbsentAtMs: number | null
  readonly settlement: Settlement | null

  // Stamped by the store's clock, milliseconds since the epoch.
  readonly preparedAtMs: number
  readonly dispatchedAtMs: number | null
  readonly unknownAtMs: number | null
  readonly settledAtMs: number | null
  /** When the sweeper or the resolver has something to do. */
  readonly dueAtMs: number | null
}

/** What a look-up brought. */
export type Finding =
  | { readonly kind: 'settled', readonly settlement: Settlement }
  | { readonly kind: 'pending', readonly reference: Json, readonly retryAfterMs: number | null }
  | {
    readonly kind: 'absent'
    readonly settlesAfterMs: number
    /** The resolver's own monotonic clock waited the quiescence out too, before it asked. */
    readonly quiesced: boolean
    /** How long that clock must still wait; where it is not said, the whole quiescence. */
    readonly quietAfterMs?: number
    readonly withinRetention: boolean
    readonly retryable: boolean
  }
  | { readonly kind: 'inconclusive', readonly retryAfterMs: number | null }
  /** No look-up is declared. */
  | { readonly kind: 'impossible' }

export type AttemptEvent =
  | { readonly type: 'dispatch', readonly token: string }
  | { readonly type: 'settle', readonly token: string, readonly settlement: Settlement }
  | { readonly type: 'pend', readonly token: string, readonly reference: Json, readonly retryAfterMs: number | null }
  | { readonly type: 'lose', readonly token: string, readonly missing: string, readonly reference: Json }
  /** `nowMs` is the store's time, read when the attempt was claimed as due. */
  | { readonly type: 'deadline', readonly nowMs: number }
  | { readonly type: 'lookup', readonly nowMs: number, readonly finding: Finding }
  | { readonly type: 'cancel' }
  | { readonly type: 'escalate' }
  | { readonly type: 'resolve', readonly settlement: Settlement }

export type Stamp = 'dispatchedAtMs' | 'unknownAtMs' | 'settledAtMs' | 'firstAbsentAtMs'

export type Advance =
  /** `stamp` is set to the store's time and `dueAtMs` to that time + `dueAfterMs` (`keep`: as it was) by the driver, in the same atomic change. */
  | { readonly kind: 'changed', readonly record: AttemptRecord, readonly stamp: Stamp | null, readonly dueAfterMs: number | null | 'keep' }
  /** The event was applied before: the answer is the record as it is. */
  | { readonly kind: 'already' }
  /** The event does not apply; `alarm` where that means that evidence contradicts what is written down. */
  | { readonly kind: 'refused', readonly alarm: boolean }

/** How long a prepared attempt may wait for its dispatch before it is closed as never sent. */
export const PREPARE_LEASE_MS = 10_000
/** From the start of the durable mark until the first byte: later than that, the send aborts itself. */
export const SEND_WINDOW_MS = 2_000
/** Given to a broker, beyond its own deadline, to report what it saw. */
export const DEADLINE_GRACE_MS = 1_000
/** Pauses between look-ups; the last one repeats. */
const LOOKUP_DELAYS_MS = [200, 1_000, 5_000, 30_000, 120_000, 600_000] as const
/** Of the time since the dispatch. The delays themselves keep within it. */
const PAUSE_SHARE_MAX = 5
/** How soon what has become unknown is looked up. */
export const UNKNOWN_DUE_MS = LOOKUP_DELAYS_MS[0]
/** About four hours; then a person decides. */
export const LOOKUPS_MAX = 30

export const NO_EVIDENCE: Evidence = Object.freeze({ source: 'none', upstreamStatus: null, by: null })

/** Closes an attempt of which it is proved that no byte left. */
export function unsent (code: string, message: string, retryable: boolean): Settlement {
  return {
    outcome: 'rejected', sent: false, code, message, retryable, retryAfterSeconds: null,
    result: null, truncated: false, withheld: null, evidence: NO_EVIDENCE,
  }
}

/** It came to nothing, for the moment or because it was stale: the same call may be meant anew. */
export const mayBeMeantAgain = ({ settlement }: AttemptRecord): boolean =>
  settlement !== null && settlement.outcome === 'rejected' && (!settlement.sent || settlement.retryable || settlement.code === 'VERSION_CONFLICT')

/**
 * A settled attempt that lets the same key be used for a new one. What a person approved is sent once: only what provably never left may begin it anew,
 * whatever the upstream said to what did.
 */
export const freesKey = (record: AttemptRecord): boolean =>
  mayBeMeantAgain(record) && (record.proposal === undefined || record.settlement?.sent === false)

/** It used up an approval, and provably never left: the approval is good again. */
export const givesBack = ({ proposal, settlement }: AttemptRecord): boolean => proposal !== undefined && settlement?.sent === false

/** The upstream key's generation for the attempt after this one: kept where the upstream provably saw nothing under it. */
export function nextGeneration (record: AttemptRecord): number {
  const settlement = record.settlement
  const unseen = settlement !== null && (!settlement.sent || settlement.code === 'NOT_APPLIED')
  return unseen ? record.g : record.g + 1
}

export const isUnresolved = (state: AttemptState): boolean => state === 'unknown' || state === 'pending' || state === 'escalated'

export function advance (record: AttemptRecord, event: AttemptEvent): Advance {
  switch (event.type) {
    case 'dispatch': return dispatch(record, event.token)
    case 'settle': return settleByToken(record, event.token, event.settlement)
    case 'pend':
      if (event.token !== record.token) return REFUSED
      if (record.state === 'pending') return ALREADY
      if (record.state === 'prepared') return CONTRADICTED
      if (record.state !== 'dispatched' && record.state !== 'unknown') return REFUSED
      return change(record, accepted(record, event.reference), null, event.retryAfterMs ?? LOOKUP_DELAYS_MS[1])
    case 'lose':
      if (event.token !== record.token) return REFUSED
      if (record.state === 'unknown') return ALREADY
      if (record.state === 'prepared') return CONTRADICTED
      if (record.state !== 'dispatched') return REFUSED
      return change(record,
        { state: 'unknown', missing: event.missing, reference: event.reference ?? record.reference }, 'unknownAtMs', LOOKUP_DELAYS_MS[0])
    case 'deadline': return deadline(record, event.nowMs)
    case 'lookup': return lookup(record, event.nowMs, event.finding)
    case 'cancel':
      if (record.state === 'prepared') return settle(record, unsent('CANCELLED', 'The call was cancelled before anything was sent.', false))
      if (record.state === 'settled' || record.cancelRequested) return ALREADY
      return { kind: 'changed', record: { ...record, cancelRequested: true, revision: record.revision + 1 }, stamp: null, dueAfterMs: 'keep' }
    case 'escalate':
      if (record.state === 'escalated') return ALREADY
      return record.state === 'unknown' || record.state === 'pending' ? change(record, { state: 'escalated' }, null, null) : REFUSED
    case 'resolve':
      if (record.state === 'settled') return sameEnd(record.settlement, event.settlement) ? ALREADY : REFUSED
      return isUnresolved(record.state) ? settle(record, event.settlement) : REFUSED
  }
}

function dispatch (record: AttemptRecord, token: string): Advance {
  if (token !== record.token) return REFUSED
  if (record.state === 'dispatched') return ALREADY
  if (record.state !== 'prepared') return REFUSED
  return change(record, { state: 'dispatched' }, 'dispatchedAtMs', SEND_WINDOW_MS + record.timeoutMs + DEADLINE_GRACE_MS)
}

function settleByToken (record: AttemptRecord, token: string, settlement: Settlement): Advance {
  if (token !== record.token) return REFUSED
  if (record.state === 'settled') {
    if (sameEnd(record.settlement, settlement)) return ALREADY
    return contradicts(record.settlement, settlement) ? CONTRADICTED : REFUSED
  }
  // Before the dispatch there is nothing that an upstream could have answered: the store has forgotten the mark.
  if (record.state === 'prepared' && settlement.sent) return CONTRADICTED
  // What the upstream says that it accepted did leave.
  if (record.state === 'pending' && !settlement.sent) return CONTRADICTED
  return settle(record, settlement)
}

function deadline (record: AttemptRecord, nowMs: number): Advance {
  if (record.dueAtMs === null || nowMs < record.dueAtMs) return REFUSED
  if (record.state === 'prepared') return settle(record, unsent('STATE_UNAVAILABLE', 'The call was abandoned before anything was sent.', true))
  if (record.state !== 'dispatched') return REFUSED
  return change(record, { state: 'unknown', missing: 'no broker reported an answer before the deadline' }, 'unknownAtMs', LOOKUP_DELAYS_MS[0])
}

function lookup (record: AttemptRecord, nowMs: number, finding: Finding): Advance {
  if (record.state === 'settled') return finding.kind === 'settled' && contradicts(record.settlement, finding.settlement) ? CONTRADICTED : ALREADY
  // Evidence that comes after the attempt was handed to a person is still evidence.
  if (record.state === 'escalated' && finding.kind === 'settled') return settle(record, finding.settlement)
  if (record.state !== 'unknown' && record.state !== 'pending') return REFUSED
  const lookups = record.lookups + 1
  const takenMs = nowMs - (record.dispatchedAtMs ?? record.preparedAtMs)
  const scheduledMs = scheduled(lookups, takenMs)
  switch (finding.kind) {
    case 'settled': return settle(record, finding.settlement)
    case 'impossible': return change(record, { state: 'escalated', lookups }, null, null)
    case 'pending':
      if (lookups >= LOOKUPS_MAX) return change(record, { ...accepted(record, finding.reference), state: 'escalated', lookups }, null, null)
      return change(record, { ...accepted(record, finding.reference), lookups }, null, pauseMs(takenMs, finding.retryAfterMs, scheduledMs))
    case 'inconclusive':
      if (lookups >= LOOKUPS_MAX) return change(record, { state: 'escalated', lookups }, null, null)
      return change(record, { lookups }, null, pauseMs(takenMs, finding.retryAfterMs, scheduledMs))
    case 'absent': return absent(record, nowMs, finding, lookups, scheduledMs)
  }
}

/** No pause is much longer than all the time before it: an upstream that wanted to be asked again at once, some times, is not left alone for minutes then. */
function scheduled (lookups: number, takenMs: number): number {
  const delayMs = LOOKUP_DELAYS_MS[Math.min(lookups, LOOKUP_DELAYS_MS.length - 1)]!
  return Math.max(LOOKUP_DELAYS_MS[0], Math.min(delayMs, PAUSE_SHARE_MAX * takenMs))
}

/**
 * An upstream may want to be asked later, or sooner. Sooner only in proportion to how long it has taken already: else the look-ups of an operation of
 * a minute that is to be asked for every second would be spent before its end.
 */
function pauseMs (takenMs: number, retryAfterMs: number | null, scheduledMs: number): number {
  if (retryAfterMs === null) return scheduledMs
  return Math.max(retryAfterMs, Math.min(scheduledMs, Math.floor(takenMs / 2)))
}

/**
 * The conditions under which "not found" proves absence, as far as they are a matter of time; those of form are checked at load and by whoever read
 * the answer.
 */
function absent (record: AttemptRecord, nowMs: number, finding: Extract<Finding, { kind: 'absent' }>, lookups: number, scheduledMs: number): Advance {
  const quietAtMs = (record.dispatchedAtMs ?? nowMs) + record.quiescenceMs
  const settledAtMs = record.firstAbsentAtMs === null ? null : record.firstAbsentAtMs + finding.settlesAfterMs
  // An operation that is still pending was accepted; that it cannot be found proves nothing.
  const provable = record.state === 'unknown' && finding.withinRetention
  // Two answers, not one heard twice: this look-up was claimed after the first absence had been written down.
  const second = record.firstAbsentAtMs !== null && nowMs > record.firstAbsentAtMs
  if (provable && finding.quiesced && nowMs >= quietAtMs && second && nowMs >= settledAtMs!) {
    return settle(record, {
      ...unsent('NOT_APPLIED', 'A look-up proved that the call had no effect.', finding.retryable),
      sent: true,
      evidence: { source: 'lookup', upstreamStatus: null, by: null },
    })
  }
  if (lookups >= LOOKUPS_MAX) return change(record, { state: 'escalated', lookups }, null, null)
  // Until all of it can hold there is no use in asking soon: the look-ups would be spent before the last of the waits is over.
  const ownWaitMs = finding.quiesced ? 0 : finding.quietAfterMs ?? record.quiescenceMs
  const neededMs = Math.max(ownWaitMs, Math.max(quietAtMs, settledAtMs ?? nowMs + finding.settlesAfterMs) - nowMs)
  const dueAfterMs = provable ? Math.max(LOOKUP_DELAYS_MS[0], Math.min(scheduledMs, neededMs)) : scheduledMs
  return change(record, { lookups }, record.firstAbsentAtMs === null ? 'firstAbsentAtMs' : null, dueAfterMs)
}

const REFUSED: Advance = Object.freeze({ kind: 'refused', alarm: false })
const CONTRADICTED: Advance = Object.freeze({ kind: 'refused', alarm: true })
const ALREADY: Advance = Object.freeze({ kind: 'already' })

function change (record: AttemptRecord, patch: Partial<AttemptRecord>, stamp: Stamp | null, dueAfterMs: number | null | undefined): Advance {
  const next = { ...record, ...patch, revision: record.revision + 1 }
  return { kind: 'changed', record: next, stamp, dueAfterMs: typeof dueAfterMs === 'number' ? Math.ceil(dueAfterMs) : null }
}

function settle (record: AttemptRecord, settlement: Settlement): Advance {
  return change(record, { state: 'settled', settlement, missing: null }, 'settledAtMs', null)
}

/** The upstream has taken the call up; what was absent before has been seen. */
function accepted (record: AttemptRecord, reference: Json): Partial<AttemptRecord> {
  return { state: 'pending', reference: reference ?? record.reference, missing: null, firstAbsentAtMs: null }
}

/** Two ways of saying that nothing came of it agree; an effect and none do not, nor do a send and the proof that there was none. */
function contradicts (written: Settlement | null, told: Settlement): boolean {
  return written !== null && (written.outcome !== told.outcome || (!written.sent && told.sent))
}

function sameEnd (one: Settlement | null, other: Settlement): boolean {
  return one !== null && one.outcome === other.outcome && one.sent === other.sent && one.code === other.code
}
