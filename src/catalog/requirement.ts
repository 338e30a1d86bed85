// Whose yes an action needs: what its consequences ask for by themselves, and what the policy adds for each of them. Of several, the strictest holds.
import type { Consent, Effect, Involvement, Requirement } from './catalog.ts'
import type { Reporter } from './faults.ts'
import type { PolicySheet } from './policy.ts'

type Consequence = Effect | Involvement

/** Who asked for such a thing does not decide it. */
const APART: ReadonlySet<Consequence> = new Set(['money', 'access', 'irreversible_change', 'bulk'])
/** A person copies a value of what is shown, which proves that it was read. */
const TYPED: ReadonlySet<Consequence> = new Set(['irreversible_change', 'bulk'])
const TICKED: ReadonlySet<Consequence> = new Set(['money', 'access'])
/** Whoever lets others in has just shown who they are. */
const FRESH_SIGN_IN_S = 300

export interface Consequences {
  readonly id: string
  readonly effect: Effect
  readonly involves: readonly Involvement[]
  readonly consent: Consent
}

/** Reports where the policy names people for the action and leaves nobody who may decide it. */
export function requirementOf ({ id, effect, involves, consent }: Consequences, policy: PolicySheet | null, report: Reporter): Requirement {
  const consequences: readonly Consequence[] = [effect, ...involves]
  const rules = consequences.map(consequence => policy?.consent?.[consequence])
  const lists = [decidersOf(id, policy), ...rules.map(rule => rule?.approvers ?? null)].filter(list => list !== null)
  const [first = [], ...others] = lists
  const roles = first.filter(role => others.every(list => list.includes(role))).sort()
  if (consent !== 'none' && lists.length > 0 && roles.length === 0) {
    report.fault('/consent', 'nobody-may-decide', `the policy names ${lists.map(list => list.join(', ')).join(' and ')}: no role is in all of these lists`)
  }
  const any = (of: ReadonlySet<Consequence>): boolean => consequences.some(consequence => of.has(consequence))
  return Object.freeze({
    approve: Math.max(1, ...rules.map(rule => rule?.quorum ?? 1)),
    roles: Object.freeze(roles),
    separation: any(APART) ? 'requester' : 'agent',
    signInMaxAgeS: involves.includes('access') ? FRESH_SIGN_IN_S : null,
    confirm: any(TYPED) ? 'type_value' : any(TICKED) ? 'checkbox' : 'none',
  })
}

/** Roles that the policy lets decide on this action by its name; null where it names none. */
function decidersOf (id: string, policy: PolicySheet | null): readonly string[] | null {
  const roles = Object.entries(policy?.approvers ?? {}).filter(([, actions]) => actions.includes(id)).map(([role]) => role)
  return roles.length === 0 ? null : roles
}

/** What cannot be shown whole is asked for as strictly as anything is. */
export const strictest = (requirement: Requirement): Requirement =>
  Object.freeze({ ...requirement, separation: 'requester', signInMaxAgeS: FRESH_SIGN_IN_S, confirm: 'type_value' })
