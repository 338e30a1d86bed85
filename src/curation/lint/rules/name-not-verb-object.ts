import { one, type Rule } from '../rule.ts'
import { firstWord, isVerb } from '../verbs.ts'
import { shown } from '../prose.ts'

export const nameNotVerbObject: Rule = {
  id: 'name-not-verb-object',
  severity: 'warning',
  weighs: { category: 'naming', cost: 50 },
  says: 'A name is not verb_object in snake_case.',
  why: `The name is the part of a contract that is never cut. verb_object says what happens to what ("cancel_order"); a lone noun, a
lone verb or a camelCase word of the upstream's own jargon does not, and hyphens and dots are rewritten by clients.`,
  example: {
    of: 'tool',
    bad: 'name: monthlyStatement',
    good: 'name: get_monthly_statement',
  },
  check ({ name, description, at }) {
    const formed = /^[a-z][a-z0-9]*(_[a-z0-9]+)+$/.test(name)
    const verb = name.split('_')[0]!
    // No list has every verb: one that the description conjugates is one.
    const conjugated = [`${verb}s`, `${verb}es`, `${verb.replace(/y$/, '')}ies`].includes(firstWord(description).toLowerCase())
    if (formed && (isVerb(verb) || conjugated)) return one(null)
    return one({ pointer: at.name, message: `${shown(name)} is not verb_object, as in cancel_order` })
  },
}
