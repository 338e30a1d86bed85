// `aval test`: what it generates for real sheets, that all of it is refused with nothing sent, and that it finds what would let something through.
import assert from 'node:assert/strict'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { parse, stringify } from 'yaml'
import type { Action, Catalog } from '../../src/catalog/catalog.ts'
import { loadCatalog } from '../../src/catalog/load.ts'
import { main } from '../../src/cli.ts'
import type { BrokerOptions } from '../../src/commands/broker.ts'
import { BUNDLED } from '../../src/commands/demo/sheets.ts'
import type { Report } from '../../src/curation/test/report.ts'
import { argumentCasesOf } from '../../src/curation/test/argument-cases.ts'
import { startBroker } from '../../src/main.ts'
import { startShopBroker } from '../support/shop-broker.ts'

interface Told { readonly code: number, readonly out: string, readonly err: string }

/** @param spoil changes what the broker of the rehearsal serves */
async function avalTest (
  words: readonly string[], env: Record<string, string> = {}, spoil: (action: Action) => Action = action => action,
  more: (options: BrokerOptions) => BrokerOptions = options => options,
): Promise<Told> {
  let [out, err] = ['', '']
  const spoiled = (catalog: Catalog): Catalog => ({ ...catalog, actions: new Map([...catalog.actions].map(([id, action]) => [id, spoil(action)])) })
  const code = await main(['test', ...words], {
    env: { AVAL_ACTIONS: BUNDLED.actionsFolder, AVAL_OPENAPI: BUNDLED.openapiFolder, NO_COLOR: '1', ...env },
    print: text => { out += `${text}\n` },
    tell: text => { err += `${text}\n` },
    startBroker: (config, options) => startBroker(config, { ...more(options ?? {}), catalog: async () => spoiled(await options!.catalog!()) }),
  })
  return { code, out, err }
}

const reportOf = (told: Told): Report => JSON.parse(told.out) as Report

function folder (t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'aval-curation-'))
  t.after(() => rmSync(path, { recursive: true }))
  return path
}

test('every generated call of the shop that is wrong is refused with nothing sent, its scenarios hold, and no boundary is left open', async t => {
  const told = await avalTest(['--json', '--no-gaps'])
  assert.equal(told.code, 0, told.out + told.err)
  const { totals, actions, judges } = reportOf(told)
  t.diagnostic(JSON.stringify(totals))
  assert.equal(totals.actions, (await loadCatalog(BUNDLED)).actions.size)
  assert.deepEqual([totals.failed, totals.sent_by_refused, totals.gaps, totals.known_gaps], [0, 0, 0, 1])
  assert.ok(totals.refused > 500, `${totals.refused} had to be refused`)
  assert.ok(actions.some(action => action.cases.some(one => one.group === 'scenario')))
  assert.match(judges['ajv']!, /^\d+\.\d+\.\d+/)
})

test('against the shop itself, every generated wrong call is refused, and the shop is never asked', async t => {
  const site = await startShopBroker(t, { AVAL_RATE: 'token=100000/s,address=100000/s,burst=5s' })
  const { actions } = await loadCatalog(BUNDLED)
  let refused = 0
  for (const action of actions.values()) {
    if (action.consent !== 'none') continue
    for (const [index, { name, text, refusal }] of argumentCasesOf(action).cases.entries()) {
      if (refusal === null) continue
      const token = action.limits.refusalsPerRun === null ? {} : { token: await site.mint({ run: `run-${action.id}-${index}` }) }
      const { status, envelope } = await site.call(action.id, `{"arguments":${text}}`, { key: `key-${index}`, ...token })
      assert.ok(status >= 400 && refusal.codes.includes(envelope.error!.code), `${action.id} ${name}: ${status} ${JSON.stringify(envelope)}`)
      if (refusal.field !== null) assert.equal(envelope.error!.field, refusal.field, `${action.id} ${name}`)
      refused++
    }
  }
  assert.ok(refused > 350, String(refused))
  assert.deepEqual([site.shop.requests.length, site.shop.ledger.length], [0, 0])
})

