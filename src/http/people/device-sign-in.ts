// Signing in from a terminal (RFC 8628): the broker asks the identity provider for a code, the person enters it in a browser, and the terminal gets the
// session that a browser would have got. It holds no client secret and sees no token. Whoever begins such a sign-in gets the session of whoever enters
// the code, so it exists only where the provider offers this grant to the broker's client.
import { randomBytes } from 'node:crypto'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { sendJson } from '../envelope.ts'
import type { PeopleContext } from './context.ts'
import { readForm } from './form.ts'
import { CODE_OVER, SignInRefused } from './identity-provider.ts'
import { PageRefusal, REFUSALS } from './refusal.ts'
import { FRESH_MAX_AGE_S, MAX_AGE_S, sessionCookies, told } from './sign-in.ts'

/** Begun and not ended, for all who ask: each costs the identity provider a code. */
const UNDER_WAY_MAX = 50

interface Ticket {
  readonly deviceCode: string
  readonly maxAgeS: number
  readonly intervalS: number
  /** Wall clock: asked earlier, the provider is not asked. */
  readonly nextMs: number
  readonly endsMs: number
}

export function addDeviceRoutes (app: FastifyInstance, context: PeopleContext): void {
  const { sessions, provider } = context
  const anyone = { plane: 'people', auth: 'none', role: 'anyone', takesBody: true } as const
  /** When each that was begun here ends. */
  const underWay = new Set<{ endsMs: number }>()

  app.post('/sign-in/device', { config: anyone }, async (request, reply) => {
    const fresh = (await readForm(request, reply, ['fresh'])).get('fresh') === 'yes'
    const nowMs = context.nowMs()
    for (const one of underWay) if (one.endsMs <= nowMs) underWay.delete(one)
    if (underWay.size >= UNDER_WAY_MAX) throw new PageRefusal(REFUSALS.tooManySignIns)
    const place = { endsMs: Infinity }
    underWay.add(place)
    const maxAgeS = fresh ? FRESH_MAX_AGE_S : MAX_AGE_S
    const begun = await provider.beginDevice({ maxAgeS, fresh }).catch((error: unknown) => {
      underWay.delete(place)
      throw told(error, request, context)
    })
    const endsMs = nowMs + begun.expiresInS * 1_000
    place.endsMs = endsMs
    const ticket: Ticket = { deviceCode: begun.deviceCode, maxAgeS, intervalS: begun.intervalS, nextMs: nowMs, endsMs }
    const id = randomBytes(32).toString('base64url')
    await sessions.keepTicket(id, JSON.stringify(ticket), begun.expiresInS * 1_000)
    return sendJson(reply, 200, {
      ok: true, ticket: id, user_code: begun.userCode, verification_uri: begun.verificationUri, interval_s: begun.intervalS, expires_in_s: begun.expiresInS,
    })
  })

  app.post('/sign-in/device/poll', { config: anyone }, async (request, reply) => {
    const id = (await readForm(request, reply, ['ticket'])).get('ticket') ?? ''
    const kept = await sessions.ticket(id)
    const ticket = kept === null ? null : JSON.parse(kept) as Ticket
    const nowMs = context.nowMs()
    if (ticket === null || nowMs > ticket.endsMs) throw new PageRefusal(REFUSALS.codeOver)
    const waiting = (): FastifyReply => sendJson(reply, 202, { ok: true, waiting: true })
    if (nowMs < ticket.nextMs) return waiting()
    const signedIn = await provider.pollDevice(ticket.deviceCode, ticket.maxAgeS).catch(async (error: unknown) => {
      if (error instanceof SignInRefused) await sessions.dropTicket(id)
      if (error instanceof SignInRefused && error.message === CODE_OVER) throw new PageRefusal(REFUSALS.codeOver)
      throw told(error, request, context)
    })
    if (signedIn === 'waiting' || signedIn === 'slow_down') {
      const intervalS = ticket.intervalS + (signedIn === 'slow_down' ? 5 : 0)
      await sessions.keepTicket(id, JSON.stringify({ ...ticket, intervalS, nextMs: nowMs + intervalS * 1_000 }), ticket.endsMs - nowMs)
      return waiting()
    }
    await sessions.dropTicket(id)
    const { view, decide } = await sessions.begin(signedIn)
    context.events.signedIn({ correlationId: request.id, iss: signedIn.iss, sub: signedIn.sub, roles: context.rolesOf(signedIn.roleValues) })
    reply.header('set-cookie', sessionCookies(view, decide))
    return sendJson(reply, 200, { ok: true, waiting: false })
  })
}
