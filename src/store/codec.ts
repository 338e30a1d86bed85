// How an attempt is written down: what scripts and queries decide by stands in fields of its own, everything else is one JSON text, and the result
// of a settled attempt lies apart because it is kept for a shorter time than the attempt.
import {
  DEADLINE_GRACE_MS, PREPARE_LEASE_MS, SEND_WINDOW_MS, type Advance, type AttemptRecord, type AttemptState,
} from '../attempts/attempt.ts'
import { tagOfProposal } from '../consent/proposal.ts'
import type { BeginLimits, RecordName } from './store.ts'

/** What changes from revision to revision beside the body. */
export interface Stamps {
  readonly preparedAtMs: number
  readonly dispatchedAtMs: number | null
  readonly unknownAtMs: number | null
  readonly firstAbsentAtMs: number | null
  readonly settledAtMs: number | null
  readonly dueAtMs: number | null
}

export interface StoredAttempt extends Stamps {
  readonly format: number
  readonly id: string
  readonly revision: number
  readonly state: AttemptState
  readonly token: string
  readonly body: string
}

export interface Packed {
  readonly body: string
  /** JSON text; null: there is none, or it must not be stored. */
  readonly result: string | null
}

type Body = Omit<AttemptRecord, keyof StoredAttempt> & { readonly resultApart: boolean }

export function pack (record: AttemptRecord): Packed {
  const {
    format: _format, id: _id, revision: _revision, state: _state, token: _token,
    preparedAtMs: _prepared, dispatchedAtMs: _dispatched, unknownAtMs: _unknown, firstAbsentAtMs: _absent, settledAtMs: _settled, dueAtMs: _due,
    ...rest
  } = record
  const { settlement } = record
  const resultApart = settlement !== null && settlement.result !== null
  const body: Body = { ...rest, settlement: resultApart ? { ...settlement, result: null } : settlement, resultApart }
  return { body: JSON.stringify(body), result: resultApart && !record.sensitive ? JSON.stringify(settlement.result) : null }
}

/** @param result what `pack` gave, or null once it has expired or where it was never kept */
export function unpack (stored: StoredAttempt, result: string | null): AttemptRecord {
  const { resultApart, ...body } = JSON.parse(stored.body) as Body
  const { body: _text, ...fields } = stored
  const record: AttemptRecord = { ...body, ...fields }
  if (!resultApart || record.settlement === null) return record
  const kept = result === null ? { result: null, withheld: 'RESULT_EXPIRED' } : { result: JSON.parse(result) }
  return { ...record, settlement: { ...record.settlement, ...kept } }
}

/** The record as it is once the store has made the change at its time `nowMs`. */
export function stamped (change: Extract<Advance, { kind: 'changed' }>, nowMs: number): AttemptRecord {
  const { record, stamp, dueAfterMs } = change
  return {
    ...record,
    ...(stamp === null ? {} : { [stamp]: nowMs }),
    dueAtMs: dueAfterMs === 'keep' ? record.dueAtMs : dueAfterMs === null ? null : nowMs + dueAfterMs,
  }
}

export function begunAt (record: AttemptRecord, nowMs: number): AttemptRecord {
  return { ...record, preparedAtMs: nowMs, dueAtMs: nowMs + PREPARE_LEASE_MS }
}

/** From begin until the attempt cannot be under way any more, whatever became of its broker: for so long it takes a place of the tenant's. */
export const placeMs = (record: AttemptRecord): number => PREPARE_LEASE_MS + SEND_WINDOW_MS + record.timeoutMs + DEADLINE_GRACE_MS

/** From here on the version of its target that anybody read before may be old. */
export const changesTarget = ({ claims, settlement }: AttemptRecord): boolean => claims.target !== null && settlement?.outcome === 'completed'

export function nameOf (record: AttemptRecord): RecordName {
  const { tag, runKey, recordKey, fingerprint, keyed, upstream, action } = record
  return { tag, tenant: record.owner.tenant, runKey, recordKey, fingerprint, keyed, upstream, action }
}

/** @throws TypeError where the caller made the record wrongly: nothing of it may be stored */
export function requirePrepared (record: AttemptRecord, { consume }: BeginLimits): void {
  if (record.state !== 'prepared' || record.settlement !== null) throw new TypeError('an attempt is begun as prepared')
  if (!record.id.startsWith(`att_${record.tag}`)) throw new TypeError('the id of an attempt carries its hash tag')
  if (record.token === '') throw new TypeError('an attempt is begun under a token')
  if (record.proposal !== consume?.proposal) throw new TypeError('an attempt consumes the proposal that it names')
  if (consume !== undefined && tagOfProposal(consume.proposal) !== record.tag) throw new TypeError('an attempt and its proposal share one hash tag')
}
