import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readJson, type JsonRead } from '../../../src/catalog/openapi/json-pieces.ts'

function read (text: string): JsonRead & { readonly steps: number } {
  const reading = readJson(text)
  for (let steps = 0; ; steps++) {
    const step = reading.next()
    if (step.done === true) return { ...step.value, steps }
  }
}

function parsed (text: string): unknown {
  try {
    return { data: JSON.parse(text) as unknown }
  } catch {
    return 'not JSON'
  }
}

const dataOf = (text: string): unknown => {
  const found = read(text)
  return found.kind === 'read' ? { data: found.data } : 'not JSON'
}

/**
 * JSON with names that mean something elsewhere, and characters that need care. No name holds a backslash: once it has read one that ends in one,
 * the JSON.parse of V8 13.6 and 14.6 takes others for it (`{"a":0,"\\":0}`, then `{"a":0,"\"":0}`), and could not be compared with.
 */
const jsonOf = (name: fc.Arbitrary<string>): fc.Arbitrary<unknown> => fc.letrec(tie => ({
  value: fc.oneof(
    { depthSize: 'medium' },
    leaf,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(name, tie('value'), { maxKeys: 5, noNullPrototype: true })
  ),
})).value
const text = fc.string({ unit: 'binary' })
const leaf = fc.oneof(
  fc.constantFrom<unknown>(null, true, false, -0, 1e300, '', '{', '"', '\\'),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  text
)
const meaningful = fc.constantFrom('__proto__', 'constructor', 'toString', '', 'a', 'b', '1', '0')
const oddName = text.map(name => name.replaceAll('\\', '/'))
const json = jsonOf(fc.oneof(meaningful, oddName))

test('the pieces together are what JSON.parse makes of the whole', () => {
  fc.assert(fc.property(json, fc.constantFrom('', ' ', '\t', '\n  '), (value, indent) => {
    const written = `${indent}${JSON.stringify(value, null, indent)}${indent}`
    assert.deepEqual(dataOf(written), parsed(written))
  }), { numRuns: 1_000 })
})

test('a text that is spoiled anywhere is refused where JSON.parse refuses it, and read where it reads it', () => {
  const spoilt = fc.tuple(
    jsonOf(meaningful),
    fc.nat(),
    fc.constantFrom('', '{', '}', '[', ']', '"', ',', ':', ' ', '0', '\u0000', '\n', '\u00a0', 'x', '}{', '"a":1,'),
    fc.nat({ max: 3 })
  )
  fc.assert(fc.property(spoilt, ([value, place, put, taken]) => {
    const written = JSON.stringify(value)
    const at = place % (written.length + 1)
    const changed = written.slice(0, at) + put + written.slice(at + taken)
    assert.deepEqual(dataOf(changed), parsed(changed))
  }), { numRuns: 3_000 })
})

test('what JSON.parse refuses is refused', () => {
  const wrong = [
    '', ' ', '{', '}', '[', ']', '{]', '[}', '{"a"}', '{"a":}', '{"a":1,}', '{,}', '{"a":1 "b":2}', '{"a":1}}', '{"a":1} x', '{a:1}', "{'a':1}",
    '{"a":[}', '{"a":{]}', '{"a', '{"a\\"', '{"a\\', '{"a":"', '{"a":"\\', '{"a":"\\"', '{"\n":1}', '{"a":"\n"}', '{"a":01}', '{"a":tru}',
    '[1,]', '[1 2]', '"', '"\\"', '{"a":1}{"a":1}', '\ufeff{}',
    '{"a":{"b":{"c":{"d":}}}}', '{"a":{"b":{"c":{"d":1,}}}}', '{"a":{"b":{"c":{"d":1}}}', '{"a":{"b":{"c":[{]}]}}}', '{"a":1,,"b":2}', '{"a"::1}',
    '{"a" "b":1}', '\u00a0{}',
  ]
  for (const one of wrong) assert.deepEqual([one, dataOf(one), parsed(one)], [one, 'not JSON', 'not JSON'])
})

test('a text written by JSON.stringify never names a key twice, and one that repeats a key always does, where it does', () => {
  fc.assert(fc.property(json, oddName, json, fc.nat({ max: 6 }), (value, key, other, depth) => {
    const plain = read(JSON.stringify(value))
    assert.equal(plain.kind === 'read' && plain.duplicate, null)
    const name = JSON.stringify(key)
    const escape = (char: string): string => char.length > 1 ? char : `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
    const escaped = `"${[...JSON.parse(name) as string].map(escape).join('')}"`
    const inner = `{${name}: ${JSON.stringify(other)}, ${escaped} : 1}`
    const written = `${'{"x": '.repeat(depth)}{"y": ${JSON.stringify(value)}, "z": ${inner}}${'}'.repeat(depth)}`
    const found = read(written)
    assert.deepEqual(found.kind === 'read' && found.duplicate, { name: key, offset: written.lastIndexOf(`${escaped} : 1}`) })
  }), { numRuns: 500 })
})

test('every method and every schema of a document is a step of its own', () => {
  const paths = Object.fromEntries(Array.from(
    { length: 50 },
    (_, index) => [`/p${index}`, { get: { operationId: `get${index}` }, put: { operationId: `put${index}` } }]
  ))
  const schemas = Object.fromEntries(Array.from({ length: 70 }, (_, index) => [`S${index}`, { type: 'object' }]))
  const { steps } = read(JSON.stringify({ openapi: '3.0.3', paths, components: { schemas } }))
  assert.equal(steps, 1 + 50 * 2 + 70)
})
