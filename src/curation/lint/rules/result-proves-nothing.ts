import { parametersOfSchema } from '../parameters.ts'
import { NOTHING, one, type Rule } from '../rule.ts'

const PROOF = /(^|_|[a-z])(id|uuid|version|state|status|serial|etag|revision|number|reference|key)$/i

export const resultProvesNothing: Rule = {
  id: 'result-proves-nothing',
  severity: 'warning',
  weighs: { category: 'practice', cost: 40 },
  says: 'The result of a write holds no id, version or state.',
  why: `An agent that hears only "ok" cannot show what it did, cannot look it up later, and says "done" of what never happened. One id,
version or state from the upstream's own answer is proof that can be checked.`,
  example: {
    of: 'write',
    bad: `result:
  schema: {type: object, additionalProperties: false, properties: {customer_id: null, new_version: null, done: {type: boolean}}, required: [done]}
  view: {customer_id: null, new_version: null, done: true}
examples:
  - {arguments: {customer_id: cus_1, city: Cork}, result: {done: true}}`,
    good: `result:
  schema: {type: object, additionalProperties: false, properties: {customer_id: null, new_version: {type: integer}}, required: [new_version]}
  view: {customer_id: null, new_version: "\${response.body.version}"}
examples:
  - {arguments: {customer_id: cus_1, city: Cork}, result: {new_version: 4}}`,
  },
  check ({ write, result, at, sheet }) {
    if (write !== true) return NOTHING
    const pointer = result === null ? at.whole : at.result
    if (result === null && sheet === null) return NOTHING
    const proves = result !== null && parametersOfSchema(result, at.result).some(({ name }) => PROOF.test(name))
    return one(proves ? null : { pointer, atKey: true, message: 'nothing in the result proves what was done: show an id, a version or a state' })
  },
}
