// The envelope, field by field and status by status, as a whole broker answers it: what an agent may rely on, whatever the upstream does.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { startTestBroker, type Reached, type TestBroker } from '../support/broker.ts'
import { hostileModes } from '../support/hostile-modes.ts'
import { AUDIENCE, ISSUER, issuerKey, signToken } from '../support/issuer.ts'
import { startRedis } from '../support/redis.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { assertRefused, makeProbe, ok, startProbe, type Probe } from './probe.ts'
import type { ProbeFolder } from './probe-folder.ts'

const ERROR_FIELDS = ['cause', 'code', 'field', 'hint', 'message', 'retry_after_seconds', 'retryable', 'rule']
const fields = (value: object): readonly string[] => Object.keys(value).sort()
const withoutRules = ({ sheets }: ProbeFolder): void => { delete sheets['change_item.v1'].target; delete sheets['change_item.v1'].request.headers }

describe('an answer has exactly these fields:', () => {
  test('a completed observation', async t => {
    const on = await startProbe(t)
    const { status, headers, body } = await on.ask('get_item.v1', { id: 'one' })
    assert.deepEqual([status, headers.get('location')], [200, null])
    assert.deepEqual(fields(body), ['action', 'content', 'correlation_id', 'evidence', 'ok', 'outcome', 'result', 'sent'])
    assert.deepEqual({ ...body, correlation_id: '', evidence: { ...body.evidence, observed_at: '' } }, {
      ok: true, outcome: 'completed', sent: true, action: 'get_item.v1', correlation_id: '', content: 'untrusted', result: { id: 'one', name: 'One' },
      evidence: { source: 'response', upstream_status: 200, observed_at: '' },
    })
    assert.equal(new Date(body.evidence.observed_at).toISOString(), body.evidence.observed_at)
    assert.equal(headers.get('aval-correlation-id'), body.correlation_id)
  })

  test('a rejected observation', async t => {
    const on = await startProbe(t)
    on.answers.read = ok({ error: 'x' }, 404)
    const { status, body } = await on.ask('get_item.v1', { id: 'one' })
    assert.equal(status, 200)
    assert.deepEqual(fields(body), ['action', 'correlation_id', 'error', 'evidence', 'ok', 'outcome', 'sent'])
    assert.deepEqual(fields(body.error), ERROR_FIELDS)
    assert.deepEqual([
      body.ok, body.outcome, body.sent, body.error.code, body.error.retryable, body.evidence.upstream_status,
    ], [false, 'rejected', true, 'UPSTREAM_NOT_FOUND', false, 404])
  })

  test('an observation that is pending by rule: no attempt, no place to ask, the same call asks again', async t => {
    const on = await startProbe(t, {
      change: ({ sheets }) => { sheets['get_item.v1'].outcomes = [{ when: 'response.body.?state.orValue("") == "building"', outcome: 'pending' }] },
    })
    on.answers.read = ok({ id: 'one', state: 'building' }, 200, ['Retry-After: 7'])
    const { status, headers, body } = await on.ask('get_item.v1', { id: 'one' })
    assert.deepEqual([status, headers.get('location'), headers.get('retry-after')], [202, null, '7'])
    assert.deepEqual(fields(body), ['action', 'correlation_id', 'evidence', 'ok', 'outcome', 'pending_on', 'sent'])
    assert.deepEqual([body.ok, body.outcome, body.pending_on, body.sent], [true, 'pending', 'upstream', true])
  })

  test('a completed write, its repeat, and whoever asks later: the same but for duplicate and correlation_id', async t => {
    const on = await startProbe(t)
    const first = await on.ask('create_item.v1', { name: 'x' }, 'k')
    assert.deepEqual([first.status, fields(first.body)], [
      200, ['action', 'attempt_id', 'content', 'correlation_id', 'duplicate', 'evidence', 'ok', 'outcome', 'result', 'sent'],
    ])
    assert.match(first.body.attempt_id, /^att_[0-9a-f]{34}$/)
    const repeat = await on.ask('create_item.v1', { name: 'x' }, 'k')
    const later = await on.attempt(on.token, first.body.attempt_id, 0)
    const strip = ({ status, body }: Reached): unknown => ({ status, ...body, correlation_id: '', duplicate: '' })
    assert.deepEqual(strip(repeat), strip(first))
    assert.deepEqual(strip(later), strip(first))
    assert.deepEqual([first, repeat, later].map(({ body }) => body.duplicate), [false, true, false])
    assert.equal(new Set([first, repeat, later].map(({ body }) => body.correlation_id)).size, 3)
  })

  test('a write that the upstream refused is settled: 200, sent, and not retryable where nothing says so', async t => {
    const on = await startProbe(t)
    on.answers.write = ok({ error: 'x' }, 422)
    const { status, headers, body } = await on.ask('create_item.v1', { name: 'x' })
    assert.deepEqual([status, headers.get('location')], [200, null])
    assert.deepEqual(fields(body), ['action', 'attempt_id', 'correlation_id', 'duplicate', 'error', 'evidence', 'ok', 'outcome', 'sent'])
    assert.deepEqual([body.ok, body.outcome, body.sent, body.error.code, body.error.retryable], [false, 'rejected', true, 'UPSTREAM_REJECTED', false])
  })

  test('an unknown write: 202, where to ask and when, and words that promise nothing', async t => {
    const on = await startProbe(t)
    on.answers.write = hostileModes['reset-after']!
    const { status, headers, body } = await on.ask('create_item.v1', { name: 'x' })
    const path = `/v1/attempts/${body.attempt_id}`
    assert.deepEqual([status, headers.get('location')], [202, path])
    assert.deepEqual(fields(body), ['action', 'attempt_id', 'correlation_id', 'duplicate', 'error', 'next', 'ok', 'outcome', 'sent'])
    assert.deepEqual(fields(body.error), ERROR_FIELDS)
    assert.deepEqual(body.next, { method: 'GET', path, after_seconds: 5 })
    assert.deepEqual([body.ok, body.outcome, body.sent, body.error.code, body.error.retryable], [false, 'unknown', true, 'OUTCOME_UNKNOWN', false])
    assert.doesNotMatch(body.error.message, /fail|retry/i)
    assert.equal((await on.get(on.token, path)).status, 202)
  })

  test('a pending write: 202, pending_on upstream', async t => {
    const on = await startProbe(t)
    on.answers.write = ok({ id: 'x' }, 202)
    const { status, headers, body } = await on.ask('create_item.v1', { name: 'x' })
    assert.deepEqual([status, headers.get('location')], [202, `/v1/attempts/${body.attempt_id}`])
    assert.deepEqual(fields(body), ['action', 'attempt_id', 'correlation_id', 'duplicate', 'next', 'ok', 'outcome', 'pending_on', 'sent'])
    assert.deepEqual([body.ok, body.outcome, body.pending_on, body.sent], [true, 'pending', 'upstream', true])
  })

  test('a repeat of what is under way: 202, pending_on dispatch, or 409 while nothing was sent; then its outcome', async t => {
    const on = await startProbe(t)
    let answer = (): void => {}
    on.answers.write = (socket, request) => { answer = () => { ok({ id: 'x' })(socket, request) } }
    const first = on.ask('create_item.v1', { name: 'x' }, 'k')
    while (on.upstream.ledger.length === 0) await new Promise(resolve => setTimeout(resolve, 5))
    const repeat = await on.ask('create_item.v1', { name: 'x' }, 'k')
    assert.deepEqual([repeat.status, repeat.body.outcome, repeat.body.pending_on, repeat.body.duplicate], [202, 'pending', 'dispatch', true])
    assert.ok(!('sent' in repeat.body), 'whether a byte has left is not known yet')
    assert.equal(repeat.headers.get('location'), `/v1/attempts/${repeat.body.attempt_id}`)
    answer()
    assert.deepEqual((await first).body.result, { id: 'x' })
    assert.equal(on.upstream.ledger.length, 1)
  })

  test('a call that found everything as it should be: 200, ok, not sent, no attempt', async t => {
    const on = await startProbe(t, {
      change: folder => {
        withoutRules(folder)
        folder.sheets['change_item.v1'].checks = [
          { require: 'reads.item.body.?name.orValue(null) != args.name', outcome: 'already_in_desired_state' },
        ]
      },
    })
    const { status, body } = await on.ask('change_item.v1', { id: 'one', name: 'One' })
    assert.deepEqual([status, body.ok, body.outcome, body.sent], [200, true, 'already_in_desired_state', false])
    assert.deepEqual(on.arrived(), ['GET /items/one'])
    assert.deepEqual((await on.get(on.token, '/v1/attempts')).body.attempts, [])
  })

  test('a refusal: all eight of the error, sent false, no attempt, no evidence', async t => {
    const on = await startProbe(t)
    const { body, headers } = await on.ask('create_item.v1', {})
    assert.deepEqual(fields(body), ['action', 'correlation_id', 'error', 'ok', 'outcome', 'sent'])
    assert.deepEqual(fields(body.error), ERROR_FIELDS)
    assert.equal(headers.get('aval-correlation-id'), body.correlation_id)
    const unknown = await on.ask('nothing.v1', {})
    assert.deepEqual(fields(unknown.body), [
      'correlation_id', 'error', 'ok', 'outcome', 'sent',
    ], 'an action that does not exist for the caller is not named')
  })
})

