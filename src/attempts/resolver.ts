// Learns the fate of attempts whose answer was lost: sweeps those whose deadline passed, looks up those that are unknown or pending, and hands to a
// person what cannot be learned. It only ever reads the upstream.
import { randomUUID } from 'node:crypto'
import type { Action } from '../catalog/catalog.ts'
import type { Clock } from '../clock.ts'
import { failpoint } from '../failpoints.ts'
import type { Advanced, Due, Store } from '../store/store.ts'
import type { AttemptEvent, AttemptRecord, Finding } from './attempt.ts'
import { lookUp, type LookUpPorts } from './look-up.ts'
import { Waiting } from './waiting.ts'

/** A budget apart from the calls of agents, so that an upstream that comes back is not hammered. */
const LOOKUPS_AT_ONCE = 8
/** What takes longer holds no place among those, else an upstream that hangs would hold up all others; of one upstream no more than so many do. */
const SLOW_MS = 2_000
const SLOW_AT_ONCE = 8
/** A little longer than look-ups commonly take: so long it takes until the look-up of a replica that died is made by another one. */
const CLAIM_LEASE_MS = 15_000
const POLL_MS = 250
/** While more is due than there was room for: turns as soon as one has ended, but no more than 160 look-ups a second. */
const BEHIND_POLL_MS = 50
const POLL_AFTER_FAULT_MS = 1_000
/** How often, at most, and how many of the oldest are looked through for what other processes asked about in vain. */
const ADOPTED_EVERY_MS = 5_000
const LOOKED_THROUGH_MAX = 200
/** After so many look-ups the pauses are long. */
const LOOKUPS_BEFORE_LONG_PAUSES = 2
const REMEMBERED_MAX = 100_000
const WRITE_PAUSE_MS_MAX = 1_000
/** What was learned and could not be written down in this time is learned again. */
const KEEP_TRYING_MS = 10 * 60_000
/** Once told to stop: the store may have taken it already, and then nobody else would tell of it. */
const TRY_AT_THE_END_MS = 5_000

export interface ResolverPorts extends LookUpPorts {
  readonly store: Store
  /** @throws StateUnavailable */
  definition (digest: string): Promise<Action | null>
  /** While the vault is locked no credential may be used, so nothing is looked up. */
  rests (): boolean
  /** A turn that could not be made; it is made again. */
  fault (error: unknown): void
}

export interface Resolver {
  start (): void
  /** Resolves once nothing of it is under way. */
  stop (): Promise<void>
  /** Something is due soon: look sooner than the next turn. */
  nudge (): void
  /** One look-up for whoever must know now; changes nothing in the store. */
  lookUp (action: Action, record: AttemptRecord): Promise<Finding>
}

export const createResolver = (ports: ResolverPorts): Resolver => new PollingResolver(ports)

interface UnderWay {
  readonly upstream: string
  readonly sinceMs: number
  readonly done: Promise<void>
}

class PollingResolver implements Resolver {
  readonly #ports: ResolverPorts
  readonly #underWay = new Set<UnderWay>()
  readonly #quiet: Quiet
  readonly #waiting = new Waiting()
  /** Not due yet; their upstream answers again. */
  readonly #early: Due[] = []
  /** Upstreams that have said something since others' attempts were looked through last. */
  #answering = new Set<string>()
  #adoptedAtMs = -Infinity
  /** Has not looked through them yet: what they wait for may be over, and no look-up of this process would say so where nothing else is due. */
  #isNew = true
  #callOff: (() => void) | null = null
  /** When the next turn is, by the monotonic clock. */
  #plannedAtMs = Infinity
  #turning: Promise<void> | null = null
  /** At the last turn more was due, as far as is known, than there was room for. */
  #isBehind = false
  #stoppedAtMs: number | null = 0

  constructor (ports: ResolverPorts) {
    this.#ports = ports
    this.#quiet = new Quiet(ports.clock)
  }

  start (): void {
    this.#stoppedAtMs = null
    this.#plan(0)
  }

