// Step 4: the arguments match the closed input schema. Nothing is coerced, defaulted or dropped.
import { isObject } from '../catalog/catalog.ts'
import { Refusal } from '../errors.ts'
import type { Capable, Valid } from './call.ts'

export function validateArguments (capable: Capable): Valid {
  const value = capable.call.arguments
  const fault = capable.action.checkArguments(value)
  if (fault !== null) {
    throw Refusal.of('INVALID_ARGUMENTS', { message: fault.message, field: fault.pointer, rule: fault.rule })
  }
  if (!isObject(value)) throw Refusal.of('INVALID_ARGUMENTS', { field: '', rule: 'type' })
  return { capable, args: value }
}
