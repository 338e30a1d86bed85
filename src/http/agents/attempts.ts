// What became of calls, and the two things that an agent can still ask for: to cancel one, and to hand one to a person. And the end of its run.
import type { FastifyInstance } from 'fastify'
import { sendAnswer, sendJson } from '../envelope.ts'
import { readCount, readWait } from '../query.ts'
import type { AgentsApi } from './api.ts'
import { COMMON_REFUSALS, envelopeResponse, refusals, TOKEN_SECURITY } from './schemas.ts'
import { whileAwaited } from './while-awaited.ts'

const LIST_DEFAULT = 50
const LIST_MAX = 200

interface AttemptParams {
  readonly id: string
}

/** @param closing aborted when the listener begins to close, so that nobody who waits holds it up */
export function addAttemptRoutes (app: FastifyInstance, api: AgentsApi, closing: AbortSignal): void {
  app.get<{ Params: AttemptParams }>('/v1/attempts/:id', {
    config: { plane: 'agents', auth: 'token' },
    schema: GET_SCHEMA,
  }, async (request, reply) => {
    const waitMs = readWait(request.asked)
    const ask = { authorization: request.headers.authorization, correlationId: request.id, id: request.params.id, waitMs }
    return sendAnswer(reply, await whileAwaited(reply, closing, signal => api.getAttempt({ ...ask, signal })))
  })

  app.get('/v1/attempts', {
    config: { plane: 'agents', auth: 'token' },
    schema: LIST_SCHEMA,
  }, async (request, reply) => {
    const limit = readCount(request.asked, 'limit', LIST_DEFAULT, LIST_MAX)
    const page = await api.listAttempts({ authorization: request.headers.authorization, correlationId: request.id, limit })
    return sendJson(reply, page.status, page.body)
  })

  app.post<{ Params: AttemptParams }>('/v1/attempts/:id/cancel', {
    config: { plane: 'agents', auth: 'token' },
    schema: CANCEL_SCHEMA,
  }, async (request, reply) => {
    const answer = await api.cancelAttempt({ authorization: request.headers.authorization, correlationId: request.id, id: request.params.id })
    return sendAnswer(reply, answer)
  })

  app.post<{ Params: AttemptParams }>('/v1/attempts/:id/escalate', {
    config: { plane: 'agents', auth: 'token' },
    schema: ESCALATE_SCHEMA,
  }, async (request, reply) => {
    const answer = await api.escalateAttempt({ authorization: request.headers.authorization, correlationId: request.id, id: request.params.id })
    return sendAnswer(reply, answer)
  })

  app.post('/v1/run/stop', {
    config: { plane: 'agents', auth: 'token' },
    schema: STOP_SCHEMA,
  }, async (request, reply) => {
    const page = await api.stopRun({ authorization: request.headers.authorization, correlationId: request.id })
    return sendJson(reply, page.status, page.body)
  })
}

const ATTEMPT_PARAMS = { type: 'object', properties: { id: { type: 'string', description: 'The `attempt_id` of an envelope.' } } } as const

const GET_SCHEMA = {
  operationId: 'getAttempt',
  summary: 'Read the outcome of an attempt so far',
  description: 'Only attempts of the same run are found.',
  tags: ['attempts'],
  security: TOKEN_SECURITY,
  params: ATTEMPT_PARAMS,
  querystring: {
    type: 'object',
    properties: {
      wait: { type: 'string', pattern: '^\\d{1,6}(ms|s)$', description: 'Wait so long for it to settle, `30s` or `500ms`; at most 60 s.' },
    },
  },
  response: {
    200: envelopeResponse('Settled.'),
    202: envelopeResponse('Still pending or unknown.'),
    ...refusals([...COMMON_REFUSALS, 'NOT_FOUND', 'STATE_UNAVAILABLE']),
  },
} as const

const LIST_SCHEMA = {
  operationId: 'listAttempts',
  summary: 'List the attempts of this run',
  description: 'The latest first.',
  tags: ['attempts'],
  security: TOKEN_SECURITY,
  querystring: {
    type: 'object',
    properties: { limit: { type: 'integer', minimum: 1, maximum: LIST_MAX, default: LIST_DEFAULT, description: 'At most so many.' } },
  },
  response: {
    200: {
      description: 'Attempts, each as its own envelope.',
      type: 'object',
      required: ['ok', 'correlation_id', 'attempts'],
      properties: { ok: { const: true }, correlation_id: { type: 'string' }, attempts: { type: 'array', items: { $ref: 'Envelope#' } } },
    },
    ...refusals([...COMMON_REFUSALS, 'RUN_REQUIRED', 'STATE_UNAVAILABLE']),
  },
} as const

function changeSchema (operationId: string, summary: string, description: string): object {
  return {
    operationId,
    summary,
    description,
    tags: ['attempts'],
    security: TOKEN_SECURITY,
    params: ATTEMPT_PARAMS,
    response: {
      200: envelopeResponse('Settled.'),
      202: envelopeResponse('Still pending or unknown.'),
      ...refusals([...COMMON_REFUSALS, 'NOT_FOUND', 'STATE_UNAVAILABLE']),
    },
  }
}

const CANCEL_SCHEMA = changeSchema(
  'cancelAttempt',
  'Cancel an attempt that was not sent yet',
  'Says `cancelled`, `too_late` or `already_settled` in `cancel`. What was sent cannot be called back.',
)

const ESCALATE_SCHEMA = changeSchema(
  'escalateAttempt',
  'Hand an unknown or pending attempt to a person',
  'The broker stops looking it up; a person finds out what became of it.',
)

const STOP_SCHEMA = {
  operationId: 'stopRun',
  summary: 'Stop this run',
  description: 'No further call of the run is admitted. What was sent goes on.',
  tags: ['run'],
  security: TOKEN_SECURITY,
  response: {
    200: {
      description: 'The run is stopped.',
      type: 'object',
      required: ['ok', 'correlation_id', 'stopped'],
      properties: { ok: { const: true }, correlation_id: { type: 'string' }, run: { type: 'string' }, stopped: { const: true } },
    },
    ...refusals([...COMMON_REFUSALS, 'RUN_REQUIRED', 'STATE_UNAVAILABLE']),
  },
} as const
