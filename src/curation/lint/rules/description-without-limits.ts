import { one, type Rule } from '../rule.ts'

export const descriptionWithoutLimits: Rule = {
  id: 'description-without-limits',
  severity: 'warning',
  weighs: { category: 'description', cost: 15 },
  says: 'A description does not say what the action is not for.',
  why: `Wrong choices are made between neighbours. "Do not use this for …; use … instead" takes the near miss away and names where it
should have gone.`,
  example: {
    of: 'observation',
    bad: `description: >
  Reads one customer of the shop as it is now. Use this when you need a name or a state. Returns the id, the name and the state. If it answers
  UPSTREAM_NOT_FOUND, there is no such customer.`,
    good: `description: >
  Reads one customer of the shop as it is now. Use this when you need a name or a state. Do not use this for orders; use list_orders instead. Returns
  the id, the name and the state. If it answers UPSTREAM_NOT_FOUND, there is no such customer.`,
  },
  check ({ description, at }) {
    const good = /\b(do not|don't|never) use (this|it)\b|\b(this|it) is not for\b/i.test(description)
    return one(good ? null : { pointer: at.description, message: 'say what it is not for: "Do not use this for …; use … instead"' })
  },
}
