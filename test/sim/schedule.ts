// One schedule: what is wished, what goes wrong and when, all from one seed; then everything heals, and what came of it is judged.
import { resolveByPerson } from '../../src/attempts/resolution.ts'
import type { Identity } from '../../src/attempts/identity.ts'
import type { Catalog, JsonObject } from '../../src/catalog/catalog.ts'
import type { Caller } from '../../src/execution/call.ts'
import { AttemptsSeen } from '../../src/telemetry/audit-attempts.ts'
import { Agent, breakConnections, type Crowd, type Wish } from './agents.ts'
import { SimBroker, type BrokerWeather, type Ground } from './broker.ts'
import { People } from './people.ts'
import { Fired } from './rows.ts'
import { SimStore } from './store.ts'
import { THEMES, type Theme } from './themes.ts'
import { SimUpstream } from './upstream.ts'
import { judgeEnd } from './verdict.ts'
import { Watch } from './watch.ts'
import { World } from './world.ts'

const HEALED_AFTER_MS = 45_000
const DRAIN_MS = 20_000
const EVENTS_MAX = 200_000
const ACTIONS = [
  'do_work.v1', 'do_work.v1', 'do_work.v1', 'do_slow_work.v1', 'post_note.v1', 'change_item.v1', 'change_item.v1', 'replace_item.v1',
  'do_asked_work.v1',
] as const
const FAIR: BrokerWeather = {
  unreachable: 0, stray: 0, longMs: 20, holeMs: 0, credentialMissing: 0, intentFails: 0, definitionMissing: 0, credentialMs: 10,
}

export interface Result {
  readonly seed: number
  readonly themes: readonly string[]
  readonly events: number
  readonly attempts: number
  readonly effects: number
  readonly fired: Fired
  readonly violations: readonly string[]
  readonly steps: readonly string[]
}

/** What is the same for all schedules. */
export interface Stage {
  readonly catalog: Catalog
  readonly identity: Identity
  /** By access token. */
  readonly callers: ReadonlyMap<string, Caller>
}

/** @param tell keeps the steps, which takes time */
export async function runSchedule (stage: Stage, seed: number, tell = false): Promise<Result> {
  const schedule = new Schedule(stage, seed, tell)
  return schedule.run()
}

export class Schedule {
  readonly world: World
  readonly fired = new Fired()
  readonly watch: Watch
  readonly store: SimStore
  readonly upstream: SimUpstream
  readonly weather: BrokerWeather = { ...FAIR }
  readonly brokers: readonly SimBroker[]
  readonly themes: readonly Theme[]
  readonly #seed: number
  readonly #ground: Ground
  readonly #crowd: Crowd
  readonly #wishes: Wish[] = []

