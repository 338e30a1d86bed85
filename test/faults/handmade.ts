// Folders of runs that never were, made by hand: a small good one, which tests spoil in one place to see that the checker sees it.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AttemptRecord, Settlement } from '../../src/attempts/attempt.ts'
import type { JsonObject } from '../../src/catalog/catalog.ts'
import type { ProposalRecord } from '../../src/consent/proposal.ts'
import { check, type Checked } from './check.ts'
import type { LogLine } from './evidence.ts'
import {
  argsHash, type Arrival, type Ask, type AuditRow, type DecisionLine, type Effect, type Heard, type HistoryLine, type LedgerLine, type NemesisLine,
  type RunFacts, type Says,
} from './folder.ts'
import type { Secrets } from './site.ts'

type Changeable<T> = { -readonly [K in keyof T]: T[K] }

export interface Made {
  run: Changeable<RunFacts>
  fired: Record<string, number>
  nemesis: NemesisLine[]
  ledger: Array<Changeable<LedgerLine>>
  history: Array<Changeable<HistoryLine>>
  store: Array<Changeable<AttemptRecord>>
  proposals: Array<Changeable<ProposalRecord>>
  decisions: Array<Changeable<DecisionLine>>
  audit: Array<Changeable<AuditRow>>
  log: Array<Changeable<LogLine>>
  secrets: Secrets
  files: Record<string, string>
}

/** When the run that never was began. */
export const START_MS = 1_900_000_000_000

export interface Deed {
  readonly id: string
  readonly errand: string
  readonly story?: string
  readonly part?: string
  readonly action?: string
  readonly args?: JsonObject
  readonly key?: string | null
  readonly n?: number
  readonly run?: string
  /** From the start, in milliseconds; it takes 100. */
  readonly atMs: number
  readonly mode?: string
  readonly done?: boolean
  readonly arrives?: boolean
  readonly object?: string
  readonly version?: number
  readonly end: Partial<Settlement> | 'unknown' | 'pending'
  readonly target?: string
  /** What it carries out. */
  readonly proposal?: string
}

const SETTLED: Settlement = {
  outcome: 'completed', sent: true, code: null, message: null, retryable: false, retryAfterSeconds: null, result: null, truncated: false,
  withheld: null,
  evidence: { source: 'response', upstreamStatus: 201, by: null },
}

export class Maker {
  readonly made: Made = {
    run: { seed: 'hand', store: 'redis', startedAtMs: START_MS, healedAtMs: START_MS + 60_000, endedAtMs: START_MS + 120_000, drained: true },
    fired: {}, nemesis: [], ledger: [], history: [], store: [], proposals: [], decisions: [], audit: [], log: [], files: {},
    secrets: {
      credentials: { 'tenant-0': 'credential-of-tenant-0', 'tenant-1': 'credential-of-tenant-1' }, avalKey: 'bm90IHJlYWxseSBhIGtleSwgYnV0IGxvbmc=',
    },
  }

  #n: number

  /** @param n of the first ask */
  constructor (n = 0) {
    this.#n = n
  }

