// What the store of a replica has to tell: losses, and the disk under its journal. It is opened before the audit is, so that a broker that cannot reach
// its state leaves no audit behind; what it tells meanwhile waits.
import type { AttemptRecord } from '../attempts/attempt.ts'
import type { LockState } from '../store/lock-store.ts'
import type { Loss } from '../store/loss.ts'
import type { ReplicaEvents } from '../store/replica.ts'
import type { Logger } from './logger.ts'
import type { Metrics } from './metrics.ts'
import type { BrokerTelemetry } from './record.ts'

export interface StateTold {
  readonly events: ReplicaEvents
  /** This replica goes by it from now on, wherever it was locked. */
  lock (state: LockState): void
  /** From now on there is an audit; null: there is none any more. */
  attach (telemetry: BrokerTelemetry | null): void
  /** The store may have forgotten what is kept in it beside attempts. */
  onLoss (listener: () => void): void
}

export function createStateTold ({ metrics, logger }: { readonly metrics: Metrics, readonly logger: Logger }): StateTold {
  const waiting: Array<(telemetry: BrokerTelemetry) => void> = []
  const listeners: Array<() => void> = []
  let telemetry: BrokerTelemetry | null = null
  const tell = (one: (telemetry: BrokerTelemetry) => void): void => {
    if (telemetry === null) waiting.push(one)
    else one(telemetry)
  }
  return {
    events: {
      lost (loss: Loss) {
        metrics.stateLost(loss.kind)
        for (const listener of listeners) listener()
        tell(one => one.stateLoss({ what: 'lost', loss }))
      },
      ended (loss: Loss) {
        metrics.stateWhole()
        tell(one => one.stateLoss({ what: loss.state === 'accepted' ? 'accepted' : 'restored', loss }))
      },
      fault: (what, error) => logger.fault(what, error),
      landed (record: AttemptRecord, answered: boolean) {
        const { settlement } = record
        // That nothing left was told when the call was answered.
        if (settlement === null || (answered && !settlement.sent)) return
        const { outcome, code, sent } = settlement
        tell(one => one.attempt({
          attemptId: record.id, actionId: record.action, definition: record.definition, correlationId: record.correlationId, by: 'late_answer',
          state: record.state, outcome, code, sent, personMark: null,
        }))
      },
      journalSynced: durationMs => metrics.journalSynced(durationMs),
      journalFault (error) {
        metrics.journalFault()
        logger.fault('the journal met a fault of the disk; nothing is sent until it takes what it is given', error)
      },
    },
    lock (state) {
      metrics.vault(state)
      logger.note('warn', state.locked ? 'the vault is locked: agents are refused and nothing is sent' : 'the vault is unlocked', { count: state.epoch })
    },
    attach (next) {
      telemetry = next
      if (next !== null) for (const one of waiting.splice(0)) one(next)
    },
    onLoss: listener => { listeners.push(listener) },
  }
}
