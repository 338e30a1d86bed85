// An answer of the broker as the result of a tool. `isError` makes frameworks call again or throw the text away, so it says one thing: the call was
// rejected, and nothing was done. What is unknown is no error: a repeat could do it twice.
import type { CallToolResult } from '@modelcontextprotocol/server'
import type { Envelope } from '../execution/envelope.ts'
import { toolNameOf } from '../tools/tool-name.ts'

/** `next` of the envelope, where a tool takes the place of a path. Of a call that is to be made again, the arguments are those that were sent. */
interface NextTool {
  readonly tool: string
  readonly arguments?: { readonly [name: string]: string }
  readonly after_seconds: number
}

export type ToolEnvelope = Omit<Envelope, 'next'> & { readonly next?: NextTool }

export const ATTEMPT_TOOL = 'attempt_get'
export const PROPOSAL_TOOLS = { get: 'proposal_get', commit: 'proposal_commit', withdraw: 'proposal_withdraw' } as const

export function toolResult (envelope: Envelope): CallToolResult {
  const structured = toolEnvelope(envelope)
  return {
    content: [{ type: 'text', text: JSON.stringify(structured) }],
    structuredContent: structured as unknown as Record<string, unknown>,
    ...(envelope.outcome === 'rejected' ? { isError: true } : {}),
  }
}

function toolEnvelope (envelope: Envelope): ToolEnvelope {
  const { next, ...rest } = envelope
  const tool = next === undefined ? null : nextTool(next, envelope)
  return tool === null ? rest : { ...rest, next: tool }
}

function nextTool ({ path, after_seconds }: NonNullable<Envelope['next']>, { attempt_id: attempt }: Envelope): NextTool | null {
  if (path.startsWith('/v1/attempts/')) return attempt === undefined ? null : { tool: ATTEMPT_TOOL, arguments: { attempt_id: attempt }, after_seconds }
  if (path.startsWith('/v1/actions/')) return { tool: toolNameOf(path.slice('/v1/actions/'.length)), after_seconds }
  const [id, commit] = path.slice('/v1/proposals/'.length).split('/')
  return { tool: commit === undefined ? PROPOSAL_TOOLS.get : PROPOSAL_TOOLS.commit, arguments: { proposal_id: id! }, after_seconds }
}
