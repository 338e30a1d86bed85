// Step 5: object-level authorization on arguments and claims, before anything is read or sent.
import type { Action, Bindings, CallerView, JsonObject } from '../catalog/catalog.ts'
import { Refusal } from '../errors.ts'
import { Scoped, type Valid } from './call.ts'
import type { Services } from './services.ts'

export function requireScope (valid: Valid, services: Services): Scoped {
  const { action, call } = valid.capable
  const bindings = initialBindings(valid.args, call.caller.view, services.timestamp())
  if (!isInScope(action, bindings)) throw Refusal.of('OUT_OF_SCOPE')
  return new Scoped(valid, bindings)
}

export function initialBindings (args: JsonObject, caller: CallerView, now: string): Bindings {
  return { args, caller, reads: {}, values: {}, target: null, attempt: null, response: null, now }
}

export function isInScope (action: Action, bindings: Bindings): boolean {
  for (const rule of action.scope) {
    if (!rule.holds(bindings)) return false
  }
  return true
}
