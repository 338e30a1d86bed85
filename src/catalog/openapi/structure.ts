// The official schemas of OpenAPI, asked about one object at a time: what a sheet rests on must have the form that its version of OpenAPI gives it,
// the rest of the document need not. Only what Aval uses is asked about: descriptions, examples, links and callbacks may be as they like.
import { createRequire } from 'node:module'
import { Ajv2020 } from 'ajv/dist/2020.js'
import AjvDraft04 from 'ajv-draft-04'
import type { ValidateFunction } from 'ajv'
import { childPointer, isObject, own } from './pointer.ts'
import type { Dictionary } from './pointer.ts'
import { referenceOf } from './reference.ts'

export type Dialect = '2.0' | '3.0' | '3.1' | '3.2'
export type Kind = 'operation' | 'parameter' | 'requestBody' | 'response' | 'securityScheme'

const load = createRequire(import.meta.url)

const DEFINITIONS: { readonly [dialect in Dialect]: { readonly [kind in Kind]: string } } = {
  '2.0': {
    operation: '#/definitions/operation',
    parameter: '#/definitions/parameter',
    requestBody: '#/definitions/bodyParameter',
    response: '#/definitions/response',
    securityScheme: '#/definitions/securityDefinitions/additionalProperties',
  },
  '3.0': {
    operation: '#/definitions/Operation',
    parameter: '#/definitions/Parameter',
    requestBody: '#/definitions/RequestBody',
    response: '#/definitions/Response',
    securityScheme: '#/definitions/SecurityScheme',
  },
  '3.1': {
    operation: '#/$defs/operation',
    parameter: '#/$defs/parameter',
    requestBody: '#/$defs/request-body',
    response: '#/$defs/response',
    securityScheme: '#/$defs/security-scheme',
  },
  '3.2': {
    operation: '#/$defs/operation',
    parameter: '#/$defs/parameter',
    requestBody: '#/$defs/request-body',
    response: '#/$defs/response',
    securityScheme: '#/$defs/security-scheme',
  },
}

const compiled = new Map<string, ValidateFunction>()
const judges = new Map<Dialect, { readonly ajv: Ajv2020 | InstanceType<typeof AjvDraft04.default>, readonly id: string }>()

