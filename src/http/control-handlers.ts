// What the broker does for each command of the control socket. Whoever can open the socket is the operator.
import type { Identity } from '../attempts/identity.ts'
import { resolveByPerson } from '../attempts/resolution.ts'
import type { AttemptRecord } from '../attempts/attempt.ts'
import type { Action, Json } from '../catalog/catalog.ts'
import { ERRORS, Refusal } from '../errors.ts'
import type { Runs } from '../execution/runs.ts'
import type { Store } from '../store/store.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import type { ControlHandlers } from './control.ts'
import { newCorrelationId } from './correlation-id.ts'

const LISTED_MAX = 1_000

export interface ControlServices {
  readonly store: Store
  readonly runs: Runs
  readonly identity: Identity
  readonly telemetry: Telemetry
  /** A definition that is in force or that something unsettled still refers to. */
  definition (digest: string): Action | null
  /** @throws CatalogFaults */
  reload (): Promise<{ readonly digest: string, readonly actions: number }>
  /** What a person did, for the log. */
  note (message: string, fields: { readonly attempt_id: string, readonly reason: string }): void
}

export function controlHandlers (services: ControlServices): ControlHandlers {
  const { store, runs, identity, telemetry } = services
  return {
    reload: async () => ({ ...await services.reload() }),

    attempts: async ({ unknown }) => {
      const records = await store.unresolved(LISTED_MAX)
      return { attempts: records.filter(record => !unknown || record.state !== 'pending').map(line) }
    },

    resolve: async ({ id, outcome, code, note }) => {
      if (code !== null) await requireCode(id, code, services)
      const personMark = identity.mark('person', 'control-socket')
      const resolved = await resolveByPerson({ attemptId: id, outcome, code, personMark }, { store, telemetry })
      if (resolved.kind === 'unknown_attempt') throw Refusal.of('NOT_FOUND', { message: 'There is no attempt of this id.' })
      if (resolved.kind === 'not_open') {
        throw Refusal.of('MALFORMED_REQUEST', { message: `The attempt is ${resolved.record.state}; there is nothing to resolve.` })
      }
      services.note('an attempt was resolved by a person', { attempt_id: id, reason: note })
      return line(resolved.record)
    },

    'runs stop': async ({ iss, sub, tenant, run }) => {
      await runs.stop(identity.tag(tenant), identity.runKey({ iss, sub, tenant, run }))
      const runMark = identity.mark('run', iss, sub, tenant, run)
      const actor = { kind: 'person', iss: null, subMark: identity.mark('person', 'control-socket'), runMark, tenant } as const
      telemetry.runStopped({ actor, correlationId: newCorrelationId() })
      return { run, stopped: true }
    },
  }
}

/** An agent must be told a code that it can look up: one that an answer of the upstream can have, or one of the sheet. */
async function requireCode (id: string, code: string, { store, definition }: ControlServices): Promise<void> {
  const record = await store.find(id)
  const own = record === null ? [] : definition(record.definition)?.errors ?? []
  const codes = [...REJECTIONS, ...own.map(error => error.code)]
  if (!codes.includes(code)) throw Refusal.of('MALFORMED_REQUEST', { message: `The code must be one of ${codes.join(', ')}.` })
}

const REJECTIONS = Object.entries(ERRORS).flatMap(([code, { step }]) => step === 'outcome' && code !== 'OUTCOME_UNKNOWN' ? [code] : [])

/** What a person needs to find the call in the upstream; no argument and no value of it. */
function line (record: AttemptRecord): { readonly [name: string]: Json } {
  const at = (ms: number | null): string | null => ms === null ? null : new Date(ms).toISOString()
  return {
    attempt: record.id,
    state: record.state,
    outcome: record.settlement?.outcome ?? null,
    action: record.action,
    tenant: record.owner.tenant,
    run: record.owner.run,
    upstream_key: record.key,
    reference: record.reference,
    missing: record.missing,
    lookups: record.lookups,
    dispatched_at: at(record.dispatchedAtMs),
    unknown_at: at(record.unknownAtMs),
    correlation_id: record.correlationId,
  }
}
