import { SchemaCompiler } from '../../../catalog/schema.ts'
import type { Contract } from '../contract.ts'
import { each, NOTHING, type Rule } from '../rule.ts'

/** The keywords that say something about a schema and nothing about values. */
const NOTES = ['$schema', '$id', 'examples', 'title']

export const exampleRefused: Rule = {
  id: 'example-refused',
  severity: 'error',
  weighs: { category: 'examples', cost: 100 },
  says: 'An example is refused by the input schema.',
  why: 'Examples are copied. One that its own schema refuses teaches every agent to fail. A sheet with such an example does not load.',
  example: {
    of: 'tool',
    bad: `inputSchema:
  examples: [{account_id: acc_1, month: January}]`,
    good: `inputSchema:
  examples: [{account_id: acc_1, month: "2027-01"}]`,
  },
  check (contract) {
    const checker = checkerOf(contract)
    if (checker === null || contract.examples.length === 0) return NOTHING
    return each([...contract.examples.entries()], ([index, { arguments: sent }]) => {
      const fault = checker.check(sent)
      const pointer = `${contract.at.examples}/${index}${contract.sheet === null ? '' : '/arguments'}${fault?.pointer ?? ''}`
      return fault === null ? null : { pointer, message: `the input schema refuses this example: ${fault.message}` }
    })
  },
}

/** null where the schema itself cannot be used, which is no fault of the example. */
function checkerOf ({ input }: Contract): ReturnType<SchemaCompiler['compile']> | null {
  try {
    return new SchemaCompiler().compile(Object.fromEntries(Object.entries(input).filter(([keyword]) => !NOTES.includes(keyword))))
  } catch {
    return null
  }
}
