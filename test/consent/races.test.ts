// Whoever is first: an approval is used up by one attempt, on any number of replicas, and by none where nothing left.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { eventually, STORES } from '../invariants/ground.ts'
import { startBrokerProcess, type Reached, type TestBroker } from '../support/broker.ts'
import { ADDRESS, CHANGE, consentStage, OTHER_ADDRESS, type Stage } from './stage.ts'

const codesOf = (answers: readonly Reached[]): string[] => answers.map(({ status, body }) => `${status} ${body.error?.code ?? body.outcome}`)

describe('commits at once', () => {
  test('fifty of them on two replicas: one request, one effect, and nobody is told anything else (A32, F12)', async t => {
    const on = await consentStage(t, 'redis')
    const second = await on.another()
    for (let round = 0; round < 3; round++) {
      const id = await on.propose({ destination: { ...ADDRESS, street: `${round} Round Road` } })
      await on.approve(id)
      const before = [on.writes().length, on.effects()] as const
      const answers = await Promise.all(Array.from({ length: 50 }, (_, at) => on.commit(id, { broker: at % 2 === 0 ? on.broker : second })))
      const wrong = codesOf(answers).filter(one => !['200 completed', '202 pending', '409 CALL_IN_PROGRESS', '429 RATE_LIMITED'].includes(one))
      assert.deepEqual(wrong, [])
      assert.deepEqual([on.writes().length - before[0], on.effects() - before[1]], [1, 1])
      assert.equal(answers.filter(({ body }) => body.outcome === 'completed' && body.duplicate === false).length, 1)
      assert.equal(new Set(answers.flatMap(({ body }) => body.attempt_id ?? [])).size, 1)
      assert.equal((await on.record(id)).state, 'consumed')
    }
  })

  for (const kind of STORES) {
    test(`a commit and a withdrawal at once: either one, never both (${kind})`, async t => {
      const on = await consentStage(t, kind)
      for (let round = 0; round < 8; round++) {
        const id = await on.propose({ destination: { ...ADDRESS, street: `${round} Round Road` } })
        await on.approve(id)
        const before = on.effects()
        const [committed] = await Promise.all([on.commit(id), on.withdraw(id)])
        const { state } = await on.record(id)
        if (committed.body.outcome === 'completed') assert.deepEqual([state, on.effects()], ['consumed', before + 1])
        else assert.deepEqual([committed.body.error.code, state, on.effects()], ['PROPOSAL_WITHDRAWN', 'withdrawn', before])
      }
    })
  }
})

describe('two proposals on one version of an object', () => {
  for (const kind of STORES) {
    test(`one is carried out; the other is found out before anything is sent, and is not used up (${kind})`, async t => {
      const on = await consentStage(t, kind)
      const ids = [await on.propose(), await on.propose({ destination: OTHER_ADDRESS })]
      for (const id of ids) await on.approve(id)
      const answers = await Promise.all(ids.map(id => on.commit(id)))
      assert.equal(answers.filter(({ body }) => body.outcome === 'completed').length, 1, codesOf(answers).join())
      const loser = ids[answers.findIndex(({ body }) => body.outcome !== 'completed')]!
      const again = await on.commit(loser)
      assert.ok(['VERSION_CONFLICT', 'PROPOSAL_INVALIDATED'].includes(again.body.error.code), again.body.error.code)
      const record = await on.record(loser)
      assert.deepEqual([record.state, record.cause, record.attemptId], ['invalidated', 'target_changed', null])
      assert.deepEqual([on.writes().length, on.effects()], [1, 1])
    })
  }
})

describe('an approval whose send provably never left', () => {
  test('is good again: the next commit sends it', async t => {
    const on = await consentStage(t, 'sqlite')
    const id = await on.propose()
    await on.approve(id)
    // The reads are answered, and then nobody listens any more.
    on.recorder.before = ({ method }) => { if (method === 'GET') on.recorder.refuse() }
    const refused = await on.commit(id)
    assert.deepEqual([refused.status, refused.body.error.code, refused.body.sent], [503, 'UPSTREAM_UNREACHABLE', false])
    assert.equal((await on.record(id)).state, 'approved')
    on.recorder.before = () => undefined
    await on.recorder.listen()
    await eventually(async () => (await on.commit(id)).body.outcome === 'completed', 'it is carried out')
    assert.deepEqual([on.writes().length, on.effects(), (await on.record(id)).state], [1, 1, 'consumed'])
  })
})

