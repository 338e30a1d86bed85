// The MCP server of one request: made for it, gone with it. There is no session and nothing to resume, so any replica answers any request.
import { ProtocolError, ProtocolErrorCode, Server, type CallToolResult, type InputRequiredResult, type ListToolsResult, type McpRequestContext } from '@modelcontextprotocol/server'
import aval from '../../package.json' with { type: 'json' }
import { isObject, type Json } from '../catalog/catalog.ts'
import type { Asked } from '../execution/answering.ts'
import type { Tool } from '../tools/tool.ts'
import type { McpApi } from './api.ts'
import { callAction } from './call-action.ts'
import { ENVELOPE_OUTPUT_SCHEMA } from '../tools/envelope-schema.ts'
import { carried, type Exchange } from './exchange.ts'
import { callOwnTool, listedOwnTools } from './own-tools.ts'

const PAGE = 50
/** How long a client may go by its list. A change is also told to whoever listens. */
const LIST_TTL_MS = 60_000

const IDENTITY = { name: 'aval', title: 'Aval', version: aval.version }
const OPTIONS = {
  instructions: 'Every tool answers one envelope whose outcome says what happened: completed, already_in_desired_state, pending, rejected (nothing was ' +
    'done) or unknown. Where it is unknown or pending do not call again, unless next names that tool; ask attempt_get for the attempt. Where it is ' +
    'pending_on consent a person was asked: ask proposal_get, and once it is approved call proposal_commit.',
  cacheHints: {
    'tools/list': { ttlMs: LIST_TTL_MS, cacheScope: 'private' },
    'server/discover': { ttlMs: LIST_TTL_MS, cacheScope: 'private' },
  },
} as const

/** What tools/list and tools/call of one request do. */
export interface ToolHandlers {
  list (cursor: string | null): Promise<ListToolsResult>
  call (signal: AbortSignal): Promise<CallToolResult | InputRequiredResult>
}

/** More handlers beside our own, such as those that a conformance suite asks for. */
export type McpExtension = (server: Server, handlers: ToolHandlers, exchange: Exchange) => void

/** @param answerWithinMs after which a call is answered as it stands */
export function serverFactory (api: McpApi, answerWithinMs: number, extend?: McpExtension): (context: McpRequestContext) => Server {
  return context => {
    const exchange = carried(context)
    // The older era would be told on a stream of its session, which there is not.
    const server = new Server(IDENTITY, { ...OPTIONS, capabilities: { tools: exchange.era === 'modern' ? { listChanged: true } : {} } })
    const handlers = toolHandlers(exchange, api, answerWithinMs)
    server.setRequestHandler('tools/list', ({ params }) => handlers.list(params?.cursor ?? null))
    server.setRequestHandler('tools/call', (_request, { mcpReq }) => handlers.call(mcpReq.signal))
    extend?.(server, handlers, exchange)
    return server
  }
}

function toolHandlers (exchange: Exchange, api: McpApi, answerWithinMs: number): ToolHandlers {
  return {
    list: cursor => listTools(cursor, exchange, api),
    async call (signal) {
      const { name, args } = callOf(exchange)
      // Whoever leaves does not take back what was asked: only a wait is cut short by it.
      return callOwnTool(name, args, exchange, api, signal, answerWithinMs) ?? callAction(name, args, exchange, api, answerWithinMs)
    },
  }
}

/** By the message as it was decoded here. */
function callOf ({ message }: Exchange): { readonly name: string, readonly args: Json } {
  const { params } = message
  if (!isObject(params) || typeof params['name'] !== 'string') throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'The call names no tool')
  return { name: params['name'], args: params['arguments'] ?? {} }
}

async function listTools (cursor: string | null, exchange: Exchange, api: McpApi): Promise<ListToolsResult> {
  const { authorization, correlationId } = exchange
  const { tools, nextCursor, partial, consenting } = told(await api.listTools({ authorization, correlationId, cursor, limit: PAGE }))
  const own = cursor === null ? listedOwnTools({ partial, consenting }) : []
  return { tools: [...own, ...tools].map(described), ...(nextCursor === null ? {} : { nextCursor }) }
}

type Described = ListToolsResult['tools'][number]

const described = ({ name, title, description, inputSchema, annotations }: Omit<Tool, 'losses'>): Described => ({
  name,
  title,
  description,
  inputSchema: inputSchema as Described['inputSchema'],
  outputSchema: ENVELOPE_OUTPUT_SCHEMA as Described['outputSchema'],
  annotations: { title, ...annotations },
})

/** @throws ProtocolError with the envelope of the refusal */
function told<Value> (asked: Asked<Value>): Value {
  if (asked.kind === 'told') return asked.value
  const { envelope } = asked.answer
  const code = asked.answer.status >= 500 ? ProtocolErrorCode.InternalError : ProtocolErrorCode.InvalidParams
  throw new ProtocolError(code, envelope.error!.message, envelope)
}
