// What every listener has in common: the checks of a request before its route sees it, and the one envelope for whatever goes wrong. Routes are added
// by agents/agents.ts and operations/operations.ts.
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, type RouteOptions } from 'fastify'
import { Refusal } from '../errors.ts'
import { newCorrelationId } from './correlation-id.ts'
import { refusalOf, sendRefusal } from './envelope.ts'
import { requireServedHost, requireSingleHeaders, SECURITY_HEADERS, STRICT_TRANSPORT } from './headers.ts'
import { closeBehindAnswer, createNodeServer, hasBody, leavesBodyUnread, TIMEOUTS, type Timeouts, type Tls } from './node-server.ts'
import { readQuery } from './query.ts'
import { openRateGate, type RateGate, type Rates } from './rates.ts'

export type Plane = 'agents' | 'people' | 'operations'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Which listener the route belongs to; it can stand on no other. */
    plane?: Plane
    /** `token`: whoever handles it verifies the access token before anything else. `session`: a person has to be signed in. `issuer`: no browser asks, and the body is signed. */
    auth?: 'token' | 'session' | 'issuer' | 'none'
    /** Of the people plane alone, and stands on each of its routes: who may ask. */
    role?: 'anyone' | 'person' | 'operator'
    /** `any`: parameters that nobody declared are let through, unread. */
    query?: 'any'
    /** Of a form's address: the page that the form stands on. */
    page?: string
    /** What it takes is a decision. */
    decides?: true
    /** A body on any other route is refused. */
    takesBody?: boolean
    /** Set from the route's querystring schema. */
    parameters?: ReadonlySet<string>
  }
  interface FastifyRequest {
    /** The query, strictly read. */
    asked: ReadonlyMap<string, string>
    /** Of the access token that came with it, verified or not; null without one, and where the route asks for none. */
    rateKey: string | null
  }
}

/** What the boundary tells: refusals that no step of a call saw, and faults of the broker's own. */
export interface BoundaryEvents {
  refused (event: { readonly plane: Plane, readonly code: string, readonly correlationId: string }): void
  /** For the log, under the correlation id; `error` may hold anything and is never answered. */
  fault (event: { readonly plane: Plane, readonly correlationId: string, readonly error: unknown }): void
}

/** How a listener looks from outside. */
export interface Face {
  /** Of every answer. */
  readonly headers: Readonly<Record<string, string>>
  /** Answers whatever went wrong. `fault`: it is one of the broker's own, to be told to operators. */
  refuse (error: unknown, request: FastifyRequest, reply: FastifyReply): { readonly code: string, readonly fault: boolean, readonly reply: FastifyReply }
}

export interface ListenerOptions {
  /** Names that the Host header may carry, IPv6 addresses in brackets. */
  readonly hosts: readonly string[]
  /** Addresses or CIDRs of proxies whose X-Forwarded-For is believed; empty: none. */
  readonly trustProxy: readonly string[]
  readonly tls: Tls | null
  /** null: no limit. */
  readonly rates: Rates | null
  /** true: every request is answered 503 SHUTTING_DOWN. */
  draining (): boolean
  readonly events: BoundaryEvents
  readonly timeouts?: Partial<Timeouts>
  /** Absent: JSON in the one envelope. */
  readonly face?: Face
  /** How long a close waits for calls in flight before it cuts their connections. */
  readonly closeGraceMs?: number
}

const ENVELOPE: Face = Object.freeze({
  headers: SECURITY_HEADERS,
  refuse (error: unknown, _request: FastifyRequest, reply: FastifyReply) {
    const { refusal, fault } = refusalOf(error)
    return { code: refusal.code, fault, reply: sendRefusal(reply, refusal) }
  },
})

/** Calls in flight are finished before; what is left are answers under way and requests that do not end. */
const CLOSE_GRACE_MS = 5_000

