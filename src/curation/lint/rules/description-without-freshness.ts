import { NOTHING, one, type Rule } from '../rule.ts'

const FRESHNESS = new RegExp([
  'as of', 'now', 'today', 'at (this|the) (moment|time)', 'at most \\d+ \\w+ old', 'current(ly)?', 'live', 'up to date', 'cached', 'delayed', 'stale',
  'updated', 'refreshed', 'latest', 'in real time', 'at the end of (the|each|every)',
].map(words => `\\b${words}\\b`).join('|'), 'i')

export const descriptionWithoutFreshness: Rule = {
  id: 'description-without-freshness',
  severity: 'note',
  weighs: { category: 'description', cost: 10 },
  says: 'The description of an observation does not say how fresh its answer is.',
  why: `An agent that does not know the age of an answer either asks again before every step or decides on yesterday's state. One word
is enough: "as it is now", "updated every night".`,
  example: {
    of: 'observation',
    bad: `description: >
  Reads one customer of the shop. Use this when you need a name or a state. Do not use this for orders; use list_orders instead. Returns the id, the
  name and the state. If it answers UPSTREAM_NOT_FOUND, there is no such customer.`,
    good: `description: >
  Reads one customer of the shop as it is now. Use this when you need a name or a state. Do not use this for orders; use list_orders instead. Returns
  the id, the name and the state. If it answers UPSTREAM_NOT_FOUND, there is no such customer.`,
  },
  check ({ description, at, write }) {
    if (write !== false) return NOTHING
    const message = 'say how fresh it is: "as it is now", "updated every night"'
    return one(FRESHNESS.test(description) ? null : { pointer: at.description, message })
  },
}
