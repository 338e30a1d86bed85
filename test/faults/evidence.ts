// Everything that a run left behind, joined by attempt, by errand and by ask.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AttemptRecord } from '../../src/attempts/attempt.ts'
import type { ProposalRecord } from '../../src/consent/proposal.ts'
import {
  readAudit, readDecisions, readHistory, readJson, readLedger, readLines, readProposals, readStore, type Arrival, type Ask, type AuditRow, type Effect,
  type Heard, type Lost, type NemesisLine, type Partial, type RunFacts, type Says, type Taken,
} from './folder.ts'
import type { Secrets } from './site.ts'

export interface Asked {
  readonly ask: Ask
  /** null: the agents themselves ended before. */
  readonly answer: Heard | Lost | null
}

/** What somebody said of a proposal, and how that was answered. */
export interface Said {
  readonly says: Says
  readonly answer: Taken | Lost | null
}

/** A line of a broker's log, as far as the checker looks at it. */
export interface LogLine {
  readonly attempt_id?: string
  readonly attempt_state?: string
  readonly outcome?: string
  readonly duplicate?: boolean
  readonly step?: string
  readonly internal?: string
}

export interface Evidence {
  readonly folder: string
  readonly run: RunFacts
  readonly fired: { readonly [name: string]: number }
  readonly nemesis: readonly NemesisLine[]
  readonly secrets: Secrets | null
  readonly arrivals: readonly Arrival[]
  readonly effects: readonly Effect[]
  readonly partials: readonly Partial[]
  readonly records: ReadonlyMap<string, AttemptRecord>
  readonly proposals: ReadonlyMap<string, ProposalRecord>
  readonly asked: readonly Asked[]
  readonly said: readonly Said[]
  readonly audit: readonly AuditRow[]
  /** Those that wrote an audit. */
  readonly replicas: readonly number[]
  readonly log: readonly LogLine[]
  arrivalsOf (attempt: string): readonly Arrival[]
  effectsOf (attempt: string): readonly Effect[]
  partialsOf (attempt: string): readonly Partial[]
  /** What was heard of an attempt, in the order of the answers. */
  heardOf (attempt: string): ReadonlyArray<Asked & { readonly answer: Heard }>
  auditOf (attempt: string): readonly AuditRow[]
  /** Every attempt that anything speaks of. */
  readonly attempts: ReadonlySet<string>
  /** How often this fault fired, or those of which the name begins so. */
  count (name: string): number
  /** What was written down before `toMs` may have been forgotten by `fromMs`, for each time that the store was made to forget. */
  readonly losses: ReadonlyArray<{ readonly fromMs: number, readonly toMs: number }>
  /** Whether what the store had acknowledged at the one time may have been forgotten by the other. */
  lostBetween (sinceMs: number, byMs: number): boolean
}

/** Faults that make the store forget; their names in fired.json begin so. */
export const STATE_LOSS = 'state-loss:'
/** How the lines of the nemeses about them begin. */
export const STATE_LOSS_LINE = 'state-loss '
/** From the line of the nemesis until its command is carried out. */
const FLUSHED_WITHIN_MS = 500

