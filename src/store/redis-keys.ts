// Names in Redis. Everything of a tenant carries its hash tag, so that one call's changes are one atomic step in a cluster too.
import { HASH_TAGS } from '../attempts/identity.ts'

export const KEY_ID = 'aval:key'
export const STOPPED_RUNS = 'aval:stopped'
export const PING = 'aval:ping'
/** What replicas must know of each other shares one hash tag, so that one script tells it. */
export const WATCH_TAG = '00'
export const MEMBERS = `aval:{t${WATCH_TAG}}:members`
/** Replicas that ended in peace, and when: what they did stood in the store before this did. */
export const DEPARTED = `aval:{t${WATCH_TAG}}:departed`
export const LOSS = `aval:{t${WATCH_TAG}}:loss`
export const sessionKey = (hash: string): string => `aval:session:${hash}`
export const LOCK = `aval:{t${WATCH_TAG}}:lock`
export const LOCK_FOLLOWERS = `aval:{t${WATCH_TAG}}:lock-followers`
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
  /** When an attempt that held this target last ended as completed. */
  changed (claim: string): string
  equal (name: string): string
  /** Records of different formats are due apart, so that a replica never meets one that it cannot read. */
  due (format: number): string
  /** The canary of a replica: it beats with every mark that the replica makes in this tag. */
  canary (replica: string): string
  readonly unresolved: string
  // An action id holds no colon, so what follows it is the tenant whatever that holds.
  unresolvedOf (action: string, tenant: string): string
  places (action: string, tenant: string): string
  proposal (id: string): string
  /** The latest proposal under a record key or an equal key. */
  proposalName (name: string): string
  readonly proposalsOpen: string
  readonly proposalsEnded: string
  /** Open ones by when their time is over; formats stand apart, as for `due`. */
  proposalsEnd (format: number): string
  proposalsPending (agentKey: string): string
  proposalsMade (agentKey: string): string
  /** Undecided ones that this role may decide, in this tenant. */
  proposalsDesk (desk: string): string
  grants (runKey: string): string
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
    changed: claim => `${prefix}changed:${claim}`,
    equal: name => `${prefix}equal:${name}`,
    due: format => `${prefix}due:${format}`,
    canary: replica => `${prefix}canary:${replica}`,
    unresolved: `${prefix}unresolved`,
    unresolvedOf: (action, tenant) => `${prefix}unresolved:${action}:${tenant}`,
    places: (action, tenant) => `${prefix}places:${action}:${tenant}`,
    proposal: id => `${prefix}proposal:${id}`,
    proposalName: name => `${prefix}proposal-name:${name}`,
    proposalsOpen: `${prefix}proposals-open`,
    proposalsEnded: `${prefix}proposals-ended`,
    proposalsEnd: format => `${prefix}proposals-end:${format}`,
    proposalsPending: agentKey => `${prefix}proposals-pending:${agentKey}`,
    proposalsMade: agentKey => `${prefix}proposals-made:${agentKey}`,
    proposalsDesk: desk => `${prefix}proposals-desk:${desk}`,
    grants: runKey => `${prefix}grants:${runKey}`,
  }
}
