// By which definition an attempt is looked up: the one that it was begun with, whatever the sheets say now. A broker that does not have it, because it
// was started since or reads other sheets, finds it in the store.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Action, Catalog } from '../catalog/catalog.ts'
import { readDefinition } from '../catalog/definition.ts'
import type { CatalogInForce } from '../catalog/in-force.ts'
import type { Store } from '../store/store.ts'

export interface Definitions {
  /** null: nobody has kept it, or this version of Aval makes another action of it. @throws StateUnavailable */
  of (digest: string): Promise<Action | null>
  /** Puts into the store what it does not have yet. To be asked again where it fails. @throws StateUnavailable */
  keep (catalog: Catalog): Promise<void>
  /** The store may have lost what was put there: the next `keep` puts it all again. */
  forget (): void
}

export function createDefinitions (store: Pick<Store, 'definition' | 'keepDefinition'>, inForce: Pick<CatalogInForce, 'definition' | 'remember'>): Definitions {
  const kept = new Set<string>()
  return {
    async of (digest) {
      const known = inForce.definition(digest)
      if (known !== null) return known
      const text = await store.definition(digest)
      const action = text === null ? null : readDefinition(text, digest)
      if (action !== null) inForce.remember(action)
      return action
    },
    async keep (catalog) {
      for (const [digest, write] of catalog.definitions) {
        if (kept.has(digest)) continue
        await store.keepDefinition(digest, write())
        kept.add(digest)
        // Calls go first.
        await nextTurn()
      }
    },
    forget: () => kept.clear(),
  }
}
