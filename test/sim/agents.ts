// Agents: each wants one thing done, asks any broker for it, and asks again under the same key until it hears the end or loses interest.
import { cancelAttempt, escalateAttempt, getAttempt, listAttempts } from '../../src/execution/attempts.ts'
import type { Answer, Envelope } from '../../src/execution/envelope.ts'
import { commitProposal } from '../../src/execution/commit.ts'
import { execute } from '../../src/execution/execute.ts'
import { withdrawProposal } from '../../src/execution/proposals.ts'
import type { JsonObject } from '../../src/catalog/catalog.ts'
import type { SimBroker } from './broker.ts'
import type { Process } from './process.ts'
import type { Watch } from './watch.ts'
import type { World } from './world.ts'

export interface Wish {
  /** Which run, by its access token. */
  readonly run: string
  readonly action: string
  readonly args: JsonObject
  /** The Idempotency-Key. */
  readonly key: string | null
}

/** What an agent was told, and when. */
export interface Told {
  readonly wish: Wish
  readonly correlationId: string
  /** A call, or a question about an attempt. */
  readonly kind: 'call' | 'question'
  readonly status: number
  readonly envelope: Envelope
}

export interface Crowd {
  readonly world: World
  readonly watch: Watch
  readonly brokers: readonly SimBroker[]
  readonly told: Told[]
  /** Questions and calls under way, and what is done where the process dies. */
  readonly open: Map<string, { readonly process: Process, readonly broken: () => void }>
  readonly serial: { last: number }
}

/** Of the process that died: whoever waited for it sees the connection end. */
export function breakConnections (crowd: Crowd, process: Process): void {
  for (const [id, { process: of, broken }] of crowd.open) {
    if (of !== process) continue
    crowd.open.delete(id)
    crowd.world.in(crowd.world.chance.between(1, 20), broken)
  }
}

type Ask = (broker: SimBroker, correlationId: string) => Promise<Answer>

export class Agent {
  readonly #crowd: Crowd
  readonly #wish: Wish
  /** How many calls it makes at most, and how long it waits for an answer. */
  #triesLeft: number
  readonly #patienceMs: number
  #attemptId: string | null = null

  constructor (crowd: Crowd, wish: Wish, tries: number, patienceMs: number) {
    this.#crowd = crowd
    this.#wish = wish
    this.#triesLeft = tries
    this.#patienceMs = patienceMs
  }

  call (): void {
    if (this.#triesLeft-- <= 0) return
    const { run, action, args, key } = this.#wish
    const { watch, world } = this.#crowd
    this.#ask('call', (broker, correlationId) => {
      const { process } = broker
      watch.calls.set(correlationId, { correlationId, process, action, phase: 'arrived', attemptId: null, toldOpen: false, agentLeft: false })
      world.tell(process.name, 'is called', correlationId, action, JSON.stringify(args), key)
      return execute({
        surface: 'http', correlationId, actionId: action, authorization: run, source: null, nullIsAbsent: false,
        idempotencyKey: key ?? undefined,
        body: () => Promise.resolve({ arguments: args }),
        arrivedAtMs: broker.services.clock.nowMs(),
      }, broker.services)
    }, answer => this.#hear(answer), () => this.#later())
  }

