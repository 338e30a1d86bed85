// Proposals in the embedded store. The whole record is one JSON text; what queries go by stands in columns beside it.
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import {
  advanceProposal as reduce, consumed, endsAtMs, goesOn, isOpen, PROPOSAL_FORMAT, released, stateAt, type PendingMax, type ProposalEvent, type ProposalRecord,
} from '../consent/proposal.ts'
import type { AdvancedProposal, ConsentStore, HeldProposal, Proposed } from './consent-store.ts'
import { hasChange, proposedAt, requireProposed, withChange } from './proposal-codec.ts'
import type { Retention } from './retention.ts'
import type { Batch } from './sqlite-batch.ts'

type Values = Record<string, SQLInputValue>

interface Row {
  readonly record: ProposalRecord
  readonly changes: string
}

export type ProposalQueries = ReturnType<typeof createProposalQueries>

export function createProposalQueries (db: DatabaseSync) {
  return { ...reads(db), ...writes(db), ...sessions(db) }
}

const LIVE = '(expires_at IS NULL OR expires_at > $now)'

function prepare (db: DatabaseSync, text: string) {
  const statement = db.prepare(text)
  const rowOf = (row: Record<string, unknown>): Row => ({ record: JSON.parse(row['body'] as string) as ProposalRecord, changes: row['changes'] as string })
  return {
    one (values: Values): Row | null {
      const row = statement.get(values)
      return row === undefined ? null : rowOf(row)
    },
    all: (values: Values): readonly ProposalRecord[] => statement.all(values).map(row => rowOf(row).record),
    count: (values: Values): number => Number(statement.get(values)!['count']),
    run: (values: Values): number => Number(statement.run(values).changes),
  }
}

function reads (db: DatabaseSync) {
  const select = (rest: string) => prepare(db, `SELECT body, changes FROM proposals WHERE ${rest}`)
  const byId = select(`id = $id AND ${LIVE}`)
  const latest = select(`(record_key = $name OR equal_key = $name) AND tag = $tag AND ${LIVE} ORDER BY seq DESC LIMIT 1`)
  const open = select('ends_at >= $now ORDER BY created_at, seq LIMIT $limit')
  const closed = select(`closed_at IS NOT NULL AND ${LIVE} ORDER BY closed_at DESC, seq DESC LIMIT $limit`)
  const overdue = select('ends_at < $now AND format <= $format ORDER BY ends_at, seq LIMIT $limit')
  const grants = select("kind = 'session' AND state = 'approved' AND run_key = $run AND tag = $tag AND ends_at >= $now ORDER BY seq")
  const pending = prepare(db, "SELECT count(*) AS count FROM proposals WHERE agent_key = $agent AND tag = $tag AND state = 'pending' AND ends_at >= $now")
  const desks = prepare(db, `SELECT coalesce(max(held), 0) AS count FROM (
    SELECT count(*) AS held FROM proposals, json_each(body, '$.requirement.roles') AS role
    WHERE tag = $tag AND state = 'pending' AND ends_at >= $now AND body ->> '$.owner.tenant' = $tenant AND role.value IN (SELECT value FROM json_each($roles))
    GROUP BY role.value)`)
  const made = prepare(db, 'SELECT count(*) AS count FROM proposals WHERE agent_key = $agent AND tag = $tag AND created_at >= $since')
  return {
    proposal: (id: string, nowMs: number) => byId.one({ id, now: nowMs }),
    latestProposal: (tag: string, name: string, nowMs: number) => latest.one({ tag, name, now: nowMs })?.record ?? null,
    openProposals: (nowMs: number, limit: number) => open.all({ now: nowMs, limit }),
    closedProposals: (nowMs: number, limit: number) => closed.all({ now: nowMs, limit }),
    overdueProposals: (nowMs: number, limit: number) => overdue.all({ now: nowMs, format: PROPOSAL_FORMAT, limit }),
    grants: (tag: string, runKey: string, nowMs: number) => grants.all({ tag, run: runKey, now: nowMs }),
    countPending: (tag: string, agentKey: string, nowMs: number) => pending.count({ tag, agent: agentKey, now: nowMs }),
    /** On the fullest desk of those who may decide it. */
    countDesk: ({ tag, owner, requirement }: ProposalRecord, nowMs: number) =>
      desks.count({ tag, tenant: owner.tenant, roles: JSON.stringify(requirement.roles), now: nowMs }),
    countMade: (tag: string, agentKey: string, sinceMs: number) => made.count({ tag, agent: agentKey, since: sinceMs }),
  }
}

