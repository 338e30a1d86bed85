import { descriptionOf, parametersOf } from '../parameters.ts'
import { each, type Rule } from '../rule.ts'

export const argumentWithoutDescription: Rule = {
  id: 'argument-without-description',
  severity: 'warning',
  weighs: { category: 'parameters', cost: 25 },
  says: 'An argument has no description.',
  why: `A name and a type leave open what belongs there: whose id, in which unit, in which zone. Most malformed arguments are good
values of something else.`,
  example: {
    of: 'observation',
    bad: `input:
  properties:
    customer_id: {type: string, pattern: "^cus_[0-9]{1,12}$", maxLength: 16, description: null}`,
    good: `input:
  properties:
    customer_id: {type: string, pattern: "^cus_[0-9]{1,12}$", maxLength: 16, description: "Id of the customer, from list_orders"}`,
  },
  check (contract) {
    return each(parametersOf(contract), ({ name, schema, pointer }) => {
      const description = descriptionOf(schema)
      const bare = description.toLowerCase().replaceAll(/[^a-z0-9]/g, '') === name.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
      if (description === '') return { pointer, atKey: true, message: `"${name}" has no description` }
      return bare ? { pointer, atKey: true, message: `the description of "${name}" only repeats its name` } : null
    })
  },
}
