// Patterns: what runs in linear time means what the contract says to whoever reads it as ECMA-262.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compilePattern, type Pattern } from '../../src/catalog/pattern.ts'

const compiled = (source: string): Pattern => {
  const pattern = compilePattern(source)
  assert.ok(typeof pattern !== 'string', `${source}: ${String(pattern)}`)
  return pattern
}

const TEXTS = [
  '', 'a', 'a b', 'a\u00a0b', 'a\rb', 'a\nb', 'a\u2028b', 'a\u2029b', '\v', '\ufeff', '\u3000', '\u200b', '\b', '\0', '\u0001', '😀', '\u{10ffff}',
  '[', ']', ':', '-', '^', 'é', 'A', '_', '.', '\u212a', 'k',
]

test('a pattern means to the engine that runs what it means in ECMA-262', () => {
  const sources = [
    '^.$', '^.+$', '.', '^\\S+$', '^\\s$', '\\s', '^[^\\s]+$', '^[\\S]$', '^[^\\S]$', '^[\\s.]$', '^[\\S ]$', '^[.]$', '^\\.$', '^[\\b]$', '^\\0$', '^[\\0]$', '^\\cA$',
    '^\\u0041$', '^[\\u0000-\\u0020]$', '^\\u{1F600}$', '^\\ud83d\\ude00$', '^[\\u{1F600}-\\u{1F64F}]$', '^[^]$', '^[[]$', '^[[:a]$', '^[\\]^]$', '^[-\\]]$', '^\\[$',
    '^[a-z0-9_-]+$', '^\\w+$', '^\\W$', '^\\d*$', '\\ba\\b', '^(?:a|b c)?$', '^\\p{L}$', '^\\P{Lu}$', '^(?i:k)$', '^[\\w.\\s]+$', '^\\\\.$',
  ]
  for (const source of sources) {
    const [native, linear] = [new RegExp(source, 'u'), compiled(source)]
    for (const text of TEXTS) assert.equal(linear.test(text), native.test(text), `${source} on ${JSON.stringify(text)}`)
  }
})

test('the same for any class of characters and any text', () => {
  const piece = fc.constantFrom('a', 'k', '\\s', '\\S', '\\d', '\\w', '\\W', '.', '[', ':', '\\]', '\\-', '\\u2028', '\\u{1F600}', '\\b', '\\0', '\\n', ' ', '\\^')
  const source = fc.tuple(fc.boolean(), fc.array(piece, { minLength: 1, maxLength: 5 })).map(([not, pieces]) => `^[${not ? '^' : ''}${pieces.join('')}]$`)
  const text = fc.oneof(fc.constantFrom(...TEXTS), fc.string({ unit: 'binary', maxLength: 2 }))
  fc.assert(fc.property(source, text, (source, text) => {
    assert.equal(compiled(source).test(text), new RegExp(source, 'u').test(text))
  }), { numRuns: 1_000 })
})