function writes (db: DatabaseSync) {
  const insert = prepare(db, `INSERT INTO proposals
    (id, tag, record_key, equal_key, run_key, agent_key, kind, format, state, body, changes, created_at, ends_at)
    VALUES ($id, $tag, $key, $equal, $run, $agent, $kind, $format, $state, $body, '', $created, $ends)`)
  const update = prepare(db, `UPDATE proposals SET state = $state, body = $body, changes = coalesce($changes, changes), ends_at = $ends,
    closed_at = iif($closes, coalesce(closed_at, $now), NULL), expires_at = $expires WHERE id = $id`)
  // The clock of the store must not go back behind what it has stamped here.
  const tick = prepare(db, "INSERT INTO facts (name, value) VALUES ('clock', $now) ON CONFLICT DO UPDATE SET value = max(value, excluded.value)")
  const clean = prepare(db, 'DELETE FROM proposals WHERE seq IN (SELECT seq FROM proposals WHERE expires_at <= $now LIMIT $rows)')
  return {
    insertProposal (record: ProposalRecord, nowMs: number): void {
      tick.run({ now: nowMs })
      insert.run({
        id: record.id, tag: record.tag, key: record.recordKey, equal: record.equalKey, run: record.runKey, agent: record.agentKey, kind: record.kind,
        format: record.format, state: record.state, body: JSON.stringify(record), created: record.createdAtMs, ends: endsAtMs(record),
      })
    },
    /** @param changes null: as they were. @param expiresAtMs null: it is kept for as long as it is open, or what it became is */
    updateProposal (record: ProposalRecord, changes: string | null, nowMs: number, expiresAtMs: number | null): void {
      tick.run({ now: nowMs })
      update.run({
        id: record.id, state: record.state, body: JSON.stringify(record), changes, ends: endsAtMs(record), now: nowMs,
        closes: isOpen(record.state) ? 0 : 1, expires: expiresAtMs,
      })
    },
    keepClock (nowMs: number): void { tick.run({ now: nowMs }) },
    cleanProposals: (nowMs: number, rows: number) => clean.run({ now: nowMs, rows }),
  }
}

function sessions (db: DatabaseSync) {
  const put = db.prepare(`INSERT INTO sessions (hash, text, until) VALUES ($hash, $text, $until)
    ON CONFLICT DO UPDATE SET text = excluded.text, until = excluded.until`)
  const get = db.prepare('SELECT text FROM sessions WHERE hash = $hash AND until > $now')
  const drop = db.prepare('DELETE FROM sessions WHERE hash = $hash')
  const clean = db.prepare('DELETE FROM sessions WHERE hash IN (SELECT hash FROM sessions WHERE until <= $now LIMIT $rows)')
  return {
    keepSession (hash: string, text: string, untilMs: number): void { put.run({ hash, text, until: untilMs }) },
    session: (hash: string, nowMs: number) => get.get({ hash, now: nowMs })?.['text'] as string | undefined ?? null,
    dropSession (hash: string): void { drop.run({ hash }) },
    cleanSessions: (nowMs: number, rows: number) => Number(clean.run({ now: nowMs, rows }).changes),
  }
}

export interface ProposalContext {
  readonly sql: ProposalQueries
  readonly nowMs: () => number
  readonly retention: Retention
}

