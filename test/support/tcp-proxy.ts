// A TCP proxy that spoils connections on purpose, between a client and a server on loopback. Every fault can be switched on and off while connections
// are open; all of it is counted, so that a test can say what really passed.
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { reset } from './reset.ts'

export type Direction = 'up' | 'down'

export interface ProxyCounts {
  /** Accepted from clients. */
  readonly connections: number
  /** Bytes that arrived, and bytes that were passed on, in each direction. `up` is client to server. */
  readonly received: { readonly up: number, readonly down: number }
  readonly passed: { readonly up: number, readonly down: number }
  /** How often `dropNextReply`, `dropReplyTo` and the cuts fired. */
  readonly faults: number
}

export interface TcpProxy {
  readonly port: number
  readonly counts: ProxyCounts
  /** Everything passes again; what a black hole or a partition holds back is let go. */
  pass (): void
  /** Each piece of data waits, plus up to `jitterMs`; order is kept. */
  latency (ms: number, jitterMs?: number): void
  /** Connections are accepted and nothing moves in either direction. */
  blackHole (): void
  /** Nothing moves in this direction; the other one works. */
  partition (direction: Direction): void
  /** Every connection, open or new, is reset once this many more bytes went this way. */
  cutAfter (direction: Direction, bytes: number): void
  /** The next data from the server is swallowed and the connection is reset instead: the server did it, the client never hears. */
  dropNextReply (): void
  /** The same for the reply to the next request that starts with this text, `DELETE `; the requests before it are answered. */
  dropReplyTo (start: string): void
  /** Open connections are reset now (RST). */
  reset (): void
  /** Open connections are ended now (FIN to both sides). */
  end (): void
  /** New connections are accepted and reset at once. */
  resetNew (): void
  /** Nobody listens: ECONNREFUSED. Open connections stay. */
  refuse (): Promise<void>
  /** Listens again on the same port, and passes. */
  accept (): Promise<void>
  stop (): Promise<void>
}

interface Faults {
  held: { up: boolean, down: boolean }
  latencyMs: number
  jitterMs: number
  /** Bytes that may still pass; null: no cut. */
  cut: { up: number | null, down: number | null }
  dropNextReply: boolean
  dropReplyTo: string | null
  resetNew: boolean
}

const none = (): Faults => ({
  held: { up: false, down: false },
  latencyMs: 0,
  jitterMs: 0,
  cut: { up: null, down: null },
  dropNextReply: false,
  dropReplyTo: null,
  resetNew: false,
})

interface Counters {
  connections: number
  received: { up: number, down: number }
  passed: { up: number, down: number }
  faults: number
}

export async function startTcpProxy (upstream: Address): Promise<TcpProxy> {
  const counts: Counters = { connections: 0, received: { up: 0, down: 0 }, passed: { up: 0, down: 0 }, faults: 0 }
  const links = new Set<Link>()
  let faults = none()
  let stopped = false
  const server = createServer({ allowHalfOpen: true }, client => {
    counts.connections += 1
    if (faults.resetNew || stopped) {
      reset(client)
      return
    }
    const link = new Link(client, upstream, () => faults, counts, () => links.delete(link))
    links.add(link)
  })
  await listen(server, 0)
  const port = (server.address() as AddressInfo).port
  const set = (change: Partial<Faults>): void => {
    faults = { ...none(), ...change }
    for (const link of links) link.changed()
  }
  return {
    port,
    counts,
    pass: () => set({}),
    latency: (latencyMs, jitterMs = 0) => set({ latencyMs, jitterMs }),
    blackHole: () => set({ held: { up: true, down: true } }),
    partition: direction => set({ held: { up: direction === 'up', down: direction === 'down' } }),
    cutAfter: (direction, bytes) => set({ cut: { up: direction === 'up' ? bytes : null, down: direction === 'down' ? bytes : null } }),
    dropNextReply: () => set({ dropNextReply: true }),
    dropReplyTo: start => set({ dropReplyTo: start }),
    reset: () => { for (const link of links) link.reset() },
    end: () => { for (const link of links) link.end() },
    resetNew: () => set({ resetNew: true }),
    async refuse () {
      if (!server.listening) return
      await new Promise<void>(resolve => {
        server.close(() => resolve())
        // `close` waits for open connections, the port is free at once.
        setImmediate(resolve)
      })
    },
    async accept () {
      set({})
      if (!server.listening) await listen(server, port)
    },
    async stop () {
      stopped = true
      for (const link of links) link.reset()
      if (server.listening) await new Promise<void>(resolve => server.close(() => resolve()))
    },
  }
}

