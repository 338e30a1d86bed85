// Step 6: does this call repeat an attempt? Asked before anything is read, so that a repeat never runs ahead of what it repeats.
import { Refusal } from '../errors.ts'
import type { AttemptRecord } from '../attempts/attempt.ts'
import type { Recalled as RecalledState, RecordName } from '../store/store.ts'
import type { Scoped } from './call.ts'
import type { Services } from './services.ts'
import { reachState } from './state.ts'

/** A write that may become an attempt, or an observation, which leaves none. */
export type Recalled =
  | { readonly kind: 'observation', readonly scoped: Scoped }
  | {
    readonly kind: 'write'
    readonly scoped: Scoped
    readonly name: RecordName
    /** null: nothing is read before the attempt is begun, so `begin` itself recalls, in the same round trip. */
    readonly state: RecalledState | null
  }
  | Duplicate

/** The call repeats this attempt and gets its outcome. */
export interface Duplicate {
  readonly kind: 'duplicate'
  readonly record: AttemptRecord
}

export function recall (scoped: Scoped, services: Services): Recalled | Promise<Recalled> {
  return scoped.valid.capable.action.write ? recallWrite(scoped, services) : { kind: 'observation', scoped }
}

async function recallWrite (scoped: Scoped, services: Services): Promise<Recalled> {
  const { action } = scoped.valid.capable
  const name = nameOf(scoped, services)
  if (action.reads.length === 0 && action.checks.length === 0) return { kind: 'write', scoped, name, state: null }
  const state = await recallNow(name, services)
  return repeatOf(state) ?? { kind: 'write', scoped, name, state }
}

/** @throws Refusal RUN_STOPPED or STATE_UNAVAILABLE */
export async function recallNow (name: RecordName, services: Services): Promise<RecalledState> {
  const state = await reachState(services, 'recall', () => services.store.recall(name))
  if (state.runStopped) throw Refusal.of('RUN_STOPPED')
  return state
}

/** @throws Refusal where the key is taken by another call or by one that is not dispatched yet */
export function repeatOf (state: RecalledState): Duplicate | null {
  switch (state.finding.kind) {
    case 'duplicate': return { kind: 'duplicate', record: state.finding.record }
    case 'in_progress': throw Refusal.of('CALL_IN_PROGRESS', { retryAfterSeconds: 1 })
    case 'key_reused': throw Refusal.of('IDEMPOTENCY_KEY_REUSED')
    case 'free': return null
  }
}

function nameOf (scoped: Scoped, services: Services): RecordName {
  const { action, call } = scoped.valid.capable
  const { caller, idempotencyKey } = call
  // A sheet that means equal writes to happen again needs the runtime to say which of them a repeat repeats.
  if (action.repeatable && idempotencyKey === null) throw Refusal.of('IDEMPOTENCY_KEY_REQUIRED')
  const fingerprint = services.identity.fingerprint(action.id, scoped.valid.args)
  const owner = { iss: caller.iss, sub: caller.sub, tenant: caller.tenant, run: caller.run! }
  return {
    tag: caller.tag,
    tenant: caller.tenant,
    runKey: caller.runKey,
    recordKey: services.identity.recordKey(owner, idempotencyKey, action.id, fingerprint),
    fingerprint,
    keyed: idempotencyKey !== null,
    upstream: action.upstream.name,
    action: action.id,
  }
}
