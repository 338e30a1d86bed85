// Contract: what is known of a run, the places of observations, the lists, the key.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StateUnavailable, type Place, type Store } from '../../src/store/store.ts'
import { begun, changed, done, draft, FREE, identity, nameFor, neighbours, reached } from './drafts.ts'
import type { OpenStore } from './contract.ts'

let serial = 0

function place (over: Partial<Place> & { readonly run?: string } = {}): Place {
  const { run = 'r1', tenant = 't1', ...rest } = over
  const runKey = identity.runKey({ iss: 'https://issuer.example', sub: 'agent', tenant, run })
  return { tag: identity.tag(tenant), tenant, runKey, action: 'read.v1', callId: `call-${++serial}`, ...rest }
}

const NO_LIMITS = { callsPerRun: null, concurrencyPerTenant: null }

export function runContract (name: string, open: OpenStore): void {
  lists(name, open)
  places(name, open)
  house(name, open)
}

function lists (name: string, open: OpenStore): void {
  test(`${name}: attempts of a run are listed latest first, as they are now, and no one else's`, async t => {
    const store = await open(t)
    const first = await reached(store, 'settled')
    await begun(store, { run: 'r2' })
    const second = await reached(store, 'unknown')
    const third = await begun(store, { upstream: 'bank' })
    assert.deepEqual(await store.ofRun(first.tag, first.runKey, 10), [third, second, first])
    assert.deepEqual(await store.ofRun(first.tag, first.runKey, 2), [third, second])
    assert.deepEqual(await store.ofRun(first.tag === '00' ? '01' : '00', first.runKey, 10), [])
  })

  test(`${name}: unresolved attempts of all tenants are listed oldest first, until they are settled`, async t => {
    const store = await open(t)
    await reached(store, 'dispatched')
    await reached(store, 'settled')
    const records = []
    for (const [index, state] of (['unknown', 'pending', 'escalated', 'unknown'] as const).entries()) {
      records.push(await reached(store, state, { tenant: `tenant-${index}` }))
      await new Promise(resolve => setTimeout(resolve, 2))
    }
    assert.deepEqual(await store.unresolved(10), records)
    assert.deepEqual(await store.unresolved(2), records.slice(0, 2))
    assert.deepEqual(await store.unresolved(0), [])
    await changed(store, records[0]!, { type: 'resolve', settlement: done(null) })
    assert.deepEqual(await store.unresolved(10), records.slice(1))
  })

  test(`${name}: stopped runs are listed once, however often they are stopped`, async t => {
    const store = await open(t)
    assert.deepEqual(await store.stoppedRuns(), [])
    const [one, other] = [place(), place({ tenant: 't9' })]
    await store.stopRun(one.tag, one.runKey)
    await store.stopRun(one.tag, one.runKey)
    await store.stopRun(other.tag, other.runKey)
    assert.deepEqual([...await store.stoppedRuns()].sort(), [one.runKey, other.runKey].sort())
  })

  test(`${name}: refusals are counted for each action of each run, each one once`, async t => {
    const store = await open(t)
    const { tag, runKey } = place()
    const counts = await Promise.all(Array.from({ length: 20 }, () => store.countRefusal(tag, runKey, 'change.v1')))
    assert.deepEqual([...counts].sort((one, two) => one - two), Array.from({ length: 20 }, (_, index) => index + 1))
    assert.equal(await store.countRefusal(tag, runKey, 'other.v1'), 1)
    assert.equal(await store.countRefusal(tag, place({ run: 'r2' }).runKey, 'change.v1'), 1)
    const counted = ['change.v1', 'other.v1', 'never.v1'].map(action => store.refusals(tag, runKey, action))
    assert.deepEqual(await Promise.all(counted), [20, 1, 0])
    assert.equal((await store.recall(nameFor(draft()))).calls, 0, 'a refusal spends no call')
  })
}

