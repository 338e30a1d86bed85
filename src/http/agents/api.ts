// What the agents listener asks of the execution. The routes hand over what arrived and write down what comes back; every one of these functions
// verifies the access token before anything else, and answers a refusal instead of throwing it.
import type { Arrival } from '../../execution/call.ts'
import type { Answer } from '../../execution/envelope.ts'
import type { Effect } from '../../catalog/catalog.ts'

export interface Ask {
  /** The Authorization header as it came. */
  readonly authorization: string | undefined
  readonly correlationId: string
}

export interface ListAsk extends Ask {
  readonly query: string | null
  readonly effect: Effect | null
  /** 1 to 200 */
  readonly limit: number
  readonly cursor: string | null
}

export interface AttemptAsk extends Ask {
  readonly id: string
}

export interface WaitAsk extends AttemptAsk {
  /** 0: answer at once. */
  readonly waitMs: number
  /** Aborted when nobody waits any more: the client left, or the listener closes. The answer so far is then as good as any. */
  readonly signal: AbortSignal
}

export interface Page {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

export interface AgentsApi {
  /** Rejects only where nothing was dispatched by this call. */
  execute (arrival: Arrival): Promise<Answer>
  listActions (ask: ListAsk): Promise<Page>
  describeAction (ask: Ask & { readonly actionId: string }): Promise<Page>
  getAttempt (ask: WaitAsk): Promise<Answer>
  listAttempts (ask: Ask & { readonly limit: number }): Promise<Page>
  cancelAttempt (ask: AttemptAsk): Promise<Answer>
  escalateAttempt (ask: AttemptAsk): Promise<Answer>
  stopRun (ask: Ask): Promise<Page>
}
