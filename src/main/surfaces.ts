// The listeners of a broker: agents with MCP, operations, people, and the control socket.
import type { Broker, BrokerOptions } from '../commands/broker.ts'
import type { Config } from '../config.ts'
import { agentsApi } from '../execution/agents-api.ts'
import { buildAgents } from '../http/agents/agents.ts'
import { controlHandlers } from '../http/control-handlers.ts'
import { serveControl } from '../http/control.ts'
import { stateDependency, vaultDependency } from '../http/operations/dependencies.ts'
import { buildOperations } from '../http/operations/operations.ts'
import { listen, listenerOptions, type OptionsOf } from '../http/listening.ts'
import { openPeople, type PeopleParts } from '../http/people/open.ts'
import type { OperatorServices } from '../http/people/operator-desk.ts'
import { rememberMarks } from '../http/source-marks.ts'
import { tellStray } from '../http/stray-token.ts'
import { createMcpEndpoint } from '../mcp/endpoint.ts'
import { createIssuerFetch } from '../upstream/issuer-fetch.ts'
import type { Core } from './core.ts'
import type { Opened } from './opened.ts'

type Surfaces = Pick<Broker, 'agentsUrl' | 'operationsUrl' | 'peopleUrl'>

export async function openSurfaces (config: Config, options: BrokerOptions, core: Core, opened: Opened): Promise<Surfaces> {
  const { services, metrics, logger } = core
  const { identity, store, verifier } = services
  const listener = await listenerOptions(config, {
    draining: services.draining,
    events: {
      refused: ({ code }) => metrics.httpRefused(code),
      fault: ({ correlationId, error }) => logger.fault('a request met a fault', error, { correlation_id: correlationId }),
    },
  })
  const api = agentsApi(services)
  const markSource = rememberMarks(address => identity.mark('source', address))
  const mcp = createMcpEndpoint({
    ...options.mcp, api, markSource, resource: config.tokens,
    onFault: error => logger.note('debug', 'a request of MCP was not served', { reason: error.name }),
  })
  core.onChange(() => mcp.toolsChanged())
  const agents = opened.add(buildAgents({
    ...listener('agents', config.agents), api, markSource, surface: mcp.addRoutes, drain: core.drain.signal,
    personCookie: tellStray(core.telemetry, 'agents', 'person'), strayToken: tellStray(core.telemetry, 'agents', 'agent'),
  }), app => app.close())
  const agentsUrl = await listen(agents, config.agents, config.tls !== null)
  const operations = opened.add(buildOperations({
    ...listener('operations', config.operations), markSource, strayToken: tellStray(core.telemetry, 'operations', 'agent'),
    metrics: async () => {
      core.telemetry.flush()
      return { contentType: metrics.contentType, text: await metrics.text() }
    },
    dependencies: async () => [await stateDependency(store, core.replica), vaultDependency(services.lock, core.operatorLock), { name: 'keys', ok: verifier.isReady(), detail: null }],
  }), app => app.close())
  const operationsUrl = await listen(operations, config.operations, config.tls !== null)
  const operating = {
    ...services,
    operatorLock: core.operatorLock,
    recentRuns: core.recentRuns,
    reload: async () => {
      const { catalog: { digest, actions }, changed } = await core.reload()
      return { digest, actions: actions.size, changed }
    },
    note: (message: string, fields: { readonly attempt_id?: string, readonly reason: string }) => logger.note('info', message, fields),
  }
  const peopleUrl = await openPeopleSurface(config, core, { ...operating, markSource }, listener, opened)
  opened.add(await serveControl(config.controlPath, controlHandlers({ ...operating, issuer: config.tokens.issuer, replica: core.replica }), error => logger.fault('a command of the control socket met a fault', error)), server => server.close())
  return { agentsUrl, operationsUrl, peopleUrl }
}

async function openPeopleSurface (
  config: Config, core: Core, shared: OperatorServices & Pick<PeopleParts, 'markSource'>, listener: OptionsOf, opened: Opened
): Promise<string | null> {
  const { people } = config
  if (people === null) return null
  const fetcher = opened.add(createIssuerFetch(), fetcher => fetcher.close())
  const app = opened.add(openPeople({
    ...shared,
    listener: listener('people', people.address, [new URL(people.origin).hostname]),
    people,
    desk: core.desk,
    principals: core.principals,
    knownRoles: core.knownRoles,
    fetch: fetcher,
    secretAt: reference => core.credentials.secretAt(reference),
  }), app => app.close())
  return listen(app, people.address, config.tls !== null)
}
