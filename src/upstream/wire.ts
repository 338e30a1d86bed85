// What goes over the wire to an upstream and what comes back: the values, and the port that execution and the resolver see.
import type { PlacedRequest, Upstream } from '../catalog/catalog.ts'

/** The exact request but for the credential. */
export interface WireRequest {
  readonly method: string
  /** Base path, path and query: what stands in the request line. */
  readonly path: string
  /** Lower-case names. */
  readonly headers: { readonly [name: string]: string }
  readonly body: Buffer | null
}

export type LostCause = 'deadline' | 'reset' | 'closed' | 'protocol' | 'too_large' | 'aborted' | 'send_window' | 'refused' | 'unresolved_name' | 'address_refused' | 'tls' | 'connect_timeout' | 'shutting_down' | 'locked'

export type Reply =
  | {
    readonly kind: 'answer'
    readonly status: number
    /** Lower-case names; repeated ones joined with `, `. */
    readonly headers: { readonly [name: string]: string }
    readonly body: Buffer
    readonly durationMs: number
    /** false: the body ended with the connection, so nothing on the wire says that it is whole (RFC 9112 §6.3, rule 8). Absent where its length was framed. */
    readonly delimited?: false
  }
  /** The head was seen, the body was not seen whole. */
  | { readonly kind: 'cut', readonly status: number, readonly cause: LostCause, readonly durationMs: number }
  /** Possibly sent; no head came back. */
  | { readonly kind: 'lost', readonly cause: LostCause, readonly durationMs: number }
  /** Proved: no byte of it left (undici:client:sendHeaders never fired for it). */
  | { readonly kind: 'unsent', readonly cause: LostCause, readonly durationMs: number }

export interface SendOptions {
  readonly kind: 'read' | 'write'
  /** Total, monotonic, from the call of `send` until the last byte of the body. */
  readonly timeoutMs: number
  /** Monotonic instant (performance.now()) after which the send aborts itself before its first byte; null for reads. */
  readonly sendByMs: number | null
  /** For the integrity alarm and the metrics; null for reads. */
  readonly attemptId: string | null
  /** Of the lock, where people said yes under it: after a later one it is not sent. */
  readonly epoch?: number | null
}

/** Whether anything may leave at all: asked before each send, and again right before its first byte. */
export interface Exit {
  /** @param epoch of the lock under which it was allowed; where it was locked since, the exit is closed to it */
  isOpen (epoch?: number | null): boolean
  /** The same, found out anew where what is known of it is old. */
  opens (epoch?: number | null): Promise<boolean>
}

export interface UpstreamClient {
  /**
   * Serialises placed values by the operation's parameters, with the upstream's base path and fixed headers.
   * @throws Refusal INVALID_ARGUMENTS where a value cannot be placed without changing what is addressed
   */
  build (upstream: Upstream, placed: PlacedRequest): WireRequest
  /** One send; never throws for what the network or the upstream does. Not-sent connect faults of reads and writes are not retried here. */
  send (upstream: Upstream, request: WireRequest, options: SendOptions): Promise<Reply>
  /**
   * A place in the upstream's own limits (concurrency, per second, share of a tenant); waits at most 1 s.
   * @throws Refusal RATE_LIMITED
   */
  enter (upstream: Upstream, tenant: string): Promise<() => void>
  /** Finishes what is under way, up to `graceMs`, then destroys. */
  close (graceMs: number): Promise<void>
}
