// The catalog that a broker goes by: read, checked against what it needs, and read anew.
import { CatalogFaults, type Catalog } from '../catalog/catalog.ts'
import type { CatalogInForce } from '../catalog/in-force.ts'
import { loadCatalog } from '../catalog/load.ts'
import { requireLock } from '../catalog/lock.ts'
import type { BrokerOptions } from '../commands/broker.ts'
import type { Config } from '../config.ts'
import type { CheckedCredentials } from '../credentials/credentials.ts'
import type { ReplicaControl } from '../store/replica.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { BrokerTelemetry } from '../telemetry/record.ts'

export async function loadChecked (config: Config, options: BrokerOptions, credentials: CheckedCredentials, logger: Logger): Promise<Catalog> {
  const { actionsFolder, openapiFolder } = config
  const catalog = await (options.catalog?.() ?? loadCatalog({ actionsFolder, openapiFolder }))
  if (config.lock === 'strict') await requireLock(actionsFolder, catalog)
  for (const fault of await credentials.check(catalog.upstreams.values())) logger.note('warn', 'a credential cannot be had', { reason: fault })
  return catalog
}

/** Strict writes go through a barrier, or are refused one by one: better known before. */
export async function warnOfStrict (catalog: Catalog, replica: ReplicaControl | null, logger: Logger): Promise<void> {
  const strict = [...catalog.actions.values()].filter(action => action.strict)
  if (replica === null || strict.length === 0 || await replica.syncsAlways().catch(() => true)) return
  logger.note('warn', 'Redis does not sync before it answers (appendfsync always): strict actions need its WAITAOF, and are refused before 7.2', { count: strict.length })
}

interface Told {
  readonly metrics: Metrics
  readonly telemetry: BrokerTelemetry
  readonly logger: Logger
  readonly changed: () => void
}

export interface Reloaded {
  readonly catalog: Catalog
  /** false: the files say what they said before. */
  readonly changed: boolean
}

export async function reloadCatalog (
  config: Config, options: BrokerOptions, credentials: CheckedCredentials, catalog: CatalogInForce, told: Told
): Promise<Reloaded> {
  try {
    const next = await loadChecked(config, options, credentials, told.logger)
    const changed = next.digest !== catalog.current().digest
    catalog.swap(next)
    if (changed) told.changed()
    told.metrics.catalog(next)
    told.telemetry.reloaded({ result: 'taken', digest: next.digest, faults: 0 })
    return { catalog: next, changed }
  } catch (error) {
    told.telemetry.reloaded({ result: 'refused', digest: null, faults: error instanceof CatalogFaults ? error.faults.length : 1 })
    throw error
  }
}
