// The catalog in force. A reload swaps it as a whole; what the older ones defined stays findable, because calls in flight and unsettled attempts go on
// by the definition that they began with.
import type { Action, Catalog } from './catalog.ts'

export interface CatalogInForce {
  current (): Catalog
  /** By the digest that an attempt's record carries. */
  definition (digest: string): Action | null
  /** One that is not of the sheets any more, and as it is written. */
  remember (action: Action, text: string): void
  /** All that are known, and how each is written down. */
  written (): ReadonlyMap<string, () => string>
  /** Atomic: one assignment. */
  swap (next: Catalog): void
}

export function createCatalogInForce (first: Catalog): CatalogInForce {
  let catalog = first
  // Grows only by reloads that change something, an operator's act; a definition is a few kilobytes.
  const definitions = new Map<string, Action>()
  const written = new Map<string, () => string>()
  const remember = (next: Catalog): void => {
    for (const action of next.actions.values()) definitions.set(action.digest, action)
    for (const [digest, write] of next.definitions) written.set(digest, write)
  }
  remember(first)
  return {
    current: () => catalog,
    definition: digest => definitions.get(digest) ?? null,
    remember (action, text) {
      definitions.set(action.digest, action)
      written.set(action.digest, () => text)
    },
    written: () => written,
    swap (next) {
      remember(next)
      catalog = next
    },
  }
}
