// The Redis store as one of several replicas uses it: what it sends stands in its own journal too, and while the store is known to have lost something
// it is not believed. How an attempt ended may be told it at any time; that is how it learns again what it has lost.
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { advance as reduce, type AttemptEvent, type AttemptRecord } from '../attempts/attempt.ts'
import { Journal, type Entry, type JournalOptions } from './journal.ts'
import { laterLock, type FollowedLock, type LockState } from './lock-store.ts'
import { lossOf, type Loss } from './loss.ts'
import { connectRedis, patiently, type RedisConnection } from './redis-connection.ts'
import { DEPARTED, keysOf, LOCK_FOLLOWERS, LOSS, MEMBERS, STOPPED_RUNS } from './redis-keys.ts'
import { redisStore } from './redis.ts'
import { SCRIPTS } from './redis-scripts.ts'
import { wholeProposals } from './replica-proposals.ts'
import { parseRedisUrl } from './redis-url.ts'
import { restore, suppose } from './restore.ts'
import { RETENTION, STOPPED_LISTED_MS, type Retention } from './retention.ts'
import { lockBeside } from './sqlite-file.ts'
import { StateUnavailable, type Advanced, type Store } from './store.ts'
import { Watch, type WatchEvents } from './watch.ts'

export interface ReplicaOptions {
  /** Where the journal lies; this process's own. */
  readonly folder: string
  readonly retention?: Retention
  /** How long the first connection, and the first look at what the store holds, may take. */
  readonly startMs?: number
  /** Of the catalog in force. */
  digest (): string
  readonly events: ReplicaEvents
  readonly journal?: Pick<JournalOptions, 'segmentBytesMax' | 'bytesMax' | 'ageMsMax' | 'create'>
}

export interface ReplicaEvents extends WatchEvents {
  /** An end that an earlier process could not tell the store is written down now. `answered`: whoever called had been told of it. */
  landed (record: AttemptRecord, answered: boolean): void
  /** A group of lines is on the disk, and how long that took. */
  journalSynced (durationMs: number): void
  journalFault (error: unknown): void
}

/** What a replica knows of the others and of the state that they share. */
export interface ReplicaControl {
  readonly replica: string
  /** The loss on account of which writes are refused; null: there is none. */
  quarantine (): Loss | null
  /** By the store's clock, when the latest loss had ended; -Infinity: there was none. What was proposed before that is void. */
  lostUntilMs (): number
  members (): ReadonlyArray<{ readonly replica: string, readonly digest: string, readonly live: boolean }>
  /** Whether an action that is strict can be sent without a barrier of its own. @throws StateUnavailable */
  syncsAlways (): Promise<boolean>
  /** A person does without what the missing replicas know. Null: nothing is waited for. @throws StateUnavailable */
  acceptLoss (): Promise<Loss | null>
}

export interface ReplicaStore extends Store {
  readonly replica: ReplicaControl
}

const START_MS = 5_000
const PAY_MS = 1_000
const AUDIT_MS = 5_000
const RESTORED_AT_ONCE = 32

/** @throws StateRefused, StateUnavailable, or the error of the disk under the journal */
export async function openReplica (url: string, options: ReplicaOptions): Promise<ReplicaStore> {
  const { folder, events } = options
  // Two processes that wrote into one journal would each know half of what they sent.
  const lock = lockBeside(join(folder, 'lock'))
  let redis: RedisConnection | null = null
  let journal: Journal | null = null
  let replica: Replica | null = null
  try {
    journal = await Journal.open({
      ...options.journal, folder, onSynced: (_lines, durationMs) => events.journalSynced(durationMs), onFault: error => events.journalFault(error),
    })
    const untilMs = performance.now() + (options.startMs ?? START_MS)
    redis = await connectRedis(parseRedisUrl(url), untilMs - performance.now())
    replica = new Replica(redis, journal, options, () => lock.close())
    await replica.start(untilMs)
    return replica.store()
  } catch (error) {
    await replica?.abandon()
    await redis?.close()
    await journal?.close()
    lock.close()
    throw error
  }
}

