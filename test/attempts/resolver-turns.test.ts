// When the resolver looks for what is due, and how it stops.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { processClock } from '../../src/clock.ts'
import type { AttemptRecord } from '../../src/attempts/attempt.ts'
import { createResolver, type ResolverPorts } from '../../src/attempts/resolver.ts'
import { StateUnavailable, type Advanced, type Due } from '../../src/store/store.ts'

/** Only the turns are looked at: nothing is ever due. */
function resolverThat (claims: () => void): ReturnType<typeof createResolver> {
  const store = { unresolved: async () => [], claimDue: async () => { claims(); return [] } }
  return createResolver({ store, clock: processClock, fault: () => {} } as unknown as ResolverPorts)
}

test('calls that lose their answers one after the other do not keep the resolver from its turns', async t => {
  let turns = 0
  const resolver = resolverThat(() => { turns += 1 })
  resolver.start()
  t.after(() => resolver.stop())
  await sleep(50)
  turns = 0
  for (let nudges = 0; nudges < 60; nudges++) {
    resolver.nudge()
    await sleep(25)
  }
  assert.ok(turns >= 2, `${turns} turns in 1.5 s of nudges`)
})

test('after a turn that could not be made, a nudge brings the next one sooner', async t => {
  const turnsAtMs: number[] = []
  const resolver = resolverThat(() => {
    turnsAtMs.push(performance.now())
    if (turnsAtMs.length === 1) throw new Error('the state cannot be reached')
  })
  resolver.start()
  t.after(() => resolver.stop())
  await sleep(50)
  assert.equal(turnsAtMs.length, 1)
  resolver.nudge()
  while (turnsAtMs.length < 2) await sleep(10)
  assert.ok(turnsAtMs[1]! - turnsAtMs[0]! < 950, 'sooner than the pause after a fault')
})

const due: Due = { record: { id: 'att_1', state: 'dispatched', action: 'pay.v1' } as AttemptRecord, nowMs: 0 }
const advanced: Advanced = {
  kind: 'changed', record: { ...due.record, state: 'settled', settlement: { outcome: 'rejected', code: 'NOT_APPLIED', sent: false } } as AttemptRecord,
}

test('a claim that is answered after it was told to stop is waited for, and nothing of it is taken up', async () => {
  const claimed = Promise.withResolvers<Due[]>()
  let asked = 0
  let written = 0
  const store = { unresolved: async () => [], claimDue: () => { asked += 1; return claimed.promise }, advance: async () => { written += 1; return advanced } }
  const resolver = createResolver({ store, clock: processClock, fault: () => {}, telemetry: { attempt: () => {} } } as unknown as ResolverPorts)
  resolver.start()
  while (asked === 0) await sleep(5)
  let isOver = false
  const stopped = resolver.stop().then(() => { isOver = true })
  await sleep(50)
  assert.equal(isOver, false)
  claimed.resolve([due])
  await stopped
  await sleep(50)
  assert.deepEqual({ asked, written }, { asked: 1, written: 0 })
})

test('an end that the store may have taken when it was told to stop is asked for again, and told before it has stopped', async () => {
  const told: string[] = []
  let writes = 0
  const store = {
    unresolved: async () => [],
    claimDue: async () => writes === 0 ? [due] : [],
    async advance () {
      writes += 1
      if (writes < 3) throw new StateUnavailable('the reply was lost')
      return advanced
    },
  }
  const resolver = createResolver({ store, clock: processClock, fault: () => {}, telemetry: { attempt: ({ attemptId }: { attemptId: string }) => { told.push(attemptId) } } } as unknown as ResolverPorts)
  resolver.start()
  while (writes === 0) await sleep(5)
  await resolver.stop()
  assert.deepEqual({ told, writes }, { told: ['att_1'], writes: 3 })
})

test('while more is due than there is room for, whatever has ended makes room for the next at once, and never for more than eight', async t => {
  let [underWay, most, left] = [0, 0, 64]
  const attempt = (): Due => ({ ...due, record: { ...due.record, id: `att_${left--}` } })
  const store = {
    unresolved: async () => [],
    claimDue: async (room: number) => Array.from({ length: Math.min(room, left) }, attempt),
    async advance () {
      most = Math.max(most, underWay += 1)
      await sleep(5)
      underWay -= 1
      return advanced
    },
  }
  const resolver = createResolver({ store, clock: processClock, fault: () => {}, telemetry: { attempt: () => {} } } as unknown as ResolverPorts)
  const startedAtMs = performance.now()
  resolver.start()
  t.after(() => resolver.stop())
  while (left > 0) await sleep(5)
  // Eight turns of 50 ms, where eight polls take two seconds.
  assert.ok(performance.now() - startedAtMs < 1_500, `${performance.now() - startedAtMs} ms`)
  assert.equal(most, 8)
})

/** `claims` gives out what is due, in its order; look-ups of `hangs` do not end until they are told to. */
function resolverOf (upstreams: readonly string[]): { resolver: ReturnType<typeof createResolver>, ended: string[], release: () => void, asked: () => number } {
  const waiting = upstreams.map((upstream, at): Due => ({
    record: { id: `att_${at}`, state: 'unknown', action: 'pay.v1', upstream, definition: upstream } as AttemptRecord, nowMs: 0,
  }))
  const gate = Promise.withResolvers<void>()
  const ended: string[] = []
  let asked = 0
  const ports = {
    clock: processClock, fault: () => {}, rests: () => false, telemetry: { lookup: () => {}, attempt: () => {} },
    store: {
      unresolved: async () => [],
      claimDue: async (room: number) => waiting.splice(0, room),
      async advance (record: AttemptRecord) {
        ended.push(record.upstream)
        return advanced
      },
    },
    async definition (upstream: string) {
      asked += 1
      if (upstream === 'hangs') await gate.promise
      return { lookup: null }
    },
  }
  return { resolver: createResolver(ports as unknown as ResolverPorts), ended, release: gate.resolve, asked: () => asked }
}

test('an upstream whose look-ups hang holds up those of no other one, and is not asked ever more at once', async t => {
  const { resolver, ended, release, asked } = resolverOf([...Array<string>(60).fill('hangs'), 'answers'])
  resolver.start()
  t.after(async () => {
    release()
    await resolver.stop()
  })
  while (ended.length === 0) await sleep(20)
  assert.deepEqual(ended, ['answers'])
  assert.ok(asked() <= 17, `${asked()} look-ups`)
})
