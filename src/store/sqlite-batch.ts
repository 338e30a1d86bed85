// Group commit: everything that is asked within one turn of the event loop shares one transaction and so one fsync. A job that fails undoes only
// itself; a transaction that fails was nothing for all of its jobs. Nobody hears of a change before it is on disk.
import type { DatabaseSync } from 'node:sqlite'
import { passFailpoint } from '../failpoints.ts'
import { StateUnavailable } from './store.ts'

interface Job {
  readonly run: () => unknown
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
}

type Result = { readonly job: Job, readonly ok: true, readonly value: unknown } | { readonly job: Job, readonly ok: false, readonly error: unknown }

export interface Batch {
  /** @throws StateUnavailable where the change is not on disk */
  write<T> (run: () => T): Promise<T>
  /** Reads what is on disk now. @throws StateUnavailable */
  read<T> (run: () => T): Promise<T>
  /** Finishes what was asked before; later asks are refused. */
  close (): void
}

function prepareControl (db: DatabaseSync) {
  return {
    begin: db.prepare('BEGIN IMMEDIATE'),
    commit: db.prepare('COMMIT'),
    rollback: db.prepare('ROLLBACK'),
    savepoint: db.prepare('SAVEPOINT job'),
    release: db.prepare('RELEASE job'),
    undo: db.prepare('ROLLBACK TO job'),
  }
}

/** @throws whatever ended the whole transaction */
function runJob (db: DatabaseSync, control: ReturnType<typeof prepareControl>, job: Job): Result {
  control.savepoint.run()
  try {
    const value = job.run()
    control.release.run()
    return { job, ok: true, value }
  } catch (error) {
    // Some faults of the disk end the whole transaction; then there is nothing to undo, and everything of this turn has failed.
    if (!db.isTransaction) throw error
    control.undo.run()
    control.release.run()
    return { job, ok: false, error: unavailable(error) }
  }
}

export function createBatch (db: DatabaseSync): Batch {
  let queue: Job[] = []
  let scheduled: NodeJS.Immediate | null = null
  let closed = false
  const control = prepareControl(db)

  function flush (): void {
    scheduled = null
    const jobs = queue
    queue = []
    if (jobs.length === 0) return
    try {
      control.begin.run()
      const results = jobs.map(job => runJob(db, control, job))
      passFailpoint('before_sqlite_commit')
      control.commit.run()
      passFailpoint('after_sqlite_commit')
      for (const result of results) {
        if (result.ok) result.job.resolve(result.value as never)
        else result.job.reject(result.error)
      }
    } catch (error) {
      if (db.isTransaction) attempt(() => control.rollback.run())
      const fault = unavailable(error)
      for (const job of jobs) job.reject(fault)
    }
  }

  return {
    write<T> (run: () => T): Promise<T> {
      if (closed) return Promise.reject(new StateUnavailable('the store is closed'))
      return new Promise<T>((resolve, reject) => {
        queue.push({ run, resolve: resolve as (value: never) => void, reject })
        scheduled ??= setImmediate(flush)
      })
    },
    async read<T> (run: () => T): Promise<T> {
      if (closed) throw new StateUnavailable('the store is closed')
      try {
        return run()
      } catch (error) {
        throw unavailable(error)
      }
    },
    close () {
      if (closed) return
      closed = true
      if (scheduled !== null) clearImmediate(scheduled)
      flush()
    },
  }
}

/** What SQLite says is a matter of the state; anything else is a fault of the code and stays what it is. */
export function unavailable (error: unknown): unknown {
  if (!isSqliteError(error)) return error
  return new StateUnavailable(`SQLite: ${error.message}`, { cause: error })
}

export const isSqliteError = (error: unknown): error is Error & { readonly errcode: number } =>
  error instanceof Error && 'code' in error && error.code === 'ERR_SQLITE_ERROR' && 'errcode' in error

function attempt (run: () => void): void {
  try {
    run()
  } catch {
    // The fault that led here is the one that is told.
  }
}
