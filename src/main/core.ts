// Everything of a broker but its listeners: config → key → catalog → store → lock → services. Each part is made here once and handed on.
import { join } from 'node:path'
import { Identity } from '../attempts/identity.ts'
import { takeCensus } from '../attempts/census.ts'
import { createDefinitions } from '../attempts/definitions.ts'
import { createResolver } from '../attempts/resolver.ts'
import type { Action, Catalog } from '../catalog/catalog.ts'
import { createCatalogInForce, type CatalogInForce } from '../catalog/in-force.ts'
import { processClock } from '../clock.ts'
import type { BrokerOptions } from '../commands/broker.ts'
import { createDesk } from '../consent/create-desk.ts'
import type { Desk } from '../consent/desk.ts'
import { createConsentFeed, type ConsentFeed } from '../consent/events.ts'
import { tellLearned } from '../consent/learned.ts'
import { NO_ALIASES, readPrincipals, type Principals } from '../consent/principals.ts'
import { createSweep, endOfRun } from '../consent/sweep.ts'
import type { Config } from '../config.ts'
import { createCredentials, type CheckedCredentials } from '../credentials/credentials.ts'
import { createVault } from '../credentials/vault.ts'
import { createTokenVerifier, type TokenVerifier } from '../execution/access-token.ts'
import { createBackground, type Background } from '../execution/background.ts'
import { createRevocations } from '../execution/revocations.ts'
import { createLock, isOpen, opens, type LockControl } from '../execution/lock.ts'
import { createOperatorLock, obeyLock, type OperatorLock } from '../execution/operator-lock.ts'
import { createRecentRuns, type RecentRuns } from '../execution/recent-runs.ts'
import { createRuns } from '../execution/runs.ts'
import type { Services } from '../execution/services.ts'
import { inTurn, poll } from '../execution/turns.ts'
import { createKnownRoles, type KnownRoles } from '../http/people/known-roles.ts'
import { openKey } from '../key.ts'
import { openNotifier } from '../notifications/open.ts'
import { openState } from '../store/open.ts'
import type { Store } from '../store/store.ts'
import type { ReplicaControl } from '../store/replica.ts'
import { servedByAnother } from '../store/served-by-another.ts'
import { openAudit } from '../telemetry/audit.ts'
import { deskAudit } from '../telemetry/desk-audit.ts'
import { isoTime } from '../telemetry/iso-time.ts'
import { createLogger, type Logger } from '../telemetry/logger.ts'
import { createMetrics, type Metrics } from '../telemetry/metrics.ts'
import { createTelemetry, type BrokerTelemetry } from '../telemetry/record.ts'
import { createStateTold, type StateTold } from '../telemetry/state-told.ts'
import { createJwksFetcher } from '../upstream/jwks.ts'
import { createUpstreamClient } from '../upstream/client.ts'
import type { Exit, UpstreamClient } from '../upstream/wire.ts'
import type { Opened } from './opened.ts'
import { loadChecked, reloadCatalog, warnOfStrict, type Reloaded } from './catalog-in-service.ts'

const REFUSE_GRACE_MS = 5_000
const RUNS_POLL_MS = 250
const LOCK_POLL_MS = 250
const CENSUS_POLL_MS = 5_000
const SWEEP_POLL_MS = 1_000
const DEFINITIONS_POLL_MS = 1_000

/** Everything but the listeners. */
export interface Core {
  readonly services: Services
  readonly operatorLock: OperatorLock
  /** null: the embedded store. */
  readonly replica: ReplicaControl | null
  readonly catalog: CatalogInForce
  readonly background: Background
  readonly telemetry: BrokerTelemetry
  readonly metrics: Metrics
  readonly logger: Logger
  /** Where what becomes of proposals is told, and heard. */
  readonly consentFeed: ConsentFeed
  /** What people can do, whatever they do it through. */
  readonly desk: Desk
  readonly principals: Principals
  readonly knownRoles: KnownRoles
  readonly recentRuns: RecentRuns
  readonly credentials: CheckedCredentials
  /** @throws CatalogFaults: the catalog in force stays */
  readonly reload: () => Promise<Reloaded>
  /** After a reload that changed the catalog. */
  readonly onChange: (listener: () => void) => void
  /** From now on nothing new is admitted and nothing is sent. */
  readonly drain: AbortController
}

