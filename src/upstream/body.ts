// Bodies: a value of the sheet as the bytes of one media type.
//
// Bytes come in as base64 text, since a value is JSON. They are decoded and sent as bytes, except where the document says that the wire itself
// carries base64 (`format: byte` or `base64`, `contentEncoding`): there the text goes out as it is.
import { createHash } from 'node:crypto'
import type { Json } from '../catalog/catalog.ts'
import { bodyKind, supportsMediaType } from '../catalog/openapi/media-type.ts'
import type { BodyDefinition, Encoding, JsonSchema, Operation } from '../catalog/openapi/operation.ts'
import { escapeReserved, escapeStrict } from './escape.ts'
import { expand, separatorOf } from './style.ts'
import type { Item } from './style.ts'
import { base64Bytes, jsonText, refuse, scalarText } from './text.ts'

export interface Body {
  readonly contentType: string
  readonly bytes: Buffer
}

/** The definition of the body that a request names; without a name the only one, the first JSON one, the first that can be sent. */
export function bodyOf (operation: Operation, mediaType: string | null): BodyDefinition | undefined {
  if (mediaType !== null) return operation.bodies.get(mediaType)
  const all = [...operation.bodies.values()]
  return all.find(body => bodyKind(body.mediaType) === 'json') ?? all.find(body => supportsMediaType(body.mediaType))
}

type Schema = { readonly [keyword: string]: unknown }
type Fields = { readonly [key: string]: Json }

function fieldsOf (value: Json, internal: string): ReadonlyArray<readonly [string, Json]> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw refuse('type', 'The body must be an object.', internal)
  return Object.entries(value as Fields)
}

/** The schema behind its references, which all point into its own `$defs`. */
function resolved (schema: unknown, root: JsonSchema): Schema {
  const definitions = typeof root === 'object' ? root['$defs'] as Schema | undefined : undefined
  let at = schema
  for (let hops = 0; hops < 32; hops++) {
    if (typeof at !== 'object' || at === null) return {}
    const reference = (at as { readonly $ref?: unknown }).$ref
    if (typeof reference !== 'string') return at as Schema
    at = definitions?.[reference.slice('#/$defs/'.length)]
  }
  return {}
}

function propertySchema (definition: BodyDefinition, name: string): Schema {
  const search = (schema: unknown, depth: number): unknown => {
    const node = resolved(schema, definition.schema)
    const properties = node['properties'] as object | undefined
    if (properties !== undefined && Object.hasOwn(properties, name)) return (properties as { readonly [name: string]: unknown })[name]
    const parts = depth < 8 && Array.isArray(node['allOf']) ? node['allOf'] as readonly unknown[] : []
    return parts.map(part => search(part, depth + 1)).find(found => found !== undefined)
  }
  return resolved(search(definition.schema, 0), definition.schema)
}

const saysBase64 = (schema: Schema): boolean =>
  schema['contentEncoding'] !== undefined || schema['format'] === 'byte' || schema['format'] === 'base64'

function octets (value: Json, schema: Schema, internal: string): Buffer {
  const bytes = base64Bytes(value, internal)
  return saysBase64(schema) ? Buffer.from(value as string, 'latin1') : bytes
}

/** The content type to send of those an Encoding Object allows: the first that is no range. */
function concrete (contentType: string): string {
  return contentType.split(',').map(type => type.trim()).find(type => !type.includes('*')) ?? 'application/octet-stream'
}

/** A property of a form that no Encoding Object gives a style: by its content type (OpenAPI 3.1.1 §4.8.15.1.1). */
function contentText (value: Json, encoding: Encoding | undefined, internal: string): string {
  const type = encoding?.contentType === undefined || encoding.contentType === null ? undefined : concrete(encoding.contentType).toLowerCase()
  const json = type === undefined ? typeof value === 'object' && value !== null : bodyKind(type) === 'json'
  return json ? jsonText(value, internal) : scalarText(value, internal)
}

function formItems (name: string, value: Json, encoding: Encoding | undefined, internal: string): readonly Item[] {
  if (encoding !== undefined && encoding.contentType === null) {
    return expand({ name, ...encoding }, value, { escape: encoding.allowReserved ? escapeReserved : escapeStrict, internal })
  }
  const items = Array.isArray(value) ? value as readonly Json[] : [value]
  if (items.length === 0) throw refuse('empty', 'An empty list would vanish from the form.', internal)
  return items.map(item => ({ name, text: escapeStrict(contentText(item, encoding, internal)) }))
}

function formText (definition: BodyDefinition, value: Json, internal: string): string {
  const pairs: string[] = []
  const names = new Set<string>()
  for (const [name, item] of fieldsOf(value, internal)) {
    const items = formItems(name, item, definition.encoding.get(name), internal)
    const own = new Set(items.map(one => one.name ?? name))
    if ([...own].some(one => names.has(one))) throw refuse('name', 'Two fields of the form have one name.', internal)
    for (const one of own) names.add(one)
    for (const one of items) pairs.push(`${escapeStrict(one.name ?? name)}=${one.text}`)
  }
  return pairs.join('&')
}

