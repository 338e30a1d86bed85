// The listener that agents talk to: its routes, listed by hand.
import type { FastifyInstance } from 'fastify'
import { buildListener, type ListenerOptions } from '../server.ts'
import { addActionRoutes } from './actions.ts'
import type { AgentsApi } from './api.ts'
import { addAttemptRoutes } from './attempts.ts'
import { addDocument, addDocumentRoutes } from './document.ts'

export interface AgentsOptions extends ListenerOptions {
  readonly api: AgentsApi
  /** HMAC of the address of a client, for the audit. */
  markSource (address: string): string | null
  /** Aborted when the drain begins: who only waits is answered at once, and whatever comes is refused, while calls in flight go on. */
  readonly drain?: AbortSignal
}

/** Not listening yet; `listen` and `ready` reject where a route is declared badly. */
export function buildAgents (options: AgentsOptions): FastifyInstance {
  const closing = new AbortController()
  options.drain?.addEventListener('abort', () => { closing.abort() }, { once: true })
  const app = buildListener('agents', options, closing)
  addDocument(app)
  app.register(async routes => {
    addActionRoutes(routes, options.api, options.markSource)
    addAttemptRoutes(routes, options.api, closing.signal)
    addDocumentRoutes(routes)
  })
  return app
}
