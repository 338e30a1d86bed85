// `POST /mcp`: streamable HTTP of MCP without sessions, both eras on one URL. The order of a call holds here too: the token is verified before the
// body is read, the body is decoded strictly, and only then does the SDK see the message.
import { performance } from 'node:perf_hooks'
import { createMcpHandler, type McpHttpHandler } from '@modelcontextprotocol/server'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isObject, type Json, type JsonObject } from '../catalog/catalog.ts'
import { Refusal } from '../errors.ts'
import type { Answer } from '../execution/envelope.ts'
import { BODY_BYTES_MAX, readBody } from '../http/body.ts'
import { decodeJson } from '../http/decode.ts'
import { sendJson } from '../http/envelope.ts'
import { inviteBody } from '../http/node-server.ts'
import { actionIdOf } from '../tools/tool-name.ts'
import type { McpApi } from './api.ts'
import { sendWeb, webRequest } from './bridge.ts'
import { arrivalOf, turnedAway } from './call-action.ts'
import { addMetadataRoutes, insufficientScope, invalidToken, type ProtectedResource } from './challenge.ts'
import { carry, type Received } from './exchange.ts'
import { serverFactory, type McpExtension } from './server.ts'
import { ANSWER_WITHIN_MS } from './within.ts'

const PARSE_ERROR = -32_700
const INVALID_REQUEST = -32_600

export interface McpOptions {
  readonly api: McpApi
  markSource (address: string): string | null
  readonly resource: ProtectedResource
  /** For the log, under no correlation id: what the SDK met. Refused requests are among it. */
  onFault (error: Error): void
  readonly answerWithinMs?: number
  readonly extend?: McpExtension
}

export interface McpEndpoint {
  /** @param closing aborted when the drain begins: who only listens is let go, calls in flight are not */
  addRoutes (app: FastifyInstance, closing: AbortSignal): void
  /** The catalog changed: whoever listens is told to list again. */
  toolsChanged (): void
}

export function createMcpEndpoint (options: McpOptions): McpEndpoint {
  const factory = serverFactory(options.api, options.answerWithinMs ?? ANSWER_WITHIN_MS, options.extend)
  const handler = createMcpHandler(factory, { onerror: options.onFault })
  return {
    addRoutes (app, closing) {
      addMetadataRoutes(app, options.resource)
      app.post('/mcp', {
        config: { plane: 'agents', auth: 'token', takesBody: true },
        schema: MCP_SCHEMA,
      }, (request, reply) => answer(request, reply, options, handler, closing))
    },
    toolsChanged: () => { handler.notify.toolsChanged() },
  }
}

async function answer (
  request: FastifyRequest, reply: FastifyReply, options: McpOptions, handler: McpHttpHandler, closing: AbortSignal
): Promise<FastifyReply> {
  const arrivedAtMs = performance.now()
  const { authorization } = request.headers
  if (!isSameOrigin(request)) return sendRpcError(reply, 403, INVALID_REQUEST, 'This origin may not ask here')
  const ask = { authorization, correlationId: request.id }
  const recognised = await options.api.recognise(ask)
  if (recognised.kind === 'refused') return sendRefused(request, reply, recognised.answer)
  const source = options.markSource(request.ip)
  const decoded = await decodeMessage(request, reply)
  if (decoded.kind === 'refused') {
    // What could not be read may have been a call.
    return sendRefused(request, reply, await options.api.execute(turnedAway({ ...ask, source, message: {}, arrivedAtMs }, decoded.refusal)))
  }
  const { message } = decoded
  const received: Received = { ...ask, source, message, arrivedAtMs }
  const beyond = await beyondToken(received, options.api)
  if (beyond !== null) {
    reply.header('www-authenticate', insufficientScope(request, beyond))
    return sendRpcError(reply, 403, INVALID_REQUEST, 'The access token does not reach so far', idOf(message))
  }
  const over = overWhenLeft(reply, message, closing, recognised.value.expiresAt)
  const response = await handler.fetch(webRequest(request, over), { authInfo: carry(received), parsedBody: readable(message) })
  if (isMalformedCall(message, response)) await options.api.execute(turnedAway(received, Refusal.of('MALFORMED_REQUEST', { rule: 'json-rpc' })))
  return sendWeb(reply, response)
}

/** The SDK did not hand it on: its headers say something else, it asks for no answer, or its arguments are no object. It is told like any other refusal. */
function isMalformedCall ({ method, params }: JsonObject, { status }: Response): boolean {
  if (method !== 'tools/call') return false
  return status !== 200 || !isObject(params) || (params['arguments'] !== undefined && !isObject(params['arguments']))
}

