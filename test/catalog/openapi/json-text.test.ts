import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { offsetOf, positionAt } from '../../../src/catalog/openapi/json-text.ts'
import { childPointer, parsePointer } from '../../../src/catalog/openapi/pointer.ts'

/** Every place of a value, with the text that must stand there: its key, or the item itself. */
function placesOf (value: unknown, tokens: readonly string[] = []): ReadonlyArray<readonly [readonly string[], string]> {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, item]) => {
    const at = [...tokens, key]
    return [[at, Array.isArray(value) ? JSON.stringify(item) : JSON.stringify(key)] as const, ...placesOf(item, at)]
  })
}

test('every key and item of a JSON text is found where it stands', () => {
  fc.assert(fc.property(fc.jsonValue({ maxDepth: 4 }), fc.constantFrom(0, 2), (value, indent) => {
    const text = JSON.stringify(value, null, indent)
    for (const [tokens, expected] of placesOf(value)) {
      const offset = offsetOf(text, tokens)
      const found = text.slice(offset)
      assert.ok(indent === 0 ? found.startsWith(expected) : found.startsWith(expected.slice(0, 1)), `${text} ${tokens.join(' ')}`)
    }
  }), { numRuns: 500 })
})

test('what is not there is found as deep as it can be', () => {
  const text = '{"a": {"b": [1, {"c": 2}]}}'
  assert.equal(offsetOf(text, ['a', 'x', 'y']), text.indexOf('"a"'))
  assert.equal(offsetOf(text, ['a', 'b', '7']), text.indexOf('"b"'))
  assert.equal(offsetOf(text, ['a', 'b', '1', 'c']), text.indexOf('"c"'))
  assert.equal(offsetOf(' 5', ['a']), 1)
})

test('line and column count from one', () => {
  assert.deepEqual(positionAt('ab\ncd', 0), { line: 1, column: 1 })
  assert.deepEqual(positionAt('ab\ncd', 4), { line: 2, column: 2 })
})

test('a pointer is read back to the tokens it was made of', () => {
  fc.assert(fc.property(fc.array(fc.string({ unit: 'binary' })), tokens => {
    assert.deepEqual(parsePointer(childPointer('', ...tokens)), tokens)
  }))
  for (const odd of ['a', 'a/b', '/~', '/~2', '/a~']) assert.equal(parsePointer(odd), undefined, odd)
})
