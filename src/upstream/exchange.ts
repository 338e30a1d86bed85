// One send: undici's handler of one request, from `dispatch` to a Reply. It settles exactly once, whatever undici does later.
//
// The methods live on the prototype and the timer takes the exchange as its argument: an observation passes here, and closures for each request are
// what costs. What is proved:
//   unsent  the request's head was never handed to a socket, and it will not be: an exchange that has settled aborts in onRequestStart
//   lost    it was, and no head of an answer came back
//   cut     a head came back, and then not the whole body
import type { Dispatcher } from 'undici'
import { passFailpoint } from '../failpoints.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import type { Exit, LostCause, Reply, SendOptions, WireRequest } from './wire.ts'
import { causeOf, WireFault } from './fault.ts'
import { announce, type Sendable } from './sent.ts'

export type Told = Pick<Telemetry, 'upstream' | 'integrity'>

/** More header fields than any honest API sends (undici bounds only their bytes). */
const HEADER_FIELDS_MAX = 100
/** Interim answers (1xx) are skipped; a flood of them is not an answer. */
const INTERIM_ANSWERS_MAX = 32

const EMPTY = Buffer.alloc(0)

export const ALWAYS_OPEN: Exit = Object.freeze({ isOpen: () => true, opens: async () => true })

type HeaderFields = Record<string, string | string[] | undefined>

export class Exchange implements Dispatcher.DispatchHandler, Sendable {
  readonly path: string
  readonly #upstream: string
  readonly #method: string
  readonly #options: SendOptions
  readonly #told: Told
  readonly #exit: Exit
  readonly #resolve: (reply: Reply) => void
  readonly #startedAtMs: number
  readonly #timer: NodeJS.Timeout
  #controller: Dispatcher.DispatchController | null = null
  #done = false
  /** undici was allowed to send it. Were its channel ever renamed, this keeps a request that left from being told as unsent. */
  #released = false
  /** How often the head was handed to a socket. */
  #sends = 0
  #interim = 0
  /** 0: no final head yet. */
  #status = 0
  #headers: { readonly [name: string]: string } = {}
  #delimited = true
  #body: Buffer = EMPTY
  /** Set from the second chunk on. */
  #chunks: Buffer[] | null = null

  constructor (upstream: string, request: WireRequest, options: SendOptions, told: Told, resolve: (reply: Reply) => void, exit: Exit = ALWAYS_OPEN) {
    this.path = request.path
    this.#upstream = upstream
    this.#method = request.method
    this.#options = options
    this.#told = told
    this.#exit = exit
    this.#resolve = resolve
    this.#startedAtMs = performance.now()
    this.#timer = setTimeout(onDeadline, Math.max(1, Math.ceil(options.timeoutMs)), this)
  }

