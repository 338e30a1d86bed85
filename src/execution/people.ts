// Who can be asked for a yes: whether there is anybody at all, where they are, who is one person, and what is known of their roles now.
import type { Principals } from '../consent/principals.ts'
import type { Approver } from '../consent/proposal.ts'

export interface People {
  /** Under which people reach the broker, `https://approvals.example`; null: agents are not told. */
  readonly origin: string | null
  readonly principals: Principals
  /** The roles of this person as they are known now; null: nothing is known that is newer than what was written down with their decision. */
  rolesOf (approver: Pick<Approver, 'iss' | 'sub'>): Promise<readonly string[] | null>
}
