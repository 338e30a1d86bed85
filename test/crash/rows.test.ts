// The rows of the table of faults that are about answers: what a write is told as, and what becomes of it. Each title ends with its row. What the
// other rows say about crashes, replicas and the store is held by the files beside this one.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Reached, TestBroker } from '../support/broker.ts'
import { whole } from '../support/hostile-modes.ts'
import { makeRig, serveHere, until, type Rig } from './rig.ts'
import { WORKER, type Asked } from './works.ts'

interface Stage extends Rig {
  readonly broker: TestBroker
  /** A call of do_work on an item of its own. */
  work (item: string, amount?: number): Promise<Reached>
  settled (answer: Reached): Promise<Reached>
}

async function stage (t: TestContext): Promise<Stage> {
  const rig = await makeRig(t)
  // These tests share one process, and what is answered at once must be heard in time on a busy machine too.
  const sheet = join(rig.site.folder, 'actions', 'works', 'do_work.v1.yaml')
  writeFileSync(sheet, readFileSync(sheet, 'utf8').replace('timeout: 1s', 'timeout: 2s'))
  const broker = await serveHere(t, rig)
  return {
    ...rig,
    broker,
    work: (item, amount = 1) => broker.call(rig.token, 'do_work.v1', { item, amount }, `key-${item}`),
    settled: ({ body }) => broker.attempt(rig.token, body.attempt_id),
  }
}

const told = ({ status, body }: Reached): readonly unknown[] => [status, body.outcome, body.error?.code ?? null]

/** The effect happens, the answer is lost. */
const lose = (asked: Asked): void => {
  asked.apply()
  asked.socket.destroy()
}

const raw = (text: string | Buffer) => (asked: Asked): void => {
  asked.apply()
  asked.socket.end(text)
}

/** Of a write or of a look-up. */
const keyOf = ({ request }: Asked): string | null =>
  request.headers['idempotency-key'] ?? new URL(request.path, 'http://works').searchParams.get('key')

const JSON_TYPE = 'Content-Type: application/json'

