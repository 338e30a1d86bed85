import { one, type Rule } from '../rule.ts'

const ERRORS = new RegExp([
  '\\b[A-Z]{2,}(_[A-Z]+)+\\b', 'already_in_desired_state', '\\b(if|where|when) (it|this) (answers|fails|refuses|says)\\b',
  '\\b(errors?|fails with|not found)\\b',
].join('|'))

export const descriptionWithoutErrors: Rule = {
  id: 'description-without-errors',
  severity: 'warning',
  weighs: { category: 'description', cost: 10 },
  says: 'A description does not say what to do after a refusal.',
  why: `After an error a model repeats the call, invents another argument, or gives up. "If it answers X, …" tells it which of the three
is right, code by code.`,
  example: {
    of: 'observation',
    bad: `description: >
  Reads one customer of the shop as it is now. Use this when you need a name or a state. Do not use this for orders; use list_orders instead. Returns
  the id, the name and the state.`,
    good: `description: >
  Reads one customer of the shop as it is now. Use this when you need a name or a state. Do not use this for orders; use list_orders instead. Returns
  the id, the name and the state. If it answers UPSTREAM_NOT_FOUND, there is no such customer.`,
  },
  check ({ description, at }) {
    return one(ERRORS.test(description) ? null : { pointer: at.description, message: 'say what to do after an error: "If it answers …, …"' })
  },
}
