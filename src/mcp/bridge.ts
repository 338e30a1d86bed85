// Between the HTTP of Node and the web's Request and Response that the SDK speaks. Only headers that MCP reads go in, so the access token does not.
import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'

const READ = ['accept', 'content-type', 'mcp-protocol-version', 'mcp-method', 'mcp-name']

/** Without the body, which was decoded before. */
export function webRequest (request: FastifyRequest, signal: AbortSignal): Request {
  const headers = new Headers()
  for (const name of READ) {
    const value = request.headers[name]
    if (typeof value === 'string') headers.set(name, value)
  }
  // The SDK looks at no part of the URL; a client could have written anything into it.
  return new Request('http://mcp.invalid/mcp', { method: 'POST', headers, signal })
}

/** A stream is passed on as it comes, and everything else at once. */
export async function sendWeb (reply: FastifyReply, response: Response): Promise<FastifyReply> {
  reply.code(response.status)
  const type = response.headers.get('content-type')
  if (type !== null) reply.header('content-type', type)
  if (response.body === null) return reply.send()
  if (type?.startsWith('text/event-stream') !== true) return reply.send(await response.text())
  return sendStream(reply.header('x-accel-buffering', 'no'), response.body)
}

/** In the older era every answer is a stream, almost always of one event and its end: those two go out in one write. */
async function sendStream (reply: FastifyReply, body: ReadableStream<Uint8Array>): Promise<FastifyReply> {
  const reader = body.getReader()
  const first = await reader.read()
  if (first.done) return reply.send()
  const next = reader.read()
  const atOnce = await Promise.race([next, setImmediate(null)])
  if (atOnce?.done === true) return reply.send(Buffer.from(first.value))
  return reply.send(Readable.from(pieces(first.value, next, reader), { objectMode: false }))
}

type Reader = ReadableStreamDefaultReader<Uint8Array>

async function * pieces (first: Uint8Array, next: ReturnType<Reader['read']>, reader: Reader): AsyncGenerator<Uint8Array> {
  try {
    yield first
    for (let piece = await next; !piece.done; piece = await reader.read()) yield piece.value
  } finally {
    // Where whoever listened has left.
    await reader.cancel().catch(() => undefined)
  }
}
