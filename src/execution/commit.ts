// A commit carries out what people approved, and nothing else: it takes no arguments. The way is that of a call, with the stored arguments in the place
// of sent ones, and with everything that the approval rests on looked at again. A refused commit has touched nothing further down.
import { isObject, type Json } from '../catalog/catalog.ts'
import { readBinding } from '../consent/binding.ts'
import { consumed, stateAt, type ProposalRecord } from '../consent/proposal.ts'
import { Refusal } from '../errors.ts'
import type { HeldProposal } from '../store/consent-store.ts'
import { admit } from './admit.ts'
import { asking, type Ask } from './answering.ts'
import { validateArguments } from './arguments.ts'
import { authenticate } from './authenticate.ts'
import type { Arrival, Call, Caller } from './call.ts'
import { requireCapability } from './capability.ts'
import { ApprovalMoved, Approved, Differs } from './consent.ts'
import { obtainCredential } from './credential.ts'
import { dispatch } from './dispatch.ts'
import type { Answer } from './envelope.ts'
import { gatherFacts } from './facts.ts'
import { requireHolder, requireIntact, requireStillDecided } from './holds.ts'
import { invalidate } from './invalidate.ts'
import { wasLocked } from './lock.ts'
import { readOutcome } from './outcome.ts'
import { withinPatience } from './patience.ts'
import { project } from './project.ts'
import { proposalRefusal } from './proposal-answer.ts'
import { attemptOf, findProposal, ownProposal } from './proposals.ts'
import { recallApproval } from './recall.ts'
import { CallRecord } from './record.ts'
import type { Duplicate } from './repeat.ts'
import { reserve } from './reserve.ts'
import { requireScope } from './scope.ts'
import type { Services } from './services.ts'
import { settle } from './settle.ts'

export interface CommitAsk extends Ask, Pick<Arrival, 'surface' | 'source' | 'arrivedAtMs' | 'traceparent'> {
  readonly id: string
  /** undefined where there is none. Not called before the token is verified. @throws Refusal of step decode */
  body (): Promise<Json | undefined>
}

/** Never rejects; like a call it is answered after 20 s as it stands. */
export async function commitProposal (ask: CommitAsk, services: Services): Promise<Answer> {
  const found = await asking(ask, services, async () => {
    const caller = await authenticate(ask, services)
    requireNothing(await ask.body())
    return { caller, held: await ownProposal(caller, ask.id, services) }
  })
  if (found.kind === 'refused') return found.answer
  const { caller, held } = found.value
  const call = callOf(ask, caller, held.record)
  const record = new CallRecord(call.arrival, services)
  return withinPatience(record, steps(call, held, record, services), services)
}

async function steps (call: Call, held: HeldProposal, record: CallRecord, services: Services): Promise<Answer> {
  try {
    record.identified(call.caller)
    record.committing(held.record)
    requireIntact(held.record, services)
    const committable = await requireApproved(call.caller, held, services)
    if (committable.kind === 'duplicate') return record.duplicate(committable)
    const { approval } = committable
    requireHolder(approval, services)
    const capable = await requireCapability(record.decoded(call), record, services)
    await requireStillDecided(approval, capable.action, services)
    const valid = record.valid(validateArguments(capable))
    const scoped = requireScope(valid, services)
    const recalled = await recallApproval(scoped, approval, services)
    if (recalled.kind === 'duplicate') return record.duplicate(recalled)
    const admitted = await admit(recalled, record, services)
    if (admitted.kind === 'duplicate') return record.duplicate(admitted)
    const known = await gatherFacts(admitted, record, services)
    if (known.kind === 'already_so') return await repeatOf(call.caller, approval, record, services) ?? record.alreadySo(known)
    const approved = Approved.byProposal(known, approval)
    const reserved = await reserve(approved, record, services)
    if (reserved.kind === 'duplicate') return record.duplicate(reserved)
    const authorised = await obtainCredential(reserved, services)
    const sent = await dispatch(authorised, record, services)
    const judged = await readOutcome(sent, services)
    const projected = project(judged, services)
    const answer = record.settled(await settle(projected, services), await wasLocked(services.lock))
    tellCommitted(approval, answer, services)
    return answer
  } catch (error) {
    return ended(error, call, held, record, services)
  } finally {
    record.close()
  }
}

