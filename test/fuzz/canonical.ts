// Canonical JSON (RFC 8785), on which every name and every digest rests: held against what the RFC says, without a second writer of it.
import assert from 'node:assert/strict'
import canonicalize from 'canonicalize'
import fc from 'fast-check'
import type { Json } from '../../src/catalog/catalog.ts'
import type { Count, Target } from './target.ts'

const NAMES = ['', 'a', 'b', '10', '9', '1', 'é', 'e\u0301', '\ufb33', '😀', '\u0080', '__proto__', 'constructor', '€', '\r']
const key = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 6 }), fc.constantFrom(...NAMES))
const { value } = fc.letrec<{ value: Json }>(tie => ({
  value: fc.oneof(
    { maxDepth: 5 }, fc.constant(null), fc.boolean(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.maxSafeInteger(),
    fc.string({ unit: 'binary' }), fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.tuple(key, tie('value')), { maxLength: 6 }).map(entries => Object.fromEntries(entries)),
  ) as fc.Arbitrary<Json>,
}))

/** The same value, with the names of every object in another order. */
function shuffled (value: Json, from: readonly number[], at = { index: 0 }): Json {
  if (Array.isArray(value)) return value.map((part: Json) => shuffled(part, from, at))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([name, part]) => [from[at.index++ % from.length]!, name, shuffled(part as Json, from, at)] as const)
  return Object.fromEntries(entries.sort((one, other) => one[0] - other[0]).map(([, name, part]) => [name, part]))
}

/** §3.2.3: names are in the order of their UTF-16 code units, at every depth. Read from the text, not from the value. */
function namesInOrder (text: string): void {
  const open: Array<string | null> = []
  for (const [token, , isName] of text.matchAll(/"((?:[^"\\]|\\.)*)"(:?)|[{}[\]]/g)) {
    if (token === '{' || token === '[') open.push(null)
    else if (token === '}' || token === ']') open.pop()
    else if (isName === ':') {
      const name = JSON.parse(token.slice(0, -1)) as string
      const before = open.pop() ?? null
      assert.ok(before === null || before < name, `${JSON.stringify(before)} before ${JSON.stringify(name)}`)
      open.push(name)
    }
  }
}

export const canonical: Target = {
  name: 'canonical',
  holds: 'canonical JSON reads back as what it was made of, has one text for one value, names in order of UTF-16, and numbers as ECMAScript writes them',
  property: (count: Count) => fc.property(value, fc.array(fc.nat(), { minLength: 1, maxLength: 12 }), (given, order) => {
    const text = canonicalize(given)!
    assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(given)))
    assert.equal(canonicalize(JSON.parse(text)), text)
    assert.equal(canonicalize(shuffled(given, order)), text)
    namesInOrder(text)
    const bare = text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""')
    assert.doesNotMatch(bare, /\s/)
    for (const [number] of bare.matchAll(/-?\d[^,\]}]*/g)) assert.equal(number, String(Number(number)))
    // §3.2.2.2: only what must be escaped is, and in the shortest way.
    assert.doesNotMatch(text, /\\u(?!00[01][0-9a-f])|\\\/|\\u000[89acd]/)
    if (text.includes('{')) count('with names')
  }),
  shortRuns: 2_000,
  least: { 'with names': 0.1 },
}
