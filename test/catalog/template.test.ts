// Texts with slots: typed where a slot stands alone, text otherwise, absent where what it holds is absent.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CatalogFaults, ExpressionFault, type Bindings, type Json } from '../../src/catalog/catalog.ts'
import { FaultList } from '../../src/catalog/faults.ts'
import { shapeOfSchema } from '../../src/catalog/shape.ts'
import { compileTemplate, splitText } from '../../src/catalog/template.ts'
import { readYaml, YamlFile } from '../../src/catalog/yaml-file.ts'

const VARIABLES = new Map([['args', shapeOfSchema({
  type: 'object',
  required: ['id', 'n', 'p', 'on', 'list', 'place'],
  properties: {
    id: { type: 'string' },
    n: { type: 'integer' },
    p: { type: 'number' },
    on: { type: 'boolean' },
    note: { type: ['string', 'null'] },
    list: { type: 'array', items: { type: 'string' } },
    place: { type: 'object', properties: { city: { type: 'string' } } },
  },
})]])
const ARGS = { id: 'c_1', n: 3, p: 2.5, on: true, list: ['a', 'b'], place: { city: 'Rome' } }

function evaluate (value: Json, args: object = ARGS): Json | undefined {
  const faults = new FaultList()
  const file = readYaml('x.yaml', Buffer.from('a: 1')) as YamlFile
  const template = compileTemplate(value, '', VARIABLES, faults.in(file))
  if (faults.count > 0) throw new CatalogFaults(faults.all())
  return template!.evaluate({
    args,
    caller: {} as Bindings['caller'],
    reads: {},
    values: {},
    target: null,
    attempt: null,
    response: null,
    now: '2026-01-01T00:00:00Z',
  } as Bindings)
}

const CASES: ReadonlyArray<readonly [value: Json, expected: Json | undefined, args?: object]> = [
  ['plain', 'plain'],
  ['', ''],
  ['${args.id}', 'c_1'],
  ['${args.n}', 3],
  ['${ args.p }', 2.5],
  ['${args.on}', true],
  ['${args.list}', ['a', 'b']],
  ['${args.place}', { city: 'Rome' }],
  ['x${args.id}', 'xc_1'],
  ['${args.n}/${args.p}/${args.on}', '3/2.5/true'],
  ['"${args.n}"', '"3"'],
  ['$${args.id}', '${args.id}'],
  ['$${args.id} is ${args.id}', '${args.id} is c_1'],
  ['$$', '$$'],
  ['$ {args.id}', '$ {args.id}'],
  ['cost: $5', 'cost: $5'],
  ['$$${args.id}', '$${args.id}'],
  ['${{"a": args.n}}', { a: 3 }],
  ['${"}"}', '}'],
  ['${\'}${\'}x', '}${x'],
  ['${"\\"}"}', '"}'],
  ['${r"\\d}"}', '\\d}'],
  ['${r"\\"}"}', '\\"}'],
  ['${"""a}"b"""}', 'a}"b'],
  [{ a: '${args.?note}', b: 1 }, { b: 1 }],
  [{ a: '${args.?note}' }, { a: null }, { ...ARGS, note: null }],
  [['${args.?note}', 'x'], ['x']],
  [{ a: { b: '${args.?note}' } }, { a: {} }],
  [{ a: { b: ['${args.id}', 2, null, true] } }, { a: { b: ['c_1', 2, null, true] } }],
  ['${args.?note}', undefined],
  [{ __proto__: 1 } as unknown as Json, {}],
  [JSON.parse('{"__proto__": "${args.n}"}') as Json, JSON.parse('{"__proto__": 3}') as Json],
  [null, null],
  [1.5, 1.5],
]

for (const [template, expected, args] of CASES) {
  test(`${JSON.stringify(template)} becomes ${JSON.stringify(expected) ?? 'nothing'}`, () => {
    assert.deepEqual(evaluate(template, args), expected)
  })
}

test('a value in a text is text, a number or a bool: what turns out to be something else fails', () => {
  assert.throws(() => evaluate('x ${args.?place.?city.orValue("")}', { ...ARGS, place: { city: null } }), ExpressionFault)
  assert.throws(() => evaluate('x ${args.?place.?city.orValue("")}', { ...ARGS, place: { city: ['a'] } }), ExpressionFault)
  assert.throws(() => evaluate('x ${args.?note}'), /template-not-text/)
  assert.throws(() => evaluate('x ${args.list}'), /template-not-text/)
})

test('where a slot begins is known', () => {
  assert.deepEqual(splitText('a ${b} $${c} ${d}'), ['a ', { text: 'b', offset: 4 }, ' ${c} ', { text: 'd', offset: 15 }])
  for (const open of ['${', '${a', '${"}', '${{a}', '${\'\'\'}']) {
    assert.throws(() => splitText(open), (error: any) => error.rule === 'template-not-closed', open)
  }
})