/** What ended it in terms of the proposal is said in its terms: what was approved and does not hold any more is invalid from now on. */
async function ended (error: unknown, call: Call, held: HeldProposal, record: CallRecord, services: Services): Promise<Answer> {
  try {
    if (error instanceof Differs) {
      const after = await invalidate(held.record, error.invalid, services)
      if (after.record.state === 'invalidated') {
        return record.refused(proposalRefusal(after, services, error.invalid === 'target_changed' ? 'VERSION_CONFLICT' : null))
      }
    }
    if (error instanceof Refusal && error.step === 'facts') {
      return await repeatOf(call.caller, held.record, record, services) ?? record.refused(error)
    }
    if (!(error instanceof Differs || error instanceof ApprovalMoved)) return refused(error, held.record, record, services)
    const found = await requireApproved(call.caller, await findProposal(held.record.id, services), services)
    if (found.kind === 'duplicate') return record.duplicate(found)
    // Given back meanwhile by an attempt that never left.
    throw Refusal.of('CALL_IN_PROGRESS', { retryAfterSeconds: 1 })
  } catch (refusal) {
    return record.refused(refusal)
  }
}

/** A fault of our own after the durable mark proves nothing: what was approved is used up, and what came of it is not known. */
function refused (error: unknown, approval: ProposalRecord, record: CallRecord, services: Services): Answer {
  const answer = record.refused(error)
  if (answer.envelope.outcome === 'unknown') tellCommitted(approval, answer, services)
  return answer
}

/** Facts that speak against it may be the work of another commit of the same approval: its attempt is then the answer. */
async function repeatOf (caller: Caller, { id }: ProposalRecord, record: CallRecord, services: Services): Promise<Answer | null> {
  const now = await findProposal(id, services)
  if (now.record.state !== 'consumed') return null
  const found = await requireApproved(caller, now, services)
  return found.kind === 'duplicate' ? record.duplicate(found) : null
}

type Committable = { readonly kind: 'approved', readonly approval: ProposalRecord } | Duplicate

/** @throws Refusal that names its state, where that is another */
async function requireApproved (caller: Caller, held: HeldProposal, services: Services): Promise<Committable> {
  const { record, nowMs } = held
  const state = stateAt(record, nowMs)
  if (state === 'consumed') {
    const attempt = await attemptOf(caller, record, services)
    // It never left, or that may still be found: the approval is good again then.
    if (attempt === null || attempt.state === 'prepared') throw Refusal.of('CALL_IN_PROGRESS', { retryAfterSeconds: 1 })
    return { kind: 'duplicate', record: attempt }
  }
  if (record.cause === 'run_stopped') throw Refusal.of('RUN_STOPPED')
  if (state !== 'approved') throw proposalRefusal(held, services)
  if (record.kind === 'session') {
    throw Refusal.of('MALFORMED_REQUEST', { rule: 'grant', hint: 'This is a grant: call its action, and the call uses it.' })
  }
  return { kind: 'approved', approval: record }
}

function callOf (ask: CommitAsk, caller: Caller, { action, binding, reason }: ProposalRecord): Call {
  const { surface, correlationId, authorization, source, arrivedAtMs, traceparent } = ask
  const { args } = readBinding(binding)
  const arrival: Arrival = {
    surface, correlationId, authorization, source, arrivedAtMs, traceparent,
    actionId: action, idempotencyKey: undefined, nullIsAbsent: false, body: async () => ({ arguments: args }),
  }
  return { arrival, caller, arguments: args, reason, idempotencyKey: null }
}

/** What is carried out is what was approved; whatever else is sent along is refused and never merged. */
function requireNothing (body: Json | undefined): void {
  if (body === undefined || (isObject(body) && Object.keys(body).length === 0)) return
  throw Refusal.of('MALFORMED_REQUEST', { message: 'A commit takes no arguments: the body is empty or {}.', rule: 'body' })
}

function tellCommitted (approval: ProposalRecord, { envelope }: Answer, services: Services): void {
  if (envelope.attempt_id === undefined) return
  services.consentEvents.tell({ type: 'committed', record: consumed(approval, envelope.attempt_id), outcome: envelope.outcome })
}
