// What can befall a broker's process: it dies, at any moment or at a chosen place; it stands still and wakes again as if nothing had been; it is told to end.
import { setTimeout as sleep } from 'node:timers/promises'
import { FAILPOINTS, type FailpointName } from '../../src/failpoints.ts'
import type { Chronicle } from './chronicle.ts'
import type { Random } from './random.ts'
import type { Replicas } from './replicas.ts'

export interface ProcessGround {
  readonly replicas: Replicas
  readonly chronicle: Chronicle
  readonly random: Random
}

/** The longest that a process is made to stand still. */
export const STOP_MS_MAX = 20_000

/** Often again as soon as it serves: what it had taken up again is taken up once more. */
export async function killOne ({ replicas, chronicle, random }: ProcessGround): Promise<void> {
  const at = random.whole(0, replicas.count - 1)
  do {
    chronicle.tell('kill')
    if (!await replicas.replace(at, 'SIGKILL')) return
    chronicle.count('kill')
    await sleep(random.between(0, 150))
  } while (random.chance(KILLED_AGAIN))
}

/** Most moments are short, some longer than a lease of the store, and a few longer than everything that is under way may take. */
const STOPS: ReadonlyArray<{ readonly share: number, readonly fromMs: number, readonly toMs: number }> = [
  { share: 0.78, fromMs: 100, toMs: 1_200 }, { share: 0.19, fromMs: 1_200, toMs: 5_000 }, { share: 0.03, fromMs: 5_000, toMs: STOP_MS_MAX },
]

/** A process that stood still does not know it: its timers and what it read before are old when it wakes. */
export async function stopOne ({ replicas, chronicle, random }: ProcessGround): Promise<void> {
  const pid = replicas.pid(random.whole(0, replicas.count - 1))
  if (pid === null) return
  let drawn = random.next()
  const { fromMs, toMs } = STOPS.find(({ share }) => (drawn -= share) < 0) ?? STOPS[0]!
  const ms = random.between(fromMs, toMs)
  chronicle.tell('stop', { ms: Math.round(ms) })
  if (!signalled(pid, 'SIGSTOP')) return
  chronicle.count('stop')
  await sleep(ms)
  signalled(pid, 'SIGCONT')
}

export async function endOne ({ replicas, chronicle, random }: ProcessGround): Promise<void> {
  chronicle.tell('term')
  if (await replicas.replace(random.whole(0, replicas.count - 1), 'SIGTERM')) chronicle.count('term')
}

/** To another edition of the sheets: until it is over they differ among the replicas. */
export async function roll ({ replicas, chronicle }: ProcessGround): Promise<void> {
  chronicle.tell('rolling restart')
  replicas.renew()
  for (let at = 0; at < replicas.count; at++) if (!await replicas.replace(at, 'SIGTERM')) return
  chronicle.count('rolling restart')
}

/** false: it has ended meanwhile. */
function signalled (pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}

const KILLED_AGAIN = 0.4

const NAMES = Object.keys(FAILPOINTS) as readonly FailpointName[]

/** Told as never sent what was sent, if a process stood still so long after its last look at the clock: no broker alone can close this hole. */
const STALL_MS_MAX_BEFORE_WRITE = 700
/** Of those that all pass, and of those that few do. */
const ARMED_AT_ONCE = 5
/** So often each of them has killed, about, before other things are done there more often: whoever lives on meets the others as well. */
const KILLS_FIRST = 4
/** Only the embedded store passes here, or only Redis. */
const OF_STORE: Readonly<Record<'sqlite' | 'redis', RegExp>> = { sqlite: /redis/, redis: /sqlite/ }
/** Passed by few: whoever comes meets them. */
const RARE = /drain|cancel|own_lookup|close_unsent|settle_again|sweep|propose|decide|spend|redis_change/
/** Passed once by many writes together. */
const SHARED = /sqlite_commit/
/** An error thrown here meets code that is not the broker's own (an event handler), or comes when the answer is already made. */
const NO_ERROR = /^(at_request_start|after_request_left|after_head|after_body|before_answer|before_audit_line|before_drain|after_drain|after_settle)$/

/** Arms failpoints for the starts of replicas: those that fired least are chosen first. */
export class Armoury {
  readonly #random: Random
  readonly #chronicle: Chronicle
  readonly #names: readonly FailpointName[]
  readonly #unarmed: number
  #calm = false

  /** @param unarmed of the starts */
  constructor (store: 'sqlite' | 'redis', unarmed: number, chronicle: Chronicle, random: Random) {
    this.#random = random
    this.#chronicle = chronicle
    this.#names = NAMES.filter(name => !OF_STORE[store].test(name))
    this.#unarmed = unarmed
  }

  /** Nothing is armed from now on. */
  calm (): void { this.#calm = true }

  /** @returns AVAL_FAILPOINTS of one start */
  next (): string | null {
    if (this.#calm || this.#random.chance(this.#unarmed)) return null
    const fired = this.#chronicle.fired
    const order = this.#names.map(name => ({ name, times: (fired[`failpoint:${name}`] ?? 0) + this.#random.next() * 6 }))
      .sort((one, other) => one.times - other.times)
    const chosen = [order.filter(({ name }) => RARE.test(name)), order.filter(({ name }) => !RARE.test(name))].flatMap(some => some.slice(0, ARMED_AT_ONCE))
    return chosen.map(({ name, times }) => `${name}:${this.#action(name, times)}@${this.#share(name, times)}`).join(',')
  }

  #action (name: FailpointName, times: number): string {
    const ms = (from: number, to: number): number => this.#random.whole(from, to)
    const kinds = ['kill', ...(times < KILLS_FIRST ? ['kill', 'kill'] : []), 'stall', ...(FAILPOINTS[name] === 'waits' ? ['sleep', 'sleep'] : []), ...(NO_ERROR.test(name) ? [] : ['error'])]
    const kind = this.#random.one(kinds)
    if (kind === 'sleep') return `sleep(${ms(20, 3_000)})`
    if (kind === 'stall') return `stall(${ms(20, name === 'after_request_left' ? STALL_MS_MAX_BEFORE_WRITE : 1_500)})`
    return kind
  }

  /** What has hardly fired is met by more of those who pass. */
  #share (name: FailpointName, times: number): string {
    const share = RARE.test(name) ? this.#random.between(0.3, 1)
      : SHARED.test(name) ? this.#random.between(0.03, 0.12)
      : this.#random.between(0.005, 0.03) * (times < 12 ? 3 : 1)
    return share.toFixed(4)
  }
}
