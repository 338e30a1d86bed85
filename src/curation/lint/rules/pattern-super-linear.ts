import { backtracking } from '../backtracking.ts'
import { nodesOf } from '../parameters.ts'
import { any, NOTHING, type Found, type Rule } from '../rule.ts'

/** Below it, the square of the length is nothing. */
const LENGTH_HARMLESS = 1_000

export const patternSuperLinear: Rule = {
  id: 'pattern-super-linear',
  severity: 'error',
  weighs: { category: 'safety', cap: 69 },
  says: 'A pattern takes more than linear time in an engine that backtracks.',
  why: `The broker runs patterns in linear time, whatever they are. Agents' runtimes read the same contract and run the same pattern
with engines that backtrack: there \`^(a+)+$\` stands still on thirty characters. Write it so that every text is taken in one way only.`,
  example: {
    of: 'observation',
    bad: `input:
  properties:
    customer_id: {type: string, pattern: "^(cus_)?([a-z0-9]+)*$", maxLength: 16, description: "Id of the customer, from list_orders"}`,
    good: `input:
  properties:
    customer_id: {type: string, pattern: "^(cus_)?[A-Z0-9]*$", maxLength: 16, description: "Id of the customer, from list_orders"}
examples:
  - {arguments: {customer_id: cus_1}, result: {customer_id: cus_1, name: Ada, state: active}}`,
  },
  check (contract) {
    const patterns = nodesOf(contract).filter(({ schema }) => typeof schema.pattern === 'string')
    if (patterns.length === 0) return NOTHING
    return any(patterns.flatMap(({ schema, pointer }): Found[] => {
      const growth = backtracking(schema.pattern as string)
      const harmless = growth === 'polynomial' && typeof schema.maxLength === 'number' && schema.maxLength <= LENGTH_HARMLESS
      return growth === null || harmless ? [] : [{ pointer: `${pointer}/pattern`, message: `${growth} time in an engine that backtracks` }]
    }))
  },
}