test('a sheet whose arguments are not held to its schema is found out, by calls that came through', async () => {
  const told = await avalTest(['list_orders', '--json'], {}, action => ({ ...action, checkArguments: () => null }))
  assert.equal(told.code, 1)
  const [action] = reportOf(told).actions
  const found = action!.cases.filter(one => one.fault !== null)
  assert.ok(found.length > 20, String(found.length))
  assert.ok(found.some(one => one.requests > 0 && /it had to be refused/.test(one.fault!)))
})

test('a refusal that names the wrong field, or has another code, is found out', async () => {
  const misplaced = await avalTest(['get_customer', '--json'], {}, action => ({
    ...action,
    checkArguments: value => {
      const fault = action.checkArguments(value)
      return fault === null ? null : { ...fault, pointer: '/elsewhere' }
    },
  }))
  assert.equal(misplaced.code, 1)
  assert.match(reportOf(misplaced).actions[0]!.cases.map(one => one.fault).join('\n'), /the refusal had to name \/customer_id/)
})

test('a scope or a business rule that lets everything through is found out', async () => {
  const open = await avalTest(
    ['cancel_order', '--json'], {}, action => ({ ...action, scope: action.scope.map(rule => ({ ...rule, holds: () => true })) })
  )
  assert.equal(open.code, 1)
  const unchecked = await avalTest(['place_order', '--json'], {}, action => ({ ...action, checks: action.checks.slice(0, 1) }))
  assert.equal(unchecked.code, 1)
  const failed = reportOf(unchecked).actions[0]!.cases.filter(one => one.fault !== null)
  assert.ok(failed.some(one => one.group === 'scenario' && /the upstream had to see getCustomer, getProduct and saw/.test(one.fault!)))
})

test('a view that shows more than its scenario says is found out', async () => {
  const told = await avalTest(['get_customer', '--json'], {}, action => ({
    ...action,
    view: {
      ...action.view!,
      project: bindings => ({ result: bindings.response!.body, truncated: false, text: JSON.stringify(bindings.response!.body) }),
    },
  }))
  assert.equal(told.code, 1)
  assert.match(reportOf(told).actions[0]!.cases.map(one => one.fault).join('\n'), /the result had to be/)
})

test('a boundary that nothing crosses is a gap: told, and a finding where it is asked for', async t => {
  const actionsFolder = join(folder(t), 'actions')
  cpSync(BUNDLED.actionsFolder, actionsFolder, { recursive: true })
  rmSync(join(actionsFolder, 'shop/quote_order.scenarios.yaml'))
  const env = { AVAL_ACTIONS: actionsFolder }
  const told = await avalTest(['quote_order'], env)
  assert.equal(told.code, 0)
  assert.match(told.out, /gap \/checks\/0/)
  assert.equal((await avalTest(['quote_order', '--no-gaps', '--json'], env)).code, 1)
})

test('what was not approved, not any more, or not for this object is refused or asked anew, with nothing sent', async () => {
  const told = await avalTest(['delete_customer', 'email_order_confirmation', '--json'])
  assert.equal(told.code, 0, told.out)
  const [whole, granted] = reportOf(told).actions
  const answered = (action: typeof whole, name: string): string => action!.cases.find(one => one.name === name)!.answered
  assert.equal(answered(whole, 'a commit that nobody has approved'), 'rejected PROPOSAL_PENDING')
  assert.equal(answered(whole, 'a proposal that was denied'), 'rejected PROPOSAL_DENIED')
  assert.equal(answered(whole, 'a proposal that nobody decided in time'), 'rejected PROPOSAL_EXPIRED')
  assert.equal(answered(whole, 'an approval that was not committed in time'), 'rejected PROPOSAL_EXPIRED')
  assert.equal(answered(whole, 'a target that changed after the approval'), 'rejected VERSION_CONFLICT')
  assert.equal(answered(whole, 'a proposal that too few people have approved'), 'rejected PROPOSAL_PENDING')
  assert.equal(answered(whole, 'an approval that was taken back'), 'rejected PROPOSAL_REVOKED')
  assert.equal(answered(whole, 'an approval by somebody who has lost the role'), 'rejected PROPOSAL_INVALIDATED')
  assert.equal(answered(granted, 'a grant that was denied'), 'rejected RECENTLY_DENIED')
  assert.equal(answered(granted, 'a grant whose time is over'), 'pending')
  assert.equal(answered(granted, 'another target than the grant is for'), 'pending')
  assert.equal(answered(granted, 'a grant that was taken back'), 'pending')
  assert.equal(answered(granted, 'a grant by somebody who has lost the role'), 'pending')
})