interface Part {
  readonly head: string
  readonly bytes: Buffer
}

// WHATWG HTML, multipart/form-data encoding algorithm: these three are escaped in names, nothing else is
const partName = (name: string): string => name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A')

function partOf (name: string, value: Json, schema: Schema, encoding: Encoding | undefined, internal: string): Part {
  const media = schema['contentMediaType']
  const declared = encoding?.contentType === undefined || encoding.contentType === null
    ? typeof media === 'string' ? media : undefined
    : concrete(encoding.contentType)
  if (declared !== undefined && /[^\x20-\x7e]/.test(declared)) throw refuse('media_type', 'The content type of a part cannot be sent.', internal)
  const kind = declared === undefined ? undefined : bodyKind((declared.split(';', 1)[0] ?? '').trim().toLowerCase())
  const binary = schema['format'] === 'binary' || (declared !== undefined && kind !== 'json' && kind !== 'text')
  const head = `content-disposition: form-data; name="${partName(name)}"`
  if (binary) {
    // A part with a file name is read as a file; the value brings none, so the field's own name stands for it.
    const file = `${head}; filename="${partName(name)}"\r\ncontent-type: ${declared ?? 'application/octet-stream'}\r\n`
    return { head: file, bytes: octets(value, schema, internal) }
  }
  if (kind === 'json' || (declared === undefined && typeof value === 'object' && value !== null)) {
    return { head: `${head}\r\ncontent-type: ${declared ?? 'application/json'}\r\n`, bytes: Buffer.from(jsonText(value, internal)) }
  }
  const plain = declared === undefined ? `${head}\r\n` : `${head}\r\ncontent-type: ${declared}\r\n`
  return { head: plain, bytes: Buffer.from(scalarText(value, internal)) }
}

/** A list in one part. Nothing is escaped there, so no value may hold what stands between them. */
function separated (list: readonly Json[], separator: string, internal: string): string {
  const texts = list.map(item => scalarText(item, internal))
  if (texts.some(text => text.includes(separator))) {
    throw refuse('separator', 'A value holds the character that separates values in this place.', internal)
  }
  return texts.join(separator)
}

function partsOf (definition: BodyDefinition, value: Json, internal: string): readonly Part[] {
  return fieldsOf(value, internal).flatMap(([name, item]) => {
    const encoding = definition.encoding.get(name)
    const schema = propertySchema(definition, name)
    if (!Array.isArray(item)) return [partOf(name, item, schema, encoding, internal)]
    if (item.length === 0) throw refuse('empty', 'An empty list would vanish from the form.', internal)
    if (encoding !== undefined && encoding.contentType === null && !encoding.explode) {
      return [partOf(name, separated(item as readonly Json[], separatorOf(encoding.style), internal), {}, undefined, internal)]
    }
    const each = resolved(schema['items'], definition.schema)
    return (item as readonly Json[]).map(one => partOf(name, one, each, encoding, internal))
  })
}

/** The boundary follows from the content, so that equal requests are equal bytes, and is proved absent from it. */
function multipart (parts: readonly Part[]): Body {
  const content = Buffer.concat(parts.flatMap(part => [Buffer.from(`${part.head}\r\n`), part.bytes, Buffer.from('\r\n')]))
  let boundary = ''
  for (let round = 0; boundary === '' || content.includes(boundary); round++) {
    boundary = `aval-${createHash('sha256').update(content).update(String(round)).digest('hex').slice(0, 40)}`
  }
  const bytes = parts.flatMap(part => [Buffer.from(`--${boundary}\r\n${part.head}\r\n`), part.bytes, Buffer.from('\r\n')])
  return { contentType: `multipart/form-data; boundary=${boundary}`, bytes: Buffer.concat([...bytes, Buffer.from(`--${boundary}--\r\n`)]) }
}

/** @throws Refusal where the value cannot be sent as this media type */
export function writeBody (definition: BodyDefinition, value: Json, internal: string): Body {
  const { mediaType } = definition
  switch (bodyKind(mediaType)) {
    case 'json': return { contentType: mediaType, bytes: Buffer.from(jsonText(value, internal)) }
    case 'form': return { contentType: mediaType, bytes: Buffer.from(formText(definition, value, internal)) }
    case 'multipart': return multipart(partsOf(definition, value, internal))
    case 'text': return { contentType: `${mediaType}; charset=utf-8`, bytes: Buffer.from(scalarText(value, internal)) }
    case 'octets': return { contentType: mediaType, bytes: octets(value, resolved(definition.schema, definition.schema), internal) }
    case undefined: throw refuse('media_type', 'A body of this media type cannot be sent.', internal)
  }
}
