// During a roll-out replicas go by different sheets: whether another one, alive, has those of a digest.
import type { ReplicaControl } from './replica.ts'

/** A replica that has just begun has not seen yet which of the others are alive. */
const NEWCOMER_MS = 2_000

export function servedByAnother (replica: Pick<ReplicaControl, 'replica' | 'members'>): (catalogDigest: string) => boolean {
  const knowsAtMs = performance.now() + NEWCOMER_MS
  return digest => replica.members().some(one =>
    one.replica !== replica.replica && one.digest === digest && (one.live || performance.now() < knowsAtMs))
}
