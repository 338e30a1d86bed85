import { descriptionOf, parametersOf } from '../parameters.ts'
import { any, NOTHING, type Found, type Rule } from '../rule.ts'
import { ABSENCE } from './optional-without-meaning.ts'

export const requiredNotHonest: Rule = {
  id: 'required-not-honest',
  severity: 'warning',
  weighs: { category: 'parameters', cost: 15 },
  says: 'The list of required arguments does not say what is really needed.',
  why: `Models leave out what they may leave out. An argument that is described as required and is not in \`required\`, one that is
described as optional and is, or a schema that requires nothing at all and does not say why, is where the missing arguments of malformed
calls come from.`,
  example: {
    of: 'tool',
    bad: `inputSchema:
  required: null`,
    good: `inputSchema:
  required: [account_id, month]`,
  },
  check (contract) {
    const parameters = parametersOf(contract)
    if (parameters.length === 0) return NOTHING
    const found = parameters.flatMap(({ name, schema, pointer, required }): Found[] => {
      const description = descriptionOf(schema)
      if (required && /\boptional\b/i.test(description)) {
        return [{ pointer, atKey: true, message: `"${name}" is described as optional and is required` }]
      }
      if (!required && /\b(is required|\(required\)|must be given|mandatory)\b/i.test(description)) {
        return [{ pointer, atKey: true, message: `"${name}" is described as required and is optional` }]
      }
      return []
    })
    const none = parameters.every(({ required }) => !required) && !parameters.every(({ schema }) => ABSENCE.test(descriptionOf(schema)))
    if (none) found.push({ pointer: contract.at.input, atKey: true, message: 'no argument is required, and not all say what leaving them out means' })
    return any(found)
  },
}
