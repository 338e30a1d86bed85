// What a surface for models asks beside the call itself: who calls, which actions are its tools, and the search for those that are not listed.
import type { Action, Catalog, JsonObject } from '../catalog/catalog.ts'
import { formOf, type Format } from '../tools/forms.ts'
import { toolOf, type Tool } from '../tools/tool.ts'
import { asking, listing, type Ask, type Asked, type Listing } from './answering.ts'
import { authenticate } from './authenticate.ts'
import type { Caller } from './call.ts'
import { listableActions, mayCall } from './capability.ts'
import { contractOf, pageOf, type ListQuery } from './contract.ts'
import type { Services } from './services.ts'

/** With more tools than this, models choose worse, and some clients cut the list without a word. */
export const LISTED_TOOLS_MAX = 20

export interface ToolPage {
  readonly tools: readonly Tool[]
  /** null: nothing is left. */
  readonly nextCursor: string | null
  /** There are more actions than are listed; they are searched for. */
  readonly partial: boolean
  /** A person is asked for some of them. */
  readonly consenting: boolean
}

export interface FoundActions {
  readonly actions: ReadonlyArray<JsonObject & { readonly tool: string }>
  readonly nextCursor: string | null
}

export interface Recognised {
  /** Seconds since the epoch. */
  readonly expiresAt: number
}

/** Verifies the access token and does nothing else. */
export function recognise (ask: Ask, services: Services): Promise<Asked<Recognised>> {
  return asking(ask, services, async () => ({ expiresAt: (await authenticate(ask, services)).expiresAt }))
}

/** The caller's tools, in the catalog's order. */
export function listTools (ask: Ask & { readonly limit: number, readonly cursor: string | null }, services: Services): Promise<Asked<ToolPage>> {
  return asking(ask, services, async () => {
    const caller = await authenticate(ask, services)
    const catalog = services.catalog()
    const all = listableActions(catalog, caller, services.now())
    const listed = all.length <= LISTED_TOOLS_MAX ? all : all.filter(action => isCore(action, catalog, caller))
    const { actions, nextCursor } = pageOf(catalog, listed, { query: null, effect: null, limit: ask.limit, cursor: ask.cursor })
    const consenting = services.people !== null && all.some(action => action.consent !== 'none')
    return { tools: actions.map(toolOf), nextCursor, partial: listed.length < all.length, consenting }
  })
}

const isCore = ({ id }: Action, catalog: Catalog, caller: Caller): boolean => caller.roles.some(role => catalog.roles.get(role)?.core.has(id) === true)

/**
 * Every tool of the caller, core or not, in the form of a provider, for whoever hands them to a model without MCP; beside it what each schema cannot
 * say.
 */
export function exportTools (ask: Ask & { readonly format: Format }, services: Services): Promise<Listing> {
  return listing(ask, services, async () => {
    const caller = await authenticate(ask, services)
    const actions = listableActions(services.catalog(), caller, services.now())
    const forms = actions.map(action => ({ action, ...formOf(toolOf(action), ask.format) }))
    return {
      format: ask.format,
      tools: forms.map(({ tool }) => tool),
      actions: Object.fromEntries(forms.map(({ action }) => [toolOf(action).name, action.id])),
      losses: forms.flatMap(({ action, losses }) => losses.map(loss => ({ tool: toolOf(action).name, ...loss }))),
    }
  })
}

/** Whole contracts, so that what is found can be called. */
export function searchActions (ask: Ask & ListQuery, services: Services): Promise<Asked<FoundActions>> {
  return asking(ask, services, async () => {
    const caller = await authenticate(ask, services)
    const catalog = services.catalog()
    const { actions, nextCursor } = pageOf(catalog, listableActions(catalog, caller, services.now()), ask)
    return { actions: actions.map(action => ({ tool: toolOf(action).name, ...contractOf(action) })), nextCursor }
  })
}

/** true: the caller's roles grant the action, but its token was made for fewer. A token with more could call it (RFC 6750 §3.1). */
export function isBeyondToken (ask: Ask & { readonly actionId: string }, services: Services): Promise<Asked<boolean>> {
  return asking(ask, services, async () => {
    const { roles, claimedActions } = await authenticate(ask, services)
    const catalog = services.catalog()
    return claimedActions !== null && !claimedActions.includes(ask.actionId) && mayCall(catalog, { roles, claimedActions: null }, ask.actionId) !== null
  })
}
