// What an agent may ask about its own attempts. An attempt is visible to the same (iss, sub, tenant, run) alone, and only while its action could be
// called: capability and scope are checked again at every read.
import type { AttemptEvent, AttemptRecord } from '../attempts/attempt.ts'
import { tagOfAttempt } from '../attempts/identity.ts'
import { Refusal } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import { actorOf } from './actor.ts'
import { attemptAnswer } from './answer.ts'
import { answering, listing, type Ask, type Listing } from './answering.ts'
import { authenticate } from './authenticate.ts'
import type { Caller } from './call.ts'
import { mayCall } from './capability.ts'
import type { Answer, Envelope } from './envelope.ts'
import { requireUnlocked } from './lock.ts'
import { initialBindings, isInScope } from './scope.ts'
import type { Services } from './services.ts'
import { reachState } from './state.ts'

export interface WaitAsk extends Ask {
  readonly id: string
  /** 0: answer at once. */
  readonly waitMs: number
  /** Aborted when nobody waits any more: the outcome so far is then as good as any. */
  readonly signal: AbortSignal
}

const LIST_MAX = 200
const POLL_MS_MAX = 500

export async function getAttempt (ask: WaitAsk, services: Services): Promise<Answer> {
  return answering(ask, services, async () => {
    const caller = await authenticate(ask, services)
    const { clock } = services
    const endsAtMs = clock.nowMs() + ask.waitMs
    let record = await own(caller, ask.id, services)
    for (let pauseMs = 50; isWorthWaiting(record, ask.signal) && clock.nowMs() < endsAtMs; pauseMs = Math.min(pauseMs * 2, POLL_MS_MAX)) {
      await clock.sleep(Math.min(pauseMs, Math.max(1, endsAtMs - clock.nowMs())))
      await requireUnlocked(services)
      record = await own(caller, ask.id, services)
    }
    return attemptAnswer(record, ask.correlationId, { duplicate: false })
  })
}

/** A person may take days. */
const isWorthWaiting = (record: AttemptRecord, signal: AbortSignal): boolean =>
  record.state !== 'settled' && record.state !== 'escalated' && !signal.aborted

export async function listAttempts (ask: Ask & { readonly limit: number }, services: Services): Promise<Listing> {
  return listing(ask, services, async () => {
    const caller = await authenticate(ask, services)
    if (caller.run === null) throw Refusal.of('RUN_REQUIRED')
    const limit = Math.min(ask.limit, LIST_MAX)
    const records = await reachState(services, 'ofRun', () => services.store.ofRun(caller.tag, caller.runKey, limit))
    const visible = records.filter(record => isVisible(caller, record, services))
    const attempts = visible.map(record => attemptAnswer(record, record.correlationId, { duplicate: false }).envelope)
    return { attempts }
  })
}

export type CancelState = 'cancelled' | 'too_late' | 'already_settled'

/** Only what was never sent can be cancelled; for the rest the wish is noted, and the outcome stays what the evidence says. */
export async function cancelAttempt (ask: Ask & { readonly id: string }, services: Services): Promise<Answer> {
  return answering(ask, services, async () => {
    await failpoint('before_cancel')
    const { before, after, changed } = await advanceOwn(ask, { type: 'cancel' }, services)
    // Whoever was about to send it may be gone, and nobody else would tell of its end.
    if (changed && after.state === 'settled') tellByAgent(after, services)
    await failpoint('after_cancel')
    const state: CancelState = after.settlement?.code === 'CANCELLED' ? 'cancelled' : before.state === 'settled' ? 'already_settled' : 'too_late'
    const answer = attemptAnswer(after, ask.correlationId, { duplicate: false })
    return { ...answer, envelope: { ...answer.envelope, cancel: state } as Envelope }
  })
}

export async function escalateAttempt (ask: Ask & { readonly id: string }, services: Services): Promise<Answer> {
  return answering(ask, services, async () => {
    const { after, changed } = await advanceOwn(ask, { type: 'escalate' }, services)
    if (changed) tellByAgent(after, services)
    return attemptAnswer(after, ask.correlationId, { duplicate: false })
  })
}

export async function stopRun (ask: Ask, services: Services): Promise<Listing> {
  return listing(ask, services, async () => {
    const caller = await authenticate(ask, services)
    if (caller.run === null) throw Refusal.of('RUN_REQUIRED')
    await reachState(services, 'stopRun', () => services.runs.stop(caller.tag, caller.runKey))
    services.telemetry.runStopped({ actor: actorOf(caller, services), note: null, correlationId: ask.correlationId })
    return { run: caller.run, stopped: true }
  })
}

interface Advance {
  readonly before: AttemptRecord
  readonly after: AttemptRecord
  /** false: it was so before, or the event does not apply. */
  readonly changed: boolean
}

async function advanceOwn (ask: Ask & { readonly id: string }, event: AttemptEvent, services: Services): Promise<Advance> {
  const caller = await authenticate(ask, services)
  const before = await own(caller, ask.id, services)
  const advanced = await reachState(services, event.type, () => services.store.advance(before, event))
  if (advanced.kind === 'missing') throw Refusal.of('NOT_FOUND')
  return { before, after: advanced.record, changed: advanced.kind === 'changed' }
}

function tellByAgent ({ id, action, definition, correlationId, state, settlement }: AttemptRecord, services: Services): void {
  services.telemetry.attempt({
    attemptId: id, actionId: action, definition, correlationId, by: 'agent', state,
    outcome: settlement?.outcome ?? 'unknown', code: settlement?.code ?? null, sent: settlement?.sent ?? null, personMark: null,
  })
}

/** Absent, foreign and no longer allowed answer alike. */
async function own (caller: Caller, id: string, services: Services): Promise<AttemptRecord> {
  const record = tagOfAttempt(id) === caller.tag ? await reachState(services, 'find', () => services.store.find(id)) : null
  if (record === null || !isVisible(caller, record, services)) throw Refusal.of('NOT_FOUND')
  return record
}

export function isVisible (caller: Caller, record: AttemptRecord, services: Services): boolean {
  const { owner } = record
  if (owner.iss !== caller.iss || owner.sub !== caller.sub || owner.tenant !== caller.tenant || owner.run !== caller.run) return false
  const action = mayCall(services.catalog(), caller, record.action)
  return action !== null && isInScope(action, initialBindings(record.args, caller.view, services.timestamp()))
}
