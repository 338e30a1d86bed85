// Every metric of Aval, by name. Units are seconds and bytes; a counter ends in _total. Label values come from the catalog and from closed lists
// only: nothing that an agent or an upstream wrote can make a new time series.
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { Catalog } from '../catalog/catalog.ts'
import { isErrorCode } from '../errors.ts'
import { consentDefinitions, consentMetrics } from './consent-metrics.ts'
import { fieldsOf, type Field, type Fields } from './fields.ts'
import type { AttemptEventTold, CallEvent, Telemetry } from './telemetry.ts'

/** What the store's unresolved attempts look like now; whoever polls the store sets it. */
export interface AttemptGauges {
  readonly unknown: number
  readonly pending: number
  readonly escalated: number
  /** null: none is unknown. */
  readonly oldestUnknownAgeMs: number | null
}

/** From a microsecond in the embedded store to the longest timeout of an upstream. */
const FAST_SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5]
const CALL_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

/** prom-client names these gauges like counters, and each makes a list of handles whenever it is read. */
const UNFIT_DEFAULTS = ['aval_nodejs_active_handles_total', 'aval_nodejs_active_requests_total', 'aval_nodejs_active_resources_total']

/** Keywords of JSON Schema that can refuse a value. */
const SCHEMA_RULES = new Set([
  'type', 'enum', 'const', 'multipleOf', 'maximum', 'exclusiveMaximum', 'minimum', 'exclusiveMinimum', 'maxLength', 'minLength', 'pattern', 'format',
  'items', 'prefixItems', 'maxItems', 'minItems', 'uniqueItems', 'contains', 'maxContains', 'minContains', 'unevaluatedItems', 'properties',
  'patternProperties', 'additionalProperties', 'unevaluatedProperties', 'propertyNames', 'maxProperties', 'minProperties', 'required',
  'dependentRequired', 'dependentSchemas', 'discriminator', 'allOf', 'anyOf', 'oneOf', 'not', 'if', 'false schema',
])

/** Label of a call whose action the catalog does not have: the name that was asked for is the agent's own text. */
const NO_ACTION: ActionLabels = Object.freeze({ action: 'none', version: 'none' })

const ACTION = ['action', 'version'] as const
const SEND = ['upstream', 'kind', 'result'] as const

interface ActionLabels {
  readonly action: string
  readonly version: string
}

export type Metrics = ReturnType<typeof createMetrics>
export type AuditMetrics = ReturnType<typeof auditMetrics>

export function createMetrics () {
  const registry = new Registry()
  const m = definitions(registry)
  const labels = new Labels()
  collectDefaultMetrics({ register: registry, prefix: 'aval_' })
  for (const name of UNFIT_DEFAULTS) registry.removeSingleMetric(name)
  startAtZero(m)

  return {
    contentType: registry.contentType,
    /** The text that Prometheus scrapes. */
    text: (): Promise<string> => registry.metrics(),
    /** The bounded form of a field of the arguments; null where the catalog has no such action. */
    field: (actionId: string, pointer: string) => labels.field(actionId, pointer),
    /** The rule that refused, as a word of a closed list. */
    rule: (rule: string) => labels.rule(rule),
    /** The catalog in force. */
    catalog (next: Catalog): void {
      labels.take(next)
      m.catalogInfo.reset()
      m.catalogInfo.set({ digest: next.digest }, 1)
      m.catalogActions.set(next.actions.size)
    },
    reloaded: (result: 'taken' | 'refused'): void => m.reloads.inc({ result }),
    /** A request that a listener refused before it became a call. */
    httpRefused: (code: string): void => m.httpRefusals.inc({ code: labels.code(code, null) }),
    keySetLoaded (event: { readonly ok: boolean, readonly keys: number }): void {
      m.keySetLoads.inc({ ok: event.ok ? 'true' : 'false' })
      m.keySetKeys.set(event.keys)
    },
    /** Writes are refused from now on. */
    stateLost (kind: 'proved' | 'possible'): void {
      m.stateLosses.inc({ kind })
      m.stateQuarantined.set(1)
    },
    stateWhole: (): void => m.stateQuarantined.set(0),
    /** As this replica goes by it. */
    vault ({ locked, epoch }: { readonly locked: boolean, readonly epoch: number }): void {
      m.vaultLocked.set(locked ? 1 : 0)
      m.vaultEpoch.set(epoch)
    },
    replicas (live: number, gone: number): void {
      m.replicas.set({ state: 'live' }, live)
      m.replicas.set({ state: 'gone' }, gone)
    },
    journalSynced: (durationMs: number): void => m.journalSeconds.observe(durationMs / 1000),
    journalFault: (): void => m.journalFaults.inc(),
    attempts (gauges: AttemptGauges): void {
      m.attempts.set({ state: 'unknown' }, gauges.unknown)
      m.attempts.set({ state: 'pending' }, gauges.pending)
      m.attempts.set({ state: 'escalated' }, gauges.escalated)
      m.oldestUnknown.set((gauges.oldestUnknownAgeMs ?? 0) / 1000)
    },
    notice: (result: string): void => m.notices.inc({ result }),
    audit: auditMetrics(m),
    ...consentMetrics(m.consent),
    ...eventMetrics(m, labels),
  }
}