  onRequestStart (controller: Dispatcher.DispatchController): void {
    if (this.#done) {
      // It was told as unsent while it stood in a queue: that must stay true.
      controller.abort(new WireFault('aborted', 'settled before it was sent'))
      return
    }
    if (this.#controller !== null) {
      // undici is about to send the same request once more by itself. The controller given now is the one that stops it.
      this.#controller = controller
      this.#alarm()
      this.#stop('protocol')
      return
    }
    this.#controller = controller
    if (this.#options.kind === 'write') passFailpoint('at_request_start')
    if (this.#options.sendByMs !== null && performance.now() > this.#options.sendByMs) {
      this.#stop('send_window')
      return
    }
    if (!this.#exit.isOpen(this.#options.epoch)) {
      this.#stop('locked')
      return
    }
    this.#released = true
    announce(this)
  }

  /** Told by the channel, directly after onRequestStart. */
  left (): void {
    this.#sends += 1
    if (this.#options.kind === 'write') passFailpoint('after_request_left')
    if (this.#sends === 1) return
    this.#alarm()
    this.#stop('protocol')
  }

  onResponseStart (_controller: Dispatcher.DispatchController, status: number, fields: HeaderFields): void {
    if (this.#done) return
    if (this.#options.kind === 'write') passFailpoint('after_head')
    if (status < 200) {
      this.#interim += 1
      if (this.#interim > INTERIM_ANSWERS_MAX) this.#stop('protocol')
      return
    }
    this.#status = status
    const headers = flatten(fields)
    // RFC 9110 §15: valid status codes are 100 to 599.
    if (status > 599 || headers === null) {
      this.#stop('protocol')
      return
    }
    this.#headers = headers
    this.#delimited = isDelimited(this.#method, status, headers)
  }

  onResponseData (_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#done) return
    if (this.#body === EMPTY) this.#body = chunk
    else if (this.#chunks === null) this.#chunks = [this.#body, chunk]
    else this.#chunks.push(chunk)
  }

  /** Trailers are not read: nothing of an answer rests on them. */
  onResponseEnd (): void {
    if (this.#done) return
    if (this.#options.kind === 'write') passFailpoint('after_body')
    const body = this.#chunks === null ? this.#body : Buffer.concat(this.#chunks)
    const answer = { kind: 'answer', status: this.#status, headers: this.#headers, body, durationMs: this.#elapsedMs() } as const
    this.#settle(this.#delimited ? answer : { ...answer, delimited: false }, null)
  }

  onResponseError (_controller: Dispatcher.DispatchController | null, error: Error): void {
    this.#fail(causeOf(error))
  }

  /** The total deadline passed, or the exchange broke a rule: first the truth is told, then the socket is destroyed. */
  #stop (cause: LostCause): void {
    this.#fail(cause)
    this.#controller?.abort(new WireFault(cause, 'stopped by the broker'))
  }

  expire (): void {
    if (!this.#done) this.#stop('deadline')
  }

  #fail (cause: LostCause): void {
    if (this.#done) return
    const durationMs = this.#elapsedMs()
    if (this.#status !== 0) this.#settle({ kind: 'cut', status: this.#status, cause, durationMs }, cause)
    else this.#settle({ kind: this.#sends === 0 && !this.#released ? 'unsent' : 'lost', cause, durationMs }, cause)
  }

  #settle (reply: Reply, cause: LostCause | null): void {
    this.#done = true
    clearTimeout(this.#timer)
    this.#body = EMPTY
    this.#chunks = null
    const status = this.#status === 0 ? null : this.#status
    this.#told.upstream({ upstream: this.#upstream, kind: this.#options.kind, result: reply.kind, cause, status, durationMs: reply.durationMs })
    this.#resolve(reply)
  }

  #alarm (): void {
    if (this.#options.attemptId !== null) this.#told.integrity({ attemptId: this.#options.attemptId, what: 'second_send' })
  }

  #elapsedMs (): number {
    return performance.now() - this.#startedAtMs
  }
}

function onDeadline (exchange: Exchange): void {
  // A process that was stopped, or busy, meets its timers before its sockets: what has arrived by now is read first, for it is evidence.
  setImmediate(expire, exchange)
}

function expire (exchange: Exchange): void {
  exchange.expire()
}

/** One value a name; null where there are too many fields. */
function flatten (fields: HeaderFields): { readonly [name: string]: string } | null {
  let count = 0
  for (const name in fields) {
    const value = fields[name]
    if (typeof value === 'string') {
      count += 1
    } else if (value !== undefined) {
      count += value.length
      fields[name] = value.join(', ')
    }
  }
  return count > HEADER_FIELDS_MAX ? null : fields as { [name: string]: string }
}

/** RFC 9112 §6.3: whether something on the wire says where the body ends, other than the end of the connection. */
function isDelimited (method: string, status: number, headers: { readonly [name: string]: string }): boolean {
  if (headers['content-length'] !== undefined || status === 204 || status === 304 || method === 'HEAD') return true
  const coding = headers['transfer-encoding']
  return coding !== undefined && /(?:^|,)[\t ]*chunked[\t ]*$/i.test(coding)
}
