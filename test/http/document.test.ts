// The broker's own OpenAPI document and its page.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'
import { before, describe, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { ERRORS } from '../../src/errors.ts'
import { renderPage } from '../../src/http/agents/page.ts'
import { call, say, startBoundary, TOKEN, type Said } from './boundary.ts'

const officialPath = createRequire(import.meta.url).resolve('@seriousme/openapi-schema-validator/schemas/v3.1/schema.json')
const official = JSON.parse(await readFile(officialPath, 'utf8'))

function officialValidator (): (document: unknown) => string {
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: true })
  addFormats.default(ajv)
  ajv.addFormat('media-range', true)
  const validate = ajv.compile(official)
  return document => validate(document) ? '' : ajv.errorsText(validate.errors, { separator: '\n' })
}

let json: Said
let page: Said
before(async () => {
  // Ended here, because `before` has no context that would end it.
  const ends: Array<() => unknown> = []
  const boundary = await startBoundary({ after: end => { ends.push(end as () => unknown) } })
  json = await say(boundary, '/openapi.json')
  page = await say(boundary, '/docs')
  for (const end of ends) await end()
})

describe('the document', () => {
  test('needs no token and is valid by the official schema of OpenAPI 3.1', () => {
    assert.equal(json.status, 200)
    assert.match(json.json.openapi, /^3\.1\./)
    const validate = officialValidator()
    assert.equal(validate(json.json), '')
    // The validator itself can refuse.
    assert.notEqual(validate({ ...json.json, paths: { '/x': { get: { responses: { 200: {} } } } } }), '')
  })

  test('has every route of the agents listener, each with a summary and an id of its own', () => {
    const paths = Object.entries<Record<string, any>>(json.json.paths)
    const routes = paths.flatMap(([path, item]) => Object.keys(item).map(method => `${method.toUpperCase()} ${path}`))
    assert.deepEqual(routes.sort(), [
      'DELETE /v1/proposals/{id}', 'GET /docs', 'GET /openapi.json', 'GET /v1/actions', 'GET /v1/actions/{action}', 'GET /v1/attempts', 'GET /v1/attempts/{id}',
      'GET /v1/proposals/{id}', 'GET /v1/tools', 'POST /v1/actions/{action}',
      'POST /v1/attempts/{id}/cancel', 'POST /v1/attempts/{id}/escalate', 'POST /v1/proposals/{id}/commit', 'POST /v1/run/stop',
    ])
    const operations = Object.values<Record<string, any>>(json.json.paths).flatMap(item => Object.values(item))
    assert.equal(new Set(operations.map(operation => operation.operationId)).size, operations.length)
    assert.ok(operations.every(operation => operation.summary !== undefined && operation.tags.length === 1))
  })

  test('asks for the token everywhere but for the document itself', () => {
    for (const [path, item] of Object.entries<Record<string, any>>(json.json.paths)) {
      const needed = path.startsWith('/v1/') ? [{ accessToken: [] }] : []
      for (const operation of Object.values(item)) assert.deepEqual(operation.security ?? [], needed, path)
    }
  })

  test('enumerates the error table, each code under its status where a call can be refused with it', () => {
    assert.deepEqual(json.json.components.schemas.Error.properties.code.anyOf[0].enum, Object.keys(ERRORS))
    const { responses } = json.json.paths['/v1/actions/{action}'].post
    for (const [code, { status }] of Object.entries(ERRORS)) {
      if (status === null || code === 'NOT_FOUND' || code === 'METHOD_NOT_ALLOWED') continue
      assert.match(responses[String(status)].description, new RegExp(`\`${code}\``), code)
    }
  })

  test('has no reference that leads nowhere', () => {
    const references = [...json.text.matchAll(/"\$ref":"([^"]+)"/g)].map(match => match[1]!)
    assert.ok(references.length > 10)
    for (const reference of references) {
      const found = reference.slice(2).split('/').reduce((at, name) => at?.[name], json.json)
      assert.equal(typeof found, 'object', reference)
    }
  })

  test('its schemas are schemas, and the envelopes that are answered are valid by them', async t => {
    const ajv = new Ajv2020({ strict: false, allErrors: true })
    ajv.addSchema({ $id: 'broker', ...json.json })
    const envelope = ajv.compile({ $ref: 'broker#/components/schemas/Envelope' })
    const boundary = await startBoundary(t)
    for (const said of [
      await call(boundary, '{"arguments":{}}'), await call(boundary, '{'), await say(boundary, '/nothing'), await say(boundary, '/v1/actions'),
      await say(boundary, '/v1/attempts/att_1?wait=1', { headers: { authorization: TOKEN } }),
    ]) assert.ok(envelope(said.json), ajv.errorsText(envelope.errors))
    assert.equal(envelope({ ok: 'yes' }), false)
  })
})

describe('the page', () => {
  test('shows every operation, every schema and every code', () => {
    assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8')
    for (const item of Object.values<Record<string, any>>(json.json.paths)) {
      for (const operation of Object.values(item)) assert.ok(page.text.includes(`id="${operation.operationId}"`), operation.operationId)
    }
    for (const name of Object.keys(json.json.components.schemas)) assert.ok(page.text.includes(`id="schema-${name}"`), name)
    for (const code of Object.keys(ERRORS)) assert.ok(page.text.includes(`<code>${code}</code>`), code)
    const ids = new Set([...page.text.matchAll(/ id="([^"]+)"/g)].map(match => match[1]))
    for (const [, target] of page.text.matchAll(/href="#([^"]+)"/g)) assert.ok(ids.has(target), `#${target} leads nowhere`)
  })

  test('needs nothing from anywhere and runs nothing: its policy allows its one style and no more', () => {
    assert.doesNotMatch(page.text, /<script|<img|<link|<iframe|javascript:|style=|\son\w+=|https?:\/\//)
    const style = /<style>([\s\S]*?)<\/style>/.exec(page.text)![1]!
    const policy = page.headers.get('content-security-policy')!
    assert.deepEqual(policy.split('; '), [
      "default-src 'none'", `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`, "base-uri 'none'", "form-action 'none'",
      "frame-ancestors 'none'",
    ])
    assert.match(style, /prefers-color-scheme: dark/)
  })

  test('shows whatever a document holds as text', () => {
    const nasty = '<script>alert(1)</script>"\'&'
    const html = renderPage({
      info: { title: nasty, version: nasty, description: nasty },
      tags: [{ name: nasty, description: nasty }],
      paths: {
        [nasty]: {
          get: {
            operationId: nasty,
            summary: nasty,
            description: nasty,
            tags: [nasty],
            parameters: [{ name: nasty, in: nasty, description: nasty, schema: { enum: [nasty] } }],
            requestBody: { description: nasty, content: { [nasty]: { schema: { properties: { [nasty]: { type: nasty, description: nasty } } } } } },
            responses: { [nasty]: { description: nasty } },
          },
        },
      },
      components: { schemas: { [nasty]: { description: nasty, properties: { [nasty]: { $ref: nasty } } } } },
    })
    assert.doesNotMatch(html, /<script/)
    assert.ok(html.includes('&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;'))
  })
})
