// Every boundary that an input schema declares: what has to be crossed by some refused call before it can be said to hold.
import { isObject, type Json, type JsonObject } from '../../catalog/catalog.ts'
import { escaped, listOf } from './place.ts'

/** Keywords that refuse values. What only describes (`title`), composes (`allOf`, `$ref`) or names parts (`properties`) is not among them. */
const REFUSING: ReadonlySet<string> = new Set([
  'type', 'enum', 'const', 'pattern', 'format', 'minLength', 'maxLength', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf',
  'minItems', 'maxItems', 'minProperties', 'maxProperties', 'oneOf', 'anyOf', 'not', 'if', 'contains', 'propertyNames',
])
const MAPS: ReadonlySet<string> = new Set(['properties', '$defs', 'dependentSchemas'])
const SCHEMAS: ReadonlySet<string> = new Set(['items', 'additionalProperties'])
const LISTS: ReadonlySet<string> = new Set(['allOf', 'oneOf', 'anyOf', 'prefixItems'])

/** JSON Pointers into the schema, in its order; a required property is `…/required/NAME`. */
export function boundariesOf (schema: JsonObject, at = ''): readonly string[] {
  const found: string[] = []
  for (const [keyword, value] of Object.entries(schema)) {
    if (REFUSING.has(keyword)) found.push(`${at}/${keyword}`)
    else if (keyword === 'required') found.push(...listOf(value).map(name => `${at}/required/${escaped(String(name))}`))
    else if (keyword === 'dependentRequired') found.push(...dependents(value, `${at}/dependentRequired`))
    else if ((keyword === 'additionalProperties' || keyword === 'unevaluatedProperties') && value === false) found.push(`${at}/${keyword}`)
    else if (keyword === 'uniqueItems' && value === true) found.push(`${at}/uniqueItems`)
    for (const [place, part] of schemasUnder(keyword, value)) found.push(...boundariesOf(part, `${at}/${keyword}${place}`))
  }
  return found
}

function dependents (value: Json, at: string): readonly string[] {
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([name, needed]) => listOf(needed).map(other => `${at}/${escaped(name)}/${escaped(String(other))}`))
}

function schemasUnder (keyword: string, value: Json): ReadonlyArray<readonly [string, JsonObject]> {
  if (MAPS.has(keyword) && isObject(value)) {
    return Object.entries(value).flatMap(([name, part]) => isObject(part) ? [[`/${escaped(name)}`, part] as const] : [])
  }
  if (SCHEMAS.has(keyword) && isObject(value)) return [['', value]]
  return LISTS.has(keyword) ? listOf(value).flatMap((part, index) => isObject(part) ? [[`/${index}`, part] as const] : []) : []
}

/** The pointers of all unions with the number of their branches. */
export function unionsOf (schema: JsonObject, at = ''): ReadonlyArray<{ readonly at: string, readonly branches: number }> {
  const found: Array<{ readonly at: string, readonly branches: number }> = []
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === 'oneOf' || keyword === 'anyOf') found.push({ at: `${at}/${keyword}`, branches: listOf(value).length })
    for (const [place, part] of schemasUnder(keyword, value)) found.push(...unionsOf(part, `${at}/${keyword}${place}`))
  }
  return found
}
