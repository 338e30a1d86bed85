// The store of a schedule: the port in plain data behind a network that loses asks and replies, with a clock of its own that can jump. Like the Redis
// driver, it asks again a few times with the same words where nothing came back, and then says that the state cannot be reached: it may have done
// what was asked, or do it yet.
import type { AttemptEvent, AttemptRecord } from '../../src/attempts/attempt.ts'
import type { ProposalRecord } from '../../src/consent/proposal.ts'
import { StateUnavailable, type Advanced, type Store } from '../../src/store/store.ts'
import { openMemory, type MemoryStore } from '../store/memory-store.ts'
import type { Process } from './process.ts'
import type { Coming, World } from './world.ts'

const PATIENCE_MS = 1_000
const TRIES = 3
const ALL = 1_000
/** The resolver's own: a poll that finds nothing due changes nothing, so those are left out. */
const POLL_MS = 250
const READS: ReadonlySet<string> = new Set(['recall', 'find', 'ofRun', 'unresolved', 'stoppedRuns', 'refusals', 'definition', 'recallProposal', 'findProposal'])

/** What the schedule makes of the way to the store. Shares of asks. */
export interface StoreWeather {
  askLost: number
  replyLost: number
  /** Asks that arrive after whoever asked has been told that they cannot be. */
  askLate: number
  longMs: number
}

export interface StoreWatch {
  asked (process: Process, verb: keyof Store, args: readonly unknown[]): void
  /** The store did it; `heard`: whoever asked will hear of it. */
  done (process: Process, verb: keyof Store, args: readonly unknown[], answer: unknown, heard: boolean): void
  heard (verb: keyof Store, args: readonly unknown[], answer: unknown): void
}

interface Ask {
  readonly process: Process
  /** Of the process when it asked. */
  readonly life: number
  readonly verb: keyof Store
  readonly args: readonly unknown[]
  /** The change id, of an `advance`. */
  readonly change: string
  triesLeft: number
  readonly resolve: (answer: unknown) => void
  readonly fail: () => void
}

interface Poll {
  readonly earliestMs: number
  readonly process: Process
  readonly life: number
  readonly work: () => void
  coming: Coming | null
}

export class SimStore {
  readonly attempts: AttemptRecord[] = []
  readonly weather: StoreWeather = { askLost: 0, replyLost: 0, askLate: 0, longMs: 20 }
  state: 'up' | 'down' | 'read_only' = 'up'
  readonly #world: World
  readonly #watch: StoreWatch
  readonly #memory: MemoryStore
  readonly #polls = new Set<Poll>()
  readonly #changes = new Map<string, Advanced>()
  #changeIds = 0
  /** How far its clock has jumped. */
  jumpedMs = 0
  #polledForMs: number | null = null

  constructor (world: World, watch: StoreWatch) {
    this.#world = world
    this.#watch = watch
    this.#memory = openMemory({ nowMs: () => world.nowMs + this.jumpedMs, attempts: this.attempts })
  }

  jump (ms: number): void {
    this.jumpedMs += ms
    this.#planPolls()
  }

  record (id: string): AttemptRecord | undefined {
    return this.attempts.find(record => record.id === id)
  }

  /** Every proposal, whatever became of it. */
  async proposals (): Promise<readonly ProposalRecord[]> {
    const { openProposals, endedProposals, overdueProposals } = this.#memory
    return (await Promise.all([openProposals(ALL), endedProposals(ALL), overdueProposals(ALL)])).flat().map(({ record }) => record)
  }

  /** As another primary has it, which had not heard of the last of it. */
  forget (record: AttemptRecord): void {
    this.attempts[this.attempts.findIndex(({ id }) => id === record.id)] = record
    this.#memory.makeDue(record)
    this.#planPolls()
  }

