// How long the store keeps what nobody needs any more. Unsettled attempts are not here: they never expire.

export interface Retention {
  /** The result of a settled attempt, for its repeats; after that a repeat hears `RESULT_EXPIRED`. */
  readonly resultMs: number
  /** A settled attempt without its result: what stops a late repeat from being sent again; and a proposal, from its end on. */
  readonly settledMs: number
  /** What a run has spent, and that it was stopped, from the last time that it did anything. */
  readonly runMs: number
}

const HOUR_MS = 3_600_000

export const RETENTION: Retention = Object.freeze({ resultMs: 24 * HOUR_MS, settledMs: 7 * 24 * HOUR_MS, runMs: 30 * 24 * HOUR_MS })

/** For how long `stoppedRuns` lists a run; `begin` refuses it for as long as anything is known of the run. */
export const STOPPED_LISTED_MS = 48 * HOUR_MS

/** That a target was changed: longer than any call takes from what it reads to its begin. */
export const CHANGED_KEPT_MS = 10 * 60_000

/** At most so many attempts of a run can be listed. */
export const RUN_LIST_MAX = 1_000
