// The people of a schedule: they say yes or no to what is proposed, at their own time, now and then both of them at once or one of them twice.
import type { Decision, ProposalRecord } from '../../src/consent/proposal.ts'
import type { SimBroker } from './broker.ts'
import type { Watch } from './watch.ts'
import type { World } from './world.ts'

const NAMES = ['ann', 'bob'] as const
/** Who heard nothing says it again. */
const TRIES = 4

export class People {
  readonly #world: World
  readonly #watch: Watch
  readonly #brokers: readonly SimBroker[]
  #clicks = 0

  constructor (world: World, watch: Watch, brokers: readonly SimBroker[]) {
    this.#world = world
    this.#watch = watch
    this.#brokers = brokers
  }

  meet (record: ProposalRecord): void {
    const { chance } = this.#world
    const [first, other] = chance.hit(0.5) ? NAMES : [...NAMES].reverse() as [string, string]
    const atMs = chance.between(20, 3_000)
    const says = chance.hit(0.85) ? 'approve' : 'deny'
    this.#say(record, first, says, atMs)
    if (chance.hit(0.3)) this.#say(record, chance.hit(0.5) ? first : other, chance.hit(0.6) ? says : says === 'deny' ? 'approve' : 'deny', atMs + chance.between(0, 30))
  }

  #say (record: ProposalRecord, name: string, says: Decision['decision'], afterMs: number): void {
    const decision = decisionOf(record, name, says, `click ${++this.#clicks}`)
    this.#world.in(afterMs, () => { this.#send(record, decision, TRIES) })
  }

  #send (record: ProposalRecord, decision: Omit<Decision, 'atMs'>, triesLeft: number): void {
    const again = (): void => { if (triesLeft > 1) this.#world.in(500, () => { this.#send(record, decision, triesLeft - 1) }) }
    const takers = this.#brokers.filter(broker => broker.takesCalls)
    if (takers.length === 0) return again()
    const { process, services } = this.#world.chance.pick(takers)
    this.#world.tell(process.name, 'is told by', decision.approver.sub, decision.decision, record.id)
    services.store.advanceProposal(record, { type: 'decide', decision }).then(answer => {
      if (answer.kind !== 'missing') this.#watch.decided(record.id, decision.decision, answer.kind)
    }, again)
  }
}

const decisionOf = ({ digest, epoch }: ProposalRecord, name: string, decision: Decision['decision'], id: string): Omit<Decision, 'atMs'> => ({
  id, digest, decision, epoch, reasonCode: decision === 'deny' ? 'not_now' : null, reasonText: null, visibility: 'agent',
  approver: { iss: 'https://people.example', sub: name, principal: `https://people.example|${name}`, display: name, roles: ['foreman'], authTimeS: 1_893_456_000, acr: null },
  shown: { renderer: 'sim', msOnPage: 1_000, surface: 'page' },
})
