// Step 9: the yes of a person where the action needs one. Nothing but `requireConsent` can make an `Approved`, and nothing but an `Approved` is reserved.
import { Refusal } from '../errors.ts'
import type { Admitted } from './admit.ts'
import type { Facts } from './call.ts'
import type { Known, AlreadySo } from './facts.ts'

export class Approved {
  readonly facts: Facts
  readonly admitted: Admitted
  #consent: 'none'

  private constructor (facts: Facts, admitted: Admitted) {
    this.facts = facts
    this.admitted = admitted
    this.#consent = 'none'
  }

  get consent (): 'none' { return this.#consent }

  static byPolicy (known: Exclude<Known, AlreadySo>): Approved {
    const { facts, admitted } = known
    if (facts.scoped.valid.capable.action.consent !== 'none') throw Refusal.of('CONSENT_UNAVAILABLE', {}, 'consent')
    return new Approved(facts, admitted)
  }
}

export function requireConsent (known: Exclude<Known, AlreadySo>): Approved {
  return Approved.byPolicy(known)
}
