// Look-ups: what is asked, what the answer means, and when finding nothing is allowed to prove anything.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Bindings, Json } from '../../src/catalog/catalog.ts'
import { loadWrite, type Shop } from './shop-folder.ts'

const asked = (body: Json, status = 200): Bindings => ({
  args: { customer_id: 'c_1', destination: { city: 'Rome' } },
  caller: { sub: 's', tenant: 't', run: 'r', claims: {} },
  reads: {},
  values: { city: 'Bern' },
  target: { type: 'customer', id: 'c_1', version: 7 },
  attempt: { id: 'att_1', key: 'k-1', reference: null },
  response: { status, headers: { 'content-type': 'application/json' }, body },
  now: '2026-11-30T10:00:00.000Z',
})

const DONE = { key: 'k-1', state: 'done', version: 8 }

test('the look-up asks by the key of the attempt, with nothing but what the attempt keeps', async t => {
  const { lookup } = await loadWrite(t)
  const placed = lookup!.request.place({ ...asked(null), response: null })
  assert.deepEqual([placed.operation.id, placed.query, placed.body, placed.path], ['listOperations', { key: 'k-1' }, undefined, {}])
  assert.equal(lookup!.ownId, true)
})

test('the item that is found decides, by the first rule that matches', async t => {
  const lookup = (await loadWrite(t)).lookup!
  const done = lookup.judge(asked({ items: [{ key: 'k-0', state: 'failed' }, DONE] }))!
  assert.deepEqual([done.outcome, done.result], ['completed', { customer_id: 'c_1', new_version: 8 }])
  const failed = lookup.judge(asked({ items: [{ ...DONE, state: 'failed' }] }))!
  assert.deepEqual([failed.outcome, failed.code, failed.message], ['rejected', 'CHANGE_FAILED', 'The shop could not change the address.'])
  assert.equal(lookup.judge(asked({ items: [{ ...DONE, state: 'running' }] }))!.outcome, 'pending')
})

test('finding nothing is no evidence of anything but absence', async t => {
  const lookup = (await loadWrite(t)).lookup!
  const nothing = asked({ items: [{ key: 'k-0', state: 'done' }] })
  assert.equal(lookup.judge(nothing), null)
  assert.equal(lookup.absent!.holds(nothing), true)
  assert.equal(lookup.absent!.settlesAfterMs, 30_000)
  assert.equal(lookup.absent!.holds(asked({ items: [DONE] })), false)
})

const NO_EVIDENCE: ReadonlyArray<readonly [what: string, bindings: Bindings]> = [
  ['no list', asked({})],
  ['a list that is none', asked({ items: 'none' })],
  ['a body that is none', asked(null)],
  ['an item that cannot be read', asked({ items: [{ state: 'done' }] })],
  ['an item of another type', asked({ items: ['k-1'] })],
  ['more items than are looked through', asked({ items: Array(1001).fill({ key: 'k-0', state: 'x' }) })],
  ['another status', asked({ items: [] }, 404)],
]

for (const [what, bindings] of NO_EVIDENCE) {
  test(`an answer with ${what} proves nothing`, async t => {
    const lookup = (await loadWrite(t)).lookup!
    assert.equal(lookup.judge(bindings), null)
    assert.equal(lookup.absent!.holds(bindings), false)
  })
}

test('a rule that cannot be evaluated does not match, and the next one is asked', async t => {
  const lookup = (await loadWrite(t, shop => {
    shop.write.lookup.outcomes.unshift({ when: 'found.value().version > 3', outcome: 'rejected' })
  })).lookup!
  assert.equal(lookup.judge(asked({ items: [{ key: 'k-1', state: 'done' }] }))!.outcome, 'completed')
  assert.equal(lookup.judge(asked({ items: [{ ...DONE, version: 2 ** 53 }] }))!.outcome, 'completed')
  assert.equal(lookup.judge(asked({ items: [{ ...DONE, version: 4 }] }))!.outcome, 'rejected')
})

test('a result that cannot be made of what was found is none, and the outcome stands', async t => {
  const verdict = (await loadWrite(t)).lookup!.judge(asked({ items: [{ key: 'k-1', state: 'done' }] }))!
  assert.deepEqual([verdict.outcome, verdict.result], ['completed', null])
})

test('without find the answer itself is judged', async t => {
  const lookup = (await loadWrite(t, natural)).lookup!
  assert.equal(lookup.ownId, false)
  assert.equal(lookup.judge(asked({ id: 'c_1', version: 8, shipping_address: { city: 'Rome' } }))!.outcome, 'completed')
  assert.equal(lookup.judge(asked({ id: 'c_1', version: 8, shipping_address: { city: 'Bern' } })), null)
  assert.deepEqual([7, 8].map(version => lookup.absent!.holds(asked({ id: 'c_1', version, shipping_address: { city: 'Bern' } }))), [true, false])
})

test('a rejection is looked up first only where the look-up knows the attempt from all others', async t => {
  const refused = asked(null, 409)
  assert.equal((await loadWrite(t)).judge(refused).lookFirst, true)
  assert.equal((await loadWrite(t, natural)).judge(refused).lookFirst, false)
})

test('a reference that the upstream gave is an id of the attempt', async t => {
  const lookup = (await loadWrite(t, shop => {
    shop.write.lookup = {
      operation: 'getCustomer',
      path: { id: '${attempt.reference}' },
      outcomes: [{ when: 'response.status == 200', outcome: 'completed' }],
      absent: { when: 'response.status == 404', settles_after: '1m' },
    }
  })).lookup!
  assert.equal(lookup.ownId, true)
  assert.throws(() => lookup.request.place(asked(null)), /reference/)
  assert.deepEqual(lookup.request.place({ ...asked(null), attempt: { id: 'a', key: 'k', reference: 'job 7' } }).path, { id: 'job 7' })
})

test('a look-up that a person replaces is none', async t => {
  assert.equal((await loadWrite(t, shop => { shop.write.lookup = 'none'; shop.write.outcomes.pop() })).lookup, null)
})

function natural (shop: Shop): void {
  shop.write.retry = 'natural'
  delete shop.write.idempotency
  shop.write.lookup = {
    operation: 'getCustomer',
    path: { id: '${args.customer_id}' },
    outcomes: [{ when: 'response.body.shipping_address == args.destination', outcome: 'completed' }],
    absent: { when: 'response.body.version == target.version', settles_after: '30s' },
  }
}
