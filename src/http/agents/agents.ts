// The listener that agents talk to: its routes, listed by hand.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Refusal } from '../../errors.ts'
import { carriesPersonCookie } from '../people/cookies.ts'
import { buildListener, type ListenerOptions } from '../server.ts'
import { carriesAccessToken, leadsElsewhere, type Stray } from '../stray-token.ts'
import { addActionRoutes } from './actions.ts'
import type { AgentsApi } from './api.ts'
import { addAttemptRoutes } from './attempts.ts'
import { addDocument, addDocumentRoutes } from './document.ts'
import { addProposalRoutes } from './proposals.ts'
import { addToolRoutes } from './tools.ts'

export interface AgentsOptions extends ListenerOptions {
  readonly api: AgentsApi
  /** HMAC of the address of a client, for the audit. */
  markSource (address: string): string | null
  /** A cookie of a person came along with a request of an agent. */
  personCookie? (event: Stray): void
  /** An access token knocked at an address of another listener. */
  strayToken? (event: Stray): void
  /** Another surface on the same listener, with the same checks of every request. */
  readonly surface?: (routes: FastifyInstance, closing: AbortSignal) => void
  /** Aborted when the drain begins: who only waits is answered at once, and whatever comes is refused, while calls in flight go on. */
  readonly drain?: AbortSignal
}

/** Not listening yet; `listen` and `ready` reject where a route is declared badly. */
export function buildAgents (options: AgentsOptions): FastifyInstance {
  const closing = new AbortController()
  options.drain?.addEventListener('abort', () => { closing.abort() }, { once: true })
  const app = buildListener('agents', options, closing)
  addDocument(app)
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.is404 && leadsElsewhere(request) && carriesAccessToken(request)) options.strayToken?.(strayOf(request, options))
    done(refusePerson(request, options))
  })
  app.register(async routes => {
    addActionRoutes(routes, options.api, options.markSource)
    addAttemptRoutes(routes, options.api, closing.signal)
    addProposalRoutes(routes, options.api, closing.signal, options.markSource)
    addToolRoutes(routes, options.api)
    options.surface?.(routes, closing.signal)
    addDocumentRoutes(routes)
  })
  return app
}

const strayOf = ({ id, ip }: FastifyRequest, { markSource }: AgentsOptions): Stray => ({ correlationId: id, source: markSource(ip) })

/** Who acts as an agent does not act as a person at the same time. Without a token it is refused anyway, and told all the same. */
function refusePerson (request: FastifyRequest, options: AgentsOptions): Refusal | undefined {
  if (request.is404 || request.routeOptions.config.auth !== 'token' || !carriesPersonCookie(request.headers.cookie)) return undefined
  options.personCookie?.(strayOf(request, options))
  if (request.headers.authorization === undefined) return undefined
  return Refusal.of('ROLE_CONFLICT', { message: 'The session of a person does not belong on this listener.' })
}
