// Which driver keeps the attempts is a matter of the URL's scheme.
import { openRedis } from './redis.ts'
import type { Retention } from './retention.ts'
import { openSqlite } from './sqlite.ts'
import { StateRefused, type Store } from './store.ts'

export interface OpenOptions {
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
