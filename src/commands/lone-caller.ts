// Who makes a call that no broker is asked for: read from flags as a broker reads it from a token.
import { randomUUID } from 'node:crypto'
import type { Action, Catalog } from '../catalog/catalog.ts'
import type { Arrival, Caller } from '../execution/call.ts'
import { readClaims } from '../execution/claims.ts'
import type { Services } from '../execution/services.ts'
import { decodeJson } from '../http/decode.ts'
import { nearest } from '../nearest.ts'
import { readClaimFlags } from './claim-flags.ts'
import { CommandFault, type Ask, type Flag } from './command.ts'

export const CALLER_FLAGS: { readonly [name: string]: Flag } = {
  role: { type: 'string', multiple: true, value: 'ROLE', about: 'a role of the caller; those that grant the action where none is given' },
  claim: { type: 'string', multiple: true, value: 'NAME=TEXT', about: 'a claim of the caller: NAME=TEXT is text, NAME:=JSON is JSON' },
  sub: { type: 'string', value: 'SUB', about: 'the agent; `agent` where it is absent' },
  tenant: { type: 'string', value: 'TENANT', about: 'the tenant; `default` where it is absent' },
  run: { type: 'string', value: 'RUN', about: 'the run; `run` where it is absent' },
}

/** @throws CommandFault */
export function actionOf (catalog: Catalog, id: string): Action {
  const action = catalog.actions.get(id)
  if (action !== undefined) return action
  const near = nearest(id, catalog.actions.keys())
  throw new CommandFault(`there is no action ${id}${near === null ? '' : `; did you mean ${near}?`}`)
}

/** @throws CommandFault where no broker would believe such a token */
export function callerOf (ask: Ask, catalog: Catalog, action: Action, services: Services): Caller {
  const named = ask.flags.texts('role')
  const granting = [...catalog.roles.values()].filter(role => role.actions.has(action.id)).map(({ name }) => name)
  const nowSeconds = Math.floor(Date.now() / 1000)
  const tenant = ask.flags.text('tenant')
  try {
    return readClaims({
      ...readClaimFlags(ask.flags.texts('claim')),
      ...{ iss: 'command-line', aud: 'command-line', jti: randomUUID(), iat: nowSeconds, exp: nowSeconds + 3_600 },
      sub: ask.flags.text('sub') ?? 'agent',
      run_id: ask.flags.text('run') ?? 'run',
      roles: named.length > 0 ? named : granting,
      ...tenant !== null && { tenant },
    }, services.identity, Date.now()).caller
  } catch (error) {
    if (!(error instanceof Error) || !['NotBelieved', 'Refusal'].includes(error.name)) throw error
    throw new CommandFault(`no broker would believe this caller: ${error.message}`)
  }
}

/** @param body as `callBody` writes it */
export function arrivalOf (action: Action, body: string, idempotencyKey: string | null): Arrival {
  return {
    surface: 'http',
    correlationId: `cor_${randomUUID()}`,
    actionId: action.id,
    authorization: undefined,
    idempotencyKey: idempotencyKey ?? undefined,
    source: null,
    nullIsAbsent: false,
    body: async () => decodeJson(Buffer.from(body)),
    arrivedAtMs: performance.now(),
  }
}
