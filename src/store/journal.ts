// What one replica knows by itself of the writes that it sent: where Redis forgets what it acknowledged, it is told again from here. A record stands
// here, on the disk, before the first byte of its write may leave; how it ended follows; and what the store could not be told waits here until it can
// be, past the death of this process too.
import { randomBytes } from 'node:crypto'
import type { AttemptEvent, AttemptRecord } from '../attempts/attempt.ts'
import type { Acknowledged } from './acknowledged.ts'
import { laterLock, NEVER_LOCKED_STATE, type LockState } from './lock-store.ts'
import { JournalLog, makeJournalFolder, readSegment, segmentsOf, SNAPSHOT_END, type LogOptions } from './journal-log.ts'

/** What this replica saw of the store: by it, it knows a store again that has gone back in time. */
export interface Seen {
  /** Of the server that answered last. */
  readonly runId: string | null
  /** Its own canary, by hash tag: the last value that was acknowledged. */
  readonly beats: { readonly [tag: string]: number }
  /** The canaries of the others, by replica. */
  readonly peers: { readonly [replica: string]: number }
  /** All replicas that may hold something that the store has lost. */
  readonly members: readonly string[]
  /** Replicas that ended in peace, and when, by the store's clock: where the store does not know it any more, it has lost what they did. */
  readonly departed?: { readonly [replica: string]: number }
}

export interface Entry {
  readonly record: AttemptRecord
  /** What became of it, as its owner knows, and as the store was not told yet. */
  readonly owed: AttemptEvent | null
  /** Whoever called was answered, and that told of, though the store could not be told. */
  readonly answered?: true
}

export type JournalOptions = Pick<LogOptions, 'folder' | 'onSynced' | 'onFault' | 'segmentBytesMax' | 'bytesMax' | 'ageMsMax' | 'create'>

/** How the store has an attempt: all of a record that changes after it was sent. */
type Later = Pick<AttemptRecord,
  'id' | 'revision' | 'state' | 'token' | 'reference' | 'missing' | 'cancelRequested' | 'lookups' | 'settlement' |
  'dispatchedAtMs' | 'unknownAtMs' | 'firstAbsentAtMs' | 'settledAtMs' | 'dueAtMs'>

type Line =
  | { readonly t: 'replica', readonly id: string }
  | { readonly t: 'seen', readonly seen: Seen }
  | { readonly t: 'sent', readonly record: AttemptRecord }
  | { readonly t: 'is', readonly later: Later }
  | { readonly t: 'told', readonly record: AttemptRecord }
  | { readonly t: 'owed', readonly id: string, readonly event: AttemptEvent, readonly answered?: true }
  | { readonly t: 'stopped', readonly tag: string, readonly runKey: string }
  | { readonly t: 'lock', readonly state: LockState }
  | { readonly t: 'whole' }

/** What a replay of all that is kept brings to light. */
export type Kept =
  | { readonly kind: 'attempt', readonly entry: Entry }
  | { readonly kind: 'stopped', readonly tag: string, readonly runKey: string }

const NOTHING_SEEN: Seen = Object.freeze({ runId: null, beats: {}, peers: {}, members: [] })
/** Stops of runs that are remembered across segments; the list of the store is no longer. */
const STOPS_MAX = 10_000

export class Journal {
  readonly #folder: string
  readonly #log: JournalLog
  readonly #live: Map<string, Entry>
  readonly #stops = new Map<string, string>()
  /** Names this replica for as long as its folder is kept. */
  readonly replica: string
  /** What the store acknowledged after the canaries that the process before this one remembered last: no canary tells of its loss. */
  readonly sinceSeen: ReadonlyMap<string, Acknowledged>
  #seen: Seen
  #lock: LockState

  private constructor (options: JournalOptions, found: Found) {
    this.#folder = options.folder
    this.replica = found.replica ?? randomBytes(8).toString('hex')
    this.#live = found.live
    this.sinceSeen = found.sinceSeen
    this.#seen = found.seen
    this.#lock = found.lock
    for (const [runKey, tag] of found.stops) this.#stops.set(runKey, tag)
    this.#log = JournalLog.open({ ...options, snapshot: () => this.#snapshot() })
  }

  /**
   * Finds what the process before this one left behind, and what it left half-written. The folder must be this process's own.
   * @throws the error of the disk
   */
  static async open (options: JournalOptions): Promise<Journal> {
    makeJournalFolder(options.folder)
    const journal = new Journal(options, readLatest(options.folder))
    // A disk that takes nothing is found out now, and not by the first write.
    await journal.#log.commit(line({ t: 'seen', seen: journal.#seen }))
    return journal
  }

