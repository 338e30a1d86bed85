// A secret value that cannot be printed, serialised or inspected. Whoever needs the bytes asks for them by name, with `reveal`, and that
// word is rare enough to be looked for in a review.
import { inspect } from 'node:util'

const REDACTED = '[secret]'

/** Shorter values are refused at load: a scan for them would withhold honest answers. */
export const SECRET_BYTES_MIN = 8

export class Secret {
  /** Where it came from, `env:NAME` or `file:PATH`: safe to show. */
  readonly reference: string
  #bytes: Buffer
  #destroyed = false

  constructor (reference: string, bytes: Buffer) {
    this.reference = reference
    this.#bytes = Buffer.from(bytes)
  }

  /** The bytes themselves, not a copy: they are zeroed by `destroy`. */
  reveal (): Buffer {
    return this.#bytes
  }

  destroy (): void {
    this.#bytes.fill(0)
    this.#bytes = Buffer.alloc(0)
    this.#destroyed = true
  }

  /** Nothing is left to reveal. */
  get isDestroyed (): boolean { return this.#destroyed }

  toString (): string { return REDACTED }
  toJSON (): string { return REDACTED }
  [Symbol.toPrimitive] (): string { return REDACTED }
  [inspect.custom] (): string { return REDACTED }
}
