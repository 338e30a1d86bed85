import type { PolicySheet } from '../../../catalog/policy.ts'
import { pointerTo } from '../../../catalog/yaml-file.ts'
import { any, NOTHING, type Found, type Rule } from '../rule.ts'

const ACTIONS_MAX = 20

export const tooManyActionsForRole: Rule = {
  id: 'too-many-actions-for-role',
  severity: 'warning',
  weighs: { category: 'safety', cap: 89 },
  says: 'A role has more than 20 actions.',
  why: `Beyond about twenty contracts a model chooses worse with every one that is added, and the list alone costs thousands of tokens.
A role is one job: split it, and let the token name the role that the run needs.`,
  example: {
    of: 'observation',
    bad: `policy: {roles: {everything: {repeat: 21}}}`,
    good: `policy: {roles: {everything: {repeat: 20}}}`,
  },
  check ({ id }, { policy }) {
    if (policy === null) return NOTHING
    return any(Object.entries(policy.sheet.roles).flatMap(([role, declared]): Found[] => {
      const actions = actionsOf(declared)
      if (actions.length <= ACTIONS_MAX || !actions.includes(id)) return []
      const message = `${actions.length} actions; a model chooses well among ${ACTIONS_MAX}`
      return [{ file: policy.file, pointer: pointerTo('/roles', role), atKey: true, message }]
    }))
  },
}

const actionsOf = (declared: PolicySheet['roles'][string]): readonly string[] => 'actions' in declared ? declared.actions : declared
