// The server process: config → key → store → catalog → services → listeners. The only composition root: whatever runs is made here and handed on.
import { readFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { Identity } from './attempts/identity.ts'
import { takeCensus } from './attempts/census.ts'
import { createResolver } from './attempts/resolver.ts'
import { CatalogFaults, type Catalog } from './catalog/catalog.ts'
import { createCatalogInForce, type CatalogInForce } from './catalog/in-force.ts'
import { loadCatalog } from './catalog/load.ts'
import type { Config, ListenAddress } from './config.ts'
import { createCredentials, type CheckedCredentials } from './credentials/credentials.ts'
import { createTokenVerifier } from './execution/access-token.ts'
import { agentsApi } from './execution/agents-api.ts'
import { createBackground } from './execution/background.ts'
import { createRuns } from './execution/runs.ts'
import type { Services } from './execution/services.ts'
import { buildAgents } from './http/agents/agents.ts'
import { controlHandlers } from './http/control-handlers.ts'
import { serveControl } from './http/control.ts'
import { buildOperations } from './http/operations/operations.ts'
import type { ListenerOptions, Plane } from './http/server.ts'
import { openKey } from './key.ts'
import { openStore } from './store/open.ts'
import { openAudit } from './telemetry/audit.ts'
import { createLogger, type Logger } from './telemetry/logger.ts'
import { createMetrics, type Metrics } from './telemetry/metrics.ts'
import { createTelemetry, type BrokerTelemetry } from './telemetry/record.ts'
import { createJwksFetcher } from './upstream/jwks.ts'
import { createUpstreamClient } from './upstream/client.ts'

export interface BrokerOptions {
  /** Access tokens signed by a key of the guided tour are believed. */
  readonly demo?: boolean
}

export interface Broker {
  readonly agentsUrl: string
  readonly operationsUrl: string
  readonly controlPath: string
  /** Loads the folders again; a good set is in force when it resolves. @throws CatalogFaults: a bad set changes nothing */
  reload (): Promise<void>
  /** Refuses what comes, finishes what is under way, then lets everything go. */
  close (): Promise<void>
}

/** Longer than the longest write: its total timeout, its grace, and the settlement. */
const DRAIN_MS = 30_000
const REFUSE_GRACE_MS = 5_000
const RUNS_POLL_MS = 250
const CENSUS_POLL_MS = 5_000

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
  const state = { draining: false }
  const identity = new Identity(await openKey(config))
  const credentials = createCredentials({ env: config.environment })
  const logger = createLogger({ level: config.logLevel, scrub: text => credentials.scrub(text) })
  const metrics = createMetrics()

  const catalog = createCatalogInForce(await loadChecked(config, credentials, logger))
  metrics.catalog(catalog.current())
  const store = opened.add(await openStore(config.state), store => store.close())
  if (!await store.bindKey(identity.keyId())) throw new Error('the state was made under another AVAL_KEY; give the key that it was made with')
  const audit = opened.add(await openAudit({
    folder: config.auditFolder,
    keyId: identity.keyId(),
    metrics: metrics.audit,
    onFault: (what, error) => logger.fault(`the audit met a fault (${what})`, error),
  }), audit => audit.close())
  const telemetry = createTelemetry({ audit, metrics, logger })
  const upstream = opened.add(createUpstreamClient({ telemetry }), client => client.close(REFUSE_GRACE_MS))
  const jwks = opened.add(createJwksFetcher(), fetcher => fetcher.close())
  const verifier = createTokenVerifier({
    ...config.tokens, identity, demo: options.demo === true, fetchJwks: url => jwks.fetch(url), onLoad: event => metrics.keySetLoaded(event),
  })
  await verifier.warm().catch(error => logger.fault('the key set cannot be had yet; calls are refused until it can', error))

  const background = createBackground()
  const runs = createRuns(store)
  const resolver = opened.add(
    createResolver({ store, upstream, credentials, telemetry, definition: digest => catalog.definition(digest), now: () => new Date() }),
    one => one.stop(),
  )
  const services: Services = {
    verifier, identity, store, upstream, credentials, telemetry, resolver, runs,
    catalog: () => catalog.current(),
    definition: digest => catalog.definition(digest),
    now: () => new Date(),
    background: work => background.add(work),
    draining: () => state.draining,
  }
  opened.add(poll(RUNS_POLL_MS, () => runs.refresh()), stop => stop())
  opened.add(poll(CENSUS_POLL_MS, async () => metrics.attempts(await takeCensus(store, new Date()))), stop => stop())
  resolver.start()

  const reload = (): Promise<Catalog> => reloadCatalog(config, credentials, catalog, { metrics, telemetry, logger })
  const listener = await listenerOptions(config, () => state.draining, metrics, logger)
  const agents = opened.add(buildAgents({ ...listener('agents', config.agents), api: agentsApi(services), markSource: address => identity.mark('source', address) }), app => app.close())
  const agentsUrl = await listen(agents, config.agents, config)
  const operations = opened.add(buildOperations({
    ...listener('operations', config.operations),
    metrics: async () => ({ contentType: metrics.contentType, text: await metrics.text() }),
    dependencies: async () => [await isUp('state', () => store.ping()), { name: 'keys', ok: verifier.isReady(), detail: null }],
  }), app => app.close())
  const operationsUrl = await listen(operations, config.operations, config)
  opened.add(await serveControl(config.controlPath, controlHandlers({
    store, runs, identity, telemetry,
    reload: async () => {
      const next = await reload()
      return { digest: next.digest, actions: next.actions.size }
    },
    note: (message, fields) => logger.note('info', message, fields),
  }), error => logger.fault('a command of the control socket met a fault', error)), server => server.close())
  logger.note('info', 'serving', { digest: catalog.current().digest, count: catalog.current().actions.size })

  return {
    agentsUrl,
    operationsUrl,
    controlPath: config.controlPath,
    reload: async () => { await reload() },
    async close () {
      state.draining = true
      // Who only waits for an outcome is let go at once; calls in flight are answered.
      const [drained] = await Promise.all([background.drained(DRAIN_MS), agents.close()])
      if (!drained) logger.note('warn', 'calls were still under way at the end of the drain; they will be looked up')
      await opened.closeAll()
      logger.flush()
    },
  }
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

async function listenerOptions (config: Config, draining: () => boolean, metrics: Metrics, logger: Logger): Promise<(plane: Plane, address: ListenAddress) => ListenerOptions> {
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
