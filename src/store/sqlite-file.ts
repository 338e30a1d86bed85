// The file of the embedded store: made private, locked for this process alone, checked to be as durable as it must be.
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, realpathSync, statfsSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isSqliteError, unavailable } from './sqlite-batch.ts'
import { SCHEMA_STEPS } from './sqlite-schema.ts'
import { StateRefused } from './store.ts'

/** `aval` in ASCII: another program's database is not ours to write into. */
const APPLICATION_ID = 0x6176616c
const BUSY_TIMEOUT_MS = 500
const SQLITE_BUSY = 5
const SQLITE_NOTADB = 26

/** File systems of other machines, where a lock on a file is a promise that nobody keeps: NFS, SMB, CIFS, SMB2, Ceph, AFS. */
const NETWORK_FILE_SYSTEMS: ReadonlySet<number> = new Set([0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x00c36400, 0x5346414f])

/**
 * Paths open in this process. Closing any descriptor of a file gives up all locks of this process on it (POSIX), so a second opening must not even
 * touch it.
 */
const openHere = new Set<string>()

/** `passing`: by this process alone, so that nothing waits for the disk. */
type Needed = 'durable' | 'passing'
/** FULL and OFF. */
const SYNCHRONOUS = { durable: 2, passing: 0 } as const satisfies Record<Needed, number>

export interface SqliteFile {
  readonly db: DatabaseSync
  close (): void
}

/** @throws StateRefused, StateUnavailable */
export function openSqliteFile (path: string, needed: Needed = 'durable'): SqliteFile {
  const real = prepareFile(path)
  if (openHere.has(real)) throw new StateRefused(`${path} is open in this process already: one store, one opening`)
  makePrivate(real)
  openHere.add(real)
  let db: DatabaseSync | null = null
  try {
    db = new DatabaseSync(real, { timeout: BUSY_TIMEOUT_MS, enableForeignKeyConstraints: true, defensive: true })
    prepareDatabase(db, path, needed)
    return { db, close: () => { closeDatabase(db!, real) } }
  } catch (error) {
    if (db?.isOpen === true) db.close()
    openHere.delete(real)
    throw explained(error, path)
  }
}

/**
 * Takes a file as the lock of what lies beside it: it is this process's until it is closed, or the process ends, however it ends.
 * @throws StateRefused where another process has it
 */
export function lockBeside (path: string): { close (): void } {
  const real = prepareFile(path)
  if (openHere.has(real)) throw new StateRefused(`${dirname(path)} is in use in this process already`)
  makePrivate(real)
  openHere.add(real)
  const db = new DatabaseSync(real, { timeout: BUSY_TIMEOUT_MS })
  try {
    db.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
    return { close: () => { closeDatabase(db, real) } }
  } catch (error) {
    closeDatabase(db, real)
    if (!isSqliteError(error)) throw error
    throw new StateRefused(`${dirname(path)} is in use by another process: each broker needs a folder of its own`, { cause: error })
  }
}

function closeDatabase (db: DatabaseSync, real: string): void {
  try {
    db.close()
  } finally {
    openHere.delete(real)
  }
}

function prepareFile (path: string): string {
  if (path === '' || path === ':memory:') throw new StateRefused('the state needs a file: sqlite:PATH')
  try {
    makeFolder(dirname(path))
    const folder = realpathSync(dirname(path))
    if (NETWORK_FILE_SYSTEMS.has(statfsSync(folder).type)) {
      throw new StateRefused(`${path} lies on a network file system, whose locks cannot be trusted`)
    }
    const real = join(folder, basename(path))
    if (!existsSync(real)) return real
    if (!statSync(real).isFile()) throw new StateRefused(`${path} is not a file`)
    return realpathSync(real)
  } catch (error) {
    if (error instanceof StateRefused) throw error
    throw new StateRefused(`${path} cannot be used: ${(error as Error).message}`, { cause: error })
  }
}

/** Folder by folder: the recursive mkdir of Node never ends where a parent takes no folders, as under /proc. */
function makeFolder (path: string): void {
  if (existsSync(path)) return
  makeFolder(dirname(path))
  mkdirSync(path, { mode: 0o700 })
}

/** 0600 from its first byte on; SQLite gives the log beside it the same mode. An existing file is never opened here: see `openHere`. */
function makePrivate (real: string): void {
  try {
    if (existsSync(real)) chmodSync(real, 0o600)
    else closeSync(openSync(real, 'wx', 0o600))
  } catch (error) {
    throw new StateRefused(`${real} cannot be made: ${(error as Error).message}`, { cause: error })
  }
}

function prepareDatabase (db: DatabaseSync, path: string, needed: Needed): void {
  // The exclusive mode comes first: then no shared memory file is ever made, and the lock is held from the first read on.
  db.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA trusted_schema = OFF;')
  db.exec(`PRAGMA synchronous = ${SYNCHRONOUS[needed]}`)
  db.exec('BEGIN IMMEDIATE')
  const version = pragma(db, 'user_version')
  const application = pragma(db, 'application_id')
  const isNew = version === 0 && application === 0 && isEmpty(db)
  if (!isNew && application !== APPLICATION_ID) throw new StateRefused(`${path} is the database of another program`)
  if (!isNew && !(Number(version) >= 1 && Number(version) <= SCHEMA_STEPS.length)) {
    throw new StateRefused(`${path} has schema version ${String(version)}; this version of Aval knows ${SCHEMA_STEPS.length}`)
  }
  // All or nothing: a file is as it was or as this version wants it.
  for (const step of SCHEMA_STEPS.slice(Number(version))) db.exec(step)
  db.exec(`PRAGMA user_version = ${SCHEMA_STEPS.length}; PRAGMA application_id = ${APPLICATION_ID}`)
  db.exec('COMMIT')
  requirePragma(db, path, 'journal_mode', 'wal')
  requirePragma(db, path, 'synchronous', SYNCHRONOUS[needed])
  requirePragma(db, path, 'locking_mode', 'exclusive')
}

const isEmpty = (db: DatabaseSync): boolean => db.prepare('SELECT count(*) AS count FROM sqlite_schema').get()!['count'] === 0

const pragma = (db: DatabaseSync, name: string): unknown => Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0]

function requirePragma (db: DatabaseSync, path: string, name: string, wanted: string | number): void {
  const found = pragma(db, name)
  if (found === wanted) return
  throw new StateRefused(`${path}: SQLite gives ${name}=${String(found)} where ${wanted} is needed; what it commits there would not be durable`)
}

function explained (error: unknown, path: string): unknown {
  if (!isSqliteError(error)) return error
  if ((error.errcode & 0xff) === SQLITE_BUSY) {
    return new StateRefused(`${path} is in use by another process: the embedded store serves one process; use Redis for more`, { cause: error })
  }
  if ((error.errcode & 0xff) === SQLITE_NOTADB) return new StateRefused(`${path} is not a database`, { cause: error })
  return unavailable(error)
}
