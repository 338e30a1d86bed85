// Sessions of people, kept in the store under the SHA-256 of their id: the browser holds two random values and nothing else. What a session says is
// written once, when it begins; that it is still in use stands in a record of its own, so that no late note of it brings back a session that was ended.
import { createHmac, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto'
import { sha256Hex } from '../../attempts/identity.ts'
import type { ConsentStore } from '../../store/consent-store.ts'
import type { SignedIn, Transaction } from './identity-provider.ts'
import type { SignedOut } from './logout-token.ts'
import type { KnownRoles } from './known-roles.ts'

export const IDLE_MS = 30 * 60_000
export const ABSOLUTE_MS = 8 * 3_600_000
/** Between leaving for the identity provider and coming back. */
const SIGN_IN_MS = 10 * 60_000
/** A page that was left open for longer has to be opened again. */
const FORM_MS = 60 * 60_000
/** How often it is noted that a session is in use. */
const NOTE_MS = 60_000
const FORMAT = 2

export type SessionStore = Pick<ConsentStore, 'keepSession' | 'session' | 'dropSession'>

export interface Session extends SignedIn {
  /** Its name in the store. */
  readonly hash: string
  /** Keys the tokens in its forms. */
  readonly secret: string
  /** SHA-256 of the value without which nothing is changed. */
  readonly decideHash: string
  readonly startedAtMs: number
}

export interface SignInUnderWay extends Transaction {
  readonly returnTo: string
}

/** What a form of ours carried. */
export interface FormToken {
  /** Names the click: pressed twice it is one. */
  readonly clickId: string
  readonly ageMs: number
}

export interface Sessions {
  begin (person: SignedIn): Promise<{ readonly view: string, readonly decide: string }>
  find (view: string): Promise<Session | null>
  mayChange (session: Session, decide: string | null): boolean
  end (session: Session): Promise<void>
  /** Ends those that began with a sign-in which is over at the provider, also one whose answer is still on its way. */
  endWhere (signedOut: SignedOut): Promise<void>
  /** @param purpose the path that it is good for */
  formToken (session: Session, purpose: string): { readonly clickId: string, readonly token: string }
  /** null: not made by us, for another session or another purpose, or too old. */
  checkForm (session: Session, purpose: string, clickId: string, token: string): FormToken | null
  /**
   * @param browser what the browser's sign-in cookie holds, null where it has none; one browser may have several under way, a window each
   * @returns what the cookie is to hold
   */
  rememberSignIn (browser: string | null, underWay: SignInUnderWay): Promise<string>
  /** What has to be remembered of a sign-in from a terminal, under a secret that it was given. */
  keepTicket (id: string, text: string, lifeMs: number): Promise<void>
  ticket (id: string): Promise<string | null>
  dropTicket (id: string): Promise<void>
  /** Takes it: the second time there is none. */
  takeSignIn (browser: string, state: string): Promise<SignInUnderWay | null>
}

export interface SessionServices {
  readonly store: SessionStore
  /** Whom the sessions rest on: under another issuer, client or key none of them counts any more. */
  readonly trust: string
  readonly knownRoles: Pick<KnownRoles, 'remember' | 'valuesOf'>
  /** Wall clock. */
  nowMs (): number
}

/**
 * What is remembered of a sign-out, each with when it was. A session without a name cannot be told from the others of the person, so it ends with each.
 */
const signOutsOf = ({ iss, sub, sid }: Pick<SignedOut, 'iss' | 'sub' | 'sid'>): readonly string[] => {
  const all = sid === null ? [['sub', iss, sub]] : sub === null ? [['sid', iss, sid]] : [['sid', iss, sid], ['nameless', iss, sub]]
  return all.map(one => JSON.stringify(one))
}

/** What would end a session. */
const endsOf = ({ iss, sub, sid }: SignedIn): readonly string[] =>
  [['sub', iss, sub], sid === null ? ['nameless', iss, sub] : ['sid', iss, sid]].map(one => JSON.stringify(one))

const named = (kind: string, id: string): string => sha256Hex(`aval/people/${kind}\0${id}`)
const signOutName = (one: string): string => named('signed-out', one)

async function drop (store: SessionStore, hash: string): Promise<null> {
  await store.dropSession(hash)
  await store.dropSession(named('seen', hash))
  return null
}

export function createSessions ({ store, trust, knownRoles, nowMs }: SessionServices): Sessions {
  /** Whoever signs in anew does so later, by the same clock: the provider's. */
  const isOver = async (person: SignedIn): Promise<boolean> => {
    const times = await Promise.all(endsOf(person).map(one => store.session(signOutName(one))))
    return times.some(atS => atS !== null && person.authTimeS <= Number(atS))
  }
  return {
    async begin (person) {
      const [view, decide] = [randomId(), randomId()]
      const at = nowMs()
      await knownRoles.remember(person.iss, person.sub, person.roleValues)
      await store.keepSession(named('seen', named('session', view)), String(at), IDLE_MS)
      const kept: Omit<Session, 'hash'> = { ...person, secret: randomId(), decideHash: named('decide', decide), startedAtMs: at }
      await store.keepSession(named('session', view), JSON.stringify({ format: FORMAT, trust, ...kept }), ABSOLUTE_MS)
      return { view, decide }
    },
    async find (view) {
      const hash = named('session', view)
      const [text, seen] = await Promise.all([store.session(hash), store.session(named('seen', hash))])
      if (text === null || seen === null) return null
      const { format, trust: made, ...kept } = JSON.parse(text) as Omit<Session, 'hash'> & { format: number, trust: string }
      const at = nowMs()
      if (format !== FORMAT || made !== trust || await isOver(kept)) return null
      // Over is over, whatever the clock says next.
      if (at - kept.startedAtMs > ABSOLUTE_MS || at - Number(seen) > IDLE_MS) return drop(store, hash)
      if (at - Number(seen) > NOTE_MS) await store.keepSession(named('seen', hash), String(at), IDLE_MS)
      // Whoever has signed in elsewhere since, and has fewer roles by now, has fewer here.
      const roleValues = await knownRoles.valuesOf(kept.iss, kept.sub) ?? []
      return { ...kept, roleValues, hash }
    },
    mayChange: (session, decide) => decide !== null && same(named('decide', decide), session.decideHash),
    async end ({ hash }) { await drop(store, hash) },
    async endWhere (signedOut) {
      for (const name of signOutsOf(signedOut).map(signOutName)) {
        const before = Number(await store.session(name) ?? 0)
        await store.keepSession(name, String(Math.max(before, signedOut.atS)), ABSOLUTE_MS + SIGN_IN_MS)
      }
    },
    formToken (session, purpose) {
      const clickId = randomUUID()
      const at = nowMs().toString(36)
      return { clickId, token: `${at}.${mac(session, purpose, clickId, at)}` }
    },
    checkForm (session, purpose, clickId, token) {
      const [at = '', given = ''] = token.split('.', 2)
      const ageMs = nowMs() - Number.parseInt(at, 36)
      return same(given, mac(session, purpose, clickId, at)) && ageMs <= FORM_MS ? { clickId, ageMs } : null
    },
    keepTicket: (id, text, lifeMs) => store.keepSession(named('ticket', id), text, lifeMs),
    ticket: id => store.session(named('ticket', id)),
    dropTicket: id => store.dropSession(named('ticket', id)),
    async rememberSignIn (browser, underWay) {
      const id = browser ?? randomId()
      await store.keepSession(named('sign-in', `${id} ${underWay.state}`), JSON.stringify({ ...underWay, endsAtMs: nowMs() + SIGN_IN_MS }), SIGN_IN_MS)
      return id
    },
    async takeSignIn (browser, state) {
      const hash = named('sign-in', `${browser} ${state}`)
      const text = await store.session(hash)
      if (text === null) return null
      await store.dropSession(hash)
      const { endsAtMs, ...underWay } = JSON.parse(text) as SignInUnderWay & { endsAtMs: number }
      return nowMs() <= endsAtMs ? underWay : null
    },
  }
}

/** 256 bits. */
const randomId = (): string => randomBytes(32).toString('base64url')

const mac = (session: Session, ...parts: readonly string[]): string =>
  createHmac('sha256', session.secret).update(JSON.stringify(parts)).digest('base64url')

function same (one: string, other: string): boolean {
  const [first, second] = [Buffer.from(one), Buffer.from(other)]
  return first.length === second.length && timingSafeEqual(first, second)
}
