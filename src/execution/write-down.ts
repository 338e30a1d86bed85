// What became of an attempt is written down here, and nowhere else in a call. A store that cannot take it is asked again in the background until it
// does: the answer is then true, and says `recorded: false`.
import { randomUUID } from 'node:crypto'
import { advance, type AttemptEvent, type AttemptRecord, type Settlement } from '../attempts/attempt.ts'
import { failpoint } from '../failpoints.ts'
import type { Advanced } from '../store/store.ts'
import type { Services } from './services.ts'
import { timedState } from './state.ts'

const PAUSE_MS_MAX = 5_000

export interface Written {
  readonly record: AttemptRecord
  readonly recorded: boolean
  /** The record is as this event made it: whoever ends an attempt tells of its end, and nobody else does. */
  readonly own: boolean
}

/**
 * Tells the store what the owner of the send knows. The record that comes back is the truth: where a look-up or a person was faster, theirs stands.
 */
export async function writeDown (held: AttemptRecord, event: AttemptEvent, services: Services): Promise<Written> {
  const changeId = randomUUID()
  try {
    const advanced = await timedState(services, event.type, () => report(held, event, changeId, services))
    // A record that is gone has no other witness, so its end is told here; one that was begun anew has whoever began it.
    if (advanced.kind === 'missing') return { record: asTold(held, event), recorded: false, own: true }
    const record = heard(advanced, services)
    // Nor does what contradicts the upstream's own answer to this call change what that answer was.
    if (record.token !== held.token || isContradicted(advanced)) return { record: asTold(held, event), recorded: false, own: false }
    return { record, recorded: true, own: advanced.kind === 'changed' }
  } catch {
    services.background(keepTrying(held, event, changeId, services))
    return { record: asTold(held, event), recorded: false, own: false }
  }
}

/** What the store cannot be told, or has lost: true all the same. */
function asTold (held: AttemptRecord, event: AttemptEvent): AttemptRecord {
  const reduced = advance(held, event)
  return reduced.kind === 'changed' ? reduced.record : held
}

/**
 * A store that lost the end of what it was told may have forgotten the durable mark. Left so, the sweeper would close as never sent what was sent,
 * and its key would be free for a second send. The owner of the token knows better: the mark is made again, and then its event applies.
 */
async function report (held: AttemptRecord, event: AttemptEvent, changeId: string, services: Services): Promise<Advanced> {
  const advanced = await services.store.advance(held, event, changeId)
  if (advanced.kind === 'missing' || advanced.record.token !== held.token) {
    services.telemetry.integrity({ attemptId: held.id, what: 'foreign_record' })
  }
  if (advanced.kind !== 'refused' || !advanced.alarm || advanced.record.state !== 'prepared') return advanced
  services.telemetry.integrity({ attemptId: held.id, what: 'contradicting_evidence' })
  const marked = await services.store.advance(advanced.record, { type: 'dispatch', token: held.token })
  return marked.kind === 'missing' ? marked : services.store.advance(marked.record, event, changeId)
}

/** It is proved that no byte left: the attempt ends, and its key is free again. */
export async function closeUnsent (attempt: AttemptRecord | null, settlement: Settlement, services: Services): Promise<void> {
  if (attempt === null) return
  await failpoint('before_close_unsent')
  await writeDown(attempt, { type: 'settle', token: attempt.token, settlement }, services)
}

/** Asks with the same change id, so that the store says whether what stands there is our own doing: then its end is ours to tell. */
async function keepTrying (held: AttemptRecord, event: AttemptEvent, changeId: string, services: Services): Promise<void> {
  const { clock } = services
  // Until it lands: while the store is away nothing new is sent, so that there are never more of these than writes that were under way.
  for (let pauseMs = 200; ; pauseMs = Math.min(pauseMs * 2, PAUSE_MS_MAX)) {
    // This wait alone keeps no process alive: after the drain the journal has it for the next process, or the deadline that stands in the store does.
    await clock.sleep(pauseMs, 'idle')
    try {
      await failpoint('before_settle_again')
      const advanced = await report(held, event, changeId, services)
      if (advanced.kind === 'missing') return
      const record = heard(advanced, services)
      if (advanced.kind === 'changed' && record.settlement?.sent === true) tellLateEnd(record, services)
      return
    } catch {
      // The next turn asks again: every event is idempotent by its token.
    }
  }
}

/** The call was answered before its end could be written down. */
function tellLateEnd (record: AttemptRecord, services: Services): void {
  const { outcome, code, sent } = record.settlement!
  services.telemetry.attempt({
    attemptId: record.id, actionId: record.action, definition: record.definition, correlationId: record.correlationId, by: 'late_answer',
    state: record.state, outcome, code, sent, personMark: null,
  })
}

const isContradicted = (advanced: Advanced): boolean => advanced.kind === 'refused' && advanced.alarm

function heard (advanced: Exclude<Advanced, { kind: 'missing' }>, services: Services): AttemptRecord {
  if (isContradicted(advanced)) {
    services.telemetry.integrity({ attemptId: advanced.record.id, what: 'contradicting_evidence' })
  }
  return advanced.record
}