  async stop (): Promise<void> {
    this.#stoppedAtMs = this.#ports.clock.nowMs()
    this.#callOff?.()
    await this.#turning
    await Promise.all([...this.#underWay].map(({ done }) => done))
  }

  nudge (): void {
    this.#planBy(POLL_MS)
  }

  lookUp (action: Action, record: AttemptRecord): Promise<Finding> {
    return lookUp(action, record, this.#quiet.afterMs(record), this.#ports)
  }

  /** Never later than planned: nudges that come faster than turns would put the turn off for ever. */
  #planBy (afterMs: number): void {
    if (this.#ports.clock.nowMs() + afterMs < this.#plannedAtMs) this.#plan(afterMs)
  }

  #plan (afterMs: number): void {
    if (this.#stoppedAtMs !== null) return
    this.#callOff?.()
    this.#plannedAtMs = this.#ports.clock.nowMs() + afterMs
    this.#callOff = this.#ports.clock.after(afterMs, () => this.#begin())
  }

  #begin (): void {
    if (this.#turning !== null || this.#stoppedAtMs !== null) return
    this.#turning = this.#turn().finally(() => { this.#turning = null })
  }

  async #turn (): Promise<void> {
    try {
      await this.#adopt()
      if (this.#stoppedAtMs !== null) return
      for (const one of this.#early.splice(0, Math.ceil(this.#room() / 2))) if (!this.#hangs(one)) this.#track(one, this.#askEarly(one))
      const room = this.#room()
      await failpoint('before_claim_due')
      const due = room > 0 ? await this.#ports.store.claimDue(room, CLAIM_LEASE_MS) : []
      await failpoint('after_claim_due')
      // Told to stop meanwhile: their leases run out, and another process, or the next one here, claims them.
      if (this.#stoppedAtMs !== null) return
      // Those of an upstream that hangs are passed over, to those behind them, until their leases have run out.
      const now = due.filter(one => !this.#hangs(one))
      for (const one of now) this.#track(one, this.#handle(one))
      this.#isBehind = this.#early.length > 0 || due.length === room
      this.#plan(now.length < due.length ? BEHIND_POLL_MS : POLL_MS)
    } catch (error) {
      this.#ports.fault(error)
      this.#plan(POLL_AFTER_FAULT_MS)
    }
  }

  #room (): number {
    return LOOKUPS_AT_ONCE - (this.#underWay.size - this.#slow())
  }

  #hangs ({ record: { upstream } }: Due): boolean {
    return this.#slow(upstream) >= SLOW_AT_ONCE
  }

  /** @param upstream absent: of all */
  #slow (upstream?: string): number {
    const beforeMs = this.#ports.clock.nowMs() - SLOW_MS
    let slow = 0
    for (const one of this.#underWay) if (one.sinceMs <= beforeMs && (upstream === undefined || one.upstream === upstream)) slow += 1
    return slow
  }

  #track ({ record: { upstream } }: Due, work: Promise<void>): void {
    // The attempt stays as it is; its lease runs out and it is claimed again.
    const done = work.catch(error => this.#ports.fault(error)).finally(() => {
      this.#underWay.delete(tracked)
      if (this.#isBehind) this.#planBy(BEHIND_POLL_MS)
    })
    const tracked: UnderWay = { upstream, sinceMs: this.#ports.clock.nowMs(), done }
    this.#underWay.add(tracked)
  }

  async #handle (due: Due): Promise<void> {
    const { record, nowMs } = due
    if (record.state === 'prepared' || record.state === 'dispatched') {
      await failpoint('before_sweep')
      return this.#apply(record, { type: 'deadline', nowMs }, 'sweeper')
    }
    if (record.state === 'unknown') this.#quiet.saw(record.id)
    // It is claimed again when its lease has run out.
    if (this.#ports.rests()) return
    const finding = await this.#ask(record)
    this.#learn(due, finding)
    await failpoint('before_lookup_recorded')
    await this.#apply(record, { type: 'lookup', nowMs, finding }, 'lookup')
    await failpoint('after_lookup_recorded')
  }

  /** Before it is due: where nothing is learned it stays as it is, and none of its look-ups is spent. */
  async #askEarly ({ record: { id }, nowMs }: Due): Promise<void> {
    if (this.#ports.rests()) return
    const record = await this.#ports.store.find(id)
    if (record === null || (record.state !== 'unknown' && record.state !== 'pending')) return
    const finding = await this.#ask(record)
    // What the time of its latest claim is late enough for, that of this look-up is as well.
    if (finding.kind !== 'inconclusive') await this.#apply(record, { type: 'lookup', nowMs, finding }, 'lookup')
  }

  async #ask (record: AttemptRecord): Promise<Finding> {
    const action = await this.#ports.definition(record.definition)
    await failpoint('before_lookup')
    const startedAtMs = this.#ports.clock.nowMs()
    // Another replica, or an older set of sheets put back, may know it yet.
    const finding: Finding = action === null ? { kind: 'inconclusive', retryAfterMs: null } : await this.lookUp(action, record)
    this.#ports.telemetry.lookup({ actionId: record.action, finding: finding.kind, durationMs: this.#ports.clock.nowMs() - startedAtMs })
    await failpoint('after_lookup')
    return finding
  }

  /** An upstream that says something of an attempt can be asked about others as well. */
  #learn (due: Due, finding: Finding): void {
    this.#waiting.forget(due)
    if (finding.kind === 'impossible') return
    if (finding.kind === 'inconclusive') {
      // Who names a time is asked then.
      if (finding.retryAfterMs === null) this.#waiting.add(due)
      return
    }
    this.#answering.add(due.record.upstream)
    this.#early.push(...this.#waiting.take(due.record.upstream))
    if (this.#early.length > 0) this.#planBy(BEHIND_POLL_MS)
  }

  /**
   * What was asked about in vain by another replica, or by a process that is gone, and is in no `Waiting` then: each is asked about early once, when this
   * process begins or its upstream answers.
   */
  async #adopt (): Promise<void> {
    const { clock, store } = this.#ports
    const isNew = this.#isNew
    if (!isNew && (this.#answering.size === 0 || clock.nowMs() < this.#adoptedAtMs + ADOPTED_EVERY_MS)) return
    this.#adoptedAtMs = clock.nowMs()
    const answering = this.#answering
    this.#answering = new Set()
    for (const record of await store.unresolved(LOOKED_THROUGH_MAX)) {
      const { id, state, unknownAtMs, lookups } = record
      // What was found to be absent is asked about when that can prove something.
      const waitsInVain = state === 'unknown' && record.firstAbsentAtMs === null && lookups >= LOOKUPS_BEFORE_LONG_PAUSES
      if (!waitsInVain || !(isNew || answering.has(record.upstream)) || this.#quiet.has(id)) continue
      this.#quiet.saw(id)
      const due: Due = { record, nowMs: unknownAtMs! }
      this.#early.push(due)
      // Whether its upstream answers is not known yet.
      if (isNew) this.#waiting.add(due)
    }
    this.#isNew = false
  }

  /** A store that cannot say whether it did it is asked again with the same words: whoever ends an attempt tells of its end, so it must hear of it. */
  async #write (record: AttemptRecord, event: AttemptEvent): Promise<Advanced> {
    const { clock, store } = this.#ports
    const change = randomUUID()
    const endsAtMs = clock.nowMs() + KEEP_TRYING_MS
    for (let pauseMs = 100; ; pauseMs = Math.min(pauseMs * 2, WRITE_PAUSE_MS_MAX)) {
      try {
        return await store.advance(record, event, change)
      } catch (error) {
        if (clock.nowMs() >= Math.min(endsAtMs, (this.#stoppedAtMs ?? Infinity) + TRY_AT_THE_END_MS)) throw error
      }
      await clock.sleep(pauseMs)
    }
  }

  async #apply (record: AttemptRecord, event: AttemptEvent, by: 'lookup' | 'sweeper'): Promise<void> {
    const advanced = await this.#write(record, event)
    if (advanced.kind === 'refused' && advanced.alarm) this.#ports.telemetry.integrity({ attemptId: record.id, what: 'contradicting_evidence' })
    if (advanced.kind !== 'changed') return
    const { record: next } = advanced
    if (next.state === 'unknown') this.#quiet.saw(next.id)
    else this.#quiet.forget(next.id)
    if (next.state === record.state) return
    this.#ports.telemetry.attempt({
      attemptId: next.id,
      actionId: next.action,
      definition: next.definition,
      correlationId: next.correlationId,
      by,
      state: next.state,
      outcome: next.settlement?.outcome ?? (next.state === 'pending' ? 'pending' : 'unknown'),
      code: next.settlement?.code ?? null,
      sent: next.settlement?.sent ?? null,
      personMark: null,
    })
  }
}

/** When this process first saw an attempt unknown, by its own monotonic clock: the store's clock can jump. */
class Quiet {
  readonly #clock: Clock
  readonly #sinceMs = new Map<string, number>()

  constructor (clock: Clock) {
    this.#clock = clock
  }

  saw (id: string): void {
    if (this.#sinceMs.has(id)) return
    this.#sinceMs.set(id, this.#clock.nowMs())
    if (this.#sinceMs.size > REMEMBERED_MAX) this.#sinceMs.delete(this.#sinceMs.keys().next().value!)
  }

  has (id: string): boolean {
    return this.#sinceMs.has(id)
  }

  forget (id: string): void {
    this.#sinceMs.delete(id)
  }

  /** Whole milliseconds, as the store keeps them. */
  afterMs (record: AttemptRecord): number {
    const sinceMs = this.#sinceMs.get(record.id)
    return sinceMs === undefined ? record.quiescenceMs : Math.max(0, Math.ceil(record.quiescenceMs - (this.#clock.nowMs() - sinceMs)))
  }
}
