// Step 4: the arguments match the closed input schema. Nothing is coerced, defaulted or dropped.
import { isObject } from '../catalog/catalog.ts'
import { canonicalObject } from '../consent/canonical.ts'
import { Refusal } from '../errors.ts'
import { withoutAbsent } from '../tools/strict-schema.ts'
import { toolOf } from '../tools/tool.ts'
import type { Capable, Valid } from './call.ts'

export function validateArguments (capable: Capable): Valid {
  const { call, action } = capable
  // Not a default: what such a model means by null was agreed on when its tools were exported.
  const value = call.arrival.nullIsAbsent ? withoutAbsent(toolOf(action).inputSchema, call.arguments) : call.arguments
  const fault = action.checkArguments(value)
  if (fault !== null) {
    throw Refusal.of('INVALID_ARGUMENTS', { message: fault.message, field: fault.pointer, rule: fault.rule })
  }
  if (!isObject(value)) throw Refusal.of('INVALID_ARGUMENTS', { field: '', rule: 'type' })
  // What a person approves is stored in canonical order and carried out from there: it is shown and built in that order from the beginning.
  return { capable, args: action.consent === 'call' ? canonicalObject(value) : value }
}
