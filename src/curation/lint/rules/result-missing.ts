import { NOTHING, one, type Rule } from '../rule.ts'

export const resultMissing: Rule = {
  id: 'result-missing',
  severity: 'warning',
  weighs: { category: 'practice', cost: 40 },
  says: 'A contract does not say what comes back.',
  why: `An observation without a result tells an agent nothing, and a tool without an output schema tells it whatever the upstream
happened to answer. What is declared can be bounded, checked and relied on by the next step.`,
  example: {
    of: 'tool',
    bad: 'outputSchema: null',
    good: `outputSchema:
  type: object
  properties: {statement_id: {type: string, maxLength: 40}, closing_balance_minor: {type: integer}}`,
  },
  check ({ write, result, at, sheet }) {
    if (sheet !== null && write === true) return NOTHING
    return one(result === null ? { pointer: at.whole, atKey: true, message: 'nothing says what comes back' } : null)
  },
}