const notAsTheyShould = (told: Told): readonly string[] =>
  reportOf(told).actions.flatMap(({ cases }) => cases.filter(one => one.fault !== null).map(({ name }) => name))

test('a broker that does not look at roles again, or is content with fewer people, is found out', async () => {
  const trusting = await avalTest(['delete_customer', 'email_order_confirmation', '--json'], {}, undefined, options => ({
    ...options, people: store => { const people = options.people?.(store) ?? null; return people === null ? null : { ...people, rolesOf: async () => null } },
  }))
  assert.deepEqual(notAsTheyShould(trusting), [
    'an approval by somebody who has lost the role', 'one of the two people who approved it has lost the role',
    'a grant by somebody who has lost the role', 'whoever granted it has lost the role, and the next call asks again',
  ])
  const hasty = await avalTest(['delete_customer', '--json'], {}, action => ({ ...action, requirement: { ...action.requirement, approve: 1 } }))
  assert.deepEqual(notAsTheyShould(hasty), ['a proposal that too few people have approved', 'one of the two people has approved it'])
})

test('what people may do and no case shows is a gap: a scenario closes it', async t => {
  const actionsFolder = join(folder(t), 'actions')
  cpSync(BUNDLED.actionsFolder, actionsFolder, { recursive: true })
  const file = join(actionsFolder, 'shop/refund_order.scenarios.yaml')
  const { scenarios, ...rest } = parse(readFileSync(file, 'utf8'))
  const gapsWithout = async (approval: string): Promise<readonly string[]> => {
    writeFileSync(file, stringify({ ...rest, scenarios: scenarios.filter((one: any) => one.given.approval !== approval) }))
    const told = await avalTest(['refund_order', '--no-gaps', '--json'], { AVAL_ACTIONS: actionsFolder })
    const gaps = reportOf(told).actions[0]!.gaps.filter(({ reason }) => reason === null).map(({ boundary }) => boundary)
    assert.equal(told.code, gaps.length === 0 ? 0 : 1)
    return gaps
  }
  for (const approval of ['asked', 'approved', 'denied', 'undecided', 'expired', 'revoked', 'role_lost']) {
    assert.deepEqual(await gapsWithout(approval), [`/consent/${approval}`])
  }
  assert.deepEqual(await gapsWithout('none'), [], 'that is tried for every action')
})

test('a broker whose approvals never end, or that does not look at the version again, is found out', async () => {
  const timeless = await avalTest(['delete_customer', 'email_order_confirmation', '--json'], {}, undefined, ({ embedded: _, ...options }) => options)
  const blind = await avalTest(['delete_customer', '--json'], {}, action => ({
    ...action, target: bindings => ({ ...action.target!(bindings), version: 1 }),
  }))
  for (const name of ['a proposal that nobody decided in time', 'an approval that was not committed in time', 'a grant whose time is over']) {
    assert.ok(notAsTheyShould(timeless).includes(name), name)
  }
  assert.deepEqual(notAsTheyShould(blind), ['a target that changed after the approval', 'the customer is another version when it is committed'])
})

