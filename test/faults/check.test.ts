// The checker itself: a good run has no violation, and each way of spoiling it is one of the invariant that it breaks. What cannot be flagged is not
// checked.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AttemptRecord, Settlement } from '../../src/attempts/attempt.ts'
import { INVARIANTS } from './check.ts'
import { askPeople, DONE_TWICE, EXCUSED_CONSENT, SPOILED_CONSENT } from './check-consent.ts'
import { STATE_LOSS, STATE_LOSS_LINE } from './evidence.ts'
import type { Arrival, AuditRow, Effect, Heard } from './folder.ts'
import { checkMade, Maker, START_MS, type Made } from './handmade.ts'

const byLookUp = { source: 'lookup', upstreamStatus: 200, by: null } as const
const NOT_APPLIED: Partial<Settlement> = { outcome: 'rejected', code: 'NOT_APPLIED', retryable: true, evidence: byLookUp }
const UNSENT: Partial<Settlement> = {
  outcome: 'rejected', sent: false, code: 'UPSTREAM_UNREACHABLE', retryable: true, evidence: { source: 'none', upstreamStatus: null, by: null },
}
const changing = (errand: string, text = errand): { action: string, object: string, args: { item: string, text: string } } =>
  ({ action: 'change_item.v1', object: 'item-1', args: { item: 'item-1', text } })

/** Every kind of end, and every story that the checker looks at by itself. */
function goodRun (): Made {
  const maker = new Maker()
    .write({ id: 'att_done', errand: 'done', atMs: 1_000, end: {} })
    .write({ id: 'att_found', errand: 'found', atMs: 2_000, mode: 'reset, done', end: { evidence: byLookUp } })
    .write({ id: 'att_absent', errand: 'twice', atMs: 3_000, mode: 'reset, not done', done: false, end: NOT_APPLIED })
    .write({ id: 'att_after', errand: 'twice', n: 1, atMs: 9_000, end: {} })
    .write({ id: 'att_pending', errand: 'pending', atMs: 10_000, mode: 'taken up, done later', done: false, end: 'pending' })
    .write({ id: 'att_unsent', errand: 'unsent', atMs: 11_000, arrives: false, end: UNSENT })
    .write({ id: 'att_note', errand: 'note', action: 'post_note.v1', atMs: 12_000, mode: 'silence, not done', done: false, end: 'unknown' })
    .write({
      id: 'att_one', errand: 'a', ...changing('a'), version: 1, target: 'target-1', story: 'again-with-key', run: 'run-2', atMs: 13_000, end: {},
    })
    .write({
      id: 'att_two', errand: 'b', ...changing('b'), version: 2, target: 'target-1', story: 'again-with-key', run: 'run-2', atMs: 14_000, end: {},
    })
    .write({
      id: 'att_free', errand: 'c', ...changing('c'), key: null, version: 3, target: 'target-1', story: 'again-without-key', run: 'run-3',
      atMs: 16_000, end: {},
    })
    .write({
      id: 'att_anew', errand: 'c', ...changing('c'), key: null, n: 1, version: 5, part: 'three', target: 'target-1', story: 'again-without-key',
      run: 'run-3', atMs: 18_000, end: {},
    })
  maker.ask(
    { errand: 'a', story: 'again-with-key', run: 'run-2', action: 'change_item.v1' }, changing('a').args,
    { attempt: 'att_one', duplicate: true, correlation: 'cor-again' }, 15_000, 15_050
  )
    .line('cor-again', 'completed', null, 15_040)
    .ask(
      { errand: 'done', story: 'changed', part: 'changed' }, { item: 'done', amount: 8 },
      { status: 422, outcome: 'rejected', sent: false, code: 'IDEMPOTENCY_KEY_REUSED', correlation: 'cor-changed' }, 1_200, 1_250
    )
    .line('cor-changed', 'rejected', 'IDEMPOTENCY_KEY_REUSED', 1_240)
    .ask(
      { errand: 'so', action: 'change_item.v1' }, changing('so', 'c').args,
      { outcome: 'already_in_desired_state', sent: false, correlation: 'cor-so' }, 20_000, 20_050
    )
    .line('cor-so', 'already_in_desired_state', null, 20_040)
  askPeople(maker)
  for (let call = 0; call < 120; call++) {
    maker.ask({ errand: `calm-${call}`, action: 'get_item.v1' }, {}, { correlation: `cor-calm-${call}` }, 75_000 + call, 75_010 + call)
      .line(`cor-calm-${call}`, 'completed', null, 75_005 + call)
  }
  return maker.made
}

