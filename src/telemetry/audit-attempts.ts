// Which attempts were about to leave, and which have an end: what the chains of all writers say together, in whatever order they are read.
import type { ReadRow } from './audit-row.ts'

interface Intent {
  readonly writer: string
  readonly seq: number
}

export class AttemptsSeen {
  readonly #intents = new Map<string, Intent>()
  /** Attempts that have ended. */
  readonly #ended = new Set<string>()
  /** Refused after the intent: the answer proved that nothing was sent. */
  readonly #refused = new Set<string>()
  readonly #twice = new Map<string, Intent>()
  /** The last that was heard of those that have not ended. */
  readonly #last = new Map<string, { readonly time: string, readonly state: string }>()

  row (row: ReadRow): void {
    const id = row.attempt?.id
    if (id === undefined || row.attempt?.duplicate === true) return
    switch (row.event) {
      case 'execution.intent':
        this.#intents.set(id, { writer: row.writer, seq: row.seq })
        break
      case 'execution.result':
      case 'execution.resolved':
        if (this.#ended.has(id)) this.#twice.set(id, { writer: row.writer, seq: row.seq })
        this.#ended.add(id)
        this.#last.delete(id)
        break
      case 'action.refused':
        this.#refused.add(id)
        break
      case 'execution.unknown':
      case 'execution.pending':
      case 'execution.escalated':
        if (this.#ended.has(id) || (this.#last.get(id)?.time ?? '') > row.time) break
        this.#last.set(id, { time: row.time, state: row.attempt?.state ?? row.event })
        break
    }
  }

  * open (): Iterable<Intent & { readonly attemptId: string, readonly last: string }> {
    for (const [attemptId, intent] of this.#intents) {
      if (this.#ended.has(attemptId) || this.#refused.has(attemptId)) continue
      yield { attemptId, ...intent, last: this.#last.get(attemptId)?.state ?? 'leaving' }
    }
  }

  * twice (): Iterable<Intent & { readonly attemptId: string }> {
    for (const [attemptId, intent] of this.#twice) yield { attemptId, ...intent }
  }
}
