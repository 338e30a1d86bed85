// A TCP proxy that gives each connection a fate of its own when it is accepted, so that many faults fire at the same time without everything standing
// still at once. All connections can also be cut off together, held, or led to another server. What is held longer than a moment is lost: it is never
// passed on late, as if a network kept it for ever.
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { reset } from '../support/reset.ts'

export type Direction = 'up' | 'down'

/** What becomes of one connection; `up` is from the client to the server. */
export type Fate =
  | { readonly kind: 'reset at accept' }
  /** Reset once so many bytes went this way. */
  | { readonly kind: 'cut', readonly direction: Direction, readonly bytes: number }
  /** Ended (FIN on both sides) once so many bytes went this way. */
  | { readonly kind: 'end', readonly direction: Direction, readonly bytes: number }
  /** The how-manieth piece from the server is swallowed, and the connection reset: the server did it, the client never hears. */
  | { readonly kind: 'drop reply', readonly nth: number }
  /** After so many bytes up nothing moves this way (half open), or either way (a black hole), until the connection is reset. */
  | { readonly kind: 'hold', readonly direction: Direction | 'both', readonly bytes: number, readonly ms: number }
  | { readonly kind: 'delay', readonly ms: number, readonly jitterMs: number }
  | { readonly kind: 'throttle', readonly bytesPerSecond: number }

export interface FaultProxyOptions {
  readonly port: number
  /** Of each connection, when it is accepted; null: it is left alone. */
  fate (): Fate | null
  /** A fault fired: the kind of a fate, with its direction, or `partition`, `reset` or `refuse`. */
  fired (name: string): void
  random (): number
}

export interface FaultProxy {
  readonly port: number
  /** From now on connections lead there; those to the server before are reset. */
  lead (port: number): void
  /** Every open connection is reset. */
  reset (): void
  /** Nothing moves this way, on any connection, old or new; then all that stood still are reset. */
  partition (direction: Direction | 'both', ms: number): Promise<void>
  /** Nobody listens here: open connections are reset, and new ones refused. */
  refuse (ms: number): Promise<void>
  stop (): Promise<void>
}

export async function startFaultProxy (options: FaultProxyOptions): Promise<FaultProxy> {
  const links = new Set<Link>()
  let target = options.port
  let held: Direction | 'both' | null = null
  const server = createServer({ allowHalfOpen: true }, client => {
    const fate = options.fate()
    if (fate?.kind === 'reset at accept') {
      options.fired(fate.kind)
      reset(client)
      return
    }
    const link = new Link(client, target, fate, options, () => { links.delete(link) })
    if (held !== null) link.hold(held)
    links.add(link)
  })
  const listen = async (port: number): Promise<void> => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  }
  await listen(0)
  const { port: own } = server.address() as AddressInfo
  const resetAll = (): void => { for (const link of [...links]) link.reset() }
  const close = async (): Promise<void> => {
    const closed = new Promise<void>(resolve => { server.close(() => { resolve() }) })
    resetAll()
    await closed
  }
  return {
    port: own,
    lead (port) {
      target = port
      resetAll()
    },
    reset () {
      if (links.size > 0) options.fired('reset')
      resetAll()
    },
    async partition (direction, ms) {
      held = direction
      if (links.size > 0) options.fired(`partition ${direction}`)
      for (const link of links) link.hold(direction)
      await new Promise(resolve => setTimeout(resolve, ms))
      held = null
      for (const link of [...links]) if (link.stoodStill) link.reset()
      for (const link of links) link.release()
    },
    async refuse (ms) {
      options.fired('refuse')
      await close()
      await new Promise(resolve => setTimeout(resolve, ms))
      await listen(own)
    },
    stop: close,
  }
}

class Link {
  readonly #sides: Readonly<Record<Direction, Socket>>
  readonly #fate: Fate | null
  readonly #options: FaultProxyOptions
  readonly #gone: () => void
  readonly #bytes = { up: 0, down: 0 }
  readonly #readyAtMs = { up: 0, down: 0 }
  readonly #held = { up: false, down: false }
  #pieces = 0
  #told = false
  #over = false
  stoodStill = false

  constructor (client: Socket, port: number, fate: Fate | null, options: FaultProxyOptions, gone: () => void) {
    const server = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    this.#sides = { up: client, down: server }
    this.#fate = fate
    this.#options = options
    this.#gone = gone
    this.#carry('up', server)
    this.#carry('down', client)
  }

  #carry (direction: Direction, to: Socket): void {
    const from = this.#sides[direction]
    from.setNoDelay(true)
    from.on('data', data => { this.#pass(direction, data, to) })
    from.on('end', () => { this.#later(direction, 0, () => to.end()) })
    from.on('error', () => this.reset())
    from.on('close', () => { if (this.#sides.up.destroyed && this.#sides.down.destroyed) this.#finish() })
  }

  #pass (direction: Direction, data: Buffer, to: Socket): void {
    if (this.#over) return
    if (this.#held[direction]) {
      this.stoodStill = true
      return
    }
    const fate = this.#fate
    this.#bytes[direction] += data.length
    const over = fate !== null && 'direction' in fate && 'bytes' in fate ? this.#bytes[fate.kind === 'hold' ? 'up' : fate.direction as Direction] - fate.bytes : 0
    switch (fate?.kind) {
      case 'cut':
      case 'end':
        if (direction !== fate.direction || over <= 0) break
        this.#tell(`${fate.kind} ${direction}`)
        to.write(data.subarray(0, Math.max(0, data.length - over)), () => { if (fate.kind === 'cut') this.reset(); else this.#end() })
        return
      case 'drop reply':
        if (direction !== 'down' || ++this.#pieces < fate.nth) break
        this.#tell(fate.kind)
        this.reset()
        return
      case 'hold':
        if (over <= 0 || this.#told) break
        this.#tell(`hold ${fate.direction}`)
        this.hold(fate.direction)
        setTimeout(() => this.reset(), fate.ms).unref()
        if (fate.direction === 'down') break
        return
      case 'delay': this.#tell(fate.kind); break
      case 'throttle': this.#tell(fate.kind); break
    }
    this.#later(direction, data.length, () => { to.write(data) })
  }

  /** In order, and as late as the fate of the connection has it. */
  #later (direction: Direction, bytes: number, work: () => void): void {
    const fate = this.#fate
    const ms = fate?.kind === 'delay' ? fate.ms + this.#options.random() * fate.jitterMs : fate?.kind === 'throttle' ? bytes / fate.bytesPerSecond * 1_000 : 0
    const nowMs = performance.now()
    const atMs = Math.max(nowMs, this.#readyAtMs[direction]) + ms
    if (ms === 0 && this.#readyAtMs[direction] <= nowMs) {
      if (!this.#over) work()
      return
    }
    this.#readyAtMs[direction] = atMs
    setTimeout(() => { if (!this.#over) work() }, atMs - nowMs)
  }

  #tell (name: string): void {
    if (this.#told) return
    this.#told = true
    this.#options.fired(name)
  }

  hold (direction: Direction | 'both'): void {
    if (direction !== 'down') this.#held.up = true
    if (direction !== 'up') this.#held.down = true
  }

  release (): void {
    this.#held.up = this.#held.down = false
  }

  #end (): void {
    this.#sides.up.end()
    this.#sides.down.end()
  }

  reset (): void {
    if (this.#over) return
    this.#finish()
    reset(this.#sides.up)
    reset(this.#sides.down)
  }

  #finish (): void {
    this.#over = true
    this.#gone()
  }
}
