// Which arguments a place of a sheet uses. Values that the sheet computes are followed to the arguments they are made of; what was read from the
// upstream is no word of the agent.
import { isObject, type Json, type JsonObject } from '../../catalog/catalog.ts'
import { parseForCheck, VARIABLES } from '../../catalog/cel.ts'
import type { Use } from '../../catalog/convert.ts'
import { readPaths } from '../../catalog/paths.ts'
import { ANY } from '../../catalog/shape.ts'
import type { Sheet } from '../../catalog/sheet.ts'
import { splitText } from '../../catalog/template.ts'
import { pointerTo } from '../../catalog/yaml-file.ts'
import type { Contract } from './contract.ts'
import { isFreeText, nodesOfSchema, type Parameter } from './parameters.ts'

const EVERYTHING = new Map(VARIABLES.map(name => [name, ANY] as const))

/** What one expression reads, by variable; nothing of one that cannot be read, which the load tells. */
function usesOfExpression (text: string): ReadonlyMap<string, Use> {
  try {
    return readPaths(parseForCheck(text).ast, EVERYTHING).uses
  } catch {
    return new Map()
  }
}

/** Every expression in the texts of a value. */
export function expressionsIn (value: Json | undefined): readonly string[] {
  if (typeof value === 'string') {
    try {
      return splitText(value).flatMap(part => typeof part === 'string' ? [] : [part.text])
    } catch {
      return []
    }
  }
  if (Array.isArray(value)) return value.flatMap(item => expressionsIn(item as Json))
  return isObject(value) ? Object.values(value).flatMap(expressionsIn) : []
}

/** Whether a place names `target.version`, `attempt.key` and the like. */
export function names (value: Json | undefined, variable: string, field?: string): boolean {
  return expressionsIn(value).some(text => {
    const use = usesOfExpression(text).get(variable)
    return use !== undefined && (field === undefined || use.whole || use.names.has(field))
  })
}

/** Arguments that reach the value, as `/customer_id` or `/destination/street`; what is within one that is used as a whole is meant too. */
export function argumentsIn (value: Json | undefined, sheet: Sheet, above: readonly string[] = []): ReadonlySet<string> {
  const reached = new Set<string>()
  for (const text of expressionsIn(value)) {
    const uses = usesOfExpression(text)
    const args = uses.get('args')
    if (args !== undefined) collect(args, '', reached)
    const computed = uses.get('values')
    for (const name of computed === undefined ? [] : computed.whole ? Object.keys(sheet.values ?? {}) : computed.names.keys()) {
      // A value may be made of others that stand above it.
      if (above.includes(name)) continue
      for (const path of argumentsIn(sheet.values?.[name], sheet, [...above, name])) reached.add(path)
    }
    const target = uses.get('target')
    const fields = sheet.target as JsonObject | undefined
    if (target === undefined || fields === undefined || above.includes('target')) continue
    for (const name of target.whole ? Object.keys(fields) : target.names.keys()) {
      for (const path of argumentsIn(fields[name], sheet, [...above, 'target'])) reached.add(path)
    }
  }
  return reached
}

function collect (use: Use, path: string, into: Set<string>): void {
  if (use.whole || (use.names.size === 0 && use.each === null)) into.add(path)
  for (const [name, inner] of use.names) collect(inner, pointerTo(path, name), into)
  if (use.each !== null) collect(use.each, path, into)
}

/** The free texts among the arguments that reach a value: `note`, `destination.street`. */
export function freeTextsIn (value: Json | undefined, contract: Contract): readonly string[] {
  if (contract.sheet === null) return []
  const reached = [...argumentsIn(value, contract.sheet)]
  const texts = new Set<string>()
  for (const { schema, pointer } of nodesOfSchema(contract.input, '')) {
    if (!isFreeText(schema)) continue
    const path = pointer.replaceAll('/properties/', '/').replaceAll(/\/items(?=\/|$)|\/(?:anyOf|oneOf|allOf)\/\d+/g, '')
    if (reached.some(one => path === one || path.startsWith(`${one}/`))) texts.add(path.slice(1).replaceAll('/', '.'))
  }
  return [...texts]
}

/** For rules that look at one parameter. */
export const isFreeParameter = (parameter: Parameter): boolean => isFreeText(parameter.schema)
