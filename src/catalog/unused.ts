// An argument that nothing uses is a promise that nobody keeps: the agent would think that it had a say.
import { isObject, type Json, type JsonObject } from './catalog.ts'
import { noUse, type Use } from './convert.ts'
import type { Expression } from './expression.ts'
import type { Reporter } from './faults.ts'
import { resolvePointer } from './shape.ts'
import { pointerTo } from './yaml-file.ts'

/** @param expressions every one of the sheet */
export function findUnused (input: JsonObject, expressions: readonly Expression[], report: Reporter): void {
  const told = new Set<string>()
  visit(input, '/input', usesOfArguments(expressions), [])

  function visit (schema: Json | undefined, at: string, use: Use, above: readonly JsonObject[]): void {
    if (!isObject(schema) || use.whole || above.includes(schema)) return
    const within = [...above, schema]
    if (isObject(schema.properties)) {
      for (const [name, property] of Object.entries(schema.properties)) {
        const pointer = pointerTo(`${at}/properties`, name)
        const inner = use.names.get(name)
        if (inner !== undefined) visit(property, pointer, inner, within)
        else if (!told.has(pointer)) {
          told.add(pointer)
          report.faultAtKey(pointer, 'argument-unused', `nothing uses the argument "${name}"`)
        }
      }
    }
    if (use.each !== null) visit(schema.items, `${at}/items`, use.each, within)
    for (const keyword of ['allOf', 'anyOf', 'oneOf']) {
      const parts = schema[keyword]
      if (Array.isArray(parts)) parts.forEach((part, index) => visit(part as Json, `${at}/${keyword}/${index}`, use, within))
    }
    if (typeof schema.$ref === 'string') visit(resolvePointer(input, schema.$ref) as Json | undefined, `/input${schema.$ref.slice(1)}`, use, within)
  }
}

function usesOfArguments (expressions: readonly Expression[]): Use {
  const all = noUse()
  for (const expression of expressions) {
    const use = expression.uses.get('args')
    if (use !== undefined) mergeInto(all, use)
  }
  return all
}

function mergeInto (into: Use, from: Use): void {
  // Used at all, if only to see whether it is there.
  into.whole ||= from.whole || (from.names.size === 0 && from.each === null)
  for (const [name, use] of from.names) {
    const known = into.names.get(name) ?? noUse()
    into.names.set(name, known)
    mergeInto(known, use)
  }
  if (from.each !== null) mergeInto(into.each ??= noUse(), from.each)
}
