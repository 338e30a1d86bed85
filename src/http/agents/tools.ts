// The caller's actions as tools, in the form in which a provider of models takes them.
import type { FastifyInstance } from 'fastify'
import { FORMATS, type Format } from '../../tools/forms.ts'
import { Refusal } from '../../errors.ts'
import { sendJson } from '../envelope.ts'
import { readChoice } from '../query.ts'
import type { AgentsApi } from './api.ts'
import { COMMON_REFUSALS, refusals, TOKEN_SECURITY } from './schemas.ts'

export function addToolRoutes (app: FastifyInstance, api: AgentsApi): void {
  app.get('/v1/tools', {
    config: { plane: 'agents', auth: 'token' },
    schema: EXPORT_SCHEMA,
  }, async (request, reply) => {
    const format = readChoice(request.asked, 'format', FORMATS) as Format | null
    if (format === null) throw Refusal.of('MALFORMED_REQUEST', { rule: 'format', hint: `format is one of ${FORMATS.join(', ')}.` })
    const page = await api.exportTools({ authorization: request.headers.authorization, correlationId: request.id, format })
    return sendJson(reply, page.status, page.body)
  })
}

const EXPORT_SCHEMA = {
  operationId: 'exportTools',
  summary: 'Export the actions of this caller as tools of a model',
  description: 'What a form cannot say is listed beside it; the broker holds it all the same. A call is still `POST /v1/actions/{action}`, by the name in `actions`.',
  tags: ['actions'],
  security: TOKEN_SECURITY,
  querystring: {
    type: 'object',
    required: ['format'],
    properties: { format: { type: 'string', enum: FORMATS, description: 'Whose form.' } },
  },
  response: {
    200: {
      description: 'All tools, by name.',
      type: 'object',
      required: ['ok', 'correlation_id', 'format', 'tools', 'actions', 'losses'],
      properties: {
        ok: { const: true },
        correlation_id: { type: 'string' },
        format: { type: 'string' },
        tools: { type: 'array', items: { type: 'object' }, description: 'To be put into a request of the provider as they are.' },
        actions: { type: 'object', description: 'By the name of a tool: the action to call.' },
        losses: { type: 'array', items: { type: 'object' }, description: 'What a schema cannot say: tool, pointer, keyword, and what becomes of it.' },
      },
    },
    ...refusals(COMMON_REFUSALS),
  },
} as const
