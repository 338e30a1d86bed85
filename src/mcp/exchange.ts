// One HTTP request to the MCP endpoint, as its handlers see it. It travels with the request through the SDK, which never sees the access token.
import type { AuthInfo, McpRequestContext } from '@modelcontextprotocol/server'
import type { JsonObject } from '../catalog/catalog.ts'

/** The request as it was received. */
export interface Received {
  readonly authorization: string | undefined
  readonly correlationId: string
  /** HMAC of the address, for the audit. */
  readonly source: string | null
  /** The JSON-RPC message, strictly decoded: what a call does rests on this, not on what the SDK makes of it. */
  readonly message: JsonObject
  readonly arrivedAtMs: number
}

export interface Exchange extends Received {
  /** As the SDK tells it from headers and message. In the older one no answer can ask for anything: that would need a session. */
  readonly era: McpRequestContext['era']
}

/** The SDK hands this on as it is; of its fields only what was received is ours. */
export const carry = (received: Received): AuthInfo => ({ token: '', clientId: '', scopes: [], extra: { received } })

export function carried ({ authInfo, era }: Pick<McpRequestContext, 'authInfo' | 'era'>): Exchange {
  const received = authInfo?.extra?.['received']
  if (received === undefined) throw new Error('a request reached the MCP server without what was received')
  return { ...received as Received, era }
}
