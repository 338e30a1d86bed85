// Strict JSON: any bytes are a refusal of the step decode, or the value that JSON.parse gives for them; and never take long.
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { Refusal } from '../../src/errors.ts'
import { decodeJson, DEPTH_MAX } from '../../src/http/decode.ts'
import type { Count, Target } from './target.ts'

/** Of the processor: what others do on the machine does not count. */
const CPU_MS_MAX = 50

const PIECES = [
  '{', '}', '[', ']', ',', ':', '"a"', '"', '\\', '"\\u0061"', '1', '-', '.5', 'e9', 'null', 'true', ' ', '\\ud800', '"__proto__"', '9007199254740993',
  '\u0000', 'é', '{"a":', '[[[[[[', '"a":1,', '\ufeff', '1e400', '-0',
]
const GOOD = Buffer.from('{"arguments":{"customer_id":"c-1","lines":[{"sku":"a\\u0062","n":2.0},{"sku":"é","n":-1e2}]},"reason":"x"}')

const key = fc.string({ unit: 'grapheme' })
const exact = fc.oneof(fc.maxSafeInteger(), fc.double({ noNaN: true, noDefaultInfinity: true }))
const { value } = fc.letrec(tie => ({
  value: fc.oneof(
    { maxDepth: 6, withCrossShrink: true }, fc.constant(null), fc.boolean(), exact, fc.string({ unit: 'grapheme' }), tie('list'), tie('object'),
  ),
  list: fc.array(tie('value'), { maxLength: 5 }),
  object: fc.dictionary(key, tie('value'), { maxKeys: 5, noNullPrototype: true }),
}))

const bytes: fc.Arbitrary<Buffer> = fc.oneof(
  fc.uint8Array({ maxLength: 64 }).map(array => Buffer.from(array)),
  fc.array(fc.constantFrom(...PIECES), { maxLength: 40 }).map(parts => Buffer.from(parts.join(''))),
  { weight: 2, arbitrary: fc.tuple(value, fc.constantFrom(0, 2, '\t')).map(([given, space]) => Buffer.from(JSON.stringify(given, null, space))) },
  fc.array(fc.tuple(fc.nat(GOOD.length - 1), fc.integer({ min: 0, max: 255 })), { minLength: 1, maxLength: 3 }).map(flips => {
    const spoilt = Buffer.from(GOOD)
    for (const [at, byte] of flips) spoilt[at] = byte
    return spoilt
  }),
  // Much of one thing.
  fc.tuple(fc.constantFrom('[', '{"a":', '"\\u0061', '1,', '\\', '{"a":1},', '0'), fc.integer({ min: 1, max: 3_000 }))
    .map(([piece, times]) => Buffer.from(`[${piece.repeat(times)}`)),
)

/** How many names there are; fails where something in it must not be accepted. */
function namesIn (value: unknown, depth: number): number {
  if (typeof value === 'string') assert.ok(value.isWellFormed())
  if (typeof value === 'number') assert.ok(Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value)), String(value))
  if (typeof value !== 'object' || value === null) return 0
  assert.ok(depth <= DEPTH_MAX, `depth ${depth}`)
  const names = Array.isArray(value) ? [] : Object.keys(value)
  for (const name of names) assert.ok(name.isWellFormed() && !['__proto__', 'constructor', 'prototype'].includes(name), name)
  return Object.values(value).reduce<number>((sum, part) => sum + namesIn(part, depth + 1), names.length)
}

export function eitherWay (given: Buffer): 'refused' | 'accepted' {
  const before = process.threadCpuUsage()
  let decoded: unknown
  try {
    decoded = decodeJson(given)
  } catch (error) {
    assert.ok(error instanceof Refusal && error.step === 'decode', String(error))
    return 'refused'
  } finally {
    const { user, system } = process.threadCpuUsage(before)
    assert.ok((user + system) / 1_000 < CPU_MS_MAX, `${(user + system) / 1_000} ms`)
  }
  const text = given.toString('utf8')
  assert.deepEqual(decoded, JSON.parse(text))
  // JSON.parse forgets all but the last of equal names.
  assert.equal(namesIn(decoded, 1), text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '').split(':').length - 1)
  assert.ok(Buffer.from(text).equals(given))
  return 'accepted'
}

export const decoder: Target = {
  name: 'decoder',
  holds: 'any bytes are refused at decode, or decode as JSON.parse reads them, within 50 ms of the processor',
  property: (count: Count) => fc.property(bytes, given => { count(eitherWay(given)) }),
  shortRuns: 10_000,
  least: { refused: 0.2, accepted: 0.2 },
}
