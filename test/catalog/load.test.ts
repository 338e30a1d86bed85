// Folders to a catalog: layout, YAML, places of faults, digests, and that nothing of it can be changed afterwards.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { grantedActions } from '../../src/catalog/catalog.ts'
import { loadCatalog } from '../../src/catalog/load.ts'
import { faultsOf, load, readSheet, rulesOf, write, writeSheet, type Shop } from './shop-folder.ts'

const READ = 'actions/shop/get_customer.v1.yaml'
const text = (sheet: unknown = readSheet()): string => JSON.stringify(sheet, null, 2)

test('a catalog holds its actions by id in order, and roles grant exact names', async t => {
  const catalog = await load(t)
  assert.deepEqual([...catalog.actions.keys()], ['change_shipping_address.v2', 'get_customer.v1'])
  assert.deepEqual([...catalog.upstreams.keys()], ['shop'])
  assert.deepEqual(grantedActions(catalog, ['reader'], null).map(action => action.id), ['get_customer.v1'])
  assert.deepEqual(grantedActions(catalog, ['support_agent'], ['get_customer.v1', 'other.v1']).map(action => action.id), ['get_customer.v1'])
  assert.deepEqual(grantedActions(catalog, ['nobody'], null), [])
})

test('an action is frozen to the bottom', async t => {
  const catalog = await load(t)
  const seen = new Set<unknown>()
  const visit = (value: unknown, path: string): void => {
    if (typeof value !== 'object' || value === null || seen.has(value) || value instanceof Map || value instanceof Set) return
    seen.add(value)
    assert.ok(Object.isFrozen(value), `${path} can be changed`)
    for (const [name, part] of Object.entries(value)) if (name !== 'operation') visit(part, `${path}.${name}`)
  }
  visit(catalog, 'catalog')
  for (const action of catalog.actions.values()) visit(action, action.id)
  assert.ok(seen.size > 50)
})

test('a digest says whether an action is the same, down to the document', async t => {
  const digests = async (change: (shop: Shop) => void = () => {}): Promise<readonly [string, string, string]> => {
    const catalog = await load(t, change)
    return [catalog.digest, catalog.actions.get('get_customer.v1')!.digest, catalog.actions.get('change_shipping_address.v2')!.digest]
  }
  const [whole, read, write] = await digests()
  assert.match(whole, /^[0-9a-f]{64}$/)
  assert.deepEqual(await digests(shop => { shop.files[READ] = `# a comment\n${text()}\n` }), [whole, read, write])
  const titled = await digests(shop => { shop.read.title = 'Other' })
  assert.ok(titled[0] !== whole && titled[1] !== read && titled[2] === write)
  const limited = await digests(shop => { shop.upstream.limits = { concurrency: 3 } })
  assert.ok(limited[0] !== whole && limited[1] !== read && limited[2] !== write)
  const granted = await digests(shop => { shop.policy.roles.reader = [] })
  assert.deepEqual(granted.slice(1), [read, write])
  assert.notEqual(granted[0], whole)
  const lookedUp = await digests(shop => { shop.document.paths['/operations'].get.parameters[0].schema = { type: 'integer' } })
  assert.ok(lookedUp[0] !== whole && lookedUp[1] === read && lookedUp[2] !== write)
})

test('all faults of a load are told at once, sorted, with file, line and column', async t => {
  const faults = await faultsOf(t, shop => {
    shop.policy.roles.reader = ['get_custmer.v1']
    shop.files[READ] = [
      'action: get_customer',
      'version: 1',
      'upstream: shop',
      'operation: getCustomer',
      'title: Read a customer',
      'descripton: Reads one customer.',
      'effect: observation',
      'consent: none',
      'retry: safe',
      'input: {type: object, additionalProperties: false, properties: {}}',
      '',
    ].join('\n')
    shop.write.scope[0].require = "args.custmer_id == 'x'"
    shop.write.checks[0].require = "reads.customer.body.stat == 'x'"
  })
  const lines = faults.map(fault => `${fault.file}:${fault.line}:${fault.column} ${fault.rule} ${fault.message}`)
  assert.deepEqual(lines.map(line => line.replace(/^(\S+) (\S+) .*$/, '$1 $2')), [
    'policy.yaml:11:7 action-unknown',
    'shop/change_shipping_address.v2.yaml:50:24 unknown-field',
    'shop/change_shipping_address.v2.yaml:66:39 unknown-field',
    'shop/get_customer.v1.yaml:1:1 missing-field',
    'shop/get_customer.v1.yaml:6:1 unknown-field',
  ])
  assert.match(lines[0]!, /did you mean "get_customer\.v1"\?$/)
  assert.match(lines[1]!, /there is no "custmer_id" in args; did you mean "customer_id"\?$/)
  assert.match(lines[4]!, /there is no field "descripton" here; did you mean "description"\?$/)
})

