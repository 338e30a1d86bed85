// The request of a draft and the arguments that fill it: what the operation requires and what a person asked for beside it.
import { forbiddenChoice } from '../../catalog/input.ts'
import { isReservedHeader } from '../../catalog/header-names.ts'
import { supportsMediaType } from '../../catalog/openapi/media-type.ts'
import type { BodyDefinition, JsonSchema, Operation, Parameter } from '../../catalog/openapi/operation.ts'
import type { OperationWords } from '../../catalog/openapi/words.ts'
import { isJson } from '../../catalog/variables.ts'
import type { Json } from '../../catalog/catalog.ts'
import { Judged, type Drafted, type DraftedObject } from './drafted.ts'
import { argumentName, looksSecret, objectType } from './names.ts'
import { listed, narrow } from './narrow.ts'
import { plainSchema, type PlainSchema } from '../plain-schema.ts'
import { sampleOf } from '../sample.ts'

const FIELDS = { path: 'path', query: 'query', header: 'headers', cookie: 'cookies' } as const
const BODY_DEPTH_MAX = 4

export interface RequestDraft {
  readonly request: DraftedObject
  /** Arguments by name, in the order of the request. */
  readonly properties: ReadonlyMap<string, Drafted>
  readonly required: readonly string[]
  /** What the operation takes beside that, and was left out. */
  readonly optional: readonly string[]
  /** The argument in the last place of the path: which object it is about. */
  readonly objectArgument: string | null
  /** Required parameters that are a credential's: neither the agent nor a sheet may hold what goes there. */
  readonly secrets: ReadonlyArray<Pick<Parameter, 'in' | 'name'>>
  /** The header that takes an idempotency key, and whether the operation cannot do without. */
  readonly idempotency: { readonly header: string, readonly required: boolean } | null
  readonly takesVersion: boolean
  readonly hard: readonly string[]
  /** Of `extra`, what the operation does not take. */
  readonly unknown: readonly string[]
}

/** @param credentials parameters that only a credential may use, `header:x-api-key`, names in lower case */
export function draftRequest (
  operation: Operation, words: OperationWords, credentials: ReadonlySet<string>, extra: readonly string[]
): RequestDraft {
  return new Drafting(operation, words, credentials, extra).draft()
}

class Drafting {
  readonly #operation: Operation
  readonly #words: OperationWords
  readonly #credentials: ReadonlySet<string>
  readonly #wanted: Set<string>
  readonly #properties = new Map<string, Drafted>()
  readonly #required: string[] = []
  readonly #optional: string[] = []
  readonly #secrets: Parameter[] = []
  readonly #hard = new Set<string>()
  readonly #places = new Map<string, Map<string, Drafted>>()
  #objectArgument: string | null = null
  #idempotency: RequestDraft['idempotency'] = null
  #takesVersion = false

  constructor (operation: Operation, words: OperationWords, credentials: ReadonlySet<string>, extra: readonly string[]) {
    this.#operation = operation
    this.#words = words
    this.#credentials = credentials
    this.#wanted = new Set(extra)
  }

