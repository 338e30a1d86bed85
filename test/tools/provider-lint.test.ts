// The bundled actions and the tools that are no actions in each provider's form, put through the schema transforms that the providers' own packages ship: they must leave every form as it
// is, say nothing about it, and drop nothing that the loss report does not name. Offline.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { transformJSONSchema } from '@anthropic-ai/sdk/lib/transform-json-schema.js'
import { GoogleGenAI, Type } from '@google/genai'
import { toStrictJsonSchema } from 'openai/lib/transform.js'
import type { JsonObject } from '../../src/catalog/catalog.ts'
import { listedOwnTools } from '../../src/mcp/own-tools.ts'
import { formOf, FORMATS, type Format, type ToolForm } from '../../src/tools/forms.ts'
import { formsOfBundled, golden } from './golden.ts'
import { assertPortable } from './portable.ts'

const forms = await formsOfBundled()
const OWN = listedOwnTools({ partial: true, consenting: true }).map(tool => ({ ...tool, losses: [] }))
const formsOf = (format: Format): readonly ToolForm[] => [...JSON.parse(forms.get(format)!) as ToolForm[], ...OWN.map(tool => formOf(tool, format))]
const schemaOf = (form: ToolForm, name: string): any => form.tool[name]

/** @returns how often something was warned of since */
function warnings (t: TestContext): () => number {
  const warned = t.mock.method(console, 'warn', () => {})
  return () => warned.mock.callCount()
}

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

test('the tools that are no actions are all there, and as portable as actions are made', () => {
  assert.deepEqual(OWN.map(({ name }) => name), ['attempt_get', 'search_actions', 'proposal_get', 'proposal_commit', 'proposal_withdraw'])
  for (const { inputSchema } of OWN) assertPortable(inputSchema)
})

test('openai: its own transform to strict changes nothing of openai-strict', t => {
  const warned = warnings(t)
  for (const form of formsOf('openai-strict')) {
    const schema = schemaOf(form, 'parameters')
    assert.deepEqual(toStrictJsonSchema(structuredClone(schema)), schema)
  }
  assert.equal(warned(), 0)
})

test('anthropic: its own transform keeps every property, type and requirement, and moves the rest into words', t => {
  const warned = warnings(t)
  for (const form of formsOf('anthropic')) {
    const schema = schemaOf(form, 'input_schema')
    const transformed = transformJSONSchema(structuredClone(schema)) as JsonObject
    assert.deepEqual(skeleton(transformed), skeleton(schema))
    assert.ok(!['anyOf', 'oneOf', 'allOf'].some(keyword => Object.hasOwn(transformed, keyword)), 'no union at the root')
  }
  assert.equal(warned(), 0)
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
  const warned = warnings(t)
  let body = ''
  const server = createServer((request, response) => {
    request.on('data', chunk => { body += chunk })
    request.on('end', () => response.setHeader('content-type', 'application/json').end('{"candidates":[{"content":{"role":"model","parts":[{"text":"ok"}]}}]}'))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = new GoogleGenAI({ apiKey: 'none', httpOptions: { baseUrl } })
  // It rewrites what it is given.
  await client.models.generateContent({ model: 'any', contents: 'x', config: { tools: [{ functionDeclarations: structuredClone(declarations) as never }] } })
  const sent = JSON.parse(body)
  assert.deepEqual(sent.tools[0].functionDeclarations, declarations)
  assert.equal(warned(), 0)
  const types = JSON.stringify(declarations).match(/"type":"[^"]+"/g)!
  for (const type of new Set(types)) assert.ok(Object.values(Type).map(String).includes(type.slice('"type":"'.length, -1)), type)
})

test('what a form drops, and where, is in its report', () => {
  for (const format of ['openai-strict', 'gemini'] as const) {
    const kept = formsOf('mcp')
    for (const [index, form] of formsOf(format).entries()) {
      const dropped = droppedBetween(schemaOf(kept[index]!, 'inputSchema'), schemaOf(form, 'parameters'))
      const reported = new Set(form.losses.map(({ pointer, keyword }) => `${pointer} ${keyword}`))
      assert.deepEqual(dropped.filter(one => !reported.has(one)), [], `${format} ${String(form.tool['name'])}`)
    }
  }
})

/** Each keyword with the place where it is no more, or says something else. */
function droppedBetween (before: any, after: any, at = ''): readonly string[] {
  if (before.anyOf === undefined && after.anyOf !== undefined) {
    // What is optional became nullable.
    const { anyOf, ...beside } = after
    return droppedBetween(before, { ...beside, ...anyOf.find(({ type }: any) => type !== 'null') }, at)
  }
  return Object.entries<any>(before).flatMap(([keyword, value]): readonly string[] => {
    const now = after[keyword]
    switch (keyword) {
      case 'properties':
        return Object.entries(value).flatMap(([name, one]) => {
          const pointer = `${at}/properties/${name}`
          return now[name] === undefined ? [`${pointer} name`] : droppedBetween(one, now[name], pointer)
        })
      case 'items': return droppedBetween(value, now, `${at}/items`)
      case 'anyOf': return value.flatMap((one: any, index: number) => droppedBetween(one, now[index], `${at}/anyOf/${index}`))
      default: return says(keyword, value, after) ? [] : [`${at} ${keyword}`]
    }
  })
}

function says (keyword: string, value: any, after: any): boolean {
  const now = after[keyword]
  switch (keyword) {
    case 'type': return String(now).toLowerCase() === value
    case 'required': return value.every((name: string) => now.includes(name))
    // More may have been said there.
    case 'description': return String(now).startsWith(value)
    case 'const': return isDeepStrictEqual(now ?? after.enum, now === undefined ? [value] : value)
    default: return isDeepStrictEqual(now, value)
  }
}
