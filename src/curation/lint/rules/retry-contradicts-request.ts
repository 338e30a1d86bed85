import type { Operation } from '../../../catalog/openapi/operation.ts'
import type { Json, JsonObject } from '../../../catalog/catalog.ts'
import { isObject } from '../../../catalog/catalog.ts'
import type { Sheet } from '../../../catalog/sheet.ts'
import { any, NOTHING, type Found, type Rule } from '../rule.ts'
import { names } from '../slots.ts'

export const retryContradictsRequest: Rule = {
  id: 'retry-contradicts-request',
  severity: 'error',
  weighs: { category: 'safety', cap: 59 },
  says: 'What the sheet says about repeats does not fit the request.',
  why: `\`retry\` is a claim about the upstream, and agents act on it. \`same_key\` needs a place for the key that the document knows; a key
beside another class is a claim nobody made; and a POST is natural only where something makes the second one fail: a version that it
carries, an own id, or an upstream that answers "exists already".`,
  example: {
    of: 'write',
    bad: `retry: natural
idempotency: {header: Idempotency-Key, retention: 24h}`,
    good: 'retry: natural',
  },
  check ({ sheet, operation, write }) {
    if (sheet === null || write !== true) return NOTHING
    const say = (message: string): Found => ({ pointer: '/retry', message })
    const found: Found[] = []
    if (sheet.idempotency !== undefined && sheet.retry !== 'same_key') found.push(say(`the request carries a key, and retry is ${sheet.retry}`))
    if (sheet.idempotency !== undefined && operation !== null && !isKnown(sheet.idempotency, operation)) {
      const message = `${operation.id} has no such parameter: nothing says that the upstream honours a key`
      found.push({ pointer: '/idempotency', atKey: true, message })
    }
    if (sheet.retry === 'natural' && operation?.method === 'POST' && !failsTwice(sheet)) {
      found.push(say('a second POST is a second effect, unless it carries a version or an own id, or the upstream says that it exists already'))
    }
    return any(found)
  },
}

function failsTwice (sheet: Sheet): boolean {
  const request = sheet.request as JsonObject | undefined
  return names(request, 'target', 'version') || names(request, 'attempt') ||
    (sheet.outcomes ?? []).some(({ outcome }) => outcome === 'already_in_desired_state')
}

function isKnown (declared: NonNullable<Sheet['idempotency']>, operation: Operation): boolean {
  const { header, query, body } = declared
  if (header !== undefined) {
    const name = header.toLowerCase()
    return operation.declaredHeaders.has(name) || operation.parameters.some(one => one.in === 'header' && one.name.toLowerCase() === name)
  }
  if (query !== undefined) return operation.parameters.some(one => one.in === 'query' && one.name === query)
  const name = body?.split('/')[1]
  const schemas = [...operation.bodies.values()].map(({ schema }) => schema as Json)
  return name !== undefined && schemas.some(schema => !isObject(schema) || !isObject(schema.properties) || Object.hasOwn(schema.properties, name))
}
