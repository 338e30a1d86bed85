// How far a long command has come: said on stderr where that is a terminal, wiped away at the end of each part, and said nowhere else.
import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { main } from '../../src/cli.ts'
import { BUNDLED } from '../../src/commands/demo/sheets.ts'
import { startBroker } from '../../src/main.ts'

const WIPED = '\r\x1b[K'
const LOADING = /^\r\x1b\[K0\/\d+ shop\/[a-z_]+\.(v1|scenarios)\.yaml$/

const TRACE = { action: 'get_customer.v1', caller: { roles: ['shop_reader'], claims: {} }, arguments: { customer_id: 'cus_1' }, recorded: { allowed: false } }
const TRANSCRIPT = { task: 'one', messages: [{ role: 'user', content: 'Read cus_1.' }, { role: 'assistant', content: 'No.' }] }

/** What each command says on stderr, chunk by chunk; and what it is told to tell. */
async function said (t: TestContext, words: readonly string[], isTerminal: boolean, env: Record<string, string> = {}): Promise<readonly string[]> {
  const chunks: string[] = []
  const wasTerminal = process.stderr.isTTY
  const write = t.mock.method(process.stderr, 'write', (text: string) => chunks.push(text) > 0)
  process.stderr.isTTY = isTerminal
  try {
    const code = await main([...words], {
      env: { AVAL_ACTIONS: BUNDLED.actionsFolder, AVAL_OPENAPI: BUNDLED.openapiFolder, ...env }, print () {}, tell () {}, startBroker,
    })
    assert.notEqual(code, 2, words.join(' '))
    return chunks
  } finally {
    process.stderr.isTTY = wasTerminal
    write.mock.restore()
  }
}

function site (t: TestContext): { readonly folder: string, readonly actionsFolder: string } {
  const folder = mkdtempSync(join(tmpdir(), 'aval-progress-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const actionsFolder = join(folder, 'actions')
  cpSync(BUNDLED.actionsFolder, actionsFolder, { recursive: true })
  writeFileSync(join(folder, 'traces.jsonl'), JSON.stringify(TRACE))
  writeFileSync(join(folder, 'gold.yaml'), 'tasks:\n  - {id: one, expect: [{action: get_customer.v1}]}\n')
  writeFileSync(join(folder, 'one.json'), JSON.stringify(TRANSCRIPT))
  return { folder, actionsFolder }
}

test('lint, lock, diff, test, replay and eval say how far they are from the first file that they read, and wipe it away', async t => {
  const { folder, actionsFolder } = site(t)
  const env = { AVAL_ACTIONS: actionsFolder }
  for (const [words, parts] of [
    [['lint', actionsFolder, '--openapi', BUNDLED.openapiFolder, '--min', '0'], 2],
    [['lock'], 1],
    [['diff', BUNDLED.actionsFolder, 'now'], 2],
    [['test', 'get_customer'], 2],
    [['replay', join(folder, 'traces.jsonl')], 2],
    [['eval', join(folder, 'gold.yaml'), join(folder, 'one.json')], 2],
  ] as const) {
    const chunks = await said(t, words, true, env)
    assert.match(chunks[0]!, LOADING, words[0])
    assert.equal(chunks.at(-1), WIPED, words[0])
    assert.equal(chunks.filter(chunk => chunk === WIPED).length, parts, `${words[0]}: ${JSON.stringify(chunks)}`)
    assert.deepEqual(await said(t, words, false, env), [], words[0])
  }
})

test('what is read is said file by file, and what is judged action by action', async t => {
  let nowMs = 0
  t.mock.method(performance, 'now', () => { nowMs += 1_000; return nowMs })
  const { actionsFolder } = site(t)
  const chunks = await said(t, ['lint', actionsFolder, '--openapi', BUNDLED.openapiFolder], true)
  const numbers = chunks.map(chunk => chunk.replace(WIPED, ''))
  const of = (about: RegExp): readonly number[] => numbers.filter(chunk => about.test(chunk)).map(chunk => Number.parseInt(chunk, 10))
  assert.deepEqual(of(/^\d+\/12 [a-z_]+\.v\d$/), Array.from({ length: 12 }, (_, index) => index), 'judged')
  assert.ok(of(/^\d+\/12 shop\/[a-z_]+\.v\d\.yaml$/).length === 12, 'compiled')
})

test('a terminal that cannot move its cursor is told nothing', async t => {
  assert.deepEqual(await said(t, ['lock'], true, { TERM: 'dumb', AVAL_ACTIONS: site(t).actionsFolder }), [])
})
