// Contract: recall and begin. All or nothing, in the documented order, the same again for the same token.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Begun } from '../../src/store/store.ts'
import { begun, changed, done, draft, FREE, free, nameFor, neighbours, neverSent, reached, rejected, settle, type Reached } from './drafts.ts'
import type { OpenStore } from './contract.ts'

export function beginContract (name: string, open: OpenStore): void {
  repeats(name, open)
  keys(name, open)
  budgets(name, open)
  claims(name, open)
}

function repeats (name: string, open: OpenStore): void {
  test(`${name}: what was begun is found as it was begun, stamped by the store's clock`, async t => {
    const store = await open(t)
    const args = { list: [], nothing: null, text: 'Ünïcode \u2028 "quoted"', amount: 0.1, deep: { a: [{ b: [] }] } }
    const record = draft({ target: 'c1', args })
    const answer = await store.begin(record, null, FREE)
    assert.equal(answer.kind, 'begun')
    const { record: stored } = answer as Extract<Begun, { kind: 'begun' }>
    assert.deepEqual({ ...stored, preparedAtMs: 0, dueAtMs: null }, record)
    assert.ok(stored.preparedAtMs > 0 && stored.dueAtMs! > stored.preparedAtMs)
    assert.deepEqual(await store.find(record.id), stored)
    assert.deepEqual((await store.recall(nameFor(record))).finding, { kind: 'in_progress', record: stored })
  })

  test(`${name}: begin asked again under the same token answers begun and spends nothing, however far the attempt has come`, async t => {
    const store = await open(t)
    const record = draft({ target: 'c1' })
    const limits = { callsPerRun: 1, concurrencyPerTenant: 1, unresolvedMax: 1 }
    const first = await store.begin(record, null, limits)
    assert.deepEqual(await store.begin(record, null, limits), first)
    let now = await changed(store, record, { type: 'dispatch', token: record.token })
    assert.deepEqual(await store.begin(record, null, limits), { kind: 'begun', record: now })
    now = await settle(store, now)
    await store.stopRun(record.tag, record.runKey)
    assert.deepEqual(await store.begin(record, null, limits), { kind: 'begun', record: now })
    assert.equal((await store.recall(nameFor(record))).calls, 1)
    assert.equal((await store.ofRun(record.tag, record.runKey, 10)).length, 1)
  })

  test(`${name}: of 50 equal begins at once one is begun, and the others hear of it`, async t => {
    const store = await open(t)
    const args = { same: true }
    const answers = await Promise.all(Array.from({ length: 50 }, () => store.begin(draft({ args, target: 'c1' }), null, FREE)))
    const winners = answers.filter(answer => answer.kind === 'begun')
    assert.equal(winners.length, 1)
    const { record } = winners[0] as Extract<Begun, { kind: 'begun' }>
    for (const answer of answers) {
      if (answer.kind === 'begun') continue
      assert.equal(answer.kind, 'recalled')
      assert.deepEqual(answer.recalled.finding, { kind: 'in_progress', record })
    }
    assert.equal((await store.recall(nameFor(record))).calls, 1)
  })

  test(`${name}: what is not a prepared attempt is not begun, and leaves nothing`, async t => {
    const store = await open(t)
    const record = draft()
    await assert.rejects(store.begin({ ...record, state: 'dispatched' }, null, FREE), TypeError)
    await assert.rejects(store.begin({ ...record, tag: record.tag === '00' ? '01' : '00' }, null, FREE), TypeError)
    await assert.rejects(store.begin({ ...record, token: '' }, null, FREE), TypeError)
    assert.equal(await store.find(record.id), null)
    assert.equal((await store.recall(nameFor(record))).calls, 0)
  })

  test(`${name}: one begin that is refused does not disturb those asked in the same turn`, async t => {
    const store = await open(t)
    const [one, bad, two] = await Promise.allSettled([
      store.begin(draft(), null, FREE), store.begin({ ...draft(), state: 'settled' }, null, FREE), store.begin(draft(), null, FREE),
    ])
    assert.equal(bad.status, 'rejected')
    for (const answer of [one, two]) assert.equal(answer.status === 'fulfilled' && answer.value.kind, 'begun')
  })
}

