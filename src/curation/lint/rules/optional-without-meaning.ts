import { descriptionOf, parametersOf } from '../parameters.ts'
import { each, type Rule } from '../rule.ts'

/** What says what it means that an argument is not there. */
export const ABSENCE = new RegExp([
  'without (it|this)', '(left|leave|leaving)( it| this)? out', 'omit(ted|s|ting)?', 'absent', 'not given', 'by default', 'default(s|ing)? to',
  'unless', 'otherwise', 'unchanged',
].map(words => `\\b${words}\\b`).join('|'), 'i')

export const optionalWithoutMeaning: Rule = {
  id: 'optional-without-meaning',
  severity: 'warning',
  weighs: { category: 'parameters', cost: 10 },
  says: 'An optional argument does not say what leaving it out means.',
  why: `Where it is not said, a model fills optional arguments in to be on the safe side: with null, with "all", with a guess. Say what
happens without it.`,
  example: {
    of: 'observation',
    bad: `input:
  properties:
    states: {type: array, maxItems: 2, description: Only orders in these states, items: {type: string, enum: [open, closed]}}
examples:
  - {arguments: {customer_id: cus_1, states: [open]}, result: {customer_id: cus_1, name: Ada, state: active}}`,
    good: `input:
  properties:
    states: {type: array, maxItems: 2, description: "Only orders in these states; without it all", items: {type: string, enum: [open, closed]}}
examples:
  - {arguments: {customer_id: cus_1, states: [open]}, result: {customer_id: cus_1, name: Ada, state: active}}`,
  },
  check (contract) {
    return each(parametersOf(contract).filter(({ required }) => !required), ({ name, schema, pointer }) =>
      ABSENCE.test(descriptionOf(schema)) ? null : { pointer, atKey: true, message: `"${name}" may be left out, and nothing says what that means` })
  },
}