test('a scenario says what a person is shown and what becomes of it: each of its lines can fail', async t => {
  const actionsFolder = join(folder(t), 'actions')
  cpSync(BUNDLED.actionsFolder, actionsFolder, { recursive: true })
  const file = join(actionsFolder, 'shop/refund_order.scenarios.yaml')
  const written = readFileSync(file, 'utf8')
  for (const [from, to, said] of [
    ['now: 25.00 EUR', 'now: 26.00 EUR', /the diff of the proposal had to be/],
    ['effect: Pay 5.00 EUR', 'effect: Pay 6.00 EUR', /the effect of the proposal had to be/],
    ['kind: call', 'kind: session', /the kind of the proposal had to be/],
    ['approval: denied', 'approval: approved', /the error had to be "PROPOSAL_DENIED"/],
    ['approval: expired', 'approval: denied', /the error had to be "PROPOSAL_EXPIRED"/],
    ['approval: undecided', 'approval: denied', /the error had to be "PROPOSAL_EXPIRED"/],
    ['approval: revoked', 'approval: approved', /the error had to be "PROPOSAL_REVOKED"/],
    ['approval: role_lost', 'approval: revoked', /the error had to be "PROPOSAL_INVALIDATED"/],
    ['cause: approver_ineligible', 'cause: sheet_changed', /the cause had to be "sheet_changed" and is "approver_ineligible"/],
    ['upstream_after', 'upstream', null],
  ] as const) {
    const changed = said === null ? written.replace(/      upstream_after:\n( {8}.*\n)+/, '') : written.replace(from, to)
    assert.notEqual(changed, written, from)
    writeFileSync(file, changed)
    const told = await avalTest(['refund_order', '--json'], { AVAL_ACTIONS: actionsFolder })
    const faults = reportOf(told).actions[0]!.cases.filter(one => one.fault !== null)
    assert.deepEqual([told.code, faults.length], [1, 1], from)
    assert.match(faults[0]!.fault!, said ?? /the error had to be "VERSION_CONFLICT"/)
  }
})

