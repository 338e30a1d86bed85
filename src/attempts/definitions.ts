// By which definition an attempt is looked up: the one that it was begun with, whatever the sheets say now. A broker that does not have it, because it
// was started since or reads other sheets, finds it in the store.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Action } from '../catalog/catalog.ts'
import { readDefinition } from '../catalog/definition.ts'
import type { CatalogInForce } from '../catalog/in-force.ts'
import type { Store } from '../store/store.ts'

export interface Definitions {
  /** null: nobody has kept it, or this version of Aval makes another action of it. @throws StateUnavailable */
  of (digest: string): Promise<Action | null>
  /**
   * Resolves once the store has it; null: it has. Before that nothing is begun by it, or a broker that dies could leave behind what nobody can look up.
   * @throws StateUnavailable
   */
  ensure (digest: string): Promise<void> | null
  /** Puts into the store what is known here and it may not have. To be asked again where it fails. @throws StateUnavailable */
  keep (): Promise<void>
  /** The store may have lost what was put there: it is put there again, also what is not of the sheets any more. */
  forget (): void
}

export function createDefinitions (
  store: Pick<Store, 'definition' | 'keepDefinition'>, inForce: Pick<CatalogInForce, 'definition' | 'remember' | 'written'>
): Definitions {
  let kept = new Set<string>()
  const ensure = (digest: string): Promise<void> | null => {
    const write = inForce.written().get(digest)
    return write === undefined || kept.has(digest) ? null : put(digest, write())
  }
  async function put (digest: string, text: string): Promise<void> {
    // What is put into a store that loses it meanwhile is not kept.
    const before = kept
    await store.keepDefinition(digest, text)
    before.add(digest)
  }
  return {
    ensure,
    async of (digest) {
      const known = inForce.definition(digest)
      if (known !== null) return known
      const text = await store.definition(digest)
      const action = text === null ? null : readDefinition(text, digest)
      if (action !== null) inForce.remember(action, text!)
      return action
    },
    async keep () {
      for (const digest of inForce.written().keys()) {
        const putting = ensure(digest)
        if (putting === null) continue
        await putting
        // Calls go first.
        await nextTurn()
      }
    },
    forget () { kept = new Set() },
  }
}
