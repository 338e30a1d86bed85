// Signing in and out. Leaving for the identity provider, what comes back is checked, and only then is there a session: always a new one, whatever
// cookie the browser brought.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { sendJson } from '../envelope.ts'
import type { PeopleContext } from './context.ts'
import { clearCookie, DECIDE_COOKIE, readCookie, SIGN_IN_COOKIE, VIEW_COOKIE, writeCookie } from './cookies.ts'
import { readForm } from './form.ts'
import { requireForm, wantsJson } from './guard.ts'
import { html } from './html.ts'
import { CALLBACK_PATH, ProviderUnavailable, SignInRefused, type SignedIn } from './identity-provider.ts'
import { sendPage } from './layout.ts'
import { PageRefusal, REFUSALS } from './refusal.ts'
import { ABSOLUTE_MS, type SignInUnderWay } from './sessions.ts'

/** Someone who proved who they are longer ago than a session lasts has to do it again. */
export const MAX_AGE_S = ABSOLUTE_MS / 1_000
/** Where a sign-in just now is asked for. */
export const FRESH_MAX_AGE_S = 120
const SIGN_IN_COOKIE_S = 600
const HOME = '/approvals'

export function addSignInRoutes (app: FastifyInstance, context: PeopleContext): void {
  const { sessions, provider } = context

  app.get('/sign-in', {
    exposeHeadRoute: false,
    config: { plane: 'people', auth: 'none', role: 'anyone' },
    schema: { querystring: { type: 'object', properties: { return_to: { type: 'string' }, fresh: { type: 'string' } } } },
  }, async (request, reply) => {
    const fresh = request.asked.get('fresh') === 'yes'
    const begun = await provider.begin({ maxAgeS: fresh ? FRESH_MAX_AGE_S : MAX_AGE_S, fresh }).catch(error => { throw told(error, request, context) })
    const underWay = { ...begun.transaction, returnTo: safePath(request.asked.get('return_to')) }
    const id = await sessions.rememberSignIn(readCookie(request.headers.cookie, SIGN_IN_COOKIE), underWay)
    return reply.header('set-cookie', writeCookie(SIGN_IN_COOKIE, id, SIGN_IN_COOKIE_S)).redirect(begun.url, 303)
  })

  app.get(CALLBACK_PATH, {
    exposeHeadRoute: false,
    config: { plane: 'people', auth: 'none', role: 'anyone', query: 'any' },
  }, async (request, reply) => {
    const browser = readCookie(request.headers.cookie, SIGN_IN_COOKIE)
    const underWay = browser === null ? null : await sessions.takeSignIn(browser, stateOf(request))
    if (underWay === null) throw told(new SignInRefused('NO_SIGN_IN'), request, context)
    const signedIn = await finish(request, underWay, context)
    await endPresent(request, context)
    const { view, decide } = await sessions.begin(signedIn)
    context.events.signedIn({ correlationId: request.id, iss: signedIn.iss, sub: signedIn.sub, roles: context.rolesOf(signedIn.roleValues) })
    return reply.header('set-cookie', sessionCookies(view, decide)).redirect(underWay.returnTo, 303)
  })

  app.post('/sign-out', { config: { plane: 'people', auth: 'session', role: 'person', takesBody: true } }, async (request, reply) => {
    requireForm(request, await readForm(request, reply, ['click', 'token']), sessions)
    const { session } = request.visitor!
    await sessions.end(session)
    context.events.signedOut({ correlationId: request.id, iss: session.iss, sub: session.sub })
    if (wantsJson(request)) return sendJson(reply.header('set-cookie', [clearCookie(VIEW_COOKIE), clearCookie(DECIDE_COOKIE)]), 200, { ok: true })
    // What the browser keeps of the pages goes as well, so that its Back button shows none of them.
    return reply.header('set-cookie', [clearCookie(VIEW_COOKIE), clearCookie(DECIDE_COOKIE)]).header('clear-site-data', '"cache"').redirect('/signed-out', 303)
  })

  app.get('/signed-out', { exposeHeadRoute: false, config: { plane: 'people', auth: 'none', role: 'anyone' } }, async (_request, reply) => signedOut(reply))
}

/** Also for a surface that has its own way to sign a person in. */
export const sessionCookies = (view: string, decide: string): readonly string[] =>
  [writeCookie(VIEW_COOKIE, view, ABSOLUTE_MS / 1_000), writeCookie(DECIDE_COOKIE, decide, ABSOLUTE_MS / 1_000)]

async function finish (request: FastifyRequest, underWay: SignInUnderWay, context: PeopleContext): Promise<SignedIn> {
  const at = request.url.indexOf('?')
  try {
    return await context.provider.finish(at === -1 ? '' : request.url.slice(at + 1), underWay)
  } catch (error) {
    throw told(error, request, context)
  }
}

/** It names the sign-in that was begun; whether it is right is checked with all the rest. */
const stateOf = ({ url }: FastifyRequest): string => new URLSearchParams(url.slice(url.indexOf('?') + 1)).get('state') ?? ''

/** Who signs in again has one session afterwards, not two. */
async function endPresent (request: FastifyRequest, { sessions }: PeopleContext): Promise<void> {
  const view = readCookie(request.headers.cookie, VIEW_COOKIE)
  const present = view === null ? null : await sessions.find(view)
  if (present !== null) await sessions.end(present)
}

export function told (error: unknown, request: FastifyRequest, { events, markSource }: PeopleContext): unknown {
  if (error instanceof ProviderUnavailable) {
    events.providerFault({ correlationId: request.id, reason: error.message })
    return new PageRefusal(REFUSALS.providerDown, SIGN_IN)
  }
  if (!(error instanceof SignInRefused)) return error
  events.signInRefused({ correlationId: request.id, reason: error.message, source: markSource(request.ip) })
  return new PageRefusal(REFUSALS.signInFailed, SIGN_IN)
}

const SIGN_IN = { href: '/sign-in', label: 'Sign in' }

/** A path of ours: one slash in front and nothing that a browser could take for the name of a host. */
export function safePath (text: string | undefined): string {
  const isPath = text !== undefined && text.length <= 512 && /^\/(?!\/)[\x21-\x5b\x5d-\x7e]*$/.test(text)
  return isPath && !text.startsWith('/sign') ? text : HOME
}

function signedOut (reply: FastifyReply): FastifyReply {
  const main = html`<div class="message"><h1>You are signed out</h1><p>Your identity provider may still know you: sign out there as well on a machine that others use.</p>
<p><a class="button go" href="/sign-in">Sign in</a></p></div>`
  return sendPage(reply, { title: 'Signed out', here: null, main }, null, null)
}
