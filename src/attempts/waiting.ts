// Attempts whose look-up taught nothing, by upstream. An upstream that is down for long has most of them wait for minutes; once it answers one look-up again,
// the others need not wait for their turns.
import type { Due } from '../store/store.ts'

/** Of this process. Those beyond wait for their turns. */
const REMEMBERED_MAX = 10_000

export class Waiting {
  readonly #byUpstream = new Map<string, Map<string, Due>>()
  #count = 0

  add (one: Due): void {
    const { id, upstream } = one.record
    const own = this.#byUpstream.get(upstream) ?? new Map<string, Due>()
    if (!own.has(id)) {
      if (this.#count >= REMEMBERED_MAX) return
      this.#count += 1
    }
    own.set(id, one)
    this.#byUpstream.set(upstream, own)
  }

  forget ({ record: { id, upstream } }: Due): void {
    if (this.#byUpstream.get(upstream)?.delete(id) === true) this.#count -= 1
  }

  /** All of an upstream: each is given out once, until it is added anew. */
  take (upstream: string): readonly Due[] {
    const own = [...this.#byUpstream.get(upstream)?.values() ?? []]
    this.#byUpstream.delete(upstream)
    this.#count -= own.length
    return own
  }
}
