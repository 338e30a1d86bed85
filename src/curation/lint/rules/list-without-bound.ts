import { isObject, type JsonObject } from '../../../catalog/catalog.ts'
import { hasType, isChosen, nodesOf } from '../parameters.ts'
import { each, type Found, type Rule } from '../rule.ts'

/** How many different items a list of chosen ones can have. */
function choicesOf (schema: JsonObject): number | null {
  if (schema.uniqueItems !== true || !isObject(schema.items)) return null
  return Array.isArray(schema.items.enum) ? schema.items.enum.length : null
}

export const listWithoutBound: Rule = {
  id: 'list-without-bound',
  severity: 'warning',
  weighs: { category: 'parameters', cost: 15 },
  says: 'A list in the input has no greatest length.',
  why: `A list without maxItems makes one call a bulk operation whenever a model thinks of it. Where the items are unique and chosen
from an enum, --fix adds as many as there are.`,
  example: {
    of: 'observation',
    bad: `input:
  properties:
    states: {type: array, description: "Only orders in these states; without it all", items: {type: string, enum: [open, closed]}}
examples:
  - {arguments: {customer_id: cus_1, states: [open]}, result: {customer_id: cus_1, name: Ada, state: active}}`,
    good: `input:
  properties:
    states: {type: array, maxItems: 2, description: "Only orders in these states; without it all", items: {type: string, enum: [open, closed]}}
examples:
  - {arguments: {customer_id: cus_1, states: [open]}, result: {customer_id: cus_1, name: Ada, state: active}}`,
  },
  check (contract) {
    const lists = nodesOf(contract).filter(({ schema }) => hasType(schema, 'array') && !isChosen(schema))
    return each(lists, ({ schema, pointer }): Found | null => {
      if (typeof schema.maxItems === 'number') return null
      const choices = choicesOf(schema)
      return {
        pointer,
        message: 'a list of any length; give maxItems',
        ...(choices !== null && { fix: { kind: 'add', pointer, name: 'maxItems', value: choices } }),
      }
    })
  },
}
