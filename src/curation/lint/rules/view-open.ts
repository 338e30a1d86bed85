import { isObject } from '../../../catalog/catalog.ts'
import { hasType, nodesOfSchema } from '../parameters.ts'
import { any, NOTHING, type Rule } from '../rule.ts'

export const viewOpen: Rule = {
  id: 'view-open',
  severity: 'error',
  weighs: { category: 'safety', cap: 59 },
  says: 'A view shows names that the upstream chooses.',
  why: `The view is an allow-list. A map whose names the upstream chooses shows whatever it puts there next year, secrets included. Name
the fields; a real map of data is better shown as a list of name and value, bounded.`,
  example: {
    of: 'observation',
    bad: `result:
  schema:
    required: [customer_id, name, state, labels]
    properties: {labels: {type: object, additionalProperties: {type: string, maxLength: 20}}}
  view: {labels: {}}
examples:
  - {arguments: {customer_id: cus_1}, result: {customer_id: cus_1, name: Ada, state: active, labels: {}}}`,
    good: `result:
  schema:
    required: [customer_id, name, state, labels]
    properties: {labels: {type: array, maxItems: 5, items: {type: string, maxLength: 20}}}
  view: {labels: []}
examples:
  - {arguments: {customer_id: cus_1}, result: {customer_id: cus_1, name: Ada, state: active, labels: []}}`,
  },
  check ({ sheet, result, at }) {
    if (sheet === null || result === null) return NOTHING
    return any(nodesOfSchema(result, at.result).flatMap(({ schema, pointer }) => {
      const names = isObject(schema.additionalProperties) || schema.patternProperties !== undefined
      const open = hasType(schema, 'object') && schema.properties === undefined && schema.additionalProperties !== false
      return names || open ? [{ pointer, message: 'the upstream chooses the names that are shown here' }] : []
    }))
  },
}
