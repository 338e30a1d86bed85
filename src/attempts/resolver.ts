// Learns the fate of attempts whose answer was lost: sweeps those whose deadline passed, looks up those that are unknown or pending, and hands to a person
// what cannot be learned. It only ever reads the upstream.
import { readAnswer } from '../catalog/answer.ts'
import { ProjectionFault, type Action, type Answer, type Bindings, type Json, type Lookup, type Verdict } from '../catalog/catalog.ts'
import { responseFor, type Operation } from '../catalog/openapi/operation.ts'
import type { Due, Store } from '../store/store.ts'
import type { AttemptEvent, AttemptRecord, Finding, Settlement } from './attempt.ts'
import { readOnce, type SendPorts } from './send.ts'

/** A budget apart from the calls of agents, so that an upstream that comes back is not hammered. */
const LOOKUPS_AT_ONCE = 8
const CLAIM_LEASE_MS = 30_000
const POLL_MS = 250
const POLL_AFTER_FAULT_MS = 1_000
const REMEMBERED_MAX = 100_000

export interface ResolverPorts extends SendPorts {
  readonly store: Store
  definition (digest: string): Action | null
  now (): Date
}

export interface Resolver {
  start (): void
  /** Resolves once nothing of it is under way. */
  stop (): Promise<void>
  /** Something is due soon: look sooner than the next turn. */
  nudge (): void
  /** One look-up for whoever must know now; changes nothing in the store. */
  lookUp (action: Action, record: AttemptRecord): Promise<Finding>
}

export function createResolver (ports: ResolverPorts): Resolver {
  const underWay = new Set<Promise<void>>()
  // When this process first saw an attempt unknown, by its own monotonic clock: the store's clock can jump (reliability.md §3.6).
  const firstUnknownMs = new Map<string, number>()
  let timer: NodeJS.Timeout | null = null
  let turning = false
  let stopped = true

  const plan = (afterMs: number): void => {
    if (stopped) return
    if (timer !== null) clearTimeout(timer)
    timer = setTimeout(() => void turn(), afterMs)
  }

  async function turn (): Promise<void> {
    if (turning || stopped) return
    turning = true
    try {
      const room = LOOKUPS_AT_ONCE - underWay.size
      const due = room > 0 ? await ports.store.claimDue(room, CLAIM_LEASE_MS) : []
      for (const one of due) track(handle(one))
      plan(due.length === room && room > 0 ? 0 : POLL_MS)
    } catch {
      plan(POLL_AFTER_FAULT_MS)
    } finally {
      turning = false
    }
  }

  function track (work: Promise<void>): void {
    // A store that cannot be reached leaves the attempt as it is; its lease runs out and it is claimed again.
    const tracked = work.catch(() => undefined).finally(() => underWay.delete(tracked))
    underWay.add(tracked)
  }

  async function handle ({ record, nowMs }: Due): Promise<void> {
    if (record.state === 'prepared' || record.state === 'dispatched') {
      await apply(record, { type: 'deadline', nowMs }, 'sweeper')
      return
    }
    if (record.state === 'unknown') remember(record.id)
    const action = ports.definition(record.definition)
    const startedAtMs = performance.now()
    const finding: Finding = action === null || action.lookup === null ? { kind: 'impossible' } : await lookUp(action, record)
    ports.telemetry.lookup({ actionId: record.action, finding: finding.kind, durationMs: performance.now() - startedAtMs })
    await apply(record, { type: 'lookup', nowMs, finding }, 'lookup')
  }

  async function apply (record: AttemptRecord, event: AttemptEvent, by: 'lookup' | 'sweeper'): Promise<void> {
    const advanced = await ports.store.advance(record, event)
    if (advanced.kind !== 'changed') return
    const { record: next } = advanced
    if (next.state === 'unknown') remember(next.id)
    else firstUnknownMs.delete(next.id)
    if (next.state === record.state) return
    ports.telemetry.attempt({
      attemptId: next.id,
      actionId: next.action,
      definition: next.definition,
      correlationId: next.correlationId,
      by,
      state: next.state,
      outcome: next.settlement?.outcome ?? (next.state === 'pending' ? 'pending' : 'unknown'),
      code: next.settlement?.code ?? null,
      sent: next.settlement?.sent ?? null,
      personMark: null,
    })
  }

  function remember (id: string): void {
    if (firstUnknownMs.has(id)) return
    firstUnknownMs.set(id, performance.now())
    if (firstUnknownMs.size > REMEMBERED_MAX) firstUnknownMs.delete(firstUnknownMs.keys().next().value!)
  }

  async function lookUp (action: Action, record: AttemptRecord): Promise<Finding> {
    const sinceMs = firstUnknownMs.get(record.id)
    const quietAfterMs = sinceMs === undefined ? record.quiescenceMs : Math.max(0, record.quiescenceMs - (performance.now() - sinceMs))
    try {
      return await askUpstream(action, action.lookup!, record, quietAfterMs, ports)
    } catch {
      // Whatever kept the question from being asked, or its answer from being understood, is no evidence.
      return { kind: 'inconclusive', retryAfterMs: null }
    }
  }

  return {
    start () {
      stopped = false
      plan(0)
    },
    async stop () {
      stopped = true
      if (timer !== null) clearTimeout(timer)
      await Promise.all(underWay)
    },
    nudge: () => plan(POLL_MS),
    lookUp,
  }
}