  constructor (stage: Stage, seed: number, tell: boolean) {
    this.#seed = seed
    this.world = new World(seed, tell)
    const { world } = this
    this.watch = new Watch(world, this.fired)
    this.store = new SimStore(world, this.watch)
    this.upstream = new SimUpstream(world)
    Object.assign(this.watch, { store: this.store, upstream: this.upstream })
    this.#ground = { ...stage, world, store: this.store, upstream: this.upstream, watch: this.watch, weather: this.weather, seen: new AttemptsSeen() }
    this.brokers = Array.from({ length: world.chance.between(2, 3) }, (_, index) => new SimBroker(`broker ${index + 1}`, this.#ground))
    this.#crowd = { world, watch: this.watch, brokers: this.brokers, told: [], open: new Map(), serial: { last: 0 } }
    this.themes = this.#chooseThemes()
    const people = new People(world, this.watch, this.brokers)
    this.watch.onProposed = record => people.meet(record)
  }

  #chooseThemes (): readonly Theme[] {
    const { chance } = this.world
    const first = chance.pick(THEMES)
    if (first.alone === true || chance.hit(0.4)) return [first]
    const second = chance.pick(THEMES.filter(theme => theme !== first && theme.alone !== true))
    return [first, second]
  }

  async run (): Promise<Result> {
    const { world } = this
    world.tell('themes:', this.themes.map(({ name }) => name).join(', '))
    this.#wish()
    for (const theme of this.themes) theme.brew(this)
    world.in(HEALED_AFTER_MS, () => this.#heal())
    let events = await world.run(EVENTS_MAX)
    await this.#askPersons()
    events += await world.run(EVENTS_MAX)
    await this.#tryOnce()
    events += await world.run(EVENTS_MAX)
    judgeEnd({
      ...this.#ground, deadly: this.themes.some(theme => theme.deadly === true), told: this.#crowd.told, stillOpen: this.#crowd.open.size,
      proposals: await this.store.proposals(),
    })
    const { watch, upstream, store, fired } = this
    return {
      seed: this.#seed, themes: this.themes.map(({ name }) => name), events, attempts: store.attempts.length, effects: upstream.effects.length, fired,
      violations: watch.violations, steps: world.steps ?? [],
    }
  }

  #wish (): void {
    const { chance } = this.world
    const meant = this.themes.find(({ action }) => action !== undefined)?.action
    const alone = this.themes.some(theme => theme.alone === true)
    // No two changes of one item want the same: afterwards nobody could tell them apart.
    for (let count = alone ? 1 : chance.between(1, 3); count > 0; count--) {
      const action = meant ?? chance.pick(ACTIONS)
      const item = chance.pick(['a', 'a', 'b'])
      const text = `text ${count}`
      const work = { item, amount: chance.between(1, 2) }
      const args: JsonObject = action.includes('work') ? work : action === 'post_note.v1' ? { text: item } : { item, text }
      const run = chance.pick(['run 1', 'run 1', 'run 2'])
      this.#send({ run, action, args, key: chance.hit(0.7) ? `key-${count}` : null }, chance.between(0, 2_000))
    }
  }

  #send (wish: Wish, afterMs: number): void {
    const { chance } = this.world
    this.#wishes.push(wish)
    // What is asked for first takes more of them.
    const tries = chance.between(2, 6) * (wish.action === 'do_asked_work.v1' ? 3 : 1)
    const agent = new Agent(this.#crowd, wish, tries, chance.hit(0.7) ? 60_000 : chance.between(20, 3_000))
    this.world.in(afterMs, () => agent.call())
  }

  /** The same wish twice, at nearly the same time. */
  race (): void {
    for (const wish of [...this.#wishes]) {
      const afterMs = this.world.chance.between(0, 2_000)
      this.#send(wish, afterMs)
      this.#send(wish, afterMs + this.world.chance.between(0, 3))
    }
  }

  reuseKeys (): void {
    for (const wish of this.#wishes.filter(({ key }) => key !== null)) {
      const args = 'amount' in wish.args ? { ...wish.args, amount: 77 } : { ...wish.args, text: 'other' }
      this.#send({ ...wish, args }, this.world.chance.between(0, 4_000))
    }
  }

  meddle (how: 'cancel' | 'escalate', times: number, withinMs: number): void {
    for (const wish of this.#wishes) {
      for (let time = 0; time < times; time++) {
        this.world.in(this.world.chance.between(1, withinMs), () => new Agent(this.#crowd, wish, 1, 60_000).meddle(how))
      }
    }
  }

  kill (broker: SimBroker, backAfterMs: number): void {
    broker.kill()
    breakConnections(this.#crowd, broker.process)
    this.world.in(backAfterMs, () => broker.restart())
  }

  drain (broker: SimBroker): void {
    broker.drain()
    this.world.in(DRAIN_MS, () => this.kill(broker, 100))
  }

  #heal (): void {
    this.world.tell('everything heals')
    Object.assign(this.weather, FAIR)
    Object.assign(this.store.weather, { askLost: 0, replyLost: 0, askLate: 0 })
    this.store.state = 'up'
    this.upstream.writes = () => 'honest'
    this.upstream.reads = () => 'honest'
    this.watch.onChange = null
    this.watch.onPhase = null
    for (const broker of this.brokers) {
      broker.process.strikeAfter(Infinity, () => {})
      broker.restart()
      broker.process.skewMs = 0
    }
  }

  /** What cannot be learned is decided by somebody who looks into the upstream. */
  async #askPersons (): Promise<void> {
    const { services } = this.brokers[0]!
    for (const { id, state } of this.store.attempts) {
      if (state !== 'escalated') continue
      const happened = this.upstream.effects.some(({ attemptId }) => attemptId === id)
      this.world.in(0, () => {
        void resolveByPerson({ attemptId: id, outcome: happened ? 'completed' : 'rejected', code: null, personMark: 'h1:person' }, services)
      })
    }
  }

  /** Each broker takes a new call, and it is done. */
  async #tryOnce (): Promise<void> {
    for (const [index, broker] of this.brokers.entries()) {
      const wish = { run: 'run 3', action: 'do_work.v1', args: { item: `new ${index}`, amount: 1 }, key: `new-${index}` }
      new Agent({ ...this.#crowd, brokers: [broker] }, wish, 1, 60_000).call()
    }
  }
}
