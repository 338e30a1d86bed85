// The table of faults of an attempt's life, row by row: how often a run has fired each, and which of them the model cannot have.

/** What happens; what must come of it is held by watch.ts and verdict.ts. */
export const ROWS: ReadonlyMap<number, string> = new Map([
  [1, 'killed before begin'],
  [2, 'begin done, its reply lost, or killed with it'],
  [4, 'killed between begin and mark'],
  [5, 'mark done, its reply lost, broker alive'],
  [6, 'killed between mark and write'],
  [7, 'killed while the write was under way'],
  [8, 'killed between answer and settle'],
  [9, 'settled, and killed before it was told'],
  [10, 'settle done, its reply lost'],
  [11, 'one key on two replicas at once'],
  [12, 'one key, other arguments'],
  [13, 'owner stopped past its deadline, wakes before the write'],
  [14, 'owner stopped past its deadline, wakes after the write'],
  [15, 'zombie writes after absence was proved: the residual hole'],
  [16, 'answer after the agent was told that it is open'],
  [17, 'agent left, its call went on'],
  [18, '202: pending, polled'],
  [19, '202 of a call that nothing can look up'],
  [20, '2xx that is cut, invalid or of another kind'],
  [21, 'definite 4xx'],
  [22, '404, 409, 410 or 412: own id looked up first'],
  [23, '408, 5xx or 3xx'],
  [24, '425, 429, or 503 declared as not processed'],
  [25, 'look-up fails, errs or times out'],
  [26, 'look-up: not found'],
  [27, 'look-up: found with other arguments'],
  [28, 'look-up: in progress'],
  [29, 'the store lost the mark, its owner alive'],
  [30, 'the store lost the settlement'],
  [33, "the store's clock jumped while an attempt was open"],
  [34, "an attempt of a broker whose time of day is wrong"],
  [35, 'approved twice, or by two people'],
  [36, 'approved and denied at once'],
  [37, 'one approval, two commits at once'],
  [38, 'an approval ends between the check and the begin'],
  [39, 'two writes on one target'],
  [40, 'cancelled before the mark'],
  [41, 'cancelled after the mark'],
  [42, 'cancel and mark under way at once'],
  [43, 'shut down between begin and mark'],
  [44, 'the store reads and does not write'],
  [45, 'its definition is not there, or it is of a newer format'],
  [46, 'look-up refused: the credential was revoked'],
])

/** Rows that the model does not have, and why. */
export const NOT_MODELLED: ReadonlyMap<number, string> = new Map([
  [3, 'what a person approved is used up in the step that begins its attempt: nothing lies between'],
  [31, 'what was proposed before a loss is void by a rule of the replica over Redis, which is tested there; here the store is one'],
  [32, 'the barrier of a minority primary is the Redis driver\'s own; here the store is one'],
])

export class Fired {
  readonly #counts = new Map<number, number>()

  row (row: number, times = 1): void {
    if (!ROWS.has(row)) throw new Error(`row ${row} is not in the table`)
    this.#counts.set(row, (this.#counts.get(row) ?? 0) + times)
  }

  of (row: number): number {
    return this.#counts.get(row) ?? 0
  }

  add (other: Fired): void {
    for (const [row, times] of other.#counts) this.row(row, times)
  }

  /** Rows that were fired less often. */
  below (least: number): readonly number[] {
    return [...ROWS.keys()].filter(row => this.of(row) < least)
  }
}
