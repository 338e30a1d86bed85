import { parametersOf } from '../parameters.ts'
import { each, type Rule } from '../rule.ts'

const TYPING = ['type', 'enum', 'const', '$ref', 'anyOf', 'oneOf', 'allOf']

export const argumentUntyped: Rule = {
  id: 'argument-untyped',
  severity: 'error',
  weighs: { category: 'parameters', cost: 20 },
  says: 'An argument has no type.',
  why: `Without a type a model sends what looks right: "3" for 3, a list for one, a sentence for a date. A sheet with such an argument
does not load.`,
  example: {
    of: 'tool',
    bad: `inputSchema:
  properties:
    account_id: {type: null, pattern: null, maxLength: null, description: "Id of the account, from list_accounts"}`,
    good: `inputSchema:
  properties:
    account_id: {type: string, pattern: "^acc_[0-9]{1,12}$", maxLength: 16, description: "Id of the account, from list_accounts"}`,
  },
  check (contract) {
    return each(parametersOf(contract), ({ name, schema, pointer }) =>
      TYPING.some(keyword => schema[keyword] !== undefined) ? null : { pointer, atKey: true, message: `"${name}" has no type` })
  },
}
