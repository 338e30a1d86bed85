import { hasShortFormat, hasType, isChosen, nodesOf } from '../parameters.ts'
import { longestMatch } from '../longest-match.ts'
import { each, type Found, type Rule } from '../rule.ts'

export const stringWithoutBound: Rule = {
  id: 'string-without-bound',
  severity: 'warning',
  weighs: { category: 'parameters', cost: 15 },
  says: 'A string in the input has no greatest length.',
  why: `What is not bounded here is bounded by the upstream, in its own way and after the call has cost something; and it is where a
model puts a whole document. Give maxLength, an enum, or a format such as date or uuid. Where a pattern has a longest match, --fix adds
its length.`,
  example: {
    of: 'write',
    bad: `input:
  properties:
    city: {type: string, minLength: 1, maxLength: null, description: The city}`,
    good: `input:
  properties:
    city: {type: string, minLength: 1, maxLength: 100, description: The city}`,
  },
  check (contract) {
    const strings = nodesOf(contract).filter(({ schema }) => hasType(schema, 'string'))
    return each(strings, ({ schema, pointer }): Found | null => {
      if (typeof schema.maxLength === 'number' || isChosen(schema) || hasShortFormat(schema)) return null
      const longest = typeof schema.pattern === 'string' ? longestMatch(schema.pattern) : null
      return {
        pointer,
        message: 'a string of any length; give maxLength',
        ...(longest !== null && { fix: { kind: 'add', pointer, name: 'maxLength', value: longest } }),
      }
    })
  },
}
