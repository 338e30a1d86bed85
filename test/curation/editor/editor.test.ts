// What a person sees in an editor: the schemas of `aval schema`, in the language server that editors run.
import assert from 'node:assert/strict'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test, type TestContext } from 'node:test'
import { printSchema, SCHEMA_KINDS } from '../../../src/commands/schema.ts'
import { startLanguageServer, type LanguageServer } from '../../support/language-server.ts'

/** As README tells an editor. */
const GLOBS = {
  sheet: ['actions/*/*.v*.yaml'], upstream: ['actions/*/upstream.yaml'], policy: ['actions/policy.yaml'], scenarios: ['actions/*/*.scenarios.yaml'],
  mock: ['mocks/*.yaml'], webhooks: ['webhooks.yaml'], principals: ['principals.yaml'], gold: ['gold.yaml'], trace: ['traces/*.json'],
} as const satisfies Record<(typeof SCHEMA_KINDS)[number], readonly string[]>

const MOCK = 'name: lost\nidempotency: {header: Idempotency-Key}\nanswers:\n  - {operation: placeOrder, times: 1, fault: lost}\n'

let root: string
let server: LanguageServer

before(async t => {
  root = mkdtempSync(join(tmpdir(), 'aval-editor-'))
  const schemas = SCHEMA_KINDS.map(kind => {
    writeFileSync(join(root, `${kind}.json`), printSchema(kind))
    return [join(root, `${kind}.json`), GLOBS[kind]] as const
  })
  server = await startLanguageServer(t as unknown as TestContext, root, Object.fromEntries(schemas))
})

after(() => rmSync(root, { recursive: true, force: true }))

test('nothing is underlined in the bundled files', async () => {
  const files = globSync('actions/**/*.yaml').sort()
  assert.ok(files.length > 15)
  for (const file of files) assert.deepEqual(await server.diagnose(file, readFileSync(file, 'utf8')), [], file)
  assert.deepEqual(await server.diagnose('mocks/lost.yaml', MOCK), [])
  assert.deepEqual(await server.diagnose('gold.yaml', 'tasks:\n  - {id: one, expect: [{action: get_customer.v1}]}\n'), [])
})

test('a mistake is underlined in its line, in every kind of file', async () => {
  const shop = (name: string): string => readFileSync(join('actions/shop', name), 'utf8')
  const sheet = shop('place_order.v1.yaml')
  for (const [path, text, line, said] of [
    ['actions/shop/place_order.v1.yaml', sheet.replace('effect: reversible_change', 'effect: harmless'), lineOf(sheet, 'effect:'), /reversible_change/],
    ['actions/shop/place_order.v1.yaml', sheet.replace('retry: same_key', 'retri: same_key'), lineOf(sheet, 'retry:'), /retri/],
    ['actions/shop/place_order.v1.yaml', sheet.replace('action: place_order', 'action: Place-Order'), 1, /pattern/i],
    ['actions/shop/place_order.v1.yaml', sheet.replace('timeout: 5s', 'timeout: soon'), lineOf(sheet, 'timeout:'), /pattern/i],
    ['actions/shop/upstream.yaml', shop('upstream.yaml').replace('server:', 'servers:'), lineOf(shop('upstream.yaml'), 'server:'), /servers/],
    ['actions/policy.yaml', 'roles:\n  clerk: [place_order]\n', 2, /pattern|array|object/i],
    ['actions/shop/place_order.scenarios.yaml', 'action: place_order\nscenarios:\n  - {name: n, when: {arguments: {}}, then: {outcome: done}}\n', 3, /completed/],
    ['webhooks.yaml', 'endpoints:\n  - {url: https://hooks.example/x, secret: env:HOOK, events: [proposal.pendin]}\n', 2, /proposal\.pending/],
    ['principals.yaml', 'people:\n  ada:\n    - {iss: https://login.example, subject: ada}\n', 3, /subject/],
    ['gold.yaml', 'tasks:\n  - id: one\n    expect:\n      - {action: get_customer}\n', 4, /pattern/i],
    ['traces/one.json', '{"action": "get_customer.v1",\n"caller": {"roles": []},\n"arguments": {}, "recorded": {"allowed": "yes"}}\n', 3, /boolean/],
    ['mocks/lost.yaml', MOCK.replace('fault: lost', 'fault: lots'), 4, /dropped/],
  ] as const) {
    const found = await server.diagnose(path, text)
    assert.ok(found.some(one => one.line === line && said.test(one.message)), `${path}: ${JSON.stringify(found)}`)
  }
})

test('a field says what it is when the cursor is over it', async () => {
  const sheet = readFileSync('actions/shop/place_order.v1.yaml', 'utf8')
  await server.diagnose('actions/shop/place_order.v1.yaml', sheet)
  for (const [field, said] of [['retry', /What a repeat does upstream/], ['scope', /Object-level authorization/], ['idempotency', /honours it/]] as const) {
    assert.match(await server.hover('actions/shop/place_order.v1.yaml', lineOf(sheet, `${field}:`), 2), said)
  }
})

test('what can stand somewhere is offered there', async () => {
  await server.diagnose('actions/shop/new_action.v1.yaml', 'action: new_action\neffect: \n')
  const effects = await server.complete('actions/shop/new_action.v1.yaml', 2, 9)
  for (const effect of ['observation', 'reversible_change', 'external_commitment', 'irreversible_change']) assert.ok(effects.includes(effect), effects.join())
  await server.diagnose('actions/shop/new_action.v1.yaml', 'action: new_action\nlimits:\n  \n')
  const limits = await server.complete('actions/shop/new_action.v1.yaml', 3, 3)
  assert.ok(limits.includes('timeout') && limits.includes('calls_per_run'), limits.join())
})

test('every name in every schema has a description', () => {
  for (const kind of SCHEMA_KINDS) assert.deepEqual([...undescribed(JSON.parse(printSchema(kind)), kind)], [])
})

const lineOf = (text: string, start: string): number => {
  const index = text.split('\n').findIndex(line => line.trimStart().startsWith(start) || line.includes(`{${start}`))
  assert.notEqual(index, -1, start)
  return index + 1
}

function * undescribed (schema: any, at: string): Generator<string> {
  if (typeof schema !== 'object' || schema === null) return
  for (const [name, part] of Object.entries<any>(schema.properties ?? {})) {
    if (typeof part.description !== 'string' || part.description.length < 3) yield `${at}/${name}`
    yield * undescribed(part, `${at}/${name}`)
  }
  for (const keyword of ['items', 'additionalProperties']) yield * undescribed(schema[keyword], `${at}/${keyword}`)
  for (const [index, part] of [...schema.oneOf ?? [], ...schema.anyOf ?? []].entries()) yield * undescribed(part, `${at}/oneOf/${index}`)
}
