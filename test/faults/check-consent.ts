// What the checker is held to where people are asked: a run in which all is well, and how it is spoiled.
import type { Settlement } from '../../src/attempts/attempt.ts'
import { STATE_LOSS_LINE } from './evidence.ts'
import type { Says, Taken } from './folder.ts'
import { Maker, START_MS, type Made } from './handmade.ts'

type Spoil = (made: Made) => void

const UNSENT: Partial<Settlement> = {
  outcome: 'rejected', sent: false, code: 'UPSTREAM_UNREACHABLE', retryable: true, evidence: { source: 'none', upstreamStatus: null, by: null },
}
const work = { action: 'do_asked_work.v1', run: 'run-asked' } as const
const item = { action: 'change_asked_item.v1', object: 'item-asked', args: { item: 'item-asked', text: 'asked-item' }, version: 1, run: 'run-asked' } as const
const use = { action: 'do_granted_work.v1', run: 'run-granted' } as const

/** A yes, one by two people, one that was not used up by what never left, a denial, and a grant with all of its uses. */
export function askPeople (maker: Maker): void {
  maker
    .says('prop_yes', { errand: 'asked', ...work }, 21_000)
    .write({ id: 'att_asked', errand: 'asked', ...work, proposal: 'prop_yes', atMs: 22_000, end: {} })
    .keeps({ id: 'prop_yes', attemptId: 'att_asked' })
    .says('prop_two', { errand: 'asked-item', ...item }, 23_000)
    .says('prop_two', { errand: 'asked-item', ...item }, 23_100, { by: 'bob' })
    .write({ id: 'att_item', errand: 'asked-item', ...item, target: 'target-asked', proposal: 'prop_two', atMs: 24_000, end: {} })
    .keeps({ id: 'prop_two', attemptId: 'att_item' })
    .says('prop_again', { errand: 'asked-again', ...work }, 25_000)
    .write({ id: 'att_left_not', errand: 'asked-again', ...work, proposal: 'prop_again', atMs: 26_000, arrives: false, end: UNSENT })
    .write({ id: 'att_left', errand: 'asked-again', ...work, proposal: 'prop_again', n: 1, atMs: 27_000, end: {} })
    .keeps({ id: 'prop_again', attemptId: 'att_left' })
    .says('prop_no', { errand: 'asked-in-vain', ...work }, 28_000, { says: 'deny' })
    .keeps({ id: 'prop_no', state: 'denied' })
    .says('prop_grant', { errand: 'granted-0', ...use }, 29_000, { uses: 2 })
    .write({ id: 'att_use', errand: 'granted-0', ...use, atMs: 30_000, end: {} })
    .write({ id: 'att_last', errand: 'granted-1', ...use, atMs: 31_000, end: {} })
    .keeps({ id: 'prop_grant', kind: 'session', state: 'approved', grant: { actions: [], targets: [], usesMax: 2, lifeMs: 1_000 }, uses: 2 })
}

const saysOf = (made: Made, proposal: string): Says => made.decisions.find(line => line.kind === 'says' && line.proposal === proposal) as Says
const kept = (made: Made, id: string): Made['proposals'][number] => made.proposals.find(one => one.id === id)!
const recordOf = (made: Made, id: string): Made['store'][number] => made.store.find(one => one.id === id)!

/** Somebody says no to what was carried out. */
function no (made: Made, says: 'deny' | 'revoke', atMs: number, answer: Partial<Taken> = {}): void {
  const n = 1_000
  made.decisions.push(
    { ...saysOf(made, 'prop_yes'), n, t: START_MS + atMs, says },
    { kind: 'taken', n, t: START_MS + atMs + 20, status: 200, state: says === 'deny' ? 'denied' : 'revoked', taken: true, ...answer },
  )
}

/** The agent takes it back. */
function withdrawn (made: Made, state: 'withdrawn' | 'consumed'): void {
  const ask = made.history.find(line => line.kind === 'ask' && line.errand === 'asked')!
  const heard = made.history.find(line => line.kind === 'heard' && line.attempt === 'att_asked')!
  made.history.push(
    { ...ask, n: 100_100, t: START_MS + 22_300, verb: 'withdraw', proposal: 'prop_yes' } as never,
    {
      ...heard, n: 100_100, t: START_MS + 22_350, correlation: null, attempt: null, outcome: 'rejected', sent: false, code: 'PROPOSAL_WITHDRAWN',
      proposal: { id: 'prop_yes', kind: 'call', state },
    } as never,
  )
}

/** Between the send and whatever was said then. */
function forgotten (made: Made): void {
  made.fired['state-loss:flushall'] = 1
  made.nemesis.push({ t: START_MS + 22_030, what: `${STATE_LOSS_LINE}flushall` })
}

