// One look-up: what the upstream is asked about an attempt, and what its answer proves.
import { readAnswer } from '../catalog/answer.ts'
import { ProjectionFault, type Action, type Answer, type Bindings, type Json, type Lookup, type Verdict } from '../catalog/catalog.ts'
import { responseFor, type Operation } from '../catalog/openapi/operation.ts'
import { retryAfterSeconds } from '../catalog/retry-after.ts'
import type { AttemptRecord, Finding, Settlement } from './attempt.ts'
import { readOnce, type SendPorts } from './send.ts'

export interface LookUpPorts extends SendPorts {
  /** Wall clock, for expressions and for the upstream's own retention. */
  now (): Date
}

/**
 * @param quietAfterMs how long the resolver's monotonic clock must still wait until nothing of the attempt can be under way
 */
export async function lookUp (action: Action, record: AttemptRecord, quietAfterMs: number, ports: LookUpPorts): Promise<Finding> {
  if (action.lookup === null) return { kind: 'impossible' }
  try {
    return await askUpstream(action, action.lookup, record, quietAfterMs, ports)
  } catch {
    // Whatever kept the question from being asked, or its answer from being understood, is no evidence.
    return { kind: 'inconclusive', retryAfterMs: null }
  }
}

async function askUpstream (action: Action, lookup: Lookup, record: AttemptRecord, quietAfterMs: number, ports: LookUpPorts): Promise<Finding> {
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
  const { upstream } = action
  const reply = await readOnce({ upstream, tenant, request: lookup.request, bindings, timeoutMs: upstream.timeouts.totalMs }, ports)
  if (reply.kind !== 'answer') return { kind: 'inconclusive', retryAfterMs: null }
  const parsed = readAnswer(lookup.request.operation, reply)
  if (parsed.kind === 'invalid') return { kind: 'inconclusive', retryAfterMs: null }
  const answered: Bindings = { ...bindings, response: parsed.answer }
  const secret = ports.credentials.leaks(action.upstream, tenant, reply.body, ...Object.values(reply.headers))
  if (secret) ports.telemetry.withheld({ actionId: action.id, code: 'RESULT_WITHHELD' })
  const verdict = lookup.judge(answered)
  // A reference is kept and sent again: one that holds a secret must not be.
  if (secret && verdict !== null && verdict.reference !== null) return { kind: 'inconclusive', retryAfterMs: null }
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
      // A repeat of these is harmless upstream, so the agent may call again.
      retryable: action.retry === 'same_key' || action.retry === 'natural',
    }
  }
  return { kind: 'inconclusive', retryAfterMs: inMs(retryAfterSeconds(parsed.answer, bindings.now)) }
}

function findingOf (verdict: Verdict, action: Action, answered: Bindings, secret: boolean): Finding {
  const { outcome } = verdict
  if (outcome === 'unknown') return { kind: 'inconclusive', retryAfterMs: null }
  if (outcome === 'pending') return { kind: 'pending', reference: verdict.reference, retryAfterMs: inMs(verdict.retryAfterSeconds) }
  const good = outcome !== 'rejected'
  const shown = good && !secret ? viewOf(verdict, action, answered) : { result: null, truncated: false }
  const settlement: Settlement = {
    outcome,
    sent: true,
    code: verdict.code,
    message: verdict.message,
    retryable: verdict.retryable,
    retryAfterSeconds: verdict.retryAfterSeconds,
    result: shown.result,
    truncated: shown.truncated,
    withheld: secret && good ? 'RESULT_WITHHELD' : null,
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

/** A gateway's 404, an HTML page or an empty 200 is not an answer of the operation, and so proves nothing. */
function isWellFormed (operation: Operation, answer: Answer): boolean {
  const declared = responseFor(operation, answer.status)
  if (declared === undefined) return false
  if (declared.content.size === 0) return answer.body === null || answer.headers['content-type']?.includes('json') === true
  return answer.headers['content-type']?.includes('json') === true && answer.body !== null
}

const inMs = (seconds: number | null): number | null => seconds === null ? null : seconds * 1_000
