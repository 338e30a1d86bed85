// The file of the embedded store: made private, locked for this process alone, checked to be as durable as it must be.
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, realpathSync, statfsSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isSqliteError, unavailable } from './sqlite-batch.ts'
import { StateRefused } from './store.ts'

const SCHEMA_VERSION = 1
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

const SCHEMA = `
  CREATE TABLE attempts (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE, tag TEXT NOT NULL, tenant TEXT NOT NULL, action TEXT NOT NULL,
    record_key TEXT NOT NULL, run_key TEXT NOT NULL, n INTEGER NOT NULL, target TEXT, serialize TEXT, equal TEXT NOT NULL,
    format INTEGER NOT NULL, revision INTEGER NOT NULL, state TEXT NOT NULL, token TEXT NOT NULL, body TEXT NOT NULL,
    prepared_at INTEGER NOT NULL, dispatched_at INTEGER, unknown_at INTEGER, first_absent_at INTEGER, settled_at INTEGER, due_at INTEGER,
    next_at INTEGER, result TEXT, result_until INTEGER, expires_at INTEGER
  ) STRICT;
  CREATE INDEX attempts_by_key ON attempts (record_key, n);
  CREATE INDEX attempts_by_run ON attempts (run_key, seq);
  CREATE INDEX attempts_next ON attempts (next_at) WHERE next_at IS NOT NULL;
  CREATE INDEX attempts_target ON attempts (target) WHERE state <> 'settled';
  CREATE INDEX attempts_serialize ON attempts (serialize) WHERE state <> 'settled';
  CREATE INDEX attempts_equal ON attempts (equal) WHERE state IN ('unknown', 'escalated');
  CREATE INDEX attempts_unresolved ON attempts (tenant, action) WHERE state IN ('unknown', 'pending', 'escalated');
  CREATE INDEX attempts_results ON attempts (result_until) WHERE result_until IS NOT NULL;
  CREATE INDEX attempts_expired ON attempts (expires_at) WHERE expires_at IS NOT NULL;
  CREATE TABLE run_facts (
    tag TEXT NOT NULL, run_key TEXT NOT NULL, name TEXT NOT NULL, value ANY, kept_until INTEGER NOT NULL, PRIMARY KEY (tag, run_key, name)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX run_facts_kept ON run_facts (kept_until);
  CREATE TABLE stopped_runs (run_key TEXT PRIMARY KEY, stopped_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE places (
    tenant TEXT NOT NULL, action TEXT NOT NULL, id TEXT NOT NULL, until INTEGER NOT NULL, PRIMARY KEY (tenant, action, id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX places_until ON places (until);
  CREATE TABLE facts (name TEXT PRIMARY KEY, value ANY) STRICT, WITHOUT ROWID;
`

export interface SqliteFile {
  readonly db: DatabaseSync
  close (): void
}

/** @throws StateRefused, StateUnavailable */
export function openSqliteFile (path: string): SqliteFile {
  const real = prepareFile(path)
  if (openHere.has(real)) throw new StateRefused(`${path} is open in this process already: one store, one opening`)
  makePrivate(real)
  openHere.add(real)
  let db: DatabaseSync | null = null
  try {
    db = new DatabaseSync(real, { timeout: BUSY_TIMEOUT_MS, enableForeignKeyConstraints: true, defensive: true })
    prepareDatabase(db, path)
    return { db, close: () => { closeDatabase(db!, real) } }
  } catch (error) {
    if (db?.isOpen === true) db.close()
    openHere.delete(real)
    throw explained(error, path)
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
      throw new StateRefused(`${path} lies on a network file system, whose locks cannot be trusted; use Redis there`)
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

function prepareDatabase (db: DatabaseSync, path: string): void {
  // The exclusive mode comes first: then no shared memory file is ever made, and the lock is held from the first read on.
  db.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF;')
  db.exec('BEGIN IMMEDIATE')
  const version = pragma(db, 'user_version')
  const application = pragma(db, 'application_id')
  if (version === 0 && application === 0 && isEmpty(db)) {
    db.exec(`${SCHEMA}; PRAGMA user_version = ${SCHEMA_VERSION}; PRAGMA application_id = ${APPLICATION_ID}`)
  } else if (application !== APPLICATION_ID) {
    throw new StateRefused(`${path} is the database of another program`)
  } else if (version !== SCHEMA_VERSION) {
    throw new StateRefused(`${path} has schema version ${String(version)}; this version of Aval knows ${SCHEMA_VERSION}`)
  }
  db.exec('COMMIT')
  requirePragma(db, path, 'journal_mode', 'wal')
  requirePragma(db, path, 'synchronous', 2)
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
