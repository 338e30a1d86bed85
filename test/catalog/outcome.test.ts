// What an answer means: the rules of the sheet first, then the table. Every row of the table for both kinds of action.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Action, Bindings, Json, Verdict } from '../../src/catalog/catalog.ts'
import { retryAfterSeconds } from '../../src/catalog/retry-after.ts'
import { loadRead, loadWrite, type Shop } from './shop-folder.ts'

const NOW = '2026-11-30T10:00:00.000Z'
const CUSTOMER = { id: 'c_1', version: 8, state: 'active' }

export function answered (status: number, body: Json = CUSTOMER, headers: { [name: string]: string } = {}): Bindings {
  return {
    args: { customer_id: 'c_1', destination: { city: 'Rome' } },
    caller: { sub: 's', tenant: 't', run: 'r', claims: { customers: ['c_1'] } },
    reads: { customer: { status: 200, headers: {}, body: { ...CUSTOMER, version: 7, shipping_address: { city: 'Bern' } } } },
    values: { city: 'Bern' },
    target: { type: 'customer', id: 'c_1', version: 7 },
    attempt: { id: 'att_1', key: 'k-1', reference: null },
    response: { status, headers, body },
    now: NOW,
  }
}

const short = (verdict: Verdict): string => [
  verdict.outcome, verdict.code, verdict.retryable ? 'retryable' : '', verdict.lookFirst ? 'look first' : '',
].filter(Boolean).join(' ')

const noRules = (shop: Shop): void => { shop.write.outcomes = [] }
const noLookup = (shop: Shop): void => { shop.write.outcomes = []; shop.write.lookup = 'none' }

const TABLE: ReadonlyArray<readonly [status: number, observation: string, write: string, without: string]> = [
  [200, 'completed', 'completed', 'completed'],
  [201, 'completed', 'completed', 'completed'],
  // The document promises a body of every success.
  [204, 'completed', 'unknown OUTCOME_UNKNOWN', 'unknown OUTCOME_UNKNOWN'],
  [202, 'rejected RESULT_INVALID', 'pending', 'unknown OUTCOME_UNKNOWN'],
  [301, 'rejected UPSTREAM_REJECTED', 'unknown OUTCOME_UNKNOWN', 'unknown OUTCOME_UNKNOWN'],
  [303, 'rejected UPSTREAM_REJECTED', 'unknown OUTCOME_UNKNOWN', 'unknown OUTCOME_UNKNOWN'],
  [307, 'rejected UPSTREAM_REJECTED', 'unknown OUTCOME_UNKNOWN', 'unknown OUTCOME_UNKNOWN'],
  [101, 'rejected UPSTREAM_REJECTED', 'unknown OUTCOME_UNKNOWN', 'unknown OUTCOME_UNKNOWN'],
  [401, 'rejected CREDENTIAL_REFUSED', 'rejected CREDENTIAL_REFUSED', 'rejected CREDENTIAL_REFUSED'],
  [403, 'rejected CREDENTIAL_REFUSED', 'rejected CREDENTIAL_REFUSED', 'rejected CREDENTIAL_REFUSED'],
  [404, 'rejected UPSTREAM_NOT_FOUND', 'rejected UPSTREAM_NOT_FOUND look first', 'rejected UPSTREAM_NOT_FOUND'],
  [410, 'rejected UPSTREAM_NOT_FOUND', 'rejected UPSTREAM_NOT_FOUND look first', 'rejected UPSTREAM_NOT_FOUND'],
  [409, 'rejected UPSTREAM_CONFLICT', 'rejected UPSTREAM_CONFLICT look first', 'rejected UPSTREAM_CONFLICT'],
  [412, 'rejected UPSTREAM_CONFLICT', 'rejected UPSTREAM_CONFLICT look first', 'rejected UPSTREAM_CONFLICT'],
  [425, 'rejected UPSTREAM_RATE_LIMITED retryable', 'rejected UPSTREAM_RATE_LIMITED retryable', 'rejected UPSTREAM_RATE_LIMITED retryable'],
  [429, 'rejected UPSTREAM_RATE_LIMITED retryable', 'rejected UPSTREAM_RATE_LIMITED retryable', 'rejected UPSTREAM_RATE_LIMITED retryable'],
  [400, 'rejected UPSTREAM_REJECTED', 'rejected UPSTREAM_REJECTED', 'rejected UPSTREAM_REJECTED'],
  [422, 'rejected UPSTREAM_REJECTED', 'rejected UPSTREAM_REJECTED', 'rejected UPSTREAM_REJECTED'],
  [451, 'rejected UPSTREAM_REJECTED', 'rejected UPSTREAM_REJECTED', 'rejected UPSTREAM_REJECTED'],
  [408, 'rejected UPSTREAM_ERROR retryable', 'unknown OUTCOME_UNKNOWN', 'unknown OUTCOME_UNKNOWN'],
  [500, 'rejected UPSTREAM_ERROR retryable', 'unknown OUTCOME_UNKNOWN', 'unknown OUTCOME_UNKNOWN'],
  [503, 'rejected UPSTREAM_ERROR retryable', 'unknown OUTCOME_UNKNOWN', 'unknown OUTCOME_UNKNOWN'],
  [599, 'rejected UPSTREAM_ERROR retryable', 'unknown OUTCOME_UNKNOWN', 'unknown OUTCOME_UNKNOWN'],
]

