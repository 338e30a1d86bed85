// The embedded store: one process, one file, no server. Reads and the reducer run inside the transaction that writes, so nothing can come between.
import { advance as reduce, givesBack, RECORD_FORMAT, type AttemptEvent, type AttemptRecord } from '../attempts/attempt.ts'
import { begunAt, changesTarget, nameOf, pack, placeMs, requirePrepared, stamped } from './codec.ts'
import { judgeRepeat } from './recall.ts'
import { CHANGED_KEPT_MS, RETENTION, RUN_LIST_MAX, STOPPED_LISTED_MS, type Retention } from './retention.ts'
import { createBatch } from './sqlite-batch.ts'
import { openSqliteFile } from './sqlite-file.ts'
import { approvalAsSeen, consumeApproval, createProposalQueries, settleProposal, sqliteProposals, type ProposalQueries } from './sqlite-proposals.ts'
import { sqliteLock } from './sqlite-lock.ts'
import { createSqliteQueries, recordOf, type AttemptRow, type SqliteQueries } from './sqlite-queries.ts'
import { createStoreClock } from './store-clock.ts'
import type { Advanced, After, Begun, BeginLimits, Due, Entered, Place, PlaceLimits, Recalled, RecordName, Store } from './store.ts'

export interface EmbeddedOptions {
  /** What it takes for the time of day, milliseconds since the epoch. */
  readonly wallMs?: () => number
  /** Nothing of it is needed once this process has ended, however it ends: nothing waits for the disk. */
  readonly passing?: boolean
}

export interface SqliteOptions extends EmbeddedOptions {
  readonly retention?: Retention
  /** Pause between two rounds of cleaning. */
  readonly cleanEveryMs?: number
}

const CLEAN_EVERY_MS = 60_000
/** Rows that one round of cleaning takes of each kind, so that no call waits for it long. */
const CLEAN_ROWS = 200

interface Context {
  readonly sql: SqliteQueries & ProposalQueries
  readonly nowMs: () => number
  readonly retention: Retention
}

/** @throws StateRefused, StateUnavailable */
export function openSqlite (path: string, options: SqliteOptions = {}): Store {
  const file = openSqliteFile(path, options.passing === true ? 'passing' : 'durable')
  const sql = { ...createSqliteQueries(file.db), ...createProposalQueries(file.db) }
  const nowMs = createStoreClock(sql.latestTimeMs(), options.wallMs)
  const context: Context = { sql, nowMs, retention: options.retention ?? RETENTION }
  const batch = createBatch(file.db)
  // The lock of the file says that the process before this one is dead: its leases are void. What it had prepared will never be sent, and of what it
  // had dispatched no answer will come; how long that must be quiet before absence proves anything still counts from the dispatch.
  void batch.write(() => { sql.orphan(nowMs(), RECORD_FORMAT) }).catch(() => undefined)
  const cleaning = cleanNowAndThen(() => batch.write(() => clean(context)), options.cleanEveryMs ?? CLEAN_EVERY_MS)
  let closed = false
  return {
    ...sqliteProposals(context, batch, (tag, runKey, atMs) => sql.runFacts(tag, runKey, atMs).has('stopped')),
    recall: name => batch.read(() => recall(context, name, nowMs())),
    begin: (record, after, limits) => batch.write(() => begin(context, record, after, limits)),
    advance: (held, event) => batch.write(() => advance(context, held.id, event)),
    find: id => batch.read(() => found(sql.byId(id, nowMs()), nowMs())),
    claimDue: (limit, leaseMs) => batch.write(() => claimDue(context, limit, leaseMs)),
    ofRun: (tag, runKey, limit) =>
      batch.read(() => sql.ofRun(tag, runKey, nowMs(), Math.min(limit, RUN_LIST_MAX)).map(row => recordOf(row, nowMs()))),
    unresolved: limit => batch.read(() => sql.unresolved(limit).map(row => recordOf(row, nowMs()))),
    stopRun: (tag, runKey) => batch.write(() => stopRun(context, tag, runKey)),
    stoppedRuns: () => batch.read(() => sql.stoppedRuns(nowMs() - STOPPED_LISTED_MS)),
    countRefusal: (tag, runKey, action) => batch.write(() => count(context, tag, runKey, `refusals:${action}`)),
    refusals: (tag, runKey, action) => batch.read(() => Number(sql.runFacts(tag, runKey, nowMs()).get(`refusals:${action}`) ?? 0)),
    enter: (place, limits, deadlineMs) => batch.write(() => enter(context, place, limits, deadlineMs)),
    leave: place => batch.write(() => { sql.leave(place.tenant, place.action, place.callId) }),
    keepDefinition: (digest, text) => batch.write(() => { sql.keepDefinition(digest, text) }),
    definition: digest => batch.read(() => sql.definition(digest)),
    bindKey: keyId => batch.write(() => sql.bindKey(keyId) === keyId),
    ...sqliteLock(batch, sql),
    ping: () => batch.write(() => { sql.ping(nowMs()) }),
    async close () {
      if (closed) return
      closed = true
      cleaning.stop()
      batch.close()
      file.close()
    },
  }
}

