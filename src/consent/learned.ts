// What became of something that was approved is not always known when its commit is answered: a look-up finds it out, a person says it, or nobody has
// reported it in time. Whoever writes that down tells of it, as of everything else that becomes of a proposal.
import { givesBack, type AttemptEvent, type AttemptRecord } from '../attempts/attempt.ts'
import type { ConsentStore } from '../store/consent-store.ts'
import type { Store } from '../store/store.ts'
import type { ConsentEvents } from './events.ts'

/** Changes that are not made by the call itself, which tells of its own end. */
const BY_OTHERS: ReadonlySet<AttemptEvent['type']> = new Set(['deadline', 'lookup', 'resolve'])

/**
 * The same store, of which it is told.
 * @param background for what nobody waits for
 */
export function tellLearned (store: Store, events: ConsentEvents, background: (work: Promise<unknown>) => void): Store {
  return {
    ...store,
    async advance (record, event, changeId) {
      const advanced = await store.advance(record, event, changeId)
      const outcome = advanced.kind === 'changed' && BY_OTHERS.has(event.type) ? outcomeOf(advanced.record, event) : null
      if (outcome !== null && advanced.kind === 'changed') background(tell(advanced.record, outcome, store, events))
      return advanced
    },
  }
}

/** null: nobody had to be asked, or nothing is known that was not known before, or its approval is good again. */
function outcomeOf (record: AttemptRecord, { type }: AttemptEvent): string | null {
  if (record.proposal === undefined || givesBack(record)) return null
  if (record.settlement !== null) return record.settlement.outcome
  return type === 'deadline' && record.state === 'unknown' ? 'unknown' : null
}

async function tell ({ id, proposal }: AttemptRecord, outcome: string, store: ConsentStore, events: ConsentEvents): Promise<void> {
  const held = await store.findProposal(proposal!)
  if (held?.record.attemptId === id) events.tell({ type: 'learned', record: held.record, outcome })
}
