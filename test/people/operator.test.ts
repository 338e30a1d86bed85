// The pages of operators over real sockets: for the role alone, and what each form asks of the desk.
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { CatalogFaults } from '../../src/catalog/catalog.ts'
import { Refusal } from '../../src/errors.ts'
import { draft } from '../store/drafts.ts'
import { Visitor } from './browser-like.ts'
import { startPeople, type People } from './ground.ts'

async function ground (t: TestContext, groups: readonly string[] = ['ops']): Promise<{ people: People, visitor: Visitor }> {
  const people = await startPeople(t)
  people.idp.who = { sub: 'olga', name: 'Olga Operator', groups }
  const visitor = new Visitor(people.origin)
  await visitor.signIn()
  return { people, visitor }
}

const lost = { ...draft(), state: 'unknown' as const, missing: 'the connection was lost', dispatchedAtMs: 1_000_000, unknownAtMs: 1_001_000, lookups: 3 }

test('an approver who is no operator finds none of these pages', async t => {
  const { people, visitor } = await ground(t, ['leads'])
  for (const path of ['/operator', `/operator/attempts/${lost.id}`, '/operator/runs', '/operator/broker']) {
    assert.equal((await visitor.ask(path)).status, 403, path)
  }
  for (const path of [`/operator/attempts/${lost.id}/resolve`, '/operator/runs/stop', '/operator/lock', '/operator/unlock', '/operator/reload']) {
    assert.equal((await visitor.ask(path, { method: 'POST', body: '' })).status, 403, path)
  }
  assert.doesNotMatch((await visitor.ask('/approvals')).text, /Unresolved/)
  assert.deepEqual(people.desk.operator.done, [])
})

test('what nobody knows the fate of is listed with its evidence, and resolved with a note', async t => {
  const { people, visitor } = await ground(t)
  people.desk.operator.attempts = [lost]
  assert.match((await visitor.ask('/operator')).text, /the connection was lost/)
  const path = `/operator/attempts/${lost.id}`
  const page = await visitor.ask(path)
  for (const shown of [lost.key, lost.correlationId, lost.owner.run]) assert.ok(page.text.includes(shown), shown)
  const empty = await visitor.submit(page, `${path}/resolve`, { outcome: '', code: '', note: '' })
  assert.equal(empty.status, 422)
  assert.match(empty.text, /Say how you know/)
  assert.deepEqual(people.desk.operator.done, [])
  assert.doesNotMatch(page.text, /never|>null<|Reference/, 'what there is not is left out')
  assert.match(page.text, /<option value="CONFLICT">CONFLICT<\/option>/)
  const both = await visitor.submit(page, `${path}/resolve`, { outcome: 'completed', code: 'CONFLICT', note: 'looked it up' })
  assert.deepEqual([both.status, /A code says why a call had no effect/.test(both.text), people.desk.operator.done], [422, true, []])
  assert.match(both.text, /<option value="CONFLICT" selected>/, 'and it is there to be taken away')
  const taken = await visitor.submit(page, `${path}/resolve`, { outcome: 'rejected', code: 'NOT_APPLIED', note: 'looked it up' })
  assert.equal(taken.headers.get('location'), '/operator?said=resolved')
  assert.deepEqual(people.desk.operator.done, [{ what: 'resolve', ask: { id: lost.id, outcome: 'rejected', code: 'NOT_APPLIED', note: 'looked it up' } }])
  people.desk.operator.fault = Refusal.of('MALFORMED_REQUEST', { message: 'The code must be one of A, B.' })
  const refused = await visitor.submit(page, `${path}/resolve`, { outcome: 'rejected', code: 'X', note: 'words kept' })
  assert.equal(refused.status, 422)
  assert.match(refused.text, /one of A, B[\s\S]*words kept/)
})

test('two attempts of one action are told apart by what they are about', async t => {
  const { people, visitor } = await ground(t)
  const about = (id: string): object => ({ target: { type: 'customer', id, version: null } })
  people.desk.operator.attempts = [{ ...lost, ...about('cus_1') }, { ...lost, ...about('cus_2') }, { ...lost, target: null, args: { order: 'ord_3' } }, { ...lost, target: null, args: { iban: 'IE29' }, sensitive: true }]
  const { text } = await visitor.ask('/operator')
  for (const shown of ['cus_1', 'cus_2', 'ord_3', 'Refund a payment']) assert.ok(text.includes(shown), shown)
  assert.doesNotMatch(text, /IE29/)
})

test('the address of a form, opened, is the page that the form stands on', async t => {
  const { people, visitor } = await ground(t)
  people.desk.operator.attempts = [lost]
  for (const act of ['lock', 'unlock', 'reload']) assert.equal((await visitor.ask(`/operator/${act}`)).headers.get('location'), '/operator/broker')
  assert.equal((await visitor.ask(`/operator/attempts/${lost.id}/resolve`)).headers.get('location'), `/operator/attempts/${lost.id}`)
  const entered = await visitor.submit(await visitor.ask('/operator/broker'), '/operator/lock', { note: 'a leak', by_enter: 'yes' })
  assert.equal(entered.status, 400)
  assert.match(entered.text, /href="\/operator\/broker">Back to the form/)
})