/** @param isStopped of a run, inside the same transaction */
export function sqliteProposals (
  { sql, nowMs, retention }: ProposalContext, batch: Batch, isStopped: (tag: string, runKey: string, nowMs: number) => boolean,
): ConsentStore {
  /** What is told as over by its time must be over after a restart too, wherever the wall clock is by then. */
  async function told (find: (atMs: number) => ProposalRecord | null): Promise<HeldProposal | null> {
    const held = await batch.read(() => {
      const atMs = nowMs()
      const record = find(atMs)
      return record === null ? null : { record, nowMs: atMs }
    })
    if (held !== null && isOpen(held.record.state) && stateAt(held.record, held.nowMs) === 'expired') await batch.write(() => { sql.keepClock(held.nowMs) })
    return held
  }
  const list = (find: (atMs: number) => readonly ProposalRecord[]): Promise<readonly HeldProposal[]> => batch.read(() => {
    const atMs = nowMs()
    return find(atMs).map(record => ({ record, nowMs: atMs }))
  })

  function propose (record: ProposalRecord, after: string | null, pendingMax: PendingMax): Proposed {
    requireProposed(record)
    const atMs = nowMs()
    const own = sql.proposal(record.id, atMs)
    if (own !== null) return { kind: 'proposed', record: own.record }
    if (isStopped(record.tag, record.runKey, atMs)) return { kind: 'run_stopped' }
    const latest = sql.latestProposal(record.tag, record.equalKey, atMs)
    if (latest !== null && latest.id !== after) return { kind: 'recalled', latest: { record: latest, nowMs: atMs } }
    if (sql.countPending(record.tag, record.agentKey, atMs) >= pendingMax.agent) return { kind: 'too_many_pending' }
    if (sql.countDesk(record, atMs) >= pendingMax.desk) return { kind: 'desk_full' }
    const made = proposedAt(record, atMs)
    sql.insertProposal(made, atMs)
    return { kind: 'proposed', record: made }
  }

  function advance (id: string, event: ProposalEvent, changeId: string | undefined): AdvancedProposal {
    const atMs = nowMs()
    const row = sql.proposal(id, atMs)
    if (row === null) return { kind: 'missing' }
    const { record, changes } = row
    if (record.format > PROPOSAL_FORMAT) return { kind: 'refused', record, nowMs: atMs, why: 'newer_format' }
    if (changeId !== undefined && hasChange(changes, changeId)) return { kind: 'changed', record, nowMs: atMs }
    const reduced = reduce(record, event, atMs)
    if (reduced.kind === 'already') return { kind: 'already', record, nowMs: atMs }
    if (reduced.kind === 'refused') {
      sql.keepClock(atMs)
      return { kind: 'refused', record, nowMs: atMs, why: reduced.why }
    }
    if (goesOn(event) && isStopped(record.tag, record.runKey, atMs)) return { kind: 'refused', record, nowMs: atMs, why: 'run_stopped' }
    const next = reduced.record
    sql.updateProposal(next, changeId === undefined ? changes : withChange(changes, changeId), atMs, isOpen(next.state) ? null : atMs + retention.settledMs)
    return { kind: 'changed', record: next, nowMs: atMs }
  }

  return {
    recallProposal: (tag, name) => told(atMs => sql.latestProposal(tag, name, atMs)),
    propose: (record, after, pendingMax) => batch.write(() => propose(record, after, pendingMax)),
    findProposal: id => told(atMs => sql.proposal(id, atMs)?.record ?? null),
    advanceProposal: (one, event, changeId) => batch.write(() => advance(one.id, event, changeId)),
    openProposals: limit => list(atMs => sql.openProposals(atMs, limit)),
    endedProposals: limit => list(atMs => sql.closedProposals(atMs, limit)),
    overdueProposals: limit => list(atMs => sql.overdueProposals(atMs, limit)),
    grantsOf: (tag, runKey) => list(atMs => sql.grants(tag, runKey, atMs)),
    countProposals: (tag, agentKey, sinceMs) => batch.read(() => sql.countMade(tag, agentKey, sinceMs)),
    keepSession: (hash, text, lifeMs) => batch.write(() => { sql.keepSession(hash, text, nowMs() + lifeMs) }),
    session: hash => batch.read(() => sql.session(hash, nowMs())),
    dropSession: hash => batch.write(() => { sql.dropSession(hash) }),
  }
}

/** Inside the transaction that begins an attempt: the approval as it was seen, or null. */
export function approvalAsSeen (sql: ProposalQueries, seen: { readonly proposal: string, readonly revision: number }, nowMs: number): ProposalRecord | null {
  const record = sql.proposal(seen.proposal, nowMs)?.record ?? null
  const isAsSeen = record !== null && record.revision === seen.revision && record.format <= PROPOSAL_FORMAT
  return isAsSeen && record.kind === 'call' && stateAt(record, nowMs) === 'approved' ? record : null
}

export function consumeApproval (sql: ProposalQueries, approval: ProposalRecord, attemptId: string, nowMs: number): void {
  sql.updateProposal(consumed(approval, attemptId), null, nowMs, null)
}

/** Inside the transaction that settles an attempt: its proposal is approved again, or is kept for as long as the attempt. */
export function settleProposal (
  sql: ProposalQueries, id: string, attemptId: string, givenBack: boolean, nowMs: number, expiresAtMs: number,
): void {
  const record = sql.proposal(id, nowMs)?.record ?? null
  if (record === null || record.format > PROPOSAL_FORMAT || record.state !== 'consumed' || record.attemptId !== attemptId) return
  const back = givenBack ? released(record, attemptId) : null
  if (back !== null) sql.updateProposal(back, null, nowMs, null)
  else sql.updateProposal(record, null, nowMs, expiresAtMs)
}