function keys (name: string, open: OpenStore): void {
  test(`${name}: an unused key is free, and nothing is begun without it being known how it was`, async t => {
    const store = await open(t)
    const record = draft()
    const { atMs, ...recalled } = await store.recall(nameFor(record))
    assert.ok(atMs > 0)
    assert.deepEqual(recalled, { finding: { kind: 'free', n: 0, g: 0, since: 0, after: null }, runStopped: false, calls: 0, unresolved: 0 })
    const stale = await store.begin(record, { id: record.id, revision: 4 }, FREE)
    assert.equal(stale.kind, 'recalled')
    assert.deepEqual((stale as Extract<Begun, { kind: 'recalled' }>).recalled.finding, { kind: 'free', n: 0, g: 0, since: 0, after: null })
    assert.equal(await store.find(record.id), null)
  })

  for (const state of ['dispatched', 'unknown', 'pending', 'escalated', 'settled'] as const) {
    test(`${name}: a repeat of an attempt that is ${state} is its duplicate`, async t => {
      const store = await open(t)
      const record = await reached(store, state, { args: { a: 1 } })
      const { finding } = await store.recall(nameFor(record))
      assert.deepEqual(finding, { kind: 'duplicate', record: await store.find(record.id) })
      const answer = await store.begin(draft({ args: { a: 1 } }), null, FREE)
      assert.equal(answer.kind, 'recalled')
      assert.deepEqual((answer as Extract<Begun, { kind: 'recalled' }>).recalled.finding, finding)
    })
  }

  test(`${name}: a key that was used with other arguments is refused, whatever became of them`, async t => {
    const store = await open(t)
    const first = await begun(store, { key: 'k', args: { a: 1 } })
    const other = draft({ key: 'k', args: { a: 2 } })
    assert.equal(other.recordKey, first.recordKey)
    assert.deepEqual((await store.recall(nameFor(other))).finding, { kind: 'key_reused' })
    await settle(store, first, neverSent())
    assert.deepEqual((await store.recall(nameFor(other))).finding, { kind: 'key_reused' })
    assert.equal((await store.begin(other, null, FREE)).kind, 'recalled')
  })

  test(`${name}: a freed key begins the next attempt, once, and only by whoever knows the one before`, async t => {
    const store = await open(t)
    const first = await settle(store, await begun(store, { args: { a: 1 } }), neverSent())
    const place = free(await store.recall(nameFor(first)))
    assert.deepEqual(place, { kind: 'free', n: 1, g: 0, since: 0, after: { id: first.id, revision: first.revision } })
    const unaware = await store.begin(draft({ args: { a: 1 } }), null, FREE)
    assert.deepEqual(unaware.kind === 'recalled' && unaware.recalled.finding, place)
    const answers = await Promise.all(Array.from({ length: 20 }, () => store.begin(draft({ args: { a: 1 }, n: 1 }), place.after, FREE)))
    assert.equal(answers.filter(answer => answer.kind === 'begun').length, 1)
    assert.equal(answers.filter(answer => answer.kind === 'recalled').length, 19)
    const late = await store.begin(draft({ args: { a: 1 } }), null, FREE)
    const told = late.kind === 'recalled' && late.recalled.finding.kind === 'in_progress' ? late.recalled.finding.record.n : null
    assert.equal(told, 1, 'the latest one is told, though an older one has the id that was asked for')
  })

  test(`${name}: the upstream key changes with a new attempt unless the upstream provably saw nothing`, async t => {
    const store = await open(t)
    const dispatched = await reached(store, 'dispatched', { args: { a: 1 } })
    const refused = await settle(store, dispatched, rejected('UPSTREAM_RATE_LIMITED', true))
    assert.equal(free(await store.recall(nameFor(refused))).g, 1)
    const lost = await reached(store, 'dispatched', { args: { a: 2 } })
    const absent = await settle(store, lost, { ...rejected('NOT_APPLIED', true), sent: true })
    assert.equal(free(await store.recall(nameFor(absent))).g, 0)
  })

  test(`${name}: a settled attempt without a key answers for its repeats until the run writes something else to that upstream`, async t => {
    const store = await open(t)
    const first = await reached(store, 'settled', { args: { a: 1 } })
    const keyed = await reached(store, 'settled', { args: { a: 1 }, key: 'k' })
    assert.equal((await store.recall(nameFor(first))).finding.kind, 'free', 'the keyed write came after it')
    const again = await reached(store, 'settled', { args: { a: 3 } })
    await begun(store, { args: { b: 1 }, upstream: 'bank' })
    await begun(store, { args: { b: 1 }, run: 'r2' })
    assert.equal((await store.recall(nameFor(again))).finding.kind, 'duplicate', 'neither another upstream nor another run matters')
    await begun(store, { args: { b: 2 } })
    assert.deepEqual(free(await store.recall(nameFor(again))), { kind: 'free', n: 1, g: 1, since: 1, after: { id: again.id, revision: again.revision } })
    assert.equal((await store.recall(nameFor(keyed))).finding.kind, 'duplicate', 'a key is never forgotten')
  })
}

