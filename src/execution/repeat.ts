// What the store says of a record key, as the steps take it: the attempt that a call repeats, or that there is none.
import type { AttemptRecord } from '../attempts/attempt.ts'
import { Refusal } from '../errors.ts'
import type { Recalled, RecordName } from '../store/store.ts'
import type { Services } from './services.ts'
import { reachState } from './state.ts'

/** The call repeats this attempt and gets its outcome. */
export interface Duplicate {
  readonly kind: 'duplicate'
  readonly record: AttemptRecord
}

/** @throws Refusal RUN_STOPPED or STATE_UNAVAILABLE */
export async function recallNow (name: RecordName, services: Services): Promise<Recalled> {
  const state = await reachState(services, 'recall', () => services.store.recall(name))
  if (state.runStopped) throw Refusal.of('RUN_STOPPED')
  return state
}

/** @throws Refusal where the key is taken by another call or by one that is not dispatched yet */
export function repeatOf (state: Recalled): Duplicate | null {
  switch (state.finding.kind) {
    case 'duplicate': return { kind: 'duplicate', record: state.finding.record }
    case 'in_progress': throw Refusal.of('CALL_IN_PROGRESS', { retryAfterSeconds: 1 })
    case 'key_reused': throw Refusal.of('IDEMPOTENCY_KEY_REUSED')
    case 'free': return null
  }
}