/** One function an event of the telemetry port. */
function eventMetrics (m: Definitions, labels: Labels) {
  return {
    call (event: CallEvent): void {
      const action = event.actionId === null ? NO_ACTION : labels.action(event.actionId)
      m.calls.inc({ ...action, outcome: event.outcome, code: labels.code(event.code, event.actionId), step: event.step })
      m.callSeconds.observe({ ...action, outcome: event.outcome }, event.durationMs / 1000)
      if (event.actionId !== null && event.field !== null) {
        const field = labels.field(event.actionId, event.field)?.label ?? 'other'
        m.argumentRefusals.inc({ ...action, field, rule: labels.rule(event.rule ?? 'none') })
      }
    },
    attempt: (event: AttemptEventTold): void => m.attemptChanges.inc({ by: event.by, state: event.state, outcome: event.outcome ?? 'none' }),
    lookup (event: Parameters<Telemetry['lookup']>[0]): void {
      const finding = labels.finding(event.finding)
      m.lookups.inc({ ...labels.action(event.actionId), finding })
      m.lookupSeconds.observe({ finding }, event.durationMs / 1000)
    },
    upstream (event: Parameters<Telemetry['upstream']>[0]): void {
      const { upstream, kind, result, status, cause } = event
      m.upstreamSeconds.observe({ upstream, kind, result, status_class: statusClass(status) }, event.durationMs / 1000)
      if (cause !== null) m.upstreamFaults.inc({ upstream, kind, result, cause })
    },
    retried: (event: Parameters<Telemetry['retried']>[0]): void => m.retries.inc({ ...labels.action(event.actionId), retry: event.retry }),
    store: (event: Parameters<Telemetry['store']>[0]): void =>
      m.storeSeconds.observe({ verb: labels.verb(event.verb), ok: event.ok ? 'true' : 'false' }, event.durationMs / 1000),
    integrity: (event: Parameters<Telemetry['integrity']>[0]): void => m.integrity.inc({ what: event.what }),
    withheld: (event: Parameters<Telemetry['withheld']>[0]): void =>
      m.withheld.inc({ ...labels.action(event.actionId), code: labels.code(event.code, event.actionId) }),
  }
}

function auditMetrics (m: Definitions) {
  return {
    /** So many more rows are durable. */
    synced (rows: number, durationMs: number): void {
      m.auditRows.inc(rows)
      m.auditSeconds.observe(durationMs / 1000)
    },
    waiting: (rows: number): void => m.auditWaiting.set(rows),
    fault: (what: AuditFault): void => m.auditFaults.inc({ what }),
    lost: (rows: number): void => m.auditLost.inc(rows),
  }
}

