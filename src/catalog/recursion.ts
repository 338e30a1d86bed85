// Schemas that refer to themselves. A tree is fine: each of its values is held against one schema. But where a value has to be held against two that
// both lead back to where they stand (branches of a union, say), every level doubles the work: thirty levels, a few hundred bytes, would keep the whole
// process busy for ever.
import { isObject, type Json, type JsonObject } from './catalog.ts'
import { DATA_KEYWORDS } from './schema.ts'
import { pointerTo } from './yaml-file.ts'

/** Keywords whose schemas look at the same value, or at the same items of it, each on its own. */
const BESIDE = ['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'contains', '$ref'] as const

/** JSON Pointers of the schemas at which the work doubles. */
export function doublingSchemas (schema: JsonObject): readonly string[] {
  const onward = new Map<string, ReadonlySet<string>>()
  for (const [name, definition] of Object.entries(definitionsOf(schema))) onward.set(name, referencesIn(definition))
  const found: string[] = []
  for (const [name, definition] of Object.entries(definitionsOf(schema))) {
    for (const [at, node] of schemasIn(definition, pointerTo('/$defs', name))) {
      const back = partsOf(node).filter(part => [...referencesIn(part)].some(reference => leadsTo(reference, name, onward)))
      if (back.length > 1) found.push(at)
    }
  }
  return found
}

const definitionsOf = (schema: JsonObject): JsonObject => isObject(schema.$defs) ? schema.$defs : {}

function * schemasIn (schema: Json, at: string): Generator<readonly [at: string, schema: JsonObject]> {
  if (Array.isArray(schema)) {
    for (const [index, part] of schema.entries()) yield * schemasIn(part as Json, `${at}/${index}`)
  } else if (isObject(schema)) {
    yield [at, schema]
    for (const [keyword, part] of Object.entries(schema)) {
      const pointer = `${at}/${keyword}`
      // Names there are no keywords: a property may be called `default`.
      if ((keyword === 'properties' || keyword === '$defs') && isObject(part)) {
        for (const [name, value] of Object.entries(part)) yield * schemasIn(value, pointerTo(pointer, name))
      } else if (!DATA_KEYWORDS.has(keyword)) yield * schemasIn(part, pointer)
    }
  }
}

/** What each looks at the value on its own; the last is the schema itself, without them. */
function partsOf (schema: JsonObject): readonly Json[] {
  const parts: Json[] = []
  const itself: { [keyword: string]: Json } = { ...schema }
  for (const keyword of BESIDE) {
    const part = schema[keyword]
    if (part === undefined) continue
    delete itself[keyword]
    if (keyword === '$ref') parts.push({ $ref: part })
    else if (Array.isArray(part)) parts.push(...part as Json[])
    else parts.push(part)
  }
  return [...parts, itself]
}

/** Names of the definitions that are referred to in it. */
function referencesIn (schema: Json): ReadonlySet<string> {
  const names = new Set<string>()
  for (const [, { $ref }] of schemasIn(schema, '')) if (typeof $ref === 'string') names.add(nameIn($ref))
  return names
}

/** Of `#/$defs/name`, which is the only form that is allowed (RFC 6901 §6). */
function nameIn (reference: string): string {
  const name = reference.replace(/^#\/\$defs\//, '')
  try {
    return decodeURIComponent(name).replaceAll('~1', '/').replaceAll('~0', '~')
  } catch {
    return name
  }
}

function leadsTo (from: string, to: string, onward: ReadonlyMap<string, ReadonlySet<string>>): boolean {
  const seen = new Set([from])
  // A set that grows is walked to its end.
  for (const name of seen) {
    if (name === to) return true
    for (const next of onward.get(name) ?? []) seen.add(next)
  }
  return false
}