test('a place inside a text is told where the text stands as it is', async t => {
  const sheet = (value: string): string => text().replace('"${args.customer_id}"', value)
  const at = async (value: string): Promise<string> => {
    const [fault] = await faultsOf(t, shop => { shop.files[READ] = sheet(value) })
    const lines = sheet(value).split('\n')
    return lines[fault!.line - 1]!.slice(fault!.column - 1)
  }
  assert.match(await at('"${args.customer}"'), /^customer\}/)
  assert.match(await at('"a ${args.customer_id} b ${args.custom}"'), /^custom\}/)
  assert.match(await at('\'${args.customer}\''), /^customer\}/)
  // An escape moves everything behind it, so the text as a whole is told.
  assert.match(await at('"\\u0061 ${args.customer}"'), /^"\\u0061/)
})

/** Ten lists of ten of the list before. */
const ALIAS_BOMB = [
  `a0: &a0 [${Array(10).fill('x').join(', ')}]`,
  ...Array.from({ length: 9 }, (_, n) => `a${n + 1}: &a${n + 1} [${Array(10).fill(`*a${n}`).join(', ')}]`),
].join('\n')

for (const [rule, what, content] of [
  ['duplicate-key', 'a key twice', 'action: a\naction: b\n'],
  ['yaml-syntax', 'a tab for indentation', 'a:\n\tb: 1\n'],
  ['yaml-syntax', 'a list that does not end', 'a: [1, 2\n'],
  ['yaml-tag', 'a tag of JavaScript', 'action: !!js/function "function () {}"\n'],
  ['yaml-tag', 'a tag of the core schema', 'action: !!str get_customer\n'],
  ['yaml-tag', 'a tag of its own', 'action: !secret x\n'],
  ['yaml-merge', 'a merge key', 'a: &a {b: 1}\nc:\n  <<: *a\n'],
  [
    'yaml-aliases',
    'an alias bomb',
    ALIAS_BOMB,
  ],
  ['yaml-too-deep', 'an alias inside itself', 'a: &a\n  b: *a\n'],
  ['yaml-too-deep', 'a deep nest', `a: ${'['.repeat(80)}${']'.repeat(80)}\n`],
  ['yaml-too-deep', 'a nest that no parser comes back from', `a: ${'['.repeat(5_000)}${']'.repeat(5_000)}\n`],
  ['yaml-too-deep', 'an object that never ends', `a: ${'{a: '.repeat(5_000)}\n`],
  ['yaml-several-documents', 'two documents', 'a: 1\n---\nb: 2\n'],
  ['yaml-empty', 'nothing', '# only a comment\n'],
  ['yaml-empty', 'no byte', ''],
  ['control-character', 'NUL', 'a: "b\u0000"\n'],
  ['byte-order-mark', 'a byte order mark', '\uFEFFa: 1\n'],
  ['not-utf8', 'Latin-1', Buffer.from('a: \xe9\n', 'latin1')],
  ['file-too-large', '257 KiB', `a: ${'x'.repeat(257 * 1024)}\n`],
  ['key-not-text', 'a number as a key', '1: a\n'],
  ['key-not-text', 'a list as a key', '? [a]\n: b\n'],
  ['number-not-exact', 'an integer beyond 2^53', 'a: 9007199254740993\n'],
  ['number-not-exact', 'infinity', 'a: .inf\n'],
  ['text-ill-formed', 'half a surrogate pair', 'a: "\\ud800"\n'],
  ['wrong-type', 'a list', '- a\n'],
] as const) {
  test(`a file is refused with ${rule} for ${what}`, async t => {
    assert.deepEqual(await rulesOf(t, shop => { shop.files[READ] = content as string | Buffer }), [rule])
  })
}

