// What the agents listener asks of the execution. The routes hand over what arrived and write down what comes back; every one of these functions
// verifies the access token before anything else, and answers a refusal instead of throwing it.
import type { Ask, Listing } from '../../execution/answering.ts'
import type { Arrival } from '../../execution/call.ts'
import type { CommitAsk } from '../../execution/commit.ts'
import type { ListQuery } from '../../execution/contract.ts'
import type { Answer } from '../../execution/envelope.ts'
import type { Format } from '../../tools/forms.ts'

export interface AttemptAsk extends Ask {
  readonly id: string
}

export interface WaitAsk extends AttemptAsk {
  /** 0: answer at once. */
  readonly waitMs: number
  /** Aborted when nobody waits any more: the client left, or the listener closes. The answer so far is then as good as any. */
  readonly signal: AbortSignal
}

export interface AgentsApi {
  /** Rejects only where nothing was dispatched by this call. */
  execute (arrival: Arrival): Promise<Answer>
  listActions (ask: Ask & ListQuery): Promise<Listing>
  exportTools (ask: Ask & { readonly format: Format }): Promise<Listing>
  describeAction (ask: Ask & { readonly actionId: string }): Promise<Listing>
  getAttempt (ask: WaitAsk): Promise<Answer>
  listAttempts (ask: Ask & { readonly limit: number }): Promise<Listing>
  cancelAttempt (ask: AttemptAsk): Promise<Answer>
  escalateAttempt (ask: AttemptAsk): Promise<Answer>
  stopRun (ask: Ask): Promise<Listing>
  getProposal (ask: WaitAsk): Promise<Answer>
  withdrawProposal (ask: AttemptAsk): Promise<Answer>
  commitProposal (ask: CommitAsk): Promise<Answer>
}
