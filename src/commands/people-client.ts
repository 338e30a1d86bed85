// Asking the people listener of a running broker, as a browser would: with a session and from its own origin. Who has no session signs in with the
// identity provider, in a browser of any machine; the terminal never sees a password or a token.
import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import type { JsonObject } from '../catalog/catalog.ts'
import { DECIDE_COOKIE, VIEW_COOKIE } from '../http/people/cookies.ts'
import { CommandFault } from './command.ts'
import { readSession, writeSession, type Cookies } from './approvals/session-file.ts'

export interface PeopleAnswer {
  readonly status: number
  readonly body: JsonObject
}

export interface PeopleClient {
  /** Signs in first where nobody is. @throws CommandFault */
  ask (method: 'GET' | 'POST', path: string, fields?: { readonly [name: string]: string }): Promise<PeopleAnswer>
  /** Again, where what is decided asks for a sign-in just now. */
  signInAgain (): Promise<void>
  /** Ends the session, and forgets it. */
  signOut (): Promise<void>
}

export interface PeopleClientOptions {
  /** Where people reach the broker, `https://approvals.example`. */
  readonly url: string
  readonly sessionFile: string
  tell (text: string): void
}

const ANSWER_TIMEOUT_MS = 30_000
/** Nothing was sent. */
const UNREACHED: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'])

/** @throws CommandFault */
export async function peopleClient ({ url, sessionFile, tell }: PeopleClientOptions): Promise<PeopleClient> {
  const origin = originOf(url)
  let cookies = await readSession(sessionFile, origin)
  const exchange = (method: 'GET' | 'POST', path: string, fields?: object): Promise<Exchanged> => send(origin, cookies, method, path, fields)
  const signIn = async (fresh: boolean): Promise<void> => {
    cookies = null
    cookies = await signInByDevice(exchange, tell, fresh)
    await writeSession(sessionFile, origin, cookies)
  }
  return {
    async ask (method, path, fields) {
      if (cookies === null) await signIn(false)
      const first = await exchange(method, path, fields)
      // What changes something carries a token of the old session: it is asked anew by whoever asked.
      if (first.status !== 401 || method === 'POST') return first
      await signIn(false)
      return exchange(method, path, fields)
    },
    signInAgain: () => signIn(true),
    async signOut () {
      if (cookies !== null) await endSession(exchange)
      cookies = null
      await writeSession(sessionFile, origin, null)
    },
  }
}

async function endSession (exchange: (method: 'GET' | 'POST', path: string, fields?: object) => Promise<Exchanged>): Promise<void> {
  const { status, body } = await exchange('GET', '/approvals')
  if (status !== 200) return
  await exchange('POST', '/sign-out', (body as unknown as { readonly forms: { readonly sign_out: object } }).forms.sign_out)
}

function originOf (url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : null
  const loopback = parsed !== null && (parsed.hostname === 'localhost' || parsed.hostname === '[::1]' || parsed.hostname.startsWith('127.'))
  if (parsed === null || (parsed.protocol !== 'https:' && !(parsed.protocol === 'http:' && loopback))) {
    throw new CommandFault('--url must be the https URL under which people reach the broker (http on this machine alone)')
  }
  return parsed.origin
}

interface Exchanged extends PeopleAnswer {
  readonly setCookies: readonly string[]
}

async function send (origin: string, cookies: Cookies | null, method: 'GET' | 'POST', path: string, fields?: object): Promise<Exchanged> {
  let status: number
  let text: string
  let setCookies: readonly string[]
  try {
    const answer = await request(`${origin}${path}`, {
      method,
      headers: {
        accept: 'application/json',
        ...(method === 'POST' && { origin, 'content-type': 'application/json' }),
        ...(cookies !== null && { cookie: `${VIEW_COOKIE}=${cookies.view}; ${DECIDE_COOKIE}=${cookies.decide}` }),
      },
      body: method === 'POST' ? JSON.stringify(fields ?? {}) : null,
      headersTimeout: ANSWER_TIMEOUT_MS,
      bodyTimeout: ANSWER_TIMEOUT_MS,
    })
    status = answer.statusCode
    setCookies = [answer.headers['set-cookie'] ?? []].flat()
    text = await answer.body.text()
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (UNREACHED.has(code ?? '')) throw new CommandFault(`nothing answers at ${origin} (${code}); --url says where people reach the broker`)
    const perhapsTaken = method === 'POST' && path.startsWith('/approvals/')
    throw new CommandFault(`no answer came from ${origin} (${code ?? message})${perhapsTaken ? '; look at the proposal again before you repeat it' : ''}`)
  }
  const body = parse(text)
  if (body === null) throw new CommandFault(`the answer (${status}) is not one of Aval's; is ${origin} where people reach the broker?`)
  // An envelope: the people listener has none.
  if (body['outcome'] !== undefined) throw new CommandFault(`${origin} is where agents call, and not where people decide; --url says where that is`)
  return { status, body, setCookies }
}

function parse (text: string): JsonObject | null {
  try {
    const value = JSON.parse(text) as JsonObject | null
    return typeof value?.['ok'] === 'boolean' ? value : null
  } catch {
    return null
  }
}

async function signInByDevice (exchange: (method: 'POST', path: string, fields: object) => Promise<Exchanged>, tell: (text: string) => void, fresh: boolean): Promise<Cookies> {
  const begun = await exchange('POST', '/sign-in/device', fresh ? { fresh: 'yes' } : {})
  if (begun.body['why'] === 'forged' || begun.status === 421) throw new CommandFault('--url is not the origin under which people reach this broker (its AVAL_PEOPLE_ORIGIN)')
  if (begun.status !== 200) throw new CommandFault(String(begun.body['message'] ?? `the sign-in cannot be begun (${begun.status})`))
  const { ticket, user_code: code, verification_uri: page, interval_s: intervalS, expires_in_s: lifeS } = begun.body as { readonly [name: string]: string & number }
  tell(`To sign in, open ${page} in a browser and enter the code ${code} (good for ${Math.ceil(Number(lifeS) / 60)} min)`)
  tell('Enter no code that somebody else gives you: whoever shows it would be signed in as you.')
  const untilMs = performance.now() + Number(lifeS) * 1_000
  while (performance.now() < untilMs) {
    await sleep(Number(intervalS) * 1_000)
    const polled = await exchange('POST', '/sign-in/device/poll', { ticket: String(ticket) })
    const cookies = cookiesOf(polled.setCookies)
    if (polled.status === 200 && cookies !== null) return cookies
    // The identity provider may be away for a moment.
    if (polled.status !== 202 && polled.status !== 503) throw new CommandFault(String(polled.body['message'] ?? `the sign-in was refused (${polled.status})`))
  }
  throw new CommandFault('nobody signed in with the code in time')
}

function cookiesOf (headers: readonly string[]): Cookies | null {
  const valueOf = (name: string): string | undefined =>
    headers.find(header => header.startsWith(`${name}=`) && !header.startsWith(`${name}=;`))?.slice(name.length + 1).split(';')[0]
  const [view, decide] = [valueOf(VIEW_COOKIE), valueOf(DECIDE_COOKIE)]
  return view === undefined || decide === undefined ? null : { view, decide }
}
