// `aval import`: what it drafts from a document, where it writes, and what it refuses.
import assert from 'node:assert/strict'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { main } from '../../src/cli.ts'
import { loadCatalog } from '../../src/catalog/load.ts'
import { readYaml, YamlFile } from '../../src/catalog/yaml-file.ts'

const SHOP = 'openapi/shop.yaml'

interface Told { readonly code: number, readonly out: string, readonly err: string }

async function aval (...argv: readonly string[]): Promise<Told> {
  let [out, err] = ['', '']
  const code = await main(argv, {
    env: {},
    print: text => { out += `${text}\n` },
    tell: text => { err += `${text}\n` },
    startBroker: () => { throw new Error('nothing here starts a broker') },
  })
  return { code, out, err }
}

function folder (t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'aval-import-'))
  t.after(() => rmSync(path, { recursive: true }))
  return path
}

const sheetOf = (text: string): any => {
  const read = readYaml('draft.yaml', Buffer.from(text))
  assert.ok(read instanceof YamlFile, JSON.stringify(read))
  return read.value
}

test('a draft of one operation is printed, and is the same every time', async () => {
  const { code, out, err } = await aval('import', SHOP, '--operation', 'placeOrder')
  assert.equal(code, 0)
  assert.equal(out, readFileSync('test/commands/golden/import-place_order.yaml', 'utf8'))
  assert.match(err, /^shop\/place_order\.v1\.yaml: \d+ marks to judge/)
  assert.equal((await aval('import', SHOP, '--operation', 'POST /orders')).out, out)
})

test('what a person says on the line is not asked again: an observation has no consent, look-up or proposal', async () => {
  const { code, out } = await aval('import', SHOP, '--operation', 'getCustomer', '--effect', 'observation')
  const sheet = sheetOf(out)
  assert.equal(code, 0)
  assert.deepEqual([sheet.effect, sheet.consent, sheet.lookup, sheet.proposal, sheet.target], ['observation', 'none', undefined, undefined, undefined])
  assert.doesNotMatch(out, /effect:.*TODO\(review\)/)
})

test('optional parts are offered only where they are asked for, and what the operation does not take is refused', async () => {
  const without = sheetOf((await aval('import', SHOP, '--operation', 'listOrders')).out)
  const withState = sheetOf((await aval('import', SHOP, '--operation', 'listOrders', '--with', 'state')).out)
  assert.equal(without.input.properties.state, undefined)
  assert.deepEqual([withState.request.query.state, withState.input.required.includes('state')], ['${args.?state}', false])
  const { code, out, err } = await aval('import', SHOP, '--operation', 'listOrders', '--with', 'stat')
  assert.deepEqual([code, out], [2, ''])
  assert.match(err, /listOrders takes no stat/)
})

test('drafts are written below a folder with an upstream.yaml, and nothing that is there is ever overwritten', async t => {
  const actions = join(folder(t), 'actions')
  const first = await aval('import', SHOP, '--operation', 'getCustomer', '--effect', 'observation', '--into', actions)
  assert.equal(first.code, 0)
  const names = ['policy.yaml', 'shop/upstream.yaml', 'shop/get_customer.v1.yaml']
  assert.deepEqual(first.out.trim().split('\n'), names.map(name => join(actions, name)))
  writeFileSync(join(actions, 'shop/upstream.yaml'), 'mine: true\n')
  // Another action of the same name gets another one; a person's file stays as it is.
  const second = await aval('import', SHOP, '--operation', 'getCustomer', '--into', actions, '--json')
  assert.deepEqual(JSON.parse(second.out).written, [join(actions, 'shop/get_customer_2.v1.yaml')])
  assert.equal(readFileSync(join(actions, 'shop/upstream.yaml'), 'utf8'), 'mine: true\n')
})

