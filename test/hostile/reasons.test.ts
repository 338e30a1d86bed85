// What an operator is told of a refusal whose answer says little: the log has the reason under the correlation id, and never a value.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ok, startProbe, startProbeProcess } from './probe.ts'

const VALUE = 'alice@example.org'

/** The line of the log, once it has been written. */
async function lineOf (log: () => string, correlationId: string): Promise<any> {
  for (let tries = 0; tries < 100; tries++) {
    const line = log().split('\n').find(one => one.includes(correlationId) && one.endsWith('}'))
    if (line !== undefined) return JSON.parse(line)
    await new Promise(resolve => { setTimeout(resolve, 20) })
  }
  return assert.fail(`the log says nothing of ${correlationId}`)
}

test('a token that is not believed is told apart in the log, also where nothing was called', async t => {
  const on = await startProbeProcess(t)
  const list = async (authorization: string): Promise<any> =>
    (await fetch(`${on.agentsUrl}/v1/actions`, { headers: { authorization } })).json()
  const [head, payload, signature] = on.token.split('.') as [string, string, string]
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
  const forged = [head, Buffer.from(JSON.stringify({ ...claims, aud: VALUE })).toString('base64url'), signature].join('.')
  for (const [authorization, reason] of [['Bearer x', /not one Bearer JWT/], [`Bearer ${forged}`, /SIGNATURE/]] as const) {
    const answer = await list(authorization)
    assert.deepEqual([answer.error.code, answer.error.message], ['UNAUTHENTICATED', 'A valid access token is required.'])
    const line = await lineOf(on.log, answer.correlation_id)
    assert.deepEqual([line.code, line.level], ['UNAUTHENTICATED', 'info'])
    assert.match(line.reason, reason)
    assert.ok(!JSON.stringify(line).includes(VALUE))
  }
  assert.match(await on.metrics(), /aval_http_refusals_total\{code="UNAUTHENTICATED"\} 2/)
})

test('an answer that cannot become a result, or that never came, says why in the log and shows no value', async t => {
  const on = await startProbeProcess(t)
  const cases: ReadonlyArray<readonly [what: string, read: typeof on.answers.read, code: string, reason: string]> = [
    ['a field of another type', ok({ id: 'one', count: VALUE }), 'RESULT_INVALID', 'the result at /count breaks type'],
    ['an item of another type', ok({ id: 'one', tags: ['a', { [VALUE]: 1 }] }), 'RESULT_INVALID', 'the result at /tags/1 breaks type'],
    ['no JSON', ok('<html>'), 'RESULT_INVALID', 'the answer, of status 200, cannot be read (unparsable)'],
    ['no answer', socket => { socket.destroy() }, 'UPSTREAM_ERROR', 'lost closed'],
  ]
  for (const [what, read, code, reason] of cases) {
    on.answers.read = read
    const { body } = await on.ask('get_item.v1', { id: 'one' })
    assert.equal(body.error.code, code, what)
    const line = await lineOf(on.log, body.correlation_id)
    assert.equal(line.internal, reason, what)
    assert.ok(!JSON.stringify(line).includes(VALUE) && !JSON.stringify(body).includes('breaks'), what)
  }
})

test('an upstream whose address may not be dialled is told as that', async t => {
  const on = await startProbeProcess(t, { change: ({ upstream }) => { upstream.networks = ['public'] } })
  const { body } = await on.ask('get_item.v1', { id: 'one' })
  assert.deepEqual([body.error.code, body.error.hint], ['UPSTREAM_UNREACHABLE', null])
  assert.equal((await lineOf(on.log, body.correlation_id)).internal, 'unsent address_refused')
})

test('a name without a version is told so, and whether there is such an action is not', async t => {
  const on = await startProbe(t)
  const hintOf = async (action: string): Promise<string | null> => (await on.ask(action, {})).body.error.hint
  assert.match((await hintOf('get_item'))!, /version/)
  assert.equal(await hintOf('nothing'), await hintOf('get_item'))
  assert.equal(await hintOf('nothing.v1'), null)
})
