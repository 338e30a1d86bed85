// What an agent may ask about its own proposals, and the one thing it may do to one beside committing it: take it back. A proposal is visible to the same
// (iss, sub, tenant, run) alone, and only while its action could be called.
import { givesBack, type AttemptRecord } from '../attempts/attempt.ts'
import { readBinding } from '../consent/binding.ts'
import { isOpen, stateAt, tagOfProposal, type ProposalRecord } from '../consent/proposal.ts'
import { Refusal } from '../errors.ts'
import type { HeldProposal } from '../store/consent-store.ts'
import { attemptAnswer } from './answer.ts'
import { answering, type Ask } from './answering.ts'
import { isVisible, type WaitAsk } from './attempts.ts'
import { authenticate } from './authenticate.ts'
import type { Caller } from './call.ts'
import { mayCall } from './capability.ts'
import type { Answer } from './envelope.ts'
import { invalidate } from './invalidate.ts'
import { requireUnlocked } from './lock.ts'
import { proposalAnswer, proposalView } from './proposal-answer.ts'
import { initialBindings, isInScope } from './scope.ts'
import type { Services } from './services.ts'
import { reachState } from './state.ts'

const POLL_MS_MAX = 1_000

/** Waits for a decision; of what is decided, and of what was used up, it answers at once. */
export async function getProposal (ask: WaitAsk, services: Services): Promise<Answer> {
  return answering(ask, services, async () => {
    const caller = await authenticate(ask, services)
    const { clock } = services
    const endsAtMs = clock.nowMs() + ask.waitMs
    let held = await visibleProposal(caller, ask.id, services)
    for (let pauseMs = 50; isWaiting(held) && !ask.signal.aborted && clock.nowMs() < endsAtMs; pauseMs = Math.min(pauseMs * 2, POLL_MS_MAX)) {
      await clock.sleep(Math.min(pauseMs, Math.max(1, endsAtMs - clock.nowMs())))
      await requireUnlocked(services)
      held = await visibleProposal(caller, ask.id, services)
    }
    return told(caller, held, ask.correlationId, services)
  })
}

const isWaiting = ({ record, nowMs }: HeldProposal): boolean => stateAt(record, nowMs) === 'pending'

/** What was used up cannot be taken back: the answer is then what became of it. */
export async function withdrawProposal (ask: Ask & { readonly id: string }, services: Services): Promise<Answer> {
  return answering(ask, services, async () => {
    const caller = await authenticate(ask, services)
    const { record } = await visibleProposal(caller, ask.id, services)
    const advanced = await reachState(services, 'withdraw', () => services.store.advanceProposal(record, { type: 'withdraw' }))
    if (advanced.kind === 'missing') throw Refusal.of('NOT_FOUND')
    if (advanced.kind === 'changed') services.consentEvents.tell({ type: 'withdrawn', record: advanced.record })
    return told(caller, advanced, ask.correlationId, services)
  })
}

async function told (caller: Caller, held: HeldProposal, correlationId: string, services: Services): Promise<Answer> {
  if (held.record.state !== 'consumed') return proposalAnswer(held, correlationId, {}, services)
  const attempt = await attemptOf(caller, held.record, services)
  if (attempt === null) return proposalAnswer(await findProposal(held.record.id, services), correlationId, {}, services)
  const answer = attemptAnswer(attempt, correlationId, { duplicate: false })
  return { ...answer, envelope: { ...answer.envelope, proposal: proposalView(held, services.people) } }
}

/**
 * What used it up; null: that provably never left, so the approval has been given back since it was read.
 * @throws Refusal NOT_FOUND where its action could not be called any more
 */
export async function attemptOf (caller: Caller, { attemptId }: ProposalRecord, services: Services): Promise<AttemptRecord | null> {
  const attempt = attemptId === null ? null : await reachState(services, 'find', () => services.store.find(attemptId))
  if (attempt === null) throw Refusal.of('STATE_UNAVAILABLE', { retryAfterSeconds: 1, internal: 'the attempt of a used proposal is not there' })
  if (!isVisible(caller, attempt, services)) throw Refusal.of('NOT_FOUND')
  return givesBack(attempt) ? null : attempt
}

/** Absent and foreign alike. @throws Refusal NOT_FOUND */
export async function ownProposal (caller: Caller, id: string, services: Services): Promise<HeldProposal> {
  const held = tagOfProposal(id) === caller.tag ? await reachState(services, 'findProposal', () => services.store.findProposal(id)) : null
  if (held === null || !isOwner(caller, held.record)) throw Refusal.of('NOT_FOUND')
  return held
}

/** @throws Refusal NOT_FOUND */
export async function findProposal (id: string, services: Services): Promise<HeldProposal> {
  const held = await reachState(services, 'findProposal', () => services.store.findProposal(id))
  if (held === null) throw Refusal.of('NOT_FOUND')
  return held
}

async function visibleProposal (caller: Caller, id: string, services: Services): Promise<HeldProposal> {
  const held = await ownProposal(caller, id, services)
  const action = mayCall(services.catalog(), caller, held.record.action)
  const { args } = readBinding(held.record.binding)
  if (action === null || !isInScope(action, initialBindings(args, caller.view, services.timestamp()))) throw Refusal.of('NOT_FOUND')
  // What is given back to a run that was stopped meanwhile ends here at the latest.
  const isOver = services.runs.isStopped(caller.runKey) && isOpen(stateAt(held.record, held.nowMs))
  return isOver ? invalidate(held.record, 'run_stopped', services) : held
}

const isOwner = ({ iss, sub, tenant, run }: Caller, { owner }: ProposalRecord): boolean =>
  owner.iss === iss && owner.sub === sub && owner.tenant === tenant && owner.run === run
