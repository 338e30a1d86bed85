// Where an expression cannot be evaluated at run time, the safe side is taken: out of scope, not checked, not matched, not known. Against a whole
// broker, with an upstream that leaves out or twists what the expressions need.
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import type { JsonObject } from '../../src/catalog/catalog.ts'
import type { Reached } from '../support/broker.ts'
import { assertRefused, ok, startProbe, SECRET, type Probing } from './probe.ts'
import type { ProbeFolder } from './probe-folder.ts'

const closers: Array<() => unknown> = []
let probe: Probing

before(async () => { probe = await startProbe({ after: (close: any) => { closers.push(close) } }, { change: addSheets }) })
after(async () => { for (const close of closers.reverse()) await close() })
beforeEach(() => {
  probe.upstream.clear()
  probe.answers.read = ok({ id: 'one' })
  probe.answers.write = ok({ id: 'one' })
})

const puts = (): ReadonlyArray<JsonObject> => probe.upstream.ledger.filter(({ method }) => method === 'PUT').map(
  ({ body }) => JSON.parse(body) as JsonObject,
)

function addSheets ({ sheets, policy }: ProbeFolder): void {
  const add = (name: string, change: (sheet: any) => void, from = 'change_item.v1'): void => {
    const sheet = structuredClone(sheets[from])
    sheet.action = name
    delete sheet.checks
    if (from === 'change_item.v1') {
      delete sheet.scope
      delete sheet.target
      delete sheet.request.headers
    }
    change(sheet)
    sheets[`${name}.v1`] = sheet
    policy.roles.prober.push(`${name}.v1`)
  }
  add('by_level', sheet => { sheet.scope = [{ require: 'caller.claims.level > 3' }] })
  add('by_list', sheet => { sheet.scope = [{ require: 'args.id in caller.claims.items' }, { require: 'caller.claims.group.name == "a"' }] })
  add('check_count', sheet => { sheet.checks = [{ require: 'reads.item.body.count > 3', error: 'TOO_FEW', message: 'There are too few.' }] })
  add('check_tags', sheet => { sheet.checks = [{ require: 'reads.item.body.tags.all(tag, tag != "x")', error: 'HAS_X', message: 'There is an x.' }] })
  add('value_count', sheet => {
    sheet.values = { next: '${reads.item.body.count + 1}' }
    sheet.request.body.count = '${values.next}'
  })
  add('target_name', sheet => { sheet.target = { type: 'item', id: '${reads.item.body.state}' } })
  add('text', sheet => { sheet.request.body.name = 'An item, ${args.name}, of $${args.name} at ${money(1999, "EUR")}' })
  add('weigh', sheet => {
    sheet.input.properties.weight = { type: 'number' }
    sheet.input.properties.count = { type: 'integer' }
    sheet.values = { double: '${args.?weight.orValue(0.0) * 2.0}' }
    sheet.request.body = { name: '${args.name}', weight: '${args.?weight}', count: '${args.?count}', note: 'double: ${values.double}' }
  })
  add('ruled', sheet => {
    sheet.outcomes = [
      { when: 'response.body.count == 7', outcome: 'rejected', error: 'SEVEN', message: 'It was seven.' },
      { when: 'response.status == 200 && response.body.?state.orValue("") == "done"', outcome: 'completed' },
    ]
  })
  add('watched', sheet => {
    sheet.outcomes = [{ when: 'response.body.count == 7', outcome: 'rejected', error: 'SEVEN', message: 'It was seven.' }]
  }, 'get_item.v1')
  add('read_gone', sheet => {
    sheet.reads.item.allow = [404]
    sheet.checks = [{ require: 'reads.item.status == 200', error: 'ITEM_GONE', message: 'The item is gone.' }]
  })
  add('settled_already', sheet => { sheet.checks = [
    { require: 'reads.item.body.?name.orValue(null) != args.name', outcome: 'already_in_desired_state' },
  ] })
}

let round = 0
async function ask (action: string, args: object = {}, claims: object = {}): Promise<Reached> {
  const token = await probe.site.token({ roles: ['prober'], run: `run-${++round}`, claims: claims as JsonObject })
  return probe.call(token, `${action}.v1`, { id: 'one', name: `n${round}`, ...args } as never)
}

