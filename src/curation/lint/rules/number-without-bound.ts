import { hasType, isChosen, nodesOf } from '../parameters.ts'
import { each, type Rule } from '../rule.ts'

export const numberWithoutBound: Rule = {
  id: 'number-without-bound',
  severity: 'note',
  weighs: { category: 'parameters', cost: 10 },
  says: 'A number in the input has no least or no greatest value.',
  why: `A quantity that may be minus one, or a million, is one that some agent will send. The bounds also tell a model the unit: an
amount of at most 100000000 is not in euros.`,
  example: {
    of: 'observation',
    bad: `input:
  required: [customer_id, limit]
  properties:
    limit: {type: integer, minimum: 1, description: How many rows}
examples:
  - {arguments: {customer_id: cus_1, limit: 5}, result: {customer_id: cus_1, name: Ada, state: active}}`,
    good: `input:
  required: [customer_id, limit]
  properties:
    limit: {type: integer, minimum: 1, maximum: 50, description: How many rows}
examples:
  - {arguments: {customer_id: cus_1, limit: 5}, result: {customer_id: cus_1, name: Ada, state: active}}`,
  },
  check (contract) {
    const numbers = nodesOf(contract).filter(({ schema }) => (hasType(schema, 'integer') || hasType(schema, 'number')) && !isChosen(schema))
    return each(numbers, ({ schema, pointer }) => {
      const missing = [
        ...(schema.minimum === undefined && schema.exclusiveMinimum === undefined ? ['minimum'] : []),
        ...(schema.maximum === undefined && schema.exclusiveMaximum === undefined ? ['maximum'] : []),
      ]
      return missing.length === 0 ? null : { pointer, message: `a number without ${missing.join(' and ')}` }
    })
  },
}
