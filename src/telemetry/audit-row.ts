// One row of the audit: its fields, its line and its hash. A line is canonical JSON (RFC 8785) of printable ASCII, so that there is one way only to
// write a row and a changed byte cannot hide.
import { hash } from 'node:crypto'
import canonicalize from 'canonicalize'
import type { Outcome } from '../catalog/catalog.ts'
import type { Step } from '../errors.ts'
import { isoTime } from './iso-time.ts'
import { printable } from './visible.ts'

export const ROW_VERSION = 1
/** Every hash of the chain begins with this, so that none can be taken for a hash of something else. */
export const CHAIN_DOMAIN = 'aval/audit/v1\0'
/** `prev` of the first row of a writer. */
export const NO_HASH = '0'.repeat(64)

export type AuditEventName =
  | 'action.called' | 'action.refused'
  | 'execution.intent' | 'execution.result' | 'execution.unknown' | 'execution.pending' | 'execution.escalated' | 'execution.resolved'
  | 'response.withheld' | 'integrity.alarm' | 'sheet.reloaded' | 'run.stopped'
  | 'proposal.made' | 'proposal.viewed' | 'proposal.decided' | 'proposal.extended' | 'proposal.revoked' | 'proposal.consumed' | 'proposal.ended'
  | 'vault.locked' | 'vault.unlocked' | 'vault.refused'
  | 'person.signed_in' | 'person.signed_out' | 'person.refused' | 'plane.violation'
  | 'state.lost' | 'state.restored' | 'state.accepted'
  | 'audit.opened' | 'audit.recovered' | 'audit.sealed' | 'audit.closed'

/** A row that ends an attempt or a refused call: there is exactly one of them for each. */
export const TERMINAL: ReadonlySet<string> = new Set<AuditEventName>(['action.refused', 'execution.result', 'execution.resolved'])

/** The head of another writer's chain, as it was found (audit-seal.ts). */
export interface Sealed {
  /** Bytes of whole rows in `segment`. */
  readonly bytes: number
  readonly head: string
  readonly segment: number
  readonly seq: number
  /** Bytes after the last whole row, and their SHA-256. */
  readonly torn_bytes: number
  readonly torn_sha256: string
  readonly writer: string
}

/**
 * All that a row may hold beside its place in the chain. Values that came from an agent are HMACs (`h1:…`), but for an action name that it asked
 * for and nothing knows. Nothing is null: what does not apply is left out.
 */
export interface RowFields {
  readonly event: AuditEventName
  readonly action?: { readonly definition: string | undefined, readonly effect: string | undefined, readonly id: string } | undefined
  readonly actor?: RowActor | undefined
  readonly args?: string | undefined
  readonly asked?: string | undefined
  readonly attempt?: { readonly duplicate: true | undefined, readonly id: string, readonly state: string | undefined } | undefined
  readonly by?: string | undefined
  readonly code?: string | undefined
  readonly corrects?: { readonly correlation_id: string, readonly seq: number } | undefined
  readonly correlation_id?: string | undefined
  readonly digest?: string | undefined
  readonly field?: string | undefined
  readonly key_ids?: { readonly hmac: string, readonly sig: string } | undefined
  readonly ms?: number | undefined
  readonly outcome?: Outcome | undefined
  readonly proposal?: { readonly digest: string | undefined, readonly id: string, readonly state: string | undefined } | undefined
  readonly received?: string | undefined
  readonly reason?: string | undefined
  readonly request?: string | undefined
  readonly rule?: string | undefined
  readonly sealed?: Sealed | undefined
  readonly sent?: boolean | undefined
  readonly shown?: { readonly ms: number | undefined, readonly renderer: string | undefined, readonly surface: string | undefined } | undefined
  readonly source?: string | undefined
  readonly step?: Step | undefined
  readonly surface?: string | undefined
  readonly target?: { readonly mark: string, readonly version: string | undefined } | undefined
  readonly truncated?: true | undefined
  readonly upstream?: RowUpstream | undefined
  readonly what?: string | undefined
  readonly withheld?: string | undefined
}

