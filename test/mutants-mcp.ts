// The mutants of the second face: what it lists, whom it lets in, what it makes of an outcome, and what it believes of a client.
import { mutant, type Mutant } from './mutant.ts'

const ENDPOINT = 'mcp/endpoint'
const LISTS = 'mcp/lists'
const HOSTILE = 'mcp/hostile'
const PARITY = 'mcp/parity'
const PROPOSALS = 'mcp/proposals'

export const MCP_MUTANTS: readonly Mutant[] = [
  mutant(4, 'MCP tells what is unknown as an error, which frameworks repeat', PARITY, 'whatever the network does to a write and to a read',
    ['mcp/tool-result.ts', "envelope.outcome === 'rejected' ? { isError: true }", '!envelope.ok ? { isError: true }']),
  mutant(4, 'a client of MCP waits as long as the upstream takes', HOSTILE, 'what takes longer than a client waits',
    ['mcp/within.ts', 'return await Promise.race([answering, late])', 'return await answering']),
  mutant(9, 'MCP lists what is not granted', ENDPOINT, 'is what the caller may call, in a fixed order',
    ['execution/tools.ts', 'const all = listableActions(catalog, caller, services.now())', 'const all = [...catalog.actions.values()]']),
  mutant(9, 'the search finds what is not granted', LISTS, 'with more than twenty actions',
    ['execution/tools.ts', 'pageOf(catalog, listableActions(catalog, caller, services.now()), ask)', 'pageOf(catalog, [...catalog.actions.values()], ask)']),
  mutant(9, 'the list of one caller is kept for all', ENDPOINT, 'is what the caller may call, in a fixed order',
    ['mcp/server.ts', "'tools/list': { ttlMs: LIST_TTL_MS, cacheScope: 'private' }", "'tools/list': { ttlMs: LIST_TTL_MS, cacheScope: 'public' }"]),
  mutant(9, 'a cursor of another catalog is gone on with', ENDPOINT, 'a cursor that is none of ours is refused',
    ['execution/contract.ts', 'if (digest !== catalog.digest || id === undefined', 'if (id === undefined']),
  mutant(9, 'a tool that is not granted is told apart from one that there is not', ENDPOINT, 'are told in the same words',
    ['execution/tools.ts', 'mayCall(catalog, { roles, claimedActions: null }, ask.actionId) !== null', 'catalog.actions.has(ask.actionId)']),
  mutant(9, 'a stream that listens outlives its token', LISTS, 'a stream that listens ends with the token',
    ['mcp/endpoint.ts', 'Math.max(0, expiresAt * 1_000 - Date.now())', 'Math.max(3_600_000, expiresAt * 1_000 - Date.now())']),
  mutant(8, 'the access token of the agent goes upstream', HOSTILE, 'the upstream sees the broker alone',
    [
      'execution/dispatch.ts',
      "reserved.request, credential, 'read',",
      "{ ...reserved.request, headers: { ...reserved.request.headers, 'x-caller': String(call.arrival.authorization) } }, credential, 'read',",
    ]),
  mutant(8, 'a page of another site may call tools', ENDPOINT, 'another origin and another host are refused',
    ['mcp/endpoint.ts', 'if (!isSameOrigin(request)) return', 'if (false) return']),
  mutant(8, 'MCP reads a message of any size', ENDPOINT, 'more than 64 KiB',
    ['mcp/endpoint.ts', '{ bytesMax: BODY_BYTES_MAX }', '{ bytesMax: 100 * BODY_BYTES_MAX }']),
  mutant(8, 'the tool that a header names is not held against the message', ENDPOINT, 'a header that names another tool than the body',
    ['mcp/endpoint.ts', 'parsedBody: readable(message) })', "parsedBody: { ...message, params: { ...message['params'] as JsonObject, name: request.headers['mcp-name'] } } })"]),
  mutant(13, 'a model gives a key among its arguments', ENDPOINT, '2026-07-28: the key of the runtime names the call',
    ['mcp/call-action.ts', 'const key = meta[KEY_META]', "const { idempotency_key: named, ...rest } = (args ?? {}) as JsonObject\n  const key = meta[KEY_META] ?? named"],
    ['mcp/call-action.ts', 'return { arguments: args ?? {} }', 'return { arguments: rest }']),
  mutant(13, 'a key under a misspelt name counts for nothing', ENDPOINT, '2026-07-28: what begins like ours and is not is refused',
    ['mcp/call-action.ts', 'if (unknown !== undefined) throw', 'if (false) throw']),
  mutant(6, 'the word of a client that its user has accepted is taken for a yes', PROPOSALS, 'is asked to open the page, once',
    ['mcp/ask-person.ts', "said !== null && proposal.state === 'approved' && ", 'said !== null && ']),
  mutant(6, 'a client that did not say that it can open pages is asked to', PROPOSALS, 'who did not say that it can is answered with the link',
    ['mcp/ask-person.ts', ' || !opensPages(exchange)) return', ') return']),
  mutant(12, 'a call that the protocol turns away is told nowhere', ENDPOINT, 'whatever is turned away stands in the audit',
    ['mcp/endpoint.ts', 'if (isMalformedCall(message, response)) await', 'if (false) await']),
]
