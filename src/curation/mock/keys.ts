// Idempotency keys as an honest upstream keeps them: the first answer for a repeat, a refusal for another request under the same key.
import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import type { PlannedAnswer } from './answers.ts'
import type { MockRequest } from './request.ts'

interface Kept {
  readonly fingerprint: string
  readonly answer: PlannedAnswer
}

export class KeyMemory {
  readonly #kept = new Map<string, Kept>()

  /** null: the key is new, and kept with this answer. `other`: it was used for something else. */
  recall (key: string, operation: string, request: MockRequest, answer: PlannedAnswer): PlannedAnswer | 'other' | null {
    const fingerprint = createHash('sha256').update(canonicalize([operation, request.path, request.body ?? null])!).digest('hex')
    const kept = this.#kept.get(key)
    if (kept !== undefined) return kept.fingerprint === fingerprint ? kept.answer : 'other'
    // A refusal has done nothing that a repeat could do again.
    if (answer.status < 300) this.#kept.set(key, { fingerprint, answer })
    return null
  }
}