describe('scope that cannot be evaluated', () => {
  test('is out of scope: a claim that is missing, of another type, null, or not deep enough', async () => {
    for (const claims of [{}, { level: null }, { level: '9' }, { level: [4] }, { level: 3 }, { level: 3.5 - 1 }]) {
      assertRefused(await ask('by_level', {}, claims), 403, 'OUT_OF_SCOPE')
    }
    for (const claims of [
      {}, { items: ['one'] }, { items: ['one'], group: null }, { items: ['one'], group: 'a' }, { items: 'one', group: { name: 'a' } },
      { items: ['two'], group: { name: 'a' } },
    ]) {
      assertRefused(await ask('by_list', {}, claims), 403, 'OUT_OF_SCOPE')
    }
    assert.equal(probe.upstream.bytes, 0)
    assert.equal((await ask('by_level', {}, { level: 4 })).body.outcome, 'completed')
    assert.equal((await ask('by_list', {}, { items: ['one'], group: { name: 'a' } })).body.outcome, 'completed')
  })
})

describe('facts that cannot be evaluated', () => {
  const UNREADABLE: ReadonlyArray<readonly [what: string, body: object | string]> = [
    ['is missing', { id: 'one' }],
    ['is null', { id: 'one', count: null }],
    ['is a text', { id: 'one', count: '4' }],
    ['is no whole number', { id: 'one', count: 4.5 }],
    ['is a number that no double holds', '{"id":"one","count":9007199254740993}'],
  ]
  for (const [what, body] of UNREADABLE) {
    test(`refuse the write where what a check or a value needs ${what}, and nothing is sent`, async () => {
      probe.answers.read = ok(body)
      for (const action of ['check_count', 'value_count']) {
        const reached = await ask(action)
        assertRefused(reached, 503, 'CHECK_UNAVAILABLE')
        assert.doesNotMatch(JSON.stringify(reached.body.error), /count|reads|9007/, 'no expression and no value stands in the answer')
      }
      assert.deepEqual(puts(), [])
    })
  }

  test('do no harm where they are not used: a number that no double holds, beside the one that is read', async () => {
    probe.answers.read = ok('{"id":"one","count":4,"version":9007199254740993}')
    assert.equal((await ask('check_count')).body.outcome, 'completed')
    assert.equal((await ask('value_count')).body.outcome, 'completed')
    assert.deepEqual(puts().map(({ count }) => count), [undefined, 5])
  })

  test('decide where they can be: refused by the sheet\'s own code, or let through', async () => {
    probe.answers.read = ok({ id: 'one', count: 3 })
    const few = await ask('check_count')
    assertRefused(few, 422, 'TOO_FEW')
    assert.equal(few.body.error.message, 'There are too few.')
    probe.answers.read = ok({ id: 'one', count: 4 })
    assert.equal((await ask('check_count')).body.outcome, 'completed')
  })

  test('are not looked through beyond a thousand items', async () => {
    const tags = (count: number): object => ({ id: 'one', tags: Array(count).fill('a') })
    probe.answers.read = ok(tags(1_000))
    assert.equal((await ask('check_tags')).body.outcome, 'completed')
    probe.answers.read = ok(tags(1_001))
    assertRefused(await ask('check_tags'), 503, 'CHECK_UNAVAILABLE')
  })

  test('leave no target without an id', async () => {
    assertRefused(await ask('target_name'), 503, 'CHECK_UNAVAILABLE')
    probe.answers.read = ok({ id: 'one', state: '' })
    assertRefused(await ask('target_name'), 503, 'CHECK_UNAVAILABLE')
    assert.deepEqual(puts(), [])
  })

  test('that the upstream does not have, or will not give, refuse; a status that the sheet allows is a fact', async () => {
    for (const [status, code, answered] of [
      [404, 'UPSTREAM_NOT_FOUND', 404], [410, 'UPSTREAM_NOT_FOUND', 404], [403, 'CHECK_UNAVAILABLE', 503], [422, 'CHECK_UNAVAILABLE', 503],
      [302, 'CHECK_UNAVAILABLE', 503],
    ] as const) {
      probe.answers.read = ok({ error: 'x' }, status)
      assertRefused(await ask('check_count'), answered, code)
    }
    probe.answers.read = ok({ error: 'x' }, 404)
    assertRefused(await ask('read_gone'), 422, 'ITEM_GONE')
    assert.deepEqual(puts(), [])
  })

  test('that hold our own secret refuse, with an alarm, and nothing is sent on', async () => {
    probe.answers.read = ok({ id: 'one', count: 4, name: SECRET })
    assertRefused(await ask('check_count'), 503, 'CHECK_UNAVAILABLE')
    assert.deepEqual(puts(), [])
    assert.match(await probe.metrics(), /aval_results_withheld_total\{action="check_count"[^}]*\} 1/)
  })

  test('may settle a call unsent: an optional that is there, and equal', async () => {
    probe.answers.read = ok({ id: 'one', name: 'wanted' })
    const same = await ask('settled_already', { name: 'wanted' })
    assert.deepEqual([
      same.status, same.body.ok, same.body.outcome, same.body.sent, 'attempt_id' in same.body,
    ], [200, true, 'already_in_desired_state', false, false])
    probe.answers.read = ok({ id: 'one' })
    assert.equal((await ask('settled_already', { name: 'wanted' })).body.outcome, 'completed')
    assert.equal(puts().length, 1)
  })
})