  draft (): RequestDraft {
    for (const parameter of this.#operation.parameters) this.#parameter(parameter)
    const body = this.#body()
    const request = Object.fromEntries([...this.#places].map(([field, values]) => [field, Object.fromEntries(values)]))
    return {
      request: { ...request, ...body },
      properties: this.#properties,
      required: this.#required,
      optional: this.#optional,
      objectArgument: this.#objectArgument,
      secrets: this.#secrets,
      idempotency: this.#idempotency,
      takesVersion: this.#takesVersion,
      hard: [...this.#hard],
      unknown: [...this.#wanted],
    }
  }

  #parameter (parameter: Parameter): void {
    const { name, in: where, schema } = parameter
    const required = parameter.required || where === 'path'
    if (where === 'header' && /^(x-)?idempoten(cy|t)(-|_)?(key|id|token)$/i.test(name)) {
      this.#idempotency = { header: name, required }
      return
    }
    if (where === 'header' && /^if-(match|unmodified-since)$/i.test(name)) this.#takesVersion = true
    if (where !== 'path' && this.#isSecret(where, name)) {
      if (required) this.#secrets.push(parameter)
      return
    }
    const wanted = this.#wanted.delete(name)
    if (!required && !wanted) {
      if (where === 'query') this.#optional.push(name)
      return
    }
    if (where === 'header' || where === 'cookie') {
      if (required) this.#writtenOut(parameter)
      return
    }
    // Whose id it is, is said by the path alone.
    const { path } = this.#operation
    const object = where === 'path' && /^_?(id|uuid|key)$/i.test(name) ? objectType(path.slice(0, path.indexOf(`{${name}}`) + 1)) : null
    const offered = object === null ? name : `${object}_${name}`
    const value = this.#value(schema, schema, offered, [], required, this.#words.parameters.get(`${where}:${name}`) ?? '')
    if (where === 'path') this.#objectArgument = typeof value === 'string' ? /^\$\{args\.(\w+)\}$/.exec(value)?.[1] ?? null : null
    this.#place(where, name, value)
  }

  /** A scheme of the document may also be an id that goes with the secret, which is none. */
  #isSecret (where: string, name: string): boolean {
    if (looksSecret(name) || forbiddenChoice(name, false)?.rule === 'input-chooses-credential') return true
    return this.#credentials.has(`${where}:${name.toLowerCase()}`) && !/id$/i.test(name)
  }

  /** A header or a cookie is never the agent's. */
  #writtenOut ({ name, in: where, schema }: Parameter): void {
    if (where === 'header' && isReservedHeader(name.toLowerCase())) return
    this.#hard.add(`needs a ${where}`)
    const plain = plainSchema(schema, schema)
    const sample = plain === null ? 'x' : sampleOf(plain, schema)
    const isVersion = /^if-/i.test(name)
    const what = isVersion ? 'the version that was read belongs here: reads, target.version' : 'write its value out, here or in upstream.yaml'
    this.#place(where, name, new Judged(literal(sample), `the operation needs this ${where}; ${what}`))
  }

  #place (where: keyof typeof FIELDS, name: string, value: Drafted): void {
    const field = FIELDS[where]
    const values = this.#places.get(field) ?? new Map<string, Drafted>()
    this.#places.set(field, values.set(name, value))
  }

  /** The value of a parameter or of a field of the body: an argument, or what a person writes out. */
  #value (schema: JsonSchema, root: JsonSchema, name: string, around: readonly string[], required: boolean, described = ''): Drafted {
    const argument = argumentName(name, around, new Set(this.#properties.keys()))
    const narrowed = narrow(schema, root, argument, described)
    if (narrowed.kind === 'fixed') return literal(narrowed.value)
    if (narrowed.kind === 'written') {
      this.#hard.add(narrowed.hard)
      return new Judged(literal(narrowed.sample), `write this out: ${narrowed.why}`)
    }
    this.#properties.set(argument, narrowed.schema)
    if (required) this.#required.push(argument)
    return required ? `\${args.${argument}}` : `\${args.?${argument}}`
  }

  #body (): DraftedObject {
    const definition = bodyOf(this.#operation)
    if (definition === null) return {}
    const { mediaType, schema } = definition
    if (!isJson(mediaType)) this.#hard.add(`body of ${mediaType}`)
    if (!supportsMediaType(mediaType)) this.#hard.add('body that cannot be sent')
    const isOnlyChoice = isJson(mediaType) || this.#operation.bodies.size === 1
    const chosen = isOnlyChoice ? {} : { media_type: mediaType }
    const plain = plainSchema(schema, schema)
    if (plain?.type === 'object' && plain.properties.size > 0) {
      const needed = this.#operation.bodyRequired || plain.required.size > 0 || [...plain.properties.keys()].some(name => this.#wanted.has(name))
      const body = this.#object(plain, schema, [])
      return needed || !isReading(this.#operation.method) ? { ...chosen, body } : {}
    }
    if (!this.#operation.bodyRequired) return {}
    if (plain?.type === 'array') return { ...chosen, body: this.#value(schema, schema, 'items', [], true) }
    this.#hard.add('body that the document does not describe')
    const sample = plain === null || plain.type === null ? {} : sampleOf(plain, schema)
    return { ...chosen, body: new Judged(literal(sample), 'write the body out: an agent must not send one whole') }
  }

  /** Written out field by field: every value has its own place, and the arguments stay flat. */
  #object (plain: PlainSchema, root: JsonSchema, around: readonly string[]): Drafted {
    const fields: Array<readonly [string, Drafted]> = []
    for (const [name, schema] of plain.properties) {
      const wanted = around.length === 0 && this.#wanted.delete(name)
      if (!plain.required.has(name) && !wanted) {
        if (around.length === 0) this.#optional.push(name)
        continue
      }
      const part = plainSchema(schema, root)
      const nested = part?.type === 'object' && part.required.size > 0 && plain.required.has(name) && around.length < BODY_DEPTH_MAX
      fields.push([name, nested ? this.#object(part, root, [...around, name]) : this.#value(schema, root, name, around, plain.required.has(name))])
    }
    if (fields.length > 0) return Object.fromEntries(fields)
    this.#hard.add('body without required fields')
    return new Judged({}, `nothing in the body is required; it may hold ${listed([...plain.properties.keys()])}`)
  }
}

const isReading = (method: string): boolean => method === 'GET' || method === 'HEAD'

function bodyOf (operation: Operation): BodyDefinition | null {
  const bodies = [...operation.bodies.values()]
  return bodies.find(body => isJson(body.mediaType)) ?? bodies.find(body => supportsMediaType(body.mediaType)) ?? bodies[0] ?? null
}

/** A value of the document as a sheet writes it: nothing in it is an expression. */
function literal (value: Json): Json {
  if (typeof value === 'string') return value.replaceAll('${', '$${')
  if (Array.isArray(value)) return value.map(item => literal(item as Json))
  if (typeof value === 'object' && value !== null) return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, literal(item)]))
  return value
}
