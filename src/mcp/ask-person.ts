// A client that can open a page for its user is asked to open the one on which a person decides. What it then says of its user is not believed: what
// counts is what the store holds. Every other client is answered with the link.
import { inputRequired, type CallToolResult, type InputRequiredResult } from '@modelcontextprotocol/server'
import { isObject, type Json } from '../catalog/catalog.ts'
import type { Envelope } from '../execution/envelope.ts'
import { effectForPeople } from '../execution/proposal-answer.ts'
import type { McpApi } from './api.ts'
import type { Exchange } from './exchange.ts'
import { commitProposal } from './proposal-tools.ts'
import { toolResult } from './tool-result.ts'

const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'
const REQUEST = 'approval'

/** @param envelope of the call, by which the same call finds its proposal again */
export async function askPerson (
  envelope: Envelope, exchange: Exchange, api: McpApi, withinMs: number
): Promise<CallToolResult | InputRequiredResult> {
  const { proposal } = envelope
  if (envelope.pending_on !== 'consent' || proposal === undefined || !opensPages(exchange)) return toolResult(envelope)
  const said = responseOf(exchange)
  if (said === null && proposal.state === 'pending' && proposal.approval_url !== undefined) {
    const message = `A person has to approve this first: ${effectForPeople(proposal)}`
    return inputRequired({ inputRequests: { [REQUEST]: inputRequired.elicitUrl({ message, url: proposal.approval_url }) } })
  }
  if (said === 'decline') {
    const { authorization, correlationId } = exchange
    return toolResult((await api.withdrawProposal({ authorization, correlationId, id: proposal.id })).envelope)
  }
  if (said !== null && proposal.state === 'approved' && proposal.kind === 'call') return commitProposal(proposal.id, exchange, api, withinMs)
  // Still undecided: asked once is enough.
  return toolResult(envelope)
}

/** It is declared in the request itself; in the older era it is not, whatever stands in the request, and such a client is answered with the link. */
function opensPages ({ message, era }: Exchange): boolean {
  if (era !== 'modern') return false
  const capabilities = at(at(at(message, 'params'), '_meta'), CAPABILITIES)
  return at(at(capabilities, 'elicitation'), 'url') !== undefined
}

function responseOf ({ message }: Exchange): string | null {
  const action = at(at(at(at(message, 'params'), 'inputResponses'), REQUEST), 'action')
  return typeof action === 'string' ? action : null
}

const at = (value: Json | undefined, name: string): Json | undefined => isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
