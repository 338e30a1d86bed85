// What ends by itself: proposals whose time is over, and, once the vault was locked, what was approved before that; what a stopped run still has open;
// and what was proposed before the store had lost something. Any replica does it, and whoever
// makes the change tells of it, so it is told once. Nothing rests on it: what is over counts as over whether or not it was swept.
import type { ConsentStore } from '../store/consent-store.ts'
import type { ConsentEvents } from './events.ts'
import type { InvalidCause, ProposalEvent, ProposalRecord } from './proposal.ts'

export interface SweepServices {
  readonly store: Pick<ConsentStore, 'overdueProposals' | 'openProposals' | 'advanceProposal'>
  readonly events: ConsentEvents
  readonly lock: { epoch (): number }
  /** By the store's clock: whatever was proposed before may have been denied since, and that forgotten. -Infinity: the store has lost nothing. */
  lostUntilMs (): number
  /** By their keys. */
  stoppedRuns (): ReadonlySet<string>
}

export interface Waiting {
  readonly undecided: number
  /** null: none waits. */
  readonly oldestAgeMs: number | null
}

const AT_ONCE = 100
const LOOKED_THROUGH = 1_000
/** While runs are stopped: what one of them had used up may be given back to it. */
const LOOKS_EVERY_TURNS = 10

export interface Sweep {
  /** @throws StateUnavailable */
  turn (): Promise<void>
  /** What waits for people. @throws StateUnavailable */
  waiting (): Promise<Waiting>
}

export function createSweep ({ store, events, lock, lostUntilMs, stoppedRuns }: SweepServices): Sweep {
  let voidedEpoch: number | null = null
  let voidedUntilMs = -Infinity
  let endedRuns: ReadonlySet<string> = new Set()
  let turns = 0

  const end = (record: ProposalRecord, event: ProposalEvent, type: 'expired' | 'invalidated'): Promise<void> => ended(record, event, type, { store, events })

  /** Approved, and not one yes of it was said under the lock of now. */
  const isVoid = ({ state, decisions }: ProposalRecord, epoch: number): boolean => state === 'approved' && decisions.every(made => made.epoch < epoch)

  const causeOf = (record: ProposalRecord, epoch: number, untilMs: number, stopped: ReadonlySet<string>): InvalidCause | null => {
    if (record.createdAtMs <= untilMs) return 'state_lost'
    if (stopped.has(record.runKey)) return 'run_stopped'
    return isVoid(record, epoch) ? 'vault_epoch_changed' : null
  }

  return {
    async turn () {
      for (const { record } of await store.overdueProposals(AT_ONCE)) await end(record, { type: 'expire' }, 'expired')
      const [epoch, untilMs, stopped] = [lock.epoch(), lostUntilMs(), stoppedRuns()]
      const isNewlyStopped = [...stopped].some(run => !endedRuns.has(run)) || (stopped.size > 0 && ++turns % LOOKS_EVERY_TURNS === 0)
      if (epoch === voidedEpoch && untilMs === voidedUntilMs && !isNewlyStopped) return
      for (const { record } of await store.openProposals(LOOKED_THROUGH)) {
        const cause = causeOf(record, epoch, untilMs, stopped)
        if (cause !== null) await end(record, { type: 'invalidate', cause }, 'invalidated')
      }
      voidedEpoch = epoch
      voidedUntilMs = untilMs
      endedRuns = stopped
    },
    async waiting () {
      const undecided = (await store.openProposals(LOOKED_THROUGH)).filter(({ record }) => record.state === 'pending')
      const oldest = undecided[0]
      return { undecided: undecided.length, oldestAgeMs: oldest === undefined ? null : oldest.nowMs - oldest.record.createdAtMs }
    },
  }
}

type Told = Pick<SweepServices, 'events'> & { readonly store: Pick<ConsentStore, 'advanceProposal'> }

async function ended (record: ProposalRecord, event: ProposalEvent, type: 'expired' | 'invalidated', { store, events }: Told): Promise<void> {
  const advanced = await store.advanceProposal(record, event)
  if (advanced.kind === 'changed') events.tell({ type, record: advanced.record })
}

/** Whoever stops a run ends at once what it has open, so that it is on nobody's desk any more. @throws StateUnavailable */
export async function endOfRun (runKey: string, { store, events }: Pick<SweepServices, 'store' | 'events'>): Promise<void> {
  const open = await store.openProposals(LOOKED_THROUGH)
  for (const { record } of open) if (record.runKey === runKey) await ended(record, { type: 'invalidate', cause: 'run_stopped' }, 'invalidated', { store, events })
}
