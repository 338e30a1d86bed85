// What is asked of every request before its page sees it: no token of an agent, a session where the route wants one, and for whatever changes something
// the proof that it comes from a page of ours, three times over: by what the browser says of its origin, by the strict cookie, by the form's token.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Person } from '../../consent/desk.ts'
import { clearCookie, DECIDE_COOKIE, readCookie, VIEW_COOKIE } from './cookies.ts'
import { BY_ENTER, isFormPost, type Fields } from './form.ts'
import { PageRefusal, REFUSALS, type RefusalWords } from './refusal.ts'
import type { FormToken, Session, Sessions } from './sessions.ts'

/** Whoever is signed in. */
export interface Visitor {
  readonly session: Session
  readonly person: Person
}

declare module 'fastify' {
  interface FastifyRequest {
    /** null where the route asks for no session. */
    visitor: Visitor | null
  }
}

export interface GuardPorts {
  readonly sessions: Sessions
  /** Where people reach us. */
  readonly origin: string
  personOf (session: Session): Person
  /** An access token came to the wrong plane: for the audit. */
  planeViolation (request: FastifyRequest): void
}

export function createGuard (ports: GuardPorts): (request: FastifyRequest, reply: FastifyReply) => Promise<void> {
  return async (request, reply) => {
    if (request.headers.authorization !== undefined) {
      ports.planeViolation(request)
      throw new PageRefusal(REFUSALS.agentToken)
    }
    if (request.is404) return lookFor(request, ports)
    const { auth, role } = request.routeOptions.config
    const changes = request.method !== 'GET'
    if (changes && auth !== 'issuer') requireOwnOrigin(request, ports.origin)
    if (!changes) refuseOtherOrigin(request, ports.origin)
    if (auth !== 'session') return
    if (!changes) requireNavigation(request)
    const visitor = await visitorOf(request, reply, ports)
    const decide = readCookie(request.headers.cookie, DECIDE_COOKIE)
    if (changes && !ports.sessions.mayChange(visitor.session, decide)) throw new PageRefusal(REFUSALS.forged)
    request.visitor = visitor
    if (role === 'operator' && !visitor.person.roles.includes('operator')) throw new PageRefusal(REFUSALS.notOperator)
  }
}

/** For the menu beside a refusal; nothing rests on it. */
async function lookFor (request: FastifyRequest, { sessions, origin, personOf }: GuardPorts): Promise<void> {
  const view = readCookie(request.headers.cookie, VIEW_COOKIE)
  const foreign = (request.headers.origin ?? origin) !== origin
  if (request.method !== 'GET' || foreign || view === null) return
  const session = await sessions.find(view).catch(() => null)
  if (session !== null) request.visitor = { session, person: personOf(session) }
}

async function visitorOf (request: FastifyRequest, reply: FastifyReply, { sessions, personOf }: GuardPorts): Promise<Visitor> {
  const view = readCookie(request.headers.cookie, VIEW_COOKIE)
  const session = view === null ? null : await sessions.find(view)
  if (session !== null) return { session, person: personOf(session) }
  if (view !== null) reply.header('set-cookie', [clearCookie(VIEW_COOKIE), clearCookie(DECIDE_COOKIE)])
  const from = request.method === 'GET' ? request.url : pageOf(request)
  throw new PageRefusal(signedOut(request), { href: `/sign-in?return_to=${encodeURIComponent(from)}`, label: 'Sign in' })
}

/** Whoever pressed a button has to hear that it came to nothing. */
function signedOut ({ method, routeOptions: { config } }: FastifyRequest): RefusalWords {
  if (method === 'GET') return REFUSALS.signedOut
  return config.decides === true ? REFUSALS.notTaken : REFUSALS.notDone
}

/** Fetch metadata cannot be set by the script of a page; the Origin header is asked for in any case, since old browsers and programs send no other. */
function requireOwnOrigin (request: FastifyRequest, origin: string): void {
  const { 'sec-fetch-site': site, origin: from } = request.headers
  if ((site !== undefined && site !== 'same-origin') || from !== origin) throw new PageRefusal(REFUSALS.forged)
}

/** Whoever opens a page sends no Origin. A script of another site does, whether it reads, listens to events or asks for a socket, in any browser. */
function refuseOtherOrigin ({ headers: { origin: from } }: FastifyRequest, origin: string): void {
  if (from !== undefined && from !== origin) throw new PageRefusal(REFUSALS.forged)
}

/** A page is opened, not embedded, preloaded or fetched by another site: opening a proposal is written down as somebody's having seen it. */
function requireNavigation (request: FastifyRequest): void {
  const { 'sec-fetch-dest': dest, 'sec-fetch-site': site, 'sec-purpose': purpose } = request.headers
  const opened = dest === undefined || dest === 'document' || (dest === 'empty' && site === 'same-origin')
  if (!opened || purpose !== undefined) throw new PageRefusal(REFUSALS.forged)
}

/** @throws PageRefusal where the form was not made by us for this session and this path */
export function requireForm (request: FastifyRequest, fields: Fields, sessions: Sessions): FormToken {
  const checked = sessions.checkForm(request.visitor!.session, pathOf(request), fields.get('click') ?? '', fields.get('token') ?? '')
  if (checked === null) throw new PageRefusal(REFUSALS.staleForm, { href: pageOf(request), label: 'Open the page again' })
  if (fields.has(BY_ENTER)) throw new PageRefusal(REFUSALS.byEnter, { href: pageOf(request), label: 'Back to the form' })
  return checked
}

/** Whether the answer is for a program. */
export function wantsJson (request: FastifyRequest): boolean {
  const accept = request.headers.accept ?? ''
  return accept.includes('application/json') || (!accept.includes('text/html') && request.method !== 'GET' && !isFormPost(request))
}

/** The page that a form stands on, to go back to. */
export function pageOf ({ routeOptions: { config }, params }: FastifyRequest): string {
  const named = params as { readonly [name: string]: string }
  return (config.page ?? '/approvals').replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(named[name] ?? ''))
}

export const pathOf = (request: FastifyRequest): string => request.url.split('?', 1)[0]!