  /** The store as one process sees it. */
  seenBy (process: Process): Store {
    const verbs = Object.keys(this.#memory) as Array<keyof Store>
    return Object.fromEntries(verbs.map(verb => [verb, (...args: unknown[]) => this.#ask(process, verb, args)])) as unknown as Store
  }

  #ask (process: Process, verb: keyof Store, args: readonly unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#watch.asked(process, verb, args)
      const fail = (): void => reject(new StateUnavailable('the state cannot be reached'))
      this.#try({ process, life: process.life, verb, args, change: String(args[2] ?? ++this.#changeIds), triesLeft: TRIES, resolve, fail })
    })
  }

  #try (ask: Ask): void {
    const { chance } = this.#world
    const { weather } = this
    const { process, life, verb, args } = ask
    const again = (ms: number): void => {
      if (--ask.triesLeft > 0) process.deliverIn(ms + 20, () => this.#try(ask), life)
      else process.deliverIn(ms, ask.fail, life)
    }
    if (this.state === 'down' || (this.state === 'read_only' && !READS.has(verb))) return again(chance.between(1, 5))
    if (chance.hit(weather.askLost)) return again(PATIENCE_MS)
    const late = chance.hit(weather.askLate)
    const heard = !late && !chance.hit(weather.replyLost)
    if (!heard) again(PATIENCE_MS)
    this.#world.in(late ? PATIENCE_MS + chance.between(1, 3_000) : chance.delayMs(weather.longMs), () => {
      void this.#do(ask).then(answer => {
        this.#watch.done(process, verb, args, answer, heard)
        if (!heard) return
        process.deliverIn(chance.delayMs(weather.longMs), () => {
          this.#watch.heard(verb, args, answer)
          ask.resolve(answer)
        }, life)
      })
    })
  }

  async #do (ask: Ask): Promise<unknown> {
    const { verb, args, change } = ask
    if (verb !== 'advance') {
      // The driver names each change once, however often it asks.
      const words = verb === 'advanceProposal' ? [args[0], args[1], change] : args
      const answer = await (this.#memory[verb] as (...args: readonly unknown[]) => Promise<unknown>)(...words)
      if (verb === 'begin' || verb === 'claimDue') this.#planPolls()
      return answer
    }
    const [held, event] = args as [AttemptRecord, AttemptEvent]
    const done = this.#changes.get(change)
    // Asked again with the same change id, and nothing came after it: it answers as it did.
    if (done?.kind === 'changed' && this.record(held.id)?.revision === done.record.revision) return done
    const advanced = await this.#memory.advance(held, event)
    this.#changes.set(change, advanced)
    if (advanced.kind === 'changed') this.#planPolls()
    return advanced
  }

  /** For the resolver of one process: it wakes at the turn at which something is due. */
  pollAfter (process: Process, ms: number, work: () => void): () => void {
    const poll: Poll = { earliestMs: this.#world.nowMs + ms, process, life: process.life, work, coming: null }
    this.#polls.add(poll)
    this.#plan(poll, this.#memory.nextDueMs())
    return () => { this.#callOff(poll) }
  }

  #planPolls (): void {
    const dueMs = this.#memory.nextDueMs()
    const inWorld = dueMs === null ? null : dueMs - this.jumpedMs
    if (inWorld === this.#polledForMs) return
    this.#polledForMs = inWorld
    for (const poll of this.#polls) this.#plan(poll, dueMs)
  }

  #plan (poll: Poll, dueMs: number | null): void {
    if (poll.coming !== null) poll.coming.work = null
    poll.coming = null
    if (poll.life !== poll.process.life) {
      this.#polls.delete(poll)
      return
    }
    if (dueMs === null) return
    const turns = Math.max(0, Math.ceil((dueMs - this.jumpedMs - poll.earliestMs) / POLL_MS))
    poll.coming = poll.process.deliverIn(poll.earliestMs + turns * POLL_MS - this.#world.nowMs, () => {
      if (!this.#polls.delete(poll)) return
      poll.work()
    }, poll.life)
  }

  #callOff (poll: Poll): void {
    this.#polls.delete(poll)
    if (poll.coming !== null) poll.coming.work = null
  }
}
