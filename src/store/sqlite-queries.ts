// Every statement of the embedded store, prepared once. What a row decides by is in its columns; see codec.ts for the rest.
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import type { AttemptRecord, AttemptState } from '../attempts/attempt.ts'
import { unpack, type Packed } from './codec.ts'

export interface AttemptRow {
  readonly id: string
  readonly format: number
  readonly revision: number
  readonly state: AttemptState
  readonly token: string
  readonly body: string
  readonly result: string | null
  readonly result_until: number | null
  readonly prepared_at: number
  readonly dispatched_at: number | null
  readonly unknown_at: number | null
  readonly first_absent_at: number | null
  readonly settled_at: number | null
  readonly due_at: number | null
}

export function recordOf (row: AttemptRow, nowMs: number): AttemptRecord {
  const kept = row.result_until !== null && row.result_until > nowMs
  return unpack({
    format: row.format,
    id: row.id,
    revision: row.revision,
    state: row.state,
    token: row.token,
    body: row.body,
    preparedAtMs: row.prepared_at,
    dispatchedAtMs: row.dispatched_at,
    unknownAtMs: row.unknown_at,
    firstAbsentAtMs: row.first_absent_at,
    settledAtMs: row.settled_at,
    dueAtMs: row.due_at,
  }, kept ? row.result : null)
}

const COLUMNS = 'id, format, revision, state, token, body, result, result_until, ' +
  'prepared_at, dispatched_at, unknown_at, first_absent_at, settled_at, due_at'
const LIVE = '(expires_at IS NULL OR expires_at > $now)'
const UNRESOLVED = "state IN ('unknown', 'pending', 'escalated')"

type Values = Record<string, SQLInputValue>

export type SqliteQueries = ReturnType<typeof createSqliteQueries>

export function createSqliteQueries (db: DatabaseSync) {
  return { ...attemptReads(db), ...attemptWrites(db), ...runQueries(db), ...placeQueries(db), ...houseKeeping(db) }
}

function prepare (db: DatabaseSync, text: string) {
  const statement = db.prepare(text)
  return {
    one: (values: Values) => statement.get(values),
    all: (values: Values) => statement.all(values),
    run: (values: Values) => Number(statement.run(values).changes),
  }
}

function attemptReads (db: DatabaseSync) {
  const byId = prepare(db, `SELECT ${COLUMNS} FROM attempts WHERE id = $id AND ${LIVE}`)
  const latest = prepare(db, `SELECT ${COLUMNS} FROM attempts WHERE record_key = $key AND ${LIVE} ORDER BY n DESC LIMIT 1`)
  const ofRun = prepare(db, `SELECT ${COLUMNS} FROM attempts WHERE run_key = $run AND tag = $tag AND ${LIVE} ORDER BY seq DESC LIMIT $limit`)
  const unresolved = prepare(db, `SELECT ${COLUMNS} FROM attempts WHERE ${UNRESOLVED} ORDER BY prepared_at, id LIMIT $limit`)
  const countUnresolved = prepare(db, `SELECT count(*) AS count FROM attempts WHERE tenant = $tenant AND action = $action AND ${UNRESOLVED}`)
  // An escalated holder does not block a record that the upstream itself guards.
  const held = prepare(db, `SELECT 1 FROM attempts WHERE state <> 'settled' AND id <> $id AND (target IN ($one, $two) OR serialize IN ($one, $two))
    AND NOT ($guarded AND state = 'escalated') LIMIT 1`)
  const equal = prepare(db, "SELECT 1 FROM attempts WHERE state IN ('unknown', 'escalated') AND equal = $equal AND id <> $id LIMIT 1")
  // The first of each tag, then the second of each, so that one busy tenant does not hold up the others.
  const due = prepare(db, `SELECT ${COLUMNS} FROM (SELECT *, row_number() OVER (PARTITION BY tag ORDER BY next_at, seq) AS turn FROM attempts
    WHERE next_at <= $now AND format <= $format) ORDER BY turn, next_at, seq LIMIT $limit`)
  return {
    byId: (id: string, nowMs: number) => byId.one({ id, now: nowMs }) as AttemptRow | undefined,
    latest: (recordKey: string, nowMs: number) => latest.one({ key: recordKey, now: nowMs }) as AttemptRow | undefined,
    ofRun: (tag: string, runKey: string, nowMs: number, limit: number) =>
      ofRun.all({ tag, run: runKey, now: nowMs, limit }) as unknown as AttemptRow[],
    unresolved: (limit: number) => unresolved.all({ limit }) as unknown as AttemptRow[],
    countUnresolved: (tenant: string, action: string) => Number(countUnresolved.one({ tenant, action })!['count']),
    claimIsHeld: (id: string, target: string | null, serialize: string | null, guarded: boolean) =>
      (target !== null || serialize !== null) && held.one({ id, one: target, two: serialize, guarded: guarded ? 1 : 0 }) !== undefined,
    equalIsUnknown: (id: string, name: string) => equal.one({ id, equal: name }) !== undefined,
    due: (nowMs: number, format: number, limit: number) => due.all({ now: nowMs, format, limit }) as unknown as AttemptRow[],
  }
}