describe('an approval that is given back between two looks at it', () => {
  test('is never told as a call that was refused', async t => {
    const on = await consentStage(t, 'sqlite')
    const id = await on.propose()
    await on.approve(id)
    on.recorder.before = ({ method }) => { if (method === 'GET') on.recorder.refuse() }
    const { body } = await on.commit(id)
    assert.equal(body.error.code, 'UPSTREAM_UNREACHABLE')
    const [attempt] = (await on.broker.get(on.token, '/v1/attempts')).body.attempts
    const store = on.store()
    const find = store.findProposal.bind(store)
    const asItWas = (): void => {
      store.findProposal = async asked => {
        store.findProposal = find
        const { record, nowMs } = (await find(asked))!
        return { record: { ...record, state: 'consumed', attemptId: attempt.attempt_id }, nowMs }
      }
    }
    asItWas()
    const told = await on.commit(id)
    assert.deepEqual([told.status, told.body.error.code, told.body.error.retryable], [409, 'CALL_IN_PROGRESS', true])
    asItWas()
    assert.equal((await on.get(id)).body.proposal.state, 'approved')
  })
})

describe('a call that its own repeat has overtaken', () => {
  for (const kind of STORES) {
    test(`is not asked for again when that was approved and carried out meanwhile (${kind})`, async t => {
      const on = await consentStage(t, kind)
      const store = on.store()
      const propose = store.propose.bind(store)
      store.propose = async (...words) => {
        store.propose = propose
        const id = await on.propose({}, { key: 'key-1' })
        await on.approve(id)
        assert.equal((await on.commit(id)).body.outcome, 'completed')
        return propose(...words)
      }
      const slow = await on.call({}, { key: 'key-1' })
      assert.deepEqual([slow.status, slow.body.error?.code, slow.body.error?.retryable], [409, 'CALL_IN_PROGRESS', true])
      const { body } = await on.call({}, { key: 'key-1' })
      assert.deepEqual([body.outcome, body.duplicate, on.effects()], ['completed', true, 1])
    })
  }
})

describe('an approval whose time ends during the commit', () => {
  test('is found out by the store in the step that would have used it up', async t => {
    const on = await consentStage(t, 'sqlite')
    const id = await on.propose()
    await on.approve(id)
    await on.broker.close()
    const commitByMs = Date.now() + 4_000
    inDatabase(on.site, 'UPDATE proposals SET body = json_set(body, \'$.commitByMs\', $at), ends_at = $at WHERE id = $id', { at: commitByMs, id })
    const again = await on.another()
    let late = false
    on.recorder.before = async () => {
      await new Promise(resolve => setTimeout(resolve, Math.max(0, commitByMs + 2 - Date.now())))
      late = true
    }
    const { status, body } = await on.commit(id, { broker: again })
    assert.deepEqual([status, body.error.code, body.proposal.state, on.writes().length], [409, 'PROPOSAL_EXPIRED', 'expired', 0])
    assert.ok(late, 'it had begun in time')
  })
})

describe('a broker that dies in the middle of a commit', () => {
  const cases: ReadonlyArray<readonly [string, string, number]> = [
    ['after_begin', 'approved', 0], ['after_mark', 'consumed', 0], ['after_send', 'consumed', 1],
  ]
  for (const [failpoint, state, effects] of cases) {
    test(`at ${failpoint}: the approval is ${state === 'approved' ? 'good again, and used up once' : 'used up by that one attempt'}`, async t => {
      const on = await consentStage(t, 'redis')
      const id = await on.propose()
      await on.approve(id)
      await commitAndDie(on, id, failpoint)
      assert.equal((await on.record(id)).state, 'consumed')
      const told = await untilTold(on, id)
      if (state === 'approved') assert.deepEqual([told.body.outcome, told.body.duplicate, on.effects()], ['completed', false, 1])
      else assert.deepEqual([told.body.outcome, told.body.duplicate, on.effects()], [effects === 1 ? 'completed' : 'rejected', true, effects])
      assert.equal(on.writes().length, state === 'approved' ? 1 : effects)
    })
  }
})

function inDatabase (site: Stage['site'], text: string, values: Record<string, string | number>): void {
  const database = new DatabaseSync(join(site.folder, 'data', 'aval.db'))
  try {
    assert.equal(database.prepare(text).run(values).changes, 1)
  } finally {
    database.close()
  }
}

async function commitAndDie (on: Stage, id: string, failpoint: string): Promise<void> {
  const env = {
    AVAL_STATE: `redis://127.0.0.1:${on.redis!.port}`, AVAL_DATA: join(on.site.folder, `data-${randomUUID().slice(0, 8)}`), AVAL_FAILPOINTS: `${failpoint}:kill`,
  }
  const broker = await startBrokerProcess(on.site, env, ['test/consent/serve.ts'])
  await assert.rejects(on.commit(id, { broker: broker as unknown as TestBroker }), 'it died')
}

/** Commits until it is known what became of it. */
async function untilTold (on: Stage, id: string): Promise<Reached> {
  let told: Reached | null = null
  await eventually(async () => {
    const { body, status } = told = await on.commit(id)
    return status === 200 && body.outcome !== 'unknown'
  }, `what became of ${CHANGE} is known`, 60_000)
  return told!
}
