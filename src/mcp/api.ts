// What the MCP endpoint asks of the execution; like the routes of HTTP it hands over what arrived and writes down what comes back.
import type { Ask, Asked } from '../execution/answering.ts'
import type { ListQuery } from '../execution/contract.ts'
import type { FoundActions, Recognised, ToolPage } from '../execution/tools.ts'
import type { AgentsApi } from '../http/agents/api.ts'

export interface McpApi extends Pick<AgentsApi, 'execute' | 'getAttempt' | 'getProposal' | 'commitProposal' | 'withdrawProposal'> {
  /** Verifies the access token and does nothing else. */
  recognise (ask: Ask): Promise<Asked<Recognised>>
  listTools (ask: Ask & { readonly limit: number, readonly cursor: string | null }): Promise<Asked<ToolPage>>
  searchActions (ask: Ask & ListQuery): Promise<Asked<FoundActions>>
  /** true: a token with more could call the action. */
  isBeyondToken (ask: Ask & { readonly actionId: string }): Promise<Asked<boolean>>
}
