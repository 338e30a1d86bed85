// Swagger 2.0, read as it is: one operation of a document, as an Operation. Its host, basePath and schemes are never used: where requests go is
// typed by hand in upstream.yaml.
import type { BodyDefinition, Encoding, JsonSchema, Parameter, ParameterPlace, ParameterStyle, ResponseDefinition } from './operation.ts'
import { childOf, fault } from './reference.ts'
import type { Place } from './reference.ts'
import { isObject, own } from './pointer.ts'
import type { Dictionary } from './pointer.ts'
import { PLACES, bareMediaType, isIgnoredHeader, parametersOf, responsesOf, schemaAt, warn } from './reader.ts'
import type { RawParameter, Reading } from './reader.ts'
import type { OperationParts } from './openapi3.ts'

const FORM = 'application/x-www-form-urlencoded'
const MULTIPART = 'multipart/form-data'

interface Collection {
  readonly style: ParameterStyle
  readonly explode: boolean
}

/** collectionFormat as the style that writes the same text; csv where there is none. */
const COLLECTIONS: { readonly [format: string]: Collection } = {
  csv: { style: 'form', explode: false },
  ssv: { style: 'spaceDelimited', explode: false },
  tsv: { style: 'tabDelimited', explode: false },
  pipes: { style: 'pipeDelimited', explode: false },
  multi: { style: 'form', explode: true },
}

function collectionOf (node: Dictionary): Collection {
  const format = own(node, 'collectionFormat')
  return COLLECTIONS[typeof format === 'string' && Object.hasOwn(COLLECTIONS, format) ? format : 'csv'] as Collection
}

/** The schema of a parameter that is no body: its keywords stand in the parameter itself, and some of them mean something else there. */
function inlineNode (node: Dictionary): Dictionary {
  return Object.fromEntries(Object.entries(node)
    .filter(([name]) => !['name', 'in', 'required', 'collectionFormat', 'allowEmptyValue', 'description', 'schema'].includes(name)))
}

function parameterOf (reading: Reading, raw: RawParameter): Parameter {
  const node = raw.place.node as Dictionary
  const where = raw.in as ParameterPlace
  const { style, explode } = collectionOf(node)
  // `multi` is for queries and forms only (2.0, Parameter Object), so in paths and headers a list is separated by commas.
  const bare = where === 'path' || where === 'header'
  const placed: Collection = bare ? { style: style === 'form' ? 'simple' : style, explode: false } : { style, explode }
  return {
    name: raw.name,
    in: where,
    required: where === 'path' || own(node, 'required') === true,
    ...placed,
    allowReserved: false,
    mediaType: null,
    schema: schemaAt(reading, { ...raw.place, node: inlineNode(node) }, 'request'),
  }
}

/** The media types of the operation, else of the document; those that are none are left out. */
function typesOf (reading: Reading, operation: Place, member: 'consumes' | 'produces'): readonly string[] {
  for (const place of [operation, reading.root]) {
    const types = isObject(place.node) ? own(place.node, member) : undefined
    if (!Array.isArray(types)) continue
    return [...new Set(types.map(type => typeof type === 'string' ? bareMediaType(type) : undefined).filter(type => type !== undefined))]
  }
  return []
}

interface Form {
  readonly schema: JsonSchema
  readonly encoding: ReadonlyMap<string, Encoding>
  readonly files: boolean
  readonly required: boolean
}

function formOf (reading: Reading, operation: Place, fields: readonly RawParameter[]): Form {
  const properties: Array<readonly [string, unknown]> = []
  const encoding = new Map<string, Encoding>()
  const required: string[] = []
  let files = false
  for (const field of fields) {
    const node = field.place.node as Dictionary
    const file = own(node, 'type') === 'file'
    files ||= file
    properties.push([field.name, file ? { type: 'string', format: 'binary' } : inlineNode(node)])
    if (own(node, 'type') === 'array') encoding.set(field.name, { contentType: null, ...collectionOf(node), allowReserved: false })
    if (own(node, 'required') === true) required.push(field.name)
  }
  // The fields are one object, which no single place of the document holds.
  const node = { type: 'object', properties: Object.fromEntries(properties), required, additionalProperties: false }
  const schema = schemaAt(reading, { ...childOf(operation, 'parameters'), node }, 'request')
  return { schema, encoding, files, required: required.length > 0 }
}

function bodiesOf (reading: Reading, operation: Place, raw: readonly RawParameter[]): Pick<OperationParts, 'bodies' | 'bodyRequired'> {
  const [body] = raw.filter(one => one.in === 'body')
  const fields = raw.filter(one => one.in === 'formData')
  const consumes = typesOf(reading, operation, 'consumes')
  const bodies = new Map<string, BodyDefinition>()
  if (body !== undefined && fields.length > 0) throw fault(operation, 'body-conflict', 'An operation has a body or form fields, not both.')
  if (body !== undefined) {
    const schema = schemaAt(reading, childOf(body.place, 'schema'), 'request')
    if (consumes.length === 0) warn(reading, operation, 'nothing says what the body is; it is sent as application/json')
    const concrete = consumes.map(type => type.includes('*') ? 'application/json' : type)
    for (const mediaType of concrete.length === 0 ? ['application/json'] : concrete) bodies.set(mediaType, { mediaType, schema, encoding: new Map() })
    return { bodies, bodyRequired: own(body.place.node as Dictionary, 'required') === true }
  }
  if (fields.length === 0) return { bodies, bodyRequired: false }
  const form = formOf(reading, operation, fields)
  const declared = consumes.filter(type => type === MULTIPART || (type === FORM && !form.files))
  for (const mediaType of declared.length > 0 ? declared : [form.files ? MULTIPART : FORM]) {
    bodies.set(mediaType, { mediaType, schema: form.schema, encoding: form.encoding })
  }
  return { bodies, bodyRequired: form.required }
}

function responseOf (reading: Reading, status: string, place: Place, produces: readonly string[]): ResponseDefinition {
  const at = childOf(place, 'schema')
  // 2.0, Response Object: without a schema there is no content
  if (!isObject(at.node)) return { status, content: new Map() }
  const schema = own(at.node, 'type') === 'file' ? true : schemaAt(reading, at, 'response')
  return { status, content: new Map(produces.map(type => [type, schema])) }
}

/** @throws DocumentFault */
export function readOperation2 (reading: Reading, pathItem: Place, operation: Place): OperationParts {
  const raw = parametersOf(reading, pathItem, operation)
  const declared = typesOf(reading, operation, 'produces')
  if (declared.length === 0) warn(reading, operation, 'nothing says what the responses are; they are read as application/json')
  const produces = declared.length === 0 ? ['application/json'] : declared
  return {
    parameters: raw.filter(one => PLACES.has(one.in) && !isIgnoredHeader(one)).map(one => parameterOf(reading, one)),
    ...bodiesOf(reading, operation, raw),
    responses: responsesOf(reading, operation).map(({ status, place }) => responseOf(reading, status, place, produces)),
    declaredHeaders: new Set(raw.filter(one => one.in === 'header').map(one => one.name.toLowerCase())),
  }
}
