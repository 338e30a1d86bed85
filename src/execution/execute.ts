// The way of a call. Each line consumes what an earlier line returned; leaving one out does not compile. A refused call has touched
// nothing further down.
import { admit } from './admit.ts'
import { validateArguments } from './arguments.ts'
import { authenticate } from './authenticate.ts'
import type { Arrival } from './call.ts'
import { requireCapability } from './capability.ts'
import { requireConsent } from './consent.ts'
import { obtainCredential } from './credential.ts'
import { decode } from './decode.ts'
import { dispatch } from './dispatch.ts'
import type { Answer } from './envelope.ts'
import { gatherFacts } from './facts.ts'
import { wasLocked } from './lock.ts'
import { readOutcome } from './outcome.ts'
import { withinPatience } from './patience.ts'
import { project } from './project.ts'
import { recall } from './recall.ts'
import { CallRecord } from './record.ts'
import { reserve } from './reserve.ts'
import { requireScope } from './scope.ts'
import type { Services } from './services.ts'
import { settle } from './settle.ts'

/** Never rejects. A write that is still open after 20 s is answered as it stands, and goes on. */
export function execute (arrival: Arrival, services: Services): Promise<Answer> {
  const record = new CallRecord(arrival, services)
  return withinPatience(record, steps(arrival, record, services), services)
}

async function steps (arrival: Arrival, record: CallRecord, services: Services): Promise<Answer> {
  try {
    await services.clock.endOfTurn()
    const caller = await authenticate(arrival, services, record)
    const call = record.decoded(await decode(arrival, caller))
    const capable = await requireCapability(call, record, services)
    const valid = record.valid(validateArguments(capable))
    const scoped = requireScope(valid, services)
    const recalled = await recall(scoped, services)
    if (recalled.kind === 'duplicate') return record.duplicate(recalled)
    if (recalled.kind === 'proposed') return record.proposed(recalled)
    const admitted = await admit(recalled, record, services)
    if (admitted.kind === 'duplicate') return record.duplicate(admitted)
    const known = await gatherFacts(admitted, record, services)
    if (known.kind === 'already_so') return record.alreadySo(known)
    const approved = await requireConsent(known, record, services)
    if (approved.kind === 'proposed') return record.proposed(approved)
    const reserved = await reserve(approved, record, services)
    if (reserved.kind === 'duplicate') return record.duplicate(reserved)
    const authorised = await obtainCredential(reserved, services)
    const sent = await dispatch(authorised, record, services)
    const judged = await readOutcome(sent, services)
    const projected = project(judged, services)
    return record.settled(await settle(projected, services), await wasLocked(services.lock))
  } catch (error) {
    return record.refused(error)
  } finally {
    record.close()
  }
}
