import { NOTHING, one, type Rule } from '../rule.ts'

export const descriptionWithoutReturns: Rule = {
  id: 'description-without-returns',
  severity: 'warning',
  weighs: { category: 'description', cost: 15 },
  says: 'A description does not say what comes back.',
  why: `A model plans several calls ahead: it chooses an action for what its result gives to the next one. Say which fields come back
and in which unit.`,
  example: {
    of: 'observation',
    bad: `description: >
  Reads one customer of the shop as it is now. Use this when you need a name or a state. Do not use this for orders; use list_orders instead. If it
  answers UPSTREAM_NOT_FOUND, there is no such customer.`,
    good: `description: >
  Reads one customer of the shop as it is now. Use this when you need a name or a state. Do not use this for orders; use list_orders instead. Returns
  the id, the name and the state. If it answers UPSTREAM_NOT_FOUND, there is no such customer.`,
  },
  check ({ description, at, result, sheet }) {
    // A sheet without a result shows nothing.
    if (sheet !== null && result === null) return NOTHING
    const good = /\b(returns?|answers with|gives back|the result (is|holds|names))\b/i.test(description)
    return one(good ? null : { pointer: at.description, message: 'say what comes back: "Returns …"' })
  },
}