async function askUpstream (action: Action, lookup: Lookup, record: AttemptRecord, quietAfterMs: number, ports: ResolverPorts): Promise<Finding> {
  const { tenant } = record.owner
  const bindings: Bindings = {
    args: record.args,
    caller: record.caller,
    reads: {},
    values: record.values,
    target: record.target,
    attempt: { id: record.id, key: record.key, reference: record.reference },
    response: null,
    now: ports.now().toISOString(),
  }
  const reply = await readOnce({ upstream: action.upstream, tenant, request: lookup.request, bindings, timeoutMs: action.upstream.timeouts.totalMs }, ports)
  if (reply.kind !== 'answer') return { kind: 'inconclusive', retryAfterMs: null }
  const parsed = readAnswer(lookup.request.operation, reply)
  if (parsed.kind === 'invalid') return { kind: 'inconclusive', retryAfterMs: null }
  const answered: Bindings = { ...bindings, response: parsed.answer }
  const secret = ports.credentials.leaks(action.upstream, tenant, reply.body)
  const verdict = lookup.judge(answered)
  if (verdict !== null) return findingOf(verdict, action, answered, secret)
  if (lookup.absent !== null && isWellFormed(lookup.request.operation, parsed.answer) && lookup.absent.holds(answered)) {
    const retentionMs = action.idempotency?.retentionMs ?? Infinity
    const ageMs = ports.now().getTime() - record.preparedAtMs
    return {
      kind: 'absent',
      settlesAfterMs: lookup.absent.settlesAfterMs,
      quiesced: quietAfterMs === 0,
      quietAfterMs,
      withinRetention: ageMs < retentionMs,
      // A repeat of these is harmless upstream, so the agent may call again (DESIGN.md §4.2 `retry`).
      retryable: action.retry === 'same_key' || action.retry === 'natural',
    }
  }
  return { kind: 'inconclusive', retryAfterMs: retryAfterMs(parsed.answer) }
}

function findingOf (verdict: Verdict, action: Action, answered: Bindings, secret: boolean): Finding {
  const { outcome } = verdict
  if (outcome === 'unknown') return { kind: 'inconclusive', retryAfterMs: null }
  if (outcome === 'pending') return { kind: 'pending', reference: verdict.reference, retryAfterMs: verdict.retryAfterSeconds === null ? null : verdict.retryAfterSeconds * 1_000 }
  const shown = outcome === 'completed' && !secret ? viewOf(verdict, action, answered) : { result: null, truncated: false }
  const settlement: Settlement = {
    outcome,
    sent: true,
    code: verdict.code,
    message: verdict.message,
    retryable: verdict.retryable,
    retryAfterSeconds: verdict.retryAfterSeconds,
    result: shown.result,
    truncated: shown.truncated,
    withheld: secret && outcome === 'completed' ? 'RESULT_WITHHELD' : null,
    evidence: { source: 'lookup', upstreamStatus: answered.response?.status ?? null, by: null },
  }
  return { kind: 'settled', settlement }
}

/** The rule's own result, else the view on the look-up's answer; where that cannot be made the result is null. */
function viewOf (verdict: Verdict, action: Action, answered: Bindings): { readonly result: Json, readonly truncated: boolean } {
  if (verdict.result !== undefined) return { result: verdict.result, truncated: false }
  try {
    return action.view?.project(answered) ?? { result: null, truncated: false }
  } catch (error) {
    if (!(error instanceof ProjectionFault)) throw error
    return { result: null, truncated: false }
  }
}

/** A gateway's 404, an HTML page or an empty 200 is not an answer of the operation, and so proves nothing (reliability.md §3.6 condition 4). */
function isWellFormed (operation: Operation, answer: Answer): boolean {
  const declared = responseFor(operation, answer.status)
  if (declared === undefined) return false
  if (declared.content.size === 0) return answer.body === null || answer.headers['content-type']?.includes('json') === true
  return answer.headers['content-type']?.includes('json') === true && answer.body !== null
}

/** RFC 9110 §10.2.3 in seconds, clamped to 1 s..1 h; a date is left to the schedule. */
function retryAfterMs (answer: Answer): number | null {
  const seconds = Number(answer.headers['retry-after'])
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(Math.max(seconds, 1), 3_600) * 1_000 : null
}
