// Watches for a store that has lost what it acknowledged. Each replica has a counter in the store, its canary, that rises with every mark it makes and
// ten times a second besides, and remembers the last value that it heard. A canary that stands lower than it is remembered, one's own or another's, is
// the proof of a loss. Then nothing is sent until every replica has told the store again what it knew.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { SinceBeat } from './acknowledged.ts'
import type { Journal } from './journal.ts'
import { lossOf, pairsOf, type Loss } from './loss.ts'
import type { RedisConnection } from './redis-connection.ts'
import { DEPARTED, keysOf, LOSS, MEMBERS, WATCH_TAG } from './redis-keys.ts'
import { list, number } from './redis-reply.ts'
import { SCRIPTS } from './redis-scripts.ts'
import { CANARY_MS, type Canary } from './redis.ts'
import { StateUnavailable } from './store.ts'

export interface WatchOptions {
  readonly redis: RedisConnection
  readonly journal: Journal
  /** Of the catalog in force, for the other replicas. */
  digest (): string
  /** Tells the store all that this replica knows. @throws StateUnavailable, or the error of the disk */
  restore (): Promise<void>
  readonly events: WatchEvents
}

export interface WatchEvents {
  /** Writes are refused from now on. */
  lost (loss: Loss): void
  /** Restored or accepted: writes go on. */
  ended (loss: Loss): void
  fault (what: string, error: unknown): void
}

const TICK_MS = 100
const REFUSED_MS = 1_000
/** Losses and members that were read before this are too old to send anything by. */
const VIEW_AGE_MS_MAX = 1_000
/** For so long a call waits for a connection to be found good. */
const PATIENCE_MS = 1_500
/** A replica whose canary has not risen for so long is taken for dead; what is remembered of it must do. */
const ALIVE_MS = 2_000
/** For so long a replica that ended in peace is waited for where the store forgets that it did; its journal keeps what it did for as long. */
export const DEPARTED_MS = 24 * 3_600_000
/** How often what was seen is written to the journal while no mark is made. */
const NOTE_MS = 1_000

interface Peer {
  readonly value: number
  readonly roseAtMs: number
}

export class Watch implements Canary {
  readonly replica: string
  /** By the store, since the latest canary. */
  readonly acknowledged: SinceBeat
  readonly #options: WatchOptions
  readonly #beats: Map<string, number>
  readonly #peers = new Map<string, Peer>()
  #members: ReadonlyMap<string, string>
  /** When they ended in peace, by the store's clock. */
  #departed: ReadonlyMap<string, number>
  #runId: string | null
  #loss: Loss | null = null
  /** Found, and not yet told the others. */
  #suspicion: Loss['kind'] | null = null
  /** Rises with every connection that is lost. */
  #epoch = 0
  /** Everything that is remembered was found in the store since this connection stands. */
  #verified = false
  /** Another server answers: those who were alive must have found theirs there too, and so their canaries rise, or the time for it must be over. */
  #awaited = new Map<string, number>()
  #awaitedUntilMs = 0
  #strange = false
  /** Beats in a row that a connected server did not take. */
  #refusals = 0
  #readAtMs = -Infinity
  #downAtMs = Infinity
  #notedAtMs = -Infinity
  #unnoted = false
  #restoring: Promise<void> | null = null
  #turning: Promise<void> | null = null
  #timer: NodeJS.Timeout | null = null
  #stopped = true

