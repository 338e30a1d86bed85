// Step 9: the yes of a person where the action needs one: none, a grant of the run, or an approved proposal; where there is none yet, one is proposed.
// Nothing but this file can make an `Approved`, and nothing but an `Approved` is reserved.
import type { AttemptView } from '../catalog/catalog.ts'
import { bindingOf, bindingText, readBinding, whyDiffers, type Binding } from '../consent/binding.ts'
import { isSame } from '../consent/canonical.ts'
import { epochOf } from '../consent/decision.ts'
import type { InvalidCause, ProposalRecord } from '../consent/proposal.ts'
import type { Json } from '../catalog/catalog.ts'
import { Refusal } from '../errors.ts'
import type { WireRequest } from '../upstream/wire.ts'
import type { Admitted } from './admit.ts'
import type { Facts } from './call.ts'
import type { Known, AlreadySo } from './facts.ts'
import { requireGrant } from './grants.ts'
import { boundOf, propose } from './propose.ts'
import type { Proposed } from './recall-proposal.ts'
import type { CallRecord } from './record.ts'
import type { Services } from './services.ts'

type Consented = Exclude<Known, AlreadySo>

export class Approved {
  readonly kind = 'approved'
  readonly facts: Facts
  readonly admitted: Admitted
  /** What was approved, for this call alone; null: nobody had to be asked for it, or they were asked for the run. */
  readonly approval: ProposalRecord | null
  /** Of the lock under which people said yes, to this call or for the run; null: nobody had to be asked. */
  readonly epoch: number | null
  readonly #binding: Binding | null

  private constructor ({ facts, admitted }: Consented, approval: ProposalRecord | null, epoch: number | null) {
    this.facts = facts
    this.admitted = admitted
    this.approval = approval
    this.epoch = epoch
    this.#binding = approval === null ? null : readBinding(approval.binding)
  }

  static byPolicy (known: Consented): Approved {
    if (known.facts.scoped.valid.capable.action.consent !== 'none') throw Refusal.of('CONSENT_UNAVAILABLE', {}, 'consent')
    return new Approved(known, null, null)
  }

  static async byGrant (known: Consented, record: CallRecord, services: Services): Promise<Approved | Proposed> {
    const asked = await requireGrant(known.facts, record, services)
    return asked.kind === 'proposed' ? asked : new Approved(known, null, epochOf(asked.grant))
  }

  /** @throws Refusal VERSION_CONFLICT where the object is not as it was shown; nothing has been sent */
  static byProposal (known: Consented, approval: ProposalRecord): Approved {
    const { target } = readBinding(approval.binding)
    const { target: now } = known.facts
    const then = target === null ? null : { type: target.type, id: target.id, version: target.version }
    if (!isSame(then as unknown as Json, now as unknown as Json)) throw new Differs('target_changed')
    return new Approved(known, approval, epochOf(approval))
  }

  /**
   * That this request is the one that was approved: built anew, it gives the very text that the yes was bound to.
   * @param epoch of the lock, as it is now
   * @throws Differs
   */
  requireSame (request: WireRequest, attempt: AttemptView, epoch: number): void {
    const was = this.#binding
    if (was === null || this.approval === null) return
    if (epoch !== this.epoch) throw new Differs('vault_epoch_changed')
    const is = bindingOf(boundOf(this.facts, was.requirement, was.grant, request, attempt), was)
    if (bindingText(is) !== this.approval.binding) throw new Differs(whyDiffers(was, is) ?? 'request_changed')
  }
}

/** What was approved is not what would be executed now. */
export class Differs extends Error {
  override readonly name = 'Differs'
  readonly invalid: InvalidCause
  constructor (invalid: InvalidCause) {
    super(`what was approved does not hold any more: ${invalid}`)
    this.invalid = invalid
  }
}

/** The approval is not as it was seen: something else used it up, took it back or ended it meanwhile. */
export class ApprovalMoved extends Error {
  override readonly name = 'ApprovalMoved'
}

export async function requireConsent (known: Consented, record: CallRecord, services: Services): Promise<Approved | Proposed> {
  const { facts, admitted: { recalled } } = known
  const { action } = facts.scoped.valid.capable
  if (action.consent === 'none') return Approved.byPolicy(known)
  // An observation leaves no attempt that could use up what was approved; it is asked for as a grant.
  if (action.consent === 'session' || recalled.kind === 'observation') return Approved.byGrant(known, record, services)
  if (recalled.unproposed === null) throw Refusal.of('CONSENT_UNAVAILABLE', {}, 'consent')
  return propose(facts, recalled.name, recalled.unproposed, null, services)
}
