// What the steps of a call are handed by main: ports, never modules, so that every step can be read (and run) without a socket.
import type { Identity } from '../attempts/identity.ts'
import type { Resolver } from '../attempts/resolver.ts'
import type { Action, Catalog } from '../catalog/catalog.ts'
import type { Clock } from '../clock.ts'
import type { ConsentEvents } from '../consent/events.ts'
import type { Credentials } from '../credentials/credential.ts'
import type { Store } from '../store/store.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import type { UpstreamClient } from '../upstream/wire.ts'
import type { TokenVerifier } from './access-token.ts'
import type { Lock } from './lock.ts'
import type { People } from './people.ts'
import type { Runs } from './runs.ts'

export interface Services {
  readonly verifier: TokenVerifier
  readonly identity: Identity
  readonly store: Store
  readonly upstream: UpstreamClient
  readonly credentials: Credentials
  readonly telemetry: Telemetry
  readonly resolver: Resolver
  readonly runs: Runs
  readonly lock: Lock
  /** null: no person can be asked. */
  readonly people: People | null
  readonly consentEvents: ConsentEvents
  readonly clock: Clock
  /** The catalog in force. */
  catalog (): Catalog
  /** Another replica that is alive serves the catalog of this digest. */
  isServedElsewhere (catalogDigest: string): boolean
  /** A definition that is in force or that something unsettled still refers to. */
  definition (digest: string): Action | null
  /** Resolves once the store has it, for whoever must look up by it; null: it has. @throws StateUnavailable */
  keepDefinition (digest: string): Promise<void> | null
  /** Wall clock, for expressions and answers only: no decision about an attempt rests on it. */
  now (): Date
  /** The same as text, ISO 8601 in UTC. */
  timestamp (): string
  /** Work that goes on after its answer was given; drained at shutdown. */
  background (work: Promise<unknown>): void
  /** True from the first SIGTERM on. */
  draining (): boolean
}
