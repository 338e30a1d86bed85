import { descriptionOf, parametersOf } from '../parameters.ts'
import { each, type Rule } from '../rule.ts'

const IDENTIFIER = /(^|_)(id|ids|uuid|ref)$|[a-z](Id|Ids)$/
const SOURCE = /\b(from|returned by|given by|named by|shown by|listed by|as .{1,60} (returns?|shows?|lists?|names?|gives?|has it))\b/i

export const identifierWithoutSource: Rule = {
  id: 'identifier-without-source',
  severity: 'warning',
  weighs: { category: 'parameters', cost: 10 },
  says: 'An identifier does not say where it comes from.',
  why: `A model that does not know where an id comes from makes one up. Name the action whose result holds it ("from list_orders"), or
who else gives it.`,
  example: {
    of: 'observation',
    bad: `input:
  properties:
    customer_id: {type: string, pattern: "^cus_[0-9]{1,12}$", maxLength: 16, description: Id of the customer}`,
    good: `input:
  properties:
    customer_id: {type: string, pattern: "^cus_[0-9]{1,12}$", maxLength: 16, description: "Id of the customer, from list_orders"}`,
  },
  check (contract, { contracts }) {
    const others = contracts.map(({ name }) => name).filter(name => name !== contract.name)
    const identifiers = parametersOf(contract).filter(({ name, schema }) => IDENTIFIER.test(name) && schema.const === undefined)
    return each(identifiers, ({ name, schema, pointer }) => {
      const description = descriptionOf(schema)
      if (SOURCE.test(description) || others.some(other => description.includes(other))) return null
      return { pointer, atKey: true, message: `"${name}" does not say where it comes from; name the action that returns it` }
    })
  },
}