/** Compiled once a process and kind, when first asked for. */
function validatorOf (dialect: Dialect, kind: Kind): ValidateFunction {
  const key = `${dialect} ${kind}`
  const known = compiled.get(key)
  if (known !== undefined) return known
  let judge = judges.get(dialect)
  if (judge === undefined) {
    // What is official is not judged itself, and what judges an object or two need not be quick: both cost every start.
    const options = {
      strict: false, validateFormats: false, allErrors: false, ownProperties: true, validateSchema: false, code: { optimize: false },
    } as const
    const ajv = dialect === '2.0' || dialect === '3.0' ? new AjvDraft04.default(options) : new Ajv2020(options)
    const schema = load(`@seriousme/openapi-schema-validator/schemas/v${dialect}/schema.json`) as { readonly $id?: string, readonly id?: string }
    ajv.addSchema(schema)
    judge = { ajv, id: (schema.$id ?? schema.id ?? '').replace(/#$/, '') }
    judges.set(dialect, judge)
  }
  const validate = judge.ajv.compile({ $ref: `${judge.id}${DEFINITIONS[dialect][kind]}` })
  compiled.set(key, validate)
  return validate
}

type Prune = (value: unknown) => unknown

/** The named members, each pruned; a Reference Object as a reference and nothing else. */
function only (members: { readonly [name: string]: Prune }, added: Dictionary = {}): Prune {
  return value => {
    if (!isObject(value)) return value
    const $ref = referenceOf(value)
    if ($ref !== undefined) return { $ref }
    const kept = Object.entries(members).filter(([name]) => Object.hasOwn(value, name)).map(([name, prune]) => [name, prune(own(value, name))])
    return { ...added, ...Object.fromEntries(kept) as Dictionary }
  }
}

const each = (prune: Prune): Prune => value =>
  isObject(value) ? Object.fromEntries(Object.entries(value).map(([name, item]) => [name, prune(item)])) : value

const asIs: Prune = value => value
/** Schemas are rewritten by their own rules, which are milder than the official schemas. */
const schema: Prune = value => isObject(value) || typeof value === 'boolean' || value === null ? {} : value
const items: Prune = value => isObject(value) ? { type: 'string' } : value
const stub = (replacement: unknown): Prune => value => isObject(value) ? replacement : value

const encoding = only({ contentType: asIs, style: asIs, explode: asIs, allowReserved: asIs })
const mediaType = only({ schema, itemSchema: schema, encoding: each(encoding) })
const content = each(mediaType)
const security: Prune = asIs

/** What is left out often and has one meaning: a path parameter is required, and a parameter without a schema may have any value. */
const tolerant = (prune: Prune): Prune => value => {
  const pruned = prune(value)
  if (!isObject(pruned) || referenceOf(pruned) !== undefined) return pruned
  return {
    ...pruned,
    ...own(pruned, 'in') === 'path' ? { required: true } : {},
    ...Object.hasOwn(pruned, 'schema') || Object.hasOwn(pruned, 'content') ? {} : { schema: {} },
  }
}

const required2 = (prune: Prune): Prune => value => {
  const pruned = prune(value)
  return isObject(pruned) && own(pruned, 'in') === 'path' ? { ...pruned, required: true } : pruned
}

const PRUNED: { readonly [kind in Kind]: (dialect: Dialect) => Prune } = {
  operation: dialect => only({ operationId: asIs, servers: asIs, security, deprecated: asIs, consumes: asIs, produces: asIs, schemes: asIs },
    dialect === '2.0' || dialect === '3.0' ? { responses: { default: { description: '' } } } : {}),
  parameter: dialect => dialect === '2.0'
    ? required2(only({ name: asIs, in: asIs, required: asIs, type: asIs, items, collectionFormat: asIs, schema }))
    : tolerant(only({ name: asIs, in: asIs, required: asIs, style: asIs, explode: asIs, allowReserved: asIs, schema, content })),
  requestBody: dialect => dialect === '2.0' ? only({ name: asIs, in: asIs, required: asIs, schema }) : only({ required: asIs, content }),
  response: dialect => dialect === '2.0' ? only({ schema: stub({}) }, { description: '' }) : only({ content }, { description: '' }),
  securityScheme: dialect => dialect === '2.0'
    ? only({ type: asIs, name: asIs, in: asIs, flow: asIs, authorizationUrl: asIs, tokenUrl: asIs }, {})
    : only({ type: asIs, name: asIs, in: asIs, scheme: asIs, flows: asIs, openIdConnectUrl: asIs }),
}

export interface StructureComplaint {
  /** Below the object asked about. */
  readonly pointer: string
  readonly message: string
}

/** What keeps an object from having the form that OpenAPI gives its kind; undefined where it has it. */
export function checkStructure (dialect: Dialect, kind: Kind, node: unknown): StructureComplaint | undefined {
  const validate = validatorOf(dialect, kind)
  if (validate(PRUNED[kind](dialect)(node)) === true) return undefined
  // Of what the alternatives say, the one that reached deepest was most likely meant.
  const errors = [...validate.errors ?? []].sort((a, b) => b.instancePath.split('/').length - a.instancePath.split('/').length)
  const error = errors[0]
  const extra = error?.params as { readonly additionalProperty?: string, readonly allowedValues?: readonly unknown[] } | undefined
  const at = error?.instancePath ?? ''
  const pointer = extra?.additionalProperty === undefined ? at : childPointer(at, extra.additionalProperty)
  const allowed = extra?.allowedValues === undefined ? '' : `: ${extra.allowedValues.join(', ')}`
  return { pointer, message: `By OpenAPI ${dialect} this ${error?.message ?? 'is not valid'}${allowed}.` }
}
