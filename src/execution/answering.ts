// What the smaller questions of an agent have in common: a refusal is answered, never thrown.
import { Refusal } from '../errors.ts'
import { refusalAnswer } from './answer.ts'
import type { Answer } from './envelope.ts'
import type { Lock } from './lock.ts'
import type { Services } from './services.ts'
import { messageOf } from './state.ts'

export interface Ask {
  readonly authorization: string | undefined
  readonly correlationId: string
}

export interface Listing {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

type Ports = Pick<Services, 'telemetry' | 'lock'>

export async function answering (ask: Ask, { telemetry, lock }: Ports, work: () => Promise<Answer>): Promise<Answer> {
  try {
    return unlessLocked(await work(), lock)
  } catch (error) {
    return refused(error, ask, telemetry)
  }
}

export async function listing (ask: Ask, { telemetry, lock }: Ports, work: () => Promise<Listing['body']>): Promise<Listing> {
  try {
    return { status: 200, body: { ok: true, correlation_id: ask.correlationId, ...unlessLocked(await work(), lock) } }
  } catch (error) {
    const { status, envelope } = refused(error, ask, telemetry)
    return { status, body: { ...envelope } }
  }
}

export type Asked<Value> = { readonly kind: 'told', readonly value: Value } | { readonly kind: 'refused', readonly answer: Answer }

export async function asking<Value> (ask: Ask, { telemetry, lock }: Ports, work: () => Promise<Value>): Promise<Asked<Value>> {
  try {
    return { kind: 'told', value: unlessLocked(await work(), lock) }
  } catch (error) {
    return { kind: 'refused', answer: refused(error, ask, telemetry) }
  }
}

/** It may have been locked while the answer was made. */
function unlessLocked<Value> (value: Value, lock: Lock): Value {
  if (lock.isLocked()) throw Refusal.of('VAULT_LOCKED')
  return value
}

/** Why is for operators alone: the log has it under the correlation id. */
function refused (error: unknown, { correlationId }: Ask, telemetry: Services['telemetry']): Answer {
  const refusal = error instanceof Refusal ? error : Refusal.of('INTERNAL', { internal: messageOf(error) })
  telemetry.refused({ correlationId, code: refusal.code, internal: refusal.details.internal ?? null })
  return refusalAnswer(refusal, correlationId, null)
}
