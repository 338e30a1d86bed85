// Pages of lists that change while somebody leafs through them: a page begins after the last item of the one before, wherever that is by now.

export interface Placed<Item> {
  readonly item: Item
  /** What the list is sorted by; of equal ones the id decides. */
  readonly atMs: number
  readonly id: string
}

/** A cursor that is none begins at the start. */
export function pageAfter<Item> (
  all: ReadonlyArray<Placed<Item>>, order: 'oldest_first' | 'latest_first', cursor: string | null, limit: number,
): { readonly items: readonly Item[], readonly next: string | null } {
  const turn = order === 'oldest_first' ? 1 : -1
  const compare = (one: Place, other: Place): number => turn * (one.atMs - other.atMs) || (one.id < other.id ? -1 : one.id > other.id ? 1 : 0)
  const after = cursor === null ? null : readCursor(cursor)
  const rest = [...all].sort(compare).filter(place => after === null || compare(place, after) > 0)
  const page = rest.slice(0, limit)
  const last = page.at(-1)
  return { items: page.map(({ item }) => item), next: rest.length > page.length && last !== undefined ? cursorOf(last) : null }
}

type Place = Pick<Placed<unknown>, 'atMs' | 'id'>

const cursorOf = ({ atMs, id }: Place): string => Buffer.from(`${atMs} ${id}`).toString('base64url')

function readCursor (cursor: string): Place | null {
  const match = /^([0-9]{1,16}) (prop_[0-9a-f]{34})$/.exec(Buffer.from(cursor, 'base64url').toString('latin1'))
  return match === null ? null : { atMs: Number(match[1]), id: match[2]! }
}
