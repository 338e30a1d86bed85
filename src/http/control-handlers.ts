// What the broker does for each command of the control socket. Whoever can open the socket is the operator.
import type { AttemptRecord } from '../attempts/attempt.ts'
import type { Json } from '../catalog/catalog.ts'
import { Refusal } from '../errors.ts'
import type { OperatorLock } from '../execution/operator-lock.ts'
import type { ReplicaControl } from '../store/replica.ts'
import type { ControlHandlers } from './control.ts'
import { newCorrelationId } from './correlation-id.ts'
import { createOperating, lockLine, type ByOperator, type OperatingServices } from './operating.ts'

export interface ControlServices extends OperatingServices {
  /** The one whose access tokens are taken. */
  readonly issuer: string
  /** null: the embedded store, which has no replicas. */
  readonly replica: ReplicaControl | null
  readonly operatorLock: OperatorLock
  /** @throws CatalogFaults */
  reload (): Promise<{ readonly digest: string, readonly actions: number, readonly changed: boolean }>
}

export function controlHandlers (services: ControlServices): ControlHandlers {
  const operating = createOperating(services)
  const by = (): ByOperator => ({ iss: null, personMark: services.identity.mark('person', 'control-socket'), display: 'somebody at the control socket', correlationId: newCorrelationId() })
  return {
    reload: async () => ({ ...await services.reload() }),

    attempts: async ({ unknown }) => {
      const records = await operating.unresolved()
      return { attempts: records.filter(record => !unknown || record.state !== 'pending').map(line) }
    },

    resolve: async command => line(await operating.resolve(command, by())),

    'runs stop': async command => {
      const { seen } = await operating.stopRun({ ...command, iss: command.iss ?? services.issuer }, command.note ?? '', by())
      return { run: command.run, stopped: true, seen }
    },

    'state accept-loss': async ({ note }) => {
      const { replica } = services
      if (replica === null) throw Refusal.of('MALFORMED_REQUEST', { message: 'The embedded store has no replicas to wait for.' })
      const before = replica.quarantine()
      const after = await replica.acceptLoss()
      if (before === null || after === null) return { accepted: false, loss: null, kind: null, without: [] }
      services.note('a loss of the state was accepted by a person', { reason: note })
      return { accepted: after.state === 'accepted', loss: after.id, kind: after.kind, without: after.waitingFor }
    },

    ...vaultHandlers(services, by),
  }
}

function vaultHandlers ({ operatorLock }: ControlServices, by: () => ByOperator): Pick<ControlHandlers, 'vault lock' | 'vault unlock' | 'vault status'> {
  const standing = (lock: Parameters<typeof lockLine>[0]): { readonly [name: string]: Json } => ({ ...lockLine(lock), vault: operatorLock.vaultState() })
  return {
    'vault lock': async ({ note }) => standing(await operatorLock.lock({ ...by(), note })),
    'vault unlock': async ({ note, key }) => standing(await operatorLock.unlock({ ...by(), note }, key)),
    'vault status': async () => standing(await operatorLock.state()),
  }
}

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
