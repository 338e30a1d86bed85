import { one, type Rule } from '../rule.ts'

export const exampleMissing: Rule = {
  id: 'example-missing',
  severity: 'warning',
  weighs: { category: 'examples', cost: 100 },
  says: 'There is no example of a call.',
  why: `One call with its result says more about nesting, units and formats than the schema does, and it is checked at load, so it stays
true. Of a tool, examples stand in the \`examples\` of its input schema.`,
  example: {
    of: 'observation',
    bad: 'examples: null',
    good: `examples:
  - {arguments: {customer_id: cus_1001}, result: {customer_id: cus_1001, name: Ada, state: active}}`,
  },
  check ({ examples, at }) {
    return one(examples.length === 0 ? { pointer: at.whole, atKey: true, message: 'no example shows a call' } : null)
  },
}
