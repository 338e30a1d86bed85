// Everything that an agent can ask, bound to the services once: what a surface is handed.
import type { Format } from '../tools/forms.ts'
import { describeAction, listActions } from './actions.ts'
import type { Ask, Asked, Listing } from './answering.ts'
import { cancelAttempt, escalateAttempt, getAttempt, listAttempts, stopRun, type WaitAsk } from './attempts.ts'
import type { Arrival } from './call.ts'
import { commitProposal, type CommitAsk } from './commit.ts'
import type { ListQuery } from './contract.ts'
import type { Answer } from './envelope.ts'
import { execute } from './execute.ts'
import { getProposal, withdrawProposal } from './proposals.ts'
import type { Services } from './services.ts'
import { exportTools, isBeyondToken, listTools, recognise, searchActions, type FoundActions, type Recognised, type ToolPage } from './tools.ts'

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
    getProposal: (ask: WaitAsk): Promise<Answer> => getProposal(ask, services),
    withdrawProposal: (ask: Ask & { readonly id: string }): Promise<Answer> => withdrawProposal(ask, services),
    commitProposal: (ask: CommitAsk): Promise<Answer> => commitProposal(ask, services),
    exportTools: (ask: Ask & { readonly format: Format }): Promise<Listing> => exportTools(ask, services),
    recognise: (ask: Ask): Promise<Asked<Recognised>> => recognise(ask, services),
    listTools: (ask: Ask & { readonly limit: number, readonly cursor: string | null }): Promise<Asked<ToolPage>> => listTools(ask, services),
    searchActions: (ask: Ask & ListQuery): Promise<Asked<FoundActions>> => searchActions(ask, services),
    isBeyondToken: (ask: Ask & { readonly actionId: string }): Promise<Asked<boolean>> => isBeyondToken(ask, services),
  }
}
