// What a broker needs to be of use, as its readiness says it.
import type { Lock } from '../../execution/lock.ts'
import type { OperatorLock } from '../../execution/operator-lock.ts'
import type { ReplicaControl } from '../../store/replica.ts'
import type { Store } from '../../store/store.ts'
import type { Dependency } from './operations.ts'

export async function stateDependency (store: Pick<Store, 'ping'>, replica: ReplicaControl | null): Promise<Dependency> {
  try {
    await store.ping()
    const loss = replica?.quarantine() ?? null
    if (loss === null) return { name: 'state', ok: true, detail: null }
    const what = loss.kind === 'proved' ? 'has lost what it acknowledged' : 'may have lost what it acknowledged'
    return { name: 'state', ok: false, detail: `${what}; waits for the replicas ${loss.waitingFor.join(', ')}` }
  } catch {
    return { name: 'state', ok: false, detail: 'cannot be reached' }
  }
}

/** A locked broker serves: that is how agents hear of it. */
export function vaultDependency (lock: Lock, operatorLock: Pick<OperatorLock, 'vaultState'>): Dependency {
  const closed = operatorLock.vaultState() === 'closed' ? 'waits for its key' : null
  return { name: 'vault', ok: true, detail: lock.isLocked() ? 'locked by an operator' : closed }
}