type Spoil = (made: Made) => void

/** The store was made to forget at this moment of the run. */
function forget (made: Made, atMs: number): void {
  made.fired[`${STATE_LOSS}flushall`] = 1
  made.nemesis.push({ t: START_MS + atMs, what: `${STATE_LOSS_LINE}flushall` })
}
/** An agent heard of it while it was under way, and then it was forgotten. */
function underWay (made: Made, answer: Partial<Heard> = {}): void {
  forget(made, 50_000)
  const [ask, heard] = [made.history.find(line => line.kind === 'ask')!, heardOf(made, 'att_done')]
  const told = { status: 202, outcome: 'pending', sent: null, duplicate: true, correlation: null, attempt: 'att_way', ...answer }
  made.history.push(
    { ...ask, n: 100_001, t: START_MS + 49_000, verb: 'get', errand: 'way', attempt: 'att_way' } as never,
    { ...heard, ...told, n: 100_001, t: START_MS + 49_050 }
  )
}
/** The key of what is done was begun once more, after the store had forgotten it. */
function blindly (made: Made, more: { -readonly [K in keyof AttemptRecord]?: unknown } = {}): void {
  forget(made, 50_000)
  const settlement = { ...recordOf(made, 'att_unsent').settlement!, code: 'STATE_UNAVAILABLE' }
  const times = { preparedAtMs: START_MS + 50_100, dispatchedAtMs: null, settledAtMs: START_MS + 50_200 }
  const blind = { ...recordOf(made, 'att_done'), id: 'att_blind', n: 1, correlationId: 'cor-blind', settlement, ...times }
  change(blind, more)
  made.store.push(blind)
  made.audit.push({ ...rowOf(made, 'att_unsent', 'action.refused'), seq: 998, correlation_id: 'cor-blind', attempt: { id: 'att_blind' } })
}

const arrivalOf = (made: Made, id: string): Arrival => made.ledger.find(line => line.kind === 'arrival' && line.attempt === id) as Arrival
const effectOf = (made: Made, id: string): Effect => made.ledger.find(line => line.kind === 'effect' && line.attempt === id) as Effect
const recordOf = (made: Made, id: string): AttemptRecord => made.store.find(record => record.id === id)!
const change = <T extends object>(thing: T, more: Partial<{ -readonly [K in keyof T]: unknown }>): void => { Object.assign(thing, more) }
const heardOf = (made: Made, id: string): Heard => made.history.find(line => line.kind === 'heard' && line.attempt === id) as Heard
const endHeardOf = (made: Made, id: string): Heard =>
  made.history.find(line => line.kind === 'heard' && line.attempt === id && line.status === 200) as Heard
const rowOf = (made: Made, id: string, event: string): AuditRow => made.audit.find(row => row.attempt?.id === id && row.event === event)!
/** Somebody else ends it too. */
function resolvedTwice (made: Made, atMs = 1_500): AuditRow {
  const { step: _step, correlation_id: _correlation, ...row } = rowOf(made, 'att_done', 'execution.result')
  return { ...row, event: 'execution.resolved', seq: 999, time: new Date(START_MS + atMs).toISOString() }
}
const without = <T>(all: T[], wrong: (one: T) => boolean): void => { all.splice(0, all.length, ...all.filter(one => !wrong(one))) }

