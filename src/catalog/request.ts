// The template of a request, held to its operation: every parameter is one that the operation has, none that it needs is missing, and the body
// fits its schema as far as that can be known before there are values.
import type { Bindings, Json, JsonObject, PlacedRequest, RequestTemplate } from './catalog.ts'
import type { Expression, Variables } from './expression.ts'
import type { Reporter } from './faults.ts'
import { isHeaderName, isHeaderText, isReservedHeader } from './header-names.ts'
import { suggestion } from './near.ts'
import { supportsMediaType } from './openapi/media-type.ts'
import type { BodyDefinition, Operation, Parameter, ParameterPlace } from './openapi/operation.ts'
import { alternatives, shapeOfSchema, type ObjectShape, type Shape } from './shape.ts'
import type { PartsSheet } from './sheet.ts'
import { compileTemplate, type Template } from './template.ts'
import { isJson } from './variables.ts'
import { pointerTo } from './yaml-file.ts'

export interface CompiledRequest {
  readonly template: RequestTemplate
  readonly expressions: readonly Expression[]
}

interface Placement {
  readonly name: string
  readonly template: Template
}

const PLACES = [['path', 'path'], ['query', 'query'], ['headers', 'header'], ['cookies', 'cookie']] as const

/** What the upstream's own file puts on every request. */
export interface Provided {
  /** Parameters that only a credential may use, `header:x-api-key`, `query:key`, names in lower case. */
  readonly reserved: ReadonlySet<string>
  /** `header:x-api-key`, `query:key`: parameters that need not be placed, names in lower case. */
  readonly parameters: ReadonlySet<string>
}

/** @param at JSON Pointer of what holds path, query, … */
export function compileRequest (
  parts: PartsSheet, at: string, operation: Operation, variables: Variables, provided: Provided, report: Reporter
): CompiledRequest | null {
  const before = report.count
  const placements = PLACES.map(([field, place]) => compilePlace(parts[field] ?? {}, `${at}/${field}`, place, operation, variables, provided.reserved, report))
  requireParameters(placements, at, operation, provided, report)
  const body = compileBody(parts, at, operation, variables, report)
  if (report.count > before) return null
  const [path, query, headers, cookies] = placements as [Placement[], Placement[], Placement[], Placement[]]
  const mediaType = parts.media_type?.toLowerCase() ?? null
  const place = (bindings: Bindings): PlacedRequest => ({
    operation,
    path: evaluate(path, bindings),
    query: evaluate(query, bindings),
    headers: evaluate(headers, bindings),
    cookies: evaluate(cookies, bindings),
    body: body?.evaluate(bindings),
    mediaType,
  })
  return {
    template: Object.freeze({ operation, place }),
    expressions: [...placements.flat().flatMap(placement => placement.template.expressions), ...body?.expressions ?? []],
  }
}

function evaluate (placements: readonly Placement[], bindings: Bindings): JsonObject {
  const made: Array<readonly [string, Json]> = []
  for (const { name, template } of placements) {
    const value = template.evaluate(bindings)
    if (value !== undefined) made.push([name, value])
  }
  return Object.fromEntries(made)
}

function compilePlace (
  values: JsonObject, at: string, place: ParameterPlace, operation: Operation, variables: Variables, reserved: ReadonlySet<string>, report: Reporter
): Placement[] {
  const placements: Placement[] = []
  for (const [name, value] of Object.entries(values)) {
    const pointer = pointerTo(at, name)
    if (name.includes('${')) {
      report.faultAtKey(pointer, 'template-in-name', 'a name is written out; no expression may choose it')
      continue
    }
    const declared = find(operation.parameters, place, name)
    if (reserved.has(`${place}:${name.toLowerCase()}`)) {
      report.faultAtKey(pointer, `${place}-reserved`, `the ${place} parameter "${name}" belongs to the credential of upstream.yaml`)
    } else if (place === 'header') checkHeader(name, value, pointer, declared, report)
    else if (declared === undefined) {
      const names = operation.parameters.filter(parameter => parameter.in === place).map(parameter => parameter.name)
      report.faultAtKey(pointer, 'parameter-unknown', `${operation.id} has no ${place} parameter "${name}"${suggestion(name, names)}`)
    }
    const placed = declared?.name ?? (place === 'header' ? name.toLowerCase() : name)
    if (placements.some(other => other.name === placed)) report.faultAtKey(pointer, 'parameter-twice', `"${placed}" is given twice`)
    const template = compileTemplate(value, pointer, variables, report)
    if (template !== null) placements.push({ name: placed, template })
  }
  return placements
}

function find (parameters: readonly Parameter[], place: ParameterPlace, name: string): Parameter | undefined {
  const isSame = (other: string): boolean => place === 'header' ? other.toLowerCase() === name.toLowerCase() : other === name
  return parameters.find(parameter => parameter.in === place && isSame(parameter.name))
}

function checkHeader (name: string, value: Json, pointer: string, declared: Parameter | undefined, report: Reporter): void {
  const lower = name.toLowerCase()
  if (!isHeaderName(name)) return report.faultAtKey(pointer, 'header-invalid', 'is not the name of a header')
  if (isReservedHeader(lower)) {
    return report.faultAtKey(pointer, 'header-reserved', `the header "${name}" is set by the broker`)
  }
  if (typeof value === 'string' ? !isHeaderText(value) : declared === undefined && typeof value !== 'number' && typeof value !== 'boolean') {
    report.fault(pointer, 'header-invalid', 'the value of a header is visible ASCII')
  }
}