/** A cursor of another type is refused like text that is no cursor of ours; the SDK would tell of it as a fault of the server. */
function readable (message: JsonObject): JsonObject {
  const { method, params } = message
  if (method !== 'tools/list' || !isObject(params) || params['cursor'] === undefined || typeof params['cursor'] === 'string') return message
  return { ...message, params: { ...params, cursor: '' } }
}

/** A page of another site must not reach a broker on the reader's own machine. What is no browser sends no Origin. */
function isSameOrigin ({ headers, protocol, host }: FastifyRequest): boolean {
  return headers.origin === undefined || headers.origin.toLowerCase() === `${protocol}://${host}`.toLowerCase()
}

type Decoded = { readonly kind: 'message', readonly message: JsonObject } | { readonly kind: 'refused', readonly refusal: Refusal }

async function decodeMessage (request: FastifyRequest, reply: FastifyReply): Promise<Decoded> {
  try {
    inviteBody(request.raw, reply.raw)
    const message: Json = decodeJson(await readBody(request.raw, request.headers, { bytesMax: BODY_BYTES_MAX }))
    // A batch would be many calls under one correlation id and one point of the rate; the revisions after 2025-03-26 have none.
    if (!isObject(message)) throw Refusal.of('MALFORMED_REQUEST', { message: 'The body must be one JSON-RPC message.', rule: 'batch' })
    return { kind: 'message', message }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return { kind: 'refused', refusal: error }
  }
}

/** The scope that the token lacks, where its caller could have it. The call is refused and told like any other. */
async function beyondToken (received: Received, api: McpApi): Promise<string | null> {
  const { message, authorization, correlationId } = received
  const { params } = message
  if (message['method'] !== 'tools/call' || !isObject(params) || typeof params['name'] !== 'string') return null
  const actionId = actionIdOf(params['name'])
  const beyond = await api.isBeyondToken({ authorization, correlationId, actionId })
  if (beyond.kind === 'refused' || !beyond.value) return null
  await api.execute(arrivalOf(params['name'], params['arguments'], received))
  return actionId
}

/** Aborted when nobody hears the answer any more. A stream that only listens also ends with the token and with the drain. */
function overWhenLeft (reply: FastifyReply, message: JsonObject, closing: AbortSignal, expiresAt: number): AbortSignal {
  const over = new AbortController()
  const end = (): void => { over.abort() }
  // After a whole answer nobody is left to tell, and an abort makes errors for each of them: that was a twentieth of a call.
  reply.raw.once('close', () => { if (!reply.raw.writableFinished) end() })
  if (message['method'] === 'subscriptions/listen') {
    const timer = setTimeout(end, Math.max(0, expiresAt * 1_000 - Date.now()))
    closing.addEventListener('abort', end, { once: true })
    reply.raw.once('close', () => {
      clearTimeout(timer)
      closing.removeEventListener('abort', end)
    })
  }
  return over.signal
}

/** A refusal of the broker as an error of JSON-RPC, with the envelope as its data. */
function sendRefused (request: FastifyRequest, reply: FastifyReply, { status, envelope, retryAfterSeconds }: Answer): FastifyReply {
  if (status === 401) reply.header('www-authenticate', invalidToken(request))
  if (retryAfterSeconds !== null) reply.header('retry-after', String(retryAfterSeconds))
  const code = envelope.error!.code === 'MALFORMED_REQUEST' || status === 401 || status >= 403 ? INVALID_REQUEST : PARSE_ERROR
  return sendRpcError(reply, status, code, envelope.error!.message, null, envelope)
}

type RequestId = string | number | null

function idOf ({ id }: JsonObject): RequestId {
  return typeof id === 'string' || typeof id === 'number' ? id : null
}

const sendRpcError = (reply: FastifyReply, status: number, code: number, message: string, id: RequestId = null, data?: object): FastifyReply =>
  sendJson(reply, status, { jsonrpc: '2.0', id, error: { code, message, ...(data === undefined ? {} : { data }) } })

const MCP_SCHEMA = {
  operationId: 'mcp',
  summary: 'The same actions over the Model Context Protocol',
  description: 'Streamable HTTP without sessions; revisions 2026-07-28 and those that begin with `initialize`. One JSON-RPC message a request.',
  tags: ['mcp'],
  security: [{ accessToken: [] }],
  body: { description: 'A JSON-RPC 2.0 message.', type: 'object' },
  response: {
    200: { description: 'The answer as JSON, or as a stream of one event.', type: 'object' },
    202: { description: 'A notification was taken.', type: 'null' },
    400: { description: 'An error of JSON-RPC: the message is not well-formed.', type: 'object' },
    401: { description: 'An error of JSON-RPC; `WWW-Authenticate` names the metadata of the resource.', type: 'object' },
    403: { description: 'An error of JSON-RPC: the token does not reach so far, or the origin may not ask.', type: 'object' },
  },
} as const