function places (name: string, open: OpenStore): void {
  test(`${name}: an observation takes a place and gives it back`, async t => {
    const store = await open(t)
    const limits = { callsPerRun: null, concurrencyPerTenant: 2 }
    const [one, two, three] = [place(), place({ run: 'r2' }), place({ run: 'r3' })]
    assert.equal(await store.enter(one, limits, 60_000), 'entered')
    assert.equal(await store.enter(two, limits, 60_000), 'entered')
    assert.equal(await store.enter(three, limits, 60_000), 'rate_limited')
    assert.equal(await store.enter(place({ action: 'other.v1' }), limits, 60_000), 'entered')
    await store.leave(one)
    await store.leave(one)
    assert.equal(await store.enter(three, limits, 60_000), 'entered')
    assert.equal(await store.enter(one, limits, 60_000), 'rate_limited')
  })

  test(`${name}: entering asked again spends nothing`, async t => {
    const store = await open(t)
    const one = place()
    for (let time = 0; time < 3; time++) assert.equal(await store.enter(one, { callsPerRun: 2, concurrencyPerTenant: 2 }, 60_000), 'entered')
    assert.equal(await store.enter(place(), { callsPerRun: 2, concurrencyPerTenant: 2 }, 60_000), 'entered')
    assert.equal(await store.enter(place(), { callsPerRun: 2, concurrencyPerTenant: 9 }, 60_000), 'budget_exhausted')
    assert.equal(await store.enter(place({ run: 'r2' }), { callsPerRun: 2, concurrencyPerTenant: 2 }, 60_000), 'rate_limited')
  })

  test(`${name}: a place whose caller died ends by itself`, async t => {
    const store = await open(t)
    const limits = { callsPerRun: null, concurrencyPerTenant: 1 }
    assert.equal(await store.enter(place(), limits, 150), 'entered')
    assert.equal(await store.enter(place(), limits, 150), 'rate_limited')
    await new Promise(resolve => setTimeout(resolve, 170))
    const next = place()
    assert.equal(await store.enter(next, limits, 60_000), 'entered')
    assert.equal(await store.enter(place(), limits, 60_000), 'rate_limited')
  })

  test(`${name}: a stopped run enters nothing, and refuses before anything else`, async t => {
    const store = await open(t)
    const one = place()
    assert.equal(await store.enter(one, NO_LIMITS, 60_000), 'entered')
    await store.stopRun(one.tag, one.runKey)
    assert.equal(await store.enter(place(), { callsPerRun: 1, concurrencyPerTenant: 1 }, 60_000), 'run_stopped')
    assert.equal(await store.enter(place({ run: 'r2' }), NO_LIMITS, 60_000), 'entered')
  })

  test(`${name}: the places of a tenant are its own`, async t => {
    const store = await open(t)
    const [one, other] = neighbours()
    const limits = { callsPerRun: null, concurrencyPerTenant: 1 }
    assert.equal(await store.enter(place({ tenant: one }), limits, 60_000), 'entered')
    assert.equal(await store.enter(place({ tenant: other }), limits, 60_000), 'entered')
    assert.equal(await store.enter(place({ tenant: one }), limits, 60_000), 'rate_limited')
  })
}

function house (name: string, open: OpenStore): void {
  test(`${name}: the state belongs to the key that it was first bound to`, async t => {
    const store = await open(t)
    const answers = await Promise.all(['a', 'b', 'a', 'b'].map(key => store.bindKey(key)))
    assert.deepEqual(answers, [true, false, true, false])
    assert.equal(await store.bindKey('a'), true)
    assert.equal(await store.bindKey('b'), false)
  })

  test(`${name}: a definition is kept once, and found by its digest alone`, async t => {
    const store = await open(t)
    const digest = 'd'.repeat(64)
    const text = 'x'.repeat(200_000)
    assert.equal(await store.definition(digest), null)
    await store.keepDefinition(digest, text)
    await store.keepDefinition(digest, 'another')
    assert.equal(await store.definition(digest), text)
    assert.equal(await store.definition('e'.repeat(64)), null)
  })

  test(`${name}: it answers a ping, and once closed it answers nothing`, async t => {
    const store = await open(t)
    await store.ping()
    const record = await begun(store)
    await store.close()
    await store.close()
    const asks: ReadonlyArray<(closed: Store) => Promise<unknown>> = [
      s => s.ping(), s => s.find(record.id), s => s.recall(nameFor(record)), s => s.begin(draft(), null, FREE),
      s => s.advance(record, { type: 'dispatch', token: record.token }), s => s.claimDue(1, 100), s => s.ofRun(record.tag, record.runKey, 1),
      s => s.unresolved(1), s => s.stopRun(record.tag, record.runKey), s => s.stoppedRuns(), s => s.countRefusal(record.tag, record.runKey, 'a.v1'),
      s => s.refusals(record.tag, record.runKey, 'a.v1'),
      s => s.enter(place(), NO_LIMITS, 100), s => s.leave(place()), s => s.bindKey('a'),
      s => s.keepDefinition('d', 'text'), s => s.definition('d'),
    ]
    for (const ask of asks) await assert.rejects(ask(store), StateUnavailable, ask.toString())
  })
}