export async function openCore (config: Config, options: BrokerOptions, opened: Opened): Promise<Core> {
  const identity = new Identity(await openKey(config))
  const vault = config.vault === null ? null : createVault(config.vault)
  const credentials = createCredentials({ env: config.environment, vault })
  const logger = createLogger({ level: config.logLevel, scrub: text => credentials.scrub(text) })
  const metrics = createMetrics()
  const catalog = createCatalogInForce(await loadChecked(config, options, credentials, logger))
  metrics.catalog(catalog.current())
  const told = createStateTold({ metrics, logger })
  const digest = (): string => catalog.current().digest
  const state = await openState(config.state, { folder: join(config.dataFolder, 'journal'), digest, events: told.events, ...options.embedded })
  const { replica, ...kept } = opened.add(state, state => state.close())
  const recentRuns = createRecentRuns(Date.now)
  const consentFeed = createConsentFeed(error => logger.fault('a listener of what becomes of proposals met a fault', error))
  const background = createBackground()
  const store = tellLearned(recentRuns.watch(kept), consentFeed, work => background.add(work))
  if (!await store.bindKey(identity.keyId())) throw new Error('the state was made under another AVAL_KEY; give the key that it was made with')
  const telemetry = await openTelemetry(config, identity, consentFeed, metrics, logger, opened)
  opened.add(told, told => told.attach(null)).attach(telemetry)
  const { lock, upstream } = await openLock({ store, credentials, catalog: catalog.current(), telemetry, told, logger }, opened)
  const verifier = await openVerifier(config, options, identity, metrics, logger, opened)

  consentFeed.listen(event => telemetry.consent(event))
  await openNotices(config, credentials, consentFeed, metrics, logger, opened)
  const principals = config.principalsFile === null ? NO_ALIASES : await readPrincipals(config.principalsFile)
  const runs = createRuns(store, { endOf: runKey => endOfRun(runKey, { store, events: consentFeed }) })
  const definition = (digest: string): Action | null => catalog.definition(digest)
  const now = (): Date => new Date()
  const definitions = createDefinitions(store, catalog)
  told.onLoss(() => definitions.forget())
  await warnOfStrict(catalog.current(), replica, logger)
  const resolver = opened.add(createResolver({
    store, upstream, credentials, telemetry, clock: processClock, definition: definitions.of, now: () => new Date(options.embedded?.wallMs?.() ?? Date.now()), rests: () => lock.isLocked(),
    fault: error => logger.fault('a turn of the look-ups could not be made; it is made again', error),
  }), one => one.stop())
  const drain = new AbortController()
  const knownRoles = createKnownRoles(store, config.people?.roles?.roles ?? null)
  const services: Services = {
    verifier, identity, store, upstream, credentials, telemetry, resolver, runs, lock, clock: processClock, definition, now,
    keepDefinition: definitions.ensure,
    people: options.people?.(store) ?? peopleOf(config, knownRoles, principals),
    consentEvents: consentFeed,
    isServedElsewhere: replica === null ? () => false : servedByAnother(replica),
    timestamp: () => isoTime(Date.now()),
    catalog: () => catalog.current(),
    background: work => background.add(work),
    draining: () => drain.signal.aborted,
  }
  opened.add(poll(RUNS_POLL_MS, () => runs.refresh()), stop => stop())
  opened.add(poll(DEFINITIONS_POLL_MS, () => definitions.keep()), stop => stop())
  opened.add(poll(CENSUS_POLL_MS, async () => {
    const members = replica?.members() ?? []
    metrics.replicas(members.filter(({ live }) => live).length, members.filter(({ live }) => !live).length)
    metrics.attempts(await takeCensus(store, now()))
  }), stop => stop())
  const desk = openDesk(services, principals, () => replica?.lostUntilMs() ?? -Infinity, metrics, opened)
  resolver.start()
  const listeners: Array<() => void> = []
  const changed = (): void => { for (const tell of listeners) tell() }
  return {
    services, replica, catalog, background, telemetry, metrics, logger, consentFeed, desk, principals, knownRoles, recentRuns, credentials,
    operatorLock: createOperatorLock({ lock, store, telemetry, events: consentFeed, vault }),
    reload: inTurn(() => reloadCatalog(config, options, credentials, catalog, { metrics, telemetry, logger, changed })),
    onChange: listener => { listeners.push(listener) },
    drain,
  }
}

