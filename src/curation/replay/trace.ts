// Recorded calls, one a line: who called what, with which arguments, and what was decided. Arguments may be synthetic, or redacted where they were
// secret.
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js'
import { isObject, type Action, type Json, type JsonObject } from '../../catalog/catalog.ts'
import type { JsonSchema } from '../../catalog/openapi/operation.ts'
import { ACTION_ID_PATTERN, CONSENTS, EFFECTS } from '../../catalog/sheet.ts'
import { propertiesOf, SchemaPlaces, type Place } from '../test/place.ts'
import { smallest } from '../test/smallest.ts'

/** In the place of a value that was taken out; a right one is put there when the call is made again. */
export const REDACTED = '[redacted]'

export interface Trace {
  readonly id?: string
  readonly action: string
  readonly caller: { readonly roles: readonly string[], readonly tenant?: string, readonly run?: string | null, readonly claims?: JsonObject }
  readonly arguments: JsonObject
  readonly key?: string
  /** What the upstream answered to what was read. */
  readonly upstream?: ReadonlyArray<{
    readonly operation: string, readonly status?: number, readonly headers?: { readonly [name: string]: string }, readonly body?: Json,
  }>
  readonly recorded: {
    readonly allowed: boolean
    /** Of a refusal. */
    readonly code?: string
    readonly effect?: string
    readonly consent?: string
  }
}

const text = (description: string): JsonSchema => ({ description, type: 'string', minLength: 1, maxLength: 500 })
const closed = (
  required: readonly string[], properties: { readonly [name: string]: JsonSchema }
): JsonSchema => ({ type: 'object', additionalProperties: false, required, properties })

export const TRACE_SCHEMA: JsonSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Trace',
  description: 'One recorded call, a line of a .jsonl file, for aval replay.',
  ...closed(['action', 'caller', 'arguments', 'recorded'], {
    id: text('What the report calls it; the number of its line where it is not given.'),
    action: { description: 'With its version, get_customer.v1.', type: 'string', pattern: ACTION_ID_PATTERN },
    caller: {
      description: 'The access token.',
      ...closed(['roles'], {
        roles: { description: 'Roles of the policy.', type: 'array', items: { type: 'string', minLength: 1, maxLength: 500 } },
        tenant: text('The tenant; default where it is not given.'),
        run: { description: 'The run; null: the token named none.', type: ['string', 'null'] },
        claims: { description: 'Claims that scopes look at.', type: 'object' },
      }) as object,
    },
    arguments: { description: `"${REDACTED}" stands for a value that was taken out.`, type: 'object' },
    key: text('The Idempotency-Key.'),
    upstream: {
      description: 'What the upstream answered to what was read.',
      type: 'array',
      items: closed(['operation'], {
        operation: text('operationId, or "GET /customers/{id}".'),
        status: { description: '200 where it is not given.', type: 'integer', minimum: 200, maximum: 599 },
        headers: { description: 'Headers of the answer.', type: 'object', additionalProperties: { type: 'string' } },
        body: { description: 'The body of the answer: JSON.' },
      }),
    },
    recorded: {
      description: 'What was decided when it was called.',
      ...closed(['allowed'], {
        allowed: { description: 'Whether it was let through to the upstream.', type: 'boolean' },
        code: text('Of a refusal: the code of the error.'),
        effect: { description: 'The effect that the sheet declared then.', enum: EFFECTS },
        consent: { description: 'The consent that it asked for then.', enum: CONSENTS },
      }) as object,
    },
  }) as object,
}

const validate = new Ajv2020({ strict: false, logger: false, validateSchema: false }).compile(TRACE_SCHEMA as object)

/** The trace, or what is wrong with the line. */
export function readTrace (line: string): Trace | string {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch (error) {
    return `not-json ${(error as Error).message}`
  }
  if (validate(value)) return value as Trace
  const [first] = validate.errors as [ErrorObject]
  const name = first.params['additionalProperty'] ?? first.params['missingProperty']
  const place = first.instancePath === '' ? 'the trace' : first.instancePath
  return `not-a-trace ${place} ${first.message ?? 'is wrong'}${name === undefined ? '' : ` (${String(name)})`}`
}

/** The arguments with right values in the places of those that were taken out. */
export function filled (trace: Trace, action: Action): JsonObject {
  const places = new SchemaPlaces(action.inputSchema as JsonObject)
  return fill(trace.arguments, places.top, places) as JsonObject
}

function fill (value: Json, place: Place | null, places: SchemaPlaces): Json {
  if (value === REDACTED) return (place === null ? undefined : smallest(places, place, { full: false, variant: 0 })) ?? value
  if (Array.isArray(value)) return value.map((item: Json, index) => fill(item, place === null ? null : places.item(place, index), places))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => {
    const known = place !== null && propertiesOf(place).includes(name)
    return [name, fill(member, known ? places.property(place, name) : null, places)]
  }))
}
