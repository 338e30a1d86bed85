// A process of a broker: whatever it waits for is delivered to it here, or not at all. Killed, it hears nothing more of what it waited for; stopped,
// it hears all of it late; started again, it has forgotten everything.
import type { Clock } from '../../src/clock.ts'
import type { Coming, World } from './world.ts'

export class Process {
  readonly name: string
  readonly world: World
  /** Rises with every start: what was meant for an earlier life is not delivered. */
  life = 0
  alive = true
  /** How wrong its time of day is. */
  skewMs = 0
  #stopped = false
  readonly #inbox: Array<{ readonly life: number, readonly work: () => void }> = []
  /** Deliveries from now on; at the last of them the process is struck. */
  #strikeAfter = Infinity
  #strike: (() => void) | null = null

  constructor (name: string, world: World) {
    this.name = name
    this.world = world
  }

  /** Between two things that it waits for, after so many of them. */
  strikeAfter (deliveries: number, strike: () => void): void {
    this.#strikeAfter = deliveries
    this.#strike = strike
  }

  /** @param life the one that waits for it */
  deliverIn (ms: number, work: () => void, life = this.life): Coming {
    return this.world.in(ms, () => this.#deliver(life, work))
  }

  #deliver (life: number, work: () => void): void {
    if (life !== this.life || !this.alive) return
    if (this.#strikeAfter-- <= 0) {
      this.#strikeAfter = Infinity
      this.#strike?.()
      if (life !== this.life || !this.alive) return
    }
    if (this.#stopped) this.#inbox.push({ life, work })
    else work()
  }

  kill (): void {
    this.life++
    this.alive = false
    this.#stopped = false
    this.#inbox.length = 0
  }

  start (): void {
    this.alive = true
  }

  /** SIGSTOP, and SIGCONT so much later. */
  stopFor (ms: number): void {
    if (this.#stopped) return
    this.#stopped = true
    const { life } = this
    this.world.in(ms, () => {
      if (life !== this.life) return
      this.#stopped = false
      for (const late of this.#inbox.splice(0)) this.deliverIn(0, late.work, late.life)
    })
  }

  get stopped (): boolean { return this.#stopped }

  /** Its monotonic clock, which counts from when the process was made and goes on while it is stopped. */
  clock (): Clock {
    const { world } = this
    const bootMs = world.nowMs
    return {
      nowMs: () => world.nowMs - bootMs,
      sleep: ms => new Promise(resolve => { this.deliverIn(ms, resolve) }),
      after: (ms, work) => {
        // One that came due while the process was stopped can be called off until it is heard.
        let off = false
        const coming = this.deliverIn(ms, () => { if (!off) work() })
        return () => {
          off = true
          coming.work = null
        }
      },
      endOfTurn: () => Promise.resolve(),
    }
  }
}
