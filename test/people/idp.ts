// A real identity provider on loopback, whose next answer a test can bend: who signs in, when they proved it, and what of the protocol is wrong.
import { randomUUID } from 'node:crypto'
import type { TestContext } from 'node:test'
import { OAuth2Server } from 'oauth2-mock-server'

export interface Idp {
  readonly issuer: string
  /** Claims of whoever signs in next. */
  who: { sub: string, name?: string, groups?: readonly string[], [claim: string]: unknown }
  /** How long ago they typed their password, in seconds; null: it does not say. */
  authAgeS: number | null
  /** Changes the way back to us. */
  bendRedirect: ((url: URL) => void) | null
  /** Changes claims last, in the ID token. */
  bendClaims: ((claims: Record<string, unknown>) => void) | null
  /** Query of every sign-in that was begun. */
  readonly asked: URLSearchParams[]
  /** A token that says that somebody signed out, signed as the provider does. A claim that is undefined is left out. */
  logoutToken (claims: Record<string, unknown>, typ?: string): Promise<string>
  stop (): Promise<void>
}

export async function startIdp (t: Pick<TestContext, 'after'>): Promise<Idp> {
  const server = new OAuth2Server()
  await server.issuer.keys.generate('RS256')
  await server.start(0, '127.0.0.1')
  const idp: Idp = {
    issuer: server.issuer.url!,
    who: { sub: 'ann', name: 'Ann Approver', groups: ['leads'] },
    authAgeS: 0,
    bendRedirect: null,
    bendClaims: null,
    asked: [],
    logoutToken: (claims, typ = 'logout+jwt') => server.issuer.buildToken({
      scopesOrTransform: (header, payload) => {
        header['typ'] = typ
        Object.assign(payload, { aud: 'aval', jti: randomUUID(), events: { 'http://schemas.openid.net/event/backchannel-logout': {} }, ...claims })
      },
      expiresIn: 120,
    }),
    stop: () => server.listening ? server.stop() : Promise.resolve(),
  }
  server.service.on('beforeAuthorizeRedirect', ({ url }, request) => {
    idp.asked.push(new URL(request.url!, idp.issuer).searchParams)
    idp.bendRedirect?.(url)
  })
  server.service.on('beforeTokenSigning', ({ payload }) => {
    Object.assign(payload, idp.who, idp.authAgeS === null ? {} : { auth_time: Math.floor(Date.now() / 1_000) - idp.authAgeS })
    idp.bendClaims?.(payload as Record<string, unknown>)
  })
  t.after(() => idp.stop())
  return idp
}
