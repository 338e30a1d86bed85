// How a report looks: colours around what others wrote and never in it, marks under the right column, escapes for workflows, scores by their shares.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reportGithub } from '../../../src/curation/lint/report-github.ts'
import { COLOURED, PLAIN, reportText } from '../../../src/curation/lint/report-text.ts'
import type { Finding, Report } from '../../../src/curation/lint/report.ts'
import { RULES } from '../../../src/curation/lint/rules.ts'
import { gradeOf, judge } from '../../../src/curation/lint/score.ts'
import { lintTools } from '../../../src/curation/lint/lint.ts'
import { escapeForTerminal } from '../../../src/telemetry/visible.ts'
import { clean, patched } from './clean-contracts.ts'

const finding = (changes: Partial<Finding>): Finding => ({
  rule: 'vague-verb', severity: 'warning', category: 'naming', file: 'a/b.v1.yaml', line: 2, column: 8, message: 'says nothing', actions: ['b.v1'],
  accepted: null, fix: null, ...changes,
})
const report = (found: Finding, text = 'x: 1\ntitle: Do it\n'): Report => ({
  actions: [{
    action: 'b.v1', file: 'a/b.v1.yaml', score: 59, grade: 'F', cappedBy: ['view-open'],
    categories: { description: 1, parameters: 1, practice: 1, naming: 1, examples: 1 },
  }],
  findings: [found],
  texts: new Map([['a/b.v1.yaml', text]]),
})

test('the mark stands under the column, also behind characters that are shown as escapes and in a long line', () => {
  const [, , , line, mark] = reportText(report(finding({}), 'x: 1\n\ttitle: Do it\n'), PLAIN, escapeForTerminal)
  assert.equal(line, '  2 | \\u0009title: Do it')
  assert.equal(mark!.indexOf('^'), '  2 | \\u0009title:'.length)
  const long = `x: 1\n${'y'.repeat(500)}Z\n`
  const [, , , shown, under] = reportText(report(finding({ column: 501 }), long), PLAIN, escapeForTerminal)
  assert.equal(shown!.indexOf('Z'), under!.indexOf('^'))
})

test('what others wrote cannot colour or move anything, whether the lines are coloured or not', () => {
  const hostile = finding({ message: 'says \x1b[2J\u202e nothing', file: 'a/b.v1.yaml' })
  for (const paint of [PLAIN, COLOURED]) {
    const lines = reportText(report(hostile, 'x: \x1b[31m1\ntitle: \x1b]0;x\x07Do it\n'), paint, escapeForTerminal).join('\n')
    assert.ok(lines.includes('says \\u001b[2J\\u202e nothing'))
    const own = Object.values(paint).filter(code => code !== '')
    const foreign = own.reduce((left, code) => left.replaceAll(code, ''), lines)
    assert.doesNotMatch(foreign, /[\x00-\x09\x0b-\x1f\x7f\u202e]/)
    if (paint === PLAIN) assert.doesNotMatch(lines, /\x1b/)
    else assert.ok(lines.includes(`${COLOURED.red} 59 F${COLOURED.reset}`))
  }
})

test('commands of a workflow are one line each, whatever is in them', () => {
  const [line, ...rest] = reportGithub(report(finding({ message: '50 %\nof, it', file: 'a,b:c.yaml' })))
  assert.deepEqual([line, rest], ['::warning file=a%2Cb%3Ac.yaml,line=2,col=8,title=vague-verb::50 %25%0Aof, it', []])
  assert.deepEqual(reportGithub(report(finding({ accepted: 'it is so because of that' }))), [])
})

test('grades begin where the docs say', () => {
  assert.deepEqual([100, 90, 89, 80, 79, 70, 69, 60, 59, 0].map(gradeOf), ['A', 'A', 'B', 'B', 'C', 'C', 'D', 'D', 'F', 'F'])
})

test('a rule costs by the share that is at fault, and the score is rounded down', () => {
  const properties = clean('tool').inputSchema.properties
  const scored = (month: object): number => {
    const tool = patched(clean('tool'), { inputSchema: { properties: { ...properties, month } } })
    return lintTools('t.json', Buffer.from(JSON.stringify([tool]))).actions[0]!.score
  }
  // One of two descriptions: half of 25 of 25 % is 3.125.
  assert.equal(scored({ ...properties.month, description: null }), 96)
  assert.equal(scored(properties.month), 100)
})

test('a rule that is accepted is found and counts for nothing', () => {
  const tool = patched(clean('tool'), { title: 'Handle statements' })
  const { findings } = lintTools('t.json', Buffer.from(JSON.stringify([tool])))
  assert.deepEqual(findings.map(({ rule }) => rule), ['vague-verb'])
  const contracts: any[] = []
  const offer = { contracts, policy: null }
  const [rule] = RULES.filter(({ id }) => id === 'vague-verb')
  const contract: any = { ...clean('tool'), title: 'Handle statements', at: { name: '/name', title: '/title', description: '/description' } }
  const [open, accepted] = [judge(contract, offer, [rule!], new Set()), judge(contract, offer, [rule!], new Set(['vague-verb']))]
  assert.deepEqual([open.found.length, accepted.found.length], [1, 1])
  assert.ok(open.score.score < 100 && accepted.score.score === 100)
})