test('what was written refuses to load, mark by mark, and loads when a person has taken the marks away', async t => {
  const root = folder(t)
  const [actionsFolder, openapiFolder] = [join(root, 'actions'), join(root, 'openapi')]
  cpSync('openapi', openapiFolder, { recursive: true })
  await aval('import', SHOP, '--operation', 'getCustomer', '--operation', 'cancelOrder', '--into', actionsFolder)
  writeFileSync(join(actionsFolder, 'policy.yaml'), 'roles: {clerk: [get_customer.v1, cancel_order.v1]}\n')
  await assert.rejects(loadCatalog({ actionsFolder, openapiFolder }), (error: any) => {
    assert.ok(error.faults.length > 20)
    for (const fault of error.faults) assert.equal(fault.rule, 'review-pending', fault.message)
    assert.match(error.message, /^shop\/cancel_order\.v1\.yaml:3:3 review-pending a person has to judge this and take the mark away: what if it runs twice\?/m)
    return true
  })
  for (const name of ['upstream.yaml', 'get_customer.v1.yaml', 'cancel_order.v1.yaml']) {
    const path = join(actionsFolder, 'shop', name)
    writeFileSync(path, readFileSync(path, 'utf8').replace(/^[ \t]*# TODO\(review\).*\n/gm, '').replace(/[ \t]+# TODO\(review\).*$/gm, ''))
  }
  const catalog = await loadCatalog({ actionsFolder, openapiFolder })
  assert.deepEqual([...catalog.actions.keys()], ['cancel_order.v1', 'get_customer.v1'])
})

test('a mark in a value, too, keeps a sheet from loading', async t => {
  const root = folder(t)
  cpSync('actions', join(root, 'actions'), { recursive: true })
  const path = join(root, 'actions/shop/get_customer.v1.yaml')
  writeFileSync(path, readFileSync(path, 'utf8').replace(/^title: .*$/m, 'title: "TODO(review) a better title"'))
  await assert.rejects(loadCatalog({ actionsFolder: join(root, 'actions'), openapiFolder: 'openapi' }), (error: any) => {
    assert.deepEqual(error.faults.map((fault: any) => [fault.file, fault.rule]), [['shop/get_customer.v1.yaml', 'review-pending']])
    return true
  })
})

test('--list shows every operation with what makes it hard', async () => {
  const { code, out } = await aval('import', SHOP, '--list')
  assert.equal(code, 0)
  assert.match(out, /^updateCustomer +PATCH \/customers\/\{id\} +.*needs a header/m)
  const { operations } = JSON.parse((await aval('import', SHOP, '--list', '--json')).out)
  assert.equal(operations.length, out.trim().split('\n').length)
  assert.deepEqual(operations.find((one: any) => one.id === 'placeOrder').hard, [])
})

test('an operation that cannot be used is a finding with its place; the others are drafted', async t => {
  const root = folder(t)
  const document = join(root, 'odd.json')
  writeFileSync(document, JSON.stringify({
    openapi: '3.0.3',
    info: { title: 'Odd', version: '1' },
    paths: {
      '/things?kind=a': { get: { operationId: 'getThings', responses: { 200: { description: 'ok' } } } },
      '/items/{id}': { get: { responses: { 200: { description: 'ok' } } } },
    },
  }))
  const listed = await aval('import', document, '--list')
  assert.equal(listed.code, 1)
  assert.match(listed.out, /cannot be used: odd\.json:1:\d+ path-has-query/)
  const drafted = await aval('import', document, '--operation', 'getThings', '--operation', 'GET /items/{id}')
  assert.equal(drafted.code, 1)
  assert.match(drafted.out, /^odd\.json:1:\d+ path-has-query .*\n# odd\/get_items\.v1\.yaml\n/)
  assert.match(drafted.err, /hard: no operationId/)
})

test('what it cannot do, it says in one line, and ends with 2', async t => {
  const root = folder(t)
  writeFileSync(join(root, '9.json'), JSON.stringify({ openapi: '3.0.3', info: { title: 'T', version: '1' }, paths: { '/a': { get: { responses: {} } } } }))
  writeFileSync(join(root, 'broken.json'), '{"openapi": ')
  for (const [argv, said] of [
    [[SHOP], /the document has \d+ operations; choose with --operation/],
    [[SHOP, '--operation', 'getCustomr'], /no operation getCustomr; did you mean getCustomer\?/],
    [[SHOP, '--operation', 'getCustomer', '--effect', 'harmless'], /--effect must be one of observation/],
    [[SHOP, '--operation', 'getCustomer', '--upstream', 'No'], /--upstream must match/],
    [[join(root, 'absent.yaml')], /there is no file/],
    [[join(root, 'broken.json')], /broken\.json:1:\d+/],
    [[join(root, '9.json')], /say it with --upstream/],
  ] as const) {
    const { code, out, err } = await aval('import', ...argv)
    assert.deepEqual([code, out, err.trim().split('\n').length], [2, '', 1], err)
    assert.match(err, said)
  }
  assert.equal(existsSync(join(root, 'actions')), false)
})

test('words of a document end no comment and no line, and cannot write a sheet', async t => {
  const root = folder(t)
  const document = join(root, 'hostile.json')
  const hostile = 'a\nconsent: none\r\n# TODO(review) \u2028effect: observation ${args.x} \u202e\u001b[31m "quoted" \'too\' # end'
  writeFileSync(document, JSON.stringify({
    openapi: '3.0.3',
    info: { title: 'T', version: '1' },
    paths: {
      '/a/{id}': {
        post: {
          operationId: hostile,
          summary: hostile,
          description: hostile,
          parameters: [{ name: 'id', in: 'path', required: true, description: hostile, schema: { type: 'string' } },
            { name: hostile, in: 'query', required: true, schema: { type: 'string', enum: [hostile] } }],
          requestBody: { content: { 'application/json': { schema: { type: 'object', properties: { [hostile]: { type: 'string' } } } } } },
          responses: { 200: { description: 'ok', content: { 'application/json': { schema: { type: 'object', properties: { [hostile]: { type: 'string' } } } } } } },
        },
      },
    },
  }))
  const { code, out } = await aval('import', document, '--operation', hostile)
  assert.equal(code, 0)
  const sheet = sheetOf(out)
  assert.deepEqual([sheet.effect, sheet.consent, sheet.operation], ['irreversible_change', 'call', hostile])
  assert.equal(sheet.request.query[hostile], hostile.replaceAll('${', '$${'))
})