function requireParameters (placements: ReadonlyArray<readonly Placement[]>, at: string, operation: Operation, provided: Provided, report: Reporter): void {
  for (const [index, [field, place]] of PLACES.entries()) {
    for (const parameter of operation.parameters) {
      if (parameter.in !== place || !(parameter.required || place === 'path')) continue
      if (provided.parameters.has(`${place}:${parameter.name.toLowerCase()}`)) continue
      const placed = placements[index]!.find(placement => placement.name === parameter.name)
      if (placed === undefined) {
        if (report.file.has(pointerTo(`${at}/${field}`, parameter.name))) continue
        report.faultAtKey(`${at}/${field}`, 'parameter-missing', `${operation.id} needs the ${place} parameter "${parameter.name}"`)
      } else if (placed.template.optional) {
        report.fault(
          pointerTo(`${at}/${field}`, parameter.name), 'parameter-missing', `${operation.id} needs "${parameter.name}", and this may be absent`
        )
      }
    }
  }
}

function compileBody (parts: PartsSheet, at: string, operation: Operation, variables: Variables, report: Reporter): Template | null {
  const pointer = `${at}/body`
  const definition = chooseBody(parts, at, operation, report)
  if (parts.body === undefined) {
    if (operation.bodyRequired) report.faultAtKey(at, 'body-missing', `${operation.id} needs a body`)
    return null
  }
  if (operation.bodies.size === 0) {
    report.faultAtKey(pointer, 'body-unexpected', `${operation.id} takes no body`)
    return null
  }
  const template = compileTemplate(parts.body, pointer, variables, report)
  if (template === null) return null
  if (isRawBody(template, pointer, report)) return null
  if (operation.bodyRequired && template.optional) report.fault(pointer, 'body-missing', `${operation.id} needs a body, and this may be absent`)
  if (definition !== undefined && !supportsMediaType(definition.mediaType)) {
    report.faultAtKey(pointer, 'media-type-unsupported', `a body of ${definition.mediaType} cannot be written; it would have to be sent empty`)
    return null
  }
  if (definition !== undefined) compareWith(template.shape, shapeOfSchema(definition.schema), pointer, isJson(definition.mediaType), report)
  return template
}

function chooseBody (parts: PartsSheet, at: string, operation: Operation, report: Reporter): BodyDefinition | undefined {
  if (parts.media_type !== undefined) {
    const chosen = operation.bodies.get(parts.media_type.toLowerCase())
    if (chosen === undefined) {
      report.fault(`${at}/media_type`, 'media-type-unknown', `${operation.id} takes ${[...operation.bodies.keys()].join(', ') || 'no body'}`)
    }
    return chosen
  }
  const bodies = [...operation.bodies.values()]
  const json = bodies.find(body => isJson(body.mediaType))
  if (json !== undefined || bodies.length <= 1 || parts.body === undefined) return json ?? bodies[0]
  report.faultAtKey(`${at}/body`, 'media-type-needed', `${operation.id} takes ${[...operation.bodies.keys()].join(', ')}; say which in media_type`)
  return undefined
}

/** The agent's own text, or all that it sent, is not a body that anybody has read. */
function isRawBody (template: Template, pointer: string, report: Reporter): boolean {
  const path = template.lone?.path
  if (path?.[0] !== 'args') return false
  const all = path.length === 1
  if (!all && !alternatives(template.shape).some(shape => shape.kind === 'string')) return false
  report.fault(pointer, 'input-is-raw-body', all ? 'the body must be written out, field by field' : 'an agent must not write a whole body as text')
  return true
}

/** Faults where what is given cannot be what is wanted, whatever the values. */
function compareWith (given: Shape, wanted: Shape, pointer: string, typed: boolean, report: Reporter): void {
  const have = alternatives(given)
  const want = alternatives(wanted)
  if (have.length === 0 || want.length === 0) return
  const objects = want.filter((shape): shape is ObjectShape => shape.kind === 'object')
  const lists = want.filter(shape => shape.kind === 'list')
  const onlyObjects = want.every(shape => shape.kind === 'object' || shape.kind === 'null')
  for (const part of have) {
    if (part.kind === 'object' && objects[0] !== undefined) {
      if (onlyObjects) compareFields(part, objects[0], pointer, typed, report)
      return
    }
    if (part.kind === 'list' && lists[0] !== undefined) {
      compareWith(part.item(), lists[0].item(), pointer, typed, report)
      return
    }
  }
  if (typed && !have.some(part => want.some(other => fits(part, other)))) {
    report.fault(pointer, 'body-type', `this is ${words(have)}, and the document wants ${words(want)}`)
  }
}

const words = (shapes: readonly Shape[]): string => shapes.map(shape => shape.kind).join(' or ')

function fits (given: Shape, wanted: Shape): boolean {
  if (given.kind === wanted.kind || given.kind === 'dyn' || wanted.kind === 'dyn') return true
  return (given.kind === 'int' && wanted.kind === 'double') || (given.kind === 'timestamp' && wanted.kind === 'string')
}

function compareFields (given: ObjectShape, wanted: ObjectShape, pointer: string, typed: boolean, report: Reporter): void {
  for (const [name, field] of given.fields) {
    const at = pointerTo(pointer, name)
    const known = wanted.fields.get(name)
    if (known !== undefined) compareWith(field.shape(), known.shape(), at, typed, report)
    else if (wanted.rest === null) {
      report.faultAtKey(at, 'body-field-unknown', `the body has no field "${name}"${suggestion(name, wanted.fields.keys())}`)
    }
  }
  if (given.rest !== null) return
  for (const [name, field] of wanted.fields) {
    if (!field.required) continue
    const present = given.fields.get(name)
    if (present === undefined) report.faultAtKey(pointer, 'body-field-missing', `the body needs the field "${name}"`)
    else if (!present.required) {
      report.fault(pointerTo(pointer, name), 'body-field-missing', `the body needs the field "${name}", and this may be absent`)
    }
  }
}
