// Step 3: which action, and may this caller call it at all. An action that does not exist and one that is not granted answer alike.
import { grantedActions, type Action, type Catalog } from '../catalog/catalog.ts'
import { Refusal } from '../errors.ts'
import type { Call, Caller, Capable } from './call.ts'
import type { CallRecord } from './record.ts'
import type { Services } from './services.ts'
import { reachState } from './state.ts'

/** The hint rests on the form of the name alone, so it tells nothing of what there is. */
export function unknownAction (asked: string): Refusal {
  return Refusal.of('UNKNOWN_ACTION', /\.v[1-9]\d*$/.test(asked) ? {} : { hint: 'The name of an action ends with its version: NAME.v1.' })
}

export async function requireCapability (call: Call, record: CallRecord, services: Services): Promise<Capable> {
  const { caller } = call
  const catalog = services.catalog()
  const action = mayCall(catalog, caller, call.arrival.actionId)
  if (action === null) throw unknownAction(call.arrival.actionId)
  record.found(action)
  if (isRetired(action, services.now())) {
    const use = action.sunset?.use ?? null
    throw Refusal.of('VERSION_RETIRED', use === null ? {} : { hint: `Use ${use} instead.` })
  }
  if (needsRun(action) && caller.run === null) throw Refusal.of('RUN_REQUIRED')
  const { runs } = services
  if (!runs.isFresh()) await reachState(services, 'stoppedRuns', () => runs.refresh())
  if (runs.isStopped(caller.runKey)) throw Refusal.of('RUN_STOPPED')
  const { refusalsPerRun } = action.limits
  if (refusalsPerRun !== null) {
    const refusals = await reachState(services, 'refusals', () => runs.refusals(caller.tag, caller.runKey, action.id))
    if (refusals >= refusalsPerRun) throw Refusal.of('TOO_MANY_REFUSALS')
  }
  // Where nobody can say yes, nothing may be read or sent for an action that needs it.
  const canBeAsked = services.people !== null && action.requirement.roles.length > 0
  if (action.consent !== 'none' && !canBeAsked) throw Refusal.of('CONSENT_UNAVAILABLE')
  return { call, action, catalog }
}

/** The action of this id where the caller's roles and its token grant it; what is listed is exactly what this finds. */
export function mayCall (catalog: Catalog, caller: Pick<Caller, 'roles' | 'claimedActions'>, actionId: string): Action | null {
  const action = catalog.actions.get(actionId)
  if (action === undefined) return null
  const granted = caller.roles.some(role => catalog.roles.get(role)?.actions.has(actionId) === true)
  return granted && (caller.claimedActions === null || caller.claimedActions.includes(actionId)) ? action : null
}

/** What leaves a record does, and so does what a person is asked for: a yes is given to a run. */
const needsRun = (action: Action): boolean => action.write || action.consent !== 'none'

/** Without a run only observations that nobody is asked for are callable, so only they are listed. */
export function callableActions (catalog: Catalog, caller: Pick<Caller, 'roles' | 'claimedActions' | 'run'>): readonly Action[] {
  const granted = grantedActions(catalog, caller.roles, caller.claimedActions)
  return caller.run === null ? granted.filter(action => !needsRun(action)) : granted
}

/** What of it is listed: a version whose time is over is not. */
export function listableActions (catalog: Catalog, caller: Pick<Caller, 'roles' | 'claimedActions' | 'run'>, now: Date): readonly Action[] {
  return callableActions(catalog, caller).filter(action => !isRetired(action, now))
}

/** `sunset.after` is the last day, in UTC, on which the version answers. */
export function isRetired (action: Action, now: Date): boolean {
  return action.sunset !== null && now.toISOString().slice(0, 10) > action.sunset.after
}
