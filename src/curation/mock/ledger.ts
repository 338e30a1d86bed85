// What a mock has seen and done. Secrets never stand in it: a chip stands where one was.
import type { Json } from '../../catalog/catalog.ts'

export interface LedgerEntry {
  readonly number: number
  /** operationId, or `METHOD /path`; null where the document has no such operation. */
  readonly operation: string | null
  readonly method: string
  readonly path: string
  readonly query: { readonly [name: string]: string | readonly string[] }
  readonly headers: { readonly [name: string]: string }
  readonly body: Json
  /** What the document says against it; empty where nothing does. */
  readonly complaints: readonly string[]
  /** Whether the effect took place, whatever was answered. Reading has none. */
  readonly applied: boolean
  /** It repeated a key that was seen before. */
  readonly duplicate: boolean
  /** null: no answer was given. */
  readonly status: number | null
  readonly fault: string | null
}

export const CHIP = '‹secret›'

export class Ledger {
  #entries: LedgerEntry[] = []

  add (entry: Omit<LedgerEntry, 'number'>): LedgerEntry {
    const numbered = Object.freeze({ number: this.#entries.length + 1, ...entry })
    this.#entries.push(numbered)
    return numbered
  }

  get entries (): readonly LedgerEntry[] {
    return [...this.#entries]
  }

  clear (): void {
    this.#entries = []
  }
}

/** Header and query names that carry a credential, in lower case, beside those of the document. */
const CREDENTIAL_NAMES = new Set('authorization proxy-authorization cookie x-api-key api-key apikey api_key access_token token'.split(' '))

export const isCredentialName = (place: 'header' | 'query', name: string, declared: ReadonlySet<string>): boolean =>
  declared.has(`${place}:${name.toLowerCase()}`) || CREDENTIAL_NAMES.has(name.toLowerCase())
