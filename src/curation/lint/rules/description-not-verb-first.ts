import { one, type Rule } from '../rule.ts'
import { firstWord, verbOf } from '../verbs.ts'
import { shown } from '../prose.ts'

/** They end like a verb and are none. */
const NO_VERBS = new Set(['this', 'is', 'its', 'was', 'has', 'does', 'as', 'always', 'sometimes', 'lets', 'allows', 'enables', 'helps', 'provides'])

export const descriptionNotVerbFirst: Rule = {
  id: 'description-not-verb-first',
  severity: 'note',
  weighs: { category: 'description', cost: 10 },
  says: 'A description does not begin with the verb of what it does.',
  why: `Lists of actions are cut and skimmed. A description whose first word is the verb ("Replaces the …") says what happens before it
is cut; one that begins with "This action allows you to" says nothing in its first six words.`,
  example: {
    of: 'observation',
    bad: `description: >
  This action allows you to read one customer as it is now. Use this when you need a name or a state. Do not use this for orders; use list_orders
  instead. Returns the id, the name and the state. If it answers UPSTREAM_NOT_FOUND, there is no such customer.`,
    good: `description: >
  Reads one customer as it is now. Use this when you need a name or a state. Do not use this for orders; use list_orders instead. Returns the id, the
  name and the state. If it answers UPSTREAM_NOT_FOUND, there is no such customer.`,
  },
  check ({ description, at }) {
    const first = firstWord(description)
    const lower = first.toLowerCase()
    const good = verbOf(first) !== null || (/^[a-z]+s$/.test(lower) && !NO_VERBS.has(lower))
    return one(good ? null : { pointer: at.description, message: `begins with ${shown(first)}; begin with what it does, as in "Replaces the …"` })
  },
}