describe('a rule about the answer that cannot be evaluated', () => {
  test('leaves a write that the upstream took unknown', async () => {
    for (const body of [{ id: 'one', state: 'done' }, '{"id":"one","count":9007199254740993,"state":"done"}']) {
      probe.answers.write = ok(body)
      const { status, body: answered } = await ask('ruled')
      assert.deepEqual([status, answered.outcome, answered.error.code], [202, 'unknown', 'OUTCOME_UNKNOWN'])
    }
  })

  test('is no match where the upstream refused, and the next rule or the table speaks', async () => {
    probe.answers.write = ok({ error: 'no' }, 422)
    assert.equal((await ask('ruled')).body.error.code, 'UPSTREAM_REJECTED')
    probe.answers.write = ok({ id: 'one', count: 7, state: 'done' })
    const seven = await ask('ruled')
    assert.deepEqual([seven.status, seven.body.error.code, seven.body.error.message], [200, 'SEVEN', 'It was seven.'])
    probe.answers.write = ok({ id: 'one', count: 8, state: 'done' })
    assert.equal((await ask('ruled')).body.outcome, 'completed')
  })

  test('is no match for an observation', async () => {
    const watched = (): Promise<Reached> => probe.ask('watched.v1', { id: 'one' })
    probe.answers.read = ok({ id: 'one' })
    assert.equal((await watched()).body.outcome, 'completed')
    probe.answers.read = ok({ id: 'one', count: 7 })
    assert.equal((await watched()).body.error.code, 'SEVEN')
  })
})

describe('values on their way', () => {
  test('are never read as expressions or templates (C38)', async () => {
    const name = '${caller.claims.secret} $${x} {{7*7}} %{y} <%= z %> ${money(1, "EUR")}'
    await ask('text', { name }, { secret: 'CLAIM' })
    assert.equal(puts()[0]!['name'], `An item, ${name}, of \${args.name} at 19.99 EUR`)
  })

  test('keep their numbers exactly: a double, a small one, an integer given as 2.0', async () => {
    const rows = [['{"weight":0.1}', '0.1'], ['{"weight":0.0000001}', '0.0000001'], ['{"weight":3}', '3'], ['{"weight":-2.50}', '-2.5']] as const
    for (const [args, sent] of rows) {
      probe.upstream.clear()
      await ask('weigh', JSON.parse(args))
      const { body } = probe.upstream.ledger.find(({ method }) => method === 'PUT')!
      assert.match(body, new RegExp(`"weight":${sent.replaceAll('.', '\\.')}[,}]`))
    }
    await ask('weigh', { count: 9_007_199_254_740_991 })
    assert.match(probe.upstream.ledger.at(-1)!.body, /"count":9007199254740991[,}]/)
    assert.deepEqual(Object.keys(JSON.parse(probe.upstream.ledger.at(-1)!.body)), ['name', 'count', 'note'], 'and what is absent is left out')
  })
})