function listen (server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject)
      resolve()
    })
  })
}

/** What waits to be passed on; null is the end of the stream. */
interface Waiting {
  readonly data: Buffer | null
  readonly dueAtMs: number
}

interface Address {
  readonly port: number
  readonly host?: string
}

/** One client connection and the one to the server behind it. */
class Link {
  readonly #client: Socket
  readonly #server: Socket
  readonly #faults: () => Faults
  readonly #counts: Counters
  readonly #closed: () => void
  readonly #waiting: { readonly up: Waiting[], readonly down: Waiting[] } = { up: [], down: [] }
  readonly #timers: { up: NodeJS.Timeout | null, down: NodeJS.Timeout | null } = { up: null, down: null }
  #over = false
  #doomed = false

  constructor (client: Socket, upstream: Address, faults: () => Faults, counts: Counters, closed: () => void) {
    this.#client = client
    this.#faults = faults
    this.#counts = counts
    this.#closed = closed
    this.#server = connect({ port: upstream.port, host: upstream.host ?? '127.0.0.1', allowHalfOpen: true })
    this.#wire(client, 'up')
    this.#wire(this.#server, 'down')
  }

  #wire (source: Socket, direction: Direction): void {
    source.setNoDelay(true)
    source.on('data', data => {
      this.#counts.received[direction] += data.length
      this.#queue(direction, data)
    })
    source.on('end', () => this.#queue(direction, null))
    source.on('error', () => this.reset())
    source.on('close', () => {
      if (source.destroyed && this.#client.destroyed && this.#server.destroyed) this.#finish()
    })
  }

  #queue (direction: Direction, data: Buffer | null): void {
    const faults = this.#faults()
    if (direction === 'up' && data !== null && faults.dropReplyTo !== null && data.toString('latin1').startsWith(faults.dropReplyTo)) {
      faults.dropReplyTo = null
      this.#doomed = true
    }
    if (direction === 'down' && data !== null && (faults.dropNextReply || this.#doomed)) {
      faults.dropNextReply = false
      this.#counts.faults += 1
      this.reset()
      return
    }
    const delayMs = faults.latencyMs + (faults.jitterMs === 0 ? 0 : Math.random() * faults.jitterMs)
    const last = this.#waiting[direction].at(-1)
    this.#waiting[direction].push({ data, dueAtMs: Math.max(performance.now() + delayMs, last?.dueAtMs ?? 0) })
    this.#pump(direction)
  }

  changed (): void {
    this.#pump('up')
    this.#pump('down')
  }

  #pump (direction: Direction): void {
    const line = this.#waiting[direction]
    while (line.length > 0 && !this.#over && !this.#faults().held[direction]) {
      const waitMs = line[0]!.dueAtMs - performance.now()
      if (waitMs > 0 && this.#faults().latencyMs + this.#faults().jitterMs > 0) {
        this.#timers[direction] ??= setTimeout(() => {
          this.#timers[direction] = null
          this.#pump(direction)
        }, Math.ceil(waitMs))
        return
      }
      this.#passOn(direction, line.shift()!.data)
    }
  }

  #passOn (direction: Direction, data: Buffer | null): void {
    const sink = direction === 'up' ? this.#server : this.#client
    if (data === null) {
      sink.end()
      return
    }
    const cut = this.#faults().cut
    const allowed = cut[direction]
    const part = allowed === null ? data : data.subarray(0, Math.max(0, allowed))
    this.#counts.passed[direction] += part.length
    if (allowed !== null) cut[direction] = allowed - part.length
    if (part.length === data.length) {
      sink.write(part)
      return
    }
    this.#counts.faults += 1
    // Let the allowed part arrive before the reset overtakes it.
    sink.write(part, () => setTimeout(() => this.reset(), 5))
  }

  reset (): void {
    if (this.#over) return
    this.#finish()
    reset(this.#client)
    reset(this.#server)
  }

  end (): void {
    this.#client.end()
    this.#server.end()
  }

  #finish (): void {
    this.#over = true
    for (const direction of ['up', 'down'] as const) {
      if (this.#timers[direction] !== null) clearTimeout(this.#timers[direction])
    }
    this.#closed()
  }
}
