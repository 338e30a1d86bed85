// Every rule is tried: its seeded fault lowers the score and is named, its repair is clean. And docs/lint.md is what the table says.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { CATEGORIES, WEIGHTS } from '../../../src/curation/lint/rule.ts'
import { rulesPage } from '../../../src/curation/lint/rules-page.ts'
import { RULES } from '../../../src/curation/lint/rules.ts'
import { judged } from './clean-contracts.ts'

const ROOT = join(import.meta.dirname, '../../..')

for (const kind of ['observation', 'write', 'tool'] as const) {
  test(`the clean ${kind} is clean: 100 points and nothing found`, async t => {
    const { actions, findings } = await judged(t, kind, '{}')
    assert.deepEqual(findings, [])
    assert.deepEqual(actions.map(({ score, grade }) => [score, grade]), [[100, 'A']])
  })
}

for (const rule of RULES) {
  test(`${rule.id}: the seeded fault is named and lowers the score, the repair is clean`, async t => {
    const good = await judged(t, rule.example.of, rule.example.good)
    assert.deepEqual(good.findings, [], 'the good example is clean')
    assert.deepEqual(good.actions.map(({ score }) => score), good.actions.map(() => 100))
    const bad = await judged(t, rule.example.of, rule.example.bad)
    const named = bad.findings.filter(finding => finding.rule === rule.id)
    assert.ok(named.length > 0, `not named among: ${bad.findings.map(finding => finding.rule).join(', ')}`)
    assert.ok(named.every(({ category, severity, line, column }) =>
      category === rule.weighs.category && severity === rule.severity && line > 0 && column > 0))
    const { score, cappedBy } = bad.actions.find(({ action }) => action === bad.id)!
    if (rule.weighs.category === 'safety') {
      assert.ok(score <= rule.weighs.cap, `${score} is above the cap`)
      assert.ok(cappedBy.includes(rule.id))
    } else assert.ok(score < 100)
  })
}

test('every file of rules/ is in the table and named after its rule; ids are kebab-case and none stands twice', () => {
  const files = globSync(join(ROOT, 'src/curation/lint/rules/*.ts')).map(file => basename(file, '.ts')).sort()
  assert.deepEqual(RULES.map(({ id }) => id).sort(), files)
  for (const { id } of RULES) assert.match(id, /^[a-z]+(-[a-z]+)+$/)
})

test('the weights are those of the rubric, and whatever is at fault everywhere in a category loses all of it', () => {
  assert.deepEqual(WEIGHTS, { description: 25, parameters: 25, practice: 20, naming: 15, examples: 15 })
  for (const category of CATEGORIES) {
    const costs = RULES.map(({ weighs }) => weighs.category === category ? weighs.cost : 0)
    assert.ok(costs.reduce((sum, cost) => sum + cost) >= 100, category)
  }
})

test('docs/lint.md is the page that the table makes', () => {
  assert.equal(readFileSync(join(ROOT, 'docs/lint.md'), 'utf8'), rulesPage())
})