function budgets (name: string, open: OpenStore): void {
  test(`${name}: a stopped run begins nothing more, and only that run`, async t => {
    const store = await open(t)
    const taken = await reached(store, 'unknown', { args: { a: 1 } })
    const record = draft()
    await store.stopRun(record.tag, record.runKey)
    assert.deepEqual(await store.begin(record, null, FREE), { kind: 'run_stopped' })
    assert.deepEqual(await store.begin(draft({ args: { a: 1 } }), null, FREE), { kind: 'run_stopped' })
    assert.equal((await store.recall(nameFor(record))).runStopped, true)
    assert.equal(await store.find(record.id), null)
    await settle(store, taken)
    await begun(store, { run: 'r2' })
  })

  test(`${name}: of begins and a stop at once, none begins after the stop was acknowledged`, async t => {
    const store = await open(t)
    const record = draft()
    let acknowledged = false
    const answers = Array.from({ length: 30 }, async (_, index) => {
      for (let turn = 0; turn < index; turn++) await new Promise(resolve => setImmediate(resolve))
      const late = acknowledged
      return { late, answer: await store.begin(draft(), null, FREE) }
    })
    await store.stopRun(record.tag, record.runKey)
    acknowledged = true
    for (const { late, answer } of await Promise.all(answers)) {
      assert.ok(!late || answer.kind === 'run_stopped')
    }
    assert.deepEqual(await store.begin(draft(), null, FREE), { kind: 'run_stopped' })
  })

  test(`${name}: a run has so many calls of an action, spent by what is begun and not by what is refused`, async t => {
    const store = await open(t)
    const limits = { ...FREE, callsPerRun: 3 }
    const answers = await Promise.all(Array.from({ length: 10 }, () => store.begin(draft(), null, limits)))
    assert.equal(answers.filter(answer => answer.kind === 'begun').length, 3)
    assert.equal(answers.filter(answer => answer.kind === 'budget_exhausted').length, 7)
    assert.equal((await store.recall(nameFor(draft()))).calls, 3)
    await begun(store, { action: 'other.v1' }, null, limits)
    await begun(store, { run: 'r2' }, null, limits)
  })

  test(`${name}: too many unresolved attempts of an action stop the next one, until one of them is settled`, async t => {
    const store = await open(t)
    const limits = { ...FREE, unresolvedMax: 3 }
    await reached(store, 'prepared')
    await reached(store, 'dispatched')
    await reached(store, 'unknown', { run: 'r2' })
    await reached(store, 'pending')
    assert.equal((await store.recall(nameFor(draft()))).unresolved, 2)
    const third = await reached(store, 'escalated')
    assert.deepEqual(await store.begin(draft(), null, limits), { kind: 'unresolved_limit' })
    await begun(store, { action: 'other.v1' }, null, limits)
    await changed(store, third, { type: 'resolve', settlement: done(null) })
    await begun(store, {}, null, limits)
  })

  test(`${name}: a tenant has so many places for an action; settling gives one back`, async t => {
    const store = await open(t)
    const limits = { ...FREE, concurrencyPerTenant: 2 }
    const first = await begun(store, {}, null, limits)
    await begun(store, { run: 'r2' }, null, limits)
    assert.deepEqual(await store.begin(draft(), null, limits), { kind: 'rate_limited' })
    await begun(store, { action: 'other.v1' }, null, limits)
    await settle(store, first, neverSent())
    await begun(store, {}, null, limits)
    assert.deepEqual(await store.begin(draft(), null, limits), { kind: 'rate_limited' })
  })

  test(`${name}: a tenant never spends what is another's, though their records lie together`, async t => {
    const store = await open(t)
    const [one, other] = neighbours()
    const limits = { callsPerRun: 1, concurrencyPerTenant: 1, unresolvedMax: 1 }
    const mine = await reached(store, 'unknown', { tenant: one, target: 'c1', args: { a: 1 } })
    assert.deepEqual(await store.begin(draft({ tenant: one, run: 'r3' }), null, limits), { kind: 'unresolved_limit' })
    assert.equal((await store.recall(nameFor(draft({ tenant: other })))).unresolved, 0)
    const theirs = await begun(store, { tenant: other, target: 'c1', args: { a: 1 } }, null, limits)
    assert.equal(theirs.tag, mine.tag)
    assert.equal((await store.ofRun(theirs.tag, theirs.runKey, 10)).length, 1)
  })

  test(`${name}: the refusals come in the documented order`, async t => {
    const store = await open(t)
    await reached(store, 'unknown', { run: 'r2', args: { a: 1 }, target: 'c1' })
    await store.begin(draft({ args: { a: 2 } }), null, { ...FREE, concurrencyPerTenant: 1 })
    const args = { a: 1 }
    const target = 'c1'
    const tight = { callsPerRun: 1, concurrencyPerTenant: 1, unresolvedMax: 1 }
    const ask = async (limits: typeof FREE, over = {}): Promise<string> => (await store.begin(draft({ args, target, ...over }), null, limits)).kind
    assert.equal((await store.begin(draft({ args }), { id: 'att_none', revision: 1 }, tight)).kind, 'recalled')
    assert.equal(await ask(tight), 'budget_exhausted')
    assert.equal(await ask({ ...tight, callsPerRun: 9 }), 'unresolved_limit')
    assert.equal(await ask({ ...tight, callsPerRun: 9, unresolvedMax: 9 }), 'target_busy')
    assert.equal(await ask({ ...tight, callsPerRun: 9, unresolvedMax: 9 }, { target: 'c2' }), 'target_busy', 'an equal write is unknown')
    assert.equal(await ask({ ...tight, callsPerRun: 9, unresolvedMax: 9 }, { target: 'c2', args: { a: 3 } }), 'rate_limited')
    assert.equal(await ask(FREE, { target: 'c2', args: { a: 3 } }), 'begun')
    await store.stopRun(draft().tag, draft().runKey)
    assert.equal(await ask(tight), 'run_stopped')
  })
}

