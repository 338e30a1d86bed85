// The identity provider of the demo, for people who have none at hand: whoever is at this machine may say who they are, without a password. It speaks
// just enough OpenID Connect for the broker's sign-in (code flow with PKCE, device grant), listens on loopback alone, and is marked on every page.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { importJWK, SignJWT } from 'jose'
import { makeDemoKey } from '../token.ts'
import { choosePage, donePage, type DemoPerson } from './idp-pages.ts'

export const DEMO_CLIENT = 'aval-demo'

/** Those who can be chosen. */
export const DEMO_PEOPLE: readonly DemoPerson[] = [
  { sub: 'lena', name: 'Lena Hart', roles: ['shop_lead'], about: 'leads the shop and decides what the agent asks for' },
  { sub: 'omar', name: 'Omar Said', roles: ['shop_lead'], about: 'leads the shop as well: a deletion takes both' },
  { sub: 'olga', name: 'Olga Brandt', roles: ['operator'], about: 'operates the broker: unresolved calls, runs, the lock' },
  { sub: 'nils', name: 'Nils Vogt', roles: [], about: 'works here, and may decide nothing' },
]

export interface DemoIdp {
  /** `http://127.0.0.1:40123` */
  readonly issuer: string
  close (): Promise<void>
}

const CODE_MS = 60_000
const DEVICE_MS = 10 * 60_000
const BODY_BYTES_MAX = 16_384
const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

interface Code {
  readonly person: DemoPerson
  readonly redirectUri: string
  readonly nonce: string | null
  readonly challenge: string
  readonly untilMs: number
}

interface Device {
  readonly userCode: string
  readonly untilMs: number
  person: DemoPerson | null
}

interface Answer {
  readonly status: number
  readonly headers?: { readonly [name: string]: string }
  readonly json?: object
  readonly page?: string
}

