// The limits of an upstream in one process.
import { describe, test } from 'node:test'
import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Upstream } from '../../src/catalog/catalog.ts'
import { Refusal } from '../../src/errors.ts'
import { createGate, type Gate } from '../../src/upstream/gate.ts'
import { upstreamAt } from './upstream-fixture.ts'

const limited = (limits: Partial<Upstream['limits']>, name = 'shop'): Upstream =>
  upstreamAt('http://127.0.0.1:1', { name, limits: { concurrency: 4, perSecond: null, tenantShare: 1, ...limits } })

/** Settled or not, without waiting for it. */
async function isWaiting (promise: Promise<unknown>): Promise<boolean> {
  let waiting = true
  const settled = (): void => { waiting = false }
  promise.then(settled, settled)
  await new Promise(resolve => setImmediate(resolve))
  return waiting
}

async function enterMany (gate: Gate, upstream: Upstream, tenant: string, count: number): Promise<Array<() => void>> {
  return await Promise.all(Array.from({ length: count }, () => gate.enter(upstream, tenant)))
}

describe('the gate', () => {
  test('lets in as many at once as the upstream allows; the next one enters when a place comes free', async () => {
    const gate = createGate()
    const shop = limited({ concurrency: 2 })
    const [first, second] = await enterMany(gate, shop, 'a', 2)
    const third = gate.enter(shop, 'a')
    assert.equal(await isWaiting(third), true)
    first!()
    const release = await third
    release()
    second!()
  })

  test('refuses who waited a second, and says when to ask again', async () => {
    const gate = createGate()
    const shop = limited({ concurrency: 1 })
    const release = await gate.enter(shop, 'a')
    await assert.rejects(gate.enter(shop, 'b'), (error: unknown) => {
      assert.ok(error instanceof Refusal)
      assert.deepEqual([error.code, error.status, error.details.retryAfterSeconds], ['RATE_LIMITED', 429, 1])
      return true
    })
    release()
    // Who gave up holds no place.
    const again = await gate.enter(shop, 'b')
    again()
  })

  test('takes a place back once, however often it is given', async () => {
    const gate = createGate()
    const shop = limited({ concurrency: 1 })
    const first = await gate.enter(shop, 'a')
    first()
    first()
    first()
    const second = await gate.enter(shop, 'b')
    const third = gate.enter(shop, 'c')
    assert.equal(await isWaiting(third), true)
    second();
    (await third)()
  })

  test('keeps a tenant to its share while there is room for others', async () => {
    const gate = createGate()
    const shop = limited({ concurrency: 4, tenantShare: 0.5 })
    const ofA = await enterMany(gate, shop, 'a', 2)
    const thirdOfA = gate.enter(shop, 'a')
    assert.equal(await isWaiting(thirdOfA), true)
    const ofB = await enterMany(gate, shop, 'b', 2)
    ofB[0]!()
    assert.equal(await isWaiting(thirdOfA), true)
    ofA[0]!()
    const entered = await thirdOfA
    for (const release of [entered, ofA[1]!, ofB[1]!]) release()
  })

  test('gives every tenant one place at least', async () => {
    const gate = createGate()
    const release = await gate.enter(limited({ concurrency: 1, tenantShare: 0.1 }), 'a')
    release()
  })

  test('lets tenants in by turns, so that a flood of one does not keep the others out', async () => {
    const gate = createGate()
    const shop = limited({ concurrency: 1 })
    const entered: string[] = []
    const held = await gate.enter(shop, 'a')
    const all = [...Array.from({ length: 20 }, () => 'a'), 'b', 'c'].map(async tenant => {
      const release = await gate.enter(shop, tenant)
      entered.push(tenant)
      await new Promise(resolve => setImmediate(resolve))
      release()
    })
    held()
    await Promise.all(all)
    assert.deepEqual(entered.slice(0, 4), ['a', 'b', 'c', 'a'])
    assert.equal(entered.length, 22)
  })

  test('lets no more through in any second than the upstream allows, pauses before it notwithstanding', async () => {
    const gate = createGate()
    const shop = limited({ concurrency: 100, perSecond: 20 })
    const times: number[] = []
    const enter = async (): Promise<void> => {
      const release = await gate.enter(shop, 'a')
      times.push(performance.now())
      release()
    }
    await Promise.all(Array.from({ length: 20 }, enter))
    await new Promise(resolve => setTimeout(resolve, 200))
    await Promise.all(Array.from({ length: 20 }, enter))
    assert.equal(times.length, 40)
    for (let at = 20; at < times.length; at += 1) {
      // What is measured here is when the promise was seen, a little after the gate decided.
      assert.ok(times[at]! - times[at - 20]! > 950, `${times[at]! - times[at - 20]!} ms for 21`)
    }
  })

  test('lets in who waits as soon as the second has passed, though nobody leaves', async () => {
    const gate = createGate()
    const shop = limited({ concurrency: 100, perSecond: 20 })
    await enterMany(gate, shop, 'a', 20)
    await new Promise(resolve => setTimeout(resolve, 700))
    const waiting = gate.enter(shop, 'a')
    assert.equal(await isWaiting(waiting), true)
    // Due after 300 ms; were it forgotten, its own second would end long after this race.
    const late = new Promise(resolve => setTimeout(resolve, 800, 'late'))
    assert.notEqual(await Promise.race([waiting, late]), 'late')
  })

  test('counts less than one a second', async () => {
    const gate = createGate()
    const shop = limited({ perSecond: 0.5 })
    const release = await gate.enter(shop, 'a')
    release()
    await assert.rejects(gate.enter(shop, 'a'), /Too many/)
  })

  test('keeps upstreams apart', async () => {
    const gate = createGate()
    const one = await gate.enter(limited({ concurrency: 1 }, 'one'), 'a')
    const other = await gate.enter(limited({ concurrency: 1 }, 'other'), 'a')
    one()
    other()
  })

  test('takes new limits of a reload at once and still counts who is inside', async () => {
    const gate = createGate()
    const [first, second] = await enterMany(gate, limited({ concurrency: 2 }), 'a', 2)
    const narrow = limited({ concurrency: 1 })
    const third = gate.enter(narrow, 'a')
    first!()
    assert.equal(await isWaiting(third), true)
    second!();
    (await third)()
    const wide = limited({ concurrency: 3 })
    for (const release of await enterMany(gate, wide, 'a', 3)) release()
  })

  test('refuses at once where so many wait that a second could not serve them', async () => {
    const gate = createGate()
    const shop = limited({ concurrency: 1 })
    const held = await gate.enter(shop, 'a')
    const waiting = Array.from({ length: 1_000 }, () => gate.enter(shop, 'a').then(release => { release() }, () => {}))
    await assert.rejects(Promise.race([gate.enter(shop, 'b'), new Promise(resolve => setTimeout(resolve, 500))]), /Too many/)
    held()
    await Promise.all(waiting)
  })

  test('whatever the order of coming and going, never holds more than the limits and never forgets a place', async () => {
    const steps = fc.array(fc.oneof(
      fc.record({ enter: fc.constantFrom('a', 'b', 'c') }),
      fc.record({ leave: fc.nat(50) }),
    ), { maxLength: 60 })
    await fc.assert(fc.asyncProperty(steps, fc.integer({ min: 1, max: 5 }), fc.constantFrom(0.3, 0.5, 1), async (list, concurrency, tenantShare) => {
      const gate = createGate()
      const shop = limited({ concurrency, tenantShare })
      const inside: Array<{ tenant: string, release: () => void }> = []
      const entering: Array<Promise<void>> = []
      const check = (): void => {
        assert.ok(inside.length <= concurrency)
        const share = Math.max(1, Math.floor(concurrency * tenantShare))
        for (const tenant of ['a', 'b', 'c']) assert.ok(inside.filter(entry => entry.tenant === tenant).length <= share)
      }
      const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))
      for (const step of list) {
        if ('enter' in step) entering.push(gate.enter(shop, step.enter).then(release => { inside.push({ tenant: step.enter, release }) }))
        else inside.splice(step.leave % Math.max(1, inside.length), 1)[0]?.release()
        await turn()
        check()
      }
      // All who wait are let in as the others leave.
      while (inside.length > 0) {
        inside.pop()!.release()
        await turn()
        check()
      }
      await Promise.all(entering)
      for (let at = 0; at < 3; at += 1) {
        const release = await gate.enter(shop, 'z')
        release()
      }
    }), { numRuns: 60 })
  })
})
