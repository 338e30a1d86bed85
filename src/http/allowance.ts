// How often each key may do something in a window of time that begins when it does it first. Counted without a timer or a promise for each: this is
// asked for every request, and must answer before anything of it is handled.

interface Window {
  left: number
  /** Monotonic. */
  readonly endsAtMs: number
}

export class Allowance {
  readonly #points: number
  readonly #windowMs: number
  /** Two generations, so that what has ended goes without being looked for. */
  #young = new Map<string, Window>()
  #old = new Map<string, Window>()
  #turnsAtMs = 0

  /** @param points for a window */
  constructor (points: number, windowMs: number) {
    this.#points = points
    this.#windowMs = windowMs
  }

  /** Spends one point. @returns 0, or milliseconds until there are points again where there was none */
  spend (key: string, nowMs: number = performance.now()): number {
    const window = this.#windowOf(key, nowMs)
    if (window.left === 0) return window.endsAtMs - nowMs
    window.left -= 1
    return 0
  }

  #windowOf (key: string, nowMs: number): Window {
    this.#turn(nowMs)
    let window = this.#young.get(key) ?? this.#old.get(key)
    if (window === undefined || nowMs >= window.endsAtMs) {
      window = { left: this.#points, endsAtMs: nowMs + this.#windowMs }
      this.#young.set(key, window)
    }
    return window
  }

  /** A window that was begun in a generation has ended when that generation goes. */
  #turn (nowMs: number): void {
    if (nowMs < this.#turnsAtMs) return
    this.#old = this.#young
    this.#young = new Map()
    this.#turnsAtMs = nowMs + this.#windowMs
  }
}