describe('retry_after_seconds', () => {
  const after = async (on: Probe & TestBroker, header: string, token = on.token): Promise<readonly [Reached, Reached]> => {
    const mode = ok({ error: 'slow down' }, 429, [`Retry-After: ${header}`])
    Object.assign(on.answers, { read: mode, write: mode })
    return [await on.call(token, 'get_item.v1', { id: 'one' }), await on.call(token, 'create_item.v1', { name: header })]
  }

  test('is what the upstream said, within a second and an hour, and stands in the header too', async t => {
    const on = await startProbe(t)
    for (const [header, seconds] of [
      ['0', 1], ['30', 30], ['3000', 3_000], ['-5', null], ['soon', null], ['Wed, 21 Oct 2015 07:28:00 GMT', 1], ['1e3', null],
    ] as const) {
      for (const { headers, body } of await after(on, header)) {
        assert.deepEqual([body.error.code, body.error.retryable, body.error.retry_after_seconds], ['UPSTREAM_RATE_LIMITED', true, seconds], header)
        assert.equal(headers.get('retry-after'), seconds === null ? null : String(seconds))
      }
    }
    // The token of the test ends in an hour too.
    for (const { body } of await after(on, '999999')) assert.ok(body.error.retry_after_seconds > 3_500 && body.error.retry_after_seconds <= 3_600)
  })

  test('is never past the end of the token', async t => {
    const probe = await makeProbe(t, { env: { AVAL_ISSUER: ISSUER, AVAL_AUDIENCE: AUDIENCE } })
    const key = await issuerKey('k1', 'ES256')
    writeFileSync(`${probe.site.folder}/jwks.json`, JSON.stringify({ keys: [key.jwk] }))
    const broker = await startTestBroker(probe.site)
    t.after(() => broker.close())
    const token = await signToken(key, { roles: ['prober'], exp: Math.floor(Date.now() / 1000) + 60 })
    for (const { body } of await after({ ...probe, ...broker }, '3000', token)) {
      const { retry_after_seconds: seconds } = body.error
      assert.ok(seconds >= 1 && seconds <= 60, String(seconds))
    }
  })
})

