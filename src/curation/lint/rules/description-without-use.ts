import { one, type Rule } from '../rule.ts'

export const descriptionWithoutUse: Rule = {
  id: 'description-without-use',
  severity: 'warning',
  weighs: { category: 'description', cost: 20 },
  says: 'A description does not say when to use the action.',
  why: `What an action does is not yet when it is right. "Use this when …" names the situation in the words of whoever asks the agent,
and is the sentence that models match requests against.`,
  example: {
    of: 'observation',
    bad: `description: >
  Reads one customer of the shop as it is now. Do not use this for orders; use list_orders instead. Returns the id, the name and the state. If it
  answers UPSTREAM_NOT_FOUND, there is no such customer.`,
    good: `description: >
  Reads one customer of the shop as it is now. Use this when you need a name or a state. Do not use this for orders; use list_orders instead. Returns
  the id, the name and the state. If it answers UPSTREAM_NOT_FOUND, there is no such customer.`,
  },
  check ({ description, at }) {
    const good = /(?<!(do not|don't|never) )\buse (this|it)\b[^.;]{0,200}\b(when|to|for|after|before|if|where|once)\b/i.test(description)
    return one(good ? null : { pointer: at.description, message: 'say when it is right: "Use this when …"' })
  },
}
