// The real desk over a real store, which a test can lock, whose rules it can change, and whose next answer it can choose where a race would give it. And
// a desk of operators without a broker behind it, which keeps what it is asked.
import type { AttemptRecord } from '../../src/attempts/attempt.ts'
import type { Catalog, Json, Requirement } from '../../src/catalog/catalog.ts'
import { createDesk, type PersonTold } from '../../src/consent/create-desk.ts'
import type { AboutAttempt, Decided, Desk, MayNot, OperatorDesk, Person } from '../../src/consent/desk.ts'
import { NO_ALIASES, type Principals } from '../../src/consent/principals.ts'
import type { Store } from '../../src/store/store.ts'
import { REQUIREMENT } from '../store/proposal-drafts.ts'
import { FINANCE } from './drafts.ts'

export interface OperatorState {
  attempts: readonly AttemptRecord[]
  runs: Awaited<ReturnType<OperatorDesk['runs']>>
  lock: Awaited<ReturnType<OperatorDesk['lockState']>>
  about: AboutAttempt
  readonly done: Array<{ readonly what: string, readonly ask: unknown }>
  fault: unknown
  /** What is read again is what was in force. */
  unchanged?: true
}

export interface WatchedDesk extends Desk {
  /** What whoever views a proposal is told of it that they may not, beside what the desk says; null: nothing. */
  mayNot: MayNot | null
  /** How the next decision is answered, instead of by the desk. */
  nextWhy: Extract<Decided, { kind: 'refused' }>['why'] | null
  readonly told: PersonTold[]
  readonly lock: { epoch: number, locked: boolean }
  /** Of actions in force. */
  readonly actions: Map<string, { readonly requirement: Requirement }>
  readonly operator: OperatorState
}

export function watchedDesk (store: Store, principals: Principals = NO_ALIASES): WatchedDesk {
  const told: PersonTold[] = []
  const lock = { epoch: 1, locked: false }
  const actions = new Map([['change_shipping_address.v2', { requirement: REQUIREMENT }], ['refund_payment.v1', { requirement: FINANCE }]])
  const real = createDesk({
    store, principals,
    events: { tell: () => {} },
    lock: { epoch: () => lock.epoch, isLocked: () => lock.locked, isFresh: () => true, refresh: async () => {} },
    audit: { person: one => { told.push(one) }, altered: () => { throw new Error('a draft is not what it says') }, hasRoom: () => true },
    catalog: () => ({ actions }) as unknown as Catalog,
  })
  const desk: WatchedDesk = {
    ...real,
    mayNot: null,
    nextWhy: null,
    told,
    lock,
    actions,
    operator: { attempts: [], about: { title: 'Refund a payment', codes: ['NOT_APPLIED', 'CONFLICT'] }, runs: [], lock: { locked: false, epoch: 1, waitingFor: [], act: null }, done: [], fault: null },
    async view (person, id, surface) {
      const seen = await real.view(person, id, surface)
      return seen === null ? null : { ...seen, mayNot: desk.mayNot ?? seen.mayNot }
    },
    async decide (person, ask) {
      if (desk.nextWhy === null) return real.decide(person, ask)
      return { kind: 'refused', seen: (await real.view(person, ask.id, 'page'))!, why: desk.nextWhy }
    },
  }
  return desk
}

export function keepingOperator (state: OperatorState): OperatorDesk {
  const did = (what: string, result: Json) => async (_person: Person, ask: unknown): Promise<Json> => {
    if (state.fault !== null) throw state.fault
    state.done.push({ what, ask })
    return result
  }
  return {
    unresolved: async () => state.attempts,
    about: async () => state.about,
    resolve: did('resolve', {}),
    reload: person => did('reload', { actions: 7, digest: 'abc', changed: state.unchanged !== true })(person, null),
    lockState: async () => state.lock,
    lock: did('lock', {}),
    unlock: did('unlock', {}),
    runs: async () => state.runs,
    stopRun: async (person, run, note) => { await did('stopRun', {})(person, { ...run, note }) },
  }
}