function recall (context: Context, name: RecordName, nowMs: number): Recalled {
  const { sql } = context
  const run = sql.runFacts(name.tag, name.runKey, nowMs)
  const row = sql.latest(name.recordKey, nowMs)
  return {
    finding: judgeRepeat(name, found(row, nowMs), run.get(`last:${name.upstream}`) as string | undefined ?? null, nowMs),
    runStopped: run.has('stopped'),
    calls: Number(run.get(`calls:${name.action}`) ?? 0),
    unresolved: sql.countUnresolved(name.tenant, name.action),
    atMs: nowMs,
  }
}

function begin (context: Context, record: AttemptRecord, after: After | null, limits: BeginLimits): Begun {
  requirePrepared(record, limits)
  const { sql, retention } = context
  const nowMs = context.nowMs()
  const own = sql.byId(record.id, nowMs)
  if (own !== undefined && own.token === record.token) return { kind: 'begun', record: recordOf(own, nowMs) }
  const name = nameOf(record)
  const recalled = recall(context, name, nowMs)
  if (recalled.runStopped) return { kind: 'run_stopped' }
  const latest = sql.latest(record.recordKey, nowMs)
  if (latest?.id !== after?.id || latest?.revision !== after?.revision || own !== undefined) return { kind: 'recalled', recalled }
  const approval = limits.consume === undefined ? undefined : approvalAsSeen(sql, limits.consume, nowMs)
  if (approval === null) return { kind: 'proposal_changed' }
  if (limits.callsPerRun !== null && recalled.calls >= limits.callsPerRun) return { kind: 'budget_exhausted' }
  if (recalled.unresolved >= limits.unresolvedMax) return { kind: 'unresolved_limit' }
  const { target, serialize, equal } = record.claims
  if (sql.claimIsHeld(record.id, target, serialize, record.guarded) || sql.equalIsUnknown(record.id, equal)) return { kind: 'target_busy' }
  if (hasChanged(context, record, limits, nowMs)) return { kind: 'target_changed' }
  if (limits.concurrencyPerTenant !== null) {
    if (!takePlace(context, name, record.id, limits.concurrencyPerTenant, nowMs, nowMs + placeMs(record))) return { kind: 'rate_limited' }
  }
  const begun = begunAt(record, nowMs)
  sql.insert(begun, pack(begun).body)
  if (approval !== undefined) consumeApproval(sql, approval, record.id, nowMs)
  count(context, record.tag, record.runKey, `calls:${record.action}`, nowMs)
  sql.setRunFact(record.tag, record.runKey, `last:${record.upstream}`, record.id, nowMs + retention.runMs)
  return { kind: 'begun', record: begun }
}

/** What is known of a target lies beside what is known of runs. */
const factsOf = (target: string): string => `target ${target}`

function hasChanged (context: Context, record: AttemptRecord, { unchangedSinceMs }: BeginLimits, nowMs: number): boolean {
  const { target } = record.claims
  if (target === null || typeof unchangedSinceMs !== 'number') return false
  return Number(context.sql.runFacts(record.tag, factsOf(target), nowMs).get('changed') ?? -1) >= unchangedSinceMs
}

