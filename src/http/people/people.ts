// The listener of people: approvers and operators, signed in with their identity provider. No token opens anything here, and no other listener knows
// its cookies. Routes are listed by hand, and each says who may ask.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Desk, OperatorDesk, Person } from '../../consent/desk.ts'
import { Refusal } from '../../errors.ts'
import { refusalOf, sendJson } from '../envelope.ts'
import { buildListener, type Face, type ListenerOptions } from '../server.ts'
import { addApprovalRoutes } from './approvals.ts'
import { addAssetRoutes } from './assets.ts'
import { addBackChannelRoute } from './back-channel.ts'
import { addBatchRoutes } from './batch.ts'
import type { PeopleContext, PeopleEvents } from './context.ts'
import { createGuard, wantsJson } from './guard.ts'
import { addDeviceRoutes } from './device-sign-in.ts'
import { html } from './html.ts'
import type { IdentityProvider } from './identity-provider.ts'
import type { KnownRoles } from './known-roles.ts'
import { PAGE_HEADERS, sendPage } from './layout.ts'
import { addOperatorRoutes } from './operator.ts'
import { PageRefusal, REFUSALS, type RefusalWords } from './refusal.ts'
import { createSessions, type Session, type Sessions, type SessionStore } from './sessions.ts'
import { addSignInRoutes } from './sign-in.ts'

export interface PeopleOptions extends Omit<ListenerOptions, 'face'> {
  readonly desk: Desk
  readonly operator: OperatorDesk
  readonly provider: IdentityProvider
  readonly store: SessionStore
  readonly people: PeopleEvents
  /** Where people reach this listener, as their browsers say it. */
  readonly origin: string
  /** What sessions rest on: issuer, client, key. Under another none of them counts. */
  readonly trust: string
  readonly knownRoles: KnownRoles
  markSource (address: string): string | null
  /** One name for one person, whatever they signed in with. */
  principalOf (iss: string, sub: string): string
  /** Wall clock, for the ages of sessions and forms. */
  nowMs (): number
}

/** Not listening yet; `listen` and `ready` reject where a route is declared badly. */
export function buildPeople (options: PeopleOptions): FastifyInstance {
  const { knownRoles } = options
  const sessions = createSessions({ store: options.store, trust: options.trust, knownRoles, nowMs: options.nowMs })
  const context: PeopleContext = { ...options, sessions, events: options.people, rolesOf: values => knownRoles.map(values) }
  const app = buildListener('people', { ...options, face: faceOf(sessions) }, new AbortController())
  app.decorateRequest('visitor', null)
  app.addHook('onRequest', createGuard({
    sessions,
    origin: options.origin,
    personOf: session => personOf(session, options),
    planeViolation: ({ id, ip }) => options.people.planeViolation({ correlationId: id, source: options.markSource(ip) }),
  }))
  app.register(async routes => {
    addSignInRoutes(routes, context)
    addDeviceRoutes(routes, context)
    addBackChannelRoute(routes, context)
    addApprovalRoutes(routes, context)
    addBatchRoutes(routes, context)
    addOperatorRoutes(routes, context)
    addAssetRoutes(routes)
  })
  return app
}

/** The map of roles is that of now, whatever it was at the sign-in. */
function personOf ({ iss, sub, display, roleValues, authTimeS, acr }: Session, options: PeopleOptions): Person {
  return { iss, sub, principal: options.principalOf(iss, sub), display, roles: options.knownRoles.map(roleValues), authTimeS, acr }
}

const faceOf = (sessions: Sessions): Face => ({
  headers: PAGE_HEADERS,
  refuse (error: unknown, request: FastifyRequest, reply: FastifyReply) {
    const refused = error instanceof PageRefusal ? error : new PageRefusal(wordsOf(error))
    const { status, code, why, text } = refused.words
    const wait = error instanceof Refusal ? error.details.retryAfterSeconds : undefined
    if (wait !== undefined) reply.header('retry-after', String(wait))
    const fault = status === 500
    const answer = wantsJson(request)
      ? sendJson(reply, status, { ok: false, why, message: text, correlation_id: request.id })
      : sendPage(reply, { status, title: refused.words.title, here: null, main: message(refused, request) }, request.visitor ?? null, sessions)
    return { code, fault, reply: answer }
  },
})

function wordsOf (error: unknown): RefusalWords {
  if ((error as Error | null)?.name === 'StateUnavailable') return REFUSALS.stateDown
  const { refusal } = refusalOf(error)
  const known = [REFUSALS.missing, REFUSALS.wrongMethod, REFUSALS.fault, REFUSALS.stateDown].find(({ code }) => code === refusal.code)
  const title = refusal.status >= 429 ? 'Not just now' : REFUSALS.malformed.title
  return known ?? { status: refusal.status, code: refusal.code as RefusalWords['code'], why: refusal.code.toLowerCase(), title, text: refusal.message }
}

const message = ({ words, next }: PageRefusal, request: FastifyRequest) => html`<div class="message"><p class="code">${words.status}</p><h1>${words.title}</h1><p>${words.text}</p>
${next === null ? null : html`<p><a class="button go" href="${next.href}">${next.label}</a></p>`}
<p class="dim">Number of this answer: <code>${request.id}</code></p></div>`
