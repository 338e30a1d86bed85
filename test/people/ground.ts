// The people listener for a test: real sockets, a real store on disk, a real identity provider, and proposals as the broker makes them.
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { PeopleEvents } from '../../src/http/people/context.ts'
import { createIdentityProvider } from '../../src/http/people/identity-provider.ts'
import { createKnownRoles } from '../../src/http/people/known-roles.ts'
import { buildPeople, type PeopleOptions } from '../../src/http/people/people.ts'
import { openSqlite } from '../../src/store/sqlite.ts'
import type { Store } from '../../src/store/store.ts'
import { createIssuerFetch } from '../../src/upstream/issuer-fetch.ts'
import type { Principals } from '../../src/consent/principals.ts'
import { keepingOperator, watchedDesk, type WatchedDesk } from './desk.ts'
import { startIdp, type Idp } from './idp.ts'

export const ROLES: { readonly [group: string]: string } = { leads: 'support_lead', finance: 'finance', ops: 'operator' }

export interface Told { readonly what: keyof PeopleEvents, readonly event: object }

export interface People {
  readonly origin: string
  readonly store: Store
  readonly idp: Idp
  readonly told: Told[]
  readonly faults: unknown[]
  /** Codes of what the listener refused, in order. */
  readonly refused: string[]
  readonly desk: WatchedDesk
  /** `POST /approvals/prop_…/decision 403`: what was answered, in order. */
  readonly answered: readonly string[]
  /** `GET /approvals/:id`: all that the listener answers to. */
  readonly routes: readonly string[]
  /** Moves the wall clock on. */
  ahead (ms: number): void
}

interface Over {
  readonly issuer?: string
  readonly port?: number
  readonly principals?: Principals
  /** Values of the claim → roles. */
  readonly roles?: { readonly [value: string]: string } | null
}

export async function startPeople (t: Pick<TestContext, 'after'>, over: Partial<PeopleOptions> & Over = {}): Promise<People> {
  const folder = mkdtempSync(join(tmpdir(), 'aval-people-'))
  const store = openSqlite(join(folder, 'aval.db'))
  const idp = await startIdp(t)
  const port = over.port ?? await freePort()
  const origin = `http://127.0.0.1:${port}`
  const told: Told[] = []
  const faults: unknown[] = []
  const refused: string[] = []
  let aheadMs = 0
  const nowMs = (): number => Date.now() + aheadMs
  const fetcher = createIssuerFetch(2_000)
  const desk = watchedDesk(store, over.principals)
  const tell = (what: keyof PeopleEvents) => (event: object): void => { told.push({ what, event }) }
  const app = buildPeople({
    hosts: ['127.0.0.1', 'localhost'], trustProxy: [], tls: null, rates: null, draining: () => false,
    events: { refused: ({ code }) => { refused.push(code) }, fault: event => { faults.push(event.error) } },
    desk, operator: keepingOperator(desk.operator), store, origin, trust: over.trust ?? 'trust-1', nowMs,
    provider: createIdentityProvider({ issuer: over.issuer ?? idp.issuer, client: 'aval', secret: null, origin, roleClaim: 'groups' }, { fetch: fetcher, nowMs }),
    people: {
      signedIn: tell('signedIn'), signedOut: tell('signedOut'), signInRefused: tell('signInRefused'),
      planeViolation: tell('planeViolation'), providerFault: tell('providerFault'),
    },
    knownRoles: createKnownRoles(store, over.roles === null ? null : new Map(Object.entries(over.roles ?? ROLES).map(([group, role]) => [group, [role]]))),
    markSource: address => `h1:${address}`,
    principalOf: (iss, sub) => `${iss}|${sub}`,
    ...over,
  })
  const [routes, answered]: [string[], string[]] = [[], []]
  app.addHook('onResponse', async ({ method, url }, { statusCode }) => { answered.push(`${method} ${url} ${statusCode}`) })
  app.addHook('onRoute', ({ method, url }) => { routes.push(...[method].flat().map(one => `${one} ${url}`)) })
  t.after(async () => {
    const closed = app.close()
    app.server.closeAllConnections()
    await closed
    await fetcher.close()
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })
  await app.listen({ host: '127.0.0.1', port })
  return { origin, store, idp, told, faults, refused, desk, routes, answered, ahead: ms => { aheadMs += ms } }
}

/** The origin has to be known before the listener is made. */
export async function freePort (): Promise<number> {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise(resolve => server.close(resolve))
  return port
}
