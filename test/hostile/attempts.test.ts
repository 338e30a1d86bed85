// Who may see an attempt and who may go on with it, as roles and claims change, against a whole broker.
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import type { Reached, TokenClaims } from '../support/broker.ts'
import { hostileModes } from '../support/hostile-modes.ts'
import { assertRefused, ok, startProbe, type Probing } from './probe.ts'

const claims = { items: ['one', 'two'] }

async function withAttempt (t: TestContext): Promise<{ readonly on: Probing, readonly id: string }> {
  const on = await startProbe(t)
  on.answers.read = ok({ id: 'one' }, 200, ['ETag: "1"'])
  on.answers.write = ok({ id: 'one' })
  const token = await on.site.token({ roles: ['prober'], run: 'run-1', claims })
  const { body } = await on.call(token, 'change_item.v1', { id: 'one', name: 'x' }, 'key-1')
  assert.equal(body.outcome, 'completed')
  return { on, id: body.attempt_id }
}

/** All that can be asked about an attempt, with the correlation id taken out. */
async function asked (on: Probing, token: string, id: string): Promise<readonly unknown[]> {
  const strip = ({ status, body }: Reached): unknown => ({ status, body: { ...body, correlation_id: '' } })
  return [
    strip(await on.get(token, `/v1/attempts/${id}`)),
    strip(await on.post(token, `/v1/attempts/${id}/cancel`)),
    strip(await on.post(token, `/v1/attempts/${id}/escalate`)),
  ]
}

const UNKNOWN_ID = `att_${'0'.repeat(34)}`

describe('an attempt', () => {
  test('is seen by its own agent, tenant and run alone; to all others it is as one that never was', async t => {
    const { on, id } = await withAttempt(t)
    const own = await on.site.token({ roles: ['prober'], run: 'run-1', claims })
    assert.equal((await on.attempt(own, id, 0)).status, 200)
    assert.deepEqual((await on.get(own, '/v1/attempts')).body.attempts.map((one: any) => one.attempt_id), [id])
    for (const change of [{ sub: 'agent-2' }, { tenant: 'acme' }, { run: 'run-2' }, { run: null }]) {
      const token = await on.site.token({ roles: ['prober'], run: 'run-1', claims, ...change })
      const [foreign, unknown] = [await asked(on, token, id), await asked(on, token, UNKNOWN_ID)]
      assert.deepEqual(foreign, unknown, JSON.stringify(change))
      assert.deepEqual(foreign.map((one: any) => [one.status, one.body.error.code]), Array(3).fill([404, 'NOT_FOUND']))
      if (change.run !== null) assert.deepEqual((await on.get(token, '/v1/attempts')).body.attempts, [])
    }
    assert.equal((await on.attempt(own, id, 0)).body.outcome, 'completed', 'nobody has changed anything')
  })

  test('is out of sight, out of reach and no longer repeated once the role is taken away, and back with it', async t => {
    const { on, id } = await withAttempt(t)
    const own = await on.site.token({ roles: ['prober'], run: 'run-1', claims })
    const unknown = await asked(on, own, UNKNOWN_ID)
    on.rewrite(({ policy }) => { policy.roles.prober = ['get_item.v1'] })
    await on.reload()
    assert.deepEqual(await asked(on, own, id), unknown)
    assert.deepEqual((await on.get(own, '/v1/attempts')).body.attempts, [])
    assertRefused(await on.call(own, 'change_item.v1', { id: 'one', name: 'x' }, 'key-1'), 404, 'UNKNOWN_ACTION')
    on.rewrite(({ policy }) => { policy.roles.prober = ['change_item.v1'] })
    await on.reload()
    assert.equal((await on.attempt(own, id, 0)).body.outcome, 'completed')
  })

  test('is out of sight once a token no longer has the role, the action or the claim that its scope asks for', async t => {
    const { on, id } = await withAttempt(t)
    for (const change of [
      { roles: ['reader'] }, { claims: { ...claims, actions: ['get_item.v1'] } }, { claims: { items: ['two'] } }, { claims: { none: true } },
    ] as ReadonlyArray<TokenClaims>) {
      const token = await on.site.token({ roles: ['prober'], run: 'run-1', claims, ...change })
      assert.deepEqual(await asked(on, token, id), await asked(on, token, UNKNOWN_ID), JSON.stringify(change))
      assert.deepEqual((await on.get(token, '/v1/attempts')).body.attempts, [])
      const repeat = await on.call(token, 'change_item.v1', { id: 'one', name: 'x' }, 'key-1')
      assert.ok(['UNKNOWN_ACTION', 'OUT_OF_SCOPE'].includes(repeat.body.error?.code), JSON.stringify(repeat.body))
      assert.equal('attempt_id' in repeat.body, false)
    }
  })

  test('that is open keeps to the sheet that it began with, through a reload that changes or removes it (R07, E12)', async t => {
    const on = await startProbe(t)
    let answer = (): void => {}
    on.answers.write = (socket, request) => { answer = () => { ok({ id: 'new', name: 'from the old view' })(socket, request) } }
    const open = on.ask('create_item.v1', { name: 'r07' })
    while (on.upstream.ledger.length === 0) await new Promise(resolve => setTimeout(resolve, 5))
    on.rewrite(({ sheets }) => { delete sheets['create_item.v1'].result.schema.properties.name })
    await on.reload()
    answer()
    assert.deepEqual((await open).body.result, { id: 'new', name: 'from the old view' })
    on.answers.write = ok({ id: 'new', name: 'unseen' })
    assert.deepEqual((await on.ask('create_item.v1', { name: 'r07 again' })).body.result, { id: 'new' })
  })

  test('that is unknown is looked up by the sheet that it began with, also after that is gone (R07)', async t => {
    const on = await startProbe(t)
    on.answers.write = hostileModes['reset-after']!
    const { body } = await on.ask('create_item.v1', { name: 'lost' })
    assert.equal(body.outcome, 'unknown')
    on.rewrite(({ sheets }) => { sheets['create_item.v1'].lookup.outcomes = [
      { when: 'found.hasValue()', outcome: 'rejected', error: 'UPSTREAM_REJECTED' },
    ] })
    await on.reload()
    const key = on.upstream.ledger[0]!.headers['idempotency-key']
    on.answers.lookup = ok({ items: [{ id: 'found', key }] })
    const end = await on.attempt(on.token, body.attempt_id)
    assert.deepEqual([end.body.outcome, end.body.result, end.body.evidence.source], ['completed', { id: 'found' }, 'lookup'])
    assert.equal(on.upstream.ledger.filter(({ method }) => method === 'POST').length, 1)
  })
})

