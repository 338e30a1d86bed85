// Contracts that the literature on tool calls tells of: the statement with two strings and its rewriting, the two ways to look for gifts, and the
// action that does everything.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { CatalogFaults } from '../../../src/catalog/catalog.ts'
import { loadCatalog } from '../../../src/catalog/load.ts'
import { lintFolder, lintTools } from '../../../src/curation/lint/lint.ts'
import { clean, folderOf, patched } from './clean-contracts.ts'

const FOLDER = join(import.meta.dirname, '../../commands/lint')
const asSheets = () => lintFolder({ actionsFolder: join(FOLDER, 'actions'), openapiFolder: join(FOLDER, 'openapi'), shownAs: 'actions', within: '' })
const asTools = () => lintTools('tools.json', readFileSync(join(FOLDER, 'tools.json')))

test('get_statement with two untyped strings is graded F, get_monthly_statement A: as sheets and as tools, by one rubric', async () => {
  for (const [report, suffix] of [[await asSheets(), '.v1'], [asTools(), '']] as const) {
    const gradeOf = (action: string) => report.actions.find(one => one.action === `${action}${suffix}`)!
    const [poor, good] = [gradeOf('get_statement'), gradeOf('get_monthly_statement')]
    assert.deepEqual([poor.grade, good.grade], ['F', 'A'])
    assert.ok(poor.score < 60 && good.score >= 90)
    const found = report.findings.filter(({ actions }) => actions.includes(`get_statement${suffix}`)).map(({ rule }) => rule)
    const expected = ['description-length', 'description-without-use', 'argument-without-description', 'string-without-bound', 'free-text-only-input']
    for (const rule of expected) assert.ok(found.includes(rule), rule)
  }
})

test('search_gifts and find_gifts are reported as an overlap: each names the other and what would separate them', async () => {
  for (const [report, suffix] of [[await asSheets(), '.v1'], [asTools(), '']] as const) {
    const overlaps = report.findings.filter(({ rule }) => rule === 'overlapping-actions')
    assert.deepEqual(overlaps.map(({ actions }) => actions).sort(), [[`find_gifts${suffix}`], [`search_gifts${suffix}`]])
    for (const [one, other] of [['find_gifts', 'search_gifts'], ['search_gifts', 'find_gifts']] as const) {
      const { message } = overlaps.find(({ actions }) => actions[0] === `${one}${suffix}`)!
      assert.match(message, new RegExp(`^\\d+ % like ${other}(\\.v1)?; what would separate them: "use ${other} instead" in the description; `))
    }
  }
})

test('do_everything with a free payload is refused at load, and scored with nothing', async t => {
  const sheet = patched(clean('write'), {
    action: 'do_everything',
    title: 'Do everything',
    description: 'Does whatever the payload says. Use it when nothing else fits.',
    input: { required: ['customer_id', 'payload'], properties: { payload: { type: 'object', description: 'What to do' }, city: null } },
    request: { body: '${args.payload}' },
    lookup: { outcomes: [{ when: 'response.body.version == target.version + 1', outcome: 'completed' }] },
    examples: null,
  })
  const folder = folderOf(t, [sheet])
  await assert.rejects(loadCatalog(folder), (error: unknown) =>
    error instanceof CatalogFaults && error.faults.some(({ rule, file }) => rule === 'input-open' && file === 'shop/do_everything.v1.yaml'))
  const { actions, findings } = await lintFolder({ ...folder, shownAs: 'actions', within: '' })
  assert.deepEqual(actions.map(({ action, score, grade }) => [action, score, grade]), [['do_everything.v1', 0, 'F']])
  assert.ok(findings.some(({ rule, category, line }) => rule === 'input-open' && category === 'load' && line > 1))
  assert.ok(findings.some(({ rule }) => rule === 'vague-verb'))
})