test('TAP counts its lines, and JUnit is XML in which nothing of a case is markup', async () => {
  const tap = await avalTest(['get_customer', '--tap'])
  const lines = tap.out.split('\n')
  assert.equal(lines[0], 'TAP version 14')
  const planned = Number(/^1\.\.(\d+)$/.exec(lines[1]!)![1])
  assert.equal(lines.filter(line => /^(not )?ok \d+ - /.test(line)).length, planned)
  assert.ok(lines.some(line => /^# judged by ajv \d/.test(line)))
  const junit = await avalTest(['get_customer', '--junit'])
  assert.match(junit.out, new RegExp(`<testsuites name="aval test" tests="${planned}" failures="0">`))
  assert.equal([...junit.out.matchAll(/<testcase /g)].length, planned)
  assert.doesNotMatch(junit.out.replaceAll(/<\/?[a-z][a-z ]*[^<>]*>|<\?xml[^<>]*>/g, ''), /[<>]/)
})

test('a scenarios file with faults tells each at its line, and nothing runs', async t => {
  const actionsFolder = join(folder(t), 'actions')
  cpSync(BUNDLED.actionsFolder, actionsFolder, { recursive: true })
  writeFileSync(
    join(actionsFolder, 'shop/get_customer.scenarios.yaml'),
    'action: get_customers\nscenarios:\n  - name: one\n    wen: {arguments: {}}\n    then: {outcome: done}\n'
  )
  const told = await avalTest([], { AVAL_ACTIONS: actionsFolder })
  assert.equal(told.code, 2)
  assert.match(told.err, /^shop\/get_customer\.scenarios\.yaml:4:5 unknown-field .*did you mean "?when/m)
  assert.match(told.err, /^shop\/get_customer\.scenarios\.yaml:5:\d+ wrong-value /m)
})

test('a scenario that could never run, or an answer that is never asked for, is told at its line', async t => {
  const actionsFolder = join(folder(t), 'actions')
  cpSync(BUNDLED.actionsFolder, actionsFolder, { recursive: true })
  const told = async (name: string, text: string): Promise<string> => {
    const file = join(actionsFolder, `shop/${name}.scenarios.yaml`)
    writeFileSync(file, text)
    const { code, err } = await avalTest([], { AVAL_ACTIONS: actionsFolder })
    assert.equal(code, 2)
    rmSync(file)
    return err
  }
  assert.match(await told('get_custumer', 'action: get_custumer\n'), /^shop\/get_custumer\.scenarios\.yaml:1:9 action-unknown .*did you mean "get_customer"/m)
  const scenario = (line: string): string => `action: refund_order\nscenarios:\n  - name: one\n${line}\n    when: {arguments: {}}\n    then: {outcome: rejected}\n`
  assert.match(await told('refund_order', scenario('    version: 7')), /^shop\/refund_order\.scenarios\.yaml:4:14 version-unknown .*refund_order\.v1/m)
  assert.match(await told('refund_order', scenario('    given: {approval: partly}')), /:4:23 approval-impossible refund_order\.v1 takes the yes of one person/)
  assert.match(await told('refund_order', scenario('    given: {approval: taken_back}')), /:4:23 wrong-value /)
  assert.match(await told('refund_order', scenario('    given: {upstream: [{operation: getOder}]}')), /:4:36 operation-unknown .*did you mean "getOrder"/)
  const free = 'action: get_customer\nscenarios:\n  - {name: one, given: {approval: denied}, when: {arguments: {}}, then: {outcome: rejected}}\n'
  assert.match(await told('get_customer', free), /:3:35 approval-impossible get_customer\.v1 needs no yes of a person/)
})

test('an unknown action is no clean run', async () => {
  const told = await avalTest(['get_custumer'])
  assert.equal(told.code, 2)
  assert.match(told.err, /there is no action get_custumer/)
})

test('200 actions, many of which ask people, are tried in less than a minute of the processor', async t => {
  const path = folder(t)
  const actions = join(path, 'actions')
  mkdirSync(join(actions, 'shop'), { recursive: true })
  cpSync(join(BUNDLED.actionsFolder, 'shop/upstream.yaml'), join(actions, 'shop/upstream.yaml'))
  const names = [
    'get_customer.v1', 'place_order.v1', 'change_shipping_address.v2', 'add_order_note.v1', 'quote_order.v1',
    'refund_order.v1', 'delete_customer.v1', 'email_order_confirmation.v1',
  ]
  const ids: string[] = []
  for (let index = 0; index < 200; index++) {
    const sheet = parse(readFileSync(join(BUNDLED.actionsFolder, `shop/${names[index % names.length]}.yaml`), 'utf8'))
    const name = `${sheet.action.slice(0, 20)}_${index}`
    ids.push(`${name}.v1`)
    delete sheet.compensate_with
    delete sheet.sunset
    writeFileSync(join(actions, `shop/${name}.v1.yaml`), stringify({ ...sheet, action: name, version: 1 }))
    if (sheet.consent === 'none') continue
    const scenarios = parse(readFileSync(join(BUNDLED.actionsFolder, `shop/${sheet.action}.scenarios.yaml`), 'utf8'))
    writeFileSync(join(actions, `shop/${name}.scenarios.yaml`), stringify({ ...scenarios, action: name }))
  }
  const { consent } = parse(readFileSync(join(BUNDLED.actionsFolder, 'policy.yaml'), 'utf8'))
  writeFileSync(join(actions, 'policy.yaml'), stringify({ roles: { shop_assistant: ids }, consent, approvers: { shop_lead: ids } }))
  const before = process.cpuUsage()
  const told = await avalTest(['--json'], { AVAL_ACTIONS: actions })
  const { user, system } = process.cpuUsage(before)
  const seconds = (user + system) / 1e6
  const { totals } = reportOf(told)
  t.diagnostic(`${totals.cases} cases of ${totals.actions} actions in ${seconds.toFixed(1)} s of the processor`)
  assert.deepEqual([told.code, totals.actions, totals.failed, totals.sent_by_refused], [0, 200, 0, 0])
  assert.ok(totals.cases > 10_000)
  assert.ok(seconds < 60, `${seconds} s`)
})
