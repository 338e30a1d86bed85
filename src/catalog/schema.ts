// JSON Schemas of sheets as checkers: 2020-12, strict, nothing coerced, nothing defaulted; the first fault in words for an agent.
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { isObject, type ArgumentFault, type Json, type JsonObject } from './catalog.ts'
import { suggestion } from './near.ts'
import { compilePattern } from './pattern.ts'
import { resolvePointer } from './shape.ts'
import { pointerTo } from './yaml-file.ts'

/** Throws where a pattern cannot be used: found before, by whoever reads the sheet. */
const linearPattern = Object.assign((source: string) => {
  const compiled = compilePattern(source)
  if (typeof compiled === 'string') throw new Error(compiled)
  return compiled
}, { code: 'compilePattern' })

const OPTIONS = {
  strict: true,
  strictTypes: false,
  strictTuples: false,
  strictRequired: false,
  allErrors: false,
  ownProperties: true,
  coerceTypes: false,
  useDefaults: false,
  removeAdditional: false,
  // 19.99 is a multiple of 0.01, whatever binary fractions make of it.
  multipleOfPrecision: 9,
  // An error then carries the very part of the schema that it is about.
  verbose: true,
  logger: false,
} as const

/** The meta-schema takes a tenth of a second to compile: once a process. */
const meta = new Ajv2020(OPTIONS)

/** What the 2020-12 meta-schema says against a schema, by JSON Pointer within it. */
export function schemaFaults (schema: JsonObject): ReadonlyArray<{ readonly pointer: string, readonly message: string }> {
  if (meta.validateSchema(schema) === true) return []
  const errors = (meta.errors ?? []).filter(error => !['allOf', 'anyOf', '$ref', '$dynamicRef', 'if'].includes(error.keyword))
  const [first] = errors.length > 0 ? errors : meta.errors ?? []
  return first === undefined ? [] : [{ pointer: first.instancePath, message: schemaMessage(first) }]
}

function schemaMessage ({ keyword, params, data, message }: ErrorObject): string {
  if (keyword !== 'enum') return message ?? keyword
  const allowed = (params as { readonly allowedValues: readonly unknown[] }).allowedValues.map(String)
  return `must be one of ${allowed.join(', ')}${typeof data === 'string' ? suggestion(data, allowed) : ''}`
}

export interface Checker {
  /** The first fault, or null. */
  check (value: Json): ArgumentFault | null
}

export const FORMATS: ReadonlySet<string> = new Set([
  'date', 'time', 'date-time', 'iso-time', 'iso-date-time', 'duration', 'uri', 'uri-reference', 'uri-template', 'url', 'email', 'hostname',
  'ipv4', 'ipv6', 'regex', 'uuid',
  'json-pointer', 'json-pointer-uri-fragment', 'relative-json-pointer', 'byte', 'int32', 'int64', 'float', 'double', 'password', 'binary',
])

/** Compiles the schemas of one load; what it holds goes when the load goes. */
export class SchemaCompiler {
  readonly #ajv: Ajv2020

  constructor () {
    this.#ajv = new Ajv2020({ ...OPTIONS, meta: false, validateSchema: false, code: { regExp: linearPattern, optimize: false } })
    addFormats.default(this.#ajv)
  }

  /** @throws Error where ajv cannot take the schema */
  compile (schema: JsonObject): Checker {
    const unions = this.#unionsOf(schema)
    const validate = this.#ajv.compile(schema)
    return { check: value => faultOf(value, validate, unions) }
  }

  /** Only whether a value matches; for the branches of a union. @throws Error */
  matcher (schema: JsonObject): (value: Json) => boolean {
    const validate = this.#ajv.compile(schema)
    return value => {
      try {
        return validate(value)
      } catch {
        return false
      }
    }
  }

  /** A checker for each branch of each union that has a discriminator. */
  #unionsOf (schema: JsonObject): Unions {
    const definitions: JsonObject = schema.$defs === undefined ? {} : { $defs: schema.$defs }
    const unions = new Map<unknown, Union>()
    for (const branches of unionsIn(schema)) {
      const discriminator = discriminatorOf(branches, schema)
      if (discriminator === null) continue
      const validates = branches.map(branch => this.#ajv.compile({ ...branch as JsonObject, ...definitions }))
      // What is wrong within a branch may again stand in one of these unions.
      const checkers = validates.map((validate): Checker => ({ check: value => faultOf(value, validate, unions) }))
      unions.set(branches, { ...discriminator, checkers })
    }
    return unions
  }
}

interface Union {
  readonly property: string
  readonly values: readonly Json[]
  readonly checkers: readonly Checker[]
}

/** By the list of branches itself: that, and not its place, is what ajv tells whatever way led there. */
type Unions = ReadonlyMap<unknown, Union>

function * unionsIn (schema: Json): Generator<readonly Json[]> {
  if (Array.isArray(schema)) {
    for (const item of schema) yield * unionsIn(item as Json)
  } else if (isObject(schema)) {
    for (const keyword of ['oneOf', 'anyOf']) {
      const branches = schema[keyword]
      if (Array.isArray(branches)) yield branches as readonly Json[]
    }
    for (const [keyword, part] of Object.entries(schema)) {
      if (!DATA_KEYWORDS.has(keyword)) yield * unionsIn(part)
    }
  }
}

/** What stands under these is data, not schema. */
export const DATA_KEYWORDS: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'example', 'examples'])

