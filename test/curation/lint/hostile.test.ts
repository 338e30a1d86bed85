// Whatever a tools list holds, the linter ends, says the same twice, and never falls over: it is run on what others wrote.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { backtracking } from '../../../src/curation/lint/backtracking.ts'
import { lintTools } from '../../../src/curation/lint/lint.ts'

const lint = (tools: unknown) => lintTools('t.json', Buffer.from(JSON.stringify(tools)))

const KEYWORDS = [
  'type', 'properties', 'required', 'items', 'enum', 'const', 'pattern', 'maxLength', 'format', 'anyOf', 'oneOf', 'allOf', '$ref', '$defs', 'examples',
  'additionalProperties', 'description', 'not', 'prefixItems', '__proto__', 'constructor',
]
const VALUES = ['string', 'object', 'array', '#', '#/properties/a', '#/$defs/~', '^(a+)+$', '(', 'date', 'a', '', '\u200b', 'a.b', 'use this when']
const schema = fc.letrec(tie => ({
  node: fc.oneof({ maxDepth: 5, withCrossShrink: true }, fc.constantFrom<unknown>(...VALUES, true, false, null, 0, -1, 1.5), tie('list'), tie('object')),
  list: fc.array(tie('node'), { maxLength: 3 }),
  object: fc.dictionary(fc.constantFrom(...KEYWORDS), tie('node'), { maxKeys: 5 }),
}))
const tool = fc.record({
  name: fc.oneof(fc.string(), fc.constantFrom('get_gift', 'find_gift')),
  inputSchema: schema.object,
  title: schema.node,
  description: fc.oneof(fc.string(), schema.node),
  annotations: schema.node,
  outputSchema: schema.node,
}, { requiredKeys: ['name', 'inputSchema'] })

test('any tools list has scores from 0 to 100 and findings with places, the same twice', () => {
  fc.assert(fc.property(fc.array(tool, { maxLength: 3 }), tools => {
    const report = lint(tools)
    assert.equal(report.actions.length, tools.length)
    for (const { score, categories } of report.actions) {
      for (const points of [score, ...Object.values(categories)]) assert.ok(Number.isInteger(points) && points >= 0 && points <= 100)
    }
    for (const { line, column, message } of report.findings) assert.ok(line >= 1 && column >= 1 && message.length > 0)
    assert.deepEqual(lint(tools), report)
  }), { numRuns: 500 })
})

test('texts and patterns that are made to take long do not', () => {
  const long = (text: string): string => text.repeat(200_000 / text.length)
  const startMs = performance.now()
  for (const text of ['a.', 'use it ', 'as a ', 'Select a ', 'between 1', 'do not use ', 'token ', 'https://', '1,', 'A_', 'x@']) {
    const description = long(text)
    lint([{ name: 'get_gift', description, inputSchema: { type: 'object', properties: { a: { type: 'string', description: description.slice(0, 5_000) } } } }])
  }
  for (const pattern of [
    `^(${Array.from({ length: 90 }, (_, index) => `a${index}`).join('|')})*$`, `^${'[a-z]?'.repeat(100)}$`, `^(${'a?'.repeat(30)})*$`, '^' + '(a|b)*'.repeat(20),
    `^${'('.repeat(40)}a${')*'.repeat(40)}$`, `^${'.*'.repeat(25)}$`,
  ]) backtracking(pattern)
  const tookMs = performance.now() - startMs
  assert.ok(tookMs < 60_000, `${Math.round(tookMs)} ms`)
})