  get seen (): Seen { return this.#seen }
  /** The latest turn of the vault's lock of which this replica heard. */
  get lock (): LockState { return this.#lock }

  /** Sent, or about to be, and not settled as far as is known here. */
  live (): readonly Entry[] { return [...this.#live.values()] }
  entry (id: string): Entry | null { return this.#live.get(id) ?? null }

  /** Resolves when the record is on the disk: nothing of it may be sent before. @throws the error of the disk */
  sending (record: AttemptRecord): Promise<void> {
    this.#live.set(record.id, { record, owed: null })
    return this.#log.commit(line({ t: 'sent', record }))
  }

  /**
   * The store has it so. What is no attempt of this replica is passed over. Resolves when the death of this process does not lose that any more, or the
   * disk has told of its own fault.
   * @param debt what is owed was told by this, or it is still owed: another change was made meanwhile
   */
  async stands (record: AttemptRecord, debt: 'paid' | 'kept' = 'paid'): Promise<void> {
    const held = this.#live.get(record.id)
    // A mark that the store does not have yet may still be on its way there.
    if (held === undefined || record.state === 'prepared') return
    if (record.token !== held.record.token) {
      // Another begin stands in its place, and nothing of this one can be told any more.
      this.#live.delete(record.id)
      return
    }
    if (record.state === 'settled') this.#live.delete(record.id)
    else this.#live.set(record.id, { record, owed: null })
    // That it was sent is known already.
    const written = record.state === 'dispatched' ? [] : [this.#log.write(line({ t: 'is', later: laterOf(record) }))]
    if (debt === 'kept' && held.owed !== null) written.push(this.#owe(record, held.owed, held.answered))
    await Promise.all(written)
  }

  /**
   * Resolves when it is on the disk what this replica made of an attempt that it does not send: of another, by a look-up, or its own before it left.
   * Whoever sent it may never hear of that. @throws the error of the disk
   */
  told (record: AttemptRecord): Promise<void> {
    return this.#log.commit(line({ t: 'told', record: { ...record, ...laterOf(record) } }))
  }

  /**
   * The store is about to be told this. Resolves when the death of this process does not lose that any more, or the disk has told of its own fault.
   */
  async owes (held: AttemptRecord, event: AttemptEvent): Promise<void> {
    const entry = this.#live.get(held.id)
    if (entry !== undefined && entry.record.token === held.token) await this.#owe(entry.record, event)
  }

  /** The store could not be told this, and whoever called is answered all the same. Resolves when that is on the disk. @throws the error of the disk */
  async answers (held: AttemptRecord, event: AttemptEvent): Promise<void> {
    const entry = this.#live.get(held.id)
    if (entry === undefined || entry.record.token !== held.token) return
    this.#live.set(held.id, { ...entry, owed: event, answered: true })
    await this.#log.commit(owedLine(entry.record, event, true))
  }

  #owe (record: AttemptRecord, event: AttemptEvent, answered?: true): Promise<void> {
    this.#live.set(record.id, { record, owed: event, ...(answered && { answered }) })
    return this.#log.write(owedLine(record, event, answered))
  }

  async stopped (tag: string, runKey: string): Promise<void> {
    this.#stops.set(runKey, tag)
    if (this.#stops.size > STOPS_MAX) this.#stops.delete(this.#stops.keys().next().value!)
    await this.#log.commit(line({ t: 'stopped', tag, runKey }))
  }

  /** Resolves when it is on the disk. @throws the error of the disk */
  async sawLock (state: LockState): Promise<void> {
    if (laterLock(this.#lock, state) === this.#lock) return
    this.#lock = state
    await this.#log.commit(line({ t: 'lock', state }))
  }

  saw (seen: Seen): void {
    this.#seen = seen
    this.#log.append(line({ t: 'seen', seen }))
  }

  /**
   * Everything that is kept: what is settled, or was told of others, first; what is live now last. An attempt may come again, further along.
   * @throws the error of the disk
   */
  async * whole (): AsyncGenerator<Kept> {
    await this.#log.commit(line({ t: 'seen', seen: this.#seen }))
    const live = new Map<string, Entry>()
    const known = new Set(this.#live.keys())
    for (const name of segmentsOf(this.#folder)) {
      for (const told of linesOf(this.#folder, name)) {
        if (told.t === 'told') yield { kind: 'attempt', entry: { record: told.record, owed: null } }
        const ended = apply(live, told)
        if (ended !== null && !known.has(ended.record.id)) yield { kind: 'attempt', entry: ended }
      }
      // Whoever sends meanwhile goes first.
      await new Promise(resolve => setImmediate(resolve))
    }
    for (const entry of this.#live.values()) yield { kind: 'attempt', entry }
    for (const [runKey, tag] of this.#stops) yield { kind: 'stopped', tag, runKey }
  }

  close (): Promise<void> {
    return this.#log.close()
  }

  #snapshot (): readonly string[] {
    const lines: Line[] = [{ t: 'replica', id: this.replica }, { t: 'seen', seen: this.#seen }, { t: 'lock', state: this.#lock }]
    for (const [runKey, tag] of this.#stops) lines.push({ t: 'stopped', tag, runKey })
    const live = [...this.#live.values()].flatMap(({ record, owed, answered }) =>
      [line({ t: 'sent', record }), ...(owed === null ? [] : [owedLine(record, owed, answered)])])
    return [...lines.map(line), ...live]
  }
}

export interface Found {
  readonly replica: string | null
  readonly seen: Seen
  readonly lock: LockState
  readonly live: Map<string, Entry>
  readonly stops: ReadonlyMap<string, string>
  readonly sinceSeen: ReadonlyMap<string, Acknowledged>
}

/** From the latest segment whose beginning is whole: it says all that mattered when it was begun. */
export function readLatest (folder: string): Found {
  const names = segmentsOf(folder)
  let first = names.length - 1
  while (first > 0 && !readSegment(folder, names[first]!).includes(SNAPSHOT_END)) first--
  const live = new Map<string, Entry>()
  const stops = new Map<string, string>()
  const sinceSeen = new Map<string, Acknowledged>()
  let replica: string | null = null
  let seen = NOTHING_SEEN
  let lock = NEVER_LOCKED_STATE
  for (const name of names.slice(Math.max(0, first))) {
    for (const told of linesOf(folder, name)) {
      if (told.t === 'replica') replica = told.id
      if (told.t === 'seen') {
        seen = told.seen
        sinceSeen.clear()
      }
      if (told.t === 'lock') lock = laterLock(lock, told.state)
      if (told.t === 'stopped') stops.set(told.runKey, told.tag)
      const ended = apply(live, told)
      const now = told.t === 'told' ? told.record : told.t === 'is' ? ended?.record ?? live.get(told.later.id)?.record : undefined
      if (now !== undefined) sinceSeen.set(now.id, { tag: now.tag, revision: now.revision, state: now.state })
    }
  }
  return { replica, seen, lock, live, stops, sinceSeen }
}

function * linesOf (folder: string, name: string): Generator<Line> {
  for (const text of readSegment(folder, name)) yield JSON.parse(text) as Line
}

/** @returns the attempt that this line ended */
function apply (live: Map<string, Entry>, told: Line): Entry | null {
  if (told.t === 'sent') live.set(told.record.id, { record: told.record, owed: null })
  if (told.t === 'owed') {
    const entry = live.get(told.id)
    if (entry !== undefined) live.set(told.id, { record: entry.record, owed: told.event, ...(told.answered && { answered: true }) })
  }
  if (told.t !== 'is') return null
  const entry = live.get(told.later.id)
  // A line whose beginning is no longer kept, or that is about another begin.
  if (entry === undefined || entry.record.token !== told.later.token) return null
  const now: Entry = { record: { ...entry.record, ...told.later }, owed: null }
  if (now.record.state !== 'settled') {
    live.set(told.later.id, now)
    return null
  }
  live.delete(told.later.id)
  return now
}

const line = (told: Line): string => JSON.stringify(told)

const owedLine = (record: AttemptRecord, event: AttemptEvent, answered?: true): string =>
  line({ t: 'owed', id: record.id, event: withoutSensitive(event, record), ...(answered && { answered }) })

function laterOf (record: AttemptRecord): Later {
  const {
    id, revision, state, token, reference, missing, cancelRequested, lookups, dispatchedAtMs, unknownAtMs, firstAbsentAtMs, settledAtMs, dueAtMs,
  } = record
  const { settlement } = record
  const bare = settlement === null || !record.sensitive || settlement.result === null
  return {
    id, revision, state, token, reference, missing, cancelRequested, lookups, dispatchedAtMs, unknownAtMs, firstAbsentAtMs, settledAtMs, dueAtMs,
    settlement: bare ? settlement : { ...settlement, result: null, withheld: 'RESULT_EXPIRED' },
  }
}

/** What must not be stored is not stored here either. */
function withoutSensitive (event: AttemptEvent, record: AttemptRecord): AttemptEvent {
  if (!record.sensitive || event.type !== 'settle' || event.settlement.result === null) return event
  return { ...event, settlement: { ...event.settlement, result: null, withheld: 'RESULT_EXPIRED' } }
}
