// How long an agent waits for a write, on a clock of the test's own.
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { processClock } from '../../src/clock.ts'
import type { Answer } from '../../src/execution/envelope.ts'
import { PATIENCE_MS, withinPatience } from '../../src/execution/patience.ts'
import type { CallRecord } from '../../src/execution/record.ts'
import type { Services } from '../../src/execution/services.ts'

const UNDER_WAY = { status: 202 } as Answer
const DONE = { status: 200 } as Answer

function setting (t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const steps = Promise.withResolvers<Answer>()
  const background: Array<Promise<unknown>> = []
  const closers: Array<() => void> = []
  let marked: (elapsedMs: number) => void = () => assert.fail('nobody waits for the mark')
  const record = {
    whenMarked: (listener: (elapsedMs: number) => void) => { marked = listener },
    underWay: () => UNDER_WAY,
    onClose: (closer: () => void) => closers.push(closer),
  } as unknown as CallRecord
  let said: Answer | Error | null = null
  const services = { clock: processClock, background: (work: Promise<unknown>) => background.push(work) } as unknown as Services
  withinPatience(record, steps.promise, services).then(answer => { said = answer }, error => { said = error })
  return {
    steps,
    background,
    closers,
    mark: (elapsedMs: number) => marked(elapsedMs),
    async after (ms: number): Promise<Answer | Error | null> {
      t.mock.timers.tick(ms)
      await new Promise(setImmediate)
      return said
    },
  }
}

describe('the patience of an agent', () => {
  test('ends 20 s after the call arrived, however long it took until the mark, and the steps go on', async t => {
    const on = setting(t)
    on.mark(4_000)
    assert.equal(await on.after(PATIENCE_MS - 4_001), null)
    assert.equal(await on.after(1), UNDER_WAY)
    assert.deepEqual(on.background, [on.steps.promise], 'a shutdown waits for the steps')
  })

  test('is over at once where the mark itself came later than that', async t => {
    const on = setting(t)
    on.mark(PATIENCE_MS + 5_000)
    assert.equal(await on.after(1), UNDER_WAY)
  })

  test('has no end before there is a mark: there would be nothing to point to', async t => {
    const on = setting(t)
    assert.equal(await on.after(10 * PATIENCE_MS), null)
    on.steps.resolve(DONE)
    assert.equal(await on.after(0), DONE)
  })

  test('is not tried where the steps end in time, and leaves no timer behind', async t => {
    const on = setting(t)
    on.mark(0)
    on.steps.resolve(DONE)
    assert.equal(await on.after(0), DONE)
    on.closers.forEach(close => close())
    assert.equal(await on.after(10 * PATIENCE_MS), DONE)
  })
})
