// What the steps of a call are handed by main: ports, never modules, so that every step can be read (and run) without a socket.
import type { Identity } from '../attempts/identity.ts'
import type { Resolver } from '../attempts/resolver.ts'
import type { Action, Catalog } from '../catalog/catalog.ts'
import type { Credentials } from '../credentials/credential.ts'
import type { Store } from '../store/store.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import type { UpstreamClient } from '../upstream/wire.ts'
import type { TokenVerifier } from './authenticate.ts'
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
  /** The catalog in force. */
  catalog (): Catalog
  /** A definition that is in force or that something unsettled still refers to. */
  definition (digest: string): Action | null
  /** Wall clock, for expressions and answers only: no decision about an attempt rests on it. */
  now (): Date
  /** The same as text, ISO 8601 in UTC. */
  timestamp (): string
  /** Work that goes on after its answer was given; drained at shutdown. */
  background (work: Promise<unknown>): void
  /** True from the first SIGTERM on. */
  draining (): boolean
}
