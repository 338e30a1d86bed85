// What is known of a person's roles now: the values that their provider gave at their latest sign-in, wherever they made it, under the map of now. Kept
// in the store for longer than any session or approval lasts, so that whoever has lost a role is not taken for having it in an older session or approval.
import { sha256Hex } from '../../attempts/identity.ts'
import type { SessionStore } from './sessions.ts'

const KEPT_MS = 24 * 3_600_000

export interface KnownRoles {
  remember (iss: string, sub: string, values: readonly string[]): Promise<void>
  /** null: they have not signed in lately. @throws StateUnavailable */
  valuesOf (iss: string, sub: string): Promise<readonly string[] | null>
  /** The same as roles. */
  of (iss: string, sub: string): Promise<readonly string[] | null>
  map (values: readonly string[]): readonly string[]
}

/** @param roles values → roles; null: nobody has any */
export function createKnownRoles (store: SessionStore, roles: ReadonlyMap<string, readonly string[]> | null): KnownRoles {
  const named = (iss: string, sub: string): string => sha256Hex(`aval/people/roles\0${JSON.stringify([iss, sub])}`)
  const map = (values: readonly string[]): readonly string[] => [...new Set(values.flatMap(value => roles?.get(value) ?? []))]
  const valuesOf = async (iss: string, sub: string): Promise<readonly string[] | null> => {
    const text = await store.session(named(iss, sub))
    return text === null ? null : JSON.parse(text) as readonly string[]
  }
  return {
    map,
    valuesOf,
    remember: (iss, sub, values) => store.keepSession(named(iss, sub), JSON.stringify(values), KEPT_MS),
    async of (iss, sub) {
      const values = await valuesOf(iss, sub)
      return values === null ? null : map(values)
    },
  }
}
