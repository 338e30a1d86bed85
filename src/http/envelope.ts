// How a surface over HTTP writes its one envelope: a refusal of the boundary, an answer of the execution, a plain page of data.
import type { FastifyReply } from 'fastify'
import type { Answer, Envelope } from '../execution/envelope.ts'
import { ERRORS, Refusal, type ErrorCode } from '../errors.ts'

/** The envelope of a refusal: it says that nothing was sent by the request that it answers. */
export function refusalEnvelope (refusal: Refusal, correlationId: string): Envelope {
  const { details } = refusal
  return {
    ok: false,
    outcome: 'rejected',
    correlation_id: correlationId,
    sent: false,
    error: {
      code: refusal.code,
      message: refusal.message,
      retryable: refusal.retryable,
      field: details.field ?? null,
      rule: details.rule ?? null,
      cause: details.cause ?? null,
      hint: details.hint ?? null,
      retry_after_seconds: details.retryAfterSeconds ?? null,
    },
  }
}

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
  FST_ERR_ROUTE_MISSING_CONTENT_TYPE: 'UNSUPPORTED_MEDIA_TYPE',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'UNSUPPORTED_MEDIA_TYPE',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'MALFORMED_REQUEST',
}

export function sendRefusal (reply: FastifyReply, refusal: Refusal): FastifyReply {
  if (refusal.details.retryAfterSeconds !== undefined) reply.header('retry-after', String(refusal.details.retryAfterSeconds))
  return sendJson(reply, refusal.status, refusalEnvelope(refusal, reply.request.id))
}

export function sendAnswer (reply: FastifyReply, answer: Answer): FastifyReply {
  if (answer.location !== null) reply.header('location', answer.location)
  if (answer.retryAfterSeconds !== null) reply.header('retry-after', String(answer.retryAfterSeconds))
  return sendJson(reply, answer.status, answer.envelope)
}

export function sendJson (reply: FastifyReply, status: number, body: object): FastifyReply {
  // RFC 9110 §11.6.1: a 401 must name a scheme. RFC 6750 §3.1: an error is named only where a token was sent.
  if (status === ERRORS.UNAUTHENTICATED.status) {
    reply.header('www-authenticate', reply.request.headers.authorization === undefined ? 'Bearer' : 'Bearer error="invalid_token"')
  }
  return reply.code(status).header('content-type', 'application/json; charset=utf-8').send(JSON.stringify(body))
}
