import { parametersOf } from '../parameters.ts'
import { any, type Found, type Rule } from '../rule.ts'
import { portabilityOf } from '../portability.ts'

export const schemaNotPortable: Rule = {
  id: 'schema-not-portable',
  severity: 'warning',
  weighs: { category: 'safety', cap: 89 },
  says: 'The input schema holds what a provider of models refuses, or drops.',
  why: `OpenAI's strict mode, Anthropic and Gemini each take a subset of JSON Schema. What they refuse fails the whole request, with
every other action in it; what they drop is a rule that the model never hears. The broker holds the full schema whatever a provider
makes of it. Each finding names the provider and what would be lost. Bounds and patterns travel as they are, and where a provider drops
them the description should say them.`,
  example: {
    of: 'observation',
    bad: `input:
  properties:
    states:
      type: array
      maxItems: 2
      uniqueItems: true
      description: Only these states; without it all
      items: {type: string, enum: [open, closed]}
examples:
  - {arguments: {customer_id: cus_1, states: [open]}, result: {customer_id: cus_1, name: Ada, state: active}}`,
    good: `input:
  properties:
    states:
      type: array
      maxItems: 2
      description: Only these states; without it all
      items: {type: string, enum: [open, closed]}
examples:
  - {arguments: {customer_id: cus_1, states: [open]}, result: {customer_id: cus_1, name: Ada, state: active}}`,
  },
  check (contract) {
    const names = parametersOf(contract).flatMap(({ name, pointer }): Found[] => /^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(name)
      ? []
      : [{ pointer, atKey: true, message: `Gemini and Anthropic refuse the name "${name}"` }])
    return any([...portabilityOf(contract), ...names])
  },
}