const SPOILED: ReadonlyArray<readonly [invariant: string, what: string, spoil: Spoil]> = [
  ['I1', 'an attempt has two effects', made => { made.ledger.push({ ...effectOf(made, 'att_done'), seq: 999 }) }],
  ['I1', 'two attempts of one intention have an effect each', made => {
    made.ledger.push({ ...effectOf(made, 'att_after'), seq: 999, attempt: 'att_absent' })
  }],
  ...DONE_TWICE,
  ['I1', 'an effect comes from nowhere', made => { change(effectOf(made, 'att_done'), { attempt: null }) }],
  ['I2', 'what is completed was not done', made => { without(made.ledger, line => line.kind === 'effect' && line.attempt === 'att_done') }],
  ['I2', 'what is completed was done otherwise', made => { change(effectOf(made, 'att_done'), { args: 'others' }) }],
  ['I2', 'what an agent heard as completed was not done', made => { change(heardOf(made, 'att_absent'), { outcome: 'completed', status: 200 }) }],
  ['I3', 'what is rejected was done', made => {
    made.ledger.push({ ...effectOf(made, 'att_done'), seq: 999, attempt: 'att_absent', errand: 'twice' })
  }],
  ['I3', 'what an agent heard as rejected was done', made => {
    change(heardOf(made, 'att_done'), { outcome: 'rejected', code: 'UPSTREAM_REJECTED' })
  }],
  ['I4', 'it was not so', made => {
    without(made.ledger, line => line.kind === 'effect' && (line.attempt === 'att_anew' || line.attempt === 'att_free'))
  }],
  ['I4', 'it was so long before', made => {
    made.ledger.push(
      { ...effectOf(made, 'att_two'), seq: 999, version: 6, t: START_MS + 18_200 },
      { ...effectOf(made, 'att_two'), seq: 1_000, version: 7, t: START_MS + 18_300 }
    )
    change(made.history.find(line => line.kind === 'ask' && line.errand === 'so')!, { t: START_MS + 30_000 })
    change(made.history.find(line => line.kind === 'heard' && line.correlation === 'cor-so')!, { t: START_MS + 30_050 })
  }],
  ['I5', 'what is pending has no reference', made => { change(recordOf(made, 'att_pending'), { reference: null }) }],
  ['I5', 'what is pending is due and was not looked at', made => { change(recordOf(made, 'att_pending'), { dueAtMs: START_MS + 90_000 }) }],
  ['I6', 'nothing is missing', made => { change(recordOf(made, 'att_note'), { missing: null }) }],
  ['I6', 'the log does not say what was missing', made => { delete (made.log[0] as { internal?: string }).internal }],
  ['I6', 'the upstream had given what is said to be missing', made => {
    change(arrivalOf(made, 'att_found'), { mode: 'honest' })
    change(made.log[0]!, { internal: 'the upstream answered 503, which does not say' })
  }],
  ['I7', 'what can be proved absent is still unknown and due', made => {
    change(recordOf(made, 'att_note'), { action: 'do_work.v1', dueAtMs: START_MS + 90_000 })
  }],
  ['I7', 'what can be proved absent was handed to a person', made => {
    change(recordOf(made, 'att_note'), { action: 'do_work.v1', state: 'escalated', dueAtMs: null })
  }],
  ['I7', 'it takes too long after healing', made => {
    change(recordOf(made, 'att_note'), { action: 'do_work.v1', dueAtMs: START_MS + 400_000 })
    change(made.run, { endedAtMs: START_MS + 800_000 })
  }],
  ['I8', 'what an agent heard of is not kept', made => { without(made.store, record => record.id === 'att_found') }],
  ['I8', 'what arrived is not kept', made => {
    without(made.store, record => record.id === 'att_note')
    without(made.history, line => line.kind === 'heard' && line.attempt === 'att_note')
  }],
  ['I8', 'what was forgotten had arrived', made => {
    underWay(made)
    made.ledger.push({ ...arrivalOf(made, 'att_absent'), seq: 999, attempt: 'att_way' })
  }],
  ['I8', 'a part of what was forgotten had arrived', made => {
    underWay(made)
    made.ledger.push({ kind: 'partial', seq: 999, t: START_MS + 49_010, attempt: 'att_way', bytes: 40, conn: 1 })
  }],
  ['I8', 'what was forgotten had been told as ended', made => { underWay(made, { status: 200, outcome: 'rejected', code: 'CANCELLED', sent: false }) }],
  ['I8', 'what was forgotten had been told as unknown', made => { underWay(made, { outcome: 'unknown', code: 'OUTCOME_UNKNOWN' }) }],
  ['I8', 'the audit tells how what was forgotten had ended', made => {
    underWay(made)
    made.audit.push({ ...resolvedTwice(made), attempt: { id: 'att_way' } })
  }],
  ['I8', 'what was under way is gone, and nothing was forgotten since', made => {
    underWay(made)
    change(made.nemesis[0]!, { t: START_MS + 48_000 })
  }],
  ['I9', 'two ends are told', made => { made.history.push({ ...heardOf(made, 'att_done'), n: 0, outcome: 'rejected', code: 'NOT_APPLIED' }) }],
  ['I9', 'another end is kept than was told', made => { change(recordOf(made, 'att_done').settlement!, { code: 'OTHER' }) }],
  ['I9', 'another outcome is kept than was told and could not be written down', made => {
    change(endHeardOf(made, 'att_absent'), { outcome: 'already_in_desired_state', code: null, recorded: false })
  }],
  ['I9', 'what had ended is open again', made => { new MakerOf(made).repeat('att_done', { status: 202, outcome: 'unknown' }, 40_000) }],
  ['I9', 'what had ended is open again, and forgotten only then', made => {
    forget(made, 40_200)
    new MakerOf(made).repeat('att_done', { status: 202, outcome: 'unknown' }, 40_000)
  }],
  ...SPOILED_CONSENT,
  ['I11', 'two effects on one version', made => { change(effectOf(made, 'att_two'), { version: 1 }) }],
  ['I11', 'two unsettled writes on one target', made => { change(recordOf(made, 'att_one'), { settledAtMs: START_MS + 14_500 }) }],
  ['I11', 'two unsettled writes on one target, of which the store forgot neither', made => {
    forget(made, 15_000)
    change(recordOf(made, 'att_one'), { settledAtMs: START_MS + 14_500 })
  }],
  ['I12', 'what was never sent arrived', made => { made.ledger.push({ ...arrivalOf(made, 'att_done'), seq: 999, attempt: 'att_unsent' }) }],
  ['I12', 'a part of what was never sent arrived', made => {
    made.ledger.push({ kind: 'partial', seq: 999, t: START_MS + 11_010, attempt: 'att_unsent', bytes: 40, conn: 1 })
  }],
  ['I12', 'a refused request dispatched', made => {
    change(
      made.history.find(line => line.kind === 'heard' && line.attempt === 'att_done')!,
      { status: 503, outcome: 'rejected', sent: false, attempt: null }
    )
  }],
  ['I13', 'it arrives twice', made => { made.ledger.push({ ...arrivalOf(made, 'att_done'), seq: 999 }) }],
  ['I13', 'it arrives in part and whole', made => {
    made.ledger.push({ kind: 'partial', seq: 999, t: START_MS + 1_010, attempt: 'att_done', bytes: 40, conn: 1 })
  }],
  ['I14', 'it arrives before the mark', made => { change(recordOf(made, 'att_done'), { dispatchedAtMs: START_MS + 1_500 }) }],
  ['I14', 'it arrives without a mark', made => { change(recordOf(made, 'att_done'), { dispatchedAtMs: null }) }],
  ['I14', 'it arrives before the mark, and the store forgets something else later', made => {
    forget(made, 2_000)
    change(recordOf(made, 'att_done'), { dispatchedAtMs: START_MS + 1_500 })
  }],
  ['I14', 'it arrives without an intent', made => { without(made.audit, row => row.attempt?.id === 'att_done' && row.event === 'execution.intent') }],
  ['I15', 'an ask has no end', made => { made.history.pop() }],
  ['I15', 'an ask takes too long', made => { change(made.history.at(-1)!, { t: START_MS + 200_000 }) }],
  ['I16', 'an end has two lines', made => { made.audit.push(resolvedTwice(made)) }],
  ['I16', 'an end has two lines, and is forgotten only behind them', made => {
    forget(made, 20_000)
    made.audit.push(resolvedTwice(made))
  }],
  ['I16', 'an end has no line', made => { without(made.audit, row => row.attempt?.id === 'att_found' && row.event === 'execution.resolved') }],
  ['I16', 'an end has no line, and its process stood still for a moment long before it was killed', made => {
    const { settledAtMs } = recordOf(made, 'att_found')
    without(made.audit, row => row.attempt?.id === 'att_found' && row.event === 'execution.resolved')
    made.nemesis.push({ t: settledAtMs! + 100, what: 'stop', ms: 500 }, { t: settledAtMs! + 6_200, what: 'kill' })
  }],
  ['I16', 'another end stands in the line', made => { change(rowOf(made, 'att_done', 'execution.result'), { outcome: 'rejected' }) }],
  ['I16', 'a call has no line', made => { without(made.audit, row => row.correlation_id === 'cor-changed') }],
  ['I16', 'an end is told of what is open', made => {
    made.audit.push({ ...rowOf(made, 'att_note', 'execution.unknown'), event: 'execution.resolved', seq: 999 })
  }],
  ['I17', 'a credential stands in a log', made => { made.files['more.log'] = 'sent credential-of-tenant-1' }],
  ['I17', 'a credential stands in base64 in the history', made => {
    change(made.history[0]!, { errand: Buffer.from('credential-of-tenant-0').toString('base64') })
  }],
  ['I17', 'an access token stands in a log', made => { made.files['more.log'] = 'Bearer eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhZ2VudCJ9.c2ln' }],
  ['I17', 'it comes with the credential of another tenant', made => { change(arrivalOf(made, 'att_done'), { tenant: 'tenant-1' }) }],
  ['I18', 'it arrives while the store is down', made => {
    made.nemesis.push({ t: START_MS + 8_000 - 2_500, what: 'redis', state: 'down' }, { t: START_MS + 9_500, what: 'redis', state: 'up' })
  }],
  ['I18', 'who asks while the store is down waits for it', made => {
    made.nemesis.push({ t: START_MS + 74_000, what: 'redis', state: 'down' }, { t: START_MS + 100_000, what: 'redis', state: 'up' })
    change(made.history.at(-1)!, { t: START_MS + 90_000 })
  }],
  ['I19', 'three of a hundred calls fail', made => {
    for (const line of made.history.slice(-8)) if (line.kind === 'heard') change(line, { status: 503, outcome: 'rejected', sent: false })
  }],
  ['repeats', 'a second attempt of a key that the first had not let go', made => {
    change(recordOf(made, 'att_absent').settlement!, { retryable: false })
  }],
  ['repeats', 'what was begun after its key was forgotten was marked as sent', made => { blindly(made, { dispatchedAtMs: START_MS + 50_150 }) }],
  ['repeats', 'what was begun after its key was forgotten is done', made => {
    blindly(made, { dispatchedAtMs: START_MS + 50_150, settlement: recordOf(made, 'att_done').settlement })
  }],
  ['repeats', 'of what was begun after its key was forgotten a part arrived', made => {
    blindly(made)
    made.ledger.push({ kind: 'partial', seq: 999, t: START_MS + 50_110, attempt: 'att_blind', bytes: 40, conn: 1 })
  }],
  ['repeats', 'a second attempt was begun before the store forgot anything', made => { blindly(made, { preparedAtMs: START_MS + 49_900 }) }],
  ['repeats', 'a third attempt follows one that was begun after its key was forgotten', made => {
    blindly(made)
    made.store.push({ ...recordOf(made, 'att_done'), id: 'att_third', n: 2, preparedAtMs: START_MS + 55_000, settledAtMs: START_MS + 55_100 })
  }],
  ['repeats', 'a second attempt before the first had ended', made => { change(recordOf(made, 'att_absent'), { settledAtMs: START_MS + 9_001 }) }],
  ['repeats', 'other arguments under a key are taken', made => {
    change(made.history.find(line => line.kind === 'heard' && line.correlation === 'cor-changed')!, { status: 200, outcome: 'completed' })
  }],
  ['repeats', 'other arguments under a key leave', made => {
    const asked = made.history.find(line => line.kind === 'ask' && line.part === 'changed') as { args: string }
    change(arrivalOf(made, 'att_note'), { args: asked.args })
  }],
  ['repeats', 'a call is told that it repeats itself', made => {
    const heard = made.history.find(line => line.kind === 'heard' && line.correlation === 'cor-changed')!
    change(heard, { status: 409, code: 'CALL_IN_PROGRESS' })
    change(recordOf(made, 'att_unsent'), { correlationId: 'cor-changed' })
  }],
  ['repeats', 'with the key of the first the third is another', made => {
    change(made.history.find(line => line.kind === 'heard' && line.correlation === 'cor-again')!, { attempt: 'att_two' })
  }],
  ['repeats', 'without a key the third is the first', made => {
    for (const line of made.history) if (line.kind === 'heard' && line.attempt === 'att_anew') change(line, { attempt: 'att_free' })
  }],
]

