// Step 8: what must be known before deciding: declared reads in order, values computed here, business rules, the target and its version.
import { readAnswer } from '../catalog/answer.ts'
import { ExpressionFault, type Action, type Answer, type Bindings, type Read, type Target } from '../catalog/catalog.ts'
import { isErrorCode, Refusal } from '../errors.ts'
import type { Admitted } from './admit.ts'
import type { Facts } from './call.ts'
import type { CallRecord } from './record.ts'
import { safeRead } from './safe-read.ts'
import type { Services } from './services.ts'

/** A check found that the object is already as the call wants it: nothing needs to be sent. */
export interface AlreadySo {
  readonly kind: 'already_so'
  readonly upstreamStatus: number | null
}

export type Known = { readonly kind: 'known', readonly facts: Facts, readonly admitted: Admitted } | AlreadySo

export async function gatherFacts (admitted: Admitted, record: CallRecord, services: Services): Promise<Known> {
  const { scoped } = admitted
  const { action, call } = scoped.valid.capable
  let bindings: Bindings = scoped.bindings
  let lastStatus: number | null = null
  for (const read of action.reads) {
    const answer = await readFact(action, read, bindings, call.caller.tenant, services)
    lastStatus = answer.status
    bindings = { ...bindings, reads: { ...bindings.reads, [read.name]: answer } }
  }
  for (const value of action.values) {
    const computed = evaluating(() => value.evaluate(bindings))
    bindings = { ...bindings, values: { ...bindings.values, [value.name]: computed } }
  }
  for (const check of action.checks) {
    if (evaluating(() => check.holds(bindings))) continue
    const { otherwise } = check
    if (otherwise.kind === 'settle') return { kind: 'already_so', upstreamStatus: lastStatus }
    if (isErrorCode(otherwise.code)) {
      throw Refusal.of(otherwise.code, { message: otherwise.message, retryable: otherwise.retryable, rule: 'check' }, 'facts')
    }
    throw Refusal.ofSheet(otherwise.code, otherwise.message, otherwise.retryable)
  }
  const target: Target | null = action.target === null ? null : evaluating(() => action.target!(bindings))
  if (target !== null) bindings = { ...bindings, target }
  record.target(target)
  return { kind: 'known', admitted, facts: { scoped, reads: bindings.reads, values: bindings.values, target, bindings } }
}

/** An error while evaluating denies: what the rule must know could not be had. */
export function evaluating<T> (evaluate: () => T): T {
  try {
    return evaluate()
  } catch (error) {
    return asRefusal(error)
  }
}

function asRefusal (error: unknown): never {
  if (!(error instanceof ExpressionFault)) throw error
  throw Refusal.of('CHECK_UNAVAILABLE', { retryable: false, internal: error.message }, 'facts')
}

async function readFact (action: Action, read: Read, bindings: Bindings, tenant: string, services: Services): Promise<Answer> {
  const { upstream } = action
  const reply = await safeRead(action.id, { upstream, tenant, request: read.request, bindings, timeoutMs: upstream.timeouts.totalMs }, services)
    .catch(asRefusal)
  if (reply.kind !== 'answer') throw Refusal.of('CHECK_UNAVAILABLE', { internal: `read ${read.name}: ${reply.kind} ${reply.cause}` })
  const { status } = reply
  if ((status < 200 || status > 299) && !read.allow.has(status)) {
    if (status === 404 || status === 410) throw Refusal.of('UPSTREAM_NOT_FOUND', {}, 'facts')
    throw Refusal.of('CHECK_UNAVAILABLE', { internal: `read ${read.name}: upstream status ${status}` })
  }
  // What was read goes into requests, into the record and before a person: an echo of our own key must not.
  if (services.credentials.leaks(upstream, tenant, reply.body, ...Object.values(reply.headers))) {
    services.telemetry.withheld({ actionId: action.id, code: 'RESULT_WITHHELD' })
    throw Refusal.of('CHECK_UNAVAILABLE', { retryable: false, internal: `read ${read.name}: the answer holds a secret` })
  }
  const parsed = readAnswer(read.request.operation, reply)
  if (parsed.kind === 'invalid') throw Refusal.of('CHECK_UNAVAILABLE', { internal: `read ${read.name}: ${parsed.why}` })
  return parsed.answer
}
