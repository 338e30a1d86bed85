// The identity provider tells us itself when somebody signs out there (OpenID Connect Back-Channel Logout 1.0). No browser is in it: neither a cookie nor
// an origin counts, its signature alone.
import type { FastifyInstance } from 'fastify'
import { sendJson } from '../envelope.ts'
import type { PeopleContext } from './context.ts'
import { isFormPost, readForm } from './form.ts'
import { ProviderUnavailable } from './identity-provider.ts'
import { LogoutRefused } from './logout-token.ts'
import { PageRefusal, REFUSALS } from './refusal.ts'

export const BACK_CHANNEL_PATH = '/sign-in/back-channel-logout'

export function addBackChannelRoute (app: FastifyInstance, { provider, sessions, events, markSource }: PeopleContext): void {
  app.post(BACK_CHANNEL_PATH, { config: { plane: 'people', auth: 'issuer', role: 'anyone', takesBody: true } }, async (request, reply) => {
    if (!isFormPost(request)) throw new PageRefusal(REFUSALS.logoutToken)
    const token = (await readForm(request, reply, ['logout_token'])).get('logout_token') ?? ''
    const correlationId = request.id
    const signedOut = await provider.signedOut(token).catch((error: unknown) => {
      if (error instanceof LogoutRefused) {
        events.signInRefused({ correlationId, reason: `LOGOUT_TOKEN ${error.message}`, source: markSource(request.ip) })
        throw new PageRefusal(REFUSALS.logoutToken)
      }
      if (error instanceof ProviderUnavailable) events.providerFault({ correlationId, reason: error.message })
      throw error instanceof ProviderUnavailable ? new PageRefusal(REFUSALS.providerDown) : error
    })
    await sessions.endWhere(signedOut)
    events.signedOut({ correlationId, iss: signedOut.iss, sub: signedOut.sub })
    return sendJson(reply, 200, { ok: true })
  })
}