/** A counter that is not there yet cannot be seen to rise. */
function startAtZero (m: Definitions): void {
  for (const what of ['contradicting_evidence', 'second_send', 'foreign_record', 'altered_proposal']) m.integrity.inc({ what }, 0)
  for (const kind of ['proved', 'possible']) m.stateLosses.inc({ kind }, 0)
  for (const what of AUDIT_FAULTS) m.auditFaults.inc({ what }, 0)
  for (const result of ['taken', 'refused']) m.reloads.inc({ result }, 0)
  for (const result of ['delivered', 'again', 'given_up', 'dropped']) m.notices.inc({ result }, 0)
  for (const ok of ['true', 'false']) m.keySetLoads.inc({ ok }, 0)
  for (const state of ['unknown', 'pending', 'escalated']) m.attempts.set({ state }, 0)
}

export const AUDIT_FAULTS = ['write', 'sync', 'checkpoint'] as const
export type AuditFault = (typeof AUDIT_FAULTS)[number]

type Definitions = ReturnType<typeof definitions>

function definitions (registry: Registry) {
  const registers = [registry]
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []): Counter<Label> =>
    new Counter({ name, help, labelNames, registers })
  const gauge = <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []): Gauge<Label> =>
    new Gauge({ name, help, labelNames, registers })
  const histogram = <Label extends string>(name: string, help: string, buckets: number[], labelNames: readonly Label[] = []): Histogram<Label> =>
    new Histogram({ name, help, labelNames, buckets, registers })

  return {
    consent: consentDefinitions({ counter, gauge, histogram }),
    calls: counter('aval_calls_total', 'Calls by action, how they ended, and the step that ended them.', [...ACTION, 'outcome', 'code', 'step']),
    callSeconds: histogram('aval_call_duration_seconds', 'From the arrival of a call until its answer.', CALL_SECONDS, [...ACTION, 'outcome']),
    argumentRefusals: counter('aval_argument_refusals_total', 'Refusals that name a field of the arguments.', [...ACTION, 'field', 'rule']),
    httpRefusals: counter('aval_http_refusals_total', 'Requests that were refused and were no call, or had not become one.', ['code']),
    attempts: gauge('aval_attempts', 'Attempts without a settled outcome, by state.', ['state']),
    oldestUnknown: gauge('aval_oldest_unknown_age_seconds', 'Age of the attempt that has been unknown for longest; 0 where none is.'),
    attemptChanges: counter('aval_attempt_changes_total', 'Changes of attempts outside a call, by what made them.', ['by', 'state', 'outcome']),
    lookups: counter('aval_lookups_total', 'Look-ups by what they found.', [...ACTION, 'finding']),
    lookupSeconds: histogram('aval_lookup_duration_seconds', 'Time of a look-up.', CALL_SECONDS, ['finding']),
    retries: counter('aval_retries_total', 'Second and third tries of safe reads and of writes that provably never left.', [...ACTION, 'retry']),
    upstreamSeconds: histogram('aval_upstream_duration_seconds', 'Time of one send to an upstream.', CALL_SECONDS, [...SEND, 'status_class']),
    upstreamFaults: counter('aval_upstream_faults_total', 'Sends without a whole answer, by cause.', [...SEND, 'cause']),
    storeSeconds: histogram('aval_store_duration_seconds', 'Time of one verb of the store.', FAST_SECONDS, ['verb', 'ok']),
    stateLosses: counter('aval_state_losses_total', 'Times at which the state had lost, or may have lost, what it acknowledged.', ['kind']),
    stateQuarantined: gauge('aval_state_quarantined', '1 while writes are refused because the state has lost something, else 0.'),
    vaultLocked: gauge('aval_vault_locked', '1 while the vault is locked and every agent is refused, else 0.'),
    vaultEpoch: gauge('aval_vault_epoch', 'How often the vault was locked.'),
    replicas: gauge('aval_replicas', 'Brokers that share the state: those that live, and those that are gone without having left.', ['state']),
    journalSeconds: histogram('aval_journal_flush_duration_seconds', 'Time to write and sync one group of lines of the journal.', FAST_SECONDS),
    journalFaults: counter('aval_journal_faults_total', 'Faults of the disk under the journal.'),
    integrity: counter('aval_integrity_alarms_total', 'Evidence against what is settled, or one attempt seen to be sent twice.', ['what']),
    withheld: counter('aval_results_withheld_total', 'Results that were not shown, by reason.', [...ACTION, 'code']),
    reloads: counter('aval_catalog_reloads_total', 'Reloads of the catalog.', ['result']),
    catalogInfo: gauge('aval_catalog_info', 'The catalog in force, by digest; always 1.', ['digest']),
    catalogActions: gauge('aval_catalog_actions', 'Actions in the catalog in force.'),
    keySetLoads: counter('aval_key_set_loads_total', 'Loads of the key set that verifies access tokens.', ['ok']),
    keySetKeys: gauge('aval_key_set_keys', 'Keys that access tokens may be signed with.'),
    notices: counter('aval_notices_total', 'Notices to endpoints of AVAL_WEBHOOKS, by what became of each try.', ['result']),
    auditRows: counter('aval_audit_rows_total', 'Rows of the audit that are durable.'),
    auditSeconds: histogram('aval_audit_flush_duration_seconds', 'Time to write and sync one batch of audit rows.', FAST_SECONDS),
    auditWaiting: gauge('aval_audit_waiting_rows', 'Rows of the audit that are not durable yet.'),
    auditFaults: counter('aval_audit_faults_total', 'Faults of the disk under the audit.', ['what']),
    auditLost: counter('aval_audit_lost_rows_total', 'Rows that could not be kept because the disk was away for too long.'),
  }
}

