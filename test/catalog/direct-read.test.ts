// A chain of names is fetched directly; everything else goes through CEL. Both must mean the same, whatever the data.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { Bindings, Json } from '../../src/catalog/catalog.ts'
import { compileDirectRead } from '../../src/catalog/direct-read.ts'
import { compileExpression } from '../../src/catalog/expression.ts'
import { ANY, INT, mapOf, objectOf, shapeOfSchema, STRING, TIMESTAMP, type Shape } from '../../src/catalog/shape.ts'

const BODY = shapeOfSchema({
  type: 'object',
  properties: {
    whole: { type: 'integer' },
    part: { type: 'number' },
    text: { type: 'string' },
    either: { oneOf: [{ type: 'integer' }, { type: 'string' }] },
    list: { type: 'array', items: { type: 'integer' } },
    deep: { type: 'object', properties: { whole: { type: 'integer' }, list: { type: 'array', items: { type: 'number' } } } },
    open: { type: 'object' },
  },
})
const VARIABLES = new Map<string, Shape>([['response', objectOf({ status: INT, headers: mapOf(STRING), body: BODY })], ['now', TIMESTAMP]])
const CHAINS = ['whole', 'part', 'text', 'either', 'list', 'deep', 'deep.whole', 'deep.list', 'open', 'open.whole', 'open.a.b'].map(chain => `response.body.${chain}`)

const withBody = (body: Json): Bindings => ({
  args: {},
  caller: { sub: 's', tenant: 't', run: null, claims: {} },
  reads: {},
  values: {},
  target: null,
  attempt: null,
  response: { status: 200, headers: {}, body },
  now: '2026-11-30T10:20:30.000Z',
})

const scalar = fc.oneof(
  fc.integer(), fc.double(), fc.constantFrom(-0, 2 ** 53, 1.5, 2, 1e300, '\ud800', 'é', '', '__proto__'), fc.string({ unit: 'binary' }), fc.boolean(), fc.constant(null),
)
const names = fc.constantFrom('whole', 'part', 'text', 'either', 'list', 'deep', 'open', 'a', 'b', 'constructor')
const { body: anyBody } = fc.letrec<{ body: Json }>(tie => ({
  body: fc.oneof(
    { maxDepth: 4, depthSize: 'large' },
    scalar as fc.Arbitrary<Json>,
    fc.array(tie('body'), { maxLength: 3 }) as fc.Arbitrary<Json>,
    fc.dictionary(names, tie('body'), { maxKeys: 5, noNullPrototype: true }) as fc.Arbitrary<Json>,
  ),
}))

type Said = { readonly value: Json | undefined } | 'refused'

function said (text: string, body: Json): Said {
  try {
    return { value: compiled(text).evaluate(withBody(body)) }
  } catch {
    return 'refused'
  }
}

const known = new Map<string, ReturnType<typeof compileExpression>>()
function compiled (text: string): ReturnType<typeof compileExpression> {
  let expression = known.get(text)
  if (expression === undefined) known.set(text, expression = compileExpression(text, VARIABLES))
  return expression
}

describe('a chain of names', () => {
  test('means what CEL gives for it, or is refused where CEL refuses it', () => {
    fc.assert(fc.property(fc.constantFrom(...CHAINS), anyBody, (chain, body) => {
      // The first item of a list of one is no chain, so it goes through CEL.
      const throughCel = said(`[${chain}][0]`, body)
      assert.deepEqual(said(chain, body), throughCel)
    }), { numRuns: 3_000 })
  })

  test('is fetched as it stands where nothing of it would change', () => {
    const body = { deep: { whole: 7, list: [1, 2.5] }, open: { a: [{ b: null }] } }
    const read = compileDirectRead(['response', 'body', 'deep'], ANY)!
    assert.equal(read(withBody(body)), body.deep)
  })

  test('is left to CEL where CEL would refuse or change the value, or has to say what is missing', () => {
    const read = (body: Json, shape: Shape = ANY): Json | undefined => compileDirectRead(['response', 'body', 'x'], shape)!(withBody(body))
    for (const x of [2 ** 53, NaN, -0, '\udfff', { y: ['\ud800'] }, { y: [2 ** 60] }]) assert.equal(read({ x }), undefined)
    assert.equal(read({ x: 1.5 }, INT), undefined)
    assert.equal(read({}), undefined)
    assert.equal(read([]), undefined)
    assert.equal(read({ x: '2026-11-30T10:20:30.000Z' }, TIMESTAMP), undefined)
  })

  test('is no such chain where it has an index, is optional, or begins at what is made for the expression alone', () => {
    for (const path of [null, ['response'], ['now', 'x'], ['found', 'x'], ['item', 'x'], ['attempt', 'reference'], ['response', '\u0000*']]) {
      assert.equal(compileDirectRead(path, ANY), null)
    }
  })
})