function advance (context: Context, id: string, event: AttemptEvent): Advanced {
  const { sql, retention } = context
  const nowMs = context.nowMs()
  const row = sql.byId(id, nowMs)
  if (row === undefined) return { kind: 'missing' }
  const record = recordOf(row, nowMs)
  // Written by a newer version: what its fields mean is not known here.
  if (record.format > RECORD_FORMAT) return { kind: 'refused', record, alarm: false }
  const reduced = reduce(record, event)
  if (reduced.kind === 'already') return { kind: 'already', record }
  if (reduced.kind === 'refused') return { kind: 'refused', record, alarm: reduced.alarm }
  const next = stamped(reduced, nowMs)
  const settled = next.state === 'settled'
  const packed = pack(next)
  const resultUntilMs = packed.result === null ? null : nowMs + retention.resultMs
  sql.update(next, packed, { resultUntilMs, expiresAtMs: settled ? nowMs + retention.settledMs : null }, reduced.dueAfterMs === 'keep')
  if (settled) sql.leave(record.owner.tenant, record.action, id)
  if (settled && next.proposal !== undefined) settleProposal(sql, next.proposal, id, givesBack(next), nowMs, nowMs + retention.settledMs)
  if (settled && changesTarget(next)) sql.setRunFact(next.tag, factsOf(next.claims.target!), 'changed', nowMs, nowMs + CHANGED_KEPT_MS)
  return { kind: 'changed', record: next }
}

function claimDue (context: Context, limit: number, leaseMs: number): readonly Due[] {
  const { sql } = context
  const nowMs = context.nowMs()
  return sql.due(nowMs, RECORD_FORMAT, limit).map(row => {
    sql.hide(row.id, nowMs + leaseMs)
    return { record: recordOf(row, nowMs), nowMs }
  })
}

function stopRun (context: Context, tag: string, runKey: string): void {
  const nowMs = context.nowMs()
  context.sql.setRunFact(tag, runKey, 'stopped', nowMs, nowMs + context.retention.runMs)
  context.sql.listStopped(runKey, nowMs)
}

function enter (context: Context, place: Place, limits: PlaceLimits, deadlineMs: number): Entered {
  const { sql } = context
  const nowMs = context.nowMs()
  if (sql.hasPlace(place.tenant, place.action, place.callId, nowMs)) return 'entered'
  const run = sql.runFacts(place.tag, place.runKey, nowMs)
  if (run.has('stopped')) return 'run_stopped'
  if (limits.callsPerRun !== null && Number(run.get(`calls:${place.action}`) ?? 0) >= limits.callsPerRun) return 'budget_exhausted'
  if (!takePlace(context, place, place.callId, limits.concurrencyPerTenant, nowMs, nowMs + deadlineMs)) return 'rate_limited'
  count(context, place.tag, place.runKey, `calls:${place.action}`, nowMs)
  return 'entered'
}

function takePlace (
  context: Context, of: Pick<Place, 'tenant' | 'action'>, id: string, limit: number | null, nowMs: number, untilMs: number,
): boolean {
  if (limit !== null && context.sql.countPlaces(of.tenant, of.action, nowMs) >= limit) return false
  context.sql.setPlace(of.tenant, of.action, id, untilMs)
  return true
}

function count (context: Context, tag: string, runKey: string, name: string, nowMs: number = context.nowMs()): number {
  return context.sql.countRunFact(tag, runKey, name, nowMs, nowMs + context.retention.runMs)
}

function found (row: AttemptRow | undefined, nowMs: number): AttemptRecord | null {
  return row === undefined ? null : recordOf(row, nowMs)
}

/** One bite; true where there may be more. */
function clean (context: Context): boolean {
  const nowMs = context.nowMs()
  const { sql } = context
  const most = Math.max(
    sql.clean(nowMs, nowMs - STOPPED_LISTED_MS, CLEAN_ROWS), sql.cleanProposals(nowMs, CLEAN_ROWS), sql.cleanSessions(nowMs, CLEAN_ROWS),
  )
  return most >= CLEAN_ROWS
}

function cleanNowAndThen (bite: () => Promise<boolean>, everyMs: number): { stop (): void } {
  let timer: NodeJS.Timeout | null = null
  let stopped = false
  const later = (pauseMs: number): void => {
    if (stopped) return
    timer = setTimeout(() => {
      // A store that cannot be cleaned now is cleaned next time; whoever needs it hears of the fault by itself.
      bite().then(more => { later(more ? Math.min(50, everyMs) : everyMs) }, () => { later(everyMs) })
    }, pauseMs)
    timer.unref()
  }
  later(everyMs)
  return {
    stop () {
      stopped = true
      if (timer !== null) clearTimeout(timer)
    },
  }
}
