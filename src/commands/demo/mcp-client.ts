// The tour's agent as a client of MCP: one that others wrote, told nothing but the URL and the token.
import type { JsonObject } from '../../catalog/catalog.ts'
import type { Envelope } from '../../execution/envelope.ts'

export interface McpCall {
  readonly tool: string
  readonly args: JsonObject
  readonly key: string
  /** Told before each thing that is asked. */
  asked (line: string, body?: JsonObject): void
}

export interface McpTold {
  readonly revision: string
  readonly tools: readonly string[]
  readonly envelope: Envelope
}

export async function overMcp (agentsUrl: string, token: string, call: McpCall): Promise<McpTold> {
  // Only here: no other command waits for it to be loaded.
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client')
  const client = new Client({ name: 'aval-tour', version: '1' }, { versionNegotiation: { mode: 'auto' } })
  const url = new URL('/mcp', agentsUrl)
  call.asked(`POST ${url.pathname} server/discover`)
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers: { authorization: `Bearer ${token}` } } }))
  try {
    call.asked(`POST ${url.pathname} tools/list`)
    const { tools } = await client.listTools()
    call.asked(`POST ${url.pathname} tools/call ${call.tool}`, call.args)
    const { structuredContent } = await client.callTool({ name: call.tool, arguments: { ...call.args }, _meta: { 'aval/idempotency-key': call.key } })
    return {
      revision: client.getNegotiatedProtocolVersion() ?? 'unknown',
      tools: tools.map(({ name }) => name),
      envelope: structuredContent as unknown as Envelope,
    }
  } finally {
    await client.close()
  }
}
