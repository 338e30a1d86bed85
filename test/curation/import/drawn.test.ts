// Two hundred operations of real documents, drawn with a fixed seed: every draft is a sheet, none loads before a person has judged it, and nearly
// all load once the marks are taken away.
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { CatalogFaults, type Fault } from '../../../src/catalog/catalog.ts'
import { loadCatalog } from '../../../src/catalog/load.ts'
import { DocumentFault } from '../../../src/catalog/openapi/fault.ts'
import { readYaml, YamlFile } from '../../../src/catalog/yaml-file.ts'
import { draftSheet, type Draft } from '../../../src/curation/import/draft.ts'
import { draftUpstream } from '../../../src/curation/import/upstream-draft.ts'
import { drawOperations, type Drawn } from './drawn-operations.ts'

const SEED = 20_260_301
const COUNT = 200

interface Made extends Draft { readonly file: string }

let root: string
let drawn: readonly Drawn[]
const made: Made[] = []
/** Operations that cannot be drafted, with the reason. */
const undraftable: string[] = []

before(() => {
  root = mkdtempSync(join(tmpdir(), 'aval-drawn-'))
  drawn = drawOperations(join(root, 'openapi'), SEED, 25, 21, 5)
  // An action has one name in a whole catalog, whatever its upstream.
  const taken = new Set<string>()
  for (const { upstream, document, entries, wanted } of drawn) {
    const before = made.length
    for (const entry of entries) {
      if (made.length - before === wanted || made.length === COUNT) break
      try {
        const draft = draftSheet({ document, entry, upstream, effect: null, extra: [], taken })
        taken.add(draft.action)
        made.push({ ...draft, file: `${upstream}/${draft.action}.v1.yaml` })
      } catch (error) {
        if (!(error instanceof DocumentFault)) throw error
        undraftable.push(`${document.file} ${entry.method} ${entry.path}: ${error.code} ${error.message}`)
      }
    }
  }
})

after(() => rmSync(root, { recursive: true, force: true }))

test('two hundred operations are drafted, and what cannot be says why: HTTP has no request for a path with a query or a fragment in it', t => {
  assert.equal(made.length, COUNT)
  t.diagnostic(`${made.length} drafted from ${drawn.map(({ source }) => source).join(', ')}; ${undraftable.length} passed over`)
  for (const reason of undraftable) assert.match(reason, /: path-has-query .{10,}/)
})

test('every draft parses, is marked in many places, and says how grave it may be', () => {
  for (const { file, text } of made) {
    const read = readYaml(file, Buffer.from(text))
    assert.ok(read instanceof YamlFile, `${file}: ${JSON.stringify(read)}`)
    const sheet = read.value as { readonly [field: string]: any }
    assert.equal(sheet['effect'], 'irreversible_change', file)
    assert.equal(sheet['consent'], 'call', file)
    assert.ok(read.marks.length >= 9, file)
    for (const question of ['runs twice', 'wrong object', 'five minutes late']) assert.ok(read.marks.some(mark => mark.message.includes(question)), file)
  }
})

test('no draft loads before review: each is refused by its marks, every one of them in its place', async () => {
  const faults = await load('marked', text => text)
  for (const { file, text } of made) {
    const own = faults.filter(fault => fault.file === file && fault.rule === 'review-pending')
    const lines = text.split('\n').flatMap((line, index) => line.includes('TODO(review)') ? [`${index + 1}:${line.indexOf('TODO(review)') + 1}`] : [])
    assert.deepEqual(own.map(fault => `${fault.line}:${fault.column}`), lines, file)
  }
  for (const { upstream } of drawn) assert.ok(faults.some(fault => fault.file === `${upstream}/upstream.yaml` && fault.rule === 'review-pending'))
})

test('with the marks taken away at least 95 of 100 load, and the rest name why', async t => {
  const faults = await load('judged', withoutMarks)
  const failed = Map.groupBy(faults, fault => fault.file)
  const loaded = made.filter(({ file }) => !failed.has(file)).length
  t.diagnostic(`${loaded} of ${made.length} load; ${made.length - loaded} do not`)
  for (const [file, reasons] of failed) t.diagnostic(`${file}: ${reasons.map(({ rule, message }) => `${rule} ${message}`).join('; ')}`)
  assert.ok(loaded >= made.length * 0.95, JSON.stringify(faults.slice(0, 20), null, 1))
  for (const fault of faults) {
    assert.ok(made.some(({ file }) => file === fault.file), `${fault.file}: ${fault.message}`)
    assert.ok(fault.rule !== 'review-pending' && fault.message.length > 10 && fault.line > 0)
  }
})

test('no draft lets an agent choose a header, a host or a credential, or shows what looks secret', () => {
  for (const { file, text } of made) {
    const sheet = (readYaml(file, Buffer.from(withoutMarks(text))) as YamlFile).value as { readonly [field: string]: any }
    const placed = JSON.stringify([sheet['request']?.headers ?? {}, sheet['request']?.cookies ?? {}])
    assert.ok(!placed.includes('${'), `${file}: ${placed}`)
    for (const name of Object.keys(sheet['input'].properties)) {
      assert.doesNotMatch(name, /(^|_)(host|hostname|url|uri|password|secret|authorization|api_key)$/, `${file}: ${name}`)
    }
    for (const name of namesIn(sheet['result']?.schema)) assert.doesNotMatch(name, /password|secret|token|api_?key|private_?key/i, `${file}: ${name}`)
    assertClosed(sheet['input'], file)
  }
})

/** Every fault of a load of all drafts, as they stand after `change`. */
async function load (folder: string, change: (text: string) => string): Promise<readonly Fault[]> {
  const actionsFolder = join(root, folder)
  const write = (name: string, text: string): void => {
    mkdirSync(dirname(join(actionsFolder, name)), { recursive: true })
    writeFileSync(join(actionsFolder, name), text)
  }
  write('policy.yaml', 'roles: {}\n')
  for (const { upstream, document, file } of drawn) {
    const own = made.filter(draft => draft.file.startsWith(`${upstream}/`)).map(({ needs }) => needs)
    // The server is typed by hand: a person types the one that the operations are at.
    const server = own.flatMap(({ servers }) => servers).find(url => URL.canParse(url) && url.startsWith('https:'))
    const text = change(draftUpstream(document, upstream, file, own))
    write(`${upstream}/upstream.yaml`, server === undefined ? text : text.replace('https://api.invalid', server))
  }
  for (const { file, text } of made) write(file, change(text))
  const faults = await loadCatalog({ actionsFolder, openapiFolder: join(root, 'openapi') }).then(() => [], (error: unknown) => {
    assert.ok(error instanceof CatalogFaults, String(error))
    return error.faults
  })
  assert.equal(readFileSync(join(actionsFolder, 'policy.yaml'), 'utf8'), 'roles: {}\n')
  return faults
}

/** What an editor's replace would do. */
function withoutMarks (text: string): string {
  return text.replace(/^[ \t]*# TODO\(review\).*\n/gm, '').replace(/[ \t]+# TODO\(review\).*$/gm, '')
}

function * namesIn (schema: any): Generator<string> {
  if (typeof schema !== 'object' || schema === null) return
  for (const [name, part] of Object.entries(schema.properties ?? {})) {
    yield name
    yield * namesIn(part)
  }
  yield * namesIn(schema.items)
}

function assertClosed (schema: any, file: string): void {
  if (schema?.type === 'object') assert.equal(schema.additionalProperties, false, file)
  for (const part of [...Object.values(schema?.properties ?? {}), schema?.items]) if (part !== undefined) assertClosed(part, file)
}
