// A loss of the store, as it stands in the store for all replicas to see.
import { list, number, text } from './redis-reply.ts'

export interface Loss {
  readonly id: string
  /** `possible`: another server answers, and by nothing that is left can it be told whether it has everything. */
  readonly kind: 'proved' | 'possible'
  /** The replica that found it. */
  readonly by: string
  /** `open`: writes are refused. `restored`: every replica has told the store again what it knew. `accepted`: a person did without some of them. */
  readonly state: 'open' | 'restored' | 'accepted'
  /** By the store's clock. */
  readonly atMs: number
  /** By the store's clock; null: it is open. */
  readonly endedAtMs: number | null
  /** Replicas that have not told it yet. */
  readonly waitingFor: readonly string[]
}

/** A hash as Redis answers it: name, value, name, value. */
export function pairsOf (reply: unknown): ReadonlyMap<string, string> {
  const flat = list(reply)
  const pairs = new Map<string, string>()
  for (let index = 0; index < flat.length; index += 2) pairs.set(text(flat[index]), text(flat[index + 1]))
  return pairs
}

const NEED = 'need:'

/** null: the store has never been known to lose anything. */
export function lossOf (reply: unknown): Loss | null {
  const fields = pairsOf(reply)
  const id = fields.get('id')
  if (id === undefined) return null
  return {
    id,
    kind: text(fields.get('kind')) as Loss['kind'],
    by: text(fields.get('by')),
    state: text(fields.get('state')) as Loss['state'],
    atMs: number(fields.get('atMs')),
    endedAtMs: fields.has('endedAtMs') ? number(fields.get('endedAtMs')) : null,
    waitingFor: [...fields].filter(([name, value]) => name.startsWith(NEED) && value === 'waiting').map(([name]) => name.slice(NEED.length)).sort(),
  }
}
