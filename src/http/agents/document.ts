// The broker's own OpenAPI document, made of its routes, and a page for people made of that document. Neither needs a token.
import { createHash } from 'node:crypto'
import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import aval from '../../../package.json' with { type: 'json' }
import { renderPage, STYLE, type BrokerDocument } from './page.ts'
import { CONTRACT_SCHEMA, ENVELOPE_SCHEMA, ERROR_SCHEMA, LISTED_ACTION_SCHEMA, PROPOSAL_SCHEMA } from './schemas.ts'

const PAGE_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** To be registered before the routes that the document speaks of. */
export function addDocument (app: FastifyInstance): void {
  for (const schema of [ENVELOPE_SCHEMA, PROPOSAL_SCHEMA, ERROR_SCHEMA, LISTED_ACTION_SCHEMA, CONTRACT_SCHEMA]) app.addSchema(schema)
  app.register(swagger, {
    convertConstToEnum: false,
    refResolver: { buildLocalReference: (json, _baseUri, _fragment, count) => typeof json.$id === 'string' ? json.$id : `Schema${count}` },
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Aval',
        version: aval.version,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
        description: 'A small catalog of bounded actions on HTTP APIs, for agents. Every call is answered with one envelope; ' +
          'a status other than 2xx means that the request it answers sent nothing.',
      },
      tags: [
        { name: 'actions', description: 'What may be called, and the call.' },
        { name: 'proposals', description: 'What waits for the consent of a person.' },
        { name: 'attempts', description: 'What became of calls.' },
        { name: 'run', description: 'The run that the access token names.' },
        { name: 'mcp', description: 'The same actions as tools of the Model Context Protocol.' },
        { name: 'document', description: 'This document.' },
      ],
      components: {
        securitySchemes: {
          accessToken: {
            type: 'http',
            scheme: 'bearer',
            bearerFormat: 'JWT',
            description: 'An access token by RFC 9068. Its `run_id`, else its `sid`, names the run.',
          },
        },
      },
    },
  })
}

/** Both answers are made once, when they are first asked for: routes do not change while the listener stands. */
export function addDocumentRoutes (app: FastifyInstance): void {
  let json: string | null = null
  let page: string | null = null

  app.get('/openapi.json', {
    config: { plane: 'agents', auth: 'none' },
    schema: {
      operationId: 'getDocument',
      summary: 'This document',
      tags: ['document'],
      response: { 200: { description: 'OpenAPI 3.1.', type: 'object' } },
    },
  }, async (_request, reply) => {
    json ??= JSON.stringify(app.swagger())
    return reply.header('content-type', 'application/json; charset=utf-8').send(json)
  })

  app.get('/docs', {
    config: { plane: 'agents', auth: 'none' },
    schema: {
      operationId: 'getPage',
      summary: 'This document as a page',
      tags: ['document'],
      produces: ['text/html'],
      response: { 200: { description: 'A page of HTML.', type: 'string' } },
    },
  }, async (_request, reply) => {
    page ??= renderPage(app.swagger() as unknown as BrokerDocument)
    return reply.headers({ 'content-type': 'text/html; charset=utf-8', 'content-security-policy': PAGE_POLICY }).send(page)
  })
}