  #commit (id: string): void {
    if (this.#triesLeft-- <= 0) return
    const { run, action } = this.#wish
    const { watch, world } = this.#crowd
    this.#ask('call', (broker, correlationId) => {
      const { process } = broker
      watch.calls.set(correlationId, { correlationId, process, action, phase: 'arrived', attemptId: null, toldOpen: false, agentLeft: false })
      world.tell(process.name, 'is told to commit', correlationId, id)
      return commitProposal({
        surface: 'http', correlationId, authorization: run, source: null, id, body: async () => undefined, arrivedAtMs: broker.services.clock.nowMs(),
      }, broker.services)
    }, answer => this.#hear(answer), () => this.#later())
  }

  /** Takes back what it asked for, and hears whether it still could. */
  #withdraw (id: string): void {
    const authorization = this.#wish.run
    this.#ask('question', async (broker, correlationId) => {
      this.#crowd.world.tell(broker.process.name, 'is told to withdraw', id)
      const answer = await withdrawProposal({ authorization, correlationId, id }, broker.services)
      this.#remember('question', correlationId, answer)
      return answer
    }, () => {}, () => {})
  }

  /** Commits what is approved, now and then twice at once, or against its own withdrawal; waits for what is not. */
  #carryOut ({ id, state }: NonNullable<Envelope['proposal']>): void {
    const { chance } = this.#crowd.world
    if (state !== 'approved') return this.#later()
    this.#commit(id)
    if (chance.hit(0.3)) this.#commit(id)
    if (chance.hit(0.15)) this.#withdraw(id)
  }

  /** Cancels, or hands to a person, whatever attempts its run has. */
  meddle (how: 'cancel' | 'escalate'): void {
    const { world } = this.#crowd
    const authorization = this.#wish.run
    this.#ask('question', async (broker, correlationId) => {
      const { body } = await listAttempts({ authorization, correlationId, limit: 5 }, broker.services)
      for (const { attempt_id: id } of body['attempts'] as ReadonlyArray<{ attempt_id: string }> ?? []) {
        world.tell(broker.process.name, 'is asked to', how, id)
        const meddled = how === 'cancel' ? cancelAttempt : escalateAttempt
        const answer = await meddled({ authorization, correlationId, id }, broker.services)
        this.#remember('question', `${correlationId} ${id}`, answer)
      }
      return { status: 204, envelope: {} } as unknown as Answer
    }, () => {}, () => {})
  }

  #ask (kind: Told['kind'], ask: Ask, hear: (answer: Answer) => void, broken: () => void): void {
    const { world, watch, brokers, open } = this.#crowd
    const correlationId = `${kind} ${++this.#crowd.serial.last}`
    const takers = brokers.filter(broker => broker.takesCalls)
    if (takers.length === 0) {
      world.in(500, broken)
      return
    }
    const broker = world.chance.pick(takers)
    const { process } = broker
    const { life } = process
    open.set(correlationId, { process, broken })
    process.deliverIn(world.chance.between(1, 5), () => {
      void ask(broker, correlationId).then(answer => {
        if (life !== process.life) return
        this.#ended(correlationId, answer)
        if (kind === 'call') this.#remember(kind, correlationId, answer)
        if (!open.delete(correlationId)) return
        patience.work = null
        world.in(world.chance.between(1, 5), () => hear(answer))
      })
    })
    const patience = world.in(this.#patienceMs, () => {
      if (!open.delete(correlationId)) return
      const call = watch.calls.get(correlationId)
      if (call !== undefined) call.agentLeft = true
      world.tell('agent leaves', correlationId)
      broken()
    })
  }

  #remember (kind: Told['kind'], correlationId: string, { status, envelope }: Answer): void {
    this.#crowd.world.tell('answer to', correlationId, status, envelope.outcome, envelope.error?.code, envelope.attempt_id)
    this.#crowd.told.push({ wish: this.#wish, correlationId, kind, status, envelope })
    if (envelope.error?.code === 'IDEMPOTENCY_KEY_REUSED') this.#crowd.watch.row(12)
  }

  #ended (correlationId: string, { envelope }: Answer): void {
    const call = this.#crowd.watch.calls.get(correlationId)
    if (call === undefined) return
    if (envelope.pending_on === 'dispatch' && envelope.duplicate === false) call.toldOpen = true
    else this.#crowd.watch.enter(call, 'told')
  }

  #hear ({ status, envelope }: Answer): void {
    this.#attemptId = envelope.attempt_id ?? this.#attemptId
    if (status === 202 && envelope.proposal !== undefined && envelope.attempt_id === undefined) this.#carryOut(envelope.proposal)
    else if (status === 202) this.#wait()
    else if (envelope.error?.retryable === true) this.#later()
  }

  #later (): void {
    this.#crowd.world.in(this.#crowd.world.chance.between(20, 4_000), () => this.call())
  }

  /** Asks for the attempt, or makes the same call again: both hear the same. */
  #wait (): void {
    const { world } = this.#crowd
    if (this.#triesLeft <= 0) return
    const id = this.#attemptId
    if (id === null || world.chance.hit(0.5)) return this.#later()
    this.#triesLeft--
    const signal = new AbortController().signal
    world.in(world.chance.between(50, 5_000), () => this.#ask('question',
      (broker, correlationId) =>
        getAttempt({ authorization: this.#wish.run, correlationId, id, waitMs: world.chance.pick([0, 2_000]), signal }, broker.services)
          .then(answer => {
            this.#remember('question', correlationId, answer)
            return answer
          }),
      answer => this.#hear(answer), () => this.#later()))
  }
}
