// Step 6: does this call repeat an attempt? Asked before anything is read, so that a repeat never runs ahead of what it repeats.
import { Refusal } from '../errors.ts'
import type { RunOwner } from '../attempts/identity.ts'
import type { ProposalRecord } from '../consent/proposal.ts'
import type { Recalled as RecalledState, RecordName } from '../store/store.ts'
import type { Caller, Scoped } from './call.ts'
import { recallProposals, type Proposed, type Unproposed } from './recall-proposal.ts'
import { recallNow, repeatOf, type Duplicate } from './repeat.ts'
import type { Services } from './services.ts'

/** A write that may become an attempt, or an observation, which leaves none. */
export type Recalled =
  | { readonly kind: 'observation', readonly scoped: Scoped }
  | {
    readonly kind: 'write'
    readonly scoped: Scoped
    readonly name: RecordName
    /** null: nothing is read before the attempt is begun, so `begin` itself recalls, in the same round trip. */
    readonly state: RecalledState | null
    /** Where a person is asked for each call: what there is of earlier proposals. null: nobody is asked, or it is asked for the run. */
    readonly unproposed: Unproposed | null
    /** The approval that the attempt uses up. */
    readonly approval: ProposalRecord | null
  }
  | Duplicate
  | Proposed

/** What goes on from here. */
export type GoingOn = Exclude<Recalled, Duplicate | Proposed>

export function recall (scoped: Scoped, services: Services): Recalled | Promise<Recalled> {
  return scoped.valid.capable.action.write ? recallWrite(scoped, services) : { kind: 'observation', scoped }
}

async function recallWrite (scoped: Scoped, services: Services): Promise<Recalled> {
  const { action } = scoped.valid.capable
  const name = nameOf(scoped, services)
  const write = { kind: 'write', scoped, name, unproposed: null, approval: null } as const
  const readsNothing = action.reads.length === 0 && action.checks.length === 0
  if (action.consent === 'none' && readsNothing) return { ...write, state: null }
  const state = await recallNow(name, services)
  const repeat = repeatOf(state)
  if (repeat !== null) return repeat
  if (action.consent !== 'call') return { ...write, state }
  const found = await recallProposals(name, equalKeyOf(scoped, name, services), action, services)
  return found.kind === 'unproposed' ? { ...write, state, unproposed: found } : found
}

/** Step 6 of a commit: what is repeated is what the approval was used for, whatever was called meanwhile. */
export async function recallApproval (scoped: Scoped, approval: ProposalRecord, services: Services): Promise<GoingOn | Duplicate> {
  const { tag, runKey, fingerprint, keyed, owner } = approval
  const { action } = scoped.valid.capable
  const name: RecordName = {
    tag, tenant: owner.tenant, runKey, recordKey: services.identity.proposalKey(owner, approval.id), fingerprint, keyed,
    upstream: action.upstream.name, action: action.id,
  }
  const state = await recallNow(name, services)
  return repeatOf(state) ?? { kind: 'write', scoped, name, state, unproposed: null, approval }
}

/** Of a sheet that means equal writes to happen again, each key is a call of its own. */
function equalKeyOf (scoped: Scoped, { recordKey, fingerprint }: RecordName, services: Services): string {
  const { action, call: { caller } } = scoped.valid.capable
  return action.repeatable ? recordKey : services.identity.recordKey(ownerOf(caller), null, action.id, fingerprint)
}

/** Whoever calls a write has a run. */
export const ownerOf = ({ iss, sub, tenant, run }: Caller): RunOwner => ({ iss, sub, tenant, run: run! })

function nameOf (scoped: Scoped, services: Services): RecordName {
  const { action, call } = scoped.valid.capable
  const { caller, idempotencyKey } = call
  // A sheet that means equal writes to happen again needs the runtime to say which of them a repeat repeats.
  if (action.repeatable && idempotencyKey === null) throw Refusal.of('IDEMPOTENCY_KEY_REQUIRED')
  const fingerprint = services.identity.fingerprint(action.id, scoped.valid.args)
  return {
    tag: caller.tag,
    tenant: caller.tenant,
    runKey: caller.runKey,
    recordKey: services.identity.recordKey(ownerOf(caller), idempotencyKey, action.id, fingerprint),
    fingerprint,
    keyed: idempotencyKey !== null,
    upstream: action.upstream.name,
    action: action.id,
  }
}
