import { any, type Found, type Rule } from '../rule.ts'
import { firstWord, VAGUE, verbOf } from '../verbs.ts'

export const vagueVerb: Rule = {
  id: 'vague-verb',
  severity: 'warning',
  weighs: { category: 'naming', cost: 40 },
  says: 'A name or title begins with a verb that says nothing, such as manage, process or handle.',
  why: `"Manage", "process", "handle", "do" and "execute" fit everything, so a model tries the action for everything. They also hide
that one action does several things with different consequences. Name the one thing; where there are several, make several actions.`,
  example: {
    of: 'tool',
    bad: 'title: Handle monthly statements',
    good: 'title: Read a monthly statement',
  },
  check ({ name, title, description, at }) {
    const places = [
      [at.name, name.split(/[_.-]|(?=[A-Z])/)[0]!],
      [at.title, firstWord(title ?? '')],
      [at.description, firstWord(description)],
    ] as const
    return any(places.flatMap(([pointer, word]): Found[] => {
      const verb = verbOf(word)
      return verb !== null && VAGUE.has(verb) ? [{ pointer, message: `"${verb}" says nothing; name what happens` }] : []
    }))
  },
}
