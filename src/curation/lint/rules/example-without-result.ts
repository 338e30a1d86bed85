import { each, NOTHING, type Rule } from '../rule.ts'

export const exampleWithoutResult: Rule = {
  id: 'example-without-result',
  severity: 'note',
  weighs: { category: 'examples', cost: 30 },
  says: 'An example shows a call and not what came of it.',
  why: `The result is the half of an example that shows units, states and what an id looks like: what the next call is made of.`,
  example: {
    of: 'observation',
    bad: `examples:
  - {arguments: {customer_id: cus_1001}}`,
    good: `examples:
  - {arguments: {customer_id: cus_1001}, result: {customer_id: cus_1001, name: Ada, state: active}}`,
  },
  check ({ sheet, result, examples, at }) {
    if (sheet === null || result === null) return NOTHING
    return each([...examples.entries()], ([index, example]) =>
      example.result === undefined ? { pointer: `${at.examples}/${index}`, message: 'the result of this example is missing' } : null)
  },
}
