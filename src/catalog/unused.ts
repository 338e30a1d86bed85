// An argument that nothing uses is a promise that nobody keeps: the agent would think that it had a say.
import { isObject, type Json, type JsonObject } from './catalog.ts'
import type { Use } from './convert.ts'
import type { Reporter } from './faults.ts'
import { resolvePointer } from './shape.ts'
import { pointerTo } from './yaml-file.ts'

export function findUnused (input: JsonObject, used: Use, report: Reporter): void {
  const told = new Set<string>()
  visit(input, '/input', used, [])

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
