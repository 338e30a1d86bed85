// Numbers that look random and are the same for the same seed: sfc32, as PractRand has it.
export class Chance {
  #a: number
  #b: number
  #c: number
  #d = 1

  /** @param seed a whole number from 0 to 2^53 - 1 */
  constructor (seed: number) {
    this.#a = seed >>> 0
    this.#b = Math.floor(seed / 2 ** 32) >>> 0
    this.#c = 0x9e3779b9
    for (let round = 0; round < 12; round++) this.#word()
  }

  #word (): number {
    const sum = (this.#a + this.#b + this.#d++) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0
    return sum >>> 0
  }

  /** True once in so many parts of one. */
  hit (share: number): boolean {
    return this.#word() < share * 2 ** 32
  }

  /** A whole number from `min` to `max`. */
  between (min: number, max: number): number {
    return min + Math.floor(this.#word() / 2 ** 32 * (max - min + 1))
  }

  pick<T> (from: readonly T[]): T {
    return from[this.between(0, from.length - 1)]!
  }

  /** Mostly short, sometimes long, as networks are. */
  delayMs (longMs: number): number {
    return this.hit(0.8) ? this.between(1, 8) : this.between(1, longMs)
  }
}