describe('a wish to cancel', () => {
  test('of what was sent is too late and changes nothing; of what is settled, already settled (X15)', async t => {
    const on = await startProbe(t)
    on.answers.write = hostileModes['reset-after']!
    const lost = (await on.ask('create_item.v1', { name: 'x15' })).body
    const late = await on.post(on.token, `/v1/attempts/${lost.attempt_id}/cancel`)
    assert.deepEqual([late.status, late.body.outcome, late.body.cancel], [202, 'unknown', 'too_late'])
    on.answers.write = ok({ id: 'new' })
    const done = (await on.ask('create_item.v1', { name: 'x15 done' })).body
    const settled = await on.post(on.token, `/v1/attempts/${done.attempt_id}/cancel`)
    assert.deepEqual([settled.status, settled.body.outcome, settled.body.cancel], [200, 'completed', 'already_settled'])
  })

  test('of a whole run lets nothing more in, and what is under way go on (R13)', async t => {
    const on = await startProbe(t)
    let answer = (): void => {}
    on.answers.write = (socket, request) => { answer = () => { ok({ id: 'new' })(socket, request) } }
    const open = on.ask('create_item.v1', { name: 'r13' })
    while (on.upstream.ledger.length === 0) await new Promise(resolve => setTimeout(resolve, 5))
    assert.equal((await on.post(on.token, '/v1/run/stop')).status, 200)
    assertRefused(await on.ask('create_item.v1', { name: 'r13 next' }), 403, 'RUN_STOPPED')
    assertRefused(await on.ask('get_item.v1', { id: 'one' }), 403, 'RUN_STOPPED')
    answer()
    assert.equal((await open).body.outcome, 'completed')
    const other = await on.site.token({ roles: ['prober'], run: 'run-2' })
    on.answers.write = ok({ id: 'new' })
    assert.equal((await on.call(other, 'create_item.v1', { name: 'r13' })).body.outcome, 'completed')
  })
})