/** @param redirectUri the one place that people are sent back to, known once the broker listens */
export async function startDemoIdp (redirectUri: () => string): Promise<DemoIdp> {
  const server = createServer((incoming, outgoing) => {
    serve(incoming, outgoing).catch(() => outgoing.destroy())
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = new Provider(issuer, await makeDemoKey(), redirectUri)

  async function serve (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const url = new URL(incoming.url ?? '/', issuer)
    const body = await readForm(incoming)
    // Another name for this address would be a web page that has its own name point here.
    const known = incoming.headers.host === url.host && body !== null
    send(outgoing, known ? await provider.answer(incoming, url, body) : { status: 400, json: { error: 'invalid_request' } })
  }
  return {
    issuer,
    close: () => {
      server.closeAllConnections()
      return new Promise(resolve => server.close(() => resolve()))
    },
  }
}

class Provider {
  readonly #issuer: string
  readonly #key: Awaited<ReturnType<typeof makeDemoKey>>
  readonly #redirectUri: () => string
  readonly #codes = new Map<string, Code>()
  readonly #devices = new Map<string, Device>()

  constructor (issuer: string, key: Awaited<ReturnType<typeof makeDemoKey>>, redirectUri: () => string) {
    this.#issuer = issuer
    this.#key = key
    this.#redirectUri = redirectUri
  }

  async answer ({ method, headers }: IncomingMessage, { pathname, searchParams }: URL, body: URLSearchParams): Promise<Answer> {
    this.#forget()
    switch (`${method} ${pathname}`) {
      case 'GET /.well-known/openid-configuration': return { status: 200, json: metadata(this.#issuer) }
      case 'GET /jwks': return { status: 200, json: this.#key.jwks }
      case 'GET /authorize': return this.#ask(searchParams)
      case 'POST /authorize': return headers.origin === this.#issuer ? this.#signIn(body) : forbidden
      case 'POST /token': return this.#token(body)
      case 'POST /device/code': return this.#beginDevice(body)
      case 'GET /device': return { status: 200, page: choosePage('/device', DEMO_PEOPLE, [['user_code', searchParams.get('user_code') ?? '']], 'A terminal wants to sign in. The code must be the one that it shows:') }
      case 'POST /device': return headers.origin === this.#issuer ? this.#signInDevice(body) : forbidden
      default: return { status: 404, json: { error: 'not_found' } }
    }
  }

  #ask (asked: URLSearchParams): Answer {
    if (this.#faultOf(asked)) return { status: 400, page: donePage('This sign-in cannot be made', 'It did not come from the broker of this demo.') }
    return { status: 200, page: choosePage('/authorize', DEMO_PEOPLE, [...asked].filter(([name]) => name !== 'person'), 'The broker asks who you are:') }
  }

  #faultOf (asked: URLSearchParams): boolean {
    return asked.get('client_id') !== DEMO_CLIENT || asked.get('redirect_uri') !== this.#redirectUri() || asked.get('response_type') !== 'code' ||
      asked.get('code_challenge_method') !== 'S256' || !/^[A-Za-z0-9_-]{43}$/.test(asked.get('code_challenge') ?? '')
  }

  #signIn (asked: URLSearchParams): Answer {
    const person = personOf(asked)
    if (person === undefined || this.#faultOf(asked)) return forbidden
    const code = random()
    const redirectUri = asked.get('redirect_uri')!
    this.#codes.set(code, { person, redirectUri, nonce: asked.get('nonce'), challenge: asked.get('code_challenge')!, untilMs: Date.now() + CODE_MS })
    const back = new URL(redirectUri)
    for (const [name, value] of [['code', code], ['state', asked.get('state') ?? ''], ['iss', this.#issuer]] as const) back.searchParams.set(name, value)
    return { status: 303, headers: { location: back.href } }
  }

  #beginDevice (asked: URLSearchParams): Answer {
    if (asked.get('client_id') !== DEMO_CLIENT) return refused('invalid_client')
    const deviceCode = random()
    const userCode = [...randomBytes(8)].map(byte => 'BCDFGHJKLMNPQRSTVWXZ'[byte % 20]).join('').replace(/^(.{4})/, '$1-')
    this.#devices.set(deviceCode, { userCode, untilMs: Date.now() + DEVICE_MS, person: null })
    const verification = `${this.#issuer}/device`
    return {
      status: 200,
      json: {
        device_code: deviceCode, user_code: userCode, verification_uri: verification, verification_uri_complete: `${verification}?user_code=${userCode}`,
        expires_in: DEVICE_MS / 1_000, interval: 1,
      },
    }
  }

  #signInDevice (asked: URLSearchParams): Answer {
    const person = personOf(asked)
    const typed = lettersOf(asked.get('user_code') ?? '')
    const device = [...this.#devices.values()].find(({ userCode, person: chosen }) => lettersOf(userCode) === typed && chosen === null)
    if (person === undefined) return { status: 400, page: donePage('Nobody was chosen', 'Enter the code, then press a name.', AGAIN) }
    if (device === undefined) return { status: 400, page: donePage('There is no such code', 'It may have been mistyped, have been used, or be too old.', AGAIN) }
    device.person = person
    return { status: 200, page: donePage('Signed in', `The terminal is now ${person.name}. You can close this page.`) }
  }

  async #token (asked: URLSearchParams): Promise<Answer> {
    if (asked.get('client_id') !== DEMO_CLIENT) return refused('invalid_client')
    if (asked.get('grant_type') === DEVICE_GRANT) {
      const device = this.#devices.get(asked.get('device_code') ?? '')
      if (device === undefined) return refused('expired_token')
      if (device.person === null) return refused('authorization_pending')
      this.#devices.delete(asked.get('device_code')!)
      return this.#grant(device.person, null)
    }
    const code = this.#codes.get(asked.get('code') ?? '')
    this.#codes.delete(asked.get('code') ?? '')
    const verifier = createHash('sha256').update(asked.get('code_verifier') ?? '').digest('base64url')
    const proved = code !== undefined && asked.get('grant_type') === 'authorization_code' && asked.get('redirect_uri') === code.redirectUri &&
      timingSafeEqual(Buffer.from(verifier), Buffer.from(code.challenge))
    return proved ? this.#grant(code.person, code.nonce) : refused('invalid_grant')
  }

  async #grant ({ sub, name, roles }: DemoPerson, nonce: string | null): Promise<Answer> {
    const nowS = Math.floor(Date.now() / 1_000)
    const idToken = await new SignJWT({ name, roles: [...roles], auth_time: nowS, ...(nonce !== null && { nonce }) })
      .setProtectedHeader({ alg: this.#key.alg, kid: this.#key.kid })
      .setIssuer(this.#issuer).setAudience(DEMO_CLIENT).setSubject(sub).setIssuedAt(nowS).setExpirationTime(nowS + 60)
      .sign(await importJWK(this.#key.jwk, this.#key.alg))
    // The access token opens nothing: there is nothing behind it.
    return { status: 200, json: { access_token: random(), token_type: 'Bearer', expires_in: 60, id_token: idToken } }
  }

  #forget (): void {
    for (const held of [this.#codes, this.#devices]) {
      for (const [name, { untilMs }] of held) if (Date.now() > untilMs) held.delete(name)
    }
  }
}

const forbidden: Answer = Object.freeze({ status: 403, page: donePage('This did not come from here', 'Nobody was signed in.') })
const refused = (error: string): Answer => ({ status: error === 'invalid_client' ? 401 : 400, json: { error } })
const AGAIN = Object.freeze({ href: '/device', label: 'Enter a code' })
/** RFC 8628 §6.1: what a person adds or leaves out between the letters says nothing. */
const lettersOf = (userCode: string): string => userCode.toUpperCase().replace(/[^A-Z]/g, '')
const random = (): string => randomBytes(32).toString('base64url')
const personOf = (asked: URLSearchParams): DemoPerson | undefined => DEMO_PEOPLE.find(({ sub }) => sub === asked.get('person'))

const metadata = (issuer: string): object => ({
  issuer,
  authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token`, device_authorization_endpoint: `${issuer}/device/code`, jwks_uri: `${issuer}/jwks`,
  response_types_supported: ['code'], subject_types_supported: ['public'], id_token_signing_alg_values_supported: ['ES256'],
  grant_types_supported: ['authorization_code', DEVICE_GRANT], code_challenge_methods_supported: ['S256'], token_endpoint_auth_methods_supported: ['none'],
  authorization_response_iss_parameter_supported: true, claims_supported: ['sub', 'name', 'roles', 'auth_time'],
})

/** null: too much. */
async function readForm (incoming: IncomingMessage): Promise<URLSearchParams | null> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > BODY_BYTES_MAX) return null
    chunks.push(chunk)
  }
  return new URLSearchParams(Buffer.concat(chunks).toString('utf8'))
}

function send (outgoing: ServerResponse, { status, headers, json, page }: Answer): void {
  outgoing.writeHead(status, {
    'cache-control': 'no-store',
    'content-type': json === undefined ? 'text/html; charset=utf-8' : 'application/json',
    // Whoever was chosen is sent back to the broker's own port.
    'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; form-action 'self' http://127.0.0.1:* http://localhost:*; frame-ancestors 'none'; base-uri 'none'",
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    ...headers,
  })
  outgoing.end(json === undefined ? page ?? '' : JSON.stringify(json))
}