/** Adds to what is made. */
class MakerOf extends Maker {
  constructor (made: Made) {
    super()
    Object.assign(this.made, made)
  }

  repeat (id: string, answer: Partial<Heard>, atMs: number): void {
    const [ask, heard] = [this.made.history.find(line => line.kind === 'ask')!, heardOf(this.made, id)]
    const n = 100_000
    this.made.history.push({ ...ask, n, t: START_MS + atMs } as never, { ...heard, ...answer, correlation: null, n, t: START_MS + atMs + 10 })
  }
}

test('a good run has no violation, and everything that is built is checked', () => {
  const { violations, invariants, figures } = checkMade(goodRun())
  assert.deepEqual(violations, [])
  assert.deepEqual(Object.entries(invariants).filter(([, said]) => typeof said === 'string').map(([name]) => name), [])
  assert.deepEqual(figures.settledAfterLossMs.provable, { count: 2, p50: 4_975, p99: 4_975, max: 4_975 })
  assert.deepEqual([figures.residual, figures.arrivedLate, figures.calm], [{ provable: 1, notProvable: 1 }, 0, { calls: 120, served: 120 }])
})

for (const [invariant, what, spoil] of SPOILED) {
  test(`${invariant}: it is seen where ${what}`, () => {
    const made = goodRun()
    spoil(made)
    const { violations } = checkMade(made)
    const own = violations.filter(one => one.invariant === invariant)
    assert.ok(own.length > 0, `nothing is said of ${invariant}, but of ${violations.map(one => one.invariant)}`)
    for (const { evidence } of own) assert.ok(evidence.length > 0, 'it shows the lines that contradict each other')
  })
}