/** What was asked for, approved and done is asked for, approved and done once more. */
function askedAgain (made: Made): void {
  const maker = new MakerOf(made)
  maker.says('prop_more', { errand: 'asked', ...work }, 35_000)
    .write({ id: 'att_more', errand: 'asked', ...work, key: 'forgotten', proposal: 'prop_more', atMs: 36_000, end: {} })
    .keeps({ id: 'prop_more', attemptId: 'att_more' })
}

/** Adds to what is made. */
class MakerOf extends Maker {
  constructor (made: Made) {
    super(200_000)
    Object.assign(this.made, made)
  }
}

export const SPOILED_CONSENT: ReadonlyArray<readonly [invariant: string, what: string, spoil: Spoil]> = [
  ['I10', 'one yes is used twice', made => { recordOf(made, 'att_left').proposal = 'prop_yes' }],
  ['I10', 'nobody had said yes', made => { made.decisions.splice(0, 2) }],
  ['I10', 'nobody had been asked', made => { delete (recordOf(made, 'att_asked') as { proposal?: string }).proposal }],
  ['I10', 'one of two had said yes', made => { made.decisions = made.decisions.filter(line => line.kind !== 'says' || line.by !== 'bob') }],
  ['I10', 'one person had said yes for two', made => {
    made.decisions = made.decisions.map(line => line.kind === 'says' ? { ...line, by: 'ann' } : line)
  }],
  ['I10', 'the yes came when it had left', made => { Object.assign(saysOf(made, 'prop_yes'), { t: START_MS + 22_200 }) }],
  ['I10', 'the yes was for something else', made => { Object.assign(saysOf(made, 'prop_yes'), { args: 'others' }) }],
  ['I10', 'it was denied before', made => { no(made, 'deny', 21_500) }],
  ['I10', 'it was denied afterwards, and that counted', made => { no(made, 'deny', 23_000) }],
  ['I10', 'the yes had been taken back', made => { no(made, 'revoke', 21_500) }],
  ['I10', 'the agent had withdrawn it', made => { withdrawn(made, 'withdrawn') }],
  ['I10', 'it left long after it was denied, whatever the store forgot', made => {
    forgotten(made)
    no(made, 'deny', 22_050)
    const arrival = made.ledger.find(line => line.kind === 'arrival' && line.attempt === 'att_asked')!
    Object.assign(arrival, { t: START_MS + 40_000 })
  }],
  ['I10', 'more left than a grant is good for', made => { Object.assign(saysOf(made, 'prop_grant'), { uses: 1 }) }],
  ['I10', 'a grant was asked for and not given', made => { Object.assign(saysOf(made, 'prop_grant'), { says: 'deny' }) }],
  ['I10', 'uses of a grant were counted beyond its end', made => { kept(made, 'prop_grant').uses = 3 }],
  ['I10', 'a yes is used up by what never left', made => { kept(made, 'prop_again').attemptId = 'att_left_not' }],
  ['I10', 'a yes is used up by nothing', made => { kept(made, 'prop_no').state = 'consumed' }],
  ['I10', 'a yes can still be used after it was', made => { Object.assign(kept(made, 'prop_yes'), { state: 'approved', attemptId: null }) }],
  ['I10', 'a yes that was asked for when the store had forgotten all that it would can still be used after it was', made => {
    forgotten(made)
    Object.assign(kept(made, 'prop_again'), { state: 'approved', attemptId: null, createdAtMs: START_MS + 24_900 })
  }],
]

/** One intention that a person approved twice. */
export const DONE_TWICE: ReadonlyArray<readonly [invariant: string, what: string, spoil: Spoil]> = [
  ['I1', 'one intention is asked for, approved and done twice', askedAgain],
  ['I1', 'what the store has forgotten is asked for, approved and done again', made => {
    forgotten(made)
    askedAgain(made)
  }],
]

export const EXCUSED_CONSENT: ReadonlyArray<readonly [what: string, spoil: Spoil]> = [
  ['what is denied was on its way, and the store had forgotten that', made => {
    forgotten(made)
    no(made, 'deny', 22_050)
  }],
  ['a store that was made to forget does not know that a yes was used', made => {
    forgotten(made)
    Object.assign(kept(made, 'prop_yes'), { state: 'approved', attemptId: null })
  }],
  ['a no comes too late and does not count', made => { no(made, 'deny', 23_000, { status: 409, state: 'consumed', taken: false }) }],
  ['what is withdrawn had been used up, and the agent is told so', made => { withdrawn(made, 'consumed') }],
]