const statusClass = (status: number | null): string => status === null || status < 100 || status > 599 ? 'none' : `${Math.floor(status / 100)}xx`

/** What may stand in a label. */
class Labels {
  readonly #actions = new Map<string, ActionLabels>()
  readonly #verbs = new ClosedList(64)
  readonly #findings = new ClosedList(32)
  readonly #ownRules = new ClosedList(64)
  #catalog: Catalog | null = null
  #fields: Fields = { bounded: () => null }

  take (catalog: Catalog): void {
    this.#catalog = catalog
    this.#fields = fieldsOf(catalog)
  }

  /** `change_address.v2` → its two labels, once an action. */
  action (actionId: string): ActionLabels {
    const known = this.#actions.get(actionId)
    if (known !== undefined) return known
    const match = /^([a-z][a-z0-9_]*)\.v([0-9]+)$/.exec(actionId)
    const labels = match === null ? NO_ACTION : { action: match[1]!, version: match[2]! }
    this.#actions.set(actionId, labels)
    return labels
  }

  /** Those of the table, and those that the action's own sheet declares. */
  code (code: string | null, actionId: string | null): string {
    if (code === null) return 'none'
    if (isErrorCode(code)) return code
    const declared = actionId !== null && this.#catalog?.actions.get(actionId)?.errors.some(error => error.code === code) === true
    return declared ? code : 'other'
  }

  field (actionId: string, pointer: string): Field | null {
    return this.#fields.bounded(actionId, pointer)
  }

  verb (verb: string): string { return this.#verbs.label(verb) }
  finding (finding: string): string { return this.#findings.label(finding) }
  rule (rule: string): string { return SCHEMA_RULES.has(rule) ? rule : this.#ownRules.label(rule) }
}

/** Words of our own code: few, and without digits. Should that ever be wrong, the rest share one series. */
class ClosedList {
  readonly #max: number
  readonly #seen = new Set<string>()

  constructor (max: number) {
    this.#max = max
  }

  label (value: string): string {
    if (this.#seen.has(value)) return value
    if (this.#seen.size >= this.#max || !/^[A-Za-z]+(?:[_-][A-Za-z]+){0,4}$/.test(value)) return 'other'
    this.#seen.add(value)
    return value
  }
}
