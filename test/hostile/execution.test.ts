// Repeats, look-ups, limits and reloads on a whole broker, each where a converter or gateway elsewhere was seen to go wrong. The ledger of the
// upstream is the witness. The ids in parentheses are those of the list of faults that this file works through.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { hostileModes } from '../support/hostile-modes.ts'
import { assertRefused, inTurn, ok, rowOf, SECRET, startProbe, type Probing } from './probe.ts'

const posts = (on: Probing): number => on.upstream.ledger.filter(({ method }) => method === 'POST').length
const keyOf = (on: Probing): string => on.upstream.ledger.find(({ method }) => method === 'POST')!.headers['idempotency-key']!

/** Answers a look-up with the item of whatever key it asks for. */
const foundAs = (state: string) => (socket: any, request: any): void => {
  ok({ items: [{ id: 'found', state, key: new URL(request.path, 'http://x').searchParams.get('key') }] })(socket, request)
}

describe('an observation', () => {
  test('is asked again, twice at most, only where its sheet says that this is safe (X01, X16, E7)', async t => {
    for (const [retry, times] of [['never', 1], ['safe', 3]] as const) {
      const on = await startProbe(t, { change: ({ sheets }) => { sheets['get_item.v1'].retry = retry; sheets['get_item.v1'].limits.timeout = '5s' } })
      for (const mode of [ok({ error: 'x' }, 503), hostileModes['reset-after']!, hostileModes['garbage']!]) {
        on.upstream.clear()
        on.answers.read = mode
        const { body } = await on.ask('get_item.v1', { id: 'one' })
        assert.deepEqual([body.outcome, body.error.code, on.upstream.ledger.length], ['rejected', 'UPSTREAM_ERROR', times], retry)
      }
      for (const status of [400, 401, 403, 404, 429]) {
        on.upstream.clear()
        on.answers.read = ok({ error: 'x' }, status)
        await on.ask('get_item.v1', { id: 'one' })
        assert.ok(on.upstream.ledger.length <= 1, `${status} is an answer`)
      }
    }
  })

  test('that is answered the second time is completed', async t => {
    const on = await startProbe(t, { change: ({ sheets }) => { sheets['get_item.v1'].retry = 'safe'; sheets['get_item.v1'].limits.timeout = '5s' } })
    on.answers.read = inTurn(ok({ error: 'x' }, 502), ok({ id: 'one' }))
    assert.equal((await on.ask('get_item.v1', { id: 'one' })).body.outcome, 'completed')
    assert.equal(on.upstream.ledger.length, 2)
  })
})