describe('field', () => {
  const change = ({ sheets }: ProbeFolder): void => {
    const closed = (properties: object): object => ({ type: 'object', additionalProperties: false, required: Object.keys(properties), properties })
    const { properties } = sheets['create_item.v1'].input
    properties.pay = {
      oneOf: [
        closed({ kind: { const: 'card' }, number: { type: 'string', maxLength: 19, pattern: '^[0-9]+$' } }),
        closed({ kind: { const: 'bank' }, holder: closed({ name: { type: 'string', maxLength: 9 } }) }),
      ],
    }
    sheets['create_item.v1'].request.body.note = '${has(args.pay) ? "paid" : "unpaid"}'
    delete properties.note
  }

  test('follows the branch that a discriminator chooses, and names what is there to choose from where it chooses none', async t => {
    const on = await startProbe(t, { change: folder => { change(folder); folder.sheets['create_item.v1'].values = { all: '${args.?pay}' } } })
    for (const [pay, field, rule] of [
      [{ kind: 'card', number: 'x' }, '/pay/number', 'pattern'],
      [{ kind: 'bank', holder: { name: 7 } }, '/pay/holder/name', 'type'],
      [{ kind: 'bank', holder: { name: 'x' }, number: '1' }, '/pay/number', 'additionalProperties'],
      [{ kind: 'cash' }, '/pay/kind', 'const'],
      [{}, '/pay/kind', 'required'],
    ] as const) {
      const reached = await on.ask('create_item.v1', { name: 'x', pay })
      assertRefused(reached, 422, 'INVALID_ARGUMENTS', field)
      assert.equal(reached.body.error.rule, rule)
    }
    assert.equal(on.upstream.bytes, 0)
  })
})

describe('what could not be written down', () => {
  test('is told all the same, as not recorded, and is recorded later (Redis gone between the send and the record)', async t => {
    const redis = await startRedis()
    t.after(() => redis.stop())
    const proxy = await startTcpProxy({ port: redis.port })
    t.after(() => proxy.stop())
    const on = await startProbe(t, { env: { AVAL_STATE: `redis://127.0.0.1:${proxy.port}` } })
    on.answers.write = (socket, request) => {
      proxy.blackHole()
      ok({ id: 'done' })(socket, request)
    }
    const { status, body } = await on.ask('create_item.v1', { name: 'x' }, 'k')
    assert.deepEqual([status, body.outcome, body.recorded, body.result], [200, 'completed', false, { id: 'done' }])
    assertRefused(await on.ask('create_item.v1', { name: 'y' }, 'k2'), 503, 'STATE_UNAVAILABLE')
    proxy.pass()
    const later = await on.attempt(on.token, body.attempt_id)
    assert.deepEqual([later.body.outcome, later.body.result, 'recorded' in later.body], ['completed', { id: 'done' }, false])
    assert.equal(on.upstream.ledger.filter(({ method }) => method === 'POST').length, 1)
  })
})
