// A tool call that names an action: the same execute() as over HTTP. What stands in the request beside the arguments comes from `_meta`, which the
// runtime writes and the model does not.
import { ProtocolError, ProtocolErrorCode, type CallToolResult, type InputRequiredResult } from '@modelcontextprotocol/server'
import { isObject, type Json, type JsonObject } from '../catalog/catalog.ts'
import { Refusal } from '../errors.ts'
import type { Arrival } from '../execution/call.ts'
import type { Envelope } from '../execution/envelope.ts'
import { actionIdOf } from '../tools/tool-name.ts'
import type { McpApi } from './api.ts'
import type { Exchange, Received } from './exchange.ts'
import { askPerson } from './ask-person.ts'
import { toolResult } from './tool-result.ts'
import { within } from './within.ts'

const KEY_META = 'aval/idempotency-key'
const PROFILE_META = 'aval/profile'
const STRICT = 'openai-strict'

export async function callAction (
  tool: string, args: Json | undefined, exchange: Exchange, api: McpApi, withinMs: number
): Promise<CallToolResult | InputRequiredResult> {
  const arrival = arrivalOf(tool, args, exchange)
  const answering = api.execute(arrival)
  const answer = await within(withinMs, exchange, answering)
  if (answer === null) return toolResult(stillAsking(arrival.actionId, exchange.correlationId))
  if (answer.envelope.error?.code === 'UNKNOWN_ACTION') throw unknownTool()
  return askPerson(answer.envelope, exchange, api, withinMs)
}

export function arrivalOf (tool: string, args: Json | undefined, received: Received): Arrival {
  const { correlationId, authorization, source, arrivedAtMs } = received
  const meta = metaOf(received)
  const key = meta[KEY_META]
  return {
    surface: 'mcp',
    correlationId,
    actionId: actionIdOf(tool),
    authorization,
    // Of another type it is refused like text that is no key.
    idempotencyKey: key === undefined ? undefined : typeof key === 'string' ? key : '',
    nullIsAbsent: meta[PROFILE_META] === STRICT,
    source,
    traceparent: typeof meta['traceparent'] === 'string' ? meta['traceparent'] : undefined,
    arrivedAtMs,
    async body () {
      requireKnown(meta)
      return { arguments: args ?? {} }
    },
  }
}

/** A call that is refused before it can be read as one: it does nothing but stand in the log, the metrics and the audit as it would over HTTP. */
export const turnedAway = (received: Received, refusal: Refusal): Arrival =>
  ({ ...arrivalOf('', undefined, received), idempotencyKey: undefined, body: () => Promise.reject(refusal) })

/** Whatever begins like ours is ours: a key under a misspelt name would count for nothing, and nobody would notice. */
function requireKnown (meta: JsonObject): void {
  const unknown = Object.keys(meta).find(name => name.startsWith('aval/') && name !== KEY_META && name !== PROFILE_META)
  if (unknown !== undefined) throw Refusal.of('MALFORMED_REQUEST', { rule: '_meta', hint: `Of aval/ there are ${KEY_META} and ${PROFILE_META}.` })
  const profile = meta[PROFILE_META]
  if (profile !== undefined && profile !== STRICT) throw Refusal.of('MALFORMED_REQUEST', { rule: 'profile', hint: `profile is one of ${STRICT}.` })
}

/** Absent and not granted alike. */
export const unknownTool = (): ProtocolError => new ProtocolError(ProtocolErrorCode.InvalidParams, 'Unknown tool')

/**
 * Nothing of it is in the state yet: an observation, or a write that still reads what it must know first. There is no attempt to ask for; the same
 * call asks again, and of two equal writes one is sent, whichever of them gets there first.
 */
const stillAsking = (action: string, correlationId: string): Envelope => ({
  ok: true, outcome: 'pending', pending_on: 'dispatch', action, correlation_id: correlationId,
  next: { method: 'POST', path: `/v1/actions/${action}`, after_seconds: 5 },
})

function metaOf ({ message }: Received): JsonObject {
  const params = message['params']
  const meta = isObject(params) ? params['_meta'] : undefined
  return isObject(meta) ? meta : {}
}