test('without a rule the table decides, for observations and for writes with and without a look-up', async t => {
  const [read, write, blind] = [await loadRead(t), await loadWrite(t, noRules), await loadWrite(t, noLookup)]
  for (const [status, ...expected] of TABLE) {
    const bindings = answered(status, null)
    assert.deepEqual([read, write, blind].map(action => short(action.judge(bindings))), expected, String(status))
  }
})

test('every unknown names what is missing, and nothing else does', async t => {
  const write = await loadWrite(t, noRules)
  for (const [status] of TABLE) {
    const verdict = write.judge(answered(status, null))
    assert.equal(verdict.missing !== null, verdict.outcome === 'unknown', String(status))
    if (verdict.outcome === 'unknown') assert.ok(!/failed|retry/i.test(verdict.message!))
  }
})

test('a repeat after 425 and 429 is offered only where it is harmless upstream', async t => {
  const never = await loadWrite(
    t,
    shop => { shop.write.retry = 'never'; shop.write.outcomes.push({
      when: 'response.status == 425',
      outcome: 'rejected',
      error: 'UPSTREAM_RATE_LIMITED',
    }) }
  )
  assert.deepEqual([425, 429].map(status => never.judge(answered(status)).retryable), [false, false])
  const natural = await loadWrite(t, shop => { shop.write.retry = 'natural' })
  assert.equal(natural.judge(answered(429)).retryable, true)
})

test('Retry-After is read as seconds or a date and clamped to a second and an hour', async t => {
  const write = await loadWrite(t)
  const seconds = (value: string): number | null => write.judge(answered(429, null, { 'retry-after': value })).retryAfterSeconds
  assert.deepEqual(['0', '1', '120', '7200', '999999999999', ' 5 '].map(seconds), [1, 1, 120, 3600, 3600, 5])
  assert.deepEqual(['Mon, 30 Nov 2026 10:00:30 GMT', 'Mon, 30 Nov 2026 09:00:00 GMT', 'Tue, 01 Dec 2026 10:00:00 GMT'].map(seconds), [30, 1, 3600])
  assert.deepEqual(['', '-1', '1.5', '1e3', 'soon', 'May', '5, 6', 'NaN'].map(seconds), Array(8).fill(null))
  assert.equal(retryAfterSeconds({ status: 429, headers: {}, body: null }, NOW), null)
  assert.equal(write.judge(answered(404, null, { 'retry-after': '5' })).retryAfterSeconds, null)
})

test('the first rule that matches wins', async t => {
  const action = await loadWrite(t, shop => {
    shop.write.outcomes = [
      { when: 'response.status == 409 && response.body.code == "same"', outcome: 'already_in_desired_state' },
      { when: 'response.status == 409', outcome: 'rejected', error: 'ADDRESS_LOCKED', message: 'The address is locked.', retryable: true },
      { when: 'response.status == 503', outcome: 'rejected', error: 'UPSTREAM_ERROR' },
      { when: 'response.status == 200 && response.body.state == "deleted"', outcome: 'rejected' },
    ]
  })
  assert.equal(short(action.judge(answered(409, { code: 'same' }))), 'already_in_desired_state')
  const locked = action.judge(answered(409, { code: 'locked' }))
  assert.equal(short(locked), 'rejected ADDRESS_LOCKED retryable')
  assert.equal(locked.message, 'The address is locked.')
  // A rule that fails to evaluate is no match where the upstream refused.
  assert.equal(short(action.judge(answered(409, null))), 'rejected ADDRESS_LOCKED retryable')
  assert.equal(short(action.judge(answered(503, null))), 'rejected UPSTREAM_ERROR retryable')
  assert.equal(short(action.judge(answered(200, { ...CUSTOMER, state: 'deleted' }))), 'rejected UPSTREAM_REJECTED')
  assert.deepEqual(action.errors, [
    { code: 'CUSTOMER_DELETED', message: 'The customer has been deleted.', retryable: false },
    { code: 'ADDRESS_LOCKED', message: 'The address is locked.', retryable: true },
    { code: 'CHANGE_FAILED', message: 'The shop could not change the address.', retryable: false },
  ])
})