test('arguments of a sensitive action are not shown to operators', async t => {
  const { people, visitor } = await ground(t)
  people.desk.operator.attempts = [{ ...lost, args: { iban: 'IE29-secret' } }, { ...lost, id: `att_${'0'.repeat(34)}`, args: { iban: 'IE29-secret' }, sensitive: true }]
  assert.match((await visitor.ask(`/operator/attempts/${lost.id}`)).text, /IE29-secret/)
  assert.doesNotMatch((await visitor.ask(`/operator/attempts/att_${'0'.repeat(34)}`)).text, /IE29-secret/)
})

test('a run under way is stopped with a reason, after a warning; what was stopped stays on the list with who and why', async t => {
  const { people, visitor } = await ground(t)
  const run = { iss: 'https://issuer.example', sub: 'a&b', tenant: 't', run: 'run "1"' }
  people.desk.operator.runs = [{ ...run, writes: 3, lastAtMs: 1_000_000, stopped: null }]
  const page = await visitor.ask('/operator/runs')
  assert.match(page.text, /It cannot be taken back/)
  const silent = await visitor.submit(page, '/operator/runs/stop', { ...run, note: ' ' })
  assert.deepEqual([silent.status, people.desk.operator.done], [422, []])
  assert.match(silent.text, /Say why/)
  const stopped = await visitor.submit(page, '/operator/runs/stop', { ...run, note: 'it loops' })
  assert.equal(stopped.headers.get('location'), '/operator/runs?said=stopped')
  assert.deepEqual(people.desk.operator.done, [{ what: 'stopRun', ask: { ...run, note: 'it loops' } }])
  people.desk.operator.runs = [{ ...run, writes: 3, lastAtMs: 1_000_000, stopped: { act: { by: 'Olga <b>', note: 'it <loops>', atMs: 2_000_000 } } }]
  const after = await visitor.ask('/operator/runs')
  assert.match(after.text, /Stopped<\/strong> by .*Olga &lt;b&gt;.*1970-01-01 00:33 UTC<\/time>: .*it &lt;loops&gt;/)
  assert.doesNotMatch(after.text, /action="\/operator\/runs\/stop"/)
})

test('the broker is locked with a reason; to unlock it the sign-in must be fresh', async t => {
  const { people, visitor } = await ground(t)
  const page = await visitor.ask('/operator/broker')
  assert.equal((await visitor.submit(page, '/operator/lock', { note: '' })).status, 422)
  const done = await visitor.submit(page, '/operator/lock', { note: 'a leak' })
  assert.equal(done.status, 200)
  assert.match(done.text, /notice note" role="status"><p><strong>The broker is locked/)
  people.desk.operator.lock = { locked: true, epoch: 2, waitingFor: ['replica-2'], act: { by: 'Olga <b>', note: '<suspicious> refunds', atMs: 2_000_000 } }
  const locked = await visitor.ask('/operator/broker')
  assert.match(locked.text, /replica-2/)
  assert.match(locked.text, /Locked by .*Olga &lt;b&gt;.*1970-01-01 00:33 UTC<\/time>: .*&lt;suspicious&gt; refunds/)
  people.ahead(6 * 60_000)
  assert.doesNotMatch((await visitor.ask('/operator/broker')).text, /action="\/operator\/unlock"/)
  assert.equal((await visitor.submit(locked, '/operator/unlock', { note: 'all clear' })).status, 403)
  people.ahead(-6 * 60_000)
  assert.equal((await visitor.submit(locked, '/operator/unlock', { note: 'all clear' })).status, 200)
  assert.deepEqual(people.desk.operator.done, [{ what: 'lock', ask: 'a leak' }, { what: 'unlock', ask: 'all clear' }])
})

test('sheets with faults are said to have them, line by line', async t => {
  const { people, visitor } = await ground(t)
  const page = await visitor.ask('/operator/broker')
  assert.match((await visitor.submit(page, '/operator/reload')).text, /> ?7 actions are in force/)
  people.desk.operator.unchanged = true
  assert.match((await visitor.submit(page, '/operator/reload')).text, /Nothing is different: 7 actions are in force/)
  people.desk.operator.fault = new CatalogFaults([{ file: 'actions/<b>.yaml', line: 3, column: 5, rule: 'unknown-field', message: 'no <b> here' }])
  const faulty = await visitor.submit(page, '/operator/reload')
  assert.equal(faulty.status, 422)
  assert.match(faulty.text, /actions\/&lt;b&gt;\.yaml:3:5 unknown-field no &lt;b&gt; here/)
})
