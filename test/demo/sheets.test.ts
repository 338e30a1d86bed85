// The bundled sheets: they load, together they use every field of the format, and each says what the design's rubric asks for.
import assert from 'node:assert/strict'
import { globSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { loadCatalog } from '../../src/catalog/load.ts'
import { BUNDLED, placeSheets } from '../../src/commands/demo/sheets.ts'
import { lintFolder } from '../../src/curation/lint/lint.ts'
import { printSchema } from '../../src/commands/schema.ts'

const FILES = globSync(join(BUNDLED.actionsFolder, 'shop/*.v*.yaml')).sort()
const SHEETS = FILES.map(file => ({ name: basename(file, '.yaml'), sheet: parse(readFileSync(file, 'utf8')) }))

test('the bundled sheets load without a fault, and there are at least eight', async () => {
  const catalog = await loadCatalog(BUNDLED)
  assert.deepEqual([...catalog.actions.keys()], SHEETS.map(({ name }) => name).sort())
  assert.ok(catalog.actions.size >= 8)
})

test('the copy for a shop on the spot differs in the place of the shop and of its keys alone', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'aval-sheets-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const actionsFolder = await placeSheets(folder, { url: 'http://127.0.0.1:4242/v1', apiKey: 'write-key', readKey: 'read-key-' })
  const [one, other] = [await loadCatalog(BUNDLED), await loadCatalog({ ...BUNDLED, actionsFolder })]
  assert.deepEqual([...other.actions.keys()], [...one.actions.keys()])
  const shop = other.upstreams.get('shop')!
  assert.deepEqual([shop.origin, shop.basePath], ['http://127.0.0.1:4242', '/v1'])
  for (const file of globSync(join(BUNDLED.actionsFolder, '**/*.yaml'))) {
    if (file.endsWith('upstream.yaml')) continue
    assert.equal(readFileSync(file.replace(BUNDLED.actionsFolder, actionsFolder), 'utf8'), readFileSync(file, 'utf8'))
  }
  for (const [use, key] of [['read', 'read-key-'], ['write', 'write-key']] as const) {
    assert.equal(shop.credentials[use]!.secret, `file:${join(folder, `shop_${use}`)}`)
    assert.equal(readFileSync(join(folder, `shop_${use}`), 'utf8'), key)
    assert.equal(statSync(join(folder, `shop_${use}`)).mode & 0o777, 0o600)
  }
})

/** Every property that the schema of sheets knows, as `lookup.absent.settles_after`; schemas that the platform team writes itself are one field. */
function fieldsOf (schema: any, root: any, path: string): readonly string[] {
  const target = schema?.$ref === undefined ? schema : schema.$ref.slice(2).split('/').reduce((node: any, part: string) => node[part], root)
  const branches = [...(target?.oneOf ?? []), ...(target?.anyOf ?? []), ...(target?.allOf ?? [])].flatMap(branch => fieldsOf(branch, root, path))
  const own = Object.entries<any>(target?.properties ?? {})
    .flatMap(([name, inner]) => [`${path}${name}`, ...fieldsOf(inner, root, `${path}${name}.`)])
  const named = typeof target?.additionalProperties === 'object' ? fieldsOf(target.additionalProperties, root, `${path}*.`) : []
  return [...own, ...named, ...branches, ...(target?.items === undefined ? [] : fieldsOf(target.items, root, path))]
}

/** Every property that a sheet really uses, in the same words. */
function usedBy (value: any, known: ReadonlySet<string>, path: string): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(item => usedBy(item, known, path))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => {
    const field = `${path}${name}`
    return known.has(field) ? [field, ...usedBy(inner, known, `${field}.`)] : usedBy(inner, known, `${path}*.`)
  })
}

test('together the sheets use every field of the format', () => {
  const schema = JSON.parse(printSchema('sheet'))
  const known = new Set(fieldsOf(schema, schema, ''))
  assert.ok(known.has('compensate_with') && known.has('lookup.absent.settles_after') && known.has('limits.serialize'), [...known].join(' '))
  const used = new Set(SHEETS.flatMap(({ sheet }) => usedBy(sheet, known, '')))
  // A look-up and a read are placed like a request; that they may carry headers and cookies needs no second example.
  const likeRequest = /^(lookup|reads\.\*)\.(headers|cookies|query)$/
  assert.deepEqual([...known].filter(field => !used.has(field) && !likeRequest.test(field)), [])
})

test('together the sheets use every word of the format that is chosen from a list', () => {
  const of = (name: string): string[] => [...new Set(SHEETS.map(({ sheet }) => sheet[name] as string))].sort()
  assert.deepEqual(of('effect'), ['external_commitment', 'irreversible_change', 'observation', 'reversible_change'])
  assert.deepEqual(of('consent'), ['call', 'none', 'session'])
  assert.deepEqual(of('retry'), ['natural', 'never', 'safe', 'same_key'])
  assert.ok(SHEETS.some(({ sheet }) => sheet.lookup === 'none'))
})

test('each title and description tells a model what it is for, what it is not for, what comes back and what may go wrong', () => {
  for (const { name, sheet } of SHEETS) {
    const words = sheet.description.trim().split(/\s+/)
    assert.ok(words.length >= 10 && words.length <= 200, `${name} has ${words.length} words`)
    assert.match(sheet.description, /^[A-Z][a-z]+s /, `${name} begins with what it does`)
    for (const phrase of ['Use this when', 'Do not use this', 'Returns', 'answers']) {
      assert.ok(sheet.description.includes(phrase), `${name} says "${phrase}"`)
    }
    assert.ok(sheet.title.length <= 60, name)
    for (const [argument, schema] of Object.entries<any>(sheet.input.properties)) {
      assert.ok(schema.description?.length > 5, `${name} describes ${argument}`)
    }
  }
})

test('an action that another one is compared to exists', () => {
  const names = new Set(SHEETS.map(({ sheet }) => sheet.action))
  for (const { name, sheet } of SHEETS) {
    const named = [...sheet.description.matchAll(/use ([a-z]+_[a-z_]+)/g)].map(match => match[1])
    assert.deepEqual(named.filter(other => !names.has(other)), [], name)
  }
})

test('the linter grades every one of them A, and what is accepted is accepted with a reason', async () => {
  const { actions, findings } = await lintFolder({ ...BUNDLED, shownAs: 'actions', within: '' })
  assert.equal(actions.length, SHEETS.length)
  assert.deepEqual(actions.filter(({ grade }) => grade !== 'A'), [])
  assert.deepEqual(findings.filter(({ accepted }) => accepted === null), [])
})
