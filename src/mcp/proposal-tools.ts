// The tools of what waits for a person's yes: how it stands, carrying it out, taking it back. There is none that decides.
import type { CallToolResult } from '@modelcontextprotocol/server'
import type { JsonObject } from '../catalog/catalog.ts'
import type { Envelope } from '../execution/envelope.ts'
import { proposalPath } from '../execution/proposal-answer.ts'
import type { McpApi } from './api.ts'
import type { Exchange } from './exchange.ts'
import type { OwnTool } from './own-tools.ts'
import { PROPOSAL_TOOLS, toolResult } from './tool-result.ts'
import { within } from './within.ts'

const ID = { type: 'string', minLength: 1, maxLength: 128, description: 'proposal.id of the answer' } as const

const get: OwnTool = {
  tool: {
    name: PROPOSAL_TOOLS.get,
    title: 'How a proposal stands',
    description: 'Says whether a person has decided on a proposal of this run. Use this when a call was answered with pending_on consent; do not make the ' +
      'call again instead. Once its state is approved, call proposal_commit; where it is denied, the arguments or the plan must change.',
    inputSchema: {
      type: 'object',
      properties: { proposal_id: ID, wait_seconds: { type: 'integer', minimum: 0, maximum: 20, description: 'Wait so long for a decision' } },
      required: ['proposal_id'],
      additionalProperties: false,
    },
    annotations: Object.freeze({ readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false }),
  },
  async run (args, { authorization, correlationId }, api, signal) {
    const waitMs = Number(args['wait_seconds'] ?? 0) * 1_000
    return toolResult((await api.getProposal({ authorization, correlationId, id: idOf(args), waitMs, signal })).envelope)
  },
}

const commit: OwnTool = {
  tool: {
    name: PROPOSAL_TOOLS.commit,
    title: 'Carry out what was approved',
    description: 'Carries out an approved proposal, exactly as people approved it and at most once. It takes no arguments beside the proposal. Returns the ' +
      'same kind of answer as a call; a repeat is answered with the attempt. If it answers PROPOSAL_PENDING, nobody has decided yet.',
    inputSchema: { type: 'object', properties: { proposal_id: ID }, required: ['proposal_id'], additionalProperties: false },
    annotations: Object.freeze({ readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: true }),
  },
  run: async (args, exchange, api, _signal, withinMs) => commitProposal(idOf(args), exchange, api, withinMs),
}

const withdraw: OwnTool = {
  tool: {
    name: PROPOSAL_TOOLS.withdraw,
    title: 'Take a proposal back',
    description: 'Takes a proposal of this run back, so that nobody can approve or commit it any more. Use this when it is not wanted any more. What was ' +
      'carried out cannot be taken back; the answer then says what became of it.',
    inputSchema: { type: 'object', properties: { proposal_id: ID }, required: ['proposal_id'], additionalProperties: false },
    annotations: Object.freeze({ readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false }),
  },
  async run (args, { authorization, correlationId }, api) {
    return toolResult((await api.withdrawProposal({ authorization, correlationId, id: idOf(args) })).envelope)
  },
}

export const PROPOSAL_OWN: readonly OwnTool[] = [get, commit, withdraw]

export async function commitProposal (id: string, exchange: Exchange, api: McpApi, withinMs: number): Promise<CallToolResult> {
  const { authorization, correlationId, source, arrivedAtMs } = exchange
  const answering = api.commitProposal({ authorization, correlationId, source, arrivedAtMs, surface: 'mcp', id, body: async () => undefined })
  const answer = await within(withinMs, exchange, answering)
  return toolResult(answer === null ? stillReading(id, correlationId) : answer.envelope)
}

/** What must be known first takes long; the proposal says what becomes of it. */
const stillReading = (id: string, correlationId: string): Envelope => ({
  ok: true, outcome: 'pending', pending_on: 'dispatch', correlation_id: correlationId, next: { method: 'GET', path: proposalPath(id), after_seconds: 5 },
})

const idOf = (args: JsonObject): string => String(args['proposal_id'])
