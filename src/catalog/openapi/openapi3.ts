// OpenAPI 3.0, 3.1 and 3.2: one operation of a document, as an Operation.
import type { BodyDefinition, Encoding, JsonSchema, Parameter, ParameterPlace, ParameterStyle, ResponseDefinition } from './operation.ts'
import type { Direction } from './composition.ts'
import { childOf, fault } from './reference.ts'
import type { Place } from './reference.ts'
import { isObject, own } from './pointer.ts'
import type { Dictionary } from './pointer.ts'
import { PLACES, bareMediaType, checked, isIgnoredHeader, parametersOf, responsesOf, schemaAt, warn } from './reader.ts'
import type { RawParameter, Reading } from './reader.ts'

/** What the two readers read; the rest of an Operation does not depend on the version. */
export interface OperationParts {
  readonly parameters: readonly Parameter[]
  readonly bodies: ReadonlyMap<string, BodyDefinition>
  readonly bodyRequired: boolean
  readonly responses: readonly ResponseDefinition[]
  readonly declaredHeaders: ReadonlySet<string>
}

const DEFAULT_STYLES: { readonly [place in ParameterPlace]: ParameterStyle } = { path: 'simple', query: 'form', header: 'simple', cookie: 'form' }

function parameterOf (reading: Reading, raw: RawParameter): Parameter {
  const { place } = raw
  const node = place.node as Dictionary
  const where = raw.in as ParameterPlace
  const style = (own(node, 'style') ?? DEFAULT_STYLES[where]) as ParameterStyle
  const content = childOf(place, 'content')
  const basis = { name: raw.name, in: where, required: where === 'path' || own(node, 'required') === true, style }
  // OpenAPI 3.1 §4.8.12.2: explode is true by default for form, false for every other style
  const explode = own(node, 'explode') === undefined ? style === 'form' || style === 'cookie' : own(node, 'explode') === true
  if (!isObject(content.node)) {
    if (!Object.hasOwn(node, 'schema')) warn(reading, place, 'a parameter without a schema may have any value')
    const allowReserved = own(node, 'allowReserved') === true
    return { ...basis, explode, allowReserved, mediaType: null, schema: schemaAt(reading, childOf(place, 'schema'), 'request') }
  }
  const [key] = Object.keys(content.node)
  const mediaType = key === undefined ? undefined : bareMediaType(key)
  if (key === undefined || mediaType === undefined || !(isJson(mediaType) || mediaType === 'text/plain')) {
    throw fault(content, 'parameter-media-type', 'A parameter can be written as JSON or as plain text, and as nothing else.')
  }
  const media = reading.references.follow(childOf(content, key))
  return { ...basis, explode: false, allowReserved: false, mediaType, schema: schemaAt(reading, childOf(media, 'schema'), 'request') }
}

const isJson = (mediaType: string): boolean => mediaType === 'application/json' || /^[^/]+\/.+\+json$/.test(mediaType)

function encodingOf (reading: Reading, place: Place): ReadonlyMap<string, Encoding> {
  const found = new Map<string, Encoding>()
  if (!isObject(place.node)) return found
  for (const name of Object.keys(place.node)) {
    const node = reading.references.follow(childOf(place, name)).node
    if (!isObject(node)) continue
    const contentType = own(node, 'contentType')
    const style = own(node, 'style') as ParameterStyle | undefined
    const explode = own(node, 'explode')
    const allowReserved = own(node, 'allowReserved')
    // OpenAPI 3.1.1 §4.8.15.1.2: naming one of these makes the style matter, and the content type not
    const styled = style !== undefined || explode !== undefined || allowReserved !== undefined
    if (!styled && typeof contentType !== 'string') continue
    found.set(name, {
      contentType: styled || typeof contentType !== 'string' ? null : contentType,
      style: style ?? 'form',
      explode: explode === undefined ? style === undefined || style === 'form' : explode === true,
      allowReserved: allowReserved === true,
    })
  }
  return found
}

interface Media {
  readonly mediaType: string
  readonly place: Place
}

/** The media types of a `content`, without parameters; of two that then are one, the one without parameters, else the first. */
function mediaOf (reading: Reading, content: Place): readonly Media[] {
  if (!isObject(content.node)) return []
  const found = new Map<string, Media>()
  for (const key of Object.keys(content.node)) {
    const mediaType = bareMediaType(key)
    if (mediaType === undefined) {
      if (!key.startsWith('x-')) warn(reading, content, `${JSON.stringify(key)} is no media type and is left out`)
      continue
    }
    const place = reading.references.follow(childOf(content, key))
    if (found.has(mediaType)) {
      warn(reading, content, `${mediaType} stands there more than once; one is read`)
      if (key.trim().toLowerCase() !== mediaType) continue
    }
    found.set(mediaType, { mediaType, place })
  }
  return [...found.values()]
}

function mediaSchema (reading: Reading, place: Place, direction: Direction): JsonSchema {
  const node = place.node
  if (isObject(node) && Object.hasOwn(node, 'itemSchema') && !Object.hasOwn(node, 'schema')) {
    warn(reading, place, 'itemSchema describes the items of a stream, which is not read item by item; the whole may be anything')
    return true
  }
  return schemaAt(reading, childOf(place, 'schema'), direction)
}

function bodiesOf (reading: Reading, operation: Place): Pick<OperationParts, 'bodies' | 'bodyRequired'> {
  const at = childOf(operation, 'requestBody')
  const bodies = new Map<string, BodyDefinition>()
  if (at.node === undefined) return { bodies, bodyRequired: false }
  const body = checked(reading, at, 'requestBody')
  const media = mediaOf(reading, childOf(body, 'content'))
  for (const { mediaType: declared, place } of media) {
    let mediaType = declared
    if (declared === '*/*' || declared === 'application/*') {
      if (media.some(other => other.mediaType === 'application/json')) continue
      // A range says what is taken, but a request must say what it is.
      warn(reading, place, `${declared} is sent as application/json`)
      mediaType = 'application/json'
    }
    if (bodies.has(mediaType)) continue
    const schema = mediaSchema(reading, place, 'request')
    bodies.set(mediaType, { mediaType, schema, encoding: encodingOf(reading, childOf(place, 'encoding')) })
  }
  return { bodies, bodyRequired: isObject(body.node) && own(body.node, 'required') === true }
}

function responseOf (reading: Reading, status: string, place: Place): ResponseDefinition {
  const media = mediaOf(reading, childOf(place, 'content'))
  return { status, content: new Map(media.map(({ mediaType, place: at }) => [mediaType, mediaSchema(reading, at, 'response')])) }
}

/** @throws DocumentFault */
export function readOperation3 (reading: Reading, pathItem: Place, operation: Place): OperationParts {
  const raw = parametersOf(reading, pathItem, operation)
  for (const one of raw) {
    if (one.in === 'querystring') throw fault(one.place, 'parameter-querystring', 'A parameter that is the whole query string is not written here.')
    if (!PLACES.has(one.in)) throw fault(one.place, 'structure', 'A parameter must stand in path, query, header or cookie.')
  }
  return {
    parameters: raw.filter(one => !isIgnoredHeader(one)).map(one => parameterOf(reading, one)),
    ...bodiesOf(reading, operation),
    responses: responsesOf(reading, operation).map(({ status, place }) => responseOf(reading, status, place)),
    declaredHeaders: new Set(raw.filter(one => one.in === 'header').map(one => one.name.toLowerCase())),
  }
}
