// What a document says against a request: so that a sheet which sends something else than it should is found before the real upstream is asked.
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { Json } from '../../catalog/catalog.ts'
import { compilePattern, type Pattern } from '../../catalog/pattern.ts'
import type { JsonSchema, Operation } from '../../catalog/openapi/operation.ts'
import { isJson } from '../../catalog/variables.ts'
import { plainSchema } from '../plain-schema.ts'
import type { MockRequest } from './request.ts'

const ajv = new Ajv2020({
  strict: false, ownProperties: true, logger: false, validateSchema: false, multipleOfPrecision: 9,
  // A pattern that cannot run in linear time is not held against a request.
  code: { regExp: Object.assign((source: string) => patternOf(source), { code: 'patternOf' }), optimize: false },
})
addFormats.default(ajv)
const validators = new Map<JsonSchema, ValidateFunction | null>()

function patternOf (source: string): Pattern & { toString (): string } {
  const compiled = compilePattern(source)
  return typeof compiled === 'string' ? { test: () => true, toString: () => `/${source}/any` } : compiled
}

/** @param credentials parameters that carry one: whether they are right is not looked at */
export function complaintsAbout (request: MockRequest, operation: Operation, credentials: ReadonlySet<string>): readonly string[] {
  return [...parameterComplaints(request, operation, credentials), ...bodyComplaints(request, operation)]
}

function * parameterComplaints (request: MockRequest, operation: Operation, credentials: ReadonlySet<string>): Generator<string> {
  for (const { name, in: where, required, schema } of operation.parameters) {
    if (where === 'cookie' || credentials.has(`${where}:${name.toLowerCase()}`)) continue
    const sent = where === 'path' ? request.pathValues[name] : where === 'query' ? request.query[name] : request.headers[name.toLowerCase()]
    if (sent === undefined) {
      // Objects are spread over names of their own.
      const spread = where === 'query' && Object.keys(request.query).some(other => other.startsWith(`${name}[`))
      if (required && !spread && plainSchema(schema, schema)?.type !== 'object') yield `the ${where} parameter "${name}" is missing`
      continue
    }
    if (typeof sent !== 'string') continue
    const fault = complaint(typed(sent, schema), schema)
    if (fault !== null) yield `the ${where} parameter "${name}" ${fault}`
  }
  const inQuery = operation.parameters.filter(parameter => parameter.in === 'query')
  const names = inQuery.map(({ name }) => name)
  // The properties of an object that is spread over the query are names of their own.
  const spread = inQuery.some(({ schema }) => plainSchema(schema, schema)?.type === 'object')
  for (const name of Object.keys(request.query)) {
    const known = names.some(other => name === other || name.startsWith(`${other}[`)) || credentials.has(`query:${name.toLowerCase()}`)
    if (!known && !spread) yield `there is no query parameter "${name}"`
  }
}

function * bodyComplaints (request: MockRequest, operation: Operation): Generator<string> {
  if (request.mediaType === null) {
    if (operation.bodyRequired) yield 'a body is needed'
    return
  }
  const definition = operation.bodies.get(request.mediaType)
  if (definition === undefined) {
    const taken = [...operation.bodies.keys()].join(', ')
    yield taken === '' ? 'no body is taken' : `the body is ${request.mediaType}, and ${taken} is taken`
    return
  }
  if (!isJson(request.mediaType)) return
  const fault = request.body === undefined ? 'is no JSON' : complaint(request.body, definition.schema)
  if (fault !== null) yield `the body ${fault}`
}

function complaint (value: Json, schema: JsonSchema): string | null {
  let validate = validators.get(schema)
  if (validate === undefined) validators.set(schema, validate = compiled(schema))
  if (validate === null || validate(value)) return null
  const [error] = validate.errors ?? []
  return `${error?.instancePath === '' ? '' : `at ${error?.instancePath} `}${error?.message ?? 'does not fit its schema'}`.trim()
}

function compiled (schema: JsonSchema): ValidateFunction | null {
  try {
    return ajv.compile(schema as object | boolean)
  } catch {
    // What a document says in a way that nobody can check is not held against a request.
    return null
  }
}

/** Text of a path, a query or a header as the type that the document gives it. */
function typed (text: string, schema: JsonSchema): Json {
  const type = plainSchema(schema, schema)?.type ?? null
  if ((type === 'integer' || type === 'number') && /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text)) return Number(text)
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  if (type === 'array') return text.split(',').map(item => typed(item, plainSchema(schema, schema)?.items ?? true))
  return text
}
