// Step 2: bytes → Call. The surface decodes strictly (http/decode.ts); here only the form of a call is known.
import { isObject } from '../catalog/catalog.ts'
import { Refusal } from '../errors.ts'
import type { Arrival, Call, Caller } from './call.ts'

const REASON_CHARACTERS_MAX = 2_000
/** 1-255 visible ASCII characters. */
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/

export async function decode (arrival: Arrival, caller: Caller): Promise<Call> {
  const { idempotencyKey } = arrival
  if (idempotencyKey !== undefined && !IDEMPOTENCY_KEY.test(idempotencyKey)) {
    throw Refusal.of('MALFORMED_REQUEST', { message: 'The Idempotency-Key must be 1 to 255 visible ASCII characters.', rule: 'idempotency-key' })
  }
  const body = await arrival.body()
  if (!isObject(body)) throw malformed('The body must be an object with "arguments".', '', 'type')
  for (const name of Object.keys(body)) {
    if (name !== 'arguments' && name !== 'reason') {
      throw malformed('The body may hold "arguments" and "reason" only.', pointerTo(name), 'additionalProperties')
    }
  }
  if (!Object.hasOwn(body, 'arguments')) throw malformed('The body must hold "arguments".', '/arguments', 'required')
  return { arrival, caller, arguments: body['arguments']!, reason: readReason(body['reason']), idempotencyKey: idempotencyKey ?? null }
}

function readReason (reason: unknown): string | null {
  if (reason === undefined) return null
  if (typeof reason !== 'string' || reason.length > REASON_CHARACTERS_MAX) {
    throw malformed(`"reason" must be text of at most ${REASON_CHARACTERS_MAX} characters.`, '/reason', 'type')
  }
  return reason
}

const malformed = (message: string, field: string, rule: string): Refusal => Refusal.of('MALFORMED_REQUEST', { message, field, rule })

/** RFC 6901 §3 */
const pointerTo = (name: string): string => `/${name.slice(0, 100).replaceAll('~', '~0').replaceAll('/', '~1')}`