function attemptWrites (db: DatabaseSync) {
  const forget = prepare(db, 'DELETE FROM attempts WHERE id = $id')
  const insert = prepare(db, `INSERT INTO attempts
    (id, tag, tenant, action, record_key, run_key, n, target, serialize, equal, format, revision, state, token, body, prepared_at, due_at, next_at)
    VALUES ($id, $tag, $tenant, $action, $key, $run, $n, $target, $serialize, $equal, $format, $revision, $state, $token, $body,
    $prepared, $due, $due)`)
  const update = prepare(db, `UPDATE attempts SET revision = $revision, state = $state, body = $body, result = $result, result_until = $resultUntil,
    dispatched_at = $dispatched, unknown_at = $unknown, first_absent_at = $absent, settled_at = $settled,
    due_at = $due, next_at = iif($keep, next_at, $due), expires_at = $expires WHERE id = $id`)
  const hide = prepare(db, 'UPDATE attempts SET next_at = $until WHERE id = $id')
  const orphan = prepare(db, `UPDATE attempts SET due_at = min(due_at, $now), next_at = min(due_at, $now)
    WHERE next_at IS NOT NULL AND format <= $format AND state IN ('prepared', 'dispatched')`)
  const unhide = prepare(db, 'UPDATE attempts SET next_at = due_at WHERE next_at > due_at')
  return {
    insert (record: AttemptRecord, body: string): void {
      // Only one that has expired and was not cleaned away yet can be there.
      forget.run({ id: record.id })
      insert.run({
        id: record.id, tag: record.tag, tenant: record.owner.tenant, action: record.action, key: record.recordKey, run: record.runKey, n: record.n,
        target: record.claims.target, serialize: record.claims.serialize, equal: record.claims.equal,
        format: record.format, revision: record.revision, state: record.state, token: record.token, body,
        prepared: record.preparedAtMs, due: record.dueAtMs,
      })
    },
    update (
      record: AttemptRecord, packed: Packed, ends: { readonly resultUntilMs: number | null, readonly expiresAtMs: number | null }, keepNext: boolean,
    ): void {
      update.run({
        id: record.id, revision: record.revision, state: record.state, body: packed.body, result: packed.result,
        dispatched: record.dispatchedAtMs, unknown: record.unknownAtMs, absent: record.firstAbsentAtMs, settled: record.settledAtMs,
        due: record.dueAtMs, keep: keepNext ? 1 : 0, resultUntil: ends.resultUntilMs, expires: ends.expiresAtMs,
      })
    },
    hide (id: string, untilMs: number): void { hide.run({ id, until: untilMs }) },
    /** Whoever had sends or look-ups under way here is dead. */
    orphan (nowMs: number, format: number): void {
      orphan.run({ now: nowMs, format })
      unhide.run({})
    },
  }
}

function runQueries (db: DatabaseSync) {
  const facts = prepare(db, 'SELECT name, value FROM run_facts WHERE tag = $tag AND run_key = $run AND kept_until > $now')
  const put = prepare(db, `INSERT INTO run_facts (tag, run_key, name, value, kept_until) VALUES ($tag, $run, $name, $value, $until)
    ON CONFLICT DO UPDATE SET value = excluded.value, kept_until = excluded.kept_until`)
  const count = prepare(db, `INSERT INTO run_facts (tag, run_key, name, value, kept_until) VALUES ($tag, $run, $name, 1, $until)
    ON CONFLICT DO UPDATE SET value = CASE WHEN kept_until > $now THEN value + 1 ELSE 1 END, kept_until = excluded.kept_until RETURNING value`)
  const listStopped = prepare(db, `INSERT INTO stopped_runs (run_key, stopped_at) VALUES ($run, $now)
    ON CONFLICT DO UPDATE SET stopped_at = excluded.stopped_at`)
  const stopped = prepare(db, 'SELECT run_key FROM stopped_runs WHERE stopped_at > $since')
  return {
    runFacts: (tag: string, runKey: string, nowMs: number) =>
      new Map(facts.all({ tag, run: runKey, now: nowMs }).map(row => [row['name'] as string, row['value'] as string | number])),
    setRunFact (tag: string, runKey: string, name: string, value: string | number, untilMs: number): void {
      put.run({ tag, run: runKey, name, value, until: untilMs })
    },
    countRunFact: (tag: string, runKey: string, name: string, nowMs: number, untilMs: number) =>
      Number(count.one({ tag, run: runKey, name, now: nowMs, until: untilMs })!['value']),
    listStopped (runKey: string, nowMs: number): void { listStopped.run({ run: runKey, now: nowMs }) },
    stoppedRuns: (sinceMs: number) => stopped.all({ since: sinceMs }).map(row => row['run_key'] as string),
  }
}

