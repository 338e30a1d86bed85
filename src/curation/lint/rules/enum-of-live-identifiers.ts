import { nodesOf } from '../parameters.ts'
import { shown } from '../prose.ts'
import { any, NOTHING, type Rule } from '../rule.ts'

const IDENTIFIERS = [
  /^[a-z]{2,8}[_-][A-Za-z0-9]*[0-9][A-Za-z0-9]*$/,
  /^[0-9]{4,}$/,
  /^[0-9a-f]{8}-[0-9a-f]{4}-/i,
  /^(?=.*[0-9])(?=.*[a-f])[0-9a-f]{12,}$/i,
  /^[^@\s]+@[^@\s]+\.[a-z]+$/i,
]

export const enumOfLiveIdentifiers: Rule = {
  id: 'enum-of-live-identifiers',
  severity: 'warning',
  weighs: { category: 'parameters', cost: 15 },
  says: 'An enum lists identifiers of objects that come and go.',
  why: `Customers, accounts and machines are made and deleted while the sheet stays: the enum offers what is gone, hides what is new,
and shows ids to every agent that may list the action. Take a pattern, and an action that lists them; who may use which belongs into
scope.`,
  example: {
    of: 'observation',
    bad: `input:
  properties:
    customer_id: {enum: [cus_1001, cus_1002], type: string, pattern: null, maxLength: null, description: "Id of the customer, from list_orders"}
examples:
  - {arguments: {customer_id: cus_1001}, result: {customer_id: cus_1001, name: Ada, state: active}}`,
    good: `input:
  properties:
    customer_id: {type: string, pattern: "^cus_[0-9]{1,12}$", maxLength: 16, description: "Id of the customer, from list_orders"}`,
  },
  check (contract) {
    const enums = nodesOf(contract).filter(({ schema }) => Array.isArray(schema.enum))
    if (enums.length === 0) return NOTHING
    return any(enums.flatMap(({ schema, pointer }) => {
      const texts = (schema.enum as unknown[]).filter(value => typeof value === 'string')
      const live = texts.filter(text => IDENTIFIERS.some(form => form.test(text)))
      if (live.length === 0 || live.length * 2 < texts.length) return []
      const message = `${shown(live[0]!)} looks like the id of an object that can go; take a pattern and an action that lists them`
      return [{ pointer: `${pointer}/enum`, message }]
    }))
  },
}