describe('a write', () => {
  test('that may have left is never sent again, whatever its retry class (X01, X02)', async t => {
    const on = await startProbe(t, {
      change: ({ sheets, policy }) => {
        for (const retry of ['never', 'same_key', 'natural']) {
          const sheet = { ...structuredClone(sheets['create_item.v1']), action: `create_${retry}`, retry }
          if (retry !== 'same_key') delete sheet.idempotency
          sheets[`create_${retry}.v1`] = sheet
          policy.roles.prober.push(`create_${retry}.v1`)
        }
      },
    })
    for (const retry of ['never', 'same_key', 'natural']) {
      for (const [what, mode] of [
        ['reset', hostileModes['reset-after']!], ['503', ok({ error: 'x' }, 503)], ['garbage', hostileModes['garbage']!],
      ] as const) {
        on.upstream.clear()
        on.answers.write = mode
        const args = { name: `${retry} ${what}` }
        const first = await on.ask(`create_${retry}.v1`, args)
        const again = await on.ask(`create_${retry}.v1`, args)
        assert.deepEqual([
          first.body.outcome, again.body.outcome, again.body.duplicate, again.body.attempt_id,
        ], ['unknown', 'unknown', true, first.body.attempt_id])
        assert.equal(posts(on), 1, `${retry} ${what}`)
      }
    }
  })

  test('may be called again after 429 only where a repeat is harmless upstream (X16)', async t => {
    const on = await startProbe(t, {
      change: ({ sheets, policy }) => {
        sheets['create_once.v1'] = { ...structuredClone(sheets['create_item.v1']), action: 'create_once', retry: 'never' }
        delete sheets['create_once.v1'].idempotency
        policy.roles.prober.push('create_once.v1')
      },
    })
    on.answers.write = ok({ error: 'x' }, 429)
    for (const [action, retryable] of [['create_item.v1', true], ['create_once.v1', false]] as const) {
      const { body } = await on.ask(action, { name: 'x' }, `key-${action}`)
      assert.deepEqual([body.error.code, body.error.retryable], ['UPSTREAM_RATE_LIMITED', retryable])
      on.upstream.clear()
      const again = await on.ask(action, { name: 'x' }, `key-${action}`)
      assert.deepEqual([again.body.duplicate, posts(on)], [!retryable, retryable ? 1 : 0], 'what is retryable frees its key')
    }
  })

  test('that was lost is found by its own key and told as what it was (X07)', async t => {
    const on = await startProbe(t)
    on.answers.write = hostileModes['reset-after']!
    on.answers.lookup = foundAs('done')
    const { body } = await on.ask('create_item.v1', { name: 'x07' })
    const end = await on.attempt(on.token, body.attempt_id)
    assert.deepEqual([end.body.outcome, end.body.result, end.body.evidence.source], ['completed', { id: 'found' }, 'lookup'])
    assert.ok(on.arrived().includes(`GET /created?key=${keyOf(on)}`))
    assert.equal(posts(on), 1)
  })

  test('whose look-up answers badly stays unknown: errors, pages, cut and foreign answers prove nothing', async t => {
    const on = await startProbe(t)
    const bad = [
      ok({ error: 'x' }, 500), ok({ error: 'x' }, 404), hostileModes['html-around-json']!, hostileModes['short-length']!,
      ok({ items: [{ id: 'other', key: 'another key' }] }), ok([]), hostileModes['redirect']!,
    ]
    for (const [index, lookup] of bad.entries()) {
      on.answers.write = hostileModes['reset-after']!
      on.answers.lookup = lookup
      const before = on.upstream.ledger.length
      const { body } = await on.ask('create_item.v1', { name: `bad ${index}` })
      while (!on.upstream.ledger.slice(before).some(({ path }) => path.startsWith('/created'))) await new Promise(resolve => setTimeout(resolve, 20))
      assert.equal((await on.attempt(on.token, body.attempt_id, 100)).body.outcome, 'unknown', String(index))
    }
    assert.equal(posts(on), bad.length)
  })

  for (const status of [404, 409, 410, 412]) {
    test(`that is answered ${status} is looked up by its own key first: found it is completed, absent it is rejected, else unknown`, async t => {
      const on = await startProbe(t, {
        change: ({ sheets }) => { sheets['create_item.v1'].lookup.absent = {
          when: 'response.status == 200 && !found.hasValue()', settles_after: '1s',
        } },
      })
      on.answers.write = ok({ error: 'x' }, status)
      on.answers.lookup = foundAs('done')
      const found = await on.ask('create_item.v1', { name: 'found' })
      assert.deepEqual([
        found.status, found.body.outcome, found.body.result, found.body.evidence.source,
      ], [200, 'completed', { id: 'found' }, 'lookup'])
      on.answers.lookup = ok({ items: [] })
      const absent = await on.ask('create_item.v1', { name: 'absent' })
      assert.deepEqual([absent.status, absent.body.error.code], [200, status === 404 || status === 410 ? 'UPSTREAM_NOT_FOUND' : 'UPSTREAM_CONFLICT'])
      on.answers.lookup = ok({ error: 'x' }, 500)
      assert.equal((await on.ask('create_item.v1', { name: 'neither' })).body.outcome, 'unknown')
    })
  }

  test('that our own secret hides the look-up of is completed, and its result withheld', async t => {
    const on = await startProbe(t)
    on.answers.write = hostileModes['reset-after']!
    on.answers.lookup = (socket, request) => {
      ok({ items: [{ id: 'found', name: SECRET, key: new URL(request.path, 'http://x').searchParams.get('key') }] })(socket, request)
    }
    const { body } = await on.ask('create_item.v1', { name: 'x' })
    const end = await on.attempt(on.token, body.attempt_id)
    assert.deepEqual([end.body.outcome, end.body.result, end.body.withheld], ['completed', null, 'RESULT_WITHHELD'])
  })

  test('fifty times at once is one send, and all fifty hear of the same attempt (X04)', async t => {
    const on = await startProbe(t)
    on.answers.write = (socket, request) => { setTimeout(() => { ok({ id: 'new' })(socket, request) }, 100) }
    const all = await Promise.all(Array.from({ length: 50 }, () => on.ask('create_item.v1', { name: 'same' }, 'one-key')))
    assert.equal(posts(on), 1)
    const known = all.filter(({ body }) => body.error?.code !== 'CALL_IN_PROGRESS')
    assert.equal(new Set(known.map(({ body }) => body.attempt_id)).size, 1)
    assert.equal(known.filter(({ body }) => body.outcome === 'completed' && !body.duplicate).length, 1)
    for (const { status, body } of all) assert.ok(status === 200 || status === 202 || body.error.code === 'CALL_IN_PROGRESS', JSON.stringify(body))
  })
})

