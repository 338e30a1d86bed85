// Whether a request left: the one signal that says so is undici's diagnostics channel `undici:client:sendHeaders`, published right before the request
// line is written to the socket. Error codes say nothing about it: an ECONNRESET means both.
//
// The channel names undici's request object; onRequestStart names our exchange, and undici calls it in the same turn, directly before. So the
// exchange announces itself there, and the next message binds the two. The message also holds the credential, in its `headers`: nothing here reads
// that field.
import { subscribe } from 'node:diagnostics_channel'

/** Whoever wants to know that its request left. */
export interface Sendable {
  readonly path: string
  /** Called once for every time that the head of this request was handed to a socket. */
  left (): void
}

const owner = Symbol('exchange')

interface UndiciRequest {
  readonly path: string
  [owner]?: Sendable
}

let announced: Sendable | null = null
let watching = false

/** From now on `left` is called. Idempotent; the subscription lasts as long as the process. */
export function watchSends (): void {
  if (watching) return
  watching = true
  subscribe('undici:client:sendHeaders', message => onSendHeaders((message as { readonly request: UndiciRequest }).request))
}

/** To be called at the end of onRequestStart, when nothing holds the request back any more. */
export function announce (exchange: Sendable): void {
  announced = exchange
}

function onSendHeaders (request: UndiciRequest): void {
  const bound = request[owner]
  const exchange = bound ?? announced
  announced = null
  // The channel is one for the whole process: requests of other users of undici (fetch among them) are not ours.
  if (exchange === null || (bound === undefined && request.path !== exchange.path)) return
  request[owner] = exchange
  exchange.left()
}