  /** One call that begins an attempt, all that is written of it, and how it was answered. */
  write (deed: Deed): this {
    const record = recordOf(deed)
    const { made } = this
    const args = argsHash(record.args)
    const correlation = record.correlationId
    const row = (event: string, atMs: number, more: Partial<AuditRow> = {}): void => {
      made.audit.push({ replica: 0, writer: 'w', seq: made.audit.length + 1, time: new Date(atMs).toISOString(), event, attempt: { id: deed.id }, ...more })
    }
    const settlement = record.settlement
    if (deed.arrives !== false) {
      row('execution.intent', record.dispatchedAtMs!)
      const arrival: Arrival = {
        kind: 'arrival', seq: made.ledger.length, t: record.dispatchedAtMs! + 10, attempt: deed.id, key: record.key, args,
        method: 'POST', path: '/v1/works',
        conn: 0, tenant: 'tenant-0', mode: deed.mode ?? 'honest',
      }
      made.ledger.push(arrival)
      if (deed.done !== false) this.effect(deed, arrival)
    }
    const outcome = settlement?.outcome ?? (deed.end as 'unknown' | 'pending')
    const byLookUp = settlement?.evidence.source === 'lookup'
    const told = {
      correlation_id: correlation, outcome: byLookUp ? 'unknown' : outcome, ...settlement?.code == null ? {} : { code: settlement.code },
      step: 'record',
    }
    if (settlement === null || byLookUp) {
      row(`execution.${byLookUp ? 'unknown' : outcome}`, record.dispatchedAtMs! + 20, { ...told, outcome: byLookUp ? 'unknown' : outcome })
      made.log.push({
        attempt_id: deed.id, attempt_state: byLookUp ? 'unknown' : outcome, outcome: byLookUp ? 'unknown' : outcome, step: 'record',
        internal: 'no answer came back (reset)',
      })
      if (byLookUp) row('execution.resolved', record.settledAtMs!, { outcome, ...settlement!.code === null ? {} : { code: settlement!.code } })
    } else row(settlement.sent ? 'execution.result' : 'action.refused', record.settledAtMs!, told)
    made.store.push(record)
    const status = settlement === null || byLookUp ? 202 : settlement.sent ? 200 : 503
    this.ask(
      deed, record.args,
      {
        status, outcome: byLookUp ? 'unknown' : outcome, sent: settlement?.sent ?? true, code: settlement?.code ?? null,
        attempt: settlement?.sent === false ? null : deed.id, correlation,
      },
      deed.atMs, deed.atMs + 90
    )
    if (byLookUp) this.ask(
      deed, record.args, { outcome, code: settlement!.code, attempt: deed.id, correlation: null }, deed.atMs + 100,
      record.settledAtMs! - START_MS + 20, 'get'
    )
    return this
  }

  ask (
    deed: Pick<Deed, 'errand' | 'story' | 'part' | 'action' | 'key' | 'run'>, args: JsonObject, answer: Partial<Heard>, fromMs: number, toMs: number,
    verb: Ask['verb'] = 'call'
  ): this {
    const n = this.#n++
    const { errand, story = 'plain', part = 'one', action = 'do_work.v1', key = `key-of-${errand}`, run = 'run-1' } = deed
    this.made.history.push({
      kind: 'ask', n, t: START_MS + fromMs, errand, story, part, verb, replica: 0, tenant: 'tenant-0', run, action, key, args: argsHash(args),
      attempt: verb === 'call' ? null : answer.attempt ?? null,
    }, {
      kind: 'heard', n, t: START_MS + toMs, status: 200, outcome: 'completed', sent: true, code: null, retryable: false, attempt: null,
      duplicate: false,
      recorded: true, withheld: null, correlation: null, ...answer,
    })
    return this
  }

  /** What somebody says of a proposal, and that it counts. */
  says (proposal: string, of: Pick<Deed, 'errand' | 'action' | 'args' | 'run'>, atMs: number, how: Partial<Says> = {}): this {
    const n = this.made.decisions.length
    this.made.decisions.push({
      kind: 'says', n, t: START_MS + atMs, by: 'ann', says: 'approve', proposal, action: of.action ?? 'do_work.v1', tenant: 'tenant-0',
      run: of.run ?? 'run-1', args: argsHash(of.args ?? { item: of.errand, amount: 7 }), uses: null, ...how,
    }, { kind: 'taken', n, t: START_MS + atMs + 20, status: 200, state: how.says === 'deny' ? 'denied' : 'approved', taken: true })
    return this
  }

  /** How it is kept. */
  keeps (proposal: Partial<ProposalRecord>): this {
    const kept: Partial<ProposalRecord> = {
      kind: 'call', state: 'consumed', grant: null, uses: 0, attemptId: null, createdAtMs: START_MS + 20_000, ...proposal,
    }
    this.made.proposals.push(kept as ProposalRecord)
    return this
  }

