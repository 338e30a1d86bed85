// openapi/shop.yaml as something to hold answers to: a small reader of its own, so that it shares no fault with the one under test.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { parse } from 'yaml'

export interface ShopDocument {
  /** `GET /customers/{id}`, … */
  readonly operations: readonly string[]
  check (method: string, template: string, status: number, contentType: string | null, body: unknown): void
}

export function openDocument (): ShopDocument {
  const document = parse(readFileSync(join(import.meta.dirname, '../../openapi/shop.yaml'), 'utf8'))
  const ajv = new Ajv2020({ strict: false })
  formats.default(ajv)
  ajv.addSchema(document, 'shop')
  const escaped = (part: string): string => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))
  const pointer = (...parts: readonly string[]): string => `shop#/${parts.map(escaped).join('/')}`
  return {
    operations: Object.entries<object>(document.paths).flatMap(([template, item]) =>
      Object.keys(item).filter(key => ['get', 'put', 'post', 'patch', 'delete'].includes(key)).map(method => `${method.toUpperCase()} ${template}`)),
    check (method, template, status, contentType, body) {
      const where = `${method} ${template} ${status}`
      const { responses } = document.paths[template][method.toLowerCase()]
      const named = Object.hasOwn(responses, String(status)) ? String(status) : 'default'
      const reference: string | undefined = responses[named].$ref
      const path = reference === undefined ? ['paths', template, method.toLowerCase(), 'responses', named] : reference.slice(2).split('/')
      const response = path.reduce((node, part) => node[part], document)
      if (response.content === undefined) return assert.equal(body, null, where)
      assert.ok(status < 300 || contentType === 'application/problem+json', `${where} is a problem`)
      assert.ok(contentType !== null && Object.hasOwn(response.content, contentType), `${where} ${contentType}`)
      const validate = ajv.compile({ $ref: pointer(...path, 'content', contentType, 'schema') })
      assert.ok(validate(body), `${where} ${JSON.stringify(validate.errors)}`)
    },
  }
}
