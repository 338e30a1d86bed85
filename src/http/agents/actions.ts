// What a caller may call, and the call itself.
import type { FastifyInstance } from 'fastify'
import type { Effect } from '../../catalog/catalog.ts'
import type { Arrival } from '../../execution/call.ts'
import { BODY_BYTES_MAX, readBody } from '../body.ts'
import { decodeJson } from '../decode.ts'
import { sendAnswer, sendJson } from '../envelope.ts'
import { inviteBody } from '../node-server.ts'
import { readChoice, readCount } from '../query.ts'
import type { AgentsApi } from './api.ts'
import { CALL_REFUSALS, COMMON_REFUSALS, envelopeResponse, refusals, TOKEN_SECURITY } from './schemas.ts'

const EFFECTS: readonly Effect[] = ['observation', 'reversible_change', 'external_commitment', 'irreversible_change']
/** How the arguments were filled in, where that changes what they mean. */
const PROFILES = ['openai-strict']
const PAGE_DEFAULT = 50
const PAGE_MAX = 200

const ACTION_PARAMS = {
  type: 'object',
  properties: { action: { type: 'string', description: 'An action of the list, `change_shipping_address.v2`.' } },
} as const

interface ActionParams {
  readonly action: string
}

/** @param markSource turns the address of a client into what the audit keeps of it */
export function addActionRoutes (app: FastifyInstance, api: AgentsApi, markSource: (address: string) => string | null): void {
  app.get('/v1/actions', {
    config: { plane: 'agents', auth: 'token' },
    schema: LIST_SCHEMA,
  }, async (request, reply) => {
    const { asked } = request
    const page = await api.listActions({
      authorization: request.headers.authorization,
      correlationId: request.id,
      query: asked.get('query') ?? null,
      effect: readChoice(asked, 'effect', EFFECTS) as Effect | null,
      limit: readCount(asked, 'limit', PAGE_DEFAULT, PAGE_MAX),
      cursor: asked.get('cursor') ?? null,
    })
    return sendJson(reply, page.status, page.body)
  })

  app.get<{ Params: ActionParams }>('/v1/actions/:action', {
    config: { plane: 'agents', auth: 'token' },
    schema: DESCRIBE_SCHEMA,
  }, async (request, reply) => {
    const ask = { authorization: request.headers.authorization, correlationId: request.id, actionId: request.params.action }
    const page = await api.describeAction(ask)
    return sendJson(reply, page.status, page.body)
  })

  app.post<{ Params: ActionParams }>('/v1/actions/:action', {
    config: { plane: 'agents', auth: 'token', takesBody: true },
    schema: CALL_SCHEMA,
  }, async (request, reply) => {
    const arrival: Arrival = {
      surface: 'http',
      correlationId: request.id,
      actionId: request.params.action,
      authorization: request.headers.authorization,
      idempotencyKey: request.headers['idempotency-key'] as string | undefined,
      traceparent: request.headers['traceparent'] as string | undefined,
      nullIsAbsent: readChoice(request.asked, 'profile', PROFILES) !== null,
      source: markSource(request.ip),
      arrivedAtMs: performance.now(),
      body: async () => {
        inviteBody(request.raw, reply.raw)
        return decodeJson(await readBody(request.raw, request.headers, { bytesMax: BODY_BYTES_MAX }))
      },
    }
    return sendAnswer(reply, await api.execute(arrival))
  })
}

const LIST_SCHEMA = {
  operationId: 'listActions',
  summary: 'List the actions that this caller may call',
  description: 'By name, a page at a time. What is listed is what may be called.',
  tags: ['actions'],
  security: TOKEN_SECURITY,
  querystring: {
    type: 'object',
    properties: {
      query: { type: 'string', description: 'Words that must all stand in the name, title or description.' },
      effect: { type: 'string', enum: EFFECTS, description: 'Only actions of this consequence.' },
      limit: { type: 'integer', minimum: 1, maximum: PAGE_MAX, default: PAGE_DEFAULT, description: 'Actions in a page.' },
      cursor: { type: 'string', description: '`next_cursor` of the page before. It ends with the catalog that it came from.' },
    },
  },
  response: {
    200: {
      description: 'A page of actions.',
      type: 'object',
      required: ['ok', 'correlation_id', 'actions', 'next_cursor'],
      properties: {
        ok: { const: true },
        correlation_id: { type: 'string' },
        actions: { type: 'array', items: { $ref: 'ListedAction#' } },
        next_cursor: { type: ['string', 'null'], description: 'null: this is the last page.' },
      },
    },
    ...refusals(COMMON_REFUSALS),
  },
} as const

const DESCRIBE_SCHEMA = {
  operationId: 'describeAction',
  summary: 'Read the whole contract of an action',
  description: 'Schemas, consequence, consent, rules in words, errors, examples.',
  tags: ['actions'],
  security: TOKEN_SECURITY,
  params: ACTION_PARAMS,
  response: {
    200: {
      description: 'The contract.',
      type: 'object',
      required: ['ok', 'correlation_id', 'action'],
      properties: { ok: { const: true }, correlation_id: { type: 'string' }, action: { $ref: 'Contract#' } },
    },
    ...refusals([...COMMON_REFUSALS, 'UNKNOWN_ACTION']),
  },
} as const

const CALL_SCHEMA = {
  operationId: 'callAction',
  summary: 'Call an action',
  description: 'Sends at most one write. A repeat with the same Idempotency-Key, or of an equal write, is answered with the attempt that it repeats.',
  tags: ['actions'],
  security: TOKEN_SECURITY,
  params: ACTION_PARAMS,
  querystring: {
    type: 'object',
    properties: {
      profile: {
        type: 'string',
        enum: PROFILES,
        description: 'The arguments come from a model that was given the tools of this format: null stands for an optional argument that is absent.',
      },
    },
  },
  headers: {
    type: 'object',
    properties: {
      'Idempotency-Key': {
        type: 'string',
        minLength: 1,
        maxLength: 255,
        pattern: '^[!-~]+$',
        description: 'Names this call, so that a repeat of it is known as one. Needed where the action is repeatable.',
      },
    },
  },
  body: {
    description: 'Strict JSON: no key twice, at most 32 levels and 64 KiB, numbers that a double keeps exactly.',
    type: 'object',
    additionalProperties: false,
    required: ['arguments'],
    properties: {
      arguments: { type: 'object', description: 'By the input schema of the action.' },
      reason: { type: 'string', maxLength: 2000, description: 'Kept as text for people. No rule reads it.' },
    },
  },
  response: {
    200: envelopeResponse('Settled: completed, already_in_desired_state, or rejected by the upstream.'),
    202: envelopeResponse('Pending or unknown: `Location` says where to ask for what becomes of it.'),
    ...refusals(CALL_REFUSALS, { 422: 'Or a code that the sheet of the action declares for its business rules.' }),
  },
} as const