// Mostly waiting: for pauses between look-ups, and for what must be quiet before absence proves anything.
describe('what an upstream answers', { concurrency: 4 }, () => {
  test('the same key with other arguments is refused, and changes nothing (row 12)', async t => {
    const { works, broker, token, work } = await stage(t)
    const first = await work('one')
    const other = await broker.call(token, 'do_work.v1', { item: 'one', amount: 2 }, 'key-one')
    assert.deepEqual([other.status, other.body.error.code, other.body.sent], [422, 'IDEMPOTENCY_KEY_REUSED', false])
    const elsewhere = await broker.call(token, 'replace_item.v1', { item: 'one', text: 'x' }, 'key-one')
    assert.deepEqual([elsewhere.status, elsewhere.body.error.code], [422, 'IDEMPOTENCY_KEY_REUSED'])
    const again = await work('one')
    assert.deepEqual([again.body.attempt_id, again.body.duplicate], [first.body.attempt_id, true])
    assert.equal(works.writes.length, 1)
  })

  test('202: pending, with a place to ask; it is polled no sooner than Retry-After says, and completes (rows 18 and 28)', async t => {
    const { works, work, broker, token } = await stage(t)
    const polledAtMs: number[] = []
    let acceptedAtMs = 0
    let state = 'running'
    const job = (asked: Asked): object => ({ id: 'job_1', key: keyOf(asked), item: 'job', amount: 1, state })
    works.onWrite = asked => {
      acceptedAtMs = performance.now()
      asked.answer(202, job(asked), ['Retry-After: 2'])
    }
    works.onRead = asked => {
      polledAtMs.push(performance.now())
      asked.answer(200, { items: [job(asked)] }, ['Retry-After: 1'])
      state = 'done'
    }
    const first = await work('job')
    assert.deepEqual([first.status, first.body.outcome, first.body.pending_on, first.body.sent], [202, 'pending', 'upstream', true])
    assert.equal(first.headers.get('location'), `/v1/attempts/${first.body.attempt_id}`)
    const repeat = await work('job')
    assert.deepEqual([repeat.status, repeat.body.outcome, repeat.body.duplicate], [202, 'pending', true])
    const settled = await broker.attempt(token, first.body.attempt_id)
    assert.deepEqual([settled.body.outcome, settled.body.result, settled.body.evidence.source], ['completed', { work_id: 'job_1' }, 'lookup'])
    assert.equal(polledAtMs.length, 2)
    assert.ok(polledAtMs[0]! - acceptedAtMs >= 1_990, 'the first poll waits two seconds')
    assert.ok(polledAtMs[1]! - polledAtMs[0]! >= 990, 'the second one a second')
    assert.equal(works.writes.length, 1)
  })

  test('202 and then failed: rejected with the code of the sheet (row 18)', async t => {
    const { works, work, settled } = await stage(t)
    const body = (asked: Asked, state: string): object => ({ id: 'job_1', key: keyOf(asked), item: 'job', amount: 1, state })
    works.onWrite = asked => asked.answer(202, body(asked, 'running'))
    works.onRead = asked => asked.answer(200, { items: [body(asked, 'failed')] })
    const end = await settled(await work('job'))
    assert.deepEqual(told(end), [200, 'rejected', 'WORK_FAILED'])
    assert.equal(end.body.evidence.source, 'lookup')
  })

  test('202, and the look-up finds nothing yet: pending stays pending, however often (row 18)', async t => {
    const { works, work, broker, token } = await stage(t)
    works.onWrite = asked => asked.answer(202, { id: 'job_1', key: 'k', item: 'job', amount: 1, state: 'running' })
    const first = await work('job')
    await until('it was looked up twice', () => works.lookups.length >= 2)
    await sleep(100)
    const { body } = await broker.get(token, `/v1/attempts/${first.body.attempt_id}`)
    assert.deepEqual([body.outcome, body.pending_on], ['pending', 'upstream'])
  })

  test('202 where nothing can be looked up: unknown, never completed, and a person is asked (row 19)', async t => {
    const { works, broker, token } = await stage(t)
    works.onWrite = asked => {
      asked.apply()
      asked.answer(202, { id: 'x', version: 2, text: 'x' })
    }
    const first = await broker.call(token, 'replace_item.v1', { item: 'x', text: 'x' }, 'key-1')
    assert.deepEqual(told(first), [202, 'unknown', 'OUTCOME_UNKNOWN'])
    await until('a person is asked', async () => {
      const { body } = await broker.get(token, `/v1/attempts/${first.body.attempt_id}`)
      return /person/.test(body.error.hint ?? '')
    })
    assert.equal(works.writes.length, 1)
  })

  const UNUSABLE: ReadonlyArray<readonly [name: string, answer: (asked: Asked) => void]> = [
    ['a body that is cut', raw(`HTTP/1.1 201 Created\r\n${JSON_TYPE}\r\nContent-Length: 100\r\n\r\n{"id":"wo`)],
    ['a body that ends with the connection, half-way', raw(`HTTP/1.1 201 Created\r\n${JSON_TYPE}\r\nConnection: close\r\n\r\n{"id":"wo`)],
    ['a body that is no JSON', raw(whole(201, [JSON_TYPE], '<html>created</html>'))],
    ['a page of a gateway', raw(whole(200, ['Content-Type: text/html'], '<html>welcome</html>'))],
    ['a head that is cut', raw('HTTP/1.1 201 Crea')],
    ['bytes that are no HTTP', raw('created, have a nice day\r\n\r\n')],
    ['no answer, and the end of the connection', lose],
    ['a reset', asked => {
      asked.apply()
      asked.socket.resetAndDestroy()
    }],
    ['a redirect', raw(whole(303, ['Location: /v1/works/work_1'], ''))],
    ...[408, 500, 502, 503, 504].map(status => [`status ${status}`, (asked: Asked) => {
      asked.apply()
      asked.answer(status, { title: 'no' })
    }] as const),
  ]
  test('2xx that cannot be read, 3xx, 408, 5xx and lost answers: unknown, looked up, and told as what happened (rows 7, 20, 23)', async t => {
    const { works, work, settled } = await stage(t)
    for (const [name, answer] of UNUSABLE) {
      works.onWrite = answer
      const item = name.replaceAll(/[^a-z0-9]/g, '-')
      const first = await work(item)
      assert.deepEqual([name, ...told(first), first.body.sent], [name, 202, 'unknown', 'OUTCOME_UNKNOWN', true])
      assert.doesNotMatch(first.body.error.message, /fail|retry/i)
      const end = await settled(first)
      assert.deepEqual([name, end.body.outcome, end.body.evidence.source], [name, 'completed', 'lookup'])
      assert.equal(works.effects.filter(effect => effect.item === item).length, 1, name)
    }
    assert.equal(works.writes.length, UNUSABLE.length)
  })

  test('400, 401, 403, 405, 413, 415 and 422 are rejections, told at once and never repeated (row 21)', async t => {
    const { works, work, site, broker } = await stage(t)
    for (const status of [400, 403, 405, 413, 415, 422, 401]) {
      works.onWrite = asked => asked.answer(status, { title: 'no' })
      const item = `refused-${status}`
      const first = await work(item)
      assert.deepEqual(told(first), [200, 'rejected', status === 401 || status === 403 ? 'CREDENTIAL_REFUSED' : 'UPSTREAM_REJECTED'])
      assert.deepEqual([first.body.sent, first.body.evidence.upstream_status], [true, status])
      assert.equal(works.writes.filter(({ body }) => body.includes(item)).length, 1)
    }
    // A refused credential rests.
    const token = await site.token({ ...WORKER, run: 'run-2' })
    const resting = await broker.call(token, 'do_work.v1', { item: 'resting', amount: 1 }, 'key-1')
    assert.deepEqual([resting.status, resting.body.error.code, resting.body.sent], [503, 'CREDENTIAL_UNAVAILABLE', false])
  })

  test('404, 409, 410 and 412 may be the echo of our own write: where it is found it is completed, else rejected (row 22)', async t => {
    const { works, work } = await stage(t)
    for (const status of [404, 409, 410, 412]) {
      const code = status === 404 || status === 410 ? 'UPSTREAM_NOT_FOUND' : 'UPSTREAM_CONFLICT'
      works.onWrite = asked => {
        asked.apply()
        asked.answer(status, { title: 'is there already' })
      }
      const own = await work(`own-${status}`)
      assert.deepEqual(told(own), [200, 'completed', null], JSON.stringify(own.body))
      assert.equal(own.body.evidence.source, 'lookup')
      works.onWrite = asked => asked.answer(status, { title: 'of somebody else' })
      const foreign = await work(`foreign-${status}`)
      assert.deepEqual(told(foreign), [200, 'rejected', code])
      const before = works.lookups.length
      works.onRead = asked => asked.answer(503, {})
      const unclear = await work(`unclear-${status}`)
      assert.deepEqual(told(unclear), [202, 'unknown', 'OUTCOME_UNKNOWN'], 'it could not be looked up')
      assert.ok(works.lookups.length > before)
      works.onRead = asked => asked.honest()
    }
  })

  test('425 and 429 are rejections with the time to come back, and the broker does not repeat by itself (rows 24 and 34)', async t => {
    const { works, work } = await stage(t)
    const inAMinute = new Date(Date.now() + 60_000)
    const cases: ReadonlyArray<readonly [status: number, header: string, from: number, to: number]> = [
      [429, 'Retry-After: 7', 7, 7],
      [425, 'Retry-After: 0', 1, 1],
      // An hour at most, and never past the end of the token.
      [429, 'Retry-After: 999999', 3_590, 3_600],
      [429, `Retry-After: ${inAMinute.toUTCString()}`, 50, 61],
    ]
    for (const [index, [status, header, from, to]] of cases.entries()) {
      works.onWrite = asked => asked.answer(status, { title: 'slower' }, [header])
      const first = await work(`slower-${index}`)
      assert.deepEqual([...told(first), first.body.error.retryable], [200, 'rejected', 'UPSTREAM_RATE_LIMITED', true])
      const seconds = first.body.error.retry_after_seconds
      assert.ok(seconds >= from && seconds <= to, `${header}: ${seconds}`)
    }
    assert.equal(works.writes.length, cases.length)
  })

  const NO_EVIDENCE: ReadonlyArray<readonly [name: string, answer: (asked: Asked) => void]> = [
    ['500', asked => asked.answer(500, {})],
    ['503', asked => asked.answer(503, {})],
    ['401', asked => asked.answer(401, {})],
    ['404 of the API', asked => asked.answer(404, { title: 'no such path' })],
    ['404 of a gateway', asked => asked.socket.write(whole(404, ['Content-Type: text/html'], '<html>404</html>'))],
    ['an empty 200', asked => asked.socket.write(whole(200, [JSON_TYPE], ''))],
    ['a 200 of another form', asked => asked.answer(200, { results: [] })],
    ['a list that is null', asked => asked.answer(200, { items: null })],
    ['a page', asked => asked.socket.write(whole(200, ['Content-Type: text/html'], '<html></html>'))],
    ['a reset', asked => asked.socket.resetAndDestroy()],
    ['a cut', asked => asked.socket.end(`HTTP/1.1 200 OK\r\n${JSON_TYPE}\r\nContent-Length: 100\r\n\r\n{"items":[`)],
    ['a redirect', asked => asked.socket.write(whole(302, ['Location: /v1/elsewhere'], ''))],
  ]
  for (const [name, answer] of NO_EVIDENCE) {
    test(`a look-up that meets ${name} is no evidence: unknown for as long as that goes on, then the truth (rows 25, 26, 46)`, async t => {
      const { works, work, broker, token, settled } = await stage(t)
      works.onWrite = lose
      works.onRead = answer
      const first = await work('doubtful')
      await until('it was looked up', () => works.lookups.length >= 1)
      // Longer than all that must be quiet before absence proves anything.
      await sleep(5_200)
      const open = await broker.get(token, `/v1/attempts/${first.body.attempt_id}`)
      assert.deepEqual([open.status, open.body.outcome], [202, 'unknown'])
      works.onRead = asked => asked.honest()
      // A refused credential rests for longer than a test should take.
      if (name === '401') return
      assert.deepEqual((await settled(first)).body.outcome, 'completed')
      assert.equal(works.writes.length, 1)
    })
  }

  test('nothing is found: unknown until it would have arrived if ever, then rejected as not applied, and the key is free (rows 6, 26)', async t => {
    const { works, work, broker, token, settled } = await stage(t)
    works.onWrite = asked => asked.socket.destroy()
    const sentAtMs = performance.now()
    const first = await work('absent')
    await until('it was looked up', () => works.lookups.length >= 1)
    const early = await broker.get(token, `/v1/attempts/${first.body.attempt_id}`)
    assert.equal(early.body.outcome, 'unknown', 'one absent answer proves nothing')
    const end = await settled(first)
    assert.deepEqual([...told(end), end.body.error.retryable, end.body.sent], [200, 'rejected', 'NOT_APPLIED', true, true])
    assert.equal(end.body.evidence.source, 'lookup')
    assert.ok(performance.now() - sentAtMs >= 4_100, 'the send window, the timeout and the settling time were waited out')
    assert.ok(works.lookups.length >= 2)
    works.onWrite = asked => asked.honest()
    const again = await work('absent')
    assert.deepEqual([again.body.outcome, again.body.duplicate], ['completed', false])
    assert.notEqual(again.body.attempt_id, first.body.attempt_id)
    const [one, other] = works.writes.map(({ headers }) => headers['idempotency-key'])
    assert.equal(one, other, 'the upstream saw nothing under this key, so it is used again')
  })

  test('what arrives late is found: an effect after the first absent answers is never told as not applied (row 26)', async t => {
    const { works, work, settled } = await stage(t)
    works.onWrite = asked => {
      asked.socket.destroy()
      setTimeout(() => asked.apply(), 1_500)
    }
    const end = await settled(await work('late'))
    assert.deepEqual([end.body.outcome, end.body.evidence.source], ['completed', 'lookup'])
  })

  test('what is found under our key with other arguments is not ours: neither completed nor absent, until a person decides (row 27)', async t => {
    const { works, work, broker, token } = await stage(t)
    works.onWrite = asked => asked.socket.destroy()
    works.onRead = asked => asked.answer(200, { items: [{ id: 'work_9', key: keyOf(asked), item: 'of somebody else', amount: 9, state: 'done' }] })
    const first = await work('ours')
    await until('it was looked up', () => works.lookups.length >= 2)
    await sleep(5_000)
    const open = await broker.get(token, `/v1/attempts/${first.body.attempt_id}`)
    assert.deepEqual([open.status, open.body.outcome], [202, 'unknown'])
    const handed = await broker.post(token, `/v1/attempts/${first.body.attempt_id}/escalate`)
    assert.match(handed.body.error.hint, /person/)
  })

  test('of two writes on one target the second is refused while the first is unknown, and may go on when it is not (row 39)', async t => {
    const { works, broker, token, site } = await stage(t)
    works.onWrite = lose
    // A version that is neither the one before nor the one after the write: no evidence for a look-up, and good enough to be read.
    const foreign = { id: 'one', version: 7, text: 'of somebody else' }
    works.onRead = asked => asked.request.path.endsWith('/one') && works.writes.length > 0 ? asked.answer(200, foreign) : asked.honest()
    const first = await broker.call(token, 'change_item.v1', { item: 'one', text: 'first' }, 'key-1')
    assert.equal(first.body.outcome, 'unknown')
    works.onWrite = asked => asked.honest()
    const rival = await site.token({ ...WORKER, run: 'run-2' })
    const busy = await broker.call(rival, 'change_item.v1', { item: 'one', text: 'second' }, 'key-1')
    const elsewhere = await broker.call(rival, 'change_item.v1', { item: 'two', text: 'second' }, 'key-2')
    assert.equal(elsewhere.body.outcome, 'completed', 'another target is free')
    assert.deepEqual([busy.status, busy.body.error?.code, busy.body.sent], [409, 'TARGET_BUSY', false])
    works.onRead = asked => asked.honest()
    assert.equal((await broker.attempt(token, first.body.attempt_id)).body.outcome, 'completed')
    const next = await broker.call(rival, 'change_item.v1', { item: 'one', text: 'second' }, 'key-1')
    assert.deepEqual([next.body.outcome, next.body.result], ['completed', { version: 3 }])
    assert.deepEqual(works.effects.map(({ key }) => key), ['one/1', 'two/1', 'one/2'], 'one effect for each version')
  })

  test('an equal write of another run is refused while the first is unknown', async t => {
    const { works, broker, work, site, settled } = await stage(t)
    works.onWrite = lose
    works.onRead = asked => asked.answer(503, {})
    const first = await work('equal')
    works.onWrite = asked => asked.honest()
    const rival = await site.token({ ...WORKER, sub: 'agent-2', run: 'run-2' })
    const busy = await broker.call(rival, 'do_work.v1', { item: 'equal', amount: 1 }, 'another-key')
    assert.deepEqual([busy.status, busy.body.error.code, busy.body.sent], [409, 'TARGET_BUSY', false])
    works.onRead = asked => asked.honest()
    assert.equal((await settled(first)).body.outcome, 'completed')
    assert.equal((await broker.call(rival, 'do_work.v1', { item: 'equal', amount: 1 }, 'another-key')).body.outcome, 'completed')
    assert.equal(works.writes.length, 2)
  })
})
