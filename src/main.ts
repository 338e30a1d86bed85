// The server process: config → key → store → catalog → services → listeners. The only composition root: whatever runs is made here and handed on.
import { readFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { Identity } from './attempts/identity.ts'
import { takeCensus } from './attempts/census.ts'
import { createDefinitions } from './attempts/definitions.ts'
import { createResolver } from './attempts/resolver.ts'
import { CatalogFaults, type Action, type Catalog } from './catalog/catalog.ts'
import { createCatalogInForce, type CatalogInForce } from './catalog/in-force.ts'
import { loadCatalog } from './catalog/load.ts'
import type { Broker, BrokerOptions } from './commands/broker.ts'
import type { Config, ListenAddress } from './config.ts'
import { createCredentials, type CheckedCredentials } from './credentials/credentials.ts'
import { createTokenVerifier, type TokenVerifier } from './execution/access-token.ts'
import { agentsApi } from './execution/agents-api.ts'
import { createBackground, type Background } from './execution/background.ts'
import { createRevocations } from './execution/revocations.ts'
import { createRuns } from './execution/runs.ts'
import type { Services } from './execution/services.ts'
import { buildAgents } from './http/agents/agents.ts'
import { controlHandlers } from './http/control-handlers.ts'
import { serveControl } from './http/control.ts'
import { buildOperations } from './http/operations/operations.ts'
import { rememberMarks } from './http/source-marks.ts'
import type { ListenerOptions, Plane } from './http/server.ts'
import { openKey } from './key.ts'
import { openStore } from './store/open.ts'
import { openAudit } from './telemetry/audit.ts'
import { isoTime } from './telemetry/iso-time.ts'
import { createLogger, type Logger } from './telemetry/logger.ts'
import { createMetrics, type Metrics } from './telemetry/metrics.ts'
import { createTelemetry, type BrokerTelemetry } from './telemetry/record.ts'
import { createJwksFetcher } from './upstream/jwks.ts'
import { createUpstreamClient } from './upstream/client.ts'

/** Longer than the longest write: its total timeout, its grace, and the settlement. */
const DRAIN_MS = 30_000
const REFUSE_GRACE_MS = 5_000
const RUNS_POLL_MS = 250
const CENSUS_POLL_MS = 5_000
const DEFINITIONS_POLL_MS = 1_000

export async function startBroker (config: Config, options: BrokerOptions = {}): Promise<Broker> {
  const opened = new Opened()
  try {
    return await openBroker(config, options, opened)
  } catch (error) {
    await opened.closeAll()
    throw error
  }
}

async function openBroker (config: Config, options: BrokerOptions, opened: Opened): Promise<Broker> {
  const core = await openCore(config, options, opened)
  const surfaces = await openSurfaces(config, core, opened)
  const { digest, actions } = core.catalog.current()
  core.logger.note('info', 'serving', { digest, count: actions.size })
  return {
    agentsUrl: surfaces.agentsUrl,
    operationsUrl: surfaces.operationsUrl,
    controlPath: config.controlPath,
    reload: core.reload,
    async close () {
      // The listeners stay up meanwhile: whoever comes is told that nothing was sent, which a refused connection does not say.
      core.drain.abort()
      if (!await core.background.drained(DRAIN_MS)) core.logger.note('warn', 'calls were still under way at the end of the drain; they will be looked up')
      await opened.closeAll()
      core.logger.flush()
    },
  }
}

/** Everything but the listeners. */
interface Core {
  readonly services: Services
  readonly catalog: CatalogInForce
  readonly background: Background
  readonly telemetry: BrokerTelemetry
  readonly metrics: Metrics
  readonly logger: Logger
  /** @throws CatalogFaults: the catalog in force stays */
  readonly reload: () => Promise<Catalog>
  /** From now on nothing new is admitted and nothing is sent. */
  readonly drain: AbortController
}

async function openCore (config: Config, options: BrokerOptions, opened: Opened): Promise<Core> {
  const identity = new Identity(await openKey(config))
  const credentials = createCredentials({ env: config.environment })
  const logger = createLogger({ level: config.logLevel, scrub: text => credentials.scrub(text) })
  const metrics = createMetrics()
  const catalog = createCatalogInForce(await loadChecked(config, credentials, logger))
  metrics.catalog(catalog.current())
  const store = opened.add(await openStore(config.state), store => store.close())
  if (!await store.bindKey(identity.keyId())) throw new Error('the state was made under another AVAL_KEY; give the key that it was made with')
  const telemetry = await openTelemetry(config, identity, metrics, logger, opened)
  const upstream = opened.add(createUpstreamClient({ telemetry }), client => client.close(REFUSE_GRACE_MS))
  const verifier = await openVerifier(config, options, identity, metrics, logger, opened)

  const background = createBackground()
  const runs = createRuns(store)
  const definition = (digest: string): Action | null => catalog.definition(digest)
  const now = (): Date => new Date()
  const definitions = createDefinitions(store, catalog)
  const resolver = opened.add(createResolver({
    store, upstream, credentials, telemetry, definition: definitions.of, now,
    fault: error => logger.fault('a turn of the look-ups could not be made; it is made again', error),
  }), one => one.stop())
  const drain = new AbortController()
  const services: Services = {
    verifier, identity, store, upstream, credentials, telemetry, resolver, runs, definition, now,
    timestamp: () => isoTime(Date.now()),
    catalog: () => catalog.current(),
    background: work => background.add(work),
    draining: () => drain.signal.aborted,
  }
  opened.add(poll(RUNS_POLL_MS, () => runs.refresh()), stop => stop())
  opened.add(poll(DEFINITIONS_POLL_MS, () => definitions.keep(catalog.current())), stop => stop())
  opened.add(poll(CENSUS_POLL_MS, async () => metrics.attempts(await takeCensus(store, now()))), stop => stop())
  resolver.start()
  return {
    services, catalog, background, telemetry, metrics, logger,
    reload: inTurn(() => reloadCatalog(config, credentials, catalog, { metrics, telemetry, logger })),
    drain,
  }
}

async function openTelemetry (config: Config, identity: Identity, metrics: Metrics, logger: Logger, opened: Opened): Promise<BrokerTelemetry> {
  const audit = opened.add(await openAudit({
    folder: config.auditFolder,
    keyId: identity.keyId(),
    metrics: metrics.audit,
    onFault: (what, error) => logger.fault(`the audit met a fault (${what})`, error),
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

interface Surfaces {
  readonly agentsUrl: string
  readonly operationsUrl: string
}

async function openSurfaces (config: Config, core: Core, opened: Opened): Promise<Surfaces> {
  const { services, metrics, logger } = core
  const { identity, store, verifier } = services
  const listener = await listenerOptions(config, services.draining, metrics, logger)
  const agents = opened.add(buildAgents({
    ...listener('agents', config.agents),
    api: agentsApi(services),
    markSource: rememberMarks(address => identity.mark('source', address)),
    drain: core.drain.signal,
  }), app => app.close())
  const agentsUrl = await listen(agents, config.agents, config)
  const operations = opened.add(buildOperations({
    ...listener('operations', config.operations),
    metrics: async () => {
      core.telemetry.flush()
      return { contentType: metrics.contentType, text: await metrics.text() }
    },
    dependencies: async () => [await isUp('state', () => store.ping()), { name: 'keys', ok: verifier.isReady(), detail: null }],
  }), app => app.close())
  const operationsUrl = await listen(operations, config.operations, config)
  opened.add(await serveControl(config.controlPath, controlHandlers({
    ...services,
    reload: async () => {
      const { digest, actions } = await core.reload()
      return { digest, actions: actions.size }
    },
    note: (message, fields) => logger.note('info', message, fields),
  }), error => logger.fault('a command of the control socket met a fault', error)), server => server.close())
  return { agentsUrl, operationsUrl }
}

/** What was opened is let go in the opposite order. */
class Opened {
  readonly #closers: Array<() => unknown> = []

  add<T> (thing: T, close: (thing: T) => unknown): T {
    this.#closers.push(() => close(thing))
    return thing
  }

  async closeAll (): Promise<void> {
    for (const close of this.#closers.splice(0).reverse()) await close()
  }
}

async function loadChecked (config: Config, credentials: CheckedCredentials, logger: Logger): Promise<Catalog> {
  const catalog = await loadCatalog({ actionsFolder: config.actionsFolder, openapiFolder: config.openapiFolder })
  for (const fault of await credentials.check(catalog.upstreams.values())) logger.note('warn', 'a credential cannot be had', { reason: fault })
  return catalog
}

interface Told {
  readonly metrics: Metrics
  readonly telemetry: BrokerTelemetry
  readonly logger: Logger
}

async function reloadCatalog (config: Config, credentials: CheckedCredentials, catalog: CatalogInForce, told: Told): Promise<Catalog> {
  try {
    const next = await loadChecked(config, credentials, told.logger)
    catalog.swap(next)
    told.metrics.catalog(next)
    told.telemetry.reloaded({ result: 'taken', digest: next.digest, faults: 0 })
    return next
  } catch (error) {
    told.telemetry.reloaded({ result: 'refused', digest: null, faults: error instanceof CatalogFaults ? error.faults.length : 1 })
    throw error
  }
}

/** One after the other: what a reload read must not take the place of what a later one has read since. */
function inTurn<Value> (work: () => Promise<Value>): () => Promise<Value> {
  let last: Promise<unknown> = Promise.resolve()
  return () => {
    const next = last.then(work)
    last = next.catch(() => undefined)
    return next
  }
}

type OptionsOf = (plane: Plane, address: ListenAddress) => ListenerOptions

async function listenerOptions (config: Config, draining: () => boolean, metrics: Metrics, logger: Logger): Promise<OptionsOf> {
  const tls = config.tls === null ? null : { cert: await readFile(config.tls.certFile), key: await readFile(config.tls.keyFile) }
  return (plane, address) => ({
    hosts: config.hosts ?? [address.host.includes(':') ? `[${address.host}]` : address.host, 'localhost'],
    trustProxy: config.trustProxy,
    tls,
    rates: plane === 'agents' ? config.rates : null,
    draining,
    events: {
      refused: ({ code }) => metrics.httpRefused(code),
      fault: ({ correlationId, error }) => logger.fault('a request met a fault', error, { correlation_id: correlationId }),
    },
  })
}

async function listen (app: FastifyInstance, { host, port }: ListenAddress, config: Config): Promise<string> {
  await app.listen({ host, port })
  const taken = app.addresses()[0] as AddressInfo
  return `${config.tls === null ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${taken.port}`
}

/** Repeats until stopped; a turn that fails is followed by the next one. */
function poll (everyMs: number, work: () => Promise<void>): () => void {
  let timer: NodeJS.Timeout
  let stopped = false
  const turn = async (): Promise<void> => {
    await work().catch(() => undefined)
    if (!stopped) timer = setTimeout(turn, everyMs)
  }
  timer = setTimeout(turn, 0)
  return () => {
    stopped = true
    clearTimeout(timer)
  }
}

async function isUp (name: string, ask: () => Promise<void>): Promise<{ name: string, ok: boolean, detail: string | null }> {
  try {
    await ask()
    return { name, ok: true, detail: null }
  } catch {
    return { name, ok: false, detail: 'cannot be reached' }
  }
}
