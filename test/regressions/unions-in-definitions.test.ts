// Unions that stand in a definition: their faults are told by branch, and a tree of them costs no more than its size.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json, JsonObject } from '../../src/catalog/catalog.ts'
import { SchemaCompiler } from '../../src/catalog/schema.ts'
import { compileFinish } from '../../src/catalog/view.ts'

const closed = (properties: JsonObject, required: readonly string[] = []): JsonObject => ({ type: 'object', additionalProperties: false, required, properties })
const string = { type: 'string', maxLength: 9 }
const node = { $ref: '#/$defs/node' }
const leaf = closed({ kind: { const: 'leaf' }, name: string }, ['kind', 'name'])
const branch = closed({ kind: { const: 'branch' }, child: node, items: { type: 'array', items: node } }, ['kind', 'child'])
const TREE: JsonObject = { ...closed({ tree: node }, ['tree']), $defs: { node: { oneOf: [leaf, branch] } } }

function nested (levels: number, within: Json): JsonObject {
  let value = within
  for (let level = 0; level < levels; level++) value = { kind: 'branch', child: value }
  return { tree: value }
}

test('a fault in a union of a definition is told by the branch that was meant, at any depth', () => {
  const { check } = new SchemaCompiler().compile(TREE)
  assert.equal(check(nested(3, { kind: 'leaf', name: 'a' })), null)
  assert.equal(check(nested(0, { kind: 'leaf' }))?.pointer, '/tree/name')
  assert.equal(check(nested(2, { kind: 'leaf', name: 1 }))?.pointer, '/tree/child/child/name')
  assert.equal(check(nested(1, { kind: 'bush' }))?.rule, 'const')
})

test('an answer that is a deep tree of unions is shown, and pruned in all of it', () => {
  const finish = compileFinish(TREE, { maxBytes: 100_000, maxItems: 2 }, new SchemaCompiler())
  const shown = finish(nested(28, { kind: 'leaf', name: 'a', ssn: '1' }))
  const pruned = nested(28, { kind: 'leaf', name: 'a' })
  assert.deepEqual(shown, { result: pruned, truncated: false, text: JSON.stringify(pruned) })
  const one = { kind: 'leaf', name: 'a' }
  const cut = finish({ tree: { kind: 'branch', child: one, items: [one, one, one] } })
  const result = { tree: { kind: 'branch', child: one, items: [one, one] } }
  assert.deepEqual(cut, { result, truncated: true, text: JSON.stringify(result) })
})