/** The property that every branch fixes to another constant. */
function discriminatorOf (branches: readonly Json[], root: JsonObject): { readonly property: string, readonly values: readonly Json[] } | null {
  const all = branches.map(branch => constantsOf(branch, root))
  const [first] = all
  for (const property of first?.keys() ?? []) {
    const values = all.map(constants => constants.get(property))
    if (values.every(value => value !== undefined) && new Set(values).size === values.length) return { property, values: values as Json[] }
  }
  return null
}

function constantsOf (branch: Json, root: JsonObject, depth = 0): ReadonlyMap<string, Json> {
  const constants = new Map<string, Json>()
  if (!isObject(branch) || depth > 8) return constants
  if (typeof branch.$ref === 'string') {
    const target = resolvePointer(root, branch.$ref) as Json
    for (const [name, value] of constantsOf(target, root, depth + 1)) constants.set(name, value)
  }
  if (isObject(branch.properties)) {
    for (const [name, property] of Object.entries(branch.properties)) {
      if (isObject(property) && property.const !== undefined) constants.set(name, property.const)
    }
  }
  return constants
}

function faultOf (value: Json, validate: ValidateFunction, unions: Unions): ArgumentFault | null {
  try {
    if (validate(value)) return null
  } catch {
    // Only depth makes a compiled check throw, and depth is bounded before; still, what cannot be checked is refused.
    return { pointer: '', rule: 'depth', message: 'The arguments are nested too deeply.' }
  }
  const errors = validate.errors ?? []
  const last = errors.at(-1)
  if (last === undefined) return { pointer: '', rule: 'schema', message: 'The arguments do not match the input schema.' }
  // `if` and `not` come after what they rest on; the first of them says what is wrong.
  const error = last.keyword === 'if' ? errors[0]! : last
  if (error.keyword === 'oneOf' || error.keyword === 'anyOf') {
    const within = faultOfBranch(value, error, unions)
    if (within !== null) return within
  }
  return describe(error)
}

/** The branch that the discriminator names is the one that was meant: its fault is the one that helps. */
function faultOfBranch (value: Json, error: ErrorObject, unions: Unions): ArgumentFault | null {
  const union = unions.get(error.schema)
  const part = resolvePointer(value, `#${encodePointer(error.instancePath)}`) as Json | undefined
  if (union === undefined || !isObject(part)) return null
  const at = pointerTo(error.instancePath, union.property)
  const chosen = part[union.property]
  if (chosen === undefined) {
    return { pointer: at, rule: 'required', message: `"${union.property}" is missing; it chooses one of ${listed(union.values)}.` }
  }
  const index = union.values.indexOf(chosen)
  if (index === -1) return { pointer: at, rule: 'const', message: `"${union.property}" must be one of ${listed(union.values)}.` }
  const fault = union.checkers[index]!.check(part)
  return fault === null ? null : { ...fault, pointer: `${error.instancePath}${fault.pointer}` }
}

/** Values of an instance path are JSON Pointer text already; percent signs in it must survive the URI fragment form. */
const encodePointer = (pointer: string): string => pointer.replaceAll('%', '%25')

const listed = (values: readonly Json[]): string => values.map(value => JSON.stringify(value)).join(', ')

/** A name that an agent sent, short and quoted. */
const quoted = (name: string): string => JSON.stringify(name.length > 64 ? `${name.slice(0, 64)}…` : name)

function describe (error: ErrorObject): ArgumentFault {
  const params = error.params as { readonly [name: string]: unknown }
  const at = error.instancePath
  const told = (message: string, pointer = at): ArgumentFault => ({ pointer, rule: error.keyword, message })
  switch (error.keyword) {
    case 'additionalProperties':
    case 'unevaluatedProperties': {
      const name = String(params.additionalProperty ?? params.unevaluatedProperty)
      return told(`${quoted(name)} is not a property that can be given here.`, pointerTo(at, name))
    }
    case 'required': {
      const name = String(params.missingProperty)
      return told(`${quoted(name)} is missing.`, pointerTo(at, name))
    }
    case 'type': return told(`Must be of the type ${String(params.type).replaceAll(',', ' or ')}.`)
    case 'enum': return told(`Must be one of ${listed(params.allowedValues as Json[]).slice(0, 500)}.`)
    case 'const': return told(`Must be ${listed([params.allowedValue as Json])}.`)
    case 'format': return told(`Must be a valid ${String(params.format)}.`)
    case 'pattern': return told(`Must match the pattern ${String(params.pattern)}.`)
    case 'oneOf':
    case 'anyOf': return told('Does not match exactly one of the forms that can be given here.')
    case 'false schema': return told('Nothing can be given here.')
    default: return told(`${(error.message ?? error.keyword).replace(/^./, first => first.toUpperCase())}.`)
  }
}