test('YAML is read as 1.2: words that look like something else stay words', async t => {
  const action = (await load(t, shop => {
    shop.files[READ] = text().replace('"Read a customer"', 'no').replace('"Reads one customer."', '2027-03-01')
  })).actions.get('get_customer.v1')!
  assert.equal(action.title, 'no')
  assert.equal(action.description, '2027-03-01')
})

test('an alias says the same thing again', async t => {
  const action = (await load(t, shop => {
    shop.files[READ] = text().replace('"Read a customer"', '&words "Read a customer"').replace('"Reads one customer."', '*words')
  })).actions.get('get_customer.v1')!
  assert.equal(action.description, 'Read a customer')
})

for (const [rule, what, change] of [
  ['file-missing', 'no policy', s => { s.policy = null }],
  ['file-missing', 'no upstream.yaml', s => { s.upstream = null }],
  ['file-misplaced', 'another file beside the policy', s => { s.files['actions/roles.yaml'] = 'a: 1\n' }],
  ['file-misplaced', 'a sheet without a version', s => { s.files['actions/shop/get_customer.yaml'] = text() }],
  ['file-misplaced', 'a sheet of version 0', s => { s.files['actions/shop/get_customer.v0.yaml'] = text() }],
  ['file-misplaced', 'a sheet that ends in .yml', s => { s.files['actions/shop/get_customer.v2.yml'] = text() }],
  ['file-misplaced', 'a name in capitals', s => { s.files['actions/shop/GetCustomer.v2.yaml'] = text() }],
  ['file-misplaced', 'a folder whose name is none', s => { s.files['actions/My Shop/upstream.yaml'] = 'a: 1\n' }],
  ['name-differs', 'a name that its file denies', s => { s.files['actions/shop/find_customer.v1.yaml'] = text() }],
  ['action-twice', 'one action in two upstreams', s => {
    s.files['actions/other/upstream.yaml'] = JSON.stringify({ ...s.upstream, upstream: 'other' })
    s.files['actions/other/get_customer.v1.yaml'] = text({ ...readSheet(), upstream: 'other' })
  }],
] as ReadonlyArray<readonly [string, string, (shop: Shop) => void]>) {
  test(`a folder is refused with ${rule} for ${what}`, async t => {
    assert.deepEqual(await rulesOf(t, change), [rule])
  })
}

test('what is no YAML is not looked at', async t => {
  assert.deepEqual(await rulesOf(t, shop => {
    shop.files['actions/README.md'] = 'how to'
    shop.files['actions/shop/.draft.v1.yaml'] = 'nonsense: ['
    shop.files['actions/shop/notes.txt'] = 'x'
  }), [])
})

test('a folder that is not there is a fault, not a crash', async () => {
  await assert.rejects(loadCatalog({ actionsFolder: '/nonexistent/actions', openapiFolder: '/nonexistent/openapi' }), (error: any) => {
    assert.equal(error.name, 'CatalogFaults')
    assert.deepEqual([...new Set(error.faults.map((fault: any) => fault.rule))].sort(), ['file-missing', 'folder-unreadable'])
    const told = error.faults.map((fault: any) => fault.message).join('\n')
    assert.ok(told.includes('/nonexistent/actions') && told.includes('/nonexistent/openapi'), told)
    return true
  })
})

test('a fault in one sheet does not hide the faults of another, nor blame what names the broken one', async t => {
  const rules = await rulesOf(t, shop => {
    shop.files['actions/shop/change_shipping_address.v2.yaml'] = 'action: ['
    shop.read.titel = 'x'
  })
  assert.deepEqual(rules, ['unknown-field', 'yaml-syntax'])
})

test('a load lets other work go on', async t => {
  const folders = write(t, shop => {
    for (let n = 1; n <= 80; n++) {
      shop.files[`actions/shop/many_${n}.v1.yaml`] = text({ ...writeSheet(), action: `many_${n}`, version: 1 })
    }
  })
  const startMs = performance.now()
  let lastMs = startMs
  let longestMs = 0
  const beat = (): void => {
    const nowMs = performance.now()
    longestMs = Math.max(longestMs, nowMs - lastMs)
    lastMs = nowMs
  }
  const timer = setInterval(beat, 1)
  t.after(() => clearInterval(timer))
  await loadCatalog(folders)
  beat()
  // In one piece, compiling would be most of it.
  assert.ok(longestMs < (lastMs - startMs) / 3, `${longestMs} of ${lastMs - startMs} ms without a pause`)
})
