// The folder of a run: what each file holds, and how it is read. Everything in it is a line a fact, written when the fact was new.
import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Json, JsonObject } from '../../src/catalog/catalog.ts'
import type { AttemptRecord } from '../../src/attempts/attempt.ts'
import type { ProposalRecord, ProposalState } from '../../src/consent/proposal.ts'

/** What the gate runner says of the whole run. */
export interface RunFacts {
  readonly seed: string
  readonly store: 'redis' | 'sqlite'
  readonly startedAtMs: number
  /** From here on nothing was hurt. */
  readonly healedAtMs: number
  readonly endedAtMs: number
  /** Everything that can settle was given the time for it before the store was read. */
  readonly drained: boolean
}

export interface NemesisLine {
  readonly t: number
  readonly what: string
  readonly state?: string
  /** Of a process that is made to stand still: for how long. */
  readonly ms?: number
}

/** A write that arrived whole at the upstream. */
export interface Arrival {
  readonly kind: 'arrival'
  readonly seq: number
  readonly t: number
  /** The attempt, by a header that every sheet of the rig sends. */
  readonly attempt: string | null
  /** The Idempotency-Key. */
  readonly key: string | null
  /** `argsHash` of the arguments that make this request. */
  readonly args: string
  readonly method: string
  readonly path: string
  readonly conn: number
  /** Whose credential it came with; null: nobody's. */
  readonly tenant: string | null
  /** How the upstream behaved towards it. */
  readonly mode: string
}

/** Something was done in the upstream. */
export interface Effect {
  readonly kind: 'effect'
  readonly seq: number
  readonly t: number
  readonly attempt: string | null
  readonly args: string
  /** What was touched, `item-3`; for work the errand that it was done for. */
  readonly object: string
  /** The version that it was based on; null where there are none. */
  readonly version: number | null
  /** The errand that it was done for. */
  readonly errand: string
  /** `seq` of its arrival. */
  readonly of: number
}

/** The connection ended before the write had arrived whole. */
export interface Partial {
  readonly kind: 'partial'
  readonly seq: number
  readonly t: number
  readonly attempt: string | null
  readonly bytes: number
  readonly conn: number
}

export type LedgerLine = Arrival | Effect | Partial

/** `ask`: how a proposal stands. */
export type Verb = 'call' | 'get' | 'cancel' | 'ask' | 'commit' | 'withdraw'

export interface Ask {
  readonly kind: 'ask'
  /** Number of the ask; its answer has the same. */
  readonly n: number
  readonly t: number
  readonly errand: string
  /** What the errand is about: `plain`, `changed`, `aba`, … */
  readonly story: string
  /** Which of the writes of the story. */
  readonly part: string
  readonly verb: Verb
  readonly replica: number
  readonly tenant: string
  readonly run: string
  readonly action: string
  /** The Idempotency-Key. */
  readonly key: string | null
  readonly args: string
  readonly attempt: string | null
  /** Of `ask`, `commit` and `withdraw`. */
  readonly proposal?: string
}

export interface Heard {
  readonly kind: 'heard'
  readonly n: number
  readonly t: number
  readonly status: number
  /** null: the answer had no envelope of the broker's. */
  readonly outcome: string | null
  readonly sent: boolean | null
  readonly code: string | null
  readonly retryable: boolean
  readonly attempt: string | null
  readonly duplicate: boolean
  /** false: told before it could be written down. */
  readonly recorded: boolean
  readonly withheld: string | null
  readonly correlation: string | null
  readonly proposal?: { readonly id: string, readonly kind: 'call' | 'session', readonly state: ProposalState }
}

/** No answer came: the connection broke, or the agent went away. */
export interface Lost {
  readonly kind: 'lost'
  readonly n: number
  readonly t: number
  readonly why: string
}

export type HistoryLine = Ask | Heard | Lost

/** What an approver is about to say, of what was shown. */
export interface Says {
  readonly kind: 'says'
  readonly n: number
  readonly t: number
  readonly by: string
  readonly says: 'approve' | 'deny' | 'revoke'
  readonly proposal: string
  readonly action: string
  readonly tenant: string
  readonly run: string
  readonly args: string
  /** Of a grant: how often it may be used. */
  readonly uses: number | null
}

/** How that was answered. */
export interface Taken {
  readonly kind: 'taken'
  readonly n: number
  readonly t: number
  readonly status: number
  /** Of the proposal, as it stands then; null: the answer does not say. */
  readonly state: ProposalState | null
  /** It counts, now or from before. */
  readonly taken: boolean
}

export type DecisionLine = Says | Taken | Lost

/** A row of the audit, as far as the checker looks at it. */
export interface AuditRow {
  /** By the folder that the row stands in. */
  readonly replica: number
  readonly writer: string
  readonly seq: number
  readonly time: string
  readonly event: string
  readonly correlation_id?: string
  readonly outcome?: string
  readonly code?: string
  readonly sent?: boolean
  readonly step?: string
  readonly what?: string
  readonly attempt?: { readonly id: string, readonly state?: string, readonly duplicate?: boolean }
  readonly upstream?: { readonly status?: number }
}

/** The names that arguments go by in ledger, history and store. */
export function argsHash (args: JsonObject): string {
  return createHash('sha256').update(canonical(args)).digest('hex').slice(0, 16)
}

function canonical (value: Json): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(item => canonical(item)).join(',')}]`
  return `{${Object.keys(value).sort().map(key => `${JSON.stringify(key)}:${canonical((value as JsonObject)[key]!)}`).join(',')}}`
}

/** A number from 0 up to 1 that depends on these words alone. */
export function draw (...words: ReadonlyArray<string | number>): number {
  return createHash('sha256').update(words.join('\u0000')).digest().readUInt32BE(0) / 2 ** 32
}

export function readJson<T> (folder: string, name: string): T | null {
  const path = join(folder, name)
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) as T : null
}

/** Whole lines alone: a process that was killed may have left half of one. */
export function readLines<T> (path: string): T[] {
  if (!existsSync(path)) return []
  const text = readFileSync(path, 'utf8')
  return text.slice(0, text.lastIndexOf('\n') + 1).split('\n').filter(line => line !== '').map(line => JSON.parse(line) as T)
}

export const readLedger = (folder: string): LedgerLine[] => readLines(join(folder, 'ledger.jsonl'))
/** One list for each process of agents. */
export const readHistory = (folder: string): HistoryLine[][] =>
  globSync('history-*.jsonl', { cwd: folder }).sort().map(name => readLines<HistoryLine>(join(folder, name)))
export const readStore = (folder: string): AttemptRecord[] => readLines(join(folder, 'store.jsonl'))
export const readProposals = (folder: string): ProposalRecord[] => readLines(join(folder, 'proposals.jsonl'))
export const readDecisions = (folder: string): DecisionLine[] => readLines(join(folder, 'decisions-0.jsonl'))
export const readAudit = (folder: string): AuditRow[] =>
  globSync('replica-*/audit/*.jsonl', { cwd: folder }).sort().flatMap(name => {
    const replica = Number(/^replica-(\d+)/.exec(name)![1])
    return readLines<AuditRow>(join(folder, name)).map(row => ({ ...row, replica }))
  })
