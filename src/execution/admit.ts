// Step 7: rates and budgets, before anything upstream is read. `begin` checks the budgets of a write again, with authority.
import { randomUUID } from 'node:crypto'
import { Refusal } from '../errors.ts'
import type { Place } from '../store/store.ts'
import type { Scoped } from './call.ts'
import type { CallRecord } from './record.ts'
import type { GoingOn } from './recall.ts'
import { recallNow, repeatOf, type Duplicate } from './repeat.ts'
import type { Services } from './services.ts'
import { reachState } from './state.ts'

/** Unknown, pending and escalated attempts that one tenant may have of one action. */
export const UNRESOLVED_MAX = 100

export interface Admitted {
  readonly kind: 'admitted'
  readonly recalled: GoingOn
  readonly scoped: Scoped
}

export async function admit (recalled: GoingOn, record: CallRecord, services: Services): Promise<Admitted | Duplicate> {
  try {
    await takePlace(recalled, record, services)
  } catch (refusal) {
    // A repeat needs no place. Where `begin` was to recall, it is found out here before anybody is turned away.
    const repeat = recalled.kind === 'write' && recalled.state === null ? repeatOf(await recallNow(recalled.name, services)) : null
    if (repeat === null) throw refusal
    return repeat
  }
  return { kind: 'admitted', recalled, scoped: recalled.scoped }
}

async function takePlace (recalled: GoingOn, record: CallRecord, services: Services): Promise<void> {
  const { scoped } = recalled
  const { action, call } = scoped.valid.capable
  if (!services.telemetry.hasRoom()) throw Refusal.of('RATE_LIMITED', { retryAfterSeconds: 1, internal: 'the audit buffer is full' })
  if (recalled.kind === 'write') {
    requireBudget(recalled)
  } else if (action.limits.callsPerRun !== null || action.limits.concurrencyPerTenant !== null) {
    await enterObservation(scoped, record, services)
  }
  record.onClose(await services.upstream.enter(action.upstream, call.caller.tenant))
}

function requireBudget (recalled: Extract<GoingOn, { kind: 'write' }>): void {
  if (recalled.state === null) return
  const { callsPerRun } = recalled.scoped.valid.capable.action.limits
  if (callsPerRun !== null && recalled.state.calls >= callsPerRun) throw Refusal.of('BUDGET_EXHAUSTED')
  if (recalled.state.unresolved >= UNRESOLVED_MAX) throw Refusal.of('UNRESOLVED_LIMIT')
}

/** Observations have no attempt, but the limits that their sheet declares hold across replicas all the same. */
async function enterObservation (scoped: Scoped, record: CallRecord, services: Services): Promise<void> {
  const { action, call } = scoped.valid.capable
  const { tag, tenant, runKey } = call.caller
  const place: Place = { tag, tenant, runKey, action: action.id, callId: randomUUID() }
  const deadlineMs = action.limits.timeoutMs + action.upstream.timeouts.totalMs * action.reads.length + 5_000
  const entered = await reachState(services, 'enter', () => services.store.enter(place, action.limits, deadlineMs))
  if (entered === 'run_stopped') throw Refusal.of('RUN_STOPPED')
  if (entered === 'budget_exhausted') throw Refusal.of('BUDGET_EXHAUSTED')
  if (entered === 'rate_limited') throw Refusal.of('RATE_LIMITED', { retryAfterSeconds: 1 })
  if (action.limits.concurrencyPerTenant !== null) {
    record.onClose(() => services.background(services.store.leave(place).catch(() => undefined)))
  }
}