  /** A line of the audit for an answer that no attempt stands behind. */
  line (correlation: string, outcome: string, code: string | null, atMs: number): this {
    this.made.audit.push({
      replica: 0, writer: 'w', seq: this.made.audit.length + 1, time: new Date(START_MS + atMs).toISOString(),
      event: outcome === 'rejected' ? 'action.refused' : 'action.called',
      correlation_id: correlation, outcome, step: 'record', ...code === null ? {} : { code },
    })
    return this
  }

  effect (deed: Deed, arrival: Arrival): this {
    const effect: Effect = {
      kind: 'effect', seq: this.made.ledger.length, t: arrival.t + 1, attempt: deed.id, args: arrival.args, object: deed.object ?? deed.errand,
      version: deed.version ?? null, errand: deed.errand, of: arrival.seq,
    }
    this.made.ledger.push(effect)
    return this
  }
}

function recordOf (deed: Deed): AttemptRecord {
  const { id, errand, key = `key-of-${errand}`, action = 'do_work.v1', run = 'run-1', n = 0, target = null } = deed
  const preparedAtMs = START_MS + deed.atMs
  const settlement: Settlement | null = typeof deed.end === 'string' ? null : { ...SETTLED, ...deed.end }
  const afterMs = settlement?.evidence.source === 'lookup' ? 5_000 : 60
  return {
    format: 1, id, tag: '00', recordKey: `record ${key ?? errand}`, runKey: run, keyed: key !== null, fingerprint: 'f', n, g: 0,
    key: `upstream ${errand}`,
    action, definition: 'd', upstream: 'yard', owner: { iss: 'i', sub: 's', tenant: 'tenant-0', run }, caller: {
      sub: 's', tenant: 'tenant-0', run, claims: {},
    },
    args: deed.args ?? { item: errand, amount: 7 }, values: {}, target: null, claims: {
      target, serialize: null, equal: 'e',
    }, guarded: true, sensitive: false,
    timeoutMs: 1_000, quiescenceMs: 4_000, correlationId: `cor-${id}`,
    state: settlement === null ? deed.end as 'unknown' | 'pending' : 'settled', revision: 3, token: 't',
    reference: deed.end === 'pending' ? 'work-1' : null, missing: deed.end === 'unknown' ? 'no answer came back (reset)' : null,
    cancelRequested: false, lookups: 0, firstAbsentAtMs: null, settlement,
    preparedAtMs, dispatchedAtMs: deed.arrives === false ? null : preparedAtMs + 5,
    unknownAtMs: deed.end === 'unknown' || afterMs > 100 ? preparedAtMs + 25 : null,
    ...(deed.proposal === undefined ? {} : { proposal: deed.proposal }),
    settledAtMs: settlement === null ? null : preparedAtMs + afterMs, dueAtMs: settlement === null ? START_MS + 130_000 : null,
  }
}

export function checkMade (made: Made): Checked {
  const folder = mkdtempSync(join(tmpdir(), 'aval-handmade-'))
  try {
    const lines = (name: string, all: readonly object[]): void => writeFileSync(
      join(folder, name), all.map(line => `${JSON.stringify(line)}\n`).join('')
    )
    mkdirSync(join(folder, 'replica-0', 'audit'), { recursive: true })
    for (const name of ['run', 'fired', 'secrets'] as const) writeFileSync(join(folder, `${name}.json`), JSON.stringify(made[name]))
    lines('nemesis.jsonl', made.nemesis)
    lines('ledger.jsonl', made.ledger)
    lines('history-0.jsonl', made.history)
    lines('store.jsonl', made.store)
    lines('proposals.jsonl', made.proposals)
    lines('decisions-0.jsonl', made.decisions)
    lines('replica-0/audit/rows.jsonl', made.audit)
    lines('replica-0.log', made.log)
    for (const [name, text] of Object.entries(made.files)) writeFileSync(join(folder, name), text)
    return check(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
