// What waits for a person's yes: how it stands, taking it back, and carrying it out once it is approved. Nothing here decides.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Json } from '../../catalog/catalog.ts'
import { BODY_BYTES_MAX, readBody } from '../body.ts'
import { decodeJson } from '../decode.ts'
import { sendAnswer } from '../envelope.ts'
import { hasBody, inviteBody } from '../node-server.ts'
import { readWait } from '../query.ts'
import type { AgentsApi } from './api.ts'
import { CALL_REFUSALS, COMMON_REFUSALS, envelopeResponse, refusals, TOKEN_SECURITY } from './schemas.ts'
import { whileAwaited } from './while-awaited.ts'

interface ProposalParams {
  readonly id: string
}

/**
 * @param closing aborted when the listener begins to close, so that nobody who waits holds it up
 * @param markSource turns the address of a client into what the audit keeps of it
 */
export function addProposalRoutes (app: FastifyInstance, api: AgentsApi, closing: AbortSignal, markSource: (address: string) => string | null): void {
  app.get<{ Params: ProposalParams }>('/v1/proposals/:id', {
    config: { plane: 'agents', auth: 'token' },
    schema: GET_SCHEMA,
  }, async (request, reply) => {
    const ask = { ...askOf(request), waitMs: readWait(request.asked) }
    return sendAnswer(reply, await whileAwaited(reply, closing, signal => api.getProposal({ ...ask, signal })))
  })

  app.delete<{ Params: ProposalParams }>('/v1/proposals/:id', {
    config: { plane: 'agents', auth: 'token' },
    schema: WITHDRAW_SCHEMA,
  }, async (request, reply) => sendAnswer(reply, await api.withdrawProposal(askOf(request))))

  app.post<{ Params: ProposalParams }>('/v1/proposals/:id/commit', {
    config: { plane: 'agents', auth: 'token', takesBody: true },
    schema: COMMIT_SCHEMA,
  }, async (request, reply) => sendAnswer(reply, await api.commitProposal({
    ...askOf(request),
    surface: 'http',
    source: markSource(request.ip),
    traceparent: request.headers['traceparent'] as string | undefined,
    arrivedAtMs: performance.now(),
    body: async (): Promise<Json | undefined> => {
      if (!hasBody(request.raw)) return undefined
      inviteBody(request.raw, reply.raw)
      return decodeJson(await readBody(request.raw, request.headers, { bytesMax: BODY_BYTES_MAX }))
    },
  })))
}

const askOf = (request: FastifyRequest<{ Params: ProposalParams }>): { authorization: string | undefined, correlationId: string, id: string } =>
  ({ authorization: request.headers.authorization, correlationId: request.id, id: request.params.id })

const PROPOSAL_PARAMS = { type: 'object', properties: { id: { type: 'string', description: 'The `proposal.id` of an envelope.' } } } as const

const GET_SCHEMA = {
  operationId: 'getProposal',
  summary: 'Read how a proposal stands',
  description: 'Only proposals of the same run are found. Of one that was carried out, the answer is that of its attempt.',
  tags: ['proposals'],
  security: TOKEN_SECURITY,
  params: PROPOSAL_PARAMS,
  querystring: {
    type: 'object',
    properties: {
      wait: { type: 'string', pattern: '^\\d{1,6}(ms|s)$', description: 'Wait so long for a decision, `30s` or `500ms`; at most 60 s.' },
    },
  },
  response: {
    200: envelopeResponse('Carried out and settled, or ended without being carried out: `error.code` says how.'),
    202: envelopeResponse('It waits for a decision or is approved; or what carries it out is pending or unknown.'),
    ...refusals([...COMMON_REFUSALS, 'NOT_FOUND', 'STATE_UNAVAILABLE']),
  },
} as const

const WITHDRAW_SCHEMA = {
  operationId: 'withdrawProposal',
  summary: 'Take a proposal back',
  description: 'Nobody can approve or commit it any more. What was carried out cannot be taken back; the answer says what became of it.',
  tags: ['proposals'],
  security: TOKEN_SECURITY,
  params: PROPOSAL_PARAMS,
  response: {
    200: envelopeResponse('Taken back, or ended before: `error.code` says how.'),
    202: envelopeResponse('It was carried out before; that is pending or unknown.'),
    ...refusals([...COMMON_REFUSALS, 'NOT_FOUND', 'STATE_UNAVAILABLE']),
  },
} as const

const COMMIT_SCHEMA = {
  operationId: 'commitProposal',
  summary: 'Carry out what was approved',
  description: 'Sends exactly what people approved, at most once, or nothing where anything that they approved it for has changed. Takes no arguments. A ' +
    'repeat is answered with the attempt.',
  tags: ['proposals'],
  security: TOKEN_SECURITY,
  params: PROPOSAL_PARAMS,
  body: { description: 'Empty, or `{}`.', type: 'object', additionalProperties: false, properties: {} },
  response: {
    200: envelopeResponse('Settled: completed, already_in_desired_state, or rejected by the upstream.'),
    202: envelopeResponse('Pending or unknown: `Location` says where to ask for what becomes of it.'),
    ...refusals([...CALL_REFUSALS, 'NOT_FOUND'], { 422: 'Or a code that the sheet of the action declares for its business rules.' }),
  },
} as const
