import { one, type Rule } from '../rule.ts'

const WORDS_MIN = 10
const WORDS_MAX = 200

export const descriptionLength: Rule = {
  id: 'description-length',
  severity: 'warning',
  weighs: { category: 'description', cost: 20 },
  says: 'A description has fewer than 10 or more than 200 words.',
  why: `The description is all that a model has to choose by. Below ten words it cannot say what the action is for and what it is not
for; above two hundred it crowds out the descriptions of the other actions, and what stands in its middle is not read.`,
  example: {
    of: 'observation',
    bad: 'description: Reads one customer of the shop.',
    good: `description: >
  Reads one customer of the shop as it is now. Use this when you need a name or a state. Do not use this for orders; use list_orders instead. Returns
  the id, the name and the state. If it answers UPSTREAM_NOT_FOUND, there is no such customer.`,
  },
  check ({ description, at }) {
    const words = description.split(/\s+/).filter(word => word !== '').length
    const message = `${words} words; a model chooses by ${WORDS_MIN} to ${WORDS_MAX}`
    return one(words < WORDS_MIN || words > WORDS_MAX ? { pointer: at.description, message } : null)
  },
}