/** @throws where the folder is not that of a run */
export function readEvidence (folder: string): Evidence {
  const run = readJson<RunFacts>(folder, 'run.json')
  if (run === null) throw new Error(`${folder} holds no run.json: the run did not end`)
  const fired = readJson<Record<string, number>>(folder, 'fired.json') ?? {}
  const ledger = readLedger(folder)
  const arrivals = ledger.filter(line => line.kind === 'arrival')
  const effects = ledger.filter(line => line.kind === 'effect')
  const partials = ledger.filter(line => line.kind === 'partial')
  const records = new Map(readStore(folder).map(record => [record.id, record]))
  const proposals = new Map(readProposals(folder).map(record => [record.id, record]))
  const asked = askedOf(folder)
  const audit = readAudit(folder)
  const heard = asked.filter((one): one is Asked & { answer: Heard } => one.answer?.kind === 'heard')
  const [arrivalsOf, effectsOf, partialsOf] = [by(arrivals, attemptOf), by(effects, attemptOf), by(partials, attemptOf)]
  const auditOf = by(audit, row => row.attempt?.id ?? null)
  const heardOf = by([...heard].sort((one, other) => one.answer.t - other.answer.t), one => one.answer.attempt)
  const nemesis = readLines<NemesisLine>(join(folder, 'nemesis.jsonl'))
  const count = (name: string): number => Object.entries(fired).reduce((sum, [own, times]) => own.startsWith(name) ? sum + times : sum, 0)
  const losses = lossesOf(nemesis)
  return {
    folder, run, fired, arrivals, effects, partials, records, proposals, asked, audit, count,
    said: saidOf(folder),
    replicas: [...new Set(audit.map(({ replica }) => replica))],
    nemesis,
    secrets: readJson<Secrets>(folder, 'secrets.json'),
    log: globSync('**/*.log', { cwd: folder }).sort().flatMap(name => logLines(join(folder, name))),
    arrivalsOf: id => arrivalsOf.get(id) ?? [],
    effectsOf: id => effectsOf.get(id) ?? [],
    partialsOf: id => partialsOf.get(id) ?? [],
    heardOf: id => heardOf.get(id) ?? [],
    auditOf: id => auditOf.get(id) ?? [],
    attempts: new Set([...arrivalsOf.keys(), ...effectsOf.keys(), ...partialsOf.keys(), ...records.keys(), ...heardOf.keys()]),
    losses,
    lostBetween: (sinceMs, byMs) => losses.some(({ fromMs, toMs }) => sinceMs < toMs && byMs > fromMs),
  }
}

/** A server that is killed for it forgets what it takes until it is dead. */
function lossesOf (nemesis: readonly NemesisLine[]): Evidence['losses'] {
  return nemesis.flatMap((line, at) => {
    if (!line.what.startsWith(STATE_LOSS_LINE)) return []
    // One blow at a time falls on the store; others are meanwhile dealt to the brokers.
    const up = line.what.endsWith('flushall') ? undefined : nemesis.slice(at).find(({ what, state }) => what === 'redis' && state === 'up')
    return [{ fromMs: line.t, toMs: up?.t ?? line.t + FLUSHED_WITHIN_MS }]
  })
}

const attemptOf = (line: { readonly attempt: string | null }): string | null => line.attempt

export function by<T> (all: readonly T[], nameOf: (one: T) => string | null): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const one of all) {
    const name = nameOf(one)
    if (name === null) continue
    const group = groups.get(name)
    if (group === undefined) groups.set(name, [one])
    else group.push(one)
  }
  return groups
}

/** Asks of several processes of agents have the same numbers, so each file is joined by itself. */
function askedOf (folder: string): readonly Asked[] {
  return readHistory(folder).flatMap(lines => {
    const answers = new Map<number, Heard | Lost>()
    for (const line of lines) if (line.kind !== 'ask') answers.set(line.n, line)
    return lines.flatMap(line => line.kind === 'ask' ? [{ ask: line, answer: answers.get(line.n) ?? null }] : [])
  })
}

function saidOf (folder: string): readonly Said[] {
  const lines = readDecisions(folder)
  const answers = new Map(lines.flatMap(line => line.kind === 'says' ? [] : [[line.n, line] as const]))
  return lines.flatMap(line => line.kind === 'says' ? [{ says: line, answer: answers.get(line.n) ?? null }] : [])
}

/** What a process wrote while it was killed may be half a line, and what Node itself wrote is no JSON. */
function logLines (path: string): readonly LogLine[] {
  return readFileSync(path, 'utf8').split('\n').flatMap(line => {
    if (!line.startsWith('{')) return []
    try {
      return [JSON.parse(line) as LogLine]
    } catch {
      return []
    }
  })
}
