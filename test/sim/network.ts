// The way of one process to the upstream: the client's port, with the rules that the real one keeps (the send window, one deadline, what left is
// known).
import type { Upstream } from '../../src/catalog/catalog.ts'
import { buildRequest } from '../../src/upstream/request.ts'
import type { LostCause, Reply, SendOptions, UpstreamClient, WireRequest } from '../../src/upstream/wire.ts'
import type { Clock } from '../../src/clock.ts'
import type { Process } from './process.ts'
import type { Raw, SimUpstream } from './upstream.ts'
import type { Watch } from './watch.ts'

export interface NetworkWeather {
  /** Share of sends that cannot connect. */
  unreachable: number
  /** Share of writes that something on the way still delivers after it has broken the connection. */
  stray: number
  longMs: number
  /** A process that is stopped exactly here has passed its last check and not yet written: nothing can hold it. */
  holeMs: number
}

const UNREACHABLE: readonly LostCause[] = ['refused', 'unresolved_name', 'connect_timeout', 'tls', 'address_refused']

export function networkOf (process: Process, clock: Clock, upstream: SimUpstream, weather: NetworkWeather, watch: Watch): UpstreamClient {
  return {
    build: buildRequest,
    enter: async () => () => {},
    send: (_upstream: Upstream, request: WireRequest, options: SendOptions) =>
      new Promise(resolve => new Send(process, clock, upstream, weather, watch, request, options, resolve).start()),
    close: async () => {},
  }
}

class Send {
  readonly #process: Process
  readonly #life: number
  readonly #clock: Clock
  readonly #upstream: SimUpstream
  readonly #weather: NetworkWeather
  readonly #watch: Watch
  readonly #request: WireRequest
  readonly #options: SendOptions
  readonly #resolve: (reply: Reply) => void
  readonly #callOff: () => void
  #left = false
  #done = false

  constructor (
    process: Process, clock: Clock, upstream: SimUpstream, weather: NetworkWeather, watch: Watch, request: WireRequest, options: SendOptions,
    resolve: (reply: Reply) => void
  ) {
    this.#process = process
    this.#life = process.life
    this.#clock = clock
    this.#upstream = upstream
    this.#weather = weather
    this.#watch = watch
    this.#request = request
    this.#options = options
    this.#resolve = resolve
    this.#callOff = clock.after(options.timeoutMs, () => this.#end({ kind: this.#left ? 'lost' : 'unsent', cause: 'deadline', durationMs: 0 }))
  }

  start (): void {
    const { chance } = this.#process.world
    if (chance.hit(this.#weather.unreachable)) {
      this.#process.deliverIn(chance.between(1, 50), () => this.#end({ kind: 'unsent', cause: chance.pick(UNREACHABLE), durationMs: 0 }))
      return
    }
    this.#process.deliverIn(chance.delayMs(this.#weather.longMs), () => this.#release())
  }

  #release (): void {
    if (this.#done) return
    const { sendByMs } = this.#options
    if (sendByMs !== null && this.#clock.nowMs() > sendByMs) {
      this.#end({ kind: 'unsent', cause: 'send_window', durationMs: 0 })
      return
    }
    this.#left = true
    if (this.#options.kind === 'write' && this.#weather.holeMs > 0) {
      this.#watch.holes.add(this.#options.attemptId!)
      this.#process.stopFor(this.#weather.holeMs)
      this.#process.deliverIn(0, () => this.#write())
    } else this.#write()
  }

  #write (): void {
    const { world } = this.#process
    if (this.#options.kind === 'write') this.#watch.left(this.#options.attemptId!)
    // What is on its way arrives, whatever becomes of the process.
    const { timeoutMs, kind } = this.#options
    if (kind === 'write' && world.chance.hit(this.#weather.stray)) {
      this.#process.deliverIn(world.chance.between(1, 20), () => this.#end({ kind: 'lost', cause: 'reset', durationMs: 0 }), this.#life)
      world.in(world.chance.between(20, timeoutMs - 20), () => this.#arrive())
      return
    }
    world.in(world.chance.delayMs(Math.min(this.#weather.longMs, timeoutMs / 2)), () => this.#arrive())
  }

  #arrive (): void {
    const { world } = this.#process
    if (this.#options.kind === 'read') {
      const { manner, raw } = this.#upstream.read(this.#request)
      this.#watch.looked(this.#request, manner)
      if (raw !== 'silent') this.#answer(raw, world.chance.delayMs(this.#weather.longMs))
      return
    }
    const attemptId = this.#options.attemptId!
    this.#watch.arrived(attemptId)
    const { manner, raw, afterMs, conclusive } = this.#upstream.write(this.#request, attemptId)
    world.tell('upstream:', attemptId, 'arrives,', manner, raw === null ? 'no answer' : raw.status, `after ${afterMs} ms`)
    this.#answer(raw, afterMs, conclusive)
  }

  #answer (raw: Raw | null, afterMs: number, conclusive = false): void {
    this.#process.deliverIn(afterMs, () => {
      if (this.#done) return
      if (this.#options.kind === 'write') this.#watch.answered(this.#options.attemptId!, raw?.status ?? null, conclusive)
      this.#end(raw === null ? { kind: 'lost', cause: 'reset', durationMs: afterMs } : replyOf(raw, afterMs))
    }, this.#life)
  }

  #end (reply: Reply): void {
    if (this.#done) return
    this.#done = true
    this.#callOff()
    this.#resolve(reply)
  }
}

function replyOf (raw: Raw, durationMs: number): Reply {
  const { status } = raw
  if (raw.cut === true) return { kind: 'cut', status, cause: 'reset', durationMs }
  const headers: Record<string, string> = raw.type === '' ? {} : { 'content-type': raw.type }
  const answer = { kind: 'answer', status, headers, body: Buffer.from(raw.body), durationMs } as const
  return raw.undelimited === true ? { ...answer, delimited: false } : answer
}