class Replica {
  readonly #redis: RedisConnection
  readonly #journal: Journal
  readonly #watch: Watch
  readonly #raw: Store
  readonly #retention: Retention
  readonly #events: ReplicaEvents
  readonly #unlock: () => void
  readonly #loops: Array<() => Promise<void>> = []
  /** Told the store by nobody but this: their processes are dead. */
  readonly #inherited = new Set<string>()
  /** Of these, those whose end a store that had forgotten them has from here already. */
  readonly #supposed = new Set<string>()
  #closing: Promise<void> | null = null
  #keyId: string | null = null
  #stoppedRuns: readonly string[] = []

  constructor (redis: RedisConnection, journal: Journal, options: ReplicaOptions, unlock: () => void) {
    this.#redis = redis
    this.#journal = journal
    this.#retention = options.retention ?? RETENTION
    this.#events = options.events
    this.#unlock = unlock
    this.#watch = new Watch({ redis, journal, digest: options.digest, restore: () => this.#restoreAll(), events: options.events })
    this.#raw = redisStore(redis, { retention: this.#retention, canary: this.#watch })
  }

  async start (untilMs: number): Promise<void> {
    for (const { record, owed } of this.#journal.live()) if (owed !== null) this.#inherited.add(record.id)
    await patiently(() => this.#watch.start(), untilMs)
    for (const { record } of this.#journal.live()) {
      // What is not settled never expires: where it is missing, it was lost. That it is only prepared may mean that the mark never arrived.
      if (await restore(this.#redis, record, this.#retention) === 'inserted') this.#watch.suspect('proved')
    }
    this.#loops.push(repeat(PAY_MS, () => this.#pay()), repeat(AUDIT_MS, () => this.#reconcile()))
  }

  /** After a start that failed nothing of it may go on: what watches would keep the process alive for ever. */
  async abandon (): Promise<void> {
    await Promise.all(this.#loops.map(stop => stop()))
    await this.#watch.stop()
  }

  store (): ReplicaStore {
    const raw = this.#raw
    const whole = async <T> (ask: () => Promise<T>): Promise<T> => {
      await this.#watch.requireOpen()
      return ask()
    }
    return {
      ...raw,
      ...wholeProposals(raw, whole, () => this.#watch.lostUntilMs),
      recall: name => whole(() => raw.recall(name)),
      advance: (held, event, changeId) => this.#advance(held, event, changeId),
      find: id => whole(() => raw.find(id)),
      ofRun: (tag, runKey, limit) => whole(() => raw.ofRun(tag, runKey, limit)),
      // The deadline of what is only said to be prepared must not close it as never sent.
      claimDue: (limit, leaseMs) => whole(() => raw.claimDue(limit, leaseMs)),
      stopRun: (tag, runKey) => this.#stopRun(tag, runKey),
      stoppedRuns: () => this.#stopped(),
      followLock: seen => this.#followLock(seen),
      lock: async seen => this.#heard(await raw.lock(laterLock(seen, this.#journal.lock))),
      unlock: async seen => this.#heard(await raw.unlock(seen)),
      bindKey: keyId => {
        this.#keyId = keyId
        return raw.bindKey(keyId)
      },
      close: () => this.#closing ??= this.#close(),
      replica: {
        replica: this.#journal.replica,
        quarantine: () => this.#watch.open,
        lostUntilMs: () => this.#watch.lostUntilMs,
        members: () => this.#watch.members(),
        syncsAlways: () => this.#redis.syncsAlways(),
        acceptLoss: () => this.#acceptLoss(),
      },
    }
  }

  #advance (held: AttemptRecord, event: AttemptEvent, changeId: string | undefined): Promise<Advanced> {
    switch (event.type) {
      case 'dispatch': return this.#dispatch(held, event, changeId)
      case 'settle':
      case 'pend':
      case 'lose': return this.#report(held, event, changeId)
      default: return this.#change(held, event, changeId)
    }
  }

  /** The mark in the store and the record in the journal, both or no leave to send; and both while nothing was found to be lost. */
  async #dispatch (held: AttemptRecord, event: AttemptEvent, changeId?: string): Promise<Advanced> {
    await this.#watch.requireOpen()
    this.#watch.requireBegunWhole(held.preparedAtMs)
    const reduced = reduce(held, event)
    const planned: AttemptRecord = reduced.kind === 'changed' ? reduced.record : { ...held, state: 'dispatched' }
    const [kept, advanced] = await Promise.allSettled([this.#journal.sending(planned), this.#raw.advance(held, event, changeId)])
    if (advanced.status === 'rejected') throw advanced.reason
    if (advanced.value.kind !== 'missing') await this.#journal.stands(advanced.value.record)
    if (kept.status === 'rejected') {
      throw new StateUnavailable(`the journal cannot be written: ${(kept.reason as NodeJS.ErrnoException).code ?? 'unknown'}`)
    }
    await this.#watch.requireSure()
    return advanced.value
  }

  /**
   * What the owner of the send knows is told whatever else the store has lost, and waits in the journal where it cannot be told now. It stands there before
   * the store has it: once the store does, anyone may be told, and a store that forgets it then must hear it again though this process has died.
   */
  async #report (held: AttemptRecord, event: AttemptEvent, changeId?: string): Promise<Advanced> {
    if (this.#journal.entry(held.id)?.owed !== event) await this.#journal.owes(held, event)
    try {
      let advanced = await this.#raw.advance(held, event, changeId)
      const entry = this.#journal.entry(held.id)
      if (advanced.kind === 'missing' && entry !== null && entry.record.token === held.token) {
        this.#watch.suspect('proved')
        if (await restore(this.#redis, entry.record, this.#retention, event) !== 'foreign') advanced = await this.#raw.advance(held, event, changeId)
      }
      await this.#note(held, advanced, 'paid')
      return advanced
    } catch (error) {
      // The process that is dead has answered, or never will.
      if (!this.#inherited.has(held.id)) await this.#journal.answers(held, event).catch(() => undefined)
      throw error
    }
  }

  async #change (held: AttemptRecord, event: AttemptEvent, changeId?: string): Promise<Advanced> {
    await this.#watch.requireOpen()
    const advanced = await this.#raw.advance(held, event, changeId)
    await this.#note(held, advanced, 'kept')
    return advanced
  }

  /** Nobody is told what became of an attempt before it stands in a journal too: in that of its sender, or of who found it out. */
  async #note (held: AttemptRecord, advanced: Advanced, debt: 'paid' | 'kept'): Promise<void> {
    if (advanced.kind === 'missing') return
    const { record } = advanced
    this.#watch.acknowledged.add(record)
    const isSender = this.#journal.entry(record.id)?.record.token === record.token
    await this.#journal.stands(record, debt)
    const isFurther = record.state !== held.state && record.state !== 'prepared' && record.state !== 'dispatched'
    // A disk that takes nothing says so itself, and the store has it.
    if (!isSender && advanced.kind === 'changed' && isFurther) await this.#journal.told(record).catch(() => undefined)
  }

  async #stopRun (tag: string, runKey: string): Promise<void> {
    await this.#raw.stopRun(tag, runKey)
    await this.#journal.stopped(tag, runKey).catch(error => this.#events.fault('a stopped run could not be kept in the journal', error))
  }

  /** While the store may have lost the list, what was read before still holds. */
  async #stopped (): Promise<readonly string[]> {
    const listed = await this.#raw.stoppedRuns()
    const whole = this.#watch.open === null && !this.#watch.isSuspicious
    this.#stoppedRuns = whole ? listed : [...new Set([...this.#stoppedRuns, ...listed])]
    return this.#stoppedRuns
  }

  /** What is heard for the first time stands in the journal before this replica says that it goes by it: a restart must not forget it either. */
  async #followLock (seen: LockState): Promise<FollowedLock> {
    const said = await this.#heard(laterLock(seen, this.#journal.lock))
    const followed = await this.#raw.followLock(said)
    await this.#heard(followed.state)
    return followed
  }

  /** Where the disk takes nothing this process remembers it all the same. */
  async #heard (state: LockState): Promise<LockState> {
    await this.#journal.sawLock(state).catch(error => this.#events.fault('the lock of the vault could not be kept in the journal', error))
    return state
  }

  async #restoreAll (): Promise<void> {
    if (this.#keyId !== null) await this.#raw.bindKey(this.#keyId)
    for (const runKey of this.#stoppedRuns) await this.#redis.run(SCRIPTS.listStopped, [STOPPED_RUNS], [runKey, STOPPED_LISTED_MS])
    const lock = this.#raw.followLock(this.#journal.lock)
    const underWay = new Set<Promise<unknown>>([lock])
    lock.then(() => underWay.delete(lock), () => undefined)
    for await (const kept of this.#journal.whole()) {
      const work: Promise<unknown> = kept.kind === 'stopped'
        ? this.#raw.stopRun(kept.tag, kept.runKey)
        : this.#restoreOne(kept.entry)
      underWay.add(work)
      // Whoever waits below hears of its failure.
      work.then(() => underWay.delete(work), () => undefined)
      if (underWay.size >= RESTORED_AT_ONCE) await Promise.race(underWay)
    }
    await Promise.all(underWay)
  }

  async #restoreOne ({ record, owed }: Entry): Promise<void> {
    await restore(this.#redis, record, this.#retention, owed)
    // A living sender tells it itself.
    if (owed === null || !this.#inherited.has(record.id)) return
    if (await suppose(this.#redis, record, owed, this.#retention)) this.#supposed.add(record.id)
  }

  async #acceptLoss (): Promise<Loss | null> {
    const { open } = this.#watch
    if (open === null) return null
    return lossOf(await this.#redis.run(SCRIPTS.acceptLoss, [MEMBERS, LOSS], [open.id]))
  }

  /** What an earlier process could not tell the store: once nothing is missing there, for the journal of another replica may know that it had ended before. */
  async #pay (): Promise<void> {
    if (this.#watch.open !== null || this.#watch.isSuspicious) return
    for (const id of this.#inherited) {
      const entry = this.#journal.entry(id)
      if (entry?.owed == null) {
        this.#inherited.delete(id)
        continue
      }
      const advanced = await this.#report(entry.record, entry.owed)
      if (advanced.kind !== 'missing' && isOwn(advanced, entry.owed, this.#supposed.has(id))) this.#events.landed(advanced.record, entry.answered === true)
      this.#inherited.delete(id)
      this.#supposed.delete(id)
    }
  }

  /** Others settle attempts of this replica too: its journal learns of it here. What is missing was lost, because nothing that is live expires. */
  async #reconcile (): Promise<void> {
    if (this.#watch.open !== null || this.#watch.isSuspicious) return
    for (const { record, owed } of this.#journal.live()) {
      const found = await this.#raw.find(record.id)
      if (found !== null && found.token !== record.token) await this.#journal.stands(found)
      // Whoever owes it tells it.
      else if (owed !== null) continue
      else if (found?.state === 'settled') await this.#journal.stands(found)
      else if (found !== null) continue
      else if (this.#journal.entry(record.id) !== null) this.#watch.suspect('proved')
    }
  }

  /** With everything settled, and nothing of it lost, it has nothing to tell that others would have to wait for. */
  async #close (): Promise<void> {
    await Promise.all(this.#loops.map(stop => stop()))
    await this.#reconcile().catch(() => undefined)
    await this.#watch.stop()
    if (this.#journal.live().length === 0 && await this.#watch.isWholeStill()) {
      await this.#redis.run(SCRIPTS.depart, [MEMBERS, DEPARTED], [this.#journal.replica]).catch(() => undefined)
    }
    // It goes by nothing any more, and nobody waits for it.
    await this.#redis.command('HDEL', LOCK_FOLLOWERS, this.#journal.replica).catch(() => undefined)
    await this.#journal.close()
    await this.#raw.close()
    this.#unlock()
  }
}

/** Where the reply to an earlier asking was lost, what stands there now is our own doing; but whoever swept it has written the same of what never left. */
function isOwn (advanced: Advanced, event: AttemptEvent, supposed: boolean): boolean {
  if (advanced.kind === 'changed') return true
  if (advanced.kind !== 'already' || event.type !== 'settle') return false
  return supposed || (event.settlement.sent && advanced.record.settlement?.evidence.source === event.settlement.evidence.source)
}

/** A turn that fails is followed by the next one. The returned function resolves once nothing is under way. */
function repeat (everyMs: number, work: () => Promise<void>): () => Promise<void> {
  const stop = new AbortController()
  const running = (async () => {
    while (!stop.signal.aborted) {
      await sleep(everyMs, undefined, { signal: stop.signal }).catch(() => undefined)
      if (!stop.signal.aborted) await work().catch(() => undefined)
    }
  })()
  return () => {
    stop.abort()
    return running
  }
}
