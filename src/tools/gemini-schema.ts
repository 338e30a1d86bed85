// The schema of a function declaration of Gemini: a subset of OpenAPI 3.0. Types in capitals, `nullable` for null, lists of words only, no closed objects.
import type { Json, JsonObject } from '../catalog/catalog.ts'
import type { Losses } from './schema-loss.ts'
import { described, propertiesOf } from './strict-schema.ts'

const KEPT = ['title', 'pattern', 'minLength', 'maxLength', 'minimum', 'maximum', 'minItems', 'maxItems', 'required']
/** The formats that the API takes, by type; another one makes it refuse the whole request. */
const FORMATS: Readonly<Record<string, readonly string[]>> = {
  string: ['date-time', 'enum'], integer: ['int32', 'int64'], number: ['float', 'double'],
}
/** Known to be kept or rewritten below. */
const REWRITTEN = new Set([...KEPT, 'type', 'description', 'properties', 'items', 'anyOf', 'enum', 'const', 'format', 'additionalProperties'])

/** @param schema a portable one */
export function geminiSchema (schema: JsonObject, losses: Losses, at = ''): JsonObject {
  if (Array.isArray(schema['anyOf'])) return union(schema, losses, at)
  const type = String(schema['type'])
  const said: string[] = []
  const tell = (keyword: string, value: Json): void => {
    losses.add(at, keyword, 'words in the description')
    said.push(`${keyword}: ${JSON.stringify(value)}`)
  }
  for (const [keyword, value] of Object.entries(schema)) if (!REWRITTEN.has(keyword)) tell(keyword, value)
  const values = schema['const'] === undefined ? schema['enum'] : [schema['const']]
  const words = Array.isArray(values) && type === 'string'
  if (Array.isArray(values) && !words) tell('enum', values as Json)
  const { format } = schema
  const keepsFormat = typeof format === 'string' && FORMATS[type]?.includes(format) === true
  if (typeof format === 'string' && !keepsFormat) tell('format', format)
  if (type === 'object') losses.add(at, 'additionalProperties', 'not said')
  return {
    type: type.toUpperCase(),
    ...Object.fromEntries(KEPT.flatMap(keyword => schema[keyword] === undefined ? [] : [[keyword, schema[keyword]]])),
    ...(said.length > 0 ? { description: described(schema, said) } : schema['description'] === undefined ? {} : { description: schema['description'] }),
    ...(words ? { format: 'enum', enum: values as Json } : keepsFormat ? { format } : {}),
    ...(type === 'object' ? { properties: propertiesIn(schema, losses, at) } : {}),
    ...(type === 'array' ? { items: geminiSchema(schema['items'] as JsonObject, losses, `${at}/items`) } : {}),
  }
}

function propertiesIn (schema: JsonObject, losses: Losses, at: string): JsonObject {
  return Object.fromEntries(Object.entries(propertiesOf(schema)).map(([name, property]) =>
    [name, geminiSchema(property, losses, `${at}/properties/${name}`)]))
}

function union (schema: JsonObject, losses: Losses, at: string): JsonObject {
  const branches = (schema['anyOf'] as readonly JsonObject[])
    .map((branch, index) => [branch, index] as const)
    .filter(([branch]) => branch['type'] !== 'null')
    .map(([branch, index]) => geminiSchema(branch, losses, `${at}/anyOf/${index}`))
  const isNullable = branches.length < (schema['anyOf'] as readonly Json[]).length
  const beside = {
    ...(schema['title'] === undefined ? {} : { title: schema['title'] }),
    ...(schema['description'] === undefined ? {} : { description: schema['description'] }),
    ...(isNullable ? { nullable: true } : {}),
  }
  return branches.length === 1 ? { ...branches[0], ...beside } : { ...beside, anyOf: branches }
}
