// Names in Redis. Everything of a tenant carries its hash tag, so that one call's changes are one atomic step in a cluster too.
import { HASH_TAGS } from '../attempts/identity.ts'

export const KEY_ID = 'aval:key'
export const STOPPED_RUNS = 'aval:stopped'
export const PING = 'aval:ping'
export const definitionKey = (digest: string): string => `aval:definition:${digest}`

export const TAGS: readonly string[] = Array.from({ length: HASH_TAGS }, (_, index) => index.toString(16).padStart(2, '0'))

/** What scripts put before a name that they learn only while they run. */
export const prefixOf = (tag: string): string => `aval:{t${tag}}:`

export interface Keys {
  readonly prefix: string
  attempt (id: string): string
  result (id: string): string
  record (recordKey: string): string
  run (runKey: string): string
  runAttempts (runKey: string): string
  claim (name: string): string
  equal (name: string): string
  /** Records of different formats are due apart, so that a replica never meets one that it cannot read. */
  due (format: number): string
  readonly unresolved: string
  // An action id holds no colon, so what follows it is the tenant whatever that holds.
  unresolvedOf (action: string, tenant: string): string
  places (action: string, tenant: string): string
}

export function keysOf (tag: string): Keys {
  const prefix = prefixOf(tag)
  return {
    prefix,
    attempt: id => `${prefix}attempt:${id}`,
    result: id => `${prefix}result:${id}`,
    record: recordKey => `${prefix}key:${recordKey}`,
    run: runKey => `${prefix}run:${runKey}`,
    runAttempts: runKey => `${prefix}run-attempts:${runKey}`,
    claim: name => `${prefix}claim:${name}`,
    equal: name => `${prefix}equal:${name}`,
    due: format => `${prefix}due:${format}`,
    unresolved: `${prefix}unresolved`,
    unresolvedOf: (action, tenant) => `${prefix}unresolved:${action}:${tenant}`,
    places: (action, tenant) => `${prefix}places:${action}:${tenant}`,
  }
}