  constructor (options: WatchOptions) {
    const { journal, redis } = options
    this.#options = options
    this.replica = journal.replica
    this.#beats = new Map(Object.entries(journal.seen.beats))
    for (const [peer, value] of Object.entries(journal.seen.peers)) this.#peers.set(peer, { value, roseAtMs: -Infinity })
    this.#members = new Map(journal.seen.members.map(member => [member, '']))
    this.#departed = new Map(Object.entries(journal.seen.departed ?? {}))
    this.#runId = journal.seen.runId
    this.acknowledged = new SinceBeat(journal.sinceSeen)
    redis.watch({
      down: () => {
        this.#epoch++
        this.#verified = false
        this.#downAtMs = performance.now()
      },
      ready: () => { this.#turnIn(this.#pauseMs(0)) },
    })
  }

  /** @throws StateUnavailable where the first look cannot be taken */
  async start (): Promise<void> {
    await this.#tick()
    this.#stopped = false
    this.#turnIn(TICK_MS)
  }

  async stop (): Promise<void> {
    this.#stopped = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    await Promise.allSettled([this.#turning, this.#restoring])
    this.#note()
  }

  /** A last look, before this replica leaves the others: whether the store still has all that it acknowledged. To be called after `stop`. */
  async isWholeStill (): Promise<boolean> {
    try {
      await this.#tick()
    } catch {
      return false
    }
    return this.#isSure()
  }

  remembered (tag: string): number {
    return this.#beats.get(tag) ?? 0
  }

  beaten (tag: string, value: number): void {
    if (this.#rose(tag, value)) this.#unnoted = true
  }

  #rose (tag: string, value: number): boolean {
    if (value <= this.remembered(tag)) return false
    this.#beats.set(tag, value)
    return true
  }

  lost (): void {
    this.suspect('proved')
  }

  /** Nothing is sent from now on; the others are told as soon as the store can be reached. */
  suspect (kind: Loss['kind']): void {
    if (this.#suspicion !== 'proved') this.#suspicion = kind
    this.#turnIn(0)
  }

  /** The loss on account of which writes are refused; null: there is none. */
  get open (): Loss | null {
    return this.#loss?.state === 'open' ? this.#loss : null
  }

  /** By the store's clock, when the latest loss had ended; -Infinity: none has. */
  get lostUntilMs (): number { return this.#loss?.endedAtMs ?? -Infinity }

  get isSuspicious (): boolean { return this.#suspicion !== null }

  /** Replicas by name, with the digests of their catalogs, and whether their canaries rise. */
  members (): ReadonlyArray<{ readonly replica: string, readonly digest: string, readonly live: boolean }> {
    const nowMs = performance.now()
    const isLive = (replica: string): boolean => replica === this.replica || nowMs - (this.#peers.get(replica)?.roseAtMs ?? -Infinity) < ALIVE_MS
    return [...this.#members].map(([replica, digest]) => ({ replica, digest, live: isLive(replica) }))
  }

  /** Whoever wants to begin something. A store that cannot be reached says so itself. @throws StateUnavailable */
  async requireOpen (): Promise<void> {
    if (!this.#isWhole()) throw this.#refusal()
    if (this.#isVerified() || !this.#options.redis.isReady()) return
    await this.#until(() => this.#isVerified() || !this.#isWhole())
    if (!this.#isWhole()) throw this.#refusal()
  }

  /** Whoever is about to send. @throws StateUnavailable where it is not known, and known freshly, that nothing is lost */
  async requireSure (): Promise<void> {
    if (!this.#isSure()) await this.#until(() => this.#isSure() || !this.#isWhole())
    if (!this.#isWhole()) throw this.#refusal()
  }

  /**
   * What was begun before a loss had ended may have been begun because what it repeats was forgotten, and is not sent; begun anew it is held against
   * all that is known again. @throws StateUnavailable
   */
  requireBegunWhole (preparedAtMs: number): void {
    if (preparedAtMs <= this.lostUntilMs) throw new StateUnavailable('Redis: the attempt was begun before what was lost was restored')
  }

  #isWhole (): boolean { return this.#suspicion === null && this.open === null }
  #isVerified (): boolean { return this.#verified && this.#awaited.size === 0 }
  #isSure (): boolean { return this.#isWhole() && this.#isVerified() && performance.now() - this.#readAtMs <= VIEW_AGE_MS_MAX }

  #refusal (): StateUnavailable {
    const waiting = this.open === null ? '' : `; replicas that have not told it again what they know: ${this.open.waitingFor.join(', ') || 'none'}`
    return new StateUnavailable(`Redis has lost, or may have lost, what it acknowledged${waiting}`)
  }

  async #until (holds: () => boolean): Promise<void> {
    const endsAtMs = performance.now() + PATIENCE_MS
    while (!holds()) {
      if (performance.now() > endsAtMs) throw new StateUnavailable('Redis: what it holds is not verified yet')
      await sleep(10)
    }
  }

  #turnIn (ms: number): void {
    if (this.#stopped) return
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#turning ??= this.#turn().finally(() => {
        this.#turning = null
        this.#turnIn(this.#pauseMs(TICK_MS))
      })
    }, ms)
  }

  async #turn (): Promise<void> {
    const connected = this.#options.redis.isReady()
    try {
      await this.#tick()
      this.#refusals = 0
    } catch {
      // A store that cannot be reached is told of by whoever needs it.
      if (connected) this.#refusals++
    }
  }

  /** A server that takes no writes is given up and dialled anew each time, and with the connection goes what others ask on it. */
  #pauseMs (ms: number): number {
    return this.#refusals < 2 ? ms : REFUSED_MS
  }

  async #tick (): Promise<void> {
    const epoch = this.#epoch
    if (!this.#verified) await this.#verify(epoch)
    if (this.#suspicion !== null) await this.#declare(this.#suspicion)
    const askedAtMs = performance.now()
    const others = [...this.#members.keys()].filter(member => member !== this.replica)
    const canary = keysOf(WATCH_TAG).canary
    const uncover = this.acknowledged.cover()
    const beat = this.#options.redis.runOnce(SCRIPTS.beat,
      [canary(this.replica), MEMBERS, LOSS, DEPARTED, ...others.map(canary)],
      [this.remembered(WATCH_TAG), CANARY_MS, this.replica, this.#options.digest(), DEPARTED_MS])
    const [lost, value, members, loss, canaries, departed, at] = list(await beat.catch(error => {
      uncover()
      throw error
    }))
    if (epoch !== this.#epoch) return uncover()
    if (number(lost) === 1) this.suspect('proved')
    else this.#rose(WATCH_TAG, number(value))
    this.#judge(others, list(canaries), askedAtMs)
    this.#follow(lossOf(loss))
    this.#part(pairsOf(departed), pairsOf(members), number(at))
    this.#take(pairsOf(members))
    this.#readAtMs = askedAtMs
    if (this.open?.waitingFor.includes(this.replica) === true) this.#restore(this.open)
    if (this.#unnoted || askedAtMs - this.#notedAtMs >= NOTE_MS) this.#note()
    // In a cluster another master than the one that was just asked may have forgotten.
    if (this.#options.redis.cluster && await this.#isBehind()) this.suspect('proved')
  }

  /** After every new connection: is this the server that was known, and does it hold what was acknowledged? */
  async #verify (epoch: number): Promise<void> {
    const runId = await this.#options.redis.runId()
    const behind = await this.#isBehind() || await this.acknowledged.isForgottenBy(this.#options.redis)
    if (epoch !== this.#epoch) throw new StateUnavailable('Redis: the connection was lost')
    if (behind) this.suspect('proved')
    if (runId !== null && this.#runId !== null && runId !== this.#runId) {
      this.#strange = true
      const alive = [...this.#peers].filter(([, { roseAtMs }]) => this.#downAtMs - roseAtMs < ALIVE_MS)
      this.#awaited = new Map(alive.map(([peer, { value }]) => [peer, value]))
      this.#awaitedUntilMs = performance.now() + ALIVE_MS
    }
    this.#unnoted ||= runId !== this.#runId
    this.#runId = runId ?? this.#runId
    this.#verified = true
  }

  /** Any of one's own canaries stands lower than it is remembered. */
  async #isBehind (): Promise<boolean> {
    const tags = [...this.#beats]
    const held = await this.#held(tags.map(([tag]) => tag))
    return tags.some(([, value], index) => held[index]! < value)
  }

  #held (tags: readonly string[]): Promise<readonly number[]> {
    const { redis } = this.#options
    return Promise.all(tags.map(async tag => number(await redis.command('GET', keysOf(tag).canary(this.replica)) ?? '0')))
  }

  #judge (others: readonly string[], canaries: readonly unknown[], askedAtMs: number): void {
    for (const [index, peer] of others.entries()) {
      const value = canaries[index] === null ? null : number(canaries[index])
      const known = this.#peers.get(peer)
      if (known !== undefined && (value ?? 0) < known.value) this.suspect('proved')
      // Another server, and nothing by which to tell whether it has what this one was told.
      else if (known === undefined && value === null && this.#strange) this.suspect('possible')
      else if (value !== null && value !== known?.value) this.#peers.set(peer, { value, roseAtMs: known === undefined ? -Infinity : askedAtMs })
      const awaited = this.#awaited.get(peer)
      if (awaited !== undefined && (value ?? 0) > awaited) this.#awaited.delete(peer)
    }
    this.#strange = false
    if (performance.now() > this.#awaitedUntilMs) this.#awaited.clear()
  }

  /** Who ended in peace, and came not back, is known to have for as long as what it did is: where it is not, that may be lost too. */
  #part (told: ReadonlyMap<string, string>, members: ReadonlyMap<string, string>, nowMs: number): void {
    const givenUp = this.#loss?.state === 'accepted' ? this.#loss.waitingFor : []
    const kept = [...this.#departed].filter(([replica, atMs]) => atMs > nowMs - DEPARTED_MS && !members.has(replica) && !givenUp.includes(replica))
    if (kept.some(([replica]) => !told.has(replica))) this.suspect('proved')
    const departed = new Map([...told].map(([replica, atMs]) => [replica, number(atMs)]))
    if (!this.#isWhole()) {
      this.#departed = new Map([...kept, ...departed])
      return
    }
    this.#unnoted ||= departed.size !== this.#departed.size
    this.#departed = departed
  }

  #take (members: ReadonlyMap<string, string>): void {
    // A list that may have been lost itself can only tell of more.
    if (!this.#isWhole()) {
      this.#members = new Map([...this.#members, ...members])
      return
    }
    const left = [...this.#members.keys()].filter(member => !members.has(member))
    for (const member of left) {
      this.#peers.delete(member)
      this.#awaited.delete(member)
    }
    this.#unnoted ||= left.length > 0 || members.size !== this.#members.size
    this.#members = members
  }

  async #declare (kind: Loss['kind']): Promise<void> {
    const { redis } = this.#options
    // Masters of a cluster lose each for themselves: that one remembers who departed says nothing of the others.
    const members = redis.cluster ? [...this.#members.keys(), ...this.#departed.keys()] : [...this.#members.keys()]
    const told = lossOf(await redis.runOnce(SCRIPTS.declareLoss, [MEMBERS, LOSS, DEPARTED],
      [randomUUID(), kind, this.replica, members.length, ...members, ...this.#departed.keys()]))
    // What the store has now is what the next loss is measured by.
    const tags = [...this.#beats.keys()]
    const held = await this.#held(tags)
    for (const [index, tag] of tags.entries()) this.#beats.set(tag, held[index]!)
    this.#peers.clear()
    this.#awaited.clear()
    this.acknowledged.clear()
    this.#unnoted = true
    this.#suspicion = null
    this.#follow(told)
  }

  #follow (loss: Loss | null): void {
    const before = this.#loss
    this.#loss = loss
    if (loss === null) {
      // What said that the store had lost something is lost itself.
      if (before?.state === 'open') this.suspect('possible')
      return
    }
    const isNew = before?.id !== loss.id
    if (loss.state === 'open' && isNew) this.#options.events.lost(loss)
    if (loss.state !== 'open' && before?.state === 'open') this.#options.events.ended(loss)
  }

  #restore (loss: Loss): void {
    this.#restoring ??= this.#restoreAll(loss).finally(() => { this.#restoring = null })
  }

  /** Where it cannot be done now the next turn does it again. */
  async #restoreAll (loss: Loss): Promise<void> {
    const { redis, restore, events } = this.#options
    try {
      await restore()
      this.#follow(lossOf(await redis.runOnce(SCRIPTS.confirmLoss, [LOSS], [loss.id, this.replica])))
    } catch (error) {
      events.fault('the store could not be told again what it has lost', error)
      await sleep(TICK_MS)
    }
  }

  #note (): void {
    this.#unnoted = false
    this.#notedAtMs = performance.now()
    this.#options.journal.saw({
      runId: this.#runId,
      beats: Object.fromEntries(this.#beats),
      peers: Object.fromEntries([...this.#peers].map(([peer, { value }]) => [peer, value])),
      members: [...this.#members.keys()],
      departed: Object.fromEntries(this.#departed),
    })
  }
}
