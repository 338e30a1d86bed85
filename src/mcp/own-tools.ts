// The tools that are no actions: what became of an attempt, the search for actions that are not listed, and those of proposals.
import type { CallToolResult } from '@modelcontextprotocol/server'
import type { ArgumentFault, Effect, Json, JsonObject } from '../catalog/catalog.ts'
import { SchemaCompiler, type Checker } from '../catalog/schema.ts'
import { Refusal } from '../errors.ts'
import { refusalAnswer } from '../execution/answer.ts'
import type { ToolPage } from '../execution/tools.ts'
import type { Tool } from '../tools/tool.ts'
import type { McpApi } from './api.ts'
import type { Exchange } from './exchange.ts'
import { PROPOSAL_OWN } from './proposal-tools.ts'
import { ATTEMPT_TOOL, toolResult } from './tool-result.ts'

const SEARCH_TOOL = 'search_actions'
/** Well within the time in which every call is answered. */
const WAIT_SECONDS_MAX = 20
const FOUND_DEFAULT = 5
const FOUND_MAX = 10

export interface OwnTool {
  readonly tool: Omit<Tool, 'losses'>
  /** @param withinMs after which it is answered as it stands, where it may take longer */
  run (args: JsonObject, exchange: Exchange, api: McpApi, signal: AbortSignal, withinMs: number): Promise<CallToolResult>
}

const READ_ONLY = Object.freeze({ readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false })

const attemptGet: OwnTool = {
  tool: {
    name: ATTEMPT_TOOL,
    title: 'What became of an attempt',
    description: 'Says the outcome so far of an attempt of this run. Use this when a call was answered with pending or unknown, with its attempt_id; ' +
      'do not make the call again instead. Returns the same kind of answer as the call itself.',
    inputSchema: {
      type: 'object',
      properties: {
        attempt_id: { type: 'string', minLength: 1, maxLength: 128, description: 'attempt_id of the answer' },
        wait_seconds: { type: 'integer', minimum: 0, maximum: WAIT_SECONDS_MAX, description: 'Wait so long for it to settle' },
      },
      required: ['attempt_id'],
      additionalProperties: false,
    },
    annotations: READ_ONLY,
  },
  async run (args, { authorization, correlationId }, api, signal) {
    const waitMs = Number(args['wait_seconds'] ?? 0) * 1_000
    const answer = await api.getAttempt({ authorization, correlationId, id: String(args['attempt_id']), waitMs, signal })
    return toolResult(answer.envelope)
  },
}

const searchActions: OwnTool = {
  tool: {
    name: SEARCH_TOOL,
    title: 'Search for actions',
    description: 'Finds actions that are not listed as tools. Returns whole contracts: the name to call each by (tool), its input schema, its effect ' +
      'and its errors. All words must stand in the name, title or description.',
    inputSchema: {
      type: 'object',
      properties: {
        query: { type: 'string', maxLength: 200, description: 'Words to look for' },
        effect: {
          type: 'string',
          enum: ['observation', 'reversible_change', 'external_commitment', 'irreversible_change'],
          description: 'Only actions of this consequence',
        },
        limit: { type: 'integer', minimum: 1, maximum: FOUND_MAX, description: `At most so many; ${FOUND_DEFAULT} where it is absent` },
        cursor: { type: 'string', maxLength: 400, description: 'next_cursor of the answer before' },
      },
      additionalProperties: false,
    },
    annotations: READ_ONLY,
  },
  async run (args, { authorization, correlationId }, api) {
    const found = await api.searchActions({
      authorization,
      correlationId,
      query: (args['query'] ?? null) as string | null,
      effect: (args['effect'] ?? null) as Effect | null,
      limit: Number(args['limit'] ?? FOUND_DEFAULT),
      cursor: (args['cursor'] ?? null) as string | null,
    })
    if (found.kind === 'refused') return toolResult(found.answer.envelope)
    const { actions, nextCursor } = found.value
    return toolResult({ ok: true, outcome: 'completed', sent: false, correlation_id: correlationId, result: { actions, next_cursor: nextCursor } })
  },
}

const OWN = new Map([attemptGet, searchActions, ...PROPOSAL_OWN].map(own => [own.tool.name, own]))
const compiler = new SchemaCompiler()
const checkers = new Map<string, Checker>([...OWN].map(([name, { tool }]) => [name, compiler.compile(tool.inputSchema)]))

/**
 * @param partial not every action is listed, so there is something to search for
 * @param consenting there are actions that a person is asked for
 */
export function listedOwnTools ({ partial, consenting }: Pick<ToolPage, 'partial' | 'consenting'>): ReadonlyArray<Omit<Tool, 'losses'>> {
  const own = [attemptGet, ...partial ? [searchActions] : [], ...consenting ? PROPOSAL_OWN : []]
  return own.map(({ tool }) => tool)
}

/** null where there is no tool of this name. */
export function callOwnTool (
  name: string, args: Json, exchange: Exchange, api: McpApi, signal: AbortSignal, withinMs: number
): Promise<CallToolResult> | null {
  const own = OWN.get(name)
  if (own === undefined) return null
  const fault = checkers.get(name)!.check(args)
  if (fault !== null) return Promise.resolve(toolResult(refusalAnswer(invalid(fault), exchange.correlationId, null).envelope))
  return own.run(args as JsonObject, exchange, api, signal, withinMs)
}

const invalid = ({ message, pointer, rule }: ArgumentFault): Refusal => Refusal.of('INVALID_ARGUMENTS', { message, field: pointer, rule })
