// An identity provider that others wrote and certified, with the device grant, and a person with a browser who enters codes there.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { Provider } from 'oidc-provider'

export interface DeviceIdp {
  readonly issuer: string
  /** How often the broker asked for a token. */
  tokenRequests (): number
  /** Enters the code, signs in and agrees. Resolves with the last page. */
  enter (verificationUri: string, userCode: string, who: string): Promise<string>
}

const GROUPS: { readonly [sub: string]: readonly string[] } = { ann: ['leads'], bob: ['leads'], kim: [] }

/** @param grants of the client; without the device grant it is refused */
export async function startDeviceIdp (t: Pick<TestContext, 'after'>, grants: readonly string[] = ['urn:ietf:params:oauth:grant-type:device_code', 'authorization_code']): Promise<DeviceIdp> {
  const server: Server = createServer()
  await new Promise<void>(resolve => { server.listen(0, '127.0.0.1', resolve) })
  t.after(() => { server.closeAllConnections(); server.close() })
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = new Provider(issuer, {
    clients: [{
      client_id: 'aval', token_endpoint_auth_method: 'none', grant_types: [...grants], response_types: ['code'], redirect_uris: ['http://127.0.0.1/sign-in/callback'],
      application_type: 'native',
    }],
    claims: { openid: ['sub', 'groups', 'name'] },
    conformIdTokenClaims: false,
    features: { deviceFlow: { enabled: true }, devInteractions: { enabled: true } },
    findAccount: (_context, sub) => ({ accountId: sub, claims: async () => ({ sub, name: `Person ${sub}`, groups: GROUPS[sub] ?? [] }) }),
    cookies: { keys: ['a test'] },
  })
  let asked = 0
  server.on('request', ({ url }) => { if (url === '/token') asked++ })
  server.on('request', provider.callback())
  return { issuer, tokenRequests: () => asked, enter: (uri, code, who) => new Person().enter(uri, code, who) }
}

/** A browser as far as forms and cookies go. */
class Person {
  readonly #cookies = new Map<string, string>()

  async enter (verificationUri: string, userCode: string, who: string): Promise<string> {
    let page = await this.#submit(await this.#open(verificationUri), { user_code: userCode })
    for (let step = 0; step < 6 && page.text.includes('<form'); step++) {
      page = await this.#submit(page, page.text.includes('name="login"') ? { login: who, password: 'x' } : {})
    }
    return page.text
  }

  async #open (url: string, init: RequestInit = {}): Promise<{ readonly url: string, readonly text: string }> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const answer = await fetch(url, { ...init, redirect: 'manual', headers: { ...init.headers, cookie, accept: 'text/html' } })
    for (const line of answer.headers.getSetCookie()) {
      const [pair = ''] = line.split(';')
      const equals = pair.indexOf('=')
      if (/expires=Thu, 01 Jan 1970/i.test(line)) this.#cookies.delete(pair.slice(0, equals))
      else this.#cookies.set(pair.slice(0, equals), pair.slice(equals + 1))
    }
    const next = answer.headers.get('location')
    return next === null ? { url, text: await answer.text() } : this.#open(new URL(next, url).href)
  }

  #submit (page: { readonly url: string, readonly text: string }, filled: { readonly [name: string]: string }): Promise<{ readonly url: string, readonly text: string }> {
    const form = /<form[^>]*>[^]*?<\/form>/.exec(page.text)?.[0] ?? ''
    const action = /<form[^>]*action="([^"]*)"/.exec(form)?.[1] ?? page.url
    const fields = new URLSearchParams()
    for (const [input] of form.matchAll(/<input[^>]*>/g)) {
      const [name, value] = ['name', 'value'].map(attribute => new RegExp(`\\b${attribute}="([^"]*)"`).exec(input)?.[1])
      if (name !== undefined) fields.set(name, filled[name] ?? value ?? '')
    }
    const press = /<button[^>]*name="([^"]*)"[^>]*value="([^"]*)"/.exec(form)
    if (press !== null) fields.set(press[1]!, press[2]!)
    return this.#open(new URL(action.replaceAll('&amp;', '&'), page.url).href, { method: 'POST', body: fields })
  }
}
