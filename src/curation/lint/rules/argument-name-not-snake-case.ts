import { parametersOf } from '../parameters.ts'
import { each, type Rule } from '../rule.ts'

export const argumentNameNotSnakeCase: Rule = {
  id: 'argument-name-not-snake-case',
  severity: 'note',
  weighs: { category: 'naming', cost: 20 },
  says: 'The name of an argument is not in snake_case, or is one letter.',
  why: `One way of writing names in all actions: a model that has just sent customer_id sends customer_id again, and does not have to
guess customerId, CustomerID or cid. The names of the upstream stay in the request, where the sheet maps them.`,
  example: {
    of: 'tool',
    bad: `inputSchema:
  properties: {Month: {type: string, pattern: "^[0-9]{4}-[0-9]{2}$", maxLength: 7, description: "The month; without it the last one"}}`,
    good: `inputSchema:
  properties: {day: {type: string, format: date, description: "The day; without it the last of the month"}}
  examples: [{account_id: acc_1, month: 2027-01, day: 2027-01-31}]`,
  },
  check (contract) {
    return each(parametersOf(contract), ({ name, pointer }) =>
      /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(name) && name.length > 1 ? null : { pointer, atKey: true, message: `"${name}" is not in snake_case` })
  },
}
