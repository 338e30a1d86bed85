// Chance from the seed: the same words draw the same numbers in the same order. (What then happens depends on the machine as well; a seed repeats what
// is done to a run, not what comes of it.)
import { draw } from './folder.ts'

export class Random {
  readonly #words: ReadonlyArray<string | number>
  #drawn = 0

  constructor (...words: ReadonlyArray<string | number>) {
    this.#words = words
  }

  /** From 0 up to 1. */
  next (): number {
    return draw(...this.#words, this.#drawn++)
  }

  between (from: number, to: number): number {
    return from + this.next() * (to - from)
  }

  whole (from: number, to: number): number {
    return Math.floor(this.between(from, to + 1))
  }

  one<T> (all: readonly T[]): T {
    return all[Math.floor(this.next() * all.length)]!
  }

  chance (share: number): boolean {
    return this.next() < share
  }
}