test('a rule of the sheet is believed: no look first', async t => {
  const verdict = (await loadWrite(t)).judge(answered(412))
  assert.equal(short(verdict), 'rejected VERSION_CONFLICT')
})

test('a rule of a write that cannot be evaluated on a success leaves it unknown, on anything else it is no match', async t => {
  const rules = [{ when: 'response.body.state == "active"', outcome: 'completed' }]
  const write = await loadWrite(t, shop => { shop.write.outcomes = rules })
  const read = await loadRead(t, shop => { shop.read.outcomes = rules })
  assert.equal(write.judge(answered(200, { id: 'c_1' })).outcome, 'unknown')
  assert.match(write.judge(answered(200, { id: 'c_1' })).missing!, /could not be evaluated: response\.body\.state/)
  assert.equal(short(write.judge(answered(404, {}))), 'rejected UPSTREAM_NOT_FOUND look first')
  assert.equal(read.judge(answered(200, { id: 'c_1' })).outcome, 'completed')
})

test('an integer that is not exact in what a rule reads leaves a write unknown', async t => {
  const write = await loadWrite(t, shop => { shop.write.outcomes = [{ when: 'response.body.version > 3', outcome: 'completed' }] })
  assert.equal(write.judge(answered(200, { ...CUSTOMER, version: 2 ** 53 })).outcome, 'unknown')
  assert.equal(write.judge(answered(200, CUSTOMER)).outcome, 'completed')
})

test('a sheet that says what a success looks like does not take anything else for one', async t => {
  const write = await loadWrite(
    t,
    shop => { shop.write.outcomes = [{ when: 'response.status == 200 && response.body.state == "active"', outcome: 'completed' }] }
  )
  assert.equal(write.judge(answered(200)).outcome, 'completed')
  const verdict = write.judge(answered(200, { ...CUSTOMER, state: 'deleted' }))
  assert.equal(verdict.outcome, 'unknown')
  assert.match(verdict.missing!, /no rule/)
})

test('a pending call keeps what the look-up needs, and is unknown where that cannot be read', async t => {
  const write = await loadWrite(t)
  const pending = write.judge(answered(202, { job_id: 'j_1' }, { 'retry-after': '7' }))
  assert.deepEqual([pending.outcome, pending.reference, pending.retryAfterSeconds], ['pending', 'j_1', 7])
  const lost = write.judge(answered(202, {}))
  assert.deepEqual([lost.outcome, lost.reference], ['unknown', null])
})

test('an observation may be pending by rule', async t => {
  const read = await loadRead(
    t,
    shop => { shop.read.outcomes = [{ when: 'response.status == 202', outcome: 'pending', reference: '${response.headers.location}' }] }
  )
  assert.deepEqual(
    [read.judge(answered(202, null, { location: '/x' })).outcome, read.judge(answered(202, null, { location: '/x' })).reference],
    ['pending', '/x']
  )
})

test('the result of a rule fits the schema of the result, or is none', async t => {
  const result = async (template: unknown, body: Json = CUSTOMER): Promise<Json | undefined> => {
    const action: Action = await loadWrite(
      t,
      shop => { shop.write.outcomes = [
        { when: 'response.status == 200', outcome: 'completed', ...(template === undefined ? {} : { result: template }) },
      ] }
    )
    return action.judge(answered(200, body)).result
  }
  assert.equal(await result(undefined), undefined)
  assert.deepEqual(
    await result({ customer_id: '${args.customer_id}', new_version: '${response.body.version}' }),
    { customer_id: 'c_1', new_version: 8 }
  )
  assert.deepEqual(
    await result({ customer_id: 'c_1', new_version: 3, ssn: '${response.body.ssn}' }, { ...CUSTOMER, ssn: '078' }),
    { customer_id: 'c_1', new_version: 3 }
  )
  assert.equal(await result({ customer_id: 'c_1', new_version: 'x' }), null)
  assert.equal(await result({ customer_id: 'c_1', new_version: '${response.body.version}' }, { id: 'c_1' }), null)
})

test('judging never throws, whatever the answer is', async t => {
  const [read, write] = [await loadRead(t), await loadWrite(t)]
  for (const body of [null, 1, 'x', [], {}, { version: 'x' }, JSON.parse('{"__proto__": 1}') as Json]) {
    for (const status of [100, 200, 202, 299, 300, 404, 412, 500]) {
      for (const action of [read, write]) assert.ok(action.judge(answered(status, body)).outcome)
    }
  }
  assert.equal(write.judge({ ...answered(200), response: null }).outcome, 'unknown')
})
