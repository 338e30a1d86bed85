// The listener of operators and their machines: metrics, liveness, readiness. No token, so nothing else may ever stand here.
import type { FastifyInstance } from 'fastify'
import { Refusal } from '../../errors.ts'
import { sendJson } from '../envelope.ts'
import { buildListener, type ListenerOptions } from '../server.ts'
import { carriesAccessToken, type Stray } from '../stray-token.ts'

/** What the broker needs to be of use, and whether it has it now. */
export interface Dependency {
  readonly name: string
  readonly ok: boolean
  /** Our own words, no address and no secret. */
  readonly detail: string | null
}

export interface OperationsOptions extends ListenerOptions {
  /** The text that Prometheus reads, and its media type. */
  metrics (): Promise<{ readonly contentType: string, readonly text: string }>
  dependencies (): Promise<readonly Dependency[]>
  /** HMAC of the address of a client, for the audit. */
  markSource? (address: string): string | null
  /** An access token came along: it opens nothing here, not even what is open to all. */
  strayToken? (event: Stray): void
}

export function buildOperations (options: OperationsOptions): FastifyInstance {
  // While the broker drains, its probes and its metrics are wanted most: only readiness says that it is.
  const app = buildListener('operations', { ...options, draining: () => false }, new AbortController())
  app.addHook('onRequest', (request, _reply, done) => {
    if (!carriesAccessToken(request)) return done()
    options.strayToken?.({ correlationId: request.id, source: options.markSource?.(request.ip) ?? null })
    done(request.is404 ? undefined : Refusal.of('UNAUTHENTICATED'))
  })
  app.register(async routes => {
    routes.get('/metrics', { config: { plane: 'operations', auth: 'none' } }, async (_request, reply) => {
      const { contentType, text } = await options.metrics()
      return reply.header('content-type', contentType).send(text)
    })

    routes.get('/healthz', { config: { plane: 'operations', auth: 'none' } }, async (_request, reply) => sendJson(reply, 200, { ok: true }))

    routes.get('/readyz', { config: { plane: 'operations', auth: 'none' } }, async (_request, reply) => {
      const draining = options.draining()
      const dependencies = await options.dependencies()
      const ok = !draining && dependencies.every(dependency => dependency.ok)
      return sendJson(reply, ok ? 200 : 503, { ok, draining, dependencies })
    })
  })
  return app
}