/** A Fastify instance with every check in place and no route. Aborts `closing` when it begins to close. */
export function buildListener (plane: Plane, options: ListenerOptions, closing: AbortController): FastifyInstance {
  const timeouts: Timeouts = { ...TIMEOUTS, ...options.timeouts }
  const face = options.face ?? ENVELOPE
  const refuse: Refuse = (error, request, reply) => {
    const refused = face.refuse(error, request, reply)
    if (refused.fault) options.events.fault({ plane, correlationId: request.id, error })
    options.events.refused({ plane, code: refused.code, correlationId: request.id })
    return refused.reply
  }
  const app = Fastify({
    serverFactory: handler => createNodeServer(handler, options.tls, timeouts),
    trustProxy: options.trustProxy.length === 0 ? false : [...options.trustProxy],
    genReqId: newCorrelationId,
    requestIdHeader: false,
    return503OnClosing: false,
    logger: false,
    // The query is read by query.ts, once and strictly.
    routerOptions: { maxParamLength: 128, querystringParser: () => ({}) },
    frameworkErrors: (error, request, reply) => {
      setCommonHeaders(reply, options)
      void refuse(error, request, reply)
    },
  })
  // Schemas of routes are documentation: arguments are checked by the execution, queries by query.ts, and answers are written as they are.
  app.setValidatorCompiler(() => () => true)
  app.setSerializerCompiler(() => data => JSON.stringify(data))
  // No body is looked at before a route: whoever handles it asks for the body when it is time. Routes declare theirs until then, for the document.
  app.addHook('onReady', async () => {
    for (const method of app.supportedMethods) app.addHttpMethod(method, { hasBody: false, overrideExisting: true })
  })
  app.decorateRequest('asked')
  app.decorateRequest('rateKey', null)

  const routes = recordRoutes(app, plane)
  const gate = options.rates === null ? null : openRateGate(options.rates)
  addChecks(app, options, gate, closing.signal)
  app.addHook('onSend', (request, reply, _payload, done) => {
    if (request.rateKey !== null) gate!.learn(request.rateKey, reply.statusCode, request.headers.authorization)
    if (leavesBodyUnread(request.raw)) {
      reply.header('connection', 'close')
      closeBehindAnswer(request.raw, timeouts.lingerMs)
    }
    done()
  })
  app.setErrorHandler(refuse)
  app.setNotFoundHandler((request, reply) => {
    const allowed = allowedMethods(routes, request.raw.url ?? '')
    if (allowed.length === 0) return refuse(Refusal.of('NOT_FOUND'), request, reply)
    // RFC 9110 §15.5.6: a 405 must list what is allowed.
    reply.header('allow', allowed.join(', '))
    return refuse(Refusal.of('METHOD_NOT_ALLOWED'), request, reply)
  })
  app.addHook('preClose', async () => {
    closing.abort()
    const timer = setTimeout(() => { app.server.closeAllConnections() }, options.closeGraceMs ?? CLOSE_GRACE_MS)
    // A server that never listened never closes.
    timer.unref()
    app.server.once('close', () => { clearTimeout(timer) })
  })
  return app
}

type Refuse = (error: unknown, request: FastifyRequest, reply: FastifyReply) => FastifyReply

/** What is checked of every request, known path or not, before anything of it is handled. */
function addChecks (app: FastifyInstance, options: ListenerOptions, gate: RateGate | null, closing: AbortSignal): void {
  const hosts = new Set(options.hosts.map(host => host.toLowerCase()))
  const check = (request: FastifyRequest, reply: FastifyReply): void => {
    setCommonHeaders(reply, options)
    requireSingleHeaders(request.raw.rawHeaders)
    requireServedHost(request.raw.headers.host, request.raw.url ?? '', hosts)
    if (options.draining() || closing.aborted) {
      reply.header('connection', 'close')
      throw Refusal.of('SHUTTING_DOWN', { retryAfterSeconds: 1 })
    }
    const rateKey = gate === null ? null : gate.admit(request.ip, request.headers.authorization)
    if (request.is404) return
    const { config } = request.routeOptions
    if (config.auth === 'token') request.rateKey = rateKey
    if (config.query !== 'any') request.asked = readQuery(request.raw.url ?? '', config.parameters!)
    if (config.takesBody !== true && hasBody(request.raw)) {
      throw Refusal.of('MALFORMED_REQUEST', { rule: 'body', hint: 'This request takes no body.' })
    }
  }
  // Nothing of it waits, so no promise is made of it.
  app.addHook('onRequest', (request, reply, done) => {
    try {
      check(request, reply)
    } catch (refusal) {
      done(refusal as Error)
      return
    }
    done()
  })
}

function setCommonHeaders (reply: FastifyReply, { face, tls }: ListenerOptions): void {
  reply.headers((face ?? ENVELOPE).headers).header('aval-correlation-id', reply.request.id)
  if (tls !== null) reply.header('strict-transport-security', STRICT_TRANSPORT)
}

interface RecordedRoute {
  readonly pattern: RegExp
  readonly methods: Set<string>
}

/** Refuses a route that does not say where it belongs and who may ask, and notes what is needed to answer 405. */
function recordRoutes (app: FastifyInstance, plane: Plane): ReadonlyMap<string, RecordedRoute> {
  const routes = new Map<string, RecordedRoute>()
  app.addHook('onRoute', (route: RouteOptions) => {
    const { plane: declared, auth } = route.config ?? {}
    if (declared === undefined || auth === undefined) throw new Error(`The route ${String(route.method)} ${route.url} declares no plane or no auth.`)
    const nobody = plane === 'people' && route.config?.role === undefined
    if (nobody) throw new Error(`The route ${String(route.method)} ${route.url} does not say who may ask.`)
    if (declared !== plane) throw new Error(`The route ${String(route.method)} ${route.url} belongs to the ${declared} plane, not to ${plane}.`)
    const schema = route.schema?.querystring as { properties?: object } | undefined
    route.config!.parameters = new Set(Object.keys(schema?.properties ?? {}))
    const known = routes.get(route.url) ?? { pattern: pathPattern(route.url), methods: new Set<string>() }
    for (const method of [route.method].flat()) known.methods.add(method)
    routes.set(route.url, known)
  })
  return routes
}

/** `/v1/actions/:action` as an expression; route paths hold nothing else that is special to one but dots. */
function pathPattern (path: string): RegExp {
  return new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/:\w+/g, '[^/]+')}$`)
}

function allowedMethods (routes: ReadonlyMap<string, RecordedRoute>, url: string): string[] {
  const path = url.split('?', 1)[0]!
  return [...routes.values()].filter(route => route.pattern.test(path)).flatMap(route => [...route.methods])
}