export interface RowActor {
  readonly iss: string | undefined
  readonly kind: string
  readonly run: string | undefined
  readonly sub: string | undefined
  readonly tenant: string | undefined
}

export interface RowUpstream {
  readonly id: string
  readonly method: string
  readonly ms: number
  readonly request: string
  readonly status: number | undefined
}

export interface Place {
  readonly writer: string
  /** From 1, without a gap. */
  readonly seq: number
  readonly prev: string
  /** Milliseconds since the epoch. */
  readonly timeMs: number
}

/**
 * The line, without its line feed, and its hash. JSON.stringify writes canonical JSON where keys stand in order, text is ASCII and numbers are plain:
 * the order of the keys below is part of the format, and a test compares with a real canonicaliser.
 */
export function writeRow (fields: RowFields, place: Place): { readonly line: string, readonly hash: string } {
  const head = JSON.stringify({
    action: fields.action,
    actor: fields.actor,
    args: fields.args,
    asked: fields.asked,
    attempt: fields.attempt,
    by: fields.by,
    code: fields.code,
    corrects: fields.corrects,
    correlation_id: fields.correlation_id,
    digest: fields.digest,
    event: fields.event,
    field: fields.field,
  })
  const tail = JSON.stringify({
    key_ids: fields.key_ids,
    ms: fields.ms,
    outcome: fields.outcome,
    prev: place.prev,
    proposal: fields.proposal,
    received: fields.received,
    reason: fields.reason,
    request: fields.request,
    rule: fields.rule,
    sealed: fields.sealed,
    sent: fields.sent,
    seq: place.seq,
    shown: fields.shown,
    source: fields.source,
    step: fields.step,
    surface: fields.surface,
    target: fields.target,
    time: isoTime(place.timeMs),
    truncated: fields.truncated,
    upstream: fields.upstream,
    v: ROW_VERSION,
    what: fields.what,
    withheld: fields.withheld,
    writer: place.writer,
  })
  const opening = head.slice(0, -1)
  const rest = tail.slice(1)
  const digest = chainHash(place.prev, `${opening},${rest}`)
  // "hash" sorts between the two halves.
  return { line: `${opening},"hash":"${digest}",${rest}`, hash: digest }
}

/** @param prev as it stands in the row, 64 hexadecimal digits. @param body canonical JSON of the row without `hash` */
export function chainHash (prev: string, body: string): string {
  return hash('sha256', `${CHAIN_DOMAIN}${prev}${body}`, 'hex')
}

/** A row as it was read: only what is looked at offline is typed. */
export interface ReadRow {
  readonly v: number
  readonly writer: string
  readonly seq: number
  readonly prev: string
  readonly hash: string
  readonly time: string
  readonly event: string
  readonly asked?: string
  readonly code?: string
  readonly actor?: { readonly run?: string, readonly sub?: string }
  readonly attempt?: { readonly id: string, readonly state?: string, readonly duplicate?: boolean }
  readonly sealed?: Sealed
  readonly key_ids?: { readonly hmac: string, readonly sig: string }
}

/** The row of a line that is in order in itself, or in words why it is not. Where it stands in the chain is not looked at. */
export function readRow (line: string): ReadRow | string {
  if (!/^[\x20-\x7e]+$/.test(line)) return 'holds bytes that no row has'
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return 'is no JSON'
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return 'is no row'
  const { hash: stated, ...body } = value as ReadRow
  const { v, writer, seq, prev, time, event } = body
  const areTexts = [writer, prev, time, event].every(text => typeof text === 'string')
  if (v !== ROW_VERSION || !Number.isSafeInteger(seq) || !areTexts) return 'is no row'
  if (canonicalize(value) !== line) return 'is not canonical JSON'
  if (chainHash(prev, canonicalize(body)!) !== stated) return 'does not have the hash that it states'
  return value as ReadRow
}

/** For whatever text goes into a row. */
export const rowText = (text: string, lengthMax?: number): string => printable(text, lengthMax)

/** A number that JSON can hold, with microseconds. */
export const rowMs = (ms: number): number => Number.isFinite(ms) ? Math.max(0, Math.round(ms * 1000) / 1000) : 0
