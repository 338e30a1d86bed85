// An identity provider that others wrote and certified (oidc-provider): it insists on what the standards say, and shows a form to type a name into.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { Provider } from 'oidc-provider'

export interface StrictIdp {
  readonly issuer: string
  /** Adds our client once it is known where we are. */
  expect (origin: string): void
}

export const CLIENT_SECRET = 'the-secret-of-the-broker-at-the-provider'

const GROUPS: { readonly [sub: string]: readonly string[] } = { ann: ['leads'], olga: ['ops'] }

export async function startStrictIdp (t: Pick<TestContext, 'after'>): Promise<StrictIdp> {
  const server: Server = createServer()
  await new Promise<void>(resolve => { server.listen(0, '127.0.0.1', resolve) })
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    issuer,
    expect (origin) {
      const provider = new Provider(issuer, {
        clients: [{
          client_id: 'aval', client_secret: CLIENT_SECRET, token_endpoint_auth_method: 'client_secret_basic', grant_types: ['authorization_code'],
          response_types: ['code'], redirect_uris: [`${origin}/sign-in/callback`], application_type: 'native',
          backchannel_logout_uri: `${origin}/sign-in/back-channel-logout`, backchannel_logout_session_required: true,
        }],
        pkce: { required: () => true },
        claims: { openid: ['sub', 'groups', 'name'] },
        conformIdTokenClaims: false,
        features: { devInteractions: { enabled: true }, backchannelLogout: { enabled: true } },
        findAccount: (_context, sub) => ({ accountId: sub, claims: async () => ({ sub, name: `Person ${sub}`, groups: [...GROUPS[sub] ?? []] }) }),
        cookies: { keys: ['a test'] },
        // It would not reach loopback by itself, where we are in a test.
        fetch: (url, options) => globalThis.fetch(url, { ...options, dispatcher: undefined }),
      })
      server.on('request', provider.callback())
    },
  }
}
