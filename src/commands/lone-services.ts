// The services of one call that no broker makes: the real steps over a real store in a folder that is gone afterwards, and told to nobody. A person
// is taken to have said yes; whoever uses them decides what is sent at all.
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Identity } from '../attempts/identity.ts'
import { createResolver } from '../attempts/resolver.ts'
import type { Action, Catalog, CredentialDeclaration, Upstream } from '../catalog/catalog.ts'
import { processClock } from '../clock.ts'
import type { Environment } from '../config.ts'
import { createCredentials } from '../credentials/credentials.ts'
import type { Credentials } from '../credentials/credential.ts'
import { dryUpstream, type GivenAnswer } from '../curation/explain/dry-upstream.ts'
import { NOBODY_LISTENS } from '../consent/events.ts'
import { NEVER_LOCKED } from '../execution/lock.ts'
import { createRuns } from '../execution/runs.ts'
import type { Services } from '../execution/services.ts'
import { Secret } from '../secret.ts'
import { openStore } from '../store/open.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { createUpstreamClient } from '../upstream/client.ts'
import { buildRequest } from '../upstream/request.ts'
import type { UpstreamClient } from '../upstream/wire.ts'

export interface LoneServices {
  readonly services: Services
  /** As it is served. */
  readonly action: Action
  close (): Promise<void>
}

const CHIP_VARIABLES = { read: 'DRY_RUN_READ', write: 'DRY_RUN_WRITE' } as const

/** Nothing is sent, and a chip stands in the place of each secret. @param given answers of reads, by name */
export function openDryServices (catalog: Catalog, action: Action, given: ReadonlyMap<string, GivenAnswer>): Promise<LoneServices> {
  const credentials = createCredentials({ env: { [CHIP_VARIABLES.read]: chipOf(action, 'read'), [CHIP_VARIABLES.write]: chipOf(action, 'write') } })
  const { read, write } = action.upstream.credentials
  const upstream: Upstream = Object.freeze({ ...action.upstream, credentials: { read: chip(read, 'read'), write: chip(write, 'write') } })
  return open(catalog, Object.freeze({ ...action, upstream }), { upstream: dryUpstream(action, buildRequest, given), credentials })
}

/** What is sent goes to this upstream, with its credentials. @param env where secrets may come from */
export function openSandboxServices (catalog: Catalog, action: Action, upstream: Upstream, env: Environment): Promise<LoneServices> {
  const ports = { upstream: createUpstreamClient({ telemetry: NOBODY_TOLD }), credentials: createCredentials({ env }) }
  return open(catalog, Object.freeze({ ...action, upstream }), ports)
}

interface Sending {
  readonly upstream: UpstreamClient
  readonly credentials: Credentials
}

async function open (catalog: Catalog, action: Action, sending: Sending): Promise<LoneServices> {
  const folder = await mkdtemp(join(tmpdir(), 'aval-lone-'))
  const store = await openStore(`sqlite:${join(folder, 'state.db')}`)
  const served: Action = Object.freeze({ ...action, consent: 'none' })
  const all: Catalog = Object.freeze({ ...catalog, actions: new Map(catalog.actions).set(action.id, served) })
  const ports = { ...sending, telemetry: NOBODY_TOLD, clock: processClock }
  const now = (): Date => new Date()
  const services: Services = {
    ...ports,
    verifier: NOBODY_VERIFIED,
    identity: new Identity(new Secret('made for one call', randomBytes(32))),
    store,
    resolver: createResolver({ ...ports, store, definition: async () => served, rests: () => false, now, fault: () => {} }),
    runs: createRuns(store),
    lock: NEVER_LOCKED,
    people: null,
    consentEvents: NOBODY_LISTENS,
    isServedElsewhere: () => false,
    catalog: () => all,
    definition: () => served,
    keepDefinition: () => null,
    now,
    timestamp: () => now().toISOString(),
    background: () => {},
    draining: () => false,
  }
  return {
    services,
    action: served,
    async close () {
      await sending.upstream.close(0)
      await store.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Whoever makes the call says who the caller is. */
const NOBODY_VERIFIED: Services['verifier'] = {
  remembered: () => null,
  verify: async () => { throw new Error('no token is verified here') },
  isReady: () => true,
  warm: async () => {},
}

/** Everything that would be told of a real call. */
const NOBODY_TOLD: Telemetry = {
  intent: async () => {}, call () {}, callSoon () {}, refused () {}, hasRoom: () => true, attempt () {}, person () {}, door () {}, consent () {}, runStopped () {}, lockedOut () {}, lookup () {},
  upstream () {}, retried () {}, store () {}, integrity () {}, withheld () {},
}

const chip = (declared: CredentialDeclaration | null, use: 'read' | 'write'): CredentialDeclaration | null =>
  declared === null ? null : Object.freeze({ ...declared, secret: `env:${CHIP_VARIABLES[use]}` })

/** In letters that any place of a credential takes. */
function chipOf (action: Action, use: 'read' | 'write'): string {
  return `SECRET-OF-${(action.upstream.credentials[use]?.secret ?? 'none').replace(/[^A-Za-z0-9._~-]+/g, '-')}`
}
