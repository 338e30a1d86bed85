// What every provider takes of an input schema.
import assert from 'node:assert/strict'
import type { JsonObject } from '../../src/catalog/catalog.ts'

/** Nothing of what some provider refuses. */
export function assertPortable (schema: JsonObject, at = ''): void {
  const refused = ['$ref', '$defs', 'oneOf', 'allOf', 'not', 'if', 'then', 'else', 'prefixItems', 'patternProperties', 'dependentRequired', 'unevaluatedProperties']
  for (const keyword of refused) assert.ok(!Object.hasOwn(schema, keyword), `${at} ${keyword}`)
  assert.ok(typeof schema['type'] === 'string' || Array.isArray(schema['anyOf']), `${at} has one type`)
  if (at === '') assert.equal(schema['type'], 'object')
  if (schema['type'] === 'object' && schema['properties'] !== undefined) {
    assert.equal(schema['additionalProperties'], false)
    for (const [name, property] of Object.entries(schema['properties'] as JsonObject)) assertPortable(property as JsonObject, `${at}/${name}`)
  }
  if (schema['type'] === 'array') assertPortable(schema['items'] as JsonObject, `${at}/items`)
  for (const [index, branch] of ((schema['anyOf'] ?? []) as JsonObject[]).entries()) assertPortable(branch, `${at}/anyOf/${index}`)
}
