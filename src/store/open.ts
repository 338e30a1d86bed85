// Which driver keeps the attempts is a matter of the URL's scheme.
import { openRedis } from './redis.ts'
import { openReplica, type ReplicaControl, type ReplicaOptions } from './replica.ts'
import type { Retention } from './retention.ts'
import { openSqlite, type EmbeddedOptions } from './sqlite.ts'
import { StateRefused, type Store } from './store.ts'

/** What is said of the embedded store holds for no other, which has a clock and a disk of its own. */
export interface OpenOptions extends EmbeddedOptions {
  readonly retention?: Retention
}

const REDIS: ReadonlySet<string> = new Set(['redis', 'rediss', 'redis+sentinel', 'rediss+sentinel', 'redis+cluster', 'rediss+cluster'])

/**
 * @param url `sqlite:PATH`, `redis://`, `rediss://`, `redis+sentinel://` or `redis+cluster://`
 * @throws StateRefused where the state must not be used as it is, StateUnavailable where it cannot be reached
 */
export async function openStore (url: string, options: OpenOptions = {}): Promise<Store> {
  const scheme = /^[a-z][a-z0-9+.-]*(?=:)/i.exec(url)?.[0].toLowerCase()
  if (scheme === 'sqlite') return openSqlite(url.slice('sqlite:'.length), options)
  if (scheme !== undefined && REDIS.has(scheme)) return openRedis(url, options)
  throw new StateRefused('the state is named by a URL: sqlite:PATH, redis://…, rediss://…, redis+sentinel://… or redis+cluster://…')
}

/**
 * The store of a broker. Over Redis it keeps a journal of its own, and knows of the other replicas; the embedded store is its own journal, and alone.
 * @throws StateRefused, StateUnavailable, or the error of the disk under the journal
 */
export async function openState (url: string, options: ReplicaOptions & OpenOptions): Promise<Store & { readonly replica: ReplicaControl | null }> {
  if (REDIS.has(url.slice(0, Math.max(0, url.indexOf(':'))).toLowerCase())) return openReplica(url, options)
  return { ...await openStore(url, options), replica: null }
}
