// Attempts as `reserve` makes them, for the tests of the store: the names are real ones, made by Identity.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { NO_EVIDENCE, RECORD_FORMAT, unsent, type AttemptEvent, type AttemptRecord, type Settlement } from '../../src/attempts/attempt.ts'
import { Identity } from '../../src/attempts/identity.ts'
import type { JsonObject } from '../../src/catalog/catalog.ts'
import { Secret } from '../../src/secret.ts'
import { nameOf } from '../../src/store/codec.ts'
import type { After, Begun, BeginLimits, Recalled, RecordName, Store } from '../../src/store/store.ts'

export const identity = new Identity(new Secret('env:TEST', Buffer.alloc(32, 7)))

export const FREE: BeginLimits = { callsPerRun: null, concurrencyPerTenant: null, unresolvedMax: 100 }

export interface Draft {
  readonly tenant?: string
  readonly run?: string
  readonly action?: string
  readonly upstream?: string
  readonly args?: JsonObject
  /** The agent's Idempotency-Key. */
  readonly key?: string | null
  readonly n?: number
  readonly g?: number
  readonly since?: number
  readonly target?: string | null
  readonly serialize?: string | null
  readonly guarded?: boolean
  readonly sensitive?: boolean
  readonly timeoutMs?: number
  readonly token?: string
  readonly format?: number
}

let serial = 0

/** A prepared record. Without `args` it differs from every other one. */
export function draft (over: Draft = {}): AttemptRecord {
  const { tenant = 't1', run = 'r1', action = 'change.v1', upstream = 'shop', key = null, n = 0, g = 0, target = null, serialize = null } = over
  const args = over.args ?? { serial: ++serial }
  const owner = { iss: 'https://issuer.example', sub: 'agent', tenant, run }
  const tag = identity.tag(tenant)
  const fingerprint = identity.fingerprint(action, args)
  const recordKey = identity.recordKey(owner, key, action, fingerprint)
  return {
    format: over.format ?? RECORD_FORMAT,
    id: identity.attemptId(tag, recordKey, n),
    tag, recordKey, runKey: identity.runKey(owner), keyed: key !== null, fingerprint, n, g, since: over.since ?? n,
    key: identity.upstreamKey(recordKey, g),
    action, definition: 'd'.repeat(64), upstream, owner,
    caller: { sub: owner.sub, tenant, run, claims: { customers: ['c1'] } },
    args, values: {}, target: target === null ? null : { type: 'customer', id: target, version: 3 },
    claims: {
      target: target === null ? null : identity.claim('target', tenant, upstream, 'customer', target),
      serialize: serialize === null ? null : identity.claim('serialize', tenant, upstream, serialize),
      equal: identity.claim('equal', tenant, action, args),
    },
    guarded: over.guarded ?? false, sensitive: over.sensitive ?? false, timeoutMs: over.timeoutMs ?? 1_000, quiescenceMs: 3_000, correlationId: 'c-1',
    state: 'prepared', revision: 1, token: over.token ?? randomBytes(16).toString('hex'),
    reference: null, missing: null, cancelRequested: false, lookups: 0, firstAbsentAtMs: null, settlement: null,
    preparedAtMs: 0, dispatchedAtMs: null, unknownAtMs: null, settledAtMs: null, dueAtMs: null,
  }
}

export const nameFor = (record: AttemptRecord): RecordName => nameOf(record)

export function done (result: Settlement['result'] = { ok: true }): Settlement {
  return {
    outcome: 'completed', sent: true, code: null, message: null, retryable: false, retryAfterSeconds: null, result, truncated: false, withheld: null,
    evidence: { source: 'response', upstreamStatus: 200, by: null },
  }
}

export function rejected (code: string, retryable = false): Settlement {
  const evidence = { ...NO_EVIDENCE, source: 'response', upstreamStatus: 422 } as const
  return { ...done(null), outcome: 'rejected', code, message: 'No.', retryable, evidence }
}

export const neverSent = (): Settlement => unsent('UPSTREAM_UNREACHABLE', 'The upstream could not be reached; nothing was sent.', true)

export async function begun (store: Store, over: Draft = {}, after: After | null = null, limits: BeginLimits = FREE): Promise<AttemptRecord> {
  const answer = await store.begin(draft(over), after, limits)
  assert.equal(answer.kind, 'begun')
  return (answer as Extract<Begun, { kind: 'begun' }>).record
}

export type Reached = 'prepared' | 'dispatched' | 'unknown' | 'pending' | 'escalated' | 'settled'

/** An attempt that has come as far as this. */
export async function reached (store: Store, state: Reached, over: Draft = {}): Promise<AttemptRecord> {
  let record = await begun(store, over)
  const { token } = record
  if (state === 'prepared') return record
  record = await changed(store, record, { type: 'dispatch', token })
  if (state === 'dispatched') return record
  if (state === 'settled') return changed(store, record, { type: 'settle', token, settlement: done() })
  if (state === 'pending') return changed(store, record, { type: 'pend', token, reference: 'job-1', retryAfterMs: null })
  record = await changed(store, record, { type: 'lose', token, missing: 'the answer', reference: null })
  return state === 'unknown' ? record : changed(store, record, { type: 'escalate' })
}

export async function changed (store: Store, record: AttemptRecord, event: AttemptEvent): Promise<AttemptRecord> {
  const advanced = await store.advance(record, event)
  if (advanced.kind !== 'changed') assert.fail(`${event.type} of ${record.state}: ${advanced.kind}`)
  return advanced.record
}

export const settle = (store: Store, record: AttemptRecord, settlement: Settlement = done()): Promise<AttemptRecord> =>
  changed(store, record, { type: 'settle', token: record.token, settlement })

export function free (recalled: Recalled): Extract<Recalled['finding'], { kind: 'free' }> {
  assert.equal(recalled.finding.kind, 'free')
  return recalled.finding as Extract<Recalled['finding'], { kind: 'free' }>
}

/** Two tenants whose records share one hash tag. */
export function neighbours (): readonly [string, string] {
  for (let other = 2; ; other++) {
    if (identity.tag(`t${other}`) === identity.tag('t1')) return ['t1', `t${other}`]
  }
}

/** Asks again and again until it holds; for what comes with time. */
export async function eventually (holds: () => Promise<boolean>, message: string, withinMs = 10_000): Promise<void> {
  const endsAtMs = performance.now() + withinMs
  while (!await holds()) {
    assert.ok(performance.now() < endsAtMs, message)
    await new Promise(resolve => setTimeout(resolve, 15))
  }
}
