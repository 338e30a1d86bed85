import { isObject, type Json } from '../../../catalog/catalog.ts'
import { parametersOf } from '../parameters.ts'
import { each, NOTHING, type Rule } from '../rule.ts'

export const argumentNeverShown: Rule = {
  id: 'argument-never-shown',
  severity: 'note',
  weighs: { category: 'examples', cost: 20 },
  says: 'An argument stands in no example.',
  why: `Optional arguments and those within objects are the ones that calls get wrong, and the ones that examples leave out. Show each
at least once.`,
  example: {
    of: 'observation',
    bad: `input:
  properties:
    limit: {type: integer, minimum: 1, maximum: 50, description: "How many rows; without it 20"}
examples:
  - {arguments: {customer_id: cus_1001}, result: {customer_id: cus_1001, name: Ada, state: active}}`,
    good: `input:
  properties:
    limit: {type: integer, minimum: 1, maximum: 50, description: "How many rows; without it 20"}
examples:
  - {arguments: {customer_id: cus_1001, limit: 5}, result: {customer_id: cus_1001, name: Ada, state: active}}`,
  },
  check (contract) {
    if (contract.examples.length === 0) return NOTHING
    const shown = new Set(contract.examples.flatMap(example => [...namesIn(example.arguments)]))
    return each(parametersOf(contract), ({ name, pointer }) =>
      shown.has(name) ? null : { pointer, atKey: true, message: `no example shows "${name}"` })
  },
}

function * namesIn (value: Json): Generator<string> {
  if (Array.isArray(value)) for (const item of value) yield * namesIn(item as Json)
  if (!isObject(value)) return
  for (const [name, inner] of Object.entries(value)) {
    yield name
    yield * namesIn(inner)
  }
}
