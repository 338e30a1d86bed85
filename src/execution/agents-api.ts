// Everything that an agent can ask, bound to the services once: what a surface is handed.
import { describeAction, listActions } from './actions.ts'
import type { Ask, Listing } from './answering.ts'
import { cancelAttempt, escalateAttempt, getAttempt, listAttempts, stopRun, type WaitAsk } from './attempts.ts'
import type { Arrival } from './call.ts'
import type { ListQuery } from './contract.ts'
import type { Answer } from './envelope.ts'
import { execute } from './execute.ts'
import type { Services } from './services.ts'

export function agentsApi (services: Services) {
  return {
    execute: (arrival: Arrival): Promise<Answer> => execute(arrival, services),
    listActions: (ask: Ask & ListQuery): Promise<Listing> => listActions(ask, services),
    describeAction: (ask: Ask & { readonly actionId: string }): Promise<Listing> => describeAction(ask, services),
    getAttempt: (ask: WaitAsk): Promise<Answer> => getAttempt(ask, services),
    listAttempts: (ask: Ask & { readonly limit: number }): Promise<Listing> => listAttempts(ask, services),
    cancelAttempt: (ask: Ask & { readonly id: string }): Promise<Answer> => cancelAttempt(ask, services),
    escalateAttempt: (ask: Ask & { readonly id: string }): Promise<Answer> => escalateAttempt(ask, services),
    stopRun: (ask: Ask): Promise<Listing> => stopRun(ask, services),
  }
}
