// The edge between plain data and CEL: every number crosses it exactly, both ways, or not at all.
import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Json } from '../../src/catalog/catalog.ts'
import { fromCel, survivesCel, toCel } from '../../src/catalog/convert.ts'
import { ANY, INT } from '../../src/catalog/shape.ts'
import type { Count, Target } from './target.ts'

const edge = fc.constantFrom(0, 1, -1, 2 ** 31, 2 ** 32, 2 ** 53 - 1, -(2 ** 53 - 1), 2 ** 53, -(2 ** 53), 2 ** 63, 1e21, 0.5, -0)
const numbers = fc.oneof(edge, fc.maxSafeInteger(), fc.double({ noNaN: true }), fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map(Number))
const ints = fc.oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.maxSafeInteger().map(BigInt),
  fc.tuple(fc.constantFrom(2n ** 53n, -(2n ** 53n)), fc.integer({ min: -3, max: 3 })).map(([near, by]) => near + BigInt(by)))

const safeNumbers = fc.oneof(fc.maxSafeInteger(), fc.double({ noNaN: true, noDefaultInfinity: true }).filter(n => !Number.isInteger(n)))
const { tree } = fc.letrec<{ tree: Json }>(tie => ({
  tree: fc.oneof(
    { maxDepth: 4 }, fc.constant(null), fc.boolean(), safeNumbers, fc.string({ unit: 'binary' }).filter(text => text.isWellFormed()),
    fc.array(tie('tree')), fc.dictionary(fc.string(), tie('tree')).map(entries => ({ ...entries }))
  ) as fc.Arbitrary<Json>,
}))

/** A number into an int and back: itself, or refused; never another one. */
function inAndOut (n: number): 'exact' | 'refused' {
  const inside = toCel(n, INT)
  if (typeof inside !== 'bigint') {
    assert.ok(!Number.isSafeInteger(n), `${n} was kept out`)
    assert.throws(() => fromCel(inside), `${n} got through as ${String(inside)}`)
    return 'refused'
  }
  assert.equal(inside, BigInt(n))
  assert.equal(fromCel(inside), n === 0 ? 0 : n)
  return 'exact'
}

/** An int of CEL as a number of JSON: itself, or refused. */
function outAndIn (n: bigint): 'exact' | 'refused' {
  const safe = n >= BigInt(Number.MIN_SAFE_INTEGER) && n <= BigInt(Number.MAX_SAFE_INTEGER)
  if (!safe) {
    assert.throws(() => fromCel(n), RangeError)
    return 'refused'
  }
  assert.equal(BigInt(fromCel(n) as number), n)
  return 'exact'
}

export const integers: Target = {
  name: 'integers',
  holds: 'a number crosses the edge to CEL exactly, in both directions, or not at all; plain data comes back as it went',
  property: (count: Count) => fc.property(numbers, ints, tree, (number, int, data) => {
    count(inAndOut(number))
    count(outAndIn(int))
    assert.equal(JSON.stringify(fromCel(toCel(data, ANY))), JSON.stringify(data))
    if (survivesCel(data, ANY)) count('as it is')
  }),
  shortRuns: 1_000,
  least: { exact: 0.5, refused: 0.3, 'as it is': 0.5 },
}
