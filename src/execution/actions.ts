// What a caller may call, asked without calling it: a page of the list, and one contract. What is listed is exactly what may be called.
import { Refusal } from '../errors.ts'
import { listing, type Ask, type Listing } from './answering.ts'
import { authenticate } from './authenticate.ts'
import { isRetired, listableActions, mayCall, unknownAction } from './capability.ts'
import { contractOf, listedActions, type ListQuery } from './contract.ts'
import type { Services } from './services.ts'

export function listActions (ask: Ask & ListQuery, services: Services): Promise<Listing> {
  return listing(ask, services, async () => {
    const caller = await authenticate(ask, services)
    const catalog = services.catalog()
    const { actions, nextCursor } = listedActions(catalog, listableActions(catalog, caller, services.now()), ask)
    return { actions, next_cursor: nextCursor }
  })
}

export function describeAction (ask: Ask & { readonly actionId: string }, services: Services): Promise<Listing> {
  return listing(ask, services, async () => {
    const caller = await authenticate(ask, services)
    const action = mayCall(services.catalog(), caller, ask.actionId)
    if (action === null) throw unknownAction(ask.actionId)
    if (isRetired(action, services.now())) {
      const use = action.sunset?.use ?? null
      throw Refusal.of('VERSION_RETIRED', use === null ? {} : { hint: `Use ${use} instead.` })
    }
    return { action: contractOf(action) }
  })
}
