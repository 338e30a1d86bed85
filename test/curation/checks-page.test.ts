// docs/checks.md tells what the code does: its tables are those of the code, and what it shows to be written can be read.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { FaultList } from '../../src/catalog/faults.ts'
import { CLASSES, MEANINGS } from '../../src/curation/diff/finding.ts'
import { readGold } from '../../src/curation/eval/gold.ts'
import { FAULTS } from '../../src/curation/eval/score.ts'
import { readTrace } from '../../src/curation/replay/trace.ts'
import { readScenarios, SCENARIOS_SCHEMA } from '../../src/curation/test/scenario-file.ts'

const page = readFileSync('docs/checks.md', 'utf8')
const blocks = (language: string): readonly string[] => [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(match => match[1]!)
const rows = (head: string): ReadonlyArray<readonly string[]> => page.slice(page.indexOf(head)).split('\n\n')[0]!.split('\n').slice(2).map(line => line.split(' | ').map(cell => cell.replace(/^\| | \|$/g, '')))

test('the classes of a difference are those of the code, with their meaning', () => {
  assert.deepEqual(rows('| class | what it means |'), CLASSES.map(name => [`\`${name}\``, MEANINGS[name]]))
})

test('what a score can find is what the code finds', () => {
  assert.deepEqual(rows('| found | when |').map(([name]) => name), FAULTS.map(name => `\`${name}\``))
})

test('what people can do in a scenario is what the schema takes', () => {
  const schema = SCENARIOS_SCHEMA as any
  const { enum: words } = schema.properties.scenarios.items.properties.given.properties.approval
  assert.deepEqual(rows('| `approval` | what people do | and then |').map(([word]) => word), words.map((word: string) => `\`${word}\``))
})

test('every file that is shown can be read', () => {
  const [scenarios, gold] = blocks('yaml')
  const faults = new FaultList()
  assert.notEqual(readScenarios('shop/change_shipping_address.scenarios.yaml', Buffer.from(scenarios!), faults, null), null, JSON.stringify(faults.all()))
  assert.equal(faults.count, 0, JSON.stringify(faults.all()))
  assert.equal(readGold('gold.yaml', Buffer.from(gold!)).length, 1)
  const trace = readTrace(blocks('json')[0]!.trim())
  assert.equal(typeof trace, 'object', String(trace))
})
