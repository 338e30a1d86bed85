// When the resolver looks for what is due.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { processClock } from '../../src/clock.ts'
import { createResolver, type ResolverPorts } from '../../src/attempts/resolver.ts'

/** Only the turns are looked at: nothing is ever due. */
function resolverThat (claims: () => void): ReturnType<typeof createResolver> {
  const store = { claimDue: async () => { claims(); return [] } }
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
