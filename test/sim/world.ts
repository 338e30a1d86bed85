// Virtual time, and what happens in it. Everything that a broker waits for comes from here, one thing at a time: between two of them all code that
// can run has run, so that a fault may strike wherever code waits.
import { Chance } from './chance.ts'

/** A broker starts, and its store and its upstream exist, long after the beginning of time. */
export const EPOCH_MS = Date.UTC(2030, 0, 1)

const ID = /\b(?:prop|att)_[0-9a-f]{34}\b/g

export interface Coming {
  readonly atMs: number
  readonly order: number
  /** null: called off. */
  work: (() => void) | null
}

export class World {
  readonly chance: Chance
  /** The steps of the schedule, where they are asked for. */
  readonly steps: string[] | null
  nowMs = EPOCH_MS
  #order = 0
  readonly #names = new Map<string, string>()
  readonly #heap: Coming[] = []

  constructor (seed: number, tell: boolean) {
    this.chance = new Chance(seed)
    this.steps = tell ? [] : null
  }

  /** For whoever reads how a schedule failed. */
  tell (...words: ReadonlyArray<string | number | null | undefined>): void {
    this.steps?.push(`${((this.nowMs - EPOCH_MS) / 1_000).toFixed(3).padStart(10)} s  ${words.join(' ').replace(ID, id => this.#nameOf(id))}`)
  }

  /** Proposals have random ids, and what they were used by is named after them: by turn they are the same whenever the schedule is run. */
  #nameOf (id: string): string {
    const name = this.#names.get(id) ?? `${id.split('_', 1)[0]}-${this.#names.size + 1}`
    this.#names.set(id, name)
    return name
  }

  in (ms: number, work: () => void): Coming {
    return this.at(this.nowMs + ms, work)
  }

  at (atMs: number, work: () => void): Coming {
    const coming = { atMs: Math.max(atMs, this.nowMs), order: this.#order++, work }
    this.#push(coming)
    return coming
  }

  /** Until nothing more is to come. @throws where that takes longer than anything honest does */
  async run (eventsMax: number): Promise<number> {
    let events = 0
    for (let next = this.#pop(); next !== undefined; next = this.#pop()) {
      if (next.work === null) continue
      if (++events > eventsMax) throw new Error(`the schedule does not end: ${events} events by ${new Date(this.nowMs).toISOString()}`)
      this.nowMs = next.atMs
      next.work()
      // A tick runs when no microtask is left: until then whatever that set in motion has come to its next wait.
      await new Promise<void>(process.nextTick)
    }
    return events
  }

  #push (coming: Coming): void {
    const heap = this.#heap
    let at = heap.length
    while (at > 0) {
      const above = (at - 1) >> 1
      if (!isBefore(coming, heap[above]!)) break
      heap[at] = heap[above]!
      at = above
    }
    heap[at] = coming
  }

  #pop (): Coming | undefined {
    const heap = this.#heap
    const first = heap[0]
    const last = heap.pop()
    if (heap.length === 0 || last === undefined) return first
    let at = 0
    for (;;) {
      let below = 2 * at + 1
      if (below >= heap.length) break
      if (below + 1 < heap.length && isBefore(heap[below + 1]!, heap[below]!)) below++
      if (!isBefore(heap[below]!, last)) break
      heap[at] = heap[below]!
      at = below
    }
    heap[at] = last
    return first
  }
}

const isBefore = (one: Coming, other: Coming): boolean => one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order)