test('every invariant that is checked is seen to be broken', () => {
  const checked = INVARIANTS.filter(({ check }) => typeof check !== 'string').map(({ name }) => name)
  assert.deepEqual([...new Set(SPOILED.map(([name]) => name))], checked)
})

const EXCUSED: ReadonlyArray<readonly [what: string, spoil: Spoil]> = [
  ['what could not be written down when it was told is kept in the words of a look-up', made => {
    change(endHeardOf(made, 'att_absent'), { code: 'UPSTREAM_REJECTED', recorded: false })
  }],
  ['a process that is killed as it ends an attempt does not tell of it', made => {
    without(made.audit, row => row.attempt?.id === 'att_found' && row.event === 'execution.resolved')
    made.nemesis.push({ t: recordOf(made, 'att_found').settledAtMs! + 200, what: 'kill' })
  }],
  ['nor does one that is killed when the store, which went with its reply, is just back', made => {
    without(made.audit, row => row.attempt?.id === 'att_found' && row.event === 'execution.resolved')
    const atMs = recordOf(made, 'att_found').settledAtMs!
    made.nemesis.push(
      { t: atMs + 1_000, what: 'redis', state: 'down' }, { t: atMs + 3_600, what: 'redis', state: 'up' }, { t: atMs + 5_000, what: 'kill' })
  }],
  ['a process that stands still after an answer, until it is killed, does not tell of the call', made => {
    const last = made.audit.findLast(({ step }) => step !== undefined)!
    without(made.audit, row => row === last)
    made.nemesis.push({ t: Date.parse(last.time) + 9_000, what: 'kill' })
  }],
  ['a process that stands still longer than it has to tell of an end is killed when it wakes', made => {
    const { settledAtMs } = recordOf(made, 'att_found')
    without(made.audit, row => row.attempt?.id === 'att_found' && row.event === 'execution.resolved')
    made.nemesis.push({ t: settledAtMs! + 100, what: 'stop', ms: 6_000 }, { t: settledAtMs! + 6_200, what: 'kill' })
  }],
  ['the end of the first attempt of a key is known again when the second one was begun', made => {
    forget(made, 10_000)
    change(recordOf(made, 'att_absent'), { settledAtMs: START_MS + 11_000 })
  }],
  ['a process that stood still had read nothing of a call in time', made => {
    without(made.audit, row => row.correlation_id === 'cor-changed')
    change(made.history.find(line => line.kind === 'heard' && line.correlation === 'cor-changed')!, { status: 408, code: 'MALFORMED_REQUEST' })
  }],
  ['what stands in a journal alone is not lost', made => {
    without(made.store, record => record.id === 'att_found')
    made.files['journal-0'] = '{"id":"att_found"}'
  }],
  ['a store that was made to forget ends an attempt again', made => {
    forget(made, 20_000)
    made.audit.push(resolvedTwice(made, 21_000))
  }],
  ['a store that was made to forget tells of what had ended as open', made => {
    forget(made, 39_000)
    new MakerOf(made).repeat('att_done', { status: 202, outcome: 'unknown' }, 40_000)
  }],
  ['what a store was made to forget behind its mark is marked again', made => {
    forget(made, 1_100)
    change(recordOf(made, 'att_done'), { dispatchedAtMs: START_MS + 1_900 })
  }],
  ['of what a store was made to forget the end is told to it when another holds the target', made => {
    forget(made, 13_200)
    change(recordOf(made, 'att_one'), { settledAtMs: START_MS + 14_500 })
  }],
  ['the store forgets what was never sent, and of which nobody was told more than that it was under way', made => { underWay(made) }],
  ['a key that was forgotten is begun once more, and nothing of that is marked or sent', made => { blindly(made) }],
  ['a journal tells the store of it as if it had been marked', made => {
    blindly(made, { dispatchedAtMs: START_MS + 50_150, unknownAtMs: START_MS + 50_150 })
  }],
  ['what was begun blindly had been called before what it repeats', made => { blindly(made, { n: -1 }) }],
  ['what was begun blindly had been called after what is done once the key is known again', made => {
    blindly(made, { n: 3 })
    const settlement = { ...recordOf(made, 'att_unsent').settlement!, code: 'STATE_UNAVAILABLE' }
    const done = recordOf(made, 'att_done')
    made.store.push({ ...done, id: 'att_forgotten', correlationId: 'cor-forgotten', settlement, dispatchedAtMs: null })
    made.audit.push({ ...rowOf(made, 'att_unsent', 'action.refused'), seq: 997, correlation_id: 'cor-forgotten', attempt: { id: 'att_forgotten' } })
    change(done, { n: 2, preparedAtMs: START_MS + 51_000, dispatchedAtMs: START_MS + 51_010, settledAtMs: START_MS + 51_100 })
  }],
  ['what a person decided is not held against the ledger', made => {
    made.ledger.push({ ...effectOf(made, 'att_done'), seq: 999, attempt: 'att_absent', errand: 'twice', t: START_MS + 3_020 })
    without(made.ledger, line => line.kind === 'effect' && line.attempt === 'att_after')
    change(recordOf(made, 'att_absent').settlement!, { evidence: { source: 'person', upstreamStatus: null, by: 'h1' } })
    change(recordOf(made, 'att_after').settlement!, { evidence: { source: 'person', upstreamStatus: null, by: 'h1' } })
  }],
  ['an equal write on the same version has done what a look-up sees', made => {
    const equal = {
      ...recordOf(made, 'att_two'),
      id: 'att_equal',
      recordKey: 'record equal',
      correlationId: 'cor-equal',
      claims: { target: null, serialize: null, equal: 'e' },
    }
    change(equal, { settlement: { ...equal.settlement, evidence: byLookUp }, target: { type: 'item', id: 'item-1', version: 2 } })
    made.store.push(equal)
    made.audit.push({ ...resolvedTwice(made), attempt: { id: 'att_equal' } })
  }],
  ['an agent that goes away is not failed', made => {
    for (const line of made.history.slice(-40)) if (line.kind === 'heard') { const { n, t } = line; without(
      made.history, one => one === line
    ); made.history.push({ kind: 'lost', n, t, why: '23' }) }
  }],
  ...EXCUSED_CONSENT,
]

for (const [what, spoil] of EXCUSED) {
  test(`it is no violation where ${what}`, () => {
    const made = goodRun()
    spoil(made)
    assert.deepEqual(checkMade(made).violations, [])
  })
}

test('what arrives after everything of it must be over is the residual hole: counted, not called a rejection that was done', () => {
  const made = goodRun()
  const late = { ...arrivalOf(made, 'att_absent'), t: recordOf(made, 'att_absent').dispatchedAtMs! + 4_500 }
  without(made.ledger, line => line.attempt === 'att_absent')
  made.ledger.push(late, { ...effectOf(made, 'att_done'), seq: 999, attempt: 'att_absent', errand: 'late', t: late.t })
  const { violations, figures } = checkMade(made)
  assert.equal(figures.arrivedLate, 1)
  assert.deepEqual(violations.filter(({ invariant }) => invariant === 'I3'), [])
})