describe('limits', () => {
  test('of a run: its calls of an action, then BUDGET_EXHAUSTED before anything is read (R11)', async t => {
    const on = await startProbe(t, {
      change: ({ sheets }) => {
        for (const id of ['create_item.v1', 'get_item.v1', 'change_item.v1']) sheets[id].limits.calls_per_run = 2
        delete sheets['change_item.v1'].target
        delete sheets['change_item.v1'].request.headers
      },
    })
    const call = {
      'get_item.v1': () => ({ id: 'one' }), 'create_item.v1': (n: number) => ({ name: `n${n}` }),
      'change_item.v1': (n: number) => ({ id: 'one', name: `n${n}` }),
    }
    for (const [action, args] of Object.entries(call)) {
      for (let n = 0; n < 2; n++) assert.equal((await on.ask(action, args(n))).body.outcome, 'completed', action)
      on.upstream.clear()
      assertRefused(await on.ask(action, args(2)), 429, 'BUDGET_EXHAUSTED')
      assert.equal(on.upstream.bytes, 0)
      const other = await on.site.token({ roles: ['prober'], run: `other ${action}`, claims: { items: ['one'] } })
      assert.equal((await on.call(other, action, args(3))).body.outcome, 'completed', 'another run has its own')
    }
  })

  test('of refusals: an agent that guesses is shut out of the action in that run, and of that alone', async t => {
    const on = await startProbe(t, { change: ({ sheets }) => { sheets['create_item.v1'].limits.refusals_per_run = 3 } })
    for (let n = 0; n < 3; n++) assertRefused(await on.ask('create_item.v1', { name: 7 }), 422, 'INVALID_ARGUMENTS')
    assertRefused(await on.ask('create_item.v1', { name: 'good now' }), 429, 'TOO_MANY_REFUSALS')
    assert.equal((await on.ask('get_item.v1', { id: 'one' })).body.outcome, 'completed')
    const other = await on.site.token({ roles: ['prober'], run: 'other' })
    assert.equal((await on.call(other, 'create_item.v1', { name: 'x' })).body.outcome, 'completed')
    assert.equal(posts(on), 1)
  })

  test('of an upstream: what finds no place within a second is refused unsent, as RATE_LIMITED', async t => {
    const on = await startProbe(
      t, { change: ({ upstream, sheets }) => { upstream.limits = { concurrency: 1 }; sheets['get_item.v1'].limits.timeout = '2s' } },
    )
    on.answers.read = (socket, request) => { setTimeout(() => { ok({ id: 'one' })(socket, request) }, 1_500) }
    const first = on.ask('get_item.v1', { id: 'one' })
    while (on.upstream.ledger.length === 0) await new Promise(resolve => setTimeout(resolve, 5))
    const second = await on.ask('get_item.v1', { id: 'two' })
    assertRefused(second, 429, 'RATE_LIMITED')
    assert.ok(second.body.error.retryable && second.body.error.retry_after_seconds >= 1)
    assert.equal((await first).body.outcome, 'completed')
    assert.deepEqual(on.arrived(), ['GET /items/one'])
  })
})

describe('files that change on disk', () => {
  test('change nothing until an operator reloads; then the audit has the new digest, and list and call agree (E12, R10)', async t => {
    const on = await startProbe(t)
    const digests = (): readonly string[] => on.audit().filter(({ event }) => event === 'sheet.reloaded').map(({ digest }) => digest)
    const definition = async (): Promise<string> => {
      const { body } = await on.ask('get_item.v1', { id: 'one' })
      return (await rowOf(on, body.correlation_id)).action.definition
    }
    const before = await definition()
    on.rewrite(({ sheets, policy }) => {
      sheets['get_item.v1'].title = 'Changed'
      policy.roles.prober = ['get_item.v1']
    })
    await new Promise(resolve => setTimeout(resolve, 300))
    assert.equal(await definition(), before)
    assert.equal((await on.get(on.token, '/v1/actions')).body.actions.length, 3)
    assert.equal((await on.ask('create_item.v1', { name: 'still' })).body.outcome, 'completed')

    await on.reload()
    assert.notEqual(await definition(), before)
    assert.deepEqual(
      (await on.get(on.token, '/v1/actions')).body.actions.map(({ action, title }: any) => [action, title]), [['get_item.v1', 'Changed']],
    )
    assertRefused(await on.ask('create_item.v1', { name: 'gone' }), 404, 'UNKNOWN_ACTION')
    assert.equal(digests().length, 1)
    assert.match(digests()[0]!, /^[0-9a-f]{64}$/)
  })

  test('into a set with one fault change nothing at a reload: the whole set is refused, the old one goes on (R07)', async t => {
    const on = await startProbe(t)
    on.rewrite(({ sheets }) => {
      sheets['get_item.v1'].title = 'Changed'
      sheets['create_item.v1'].input.properties.url = { type: 'string' }
    })
    await assert.rejects(
      on.reload(), (error: any) => error.faults.some(({ rule, file }: any) => rule === 'input-chooses-url' && file === 'probe/create_item.v1.yaml'),
    )
    assert.equal((await on.get(on.token, '/v1/actions')).body.actions.find(({ action }: any) => action === 'get_item.v1').title, 'Read an item')
    assert.equal((await on.ask('create_item.v1', { name: 'x' })).body.outcome, 'completed')
  })
})
