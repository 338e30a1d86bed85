// What a caller may call: the list, and the whole contract of one action. The same snapshot and the same rule as the call itself (invariant 9).
import type { Effect } from '../catalog/catalog.ts'
import { Refusal } from '../errors.ts'
import { listing, type Ask, type Listing } from './answering.ts'
import { authenticate } from './authenticate.ts'
import { callableActions, mayCall } from './capability.ts'
import { contractOf, listedActions } from './contract.ts'
import type { Services } from './services.ts'

export interface ListAsk extends Ask {
  readonly query: string | null
  readonly effect: Effect | null
  readonly limit: number
  readonly cursor: string | null
}

export async function listActions (ask: ListAsk, services: Services): Promise<Listing> {
  return listing(ask, async () => {
    const caller = await authenticate(ask, services)
    const catalog = services.catalog()
    const page = listedActions(catalog, callableActions(catalog, caller), ask)
    return { actions: page.actions, next_cursor: page.nextCursor }
  })
}

export async function describeAction (ask: Ask & { readonly actionId: string }, services: Services): Promise<Listing> {
  return listing(ask, async () => {
    const caller = await authenticate(ask, services)
    const action = mayCall(services.catalog(), caller, ask.actionId)
    if (action === null) throw Refusal.of('UNKNOWN_ACTION')
    return { action: contractOf(action) }
  })
}
