// The node:http server under a listener: its limits and times, what is answered to bytes that are no request, and how a body that nobody will read
// is got rid of. Everything here is about connections; requests are server.ts.
import { createServer as createHttpServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { Socket } from 'node:net'
import { Refusal } from '../errors.ts'
import { refusalAnswer } from '../execution/answer.ts'
import { BODY_BYTES_MAX } from './body.ts'
import { newCorrelationId } from './correlation-id.ts'
import { SECURITY_HEADERS } from './headers.ts'

export interface Timeouts {
  /** From the first byte of a connection or request until its head is complete. */
  readonly headersMs: number
  /** Until the request is complete, body and all. */
  readonly requestMs: number
  /** Between two requests of a connection. */
  readonly keepAliveMs: number
  /** How often the two first are looked at. */
  readonly checkingMs: number
  /** How long bytes that nobody wants are still taken in, so that the answer before them is not lost to a reset. */
  readonly lingerMs: number
}

export const TIMEOUTS: Timeouts = Object.freeze({ headersMs: 5_000, requestMs: 10_000, keepAliveMs: 5_000, checkingMs: 1_000, lingerMs: 1_000 })

export interface Tls {
  readonly key: string | Buffer
  readonly cert: string | Buffer
}

/** What a connection is busy with. */
interface Exchanges {
  /** Requests whose answer is not finished: more than one where the client pipelines. */
  open: number
  request: IncomingMessage | null
  response: ServerResponse | null
}

const exchangesOf = new WeakMap<Socket, Exchanges>()

export function createNodeServer (handler: RequestListener, tls: Tls | null, timeouts: Timeouts): Server {
  const options = {
    maxHeaderSize: 8_192,
    headersTimeout: timeouts.headersMs,
    requestTimeout: timeouts.requestMs,
    keepAliveTimeout: timeouts.keepAliveMs,
    connectionsCheckingInterval: timeouts.checkingMs,
    insecureHTTPParser: false,
    // A request without Host gets our envelope, from server.ts.
    requireHostHeader: false,
  }
  const server = tls === null
    ? createHttpServer(options)
    : createHttpsServer({ ...options, key: tls.key, cert: tls.cert, minVersion: 'TLSv1.2', ALPNProtocols: ['http/1.1'] })
  server.maxRequestsPerSocket = 1_000
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    noteExchange(request, response)
    handler(request, response)
  }
  server.on('request', onRequest)
  // RFC 9110 §10.1.1: the client waits to be asked for the body. It is asked by whoever reads it (`inviteBody`), after the token was verified.
  server.on('checkContinue', onRequest)
  // An expectation that we do not know is ignored, as that section allows.
  server.on('checkExpectation', onRequest)
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    answerBrokenRequest(error, socket, timeouts.lingerMs)
  })
  return server
}

function noteExchange (request: IncomingMessage, response: ServerResponse): void {
  const { socket } = request
  let exchanges = exchangesOf.get(socket)
  if (exchanges === undefined) exchangesOf.set(socket, exchanges = { open: 0, request: null, response: null })
  exchanges.open++
  exchanges.request = request
  exchanges.response = response
  // Once for each response, and never again.
  response.on('close', () => { exchanges.open-- })
}

/**
 * Answers bytes that are no HTTP request, or a request that did not arrive in time, and closes. Where an earlier request of the connection has no
 * answer yet, nothing is written: it would be taken for the answer to that one, and would say that nothing was dispatched by it.
 */
function answerBrokenRequest (error: NodeJS.ErrnoException, socket: Socket, lingerMs: number): void {
  const exchanges = exchangesOf.get(socket)
  const itself = exchanges !== undefined && exchanges.open === 1 && !exchanges.request!.complete && !exchanges.response!.headersSent
  const idle = exchanges === undefined || (exchanges.open === 0 && exchanges.request!.complete)
  if (error.code === 'ECONNRESET' || !socket.writable || !(itself || idle)) {
    socket.destroy()
    return
  }
  const correlationId = newCorrelationId()
  const body = JSON.stringify(refusalAnswer(Refusal.of('MALFORMED_REQUEST', { rule: 'http' }), correlationId, null).envelope)
  const headers = { ...SECURITY_HEADERS, 'aval-correlation-id': correlationId, 'content-type': 'application/json; charset=utf-8' }
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`).join('')
  socket.end(`HTTP/1.1 ${statusLine(error.code)}\r\n${head}content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`)
  closeGently(socket, lingerMs)
}

/** RFC 9110 §15.5.9 and RFC 6585 §5 have statuses of their own for two of the causes; the code in the envelope is the same. */
function statusLine (code: string | undefined): string {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return '408 Request Timeout'
  return code === 'HPE_HEADER_OVERFLOW' ? '431 Request Header Fields Too Large' : '400 Bad Request'
}

/** Asks for the body where the client waits for that. To be called by whoever reads the body. */
export function inviteBody (request: IncomingMessage, response: ServerResponse): void {
  if (/^100-continue$/i.test(request.headers.expect ?? '') && !response.headersSent) response.writeContinue()
}

export function hasBody (request: IncomingMessage): boolean {
  return request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0
}

/**
 * Before an answer is written to a request whose body was not read: true where the connection must close behind the answer. A body within the limit
 * is taken in and thrown away, which keeps the connection; a longer, endless or merely announced one is not waited for.
 */
export function leavesBodyUnread (request: IncomingMessage): boolean {
  if (request.complete || !hasBody(request)) return false
  const announcedOnly = request.headers.expect !== undefined
  const bounded = request.headers['transfer-encoding'] === undefined && Number(request.headers['content-length']) <= BODY_BYTES_MAX
  return announcedOnly || !bounded || request.isPaused()
}

/** Ends the connection behind the last answer to this request. Node calls `destroySoon` on the socket when that answer is written. */
export function closeBehindAnswer (request: IncomingMessage, lingerMs: number): void {
  const { socket } = request
  socket.destroySoon = () => {
    socket.end()
    request.resume()
    closeGently(socket, lingerMs)
  }
}

/**
 * Closing a socket while bytes still arrive resets it, and the reset can overtake what was just written (RFC 9112 §9.6). So what arrives is thrown
 * away until the client closes too, or for a moment.
 */
function closeGently (socket: Socket, lingerMs: number): void {
  const timer = setTimeout(() => { socket.destroy() }, lingerMs)
  socket.once('close', () => { clearTimeout(timer) })
  socket.once('end', () => { socket.destroy() })
  socket.resume()
}
