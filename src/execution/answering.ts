// What the smaller questions of an agent have in common: a refusal is answered, never thrown.
import { Refusal } from '../errors.ts'
import { refusalAnswer } from './answer.ts'
import type { Answer } from './envelope.ts'
import { messageOf } from './state.ts'

export interface Ask {
  readonly authorization: string | undefined
  readonly correlationId: string
}

export interface Listing {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

export async function answering (ask: Ask, work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work()
  } catch (error) {
    return refusalAnswer(refusalOf(error), ask.correlationId, null)
  }
}

export async function listing (ask: Ask, work: () => Promise<Listing['body']>): Promise<Listing> {
  try {
    return { status: 200, body: { ok: true, correlation_id: ask.correlationId, ...await work() } }
  } catch (error) {
    const { status, envelope } = refusalAnswer(refusalOf(error), ask.correlationId, null)
    return { status, body: { ...envelope } }
  }
}

const refusalOf = (error: unknown): Refusal => error instanceof Refusal ? error : Refusal.of('INTERNAL', { internal: messageOf(error) })
