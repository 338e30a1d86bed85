// A broker: all the code of a call and of the resolver, as it runs in a process, on ports of the schedule. Started anew it has forgotten everything.
import { AttemptsSeen } from '../../src/telemetry/audit-attempts.ts'
import { nameOfAttempt, nameOfCall } from '../../src/telemetry/audit.ts'
import type { ReadRow } from '../../src/telemetry/audit-row.ts'
import type { AttemptEventTold, CallEvent, Telemetry } from '../../src/telemetry/telemetry.ts'
import { Identity } from '../../src/attempts/identity.ts'
import { createResolver, type Resolver } from '../../src/attempts/resolver.ts'
import type { Action, Catalog } from '../../src/catalog/catalog.ts'
import type { Credentials } from '../../src/credentials/credential.ts'
import { Refusal } from '../../src/errors.ts'
import type { Caller } from '../../src/execution/call.ts'
import { NOBODY_LISTENS } from '../../src/consent/events.ts'
import { NO_ALIASES } from '../../src/consent/principals.ts'
import { NEVER_LOCKED } from '../../src/execution/lock.ts'
import { createRuns } from '../../src/execution/runs.ts'
import type { Services } from '../../src/execution/services.ts'
import { StateUnavailable } from '../../src/store/store.ts'
import { networkOf, type NetworkWeather } from './network.ts'
import { Process } from './process.ts'
import type { SimStore } from './store.ts'
import type { SimUpstream } from './upstream.ts'
import type { Watch } from './watch.ts'
import type { World } from './world.ts'

export interface BrokerWeather extends NetworkWeather {
  /** Shares of asks. */
  credentialMissing: number
  intentFails: number
  definitionMissing: number
  /** How long a credential may take. */
  credentialMs: number
}

export interface Ground {
  readonly world: World
  readonly store: SimStore
  readonly upstream: SimUpstream
  readonly watch: Watch
  readonly catalog: Catalog
  readonly identity: Identity
  readonly callers: ReadonlyMap<string, Caller>
  readonly weather: BrokerWeather
  /** One audit of all brokers, as its verifier reads it. */
  readonly seen: AttemptsSeen
}

export class SimBroker {
  readonly process: Process
  services!: Services
  #resolver!: Resolver
  #draining = false
  /** What it told of its attempts, in order. */
  #told = 0
  readonly #ground: Ground

  constructor (name: string, ground: Ground) {
    this.process = new Process(name, ground.world)
    this.#ground = ground
    this.#start()
  }

  #start (): void {
    const { process } = this
    const { world, store: shared, upstream, watch, catalog, identity, weather } = this.#ground
    process.start()
    this.#draining = false
    const clock = process.clock()
    const store = shared.seenBy(process)
    const telemetry = this.#telemetry()
    const credentials = this.#credentials()
    const now = (): Date => new Date(world.nowMs + process.skewMs)
    const client = networkOf(process, clock, upstream, weather, watch)
    this.#resolver = createResolver({
      store, telemetry, credentials, now,
      upstream: client,
      clock: { ...clock, after: (ms, work) => shared.pollAfter(process, ms, work) },
      definition: async digest => this.#definition(digest),
      rests: () => false,
      fault: () => {},
    })
    this.services = {
      store, telemetry, credentials, now, identity, clock,
      verifier: {
        remembered: authorization => this.#ground.callers.get(authorization ?? '') ?? null,
        verify: () => Promise.reject(Refusal.of('UNAUTHENTICATED')),
        warm: async () => {},
        isReady: () => true,
      },
      upstream: client,
      resolver: this.#resolver,
      runs: createRuns(store, { nowMs: clock.nowMs }),
      lock: NEVER_LOCKED,
      people: { origin: null, principals: NO_ALIASES, rolesOf: async () => null },
      consentEvents: NOBODY_LISTENS,
      isServedElsewhere: () => false,
      catalog: () => catalog,
      definition: digest => this.#definition(digest),
      keepDefinition: () => null,
      timestamp: () => now().toISOString(),
      background: work => { work.catch(() => undefined) },
      draining: () => this.#draining,
    }
    this.#resolver.start()
  }

  kill (): void {
    if (!this.process.alive) return
    this.#ground.world.tell(this.process.name, 'is killed')
    this.#ground.watch.killed(this.process)
    this.process.kill()
  }

  restart (): void {
    if (this.process.alive) return
    this.#ground.world.tell(this.process.name, 'starts')
    this.#start()
  }

  stopFor (ms: number): void {
    this.#ground.world.tell(this.process.name, `is stopped for ${ms} ms`)
    this.process.stopFor(ms)
  }

  /** SIGTERM: what is under way goes on, nothing new is sent. */
  drain (): void {
    this.#ground.world.tell(this.process.name, 'is told to end')
    this.#draining = true
    void this.#resolver.stop()
  }

  get takesCalls (): boolean { return this.process.alive && !this.#draining }

  #definition (digest: string): Action | null {
    const { world, weather, watch, catalog } = this.#ground
    if (world.chance.hit(weather.definitionMissing)) {
      watch.row(45)
      return null
    }
    return [...catalog.actions.values()].find(action => action.digest === digest) ?? null
  }

  #credentials (): Credentials {
    const { process } = this
    const { world, weather } = this.#ground
    return {
      obtain: () => new Promise((resolve, reject) => {
        const missing = world.chance.hit(weather.credentialMissing)
        process.deliverIn(world.chance.delayMs(weather.credentialMs), () => {
          if (missing) reject(Refusal.of('CREDENTIAL_UNAVAILABLE'))
          else resolve({ apply: request => request })
        })
      }),
      refused: () => {},
      leaks: () => false,
    }
  }

  #telemetry (): Telemetry {
    const { process } = this
    const { world, weather, watch } = this.#ground
    const nothing = (): void => {}
    const call = (event: CallEvent): void => {
      if (event.attemptId === null) return
      this.#row(nameOfCall(event), event.attemptId, event.duplicate, event.attemptState ?? undefined)
    }
    return {
      intent: ({ attemptId }) => new Promise((resolve, reject) => {
        const fails = world.chance.hit(weather.intentFails)
        process.deliverIn(world.chance.delayMs(10), () => {
          if (fails) return reject(new StateUnavailable('the audit cannot be written'))
          this.#row('execution.intent', attemptId, false, undefined)
          resolve()
        })
      }),
      call,
      callSoon: event => call(event()),
      attempt: (event: AttemptEventTold) => this.#row(nameOfAttempt(event), event.attemptId, false, event.state),
      integrity: ({ attemptId, what }) => {
        world.tell(process.name, 'ALARM', attemptId, what)
        watch.alarms.set(attemptId, [...watch.alarms.get(attemptId) ?? [], what])
      },
      hasRoom: () => true,
      refused: nothing, person: nothing, door: nothing, consent: nothing, runStopped: nothing, lockedOut: nothing, lookup: nothing, upstream: nothing, retried: nothing, store: nothing, withheld: nothing,
    }
  }

  #row (event: string, id: string, duplicate: boolean, state: string | undefined): void {
    const { world, seen } = this.#ground
    world.tell(this.process.name, 'audit:', event, id, state)
    const attempt = { id, duplicate: duplicate || undefined, state }
    seen.row({ event, attempt, writer: this.process.name, seq: ++this.#told, time: new Date(world.nowMs).toISOString() } as unknown as ReadRow)
  }
}