function claims (name: string, open: OpenStore): void {
  const busy: readonly Reached[] = ['prepared', 'dispatched', 'unknown', 'pending', 'escalated']
  for (const held of ['target', 'serialize'] as const) {
    for (const state of busy) {
      test(`${name}: a ${held} that a ${state} attempt holds is busy until it is settled`, async t => {
        const store = await open(t)
        const holder = await reached(store, state, { [held]: 'c1' })
        assert.deepEqual(await store.begin(draft({ [held]: 'c1', run: 'r2' }), null, FREE), { kind: 'target_busy' })
        await begun(store, { [held]: 'c2' })
        const end = state === 'escalated' || state === 'unknown' ? { type: 'resolve' as const, settlement: done(null) } : null
        if (end === null) await settle(store, holder, state === 'prepared' ? neverSent() : done())
        else await changed(store, holder, end)
        await begun(store, { [held]: 'c1', run: 'r2' })
      })
    }
  }

  test(`${name}: what is refused holds nothing`, async t => {
    const store = await open(t)
    await begun(store, { target: 'c1' })
    assert.equal((await store.begin(draft({ target: 'c1', serialize: 's1' }), null, FREE)).kind, 'target_busy')
    assert.equal((await store.begin(draft({ target: 'c2' }), null, { ...FREE, callsPerRun: 0 })).kind, 'budget_exhausted')
    await begun(store, { serialize: 's1' })
    await begun(store, { target: 'c2' })
  })

  test(`${name}: a version that was read before its target changed is not begun with, and one that was read since is`, async t => {
    const store = await open(t)
    const since = async (): Promise<number> => (await store.recall(nameFor(draft()))).atMs
    const tick = async (): Promise<void> => {
      await begun(store)
      await new Promise(resolve => setTimeout(resolve, 5))
    }
    const ask = async (unchangedSinceMs: number | null, target = 'c1'): Promise<Begun['kind']> =>
      (await store.begin(draft({ target }), null, { ...FREE, unchangedSinceMs })).kind
    const before = await since()
    await tick()
    await settle(store, await reached(store, 'dispatched', { target: 'c1' }), rejected('UPSTREAM_REJECTED'))
    await settle(store, await reached(store, 'dispatched', { target: 'c2' }))
    await tick()
    assert.equal(await ask(before, 'c2'), 'target_changed')
    assert.equal(await ask(await since(), 'c2'), 'begun')
    assert.equal(await ask(before, 'c1'), 'begun', 'what was refused changed nothing')
    assert.equal((await store.begin(draft({ target: 'c3' }), null, { ...FREE, unchangedSinceMs: null })).kind, 'begun')
    await settle(store, await reached(store, 'dispatched', { target: 'c4' }))
    assert.equal(await ask(null, 'c4'), 'begun', 'whoever read no version does not ask')
  })

  test(`${name}: an escalated holder lets a guarded write pass, and goes on blocking those that are not`, async t => {
    const store = await open(t)
    const stuck = await reached(store, 'escalated', { target: 'c1' })
    const guarded = await begun(store, { target: 'c1', guarded: true })
    assert.deepEqual(await store.begin(draft({ target: 'c1', guarded: true }), null, FREE), { kind: 'target_busy' }, 'the guarded one is under way')
    await settle(store, guarded, neverSent())
    assert.deepEqual(await store.begin(draft({ target: 'c1' }), null, FREE), { kind: 'target_busy' })
    await changed(store, stuck, { type: 'resolve', settlement: done(null) })
    await begun(store, { target: 'c1' })
  })

  for (const state of ['prepared', 'dispatched', 'unknown', 'pending'] as const) {
    test(`${name}: a ${state} holder blocks a guarded write too`, async t => {
      const store = await open(t)
      await reached(store, state, { target: 'c1' })
      assert.deepEqual(await store.begin(draft({ target: 'c1', guarded: true }), null, FREE), { kind: 'target_busy' })
    })
  }

  for (const state of ['prepared', 'dispatched', 'unknown', 'pending', 'escalated', 'settled'] as const) {
    const blocks = state === 'unknown' || state === 'escalated'
    test(`${name}: an equal write of another run ${blocks ? 'waits for' : 'may begin beside'} one that is ${state}`, async t => {
      const store = await open(t)
      await reached(store, state, { args: { a: 1 } })
      const answer = await store.begin(draft({ args: { a: 1 }, run: 'r2', guarded: true }), null, FREE)
      assert.equal(answer.kind, blocks ? 'target_busy' : 'begun')
      await begun(store, { args: { a: 1 }, run: 'r3', action: 'other.v1' })
    })
  }

  test(`${name}: of 30 writes on one target at once, one is begun`, async t => {
    const store = await open(t)
    const answers = await Promise.all(Array.from({ length: 30 }, (_, index) => store.begin(draft({ target: 'c1', run: `r${index}` }), null, FREE)))
    assert.equal(answers.filter(answer => answer.kind === 'begun').length, 1)
    assert.equal(answers.filter(answer => answer.kind === 'target_busy').length, 29)
  })
}