/** Who can be asked, as the steps of a call know it; null: nobody. */
const peopleOf = ({ people }: Config, knownRoles: KnownRoles, principals: Principals): Services['people'] =>
  people === null ? null : { origin: people.origin, principals, rolesOf: ({ iss, sub }) => knownRoles.of(iss, sub) }

function openDesk (services: Services, principals: Principals, lostUntilMs: () => number, metrics: Metrics, opened: Opened): Desk {
  const { store, lock, runs, catalog, telemetry, identity, consentEvents: events } = services
  const sweep = createSweep({ store, events, lock, lostUntilMs, stoppedRuns: () => runs.stopped() })
  opened.add(poll(SWEEP_POLL_MS, () => sweep.turn()), stop => stop())
  opened.add(poll(CENSUS_POLL_MS, async () => metrics.waiting(await sweep.waiting())), stop => stop())
  return createDesk({ store, events, principals, lock, audit: deskAudit(telemetry, identity), catalog })
}

interface Lockable {
  readonly store: Store
  readonly credentials: CheckedCredentials
  readonly catalog: Catalog
  readonly telemetry: BrokerTelemetry
  readonly told: StateTold
  readonly logger: Logger
}

/** The lock, and the way out that it closes; known before anything is served, for a restart unlocks nothing. */
async function openLock (
  { store, credentials, catalog, telemetry, told, logger }: Lockable, opened: Opened
): Promise<{ readonly lock: LockControl, readonly upstream: UpstreamClient }> {
  const lock = createLock({ store })
  const exit: Exit = { isOpen: epoch => isOpen(lock, epoch), opens: epoch => opens(lock, epoch) }
  const upstream = opened.add(createUpstreamClient({ telemetry, exit }), client => client.close(REFUSE_GRACE_MS))
  obeyLock(lock, {
    credentials, connections: upstream, told: state => told.lock(state), fault: error => logger.fault('the vault stays closed', error),
  })
  await lock.refresh()
  if (!lock.isLocked()) await credentials.openAtStart(catalog.upstreams.values())
  opened.add(poll(LOCK_POLL_MS, () => lock.refresh()), stop => stop())
  return { lock, upstream }
}

async function openNotices (
  config: Config, credentials: CheckedCredentials, feed: ConsentFeed, metrics: Metrics, logger: Logger, opened: Opened
): Promise<void> {
  if (config.webhooksFile === null) return
  const notifier = opened.add(await openNotifier({
    path: config.webhooksFile, credentials, clock: processClock, origin: config.people?.origin ?? null,
    told: metrics.notice,
    note: (message, address, reason) => logger.note('warn', message, { address, reason }),
  }), notifier => notifier.close())
  feed.listen(event => notifier.listen(event))
}

async function openTelemetry (
  config: Config, identity: Identity, feed: ConsentFeed, metrics: Metrics, logger: Logger, opened: Opened
): Promise<BrokerTelemetry> {
  const audit = opened.add(await openAudit({
    folder: config.auditFolder,
    keyId: identity.keyId(),
    metrics: metrics.audit,
    onFault: (what, error) => logger.fault(`the audit met a fault (${what})`, error),
    onCheckpoint: (checkpoint, note) => feed.tell({ type: 'checkpoint', checkpoint, note }),
  }), audit => audit.close())
  // What is told soon is told before the audit is closed.
  return opened.add(createTelemetry({ audit, metrics, logger }), telemetry => telemetry.flush())
}

async function openVerifier (
  config: Config, options: BrokerOptions, identity: Identity, metrics: Metrics, logger: Logger, opened: Opened
): Promise<TokenVerifier> {
  const jwks = opened.add(createJwksFetcher(), fetcher => fetcher.close())
  const revocations = createRevocations({
    path: join(config.dataFolder, 'revoked.jsonl'),
    onRead: ({ entries, fault }) => logger.note(fault === null ? 'info' : 'error', fault ?? 'the list of revoked tokens was read', { count: entries }),
  })
  const verifier = createTokenVerifier({
    ...config.tokens,
    identity,
    demo: options.demo === true,
    isRevoked: token => revocations.isRevoked(token),
    fetchJwks: url => jwks.fetch(url),
    onLoad: event => metrics.keySetLoaded(event),
  })
  await verifier.warm().catch(error => logger.fault('the key set cannot be had yet; calls are refused until it can', error))
  return verifier
}
