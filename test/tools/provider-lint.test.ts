// The bundled actions in each provider's form, put through the schema transforms that the providers' own packages ship: they must leave every form as it
// is, say nothing about it, and drop nothing that the loss report does not name. Offline.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { transformJSONSchema } from '@anthropic-ai/sdk/lib/transform-json-schema.js'
import { GoogleGenAI, Type } from '@google/genai'
import { toStrictJsonSchema } from 'openai/lib/transform.js'
import type { JsonObject } from '../../src/catalog/catalog.ts'
import { FORMATS, type Format, type ToolForm } from '../../src/tools/forms.ts'
import { formsOfBundled, golden } from './golden.ts'

const forms = await formsOfBundled()
const formsOf = (format: Format): readonly ToolForm[] => JSON.parse(forms.get(format)!) as ToolForm[]
const schemaOf = (form: ToolForm, name: string): any => form.tool[name]

for (const format of FORMATS) {
  test(`${format}: the bundled actions are as in the golden file`, () => {
    assert.equal(forms.get(format), golden(format))
  })
}

test('every name fits every provider, also behind the longest usual prefix', () => {
  for (const { tool } of formsOf('mcp')) {
    assert.match(String(tool['name']), /^[a-zA-Z_][a-zA-Z0-9_]{0,63}$/)
    assert.ok(`mcp__aval__${String(tool['name'])}`.length <= 60, String(tool['name']))
  }
})

test('openai: its own transform to strict changes nothing of openai-strict, and can make strict what openai takes', () => {
  for (const form of formsOf('openai-strict')) {
    const schema = schemaOf(form, 'parameters')
    assert.deepEqual(toStrictJsonSchema(structuredClone(schema)), schema)
  }
})

test('anthropic: its own transform keeps every property, type and requirement, and moves the rest into words', () => {
  for (const form of formsOf('anthropic')) {
    const schema = schemaOf(form, 'input_schema')
    const transformed = transformJSONSchema(structuredClone(schema)) as JsonObject
    assert.deepEqual(skeleton(transformed), skeleton(schema))
    assert.ok(!['anyOf', 'oneOf', 'allOf'].some(keyword => Object.hasOwn(transformed, keyword)), 'no union at the root')
  }
})

/** Names, types and requirements; a value that is written out needs no type. */
function skeleton (schema: JsonObject): unknown {
  const { type, properties, required, items, anyOf, enum: values, const: value } = schema as any
  return {
    ...(values === undefined && value === undefined ? { type } : { values, value }),
    ...(required === undefined ? {} : { required }),
    ...(items === undefined ? {} : { items: skeleton(items) }),
    ...(anyOf === undefined ? {} : { anyOf: anyOf.map(skeleton) }),
    ...(properties === undefined ? {} : { properties: Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, skeleton(one as JsonObject)])) }),
  }
}

test('google: its own client sends every declaration as it is', async t => {
  const declarations = formsOf('gemini').map(({ tool }) => tool)
  const warned = t.mock.method(console, 'warn', () => {})
  let body = ''
  const server = createServer((request, response) => {
    request.on('data', chunk => { body += chunk })
    request.on('end', () => response.setHeader('content-type', 'application/json').end('{"candidates":[{"content":{"role":"model","parts":[{"text":"ok"}]}}]}'))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = new GoogleGenAI({ apiKey: 'none', httpOptions: { baseUrl } })
  await client.models.generateContent({ model: 'any', contents: 'x', config: { tools: [{ functionDeclarations: declarations as never }] } })
  const sent = JSON.parse(body)
  assert.deepEqual(sent.tools[0].functionDeclarations, declarations)
  assert.equal(warned.mock.callCount(), 0)
  const types = JSON.stringify(declarations).match(/"type":"[^"]+"/g)!
  for (const type of new Set(types)) assert.ok(Object.values(Type).map(String).includes(type.slice('"type":"'.length, -1)), type)
})

test('what a form drops is in its report', () => {
  for (const [format, key] of [['openai-strict', 'parameters'], ['gemini', 'parameters']] as const) {
    const kept = formsOf('mcp')
    for (const [index, form] of formsOf(format).entries()) {
      const before = keywords(schemaOf(kept[index]!, 'inputSchema'))
      const after = keywords(schemaOf(form, key))
      const gone = [...before].filter(keyword => !after.has(keyword))
      const reported = new Set(form.losses.map(({ keyword }) => keyword))
      assert.deepEqual(gone.filter(keyword => !reported.has(keyword)), [], `${format} ${String(form.tool['name'])}`)
    }
  }
})

function keywords (value: unknown, isNames = false): Set<string> {
  if (typeof value !== 'object' || value === null) return new Set()
  const inner = Object.entries(value).flatMap(([name, item]) => [...Array.isArray(value) || isNames ? [] : [name], ...keywords(item, name === 'properties')])
  return new Set(inner)
}
