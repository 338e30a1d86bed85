// How a listener writes what it answers: a refusal of the boundary and an answer of the execution in the one envelope, or a page of data.
import type { FastifyReply } from 'fastify'
import { ERRORS, Refusal, type ErrorCode } from '../errors.ts'
import { refusalAnswer } from '../execution/answer.ts'
import type { Answer } from '../execution/envelope.ts'

/** What a fault that reached the boundary is answered as. `fault` is true where it is one of the broker's own, to be told to operators. */
export function refusalOf (error: unknown): { readonly refusal: Refusal, readonly fault: boolean } {
  if (error instanceof Refusal) return { refusal: error, fault: false }
  const known = FRAMEWORK_CODES[(error as { code?: string } | null)?.code ?? '']
  if (known !== undefined) return { refusal: Refusal.of(known), fault: false }
  return { refusal: Refusal.of('INTERNAL'), fault: true }
}

/** What Fastify itself refuses, before or around our own checks. */
const FRAMEWORK_CODES: { readonly [code: string]: ErrorCode | undefined } = {
  FST_ERR_BAD_URL: 'MALFORMED_REQUEST',
  FST_ERR_MAX_PARAM_LENGTH: 'MALFORMED_REQUEST',
}

export const sendRefusal = (reply: FastifyReply, refusal: Refusal): FastifyReply =>
  sendAnswer(reply, refusalAnswer(refusal, reply.request.id, null))

export function sendAnswer (reply: FastifyReply, answer: Answer): FastifyReply {
  if (answer.location !== null) reply.header('location', answer.location)
  if (answer.retryAfterSeconds !== null) reply.header('retry-after', String(answer.retryAfterSeconds))
  return sendText(reply, answer.status, textOf(answer))
}

export const sendJson = (reply: FastifyReply, status: number, body: object): FastifyReply => sendText(reply, status, JSON.stringify(body))

/** A result too deep to be written must not turn a call that was dispatched into a 500, which would say that it was not. */
function textOf (answer: Answer): string {
  try {
    return JSON.stringify(answer.envelope)
  } catch {
    return JSON.stringify({ ...answer.envelope, result: null, withheld: 'RESULT_INVALID' })
  }
}

function sendText (reply: FastifyReply, status: number, text: string): FastifyReply {
  // RFC 9110 §11.6.1: a 401 must name a scheme. RFC 6750 §3.1: an error is named only where a token was sent.
  if (status === ERRORS.UNAUTHENTICATED.status && !reply.hasHeader('www-authenticate')) {
    reply.header('www-authenticate', reply.request.headers.authorization === undefined ? 'Bearer' : 'Bearer error="invalid_token"')
  }
  return reply.code(status).header('content-type', 'application/json; charset=utf-8').send(text)
}