function placeQueries (db: DatabaseSync) {
  const count = prepare(db, 'SELECT count(*) AS count FROM places WHERE tenant = $tenant AND action = $action AND until > $now')
  const has = prepare(db, 'SELECT 1 FROM places WHERE tenant = $tenant AND action = $action AND id = $id AND until > $now')
  const put = prepare(db, `INSERT INTO places (tenant, action, id, until) VALUES ($tenant, $action, $id, $until)
    ON CONFLICT DO UPDATE SET until = excluded.until`)
  const leave = prepare(db, 'DELETE FROM places WHERE tenant = $tenant AND action = $action AND id = $id')
  return {
    countPlaces: (tenant: string, action: string, nowMs: number) => Number(count.one({ tenant, action, now: nowMs })!['count']),
    hasPlace: (tenant: string, action: string, id: string, nowMs: number) => has.one({ tenant, action, id, now: nowMs }) !== undefined,
    setPlace (tenant: string, action: string, id: string, untilMs: number): void { put.run({ tenant, action, id, until: untilMs }) },
    leave (tenant: string, action: string, id: string): void { leave.run({ tenant, action, id }) },
  }
}

function houseKeeping (db: DatabaseSync) {
  const bind = prepare(db, "INSERT INTO facts (name, value) VALUES ('key', $key) ON CONFLICT DO UPDATE SET value = value RETURNING value")
  const keep = prepare(db, 'INSERT INTO facts (name, value) VALUES ($name, $text) ON CONFLICT DO NOTHING')
  const kept = prepare(db, 'SELECT value FROM facts WHERE name = $name')
  const turnLock = prepare(db, "INSERT INTO facts (name, value) VALUES ('lock', $turn) ON CONFLICT DO UPDATE SET value = max(value, excluded.value)")
  const tick = prepare(db, "INSERT INTO facts (name, value) VALUES ('clock', $now) ON CONFLICT DO UPDATE SET value = max(value, excluded.value)")
  const latest = prepare(db, `SELECT max(coalesce((SELECT value FROM facts WHERE name = 'clock'), 0),
    coalesce((SELECT prepared_at FROM attempts ORDER BY seq DESC LIMIT 1), 0)) AS latest`)
  const bites = [
    prepare(db, 'DELETE FROM attempts WHERE seq IN (SELECT seq FROM attempts WHERE expires_at <= $now LIMIT $rows)'),
    prepare(db, `UPDATE attempts SET result = NULL, result_until = NULL
      WHERE seq IN (SELECT seq FROM attempts WHERE result_until <= $now LIMIT $rows)`),
    prepare(db, `DELETE FROM run_facts
      WHERE (tag, run_key, name) IN (SELECT tag, run_key, name FROM run_facts WHERE kept_until <= $now LIMIT $rows)`),
    prepare(db, 'DELETE FROM places WHERE (tenant, action, id) IN (SELECT tenant, action, id FROM places WHERE until <= $now LIMIT $rows)'),
  ]
  const unlist = prepare(db, 'DELETE FROM stopped_runs WHERE stopped_at <= $since')
  return {
    /** The key that is bound, which is this one where none was before. */
    keepDefinition (digest: string, text: string): void { keep.run({ name: `definition:${digest}`, text }) },
    definition: (digest: string) => kept.one({ name: `definition:${digest}` })?.['value'] as string | undefined ?? null,
    bindKey: (keyId: string) => String(bind.one({ key: keyId })!['value']),
    lockTurn: () => Number(kept.one({ name: 'lock' })?.['value'] ?? 1),
    setLockTurn (turn: number): void { turnLock.run({ turn }) },
    /** A write, because a disk that only lets itself be read is of no use. */
    ping (nowMs: number): void { tick.run({ now: nowMs }) },
    latestTimeMs: () => Number(latest.one({})!['latest']),
    /** @returns the most rows that any kind had to give */
    clean (nowMs: number, stoppedSinceMs: number, rows: number): number {
      tick.run({ now: nowMs })
      unlist.run({ since: stoppedSinceMs })
      return Math.max(...bites.map(bite => bite.run({ now: nowMs, rows })))
    },
  }
}
