// What people do with what they are asked: the words of a scenario, and of the cases that are generated.
import type { Action } from '../../catalog/catalog.ts'
import type { StandIns } from './stage.ts'

type Decide = (people: StandIns, id: string) => Promise<void>

export const DECISIONS = {
  asked: async () => {},
  approved: (people, id) => people.approve(id),
  denied: (people, id) => people.deny(id),
  undecided: (people, id) => people.outlast(id),
  expired: async (people, id) => {
    await people.approve(id)
    await people.outlast(id)
  },
  revoked: async (people, id) => {
    await people.approve(id)
    await people.revoke(id)
  },
  role_lost: async (people, id) => {
    await people.approve(id)
    await people.loseRole(id)
  },
  partly: (people, id) => people.approvePartly(id),
} as const satisfies { readonly [word: string]: Decide }

export type Decided = keyof typeof DECISIONS

/** Null where people can so decide about this action; else why they cannot. */
export function whyNot (decided: Decided, { consent, requirement }: Action): string | null {
  if (consent === 'none') return 'needs no yes of a person'
  if (requirement.roles.length === 0) return 'is for nobody to decide: the policy names no role that may'
  return decided === 'partly' && requirement.approve < 2 ? 'takes the yes of one person, of which there is no part' : null
}
