import { isFreeText, parametersOf } from '../parameters.ts'
import { NOTHING, one, type Rule } from '../rule.ts'

export const freeTextOnlyInput: Rule = {
  id: 'free-text-only-input',
  severity: 'warning',
  weighs: { category: 'parameters', cost: 25 },
  says: 'All that an agent can send is free text.',
  why: `An action whose whole input is free text leaves its meaning to whoever reads the text: the model writes a sentence, and nothing
can check it. Give the parts names and types; an id gets a pattern, a choice an enum, a day a format.`,
  example: {
    of: 'tool',
    bad: `inputSchema:
  properties:
    account_id: {type: string, pattern: null, maxLength: 16, description: "The account, from list_accounts"}
    month: {type: string, pattern: null, maxLength: 7, description: The month}`,
    good: `inputSchema:
  properties:
    account_id: {type: string, pattern: "^acc_[0-9]{1,12}$", maxLength: 16, description: "Id of the account, from list_accounts"}`,
  },
  check (contract) {
    const leaves = parametersOf(contract).filter(({ holds }) => !holds)
    if (leaves.length === 0) return NOTHING
    const names = leaves.map(({ name }) => `"${name}"`).join(', ')
    const free = leaves.every(({ schema }) => isFreeText(schema))
    return one(free ? { pointer: contract.at.input, atKey: true, message: `all of the input is free text: ${names}` } : null)
  },
}
